"""Claims about text on a terminal: nothing in it is obeyed, all of it fits."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.cli.text import age, columns, count, cut, one_line, safe, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größer 日本", "größer 日本"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x7f\x80\x9b31m", "\\x7f\\x80\\x9b31m"),
        ("rm \u202efr- x", "rm \\u202efr- x"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("rm\u2063 \u3164\u180e", "rm\\u2063 \\u3164\\u180e"),
        ("x\U000e0101\U000e01ff\U0001d173", "x\\U000e0101\\U000e01ff\\U0001d173"),
        ("\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e", "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e"),
        ("na\udcefve", "na\\xefve"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
        ("x\U000e0041", "x\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_line_feeds_stay_where_lines_are_meant() -> None:
    assert safe("a\nb\tc\x1b", lines=True) == "a\nb\tc\\x1b"


@given(st.text(alphabet=st.characters(), max_size=60))
def test_safe_text_holds_no_control_format_or_surrogate(text: str) -> None:
    for char in safe(text):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in "\u200c\u200d"


@given(st.text(max_size=60), st.integers(min_value=1, max_value=40))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width


@given(st.lists(st.text(alphabet="abcde", min_size=1, max_size=9), min_size=1), st.integers(12, 40))
def test_wrapped_lines_fit_and_lose_no_word(words: list[str], width: int) -> None:
    rows = wrap(" ".join(words), width, indent=2)
    assert all(columns(row) <= width for row in rows)
    assert " ".join(rows).split() == words


def test_wrapped_text_keeps_its_first_indent() -> None:
    assert wrap("  one two three", 9, indent=4) == ["  one two", "    three"]


def test_a_wide_character_takes_two_columns() -> None:
    assert columns("日本") == 4
    assert cut("日本語", 5) == "日本…"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "in the future"),
        (0, "just now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3600, "1 h ago"),
        (47 * 3600, "47 h ago"),
        (48 * 3600, "2 d ago"),
        (400 * 86400, "400 d ago"),
    ],
)
def test_an_age_is_in_one_unit(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


def test_a_count_names_its_noun() -> None:
    assert [count(1, "file"), count(1204, "file"), count(2, "entry", "entries")] == [
        "1 file",
        "1,204 files",
        "2 entries",
    ]


def test_a_column_holds_one_line() -> None:
    assert one_line("a\n  b\tc ") == "a b c"
