"""Claims about the grammar: what is read in one look is what the way through the grammar reads, at the same price."""

from __future__ import annotations

import pytest

from chrono.scan.command import LimitReached
from chrono.scan.shell import parser, words
from chrono.scan.shell.lexer import MAX_DEPTH, Budget
from tests.unit.scan.shell.test_plain import texts

CARRIERS = (
    "{}",
    "true;{} ;x",
    "{}|{}",
    "a &&\t{}&",
    "({})",
    'x="$({})" y',
    "if {}\nthen {} ;fi",
    "`{}`",
    "f() { {}; }",
)
QUOTED = ("''", "'a b'", '""', '"a b"', "\"a'b\"", "'a\"b'", '$a', '"$a"', "$a$b", '"$a"b', "$a\\\nb", '"$1"', "$a[1]",
          "$a:h", '"a$b"', "'a'b", '$"a"', "$'a'", '"a\\"b"', "'a\0b'", '"\0"', "$a#", "'a'>x", '"$a";', "$é", "a=$b")  # fmt: skip


def read(text: str, dialect: str) -> tuple[object, ...]:
    """The tree, where and why reading stopped, and what it has cost."""
    budget = Budget()
    try:
        body, fault = parser.parse(text, dialect, budget)
    except LimitReached as reached:
        return (reached.why,)
    return body, None if fault is None else (fault.why, fault.at), budget.work, budget.depth


@pytest.mark.parametrize("dialect", ["bash", "dash", "zsh"])
def test_what_is_read_in_one_look_is_what_the_grammar_reads(monkeypatch: pytest.MonkeyPatch, dialect: str) -> None:
    listed = [text for text in texts()[::7] if "<<" not in text]  # bodies of here-documents are filled in, not compared
    made = [carrier.replace("{}", f"x {word} y") for word in QUOTED for carrier in CARRIERS]
    carried = [CARRIERS[at % len(CARRIERS)].replace("{}", text) for at, text in enumerate(listed)]
    asked = [*listed, *carried, *made, *QUOTED]
    quick = [read(text, dialect) for text in asked]
    monkeypatch.setattr(parser, "read_plain_command", lambda reader: None)
    monkeypatch.setattr(words, "_read_common", lambda reader: None)
    assert [(text, read(text, dialect)) for text in asked] == list(zip(asked, quick, strict=True))


def test_the_depth_is_the_same_for_a_word_in_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = ["(" * depth + ' "a" ' + ")" * depth for depth in range(MAX_DEPTH - 2, MAX_DEPTH + 2)]
    quick = [read(text, "bash") for text in deep]
    monkeypatch.setattr(words, "_read_common", lambda reader: None)
    assert [read(text, "bash") for text in deep] == quick
