"""Claims about docs/reference/commands.md and the README's table: every command is there, and what is there exists."""

from __future__ import annotations

import re
from pathlib import Path

from chrono.cli.app import SECTIONS, VERBS, build

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/commands.md").read_text()
README = (ROOT / "README.md").read_text()


def named(text: str) -> list[list[str]]:
    """The words of each command in the tables of a page, without `chrono`."""
    found = []
    for row in re.findall(r"^\| (.+?) \| .* \|$", text, re.MULTILINE):
        spans = [words.removeprefix("chrono ").split() for words in re.findall(r"`([^`]+)`", row)]
        verb = ""
        for words in spans:
            if words[0].startswith("--"):
                found.append([verb, *words])  # the verb that was named before it
            elif words[0] in VERBS:
                verb = words[0]
                found.append(words)
    return found


def options(words: list[str]) -> set[str]:
    """All options of the command that `words` begin with."""
    import click

    context = click.Context(build(), obj=None)
    command = build().get_command(context, words[0])
    subs = dict(VERBS[words[0]].subs)
    if subs:
        sub = words[1] if words[1:] and words[1] in subs else VERBS[words[0]].default
        assert sub is not None, words
        command = command.get_command(context, sub)
    return {name for param in command.params for name in (*param.opts, *param.secondary_opts)}


def test_the_sections_are_those_of_the_help() -> None:
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == [title for title, _ in SECTIONS]
    for title, verbs in SECTIONS:
        part = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
        assert {words[0] for words in named(part)} == {verb.name for verb in verbs}, title


def test_every_command_is_on_the_page() -> None:
    there = {tuple(words[:2]) for words in named(PAGE)}
    for verb in VERBS.values():
        for sub, _ in verb.subs:
            assert (verb.name, sub) in there, (verb.name, sub)


def test_every_option_in_the_tables_exists() -> None:
    for text in (PAGE, README):
        for words in named(text):
            for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(words).partition(" -- ")[0]):
                assert option in options(words), words


def test_the_readme_names_the_first_commands_only() -> None:
    rows = named(README.split("## Commands")[1].split("## In a program")[0])
    assert {"init", "guard", "status", "rollback", "scan", "audit", "doctor", "uninstall"} <= {row[0] for row in rows}
    assert "docs/reference/commands.md" in README and len(rows) < 40
