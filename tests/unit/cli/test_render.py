"""Claims about the screen: styles only on a terminal, prompts only for a person, results and remarks apart."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import time
from pathlib import Path

import pytest

from chrono.cli.render import Screen
from chrono.cli.text import Styled
from chrono.errors import Denied
from tests.waiting import until


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def piped() -> tuple[Screen, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Screen(out, err, io.StringIO("y\n"), {}), out, err


def terminal(environ: dict[str, str] | None = None) -> tuple[Screen, Terminal, Terminal]:
    out, err = Terminal(), Terminal()
    return Screen(out, err, Terminal("y\n"), {"COLUMNS": "40", "TERM": "xterm", **(environ or {})}), out, err


def test_a_pipe_gets_no_colour_and_no_cut() -> None:
    screen, out, _ = piped()
    screen.line(Styled("x", "red"), " ", "y" * 200)
    assert out.getvalue() == "x " + "y" * 200 + "\n"


def test_a_terminal_gets_colour() -> None:
    screen, out, _ = terminal()
    screen.line(Styled("x", "red"))
    assert out.getvalue() == "\x1b[31mx\x1b[0m\n"


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_color_is_obeyed(environ: dict[str, str]) -> None:
    screen, out, _ = terminal(environ)
    screen.line(Styled("x", "red"))
    assert out.getvalue() == "x\n"


def test_data_cannot_bring_its_own_colour() -> None:
    screen, out, _ = terminal()
    screen.line("\x1b[31mred")
    screen.table([("\x1b[2Ja", "b\x07")])
    screen.block("x\x1b[0m\ny\n")
    assert "\x1b" not in out.getvalue()


def test_a_fact_is_aligned_and_nothing_of_it_is_cut() -> None:
    said = "changes nothing about it, or none can be taken here"
    screen, out, _ = terminal()
    screen.facts([("now", said), ("thresholds", Styled("70", "bold"))], indent=2)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("  now         changes") and lines[-1] == "  thresholds  \x1b[1m70\x1b[0m"
    assert " ".join(" ".join(lines[:-1]).split()) == f"now {said}" and all(len(line) <= 40 for line in lines[:-1])
    assert all(line.startswith(" " * 14) for line in lines[1:-1])
    screen, out, _ = piped()
    screen.facts([("now", said)])
    assert out.getvalue() == f"now  {said}\n"


def test_a_table_is_aligned_and_its_last_column_fits() -> None:
    screen, out, _ = terminal({"NO_COLOR": "1"})
    screen.table([("a", "bb", "c" * 80), ("aaa", "b", "d")])
    rows = out.getvalue().splitlines()
    assert rows[0].index("bb") == rows[1].index("b") == 5
    assert len(rows[0]) == 40 and rows[0].endswith("…")


def test_prose_is_wrapped_on_a_terminal_only() -> None:
    text = "word " * 30
    screen, out, _ = terminal({"NO_COLOR": "1"})
    screen.text(text.strip())
    assert max(map(len, out.getvalue().splitlines())) <= 40
    screen, out, _ = piped()
    screen.text(text.strip())
    assert out.getvalue().count("\n") == 1


def test_message_and_hint_are_apart_and_on_standard_error() -> None:
    screen, out, err = piped()
    screen.error("no savepoint 'x'", "run chrono log", 12)
    assert out.getvalue() == ""
    assert err.getvalue() == "error: no savepoint 'x'\nhint: run chrono log\n"


def test_an_error_is_json_where_the_result_is() -> None:
    screen, out, err = piped()
    screen.json = True
    screen.error("no\nsavepoint", None, 12)
    assert json.loads(out.getvalue()) == {"error": "no\nsavepoint", "hint": None, "exit_code": 12}
    assert err.getvalue() == ""


def test_json_is_one_ascii_line_whatever_the_names() -> None:
    screen, out, _ = piped()
    screen.value({"path": "na\udcefve\n\u2028"})
    assert out.getvalue().isascii() and out.getvalue().count("\n") == 1


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CHRONO_AGENT", "GEMINI_CLI", "CI"])
def test_an_agent_is_never_asked(mark: str) -> None:
    screen, _, _ = terminal({mark: "1"})
    assert not screen.person


def test_without_a_terminal_nobody_is_asked() -> None:
    screen, _, _ = piped()
    assert not screen.person


def test_a_person_on_a_terminal_is_asked() -> None:
    above, below = pty.openpty()
    try:
        with os.fdopen(os.dup(below), "r") as source:
            screen = Screen(Terminal(), Terminal(), source, {"COLUMNS": "80"})
            assert screen.person
            os.write(above, b"y\n")
            assert screen.confirm("Go back?")
            os.write(above, b"\n")
            assert not screen.confirm("Go back?")
    finally:
        os.close(above)
        os.close(below)


def test_no_answer_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chrono.cli.render.ANSWER_WAIT_S", 0.05)
    above, below = pty.openpty()
    try:
        with os.fdopen(os.dup(below), "r") as source:
            screen = Screen(Terminal(), Terminal(), source, {})
            begin = time.monotonic()
            assert not screen.confirm("Go back?")
            assert time.monotonic() - begin < 60
            assert select.select([below], [], [], 0)[0] == []
    finally:
        os.close(above)
        os.close(below)


def test_work_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chrono.cli.render.SHOW_WORK_AFTER_S", 0.01)
    screen, out, err = terminal()
    with screen.working("saving"):
        until(lambda: "saving" in err.getvalue())
    assert err.getvalue().endswith("\r\x1b[K") and out.getvalue() == ""
    screen, _, err2 = piped()
    with screen.working("saving"):
        time.sleep(0.05)
    assert err2.getvalue() == ""


def test_long_results_go_through_the_pager_on_a_terminal_only(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    environ = {"PAGER": f"sh -c 'cat > {seen}'", "PATH": os.environ["PATH"]}
    screen, out, _ = terminal(environ)
    with screen.paged():
        screen.line(Styled("paged", "green"))
    screen.line("after")
    assert seen.read_text() == "\x1b[32mpaged\x1b[0m\n"
    assert out.getvalue() == "after\n"
    seen.unlink()
    piped_out = io.StringIO()
    agents, agents_out, _ = terminal({**environ, "CLAUDECODE": "1"})
    off, off_out, _ = terminal({**environ, "CHRONO_PAGER": ""})
    missing, missing_out, _ = terminal({**environ, "CHRONO_PAGER": "no-such-pager-here"})
    pipe = Screen(piped_out, io.StringIO(), None, environ)
    pairs: list[tuple[Screen, io.StringIO]] = [(agents, agents_out), (off, off_out), (missing, missing_out)]
    for one, stream in [*pairs, (pipe, piped_out)]:
        with one.paged():
            one.line("x")
        assert stream.getvalue() == "x\n"
    assert not seen.exists()


def test_who_leaves_the_pager_early_sees_no_error() -> None:
    screen, out, _ = terminal({"PAGER": "true", "PATH": os.environ["PATH"]})
    with screen.paged():
        for _ in range(20_000):
            screen.line("x" * 60)
    assert out.getvalue() == ""


def test_what_needs_a_yes_is_refused_where_nobody_is_there_to_say_it() -> None:
    screen, _, err = piped()
    assert screen.agrees("Go on?", yes=True)
    with pytest.raises(Denied) as refused:
        screen.agrees("Go on?", yes=False, hint="read it")
    assert refused.value.hint == "read it" and err.getvalue() == ""


@pytest.mark.parametrize("answer", [True, False])
def test_what_needs_a_yes_has_it_from_a_person_or_says_that_nothing_was_done(
    answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, _, err = terminal()
    monkeypatch.setattr(screen, "person", True)
    monkeypatch.setattr(screen, "confirm", lambda question: answer)
    assert screen.agrees("Go on?", yes=False) is answer
    assert ("nothing was changed" in err.getvalue()) is not answer
