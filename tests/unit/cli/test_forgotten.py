"""Claims about forgotten values: in no command is an option taken for the value of another one."""

from __future__ import annotations

import io
from typing import Any

import pytest
from typer.core import TyperOption

from chrono.cli.app import VERBS, build
from chrono.cli.main import main
from chrono.cli.render import Screen


def run(*args: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return main(list(args), Screen(out, err, None, {})), out.getvalue(), err.getvalue()


def taking_values() -> list[tuple[str, ...]]:
    """The words of each command up to each of its options that take a value."""
    group: Any = build()
    found: list[tuple[str, ...]] = []
    for verb in VERBS.values():
        built: Any = group.get_command(None, verb.name)
        commands: dict[tuple[str, ...], Any] = {(verb.name, sub): built.commands[sub] for sub, _ in verb.subs}
        for words, command in (commands or {(verb.name,): built}).items():
            for option in command.params:
                if isinstance(option, TyperOption) and not (option.is_flag or option.count):
                    found += [(*words, name) for name in option.opts]
    return found


@pytest.mark.parametrize("words", taking_values(), ids=" ".join)
def test_no_option_takes_another_for_its_value(words: tuple[str, ...]) -> None:
    code, _, err = run(*words, "--help")
    assert code == 2
    assert f"option '{words[-1]}' requires an argument, and '--help' is an option" in err


def test_a_mistyped_option_is_no_value_either_and_json_says_so() -> None:
    code, out, _ = run("audit", "--push", "--jsno", "--json")
    assert code == 2 and "'--push' requires an argument" in out


@pytest.mark.parametrize("words", [("--grep=--json",), ("--grep", "--force now"), ("-n", "-1"), ("--grep", "-x")])
def test_what_only_begins_with_a_dash_is_a_value(
    words: tuple[str, ...], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("audit", *words)
    assert code != 2, err


def test_behind_two_dashes_and_in_another_program_s_words_anything_goes(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("run", "--", "tool", "--message", "--json"), ("bisect", "run", "tool", "--bad", "--good")):
        assert "is an option" not in run(*words)[2], words
