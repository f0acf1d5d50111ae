"""Claims about the line that a chain names: of scripts, of sourced files, of functions that stand elsewhere."""

from __future__ import annotations

from chrono.scan.shell.evaluate import evaluate
from chrono.testing.world import FakeWorld

WORLD = FakeWorld(
    {
        "/home/dev/proj/lib.sh": "# tools\n\ntidy() {\n  rm -rf tmp\n}\n",
        "/home/dev/proj/env.sh": "true\nrm x\n",
    },
    cwd="/home/dev/proj",
)


def chain(text: str, program: str = "rm") -> tuple[str, ...]:
    found = evaluate(text, WORLD, via=("npm test", "x.sh"), span=(0, 8), lines=True)
    (via,) = {command.via for command in found.commands if command.argv[0] == program}
    assert all(command.span == (0, 8) for command in found.commands)
    return via


def test_a_command_of_a_script_names_its_line() -> None:
    assert chain("#!/bin/sh\n\nrm x\n") == ("npm test", "x.sh:3")
    assert chain("if true; then\n  (\n  rm x )\nfi\n") == ("npm test", "x.sh:3")
    assert chain("rm x") == ("npm test", "x.sh:1")


def test_text_in_a_line_names_that_line() -> None:
    assert chain("true\neval 'true\n\nrm x'\n") == ("npm test", "x.sh:2", "eval")
    assert chain("true\nsh -c 'rm x'\n") == ("npm test", "x.sh:2", "sh -c")


def test_a_sourced_file_has_lines_of_its_own() -> None:
    assert chain("true\n\n. ./env.sh\n") == ("npm test", "x.sh:3", ". ./env.sh:2")


def test_a_function_runs_where_it_stands() -> None:
    assert chain("source lib.sh\ntidy\n") == ("npm test", "x.sh:2", "source lib.sh:4")
    assert chain("go() {\n  rm x\n}\ntrue\ngo\n") == ("npm test", "x.sh:2")


def test_the_outermost_text_keeps_its_offsets() -> None:
    found = evaluate("source lib.sh; tidy; rm y", WORLD)
    spans = {command.argv: (command.span, command.via) for command in found.commands}
    assert spans["rm", "-rf", "tmp"] == ((15, 19), ("source lib.sh:4",))
    assert spans["rm", "y"] == ((21, 25), ())


def test_a_script_knows_its_own_file() -> None:
    found = evaluate(
        'rm "${BASH_SOURCE[0]}" "$0"', WORLD, argv0="/home/dev/proj/x.sh", via=("x.sh",), span=(0, 1), lines=True
    )
    assert [c.argv for c in found.commands] == [("rm", "/home/dev/proj/x.sh", "/home/dev/proj/x.sh")]
