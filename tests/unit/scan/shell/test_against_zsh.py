"""Claims: what zsh starts is reported, or the text is refused; scored apart from bash. The table is the real zsh's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from chrono.scan.command import Evaluation
from chrono.scan.dictworld import DictWorld
from chrono.scan.shell.evaluate import evaluate
from tests.unit.scan.shell.bash_oracle import Oracle
from tests.unit.scan.shell.test_against_bash import covers

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "zsh_argvs.jsonl").read_text(encoding="utf-8").splitlines()
]
needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here to ask")


def _read(text: str) -> Evaluation:
    world = DictWorld({"/w": None}, cwd="/w", home="/home/u", user="u", environ={"HOME": "/home/u"})
    return evaluate(text, world, dialect="zsh")


def test_what_zsh_starts_is_reported_or_refused() -> None:
    silent = []
    reported = started = 0
    for row in ROWS:
        found = _read(row["text"])
        words = [command.argv for command in found.commands if not command.builtin]
        for argv in map(tuple, row["argvs"]):
            told = any(covers(one, argv) for one in words)
            started += 1
            reported += told
            if not told and not found.refusals:
                silent.append((row["text"], argv))
    # A function called TRAPEXIT, a slice, `[@]` without braces, a glob that finds nothing, a split text of `emulate`.
    assert len(silent) <= 6, silent
    # The short forms of loops (`for f (a b) rm $f`), `=(…)` and `always` are refused, not read.
    assert reported >= 0.8 * started


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("a='rm -rf x'; $a", ("rm -rf x",)),
        ("a='rm -rf x'; ${=a}", ("rm", "-rf", "x")),
        ("repeat 2 rm x", ("rm", "x")),
        ("=rm x", ("rm", "x")),
        ("x=/a/b.c; rm $x:h ${x:t} ${x:r:t} $x:e", ("rm", "/a", "b.c", "b", "c")),
        ('a=(x y); rm "$a"', ("rm", "x y")),
        ("a=(x y z); rm $a[2]", ("rm", "y")),
    ],
)
def test_zsh_is_read_as_zsh(text: str, argv: tuple[str, ...]) -> None:
    assert argv in [command.argv for command in _read(text).commands]


def test_a_modifier_leaves_what_is_not_known_unknown() -> None:
    # "\0" is how an unknown run travels inside evaluation.
    from chrono.scan.shell.zsh import modified

    assert modified("/a/\0/b", "h") == "/a/\0"
    assert modified("/a/\0", "h") == "\0"
    assert modified("/a/b/", "h") == "/a"
    assert modified("/", "h") == "/"
    assert modified("b", "h") == "."
    assert modified("a.b.c", "re") == "b"
    assert modified("a", "z") is None


def test_bash_reads_the_same_text_as_bash() -> None:
    world = DictWorld({"/w": None}, cwd="/w", home="/home/u", user="u", environ={})
    found = evaluate("x=/a/b.c; rm $x:h", world, dialect="bash")
    assert [command.argv for command in found.commands] == [("rm", "/a/b.c:h")]


@needs_zsh
def test_the_table_is_what_the_real_zsh_starts(tmp_path: Path) -> None:
    oracle = Oracle(str(tmp_path), ("zsh", "-f"))
    for row in ROWS[::9]:
        assert [list(argv) for argv in oracle.argvs(row["text"])] == row["argvs"], row["text"]
