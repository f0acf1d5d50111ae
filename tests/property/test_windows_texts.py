"""Claims about any text whatever under PowerShell and cmd.exe: it is read or refused, soon, and never with an error."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chrono.scan.command import Evaluation
from chrono.scan.shell.cmdexe.evaluate import evaluate_cmd
from chrono.scan.shell.powershell.evaluate import evaluate_powershell
from chrono.testing.world import FakeWorld

WORLD = FakeWorld({"/home/dev/proj/src/a.py": "x\n"})

WORDS = """Remove-Item $x -Recurse ' " ( ) { } [ ] @ $( | ; & && || , . :: -f -join + = % ? foreach if for while function
    try catch iex C:\\ ~ 1 .. [char] ` < > >> 2>&1 # @{ @' '@ ^ %i in do set call goto :a !x! %x% echo else exist rd /s
    param $_ -split class enum using return throw switch default new -eq [int] $env:TEMP gci %{ ForEach-Object
    Where-Object Start-Process cmd /c \u00e9 \u201c \u2013""".split()
ATOMS = st.sampled_from([*WORDS, "\n", " ", "\t", "\r\n", "`\n", "^\n", "@'\n", "\n'@", "\x00", "\x02"])
TEXTS = st.one_of(
    st.lists(ATOMS, max_size=40).map(" ".join), st.lists(ATOMS, max_size=40).map("".join), st.text(max_size=80)
)
PIECES = ["$(", "@(", "@{a=", "if(1){", "if 1==1 (", "for %i in (a) do (", '"$(', "foreach($i in 1){", "& {", "iex '", "!",
     "a|", "a;", "a&&", "x=", "1,", "'a'+", "function f{f};f;", "while(1){", "%a%", "call :x\n:x\n", "echo ^", "<#", "a b ",
     "if(1){}elseif(1){}", "cmd /c ", "start "]  # fmt: skip
AWKWARD = "(){}[]@$\"'`&|;,.<>%!^#-+=*?:/\\ \n\t\r\0a1~_"


def read(text: str, shell: str) -> Evaluation:
    return evaluate_cmd(text, WORLD) if shell == "cmd" else evaluate_powershell(text, WORLD)


@pytest.mark.parametrize("shell", ["powershell", "cmd"])
@settings(max_examples=400, deadline=None)
@given(text=TEXTS)
def test_any_text_is_read_or_refused(shell: str, text: str) -> None:
    found = read(text, shell)
    assert not any("could not be evaluated" in refusal.why for refusal in found.refusals), found.refusals
    assert all(command.argv and command.windows is not None for command in found.commands)


@pytest.mark.parametrize("shell", ["powershell", "cmd"])
@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_a_text_is_read_the_same_way_twice(shell: str, text: str) -> None:
    assert read(text, shell) == read(text, shell)


@pytest.mark.parametrize("shell", ["powershell", "cmd"])
@pytest.mark.parametrize("char", AWKWARD)
def test_a_million_of_one_sign_is_soon_done(shell: str, char: str) -> None:
    for count in (1_000_000, 65_000, 10_000):
        before = time.process_time()
        found = read(char * count, shell)
        assert time.process_time() - before < 2.0
        assert not any("could not be evaluated" in refusal.why for refusal in found.refusals)


@pytest.mark.parametrize("shell", ["powershell", "cmd"])
@pytest.mark.parametrize("piece", PIECES)
def test_deep_and_long_texts_are_soon_done(shell: str, piece: str) -> None:
    for count in (10, 500):
        before = time.process_time()
        read(piece * count, shell)
        assert time.process_time() - before < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["powershell", "cmd"])
@pytest.mark.parametrize("piece", PIECES)
def test_the_longest_texts_are_soon_done(shell: str, piece: str) -> None:
    before = time.process_time()
    read(piece * 10_000, shell)
    read((piece * 65_000)[:65_000], shell)
    assert time.process_time() - before < 2.0
