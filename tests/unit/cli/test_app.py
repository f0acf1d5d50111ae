"""Claims about the table of verbs: each is there, explains itself, has --json, and costs nothing until it is used."""

from __future__ import annotations

import importlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from chrono.cli.app import SECTIONS, VERBS, Verb, build
from chrono.cli.main import main
from chrono.cli.render import Screen

ROOT = Path(__file__).resolve().parents[3]
EVERY = [(verb.name,) for verb in VERBS.values()] + [
    (verb.name, sub) for verb in VERBS.values() for sub, _ in verb.subs
]


def run(*args: str) -> tuple[int, str]:
    out = io.StringIO()
    return main(list(args), Screen(out, out, None, {})), out.getvalue()


def helped(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert run(*args, "--help")[0] == 0
    return capsys.readouterr().out


def test_every_verb_fits_on_one_line_of_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = helped(capsys)
    assert max(map(len, text.splitlines())) <= 80
    for verb in VERBS.values():
        assert any(line.split()[:1] == [verb.name] and line.endswith(verb.summary) for line in text.splitlines()), verb


SERVES = (("guard", "hook"), ("git", "hook"), ("mcp",), ("audit", "witness-daemon"))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_explains_itself_in_80_columns(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = helped(capsys, *words)
    assert text.startswith("Usage: chrono " + " ".join(words))
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"`[a-z]+\.[a-z]+`", text), "a module's name is for those who read the code"
    if len(words) == 1:
        shown = " ".join(text.split())
        assert all(" ".join(summary.split()) in shown for _, summary in VERBS[words[0]].subs), "cut short"
    if not VERBS[words[0]].subs or len(words) == 2:
        assert "--json" in text or words in SERVES, "a process that speaks a protocol"


@pytest.mark.parametrize("verb", list(VERBS.values()), ids=lambda verb: verb.name)
def test_a_verb_has_one_file_and_a_function_for_each_sub(verb: Verb) -> None:
    module = importlib.import_module(f"chrono.cli.commands.{verb.module}")
    for name in [f"run_{sub.replace('-', '_')}" for sub, _ in verb.subs] or ["run"]:
        assert callable(getattr(module, name))


def test_every_file_of_commands_is_in_the_table() -> None:
    files = {path.stem for path in (ROOT / "chrono/cli/commands").glob("*.py")} - {"__init__"}
    assert files == {verb.module for _, verbs in SECTIONS for verb in verbs}


def test_help_loads_no_verb_and_no_heavy_room() -> None:
    code = (
        "import sys, io; from chrono.cli.main import main; from chrono.cli.render import Screen\n"
        "main(['--help'], Screen(io.StringIO(), io.StringIO(), None, {}))\n"
        "heavy = ('pygit2', 'cryptography', 'ruamel', 'rich', 'pydantic', 'importlib.metadata',\n"
        "         'chrono.store', 'chrono.audit', 'chrono.workspace', 'chrono.cli.commands')\n"
        "bad = [name for name in sys.modules if name in heavy or name.startswith('chrono.cli.commands.')]\n"
        "sys.exit(f'loaded: {bad}' if bad else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that people type, by its words."""
    group = build()
    for name, verb in VERBS.items():
        command = group.get_command(click.Context(group), name)
        if verb.subs:
            yield from ((f"{name} {sub}", command.commands[sub]) for sub, _ in verb.subs)
        else:
            yield name, command


def test_each_example_of_a_help_is_a_command_that_parses() -> None:
    there, seen = dict(commands()), 0
    for path, command in there.items():
        for line in (command.help or "").partition("\b\nExamples:\n")[2].splitlines():
            typed = re.search(r"chrono [^>]*?(?=\)\"|  | > |$)", line)
            assert typed is not None, line
            words = shlex.split(typed[0])[1:]
            verb = VERBS[words[0]]
            named = verb.subs and words[1:] and words[1] in dict(verb.subs)
            asked = " ".join(words[:2]) if named else f"{words[0]} {verb.default}" if verb.subs else words[0]
            assert asked == path, line
            there[asked].make_context(asked, words[2 if named else 1 :])
            seen += 1
    assert seen > 30
