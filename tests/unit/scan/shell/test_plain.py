"""Claims about texts that are one command of plain words: they are what the whole grammar makes of them."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest

from chrono.scan.command import Evaluation
from chrono.scan.shell import evaluate as evaluating
from chrono.scan.shell.plain import MAX_CHARS, plain_command
from chrono.testing.world import FakeWorld
from tests.unit.scan.conftest import FILES, PROJECT

TESTS = Path(__file__).resolve().parents[3]
LISTS = ("unit/scan/dangerous.jsonl", "unit/scan/everyday.jsonl", "conformance/commands.jsonl")
WORDS = (
    "a - -- ~ ~/x =rm a=b a=~ 1 2> } ] ! a! ^b % @x , a,b a..b a:b +x ä \r a\r a#b --x=y -rf / ./x ../x /usr/bin/env"
)
FIRST = (
    "if then elif else fi while until for foreach select do done case esac function coproc time ! } ] repeat always end "
    "nocorrect noglob - eval exec exit return source . builtin command declare export local readonly typeset trap cd "
    "echo set test sudo env nohup sh bash zsh xargs find git npm python3 rm cp curl tee make scripts/build.sh =rm a=b "
    "A= ~/bin/x /bin/rm \r a\r a! fork() history"
).split(" ")


def texts() -> list[str]:
    """Every command that a list of the project holds, and pairs of words that mean something somewhere."""
    found = [line for name in LISTS for line in (TESTS / name).read_text(encoding="utf-8").splitlines()]
    held = [json.loads(line) for line in found]
    listed = [one["text"] if isinstance(one, dict) else one for one in held]
    pairs = [f"{first} {word}" for first in FIRST for word in WORDS.split(" ")]
    blanks = [
        "\n\n ls\t-l  \n",
        "ls\x0b-l",
        "ls \x0c",
        "ls\xa0-l",
        " ls",
        "ls ",
        "ls\n",
        "ls\nls",
        "",
        " ",
        "\n",
        "ls\\\n-l",
    ]
    signs = [f"ls a{sign}b" for sign in string.printable] + [f"ls {sign}" for sign in string.printable]
    return [*listed, *FIRST, *pairs, *blanks, *signs]


def both(monkeypatch: pytest.MonkeyPatch, text: str, dialect: str) -> tuple[Evaluation, Evaluation]:
    """What a text runs: as it is evaluated, and as the whole grammar would have it."""
    world = FakeWorld(FILES, cwd=PROJECT, home="/home/dev")
    quick = evaluating.evaluate(text, world, dialect=dialect)
    with monkeypatch.context() as patched:
        patched.setattr(evaluating, "plain_command", lambda text, dialect: None)
        slow = evaluating.evaluate(text, world, dialect=dialect)
    return quick, slow


@pytest.mark.parametrize("dialect", ["bash", "sh"])
def test_a_plain_command_runs_what_the_whole_grammar_says(monkeypatch: pytest.MonkeyPatch, dialect: str) -> None:
    plain = [text for text in dict.fromkeys(texts()) if plain_command(text, "bash") is not None]
    assert len(plain) > 2_000
    for text in plain:
        quick, slow = both(monkeypatch, text, dialect)
        assert quick == slow, text


def test_a_script_of_one_plain_command_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FakeWorld(FILES, cwd=PROJECT, home="/home/dev")
    for given in ({"span": (3, 9)}, {"span": (3, 9), "via": ("x.sh",), "lines": True}, {"env": (("A", "b"),)}):
        quick = evaluating.evaluate("\n\nrm -rf src\n", world, **given)
        with monkeypatch.context() as patched:
            patched.setattr(evaluating, "plain_command", lambda text, dialect: None)
            assert quick == evaluating.evaluate("\n\nrm -rf src\n", world, **given)
        assert quick.commands[0].argv == ("rm", "-rf", "src")


@pytest.mark.parametrize(
    "text", ["ls *", "ls $x", "ls 'a'", "ls | wc", "a=b ls", "~/x", "ls ~", "ls #x", "if x", "ls {a,b}"]
)
def test_what_the_shell_reads_otherwise_is_left_to_the_grammar(text: str) -> None:
    assert plain_command(text, "bash") is None


def test_zsh_and_long_texts_are_left_to_the_grammar() -> None:
    assert plain_command("ls -l", "zsh") is None
    assert plain_command("ls " + "a" * MAX_CHARS, "bash") is None
    assert plain_command("ls -l", "dash") is not None
