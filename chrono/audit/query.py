"""Owns which records a reader asks for, and whether one of them is it. Pure.

Finding them fast is left to `audit.index`; how a person types a time to `cli`.
"""

from __future__ import annotations

from chrono.audit.record import Record
from chrono.canonical import Json, recordable
from chrono.tuples import NamedTuple


class Query(NamedTuple):
    """What is asked for; "" asks for nothing. All of it must hold.

    `since` and `until`: RFC 3339 with microseconds, UTC, as in `at` (from and including; before). `actor`: a user,
    agent, model or host by its whole name. `session`: its id or how that begins. `event`: a kind, or how kinds begin
    where it ends in ".". `path`: part of a path that the record names. `text`: part of what `searched` holds, whatever
    the case.
    """

    since: str = ""
    until: str = ""
    actor: str = ""
    session: str = ""
    event: str = ""
    decision: str = ""
    path: str = ""
    text: str = ""

    @property
    def empty(self) -> bool:
        return not any(self)

    @property
    def recordable(self) -> Query:
        """The same question in the words of a record, where a byte that is no UTF-8 is written as an escape."""
        return Query(*map(recordable, self))


def actors(record: Record) -> tuple[str, ...]:
    """The names that a record's actor goes by."""
    return _texts([record.by.get(name) for name in ("user", "agent", "model", "host")])


def paths(record: Record) -> tuple[str, ...]:
    """The paths that a record names: of files, of the call, of the folder it ran in."""
    files, named = record.act.get("files"), record.act.get("paths")
    found = [entry[0] for entry in files if isinstance(entry, list) and entry] if isinstance(files, list) else []
    return _texts([*found, *(named if isinstance(named, list) else ()), record.act.get("cwd")])


def searched(record: Record) -> str:
    """The text of a record that `Query.text` is looked for in, one thing a line: tool, command, message, rules."""
    rules = record.act.get("rules")
    parts = [record.act.get(name) for name in ("tool", "cmd", "message")]
    return "\n".join(_texts([*parts, *(rules if isinstance(rules, list) else ())]))


def matches(record: Record, query: Query) -> bool:
    """Whether a record is what was asked for."""
    if record.at < query.since or (query.until and record.at >= query.until):
        return False
    if query.event and not (record.ev.startswith(query.event) if query.event[-1] == "." else record.ev == query.event):
        return False
    if query.decision and record.act.get("decision") != query.decision:
        return False
    session = record.by.get("session")
    if query.session and not (isinstance(session, str) and session.startswith(query.session)):
        return False
    if query.actor and query.actor not in actors(record):
        return False
    if query.path and not any(query.path in path for path in paths(record)):
        return False
    return not query.text or query.text.lower() in searched(record).lower()


def _texts(values: list[Json]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value)
