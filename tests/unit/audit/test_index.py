"""Claims about finding records: what the index finds is what reading every line finds, and in doubt it is made anew."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from chrono.audit import index
from chrono.audit.index import follow, found
from chrono.audit.place import open_text
from chrono.audit.query import Query, matches
from chrono.audit.record import Act, Actor, Entry, Record
from chrono.audit.verify import read_records

from .conftest import Ground


@pytest.fixture
def filled(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(index, "_WORTH_BYTES", 0)
    ground.begin()
    dice = random.Random(7)
    for number in range(120):
        by = Actor(
            user=dice.choice(["bob", "eve"]), agent=dice.choice([None, "claude-code"]), session=f"s-{number % 7}_%"
        )
        act = Act(
            tool="Bash",
            cmd=dice.choice(["rm -rf Build", "make TEST", "echo é", 'say "hi" %_\\', "x", "cat \udcff"]),
            decision=dice.choice(["allow", "ask", "block"]),
            rules=("files.delete",) if number % 3 else (),
            files=((f"src/a{number % 5}.py", "0" * 64),),
            cwd="/home/bob/x",
            more=(("paths", ["/etc/passwd"]),) if number % 11 == 0 else (),
        )
        ground.log.append(Entry(dice.choice(["command", "file", "session.start"]), by, act), timeout_s=5)
    return ground


def ask(ground: Ground, query: Query, limit: int = 0) -> list[tuple[int, Record | None]]:
    return found(ground.place, ground.home, ground.log.log_id, query, limit)


def read_all(ground: Ground, query: Query) -> list[tuple[int, Record | None]]:
    records = enumerate(read_records(ground.place))
    return [(n, record) for n, record in records if record is not None and matches(record, query)]


def queries(ground: Ground) -> list[Query]:
    times = [record.at for record in read_records(ground.place) if record is not None]
    return [
        Query(since=times[40]),
        Query(until=times[40]),
        Query(since=times[10], until=times[90], event="command"),
        Query(event="session."),
        Query(event="session"),
        Query(decision="block", actor="eve"),
        Query(actor="claude-code"),
        Query(actor="claude"),
        Query(session="s-3"),
        Query(session="s-_"),
        Query(session="%"),
        Query(path="a3.py"),
        Query(path="passwd"),
        Query(path="A3"),
        Query(text="rm -rf build"),
        Query(text="BASH"),
        Query(text="É"),
        Query(text='"hi"'),
        Query(text="%_\\"),
        Query(text="x"),
        Query(text="files.delete", decision="allow"),
        Query(text="nobody said this"),
        *(Query(*("\udcff" if at == member else "" for at in range(8))).recordable for member in range(2, 8)),
    ]


def test_the_index_finds_what_reading_every_line_finds(filled: Ground) -> None:
    some = 0
    for query in queries(filled):
        wanted = read_all(filled, query)
        some += bool(wanted)
        assert ask(filled, query) == wanted, query
        assert ask(filled, query, 3) == wanted[-3:], query
    assert some > 15
    assert os.path.exists(filled.home.audit_index(filled.log.log_id))


def test_new_records_are_found_and_a_cut_log_is_read_anew(filled: Ground) -> None:
    query = Query(text="needle")
    assert ask(filled, query) == []
    filled.command("the needle")
    assert [n for n, _ in ask(filled, query)] == [121]
    filled.write_lines(filled.lines()[:50])
    assert ask(filled, query) == []
    assert ask(filled, Query(decision="block")) == read_all(filled, Query(decision="block"))
    lines = filled.lines()
    lines[7] = lines[7].replace(b'"user":"', b'"user":"x')
    filled.write_lines(lines)
    assert all(n != 7 for n, _ in ask(filled, Query(actor="bob")))


def test_a_damaged_index_is_thrown_away(filled: Ground) -> None:
    query = Query(decision="ask")
    wanted = ask(filled, query)
    path = Path(filled.home.audit_index(filled.log.log_id))
    for damage in (b"", b"x" * 5000, path.read_bytes()[:9000]):
        for name in path.parent.glob(path.name + "-*"):
            name.unlink()
        path.write_bytes(damage)
        assert ask(filled, query) == wanted
        assert ask(filled, query) == wanted


def test_without_a_question_the_newest_are_read_from_the_end(filled: Ground) -> None:
    every = list(enumerate(read_records(filled.place)))
    assert ask(filled, Query()) == every
    for limit in (1, 5, 120, 121, 500):
        assert ask(filled, Query(), limit) == every[-limit:]
    lines = filled.lines()
    filled.write_lines([*lines[:-1], b"damaged"])
    assert ask(filled, Query(), 2) == [every[-2], (120, None)]


def test_following_goes_on_where_it_was(filled: Ground) -> None:
    with open_text(filled.place) as text:
        end = text.end
        assert list(follow(text, Query(), end, 121)) == []
        filled.command("one")
        filled.command("two")
        seen = list(follow(text, Query(text="two"), end, 121))
    assert [(n, record.act["cmd"] if record else None) for n, _, record in seen] == [(121, None), (122, "two")]


@pytest.mark.parametrize("dense", [1, 2, 5])
def test_texts_that_are_everywhere_are_found_the_same_way(
    filled: Ground, monkeypatch: pytest.MonkeyPatch, dense: int
) -> None:
    """Where many texts hold what is asked for, the records are looked at one by one; the answer stays."""
    monkeypatch.setattr(index, "_DENSE", dense)
    for number in range(12):
        filled.command(f"say Kelvin \u212aELVIN {number}")
        filled.command(f"say \u212aELVIN {number}")
    for query in [*queries(filled), Query(text="kelvin"), Query(text="SAY"), Query(text="say", decision="allow")]:
        assert ask(filled, query) == read_all(filled, query)
        assert ask(filled, query, 3) == read_all(filled, query)[-3:]
