"""Claims: in a machine of their own, real shells start what evaluation reports, absolute paths and dialects included."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from chrono.scan.dictworld import DictWorld
from chrono.scan.shell.evaluate import evaluate
from tests.unit.scan.shell.grammar import Grammar
from tests.unit.scan.shell.namespace_oracle import Sandbox, why_not
from tests.unit.scan.shell.test_against_bash import covers

WORLD = DictWorld({"/w": None}, cwd="/w", home="/home/u", user="u", environ={"HOME": "/home/u"})


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    yield Sandbox(str(tmp_path_factory.mktemp("root")), ("dash", "zsh"))


def missed(sandbox: Sandbox, text: str, shell: str) -> list[tuple[str, ...]]:
    """What the shell started and evaluation did not report."""
    dialect = {"dash": "sh"}.get(shell, shell)
    evaluation = evaluate(text, WORLD, dialect=dialect)
    assert not any(refusal.kind == "error" for refusal in evaluation.refusals)
    found = []
    for command in evaluation.commands:
        first = command.argv[0]
        bare = first.rpartition("/")[2] if isinstance(first, str) else first
        found.append((bare, *command.argv[1:]))
    return [argv for argv in sandbox.argvs(text, shell) if not any(covers(words, argv) for words in found)]


ABSOLUTE = [
    "/bin/rm x; /usr/bin/rm y",
    "cd / && bin/rm x",
    "PATH=/usr/sbin:$PATH; rm x",
    "hash -p /bin/rm ls; ls x",
    "env -i /bin/rm x",
    "command -p rm x; \\rm y; 'r'm z",
    "cp /bin/rm /tmp/other; /bin/rm x",
    "exec /bin/rm x",
    "/real/bash -c '/bin/rm x'",
    "for p in /bin /usr/bin; do $p/rm x; done",
    "$(echo /bin/rm) x",
    "find /home -maxdepth 0 -exec /bin/rm {} \\;",
    "echo x | /usr/bin/xargs /bin/rm",
    "cat <(/bin/git a) > /dev/null",
    "echo 'rm x' > /tmp/s; /real/bash /tmp/s; . /tmp/s",
    "mkdir d 2>/dev/null; (cd /home/u && /bin/rm ~/x)",
    "trap '/bin/rm x' EXIT; exit 3",
    "/bin/env A=1 /bin/sh -c 'rm $A'",
]


def test_the_sandbox_writes_down_what_starts(sandbox: Sandbox) -> None:
    assert sandbox.argvs("/bin/rm x; git a || ls b") == [("git", "a"), ("ls", "b"), ("rm", "x")]
    assert missed(sandbox, "[ -e x ] || $UNKNOWN /usr/bin/rm 'y z'", "bash") == []


@pytest.mark.parametrize("text", ABSOLUTE)
def test_programs_by_their_paths_are_reported(sandbox: Sandbox, text: str) -> None:
    assert missed(sandbox, text, "bash") == []


DIALECTS = [
    ("dash", "x='a b'; rm $x"),
    ("dash", "rm {a,b} $'c'"),
    ("dash", "f() { rm \"$@\"; }; f a 'b c'"),
    ("dash", "echo 'a\\nb' | xargs rm"),
    ("dash", "if [ x = x ]; then rm y; fi"),
    ("dash", "set -- a b; rm $2 ${1}c $#"),
    ("dash", "rm a &>b; git c"),
    ("dash", 'rm ${x:-a b} "${y:-c d}"'),
    ("dash", "echo rm x | . /dev/stdin; cat <<E | sh\nrm y\nE"),
    ("dash", "x=1; rm $((x + 2)) `echo z`"),
    ("zsh", "x='a b'; rm $x"),
    ("zsh", "a=(p 'q r'); rm $a"),
    ("zsh", "rm ${(s:,:)x} y"),
    ("zsh", "for i in {1..3}; rm $i"),
    ("zsh", "f() { rm $1 }; f x"),
    ("zsh", "rm =x; git y"),
    ("zsh", "rm a | ! git b"),
    ("zsh", "if [[ a == a ]] { rm x }"),
]


@pytest.mark.parametrize(("shell", "text"), DIALECTS)
def test_other_shells_are_read_as_they_read(sandbox: Sandbox, shell: str, text: str) -> None:
    if shell not in sandbox.shells:
        pytest.skip(f"there is no {shell} here to ask")
    assert missed(sandbox, text, shell) == []


def _texts(seed: int, count: int) -> Iterator[str]:
    """Random texts in which programs go by several names."""
    grammar, chance = Grammar(seed), random.Random(seed)
    for _ in range(count):
        parts = grammar.text().split("tool ")
        yield parts[0] + "".join(chance.choice(("tool ", "/bin/tool ", "/usr/bin/tool ")) + part for part in parts[1:])


def test_random_texts_with_paths_start_what_evaluation_says(sandbox: Sandbox) -> None:
    assert [(text, argvs) for text in _texts(31, 10) if (argvs := missed(sandbox, text, "bash"))] == []


@pytest.mark.slow
def test_hundreds_of_random_texts_with_paths_start_what_evaluation_says(sandbox: Sandbox) -> None:
    wrong = [(text, argvs) for text in _texts(32, 250) if (argvs := missed(sandbox, text, "bash"))]
    assert len(wrong) <= 2, wrong
