"""Claims about texts that are made to break a scanner: no crash, an end in time, and never allowed by accident."""

from __future__ import annotations

import base64
import importlib
import pkgutil
import re
import time
from collections.abc import Mapping

import pytest

import chrono.scan
from chrono.policy.decide import decide, settle
from chrono.policy.model import DEFAULTS
from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.expression import Expression
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import SHELLS, scan
from chrono.testing.world import FakeWorld

PROJECT = "/home/dev/proj"
MOST_S = 6.0
"""CPU seconds: far above what it takes, far below what a quadratic reading of a megabyte would."""

DEEP = 10_000
BAD = "rm -rf ~"


@pytest.fixture(scope="module")
def ruleset() -> Ruleset:
    return compile_packs(discover())


def decided(text: str, ruleset: Ruleset, shell: str = "bash", files: Mapping[str, str | bytes] | None = None) -> str:
    world = FakeWorld({f"{PROJECT}/{name}": data for name, data in (files or {}).items()}, cwd=PROJECT, project=PROJECT)
    started = time.process_time()
    found = scan(text, ruleset, world, shell=shell)
    assert time.process_time() - started < MOST_S
    assert not any(refusal.kind == "error" for refusal in found.refusals), found.refusals
    return settle(decide(found, DEFAULTS, project=PROJECT), None).decision


NESTED = {
    "subshells": "( " * DEEP + BAD + ")" * DEEP,
    "groups": "{ " * DEEP + BAD + "; }" * DEEP,
    "substitutions": "echo " + "$(" * DEEP + BAD + ")" * DEEP,
    "quoted substitutions": 'echo ' + '"$(' * DEEP + BAD + ')"' * DEEP,
    "backticks": "echo " + "`" * (DEEP + 1) + BAD,
    "parameters": "rm -rf " + "${x:-" * DEEP + "~" + "}" * DEEP,
    "arithmetic": "echo $((" + "(" * DEEP + "1" + ")" * DEEP + f")); {BAD}",
    "conditions": "[[ " + "( " * DEEP + "a" + " )" * DEEP + f" ]]; {BAD}",
    "ifs": "if a; then " * DEEP + BAD + "; fi" * DEEP,
    "cases": "case x in x) " * DEEP + BAD + ";; esac" * DEEP,
    "functions": "f() { " * DEEP + BAD + "; }" * DEEP + "; f",
    "process substitutions": "cat " + "<(" * DEEP + BAD + ")" * DEEP,
    "braces": "rm -rf ~/" + "{a," * DEEP + "b" + "}" * DEEP,
    "extended patterns": "rm -rf ~/" + "@(" * DEEP + "b" + ")" * DEEP,
    "here-documents": "".join(f"cat <<E{i} " for i in range(DEEP)) + f"; {BAD}\n" + "".join(f"E{i}\n" for i in range(DEEP)),
    "evals": "eval " * DEEP + BAD,
    "sudos": "sudo " * DEEP + BAD,
    "negations": "! " * DEEP + BAD,
    "pipes": "cat | " * DEEP + BAD,
    "ands": "true && " * DEEP + BAD,
    "assignments": "a=1 " * DEEP + BAD,
    "lines": "true\n" * DEEP + BAD,
    "opened quotes": "'" * (DEEP + 1) + BAD,
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_depth_is_no_way_through(name: str, ruleset: Ruleset) -> None:
    assert decided(NESTED[name], ruleset) in ("block", "ask")


AWKWARD = ("'", '"', "`", "$", "\\", "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "#", "*", "?", "~", "!", "=", "%",
           "^", "@", ",", ".", "/", "-", "+", ":", "0", "a", " ", "\t", "\n", "\r", "\x00", "\x1b", "\x7f", "\x85", "\xa0", "\xad",
           "\u200b", "\u202e", "\u2028", "\ufeff", "\ud800", "\udcff", "\U0001f600", "\u0301", "$(", "${", "$((", "[[", "<<", "<(",
           "{a,", "$'", "a=", "\\\n", "\r\n", "((", "; ", "&&", "*/")  # fmt: skip


def _mostly_slow(signs: tuple[str, ...], quick: tuple[str, ...]) -> list[object]:
    """All of them in the longer tier, a few in the normal one."""
    names = {sign: "".join(f"{ord(char):x}." for char in sign) for sign in signs}
    return [pytest.param(s, id=names[s], marks=() if s in quick else pytest.mark.slow) for s in signs]


@pytest.mark.parametrize("sign", _mostly_slow(AWKWARD, ("'", "$(", "*/", "\\", "\u202e", "{a,")))
def test_a_megabyte_of_anything_ends_in_time(sign: str, ruleset: Ruleset) -> None:
    text = (sign * (1_000_000 // len(sign)))[: 1_000_000 - 40]
    for whole in (f"{BAD} # {text}", f"{BAD}\n{text}", f"{text}\n{BAD}"):
        assert decided(whole, ruleset) in ("block", "ask")


PIECES = ("\\", "\\\\", "\\a", "a", " ", "\t ", "\n", "\r\n", "s/", ";s/", "/", "'", '"', "$", "${", "$(", "(", "[", "{", "a=", "a.",
          "#", "<", "0", "::", "a,", "-", "%a", "@", "`", "..", "x(", "//", "/*", "&", "a|", "end", "<<E\n")  # fmt: skip
IN_FRONT = ("", "s/", "s!", "'", '"', "system(", "print ", "a = ", "sed -e 's|a|")


def test_no_expression_of_the_scanner_tries_its_way_through(ruleset: Ruleset) -> None:
    """What can be split in two ways doubles the work with each piece: 34 characters take seconds."""
    named = [
        value
        for module in pkgutil.walk_packages(chrono.scan.__path__, "chrono.scan.")
        for value in vars(importlib.import_module(module.name)).values()
    ]
    patterns = {re.compile(one.source, one.flags_given) for one in named if isinstance(one, Expression)}
    patterns |= {one for one in named if isinstance(one, re.Pattern) and isinstance(one.pattern, str)}
    assert len(patterns) > 60
    for pattern in patterns:
        started = time.process_time()
        for front in IN_FRONT:
            for piece in PIECES:
                pattern.sub("", front + (piece * 34)[:34])
        assert time.process_time() - started < 1.0, pattern.pattern


def test_more_than_a_megabyte_is_refused(ruleset: Ruleset) -> None:
    assert decided("ls " + "a" * 1_000_001, ruleset) == "block"


@pytest.mark.parametrize("text", ["ls\0", "\0", "ls \0; rm x", "echo '\0'", "cat <<E\n\0\nE"])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_nul_is_blocked(text: str, shell: str, ruleset: Ruleset) -> None:
    assert decided(text, ruleset, shell) == "block"


MARKS = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u2066", "\xad", "\u034f")


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: f"{ord(mark):x}")
@pytest.mark.parametrize("text", ["r{}m -rf ~", "{}rm -rf ~", "rm{} -rf ~", "rm -r{}f ~", "ls; {}rm -rf ~{}"])
def test_what_nobody_can_see_hides_nothing(text: str, mark: str, ruleset: Ruleset) -> None:
    assert decided(text.replace("{}", mark), ruleset) in ("block", "ask")


@pytest.mark.parametrize(
    "text",
    ["rм -rf ~", "гm -rf ~", "rm –rf ~", "rm\u00a0-rf\u00a0~", "rm\u3000-rf ~", "ｒｍ -rf ~", "rm -rf ～", "rm -rf \u2215", "gіt push --force"],
)  # fmt: skip
def test_look_alikes_are_asked_about(text: str, ruleset: Ruleset) -> None:
    assert decided(text, ruleset) in ("block", "ask")


@pytest.mark.parametrize("end", ["\r\n", "\n\r", "\r\r\n"])
@pytest.mark.parametrize("text", ["true{}rm -rf ~{}", "rm -rf ~{}", "sh -c 'rm -rf ~{}'", "if a{}then rm -rf ~{}fi{}", "cat <<E | sh{}rm -rf ~{}E{}"])  # fmt: skip
def test_foreign_line_ends_hide_nothing(text: str, end: str, ruleset: Ruleset) -> None:
    assert decided(text.replace("{}", end), ruleset) in ("block", "ask")


@pytest.mark.parametrize("junk", ["\udcff\udcfe", "\udc80", "\ud83d", "\udfff"])
def test_bytes_that_are_no_text_hide_nothing(junk: str, ruleset: Ruleset) -> None:
    assert decided(f"echo {junk}; rm -rf ~", ruleset) in ("block", "ask")
    assert decided(f"rm -rf ~/{junk}", ruleset) in ("block", "ask")
    assert decided(f"ls {junk}", ruleset) == "allow"


JUNK = ("(", "[", "{", '"', "'", "\\", "$(", "a:\n\t", "\n", "- ", "<?php ", "\0", "\xff", "if a\n", "def f():\n ")


@pytest.mark.parametrize(
    ("name", "program"),
    [("x.sh", "sh"), ("x.py", "python"), ("x.js", "node"), ("x.rb", "ruby"), ("x.pl", "perl"), ("x.php", "php"),
     ("package.json", "npm test #"), ("Makefile", "make #"), ("justfile", "just #"), ("Taskfile.yml", "task #"),
     ("pyproject.toml", "pdm run x #"), ("tox.ini", "tox #"), ("x.ps1", "pwsh -File"), ("x.bat", "cmd /c")],
)  # fmt: skip
@pytest.mark.parametrize("sign", _mostly_slow(JUNK, ("(",)))
def test_files_of_junk_do_not_break_what_follows_them(name: str, program: str, sign: str, ruleset: Ruleset) -> None:
    data = (sign * (60_000 // len(sign))).encode("utf-8", "surrogateescape")
    decided(f"{program} {name}", ruleset, files={name: data})
    assert decided(f"{program} {name}\nrm -rf ~", ruleset, files={name: data}) in ("block", "ask")


def test_text_in_text_in_text_is_refused_rather_than_passed(ruleset: Ruleset) -> None:
    text = BAD
    for _ in range(12):
        text = f"echo {base64.b64encode(text.encode()).decode()} | base64 -d | sh"
    assert decided(text, ruleset) in ("block", "ask")


def test_many_alternatives_end_in_time(ruleset: Ruleset) -> None:
    lines = "".join(f"if a; then x{i}=1; else x{i}=2; fi\n" for i in range(200))
    assert decided(lines + "rm -rf ~/" + "".join(f"$x{i}" for i in range(200)), ruleset) in ("block", "ask")
    loops = "".join(f"for a{i} in 1 2 3 4 5 6 7 8; do " for i in range(12))
    assert decided(loops + BAD + "; done" * 12, ruleset) in ("block", "ask")
    assert decided("rm -rf ~/" + "{a,b}" * 40, ruleset) in ("block", "ask")
    assert decided("f() { f; f; }; f; " + BAD, ruleset) in ("block", "ask")
