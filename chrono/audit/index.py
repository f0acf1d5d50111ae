"""Owns the index over a log that makes searching it fast: one SQLite file in CHRONO_HOME/cache, thrown away in doubt.

It only says where to look. Every record that is found is read from the log again, and judged by `audit.query`.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

from chrono.audit.place import LogPlace, open_text
from chrono.audit.query import Query, actors, matches, paths, searched
from chrono.audit.record import MAX_LINE_BYTES, Record, read
from chrono.audit.text import Text, lines
from chrono.canonical import NotCanonical
from chrono.files import own_folder
from chrono.layout import HomeLayout

if TYPE_CHECKING:
    import sqlite3

_VERSION = "2"
_WORTH_BYTES = 1 << 21
"""Where a log is smaller, it is read as fast as an index of it."""
_BATCH = 5000
_SCHEMA = """
CREATE TABLE state(version TEXT, size INTEGER, offset INTEGER, last BLOB);
CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE said(id INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE place(id INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE record(n INTEGER PRIMARY KEY, offset INTEGER, length INTEGER, at TEXT, ev INTEGER, decision INTEGER,
                    session INTEGER, said INTEGER);
CREATE TABLE actor(word INTEGER, n INTEGER, PRIMARY KEY(word, n)) WITHOUT ROWID;
CREATE TABLE named(place INTEGER, n INTEGER, PRIMARY KEY(place, n)) WITHOUT ROWID;
CREATE INDEX by_at ON record(at);
CREATE INDEX by_ev ON record(ev);
CREATE INDEX by_decision ON record(decision);
CREATE INDEX by_session ON record(session);
CREATE INDEX by_said ON record(said);
CREATE VIRTUAL TABLE find USING fts5(text, content='said', content_rowid='id', tokenize='trigram');
"""


_BY_TEXT = {
    "word": ("SELECT id FROM word WHERE text = ?", "INSERT INTO word(text) VALUES (?)"),
    "said": ("SELECT id FROM said WHERE text = ?", "INSERT INTO said(text) VALUES (?)"),
    "place": ("SELECT id FROM place WHERE text = ?", "INSERT INTO place(text) VALUES (?)"),
}


def found(place: LogPlace, home: HomeLayout, log: str, query: Query, limit: int) -> list[tuple[int, Record | None]]:
    """The newest `limit` records (0: all) that `query` asks for, oldest first, each with its number.

    A line that is no record is None, and only comes where everything was asked for. Raises AuditUnverifiable,
    FileNotFoundError.
    """
    with open_text(place) as text:
        if query.empty:
            return _newest(text, limit)
        if text.end < _WORTH_BYTES:
            return _scanned(text, query, limit)
        try:
            return _indexed(text, home, log, query, limit)
        except _database_error():
            forget(home, log)
            return _scanned(text, query, limit)


def follow(text: Text, query: Query, offset: int, n: int) -> Iterator[tuple[int, int, Record | None]]:
    """The lines from byte `offset` (record `n`) on: (number, next offset, the record where it was asked for)."""
    for line in lines(text, offset):
        if not line.whole:
            return
        record = _read(line.data)
        end = line.offset + line.length + 1
        yield n, end, record if record is not None and matches(record, query) else None
        n += 1


def _read(data: bytes | None) -> Record | None:
    try:
        return read(data or b"")
    except NotCanonical:
        return None


def _newest(text: Text, limit: int) -> list[tuple[int, Record | None]]:
    """The last lines, read from the end. The number is the record's own word; a reader looks, a verifier proves."""
    every = ((n, _read(line.data)) for n, line in enumerate(lines(text)) if line.whole and not line.pruned)
    if limit <= 0:
        return list(every)
    span, size = 1 << 16, text.end
    while True:
        start = max(0, size - span)
        data = text.pread(size - start, start)
        held = data.split(b"\n")[:-1]
        if start:
            held = held[1:]  # cut off at its beginning
        if start == 0 or len(held) >= limit:
            break
        if span > (limit + 2) * (MAX_LINE_BYTES + 1):  # there are lines that are longer than a record can be
            return list(deque(every, maxlen=limit))
        span *= 4
    last = [_read(line) for line in held[-limit:]]
    first = next((record.n - at for at, record in enumerate(last) if record is not None), 0)
    return [(first + at, record) for at, record in enumerate(last)]


def _scanned(text: Text, query: Query, limit: int) -> list[tuple[int, Record | None]]:
    hits: deque[tuple[int, Record | None]] = deque(maxlen=limit or None)
    for n, line in enumerate(lines(text)):
        record = _read(line.data) if line.whole else None
        if record is not None and matches(record, query):
            hits.append((n, record))
    return list(hits)


# --- the index


def _indexed(text: Text, home: HomeLayout, log: str, query: Query, limit: int) -> list[tuple[int, Record | None]]:
    base = _open(home, log)
    try:
        _catch_up(base, text)
        hits: list[tuple[int, Record | None]] = []
        for n, offset, length in base.execute(*_select(base, query)):
            record = _read(text.pread(min(length, MAX_LINE_BYTES), offset))
            if record is not None and record.n == n and matches(record, query):
                hits.append((n, record))
                if limit and len(hits) >= limit:
                    break
        return hits[::-1]
    finally:
        base.close()


_DENSE = 2000
"""Where more records than this may fit, the newest are found by going back through all, not by sorting the fitting."""


def _select(base: sqlite3.Connection, query: Query) -> tuple[str, list[object]]:
    """Where to look; it may say too much, never too little."""
    common = _common(base, query.text)
    conditions, values = _conditions(query._replace(text="") if common else query)
    where = " AND ".join(conditions)
    count = f"SELECT count(*) FROM (SELECT 1 FROM record WHERE {where} LIMIT {_DENSE})"  # noqa: S608 - own words only
    if base.execute(count, values).fetchone()[0] >= _DENSE:
        where = " AND ".join(f"+{condition}" for condition in conditions)  # a plus keeps SQLite off the index
    if common:  # not counted: of a text that many hold, that would cost more than finding the newest
        where, values = f"{where} AND {_SAID}", [*values, query.text.lower()]
    return f"SELECT n, offset, length FROM record WHERE {where} ORDER BY n DESC", values  # noqa: S608


def _findable(text: str) -> bool:
    return len(text) >= 3 and text.isascii()  # otherwise SQLite's idea of case is another than ours


def _common(base: sqlite3.Connection, text: str) -> bool:
    """Whether so many different texts hold it that listing them costs more than looking at the newest one by one."""
    if not _findable(text):
        return False
    count = f"SELECT count(*) FROM (SELECT rowid FROM find WHERE find MATCH ? LIMIT {_DENSE})"  # noqa: S608
    return bool(base.execute(count, (_quoted(text),)).fetchone()[0] >= _DENSE)


def _quoted(text: str) -> str:
    escaped = text.replace('"', '""')
    return f'"{escaped}"'


_SAID = (
    "EXISTS (SELECT 1 FROM said WHERE said.id = record.said AND (instr(lower(text), ?) > 0"
    " OR length(CAST(text AS BLOB)) > length(text)))"  # not ASCII: its case is for Python to know
)


def _conditions(query: Query) -> tuple[list[str], list[object]]:
    conditions, values = ["1"], list[object]()

    def among(column: str, word: str, condition: str = "text = ?") -> None:
        conditions.append(f"{column} IN (SELECT id FROM word WHERE {condition})")  # noqa: S608
        values.append(word)

    if query.since:
        conditions.append("at >= ?")
        values.append(query.since)
    if query.until:
        conditions.append("at < ?")
        values.append(query.until)
    if query.event.endswith("."):
        among("ev", _prefix(query.event), "text LIKE ? ESCAPE '\\'")
    elif query.event:
        among("ev", query.event)
    if query.decision:
        among("decision", query.decision)
    if query.session:
        among("session", _prefix(query.session), "text LIKE ? ESCAPE '\\'")
    if query.actor:
        conditions.append("n IN (SELECT n FROM actor WHERE word IN (SELECT id FROM word WHERE text = ?))")
        values.append(query.actor)
    if query.path:
        conditions.append("n IN (SELECT n FROM named WHERE place IN (SELECT id FROM place WHERE instr(text, ?) > 0))")
        values.append(query.path)
    if _findable(query.text):
        conditions.append("said IN (SELECT rowid FROM find WHERE find MATCH ?)")
        values.append(_quoted(query.text))
    return conditions, values


def _prefix(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{escaped}%"


def _open(home: HomeLayout, log: str) -> sqlite3.Connection:
    import sqlite3

    own_folder(home.cache)
    base = sqlite3.connect(home.audit_index(log), timeout=30, isolation_level=None)
    try:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = OFF")
    except sqlite3.Error:  # no database, or a broken one
        base.close()
        raise
    return base


def _database_error() -> type[Exception]:
    import sqlite3

    return sqlite3.Error


def forget(home: HomeLayout, log: str) -> None:
    """Throws the index of a log away."""
    for end in ("", "-wal", "-shm"):
        try:
            os.unlink(home.audit_index(log) + end)
        except OSError:
            pass


def _catch_up(base: sqlite3.Connection, text: Text) -> None:
    """Makes the index one of the log as it is: adds what is new, or begins again where it is another log."""
    base.execute("BEGIN IMMEDIATE")
    try:
        size, offset = _state(base, text)
        writer = _Writer(base)
        last = b""
        for line in lines(text, offset):
            if not line.whole:
                break
            record = _loosely(line.data)
            if record is not None:
                writer.add(size, line.offset, line.length, record)
            size, offset, last = size + 1, line.offset + line.length + 1, line.leaf
        writer.flush()
        if last:
            base.execute("DELETE FROM state")
            base.execute("INSERT INTO state VALUES (?, ?, ?, ?)", (_VERSION, size, offset, last))
        base.execute("COMMIT")
    except BaseException:
        base.execute("ROLLBACK")
        raise


def _loosely(data: bytes | None) -> Record | None:
    """A record for the index alone, without the proof that it is one: what is found is read again, and strictly."""
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    ev, at, by, act = value.get("ev"), value.get("at"), value.get("by"), value.get("act", {})
    if not (isinstance(ev, str) and isinstance(at, str) and isinstance(by, dict) and isinstance(act, dict)):
        return None
    return Record(0, ev, at, "", "", None, by, act, None, b"")


def _state(base: sqlite3.Connection, text: Text) -> tuple[int, int]:
    """(records, bytes) that the index holds and that the log still begins with."""
    if base.execute("SELECT 1 FROM sqlite_master WHERE name = 'state'").fetchone():
        row = base.execute("SELECT * FROM state").fetchone()
        if row and row[0] == _VERSION and row[2] <= text.end and _ends_in(text, row[2], row[3]):
            return row[1], row[2]
        for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not name.startswith(("find_", "sqlite_")):
                base.execute(f"DROP TABLE {name}")
    for statement in _SCHEMA.split(";\n"):
        base.execute(statement)
    return 0, 0


def _ends_in(text: Text, offset: int, leaf: bytes) -> bool:
    start = max(0, offset - (MAX_LINE_BYTES + 2))
    before = text.pread(offset - start, start)
    return before.endswith(b"\n") and sha256(b"\x00" + before[:-1].rpartition(b"\n")[2]).digest() == leaf


class _Writer:
    """Adds records in batches; words and texts that come again are stored once."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._known: dict[tuple[str, str], int] = {}
        self._records: list[tuple[object, ...]] = []
        self._actors: list[tuple[int, int]] = []
        self._named: list[tuple[int, int]] = []

    def add(self, n: int, offset: int, length: int, record: Record) -> None:
        decision, session = record.act.get("decision"), record.by.get("session")
        self._records.append(
            (
                n,
                offset,
                length,
                record.at,
                self._id("word", record.ev),
                self._id("word", decision) if isinstance(decision, str) else None,
                self._id("word", session) if isinstance(session, str) else None,
                self._id("said", searched(record)),
            )
        )
        self._actors.extend((self._id("word", name), n) for name in set(actors(record)))
        self._named.extend((self._id("place", path), n) for path in set(paths(record)))
        if len(self._records) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        self._base.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._records)
        self._base.executemany("INSERT INTO actor VALUES (?, ?)", self._actors)
        self._base.executemany("INSERT INTO named VALUES (?, ?)", self._named)
        self._records.clear()
        self._actors.clear()
        self._named.clear()
        if len(self._known) > 200_000:
            self._known.clear()

    def _id(self, table: str, text: str) -> int:
        key = (table, text)
        known = self._known.get(key)
        if known is None:
            select, insert = _BY_TEXT[table]
            row = self._base.execute(select, (text,)).fetchone()
            if row is None:
                known = int(self._base.execute(insert, (text,)).lastrowid or 0)
                if table == "said":
                    self._base.execute("INSERT INTO find(rowid, text) VALUES (?, ?)", (known, text))
            else:
                known = int(row[0])
            self._known[key] = known
        return known
