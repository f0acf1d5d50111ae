"""Owns what the end of a log tells about agent clients: when each was last seen, with which tools, and what is missing.

A result without its call means that a tool ran which no hook saw before; a call that was denied and came back all the
same is an alarm of its own (`effects`). Whether a client has a hook now is left to `install`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from chrono.agents.protocol import SELF_TEST
from chrono.guard.recall import backwards
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.audit.place import LogPlace
    from chrono.audit.record import Record

MAX_TOOLS = 12


class Seen(NamedTuple):
    """One client, as far as the end of the log tells.

    `last`: when it last reported anything (RFC 3339); `session`: the session of that; `began`: when a session of it
    last reported its beginning, None where none did. `tools`: (name, calls) by how often, of calls before they ran.
    `unseen`: results whose call no hook saw. `denied_but_ran`: calls that ran although they were refused.
    """

    client: str
    last: str
    session: str | None
    began: str | None
    tools: tuple[tuple[str, int], ...]
    unseen: int
    denied_but_ran: int


def seen(places: Iterable[LogPlace]) -> tuple[Seen, ...]:
    """Every client that the logs name near their end, by name. What `selftest` fired is no sign of a client."""
    found: dict[str, _Tally] = {}
    for place in places:
        for record in backwards(place):
            client = record.by.get("agent")
            by_hook = record.by.get("source") == "hook" and record.by.get("session") != SELF_TEST
            if isinstance(client, str) and by_hook:
                found.setdefault(client, _Tally()).add(record)
    return tuple(found[client].told(client) for client in sorted(found))


class _Tally:
    """What is known of one client so far; records come newest first, so a result is met before its call."""

    def __init__(self) -> None:
        self.last = ""
        self.session: str | None = None
        self.began: str | None = None
        self.tools: Counter[str] = Counter()
        self.results: set[str] = set()
        self.alarms = 0

    def add(self, record: Record) -> None:
        """Counts one record."""
        session, call_id = record.by.get("session"), record.by.get("tool_use_id")
        if record.at > self.last:
            self.last = record.at
            self.session = session if isinstance(session, str) else None
        if record.ev == "session.start" and (self.began is None or record.at > self.began):
            self.began = record.at
        elif record.ev == "alarm.denied_but_ran":
            self.alarms += 1
        elif record.ev in ("command", "file"):
            self._count(record, call_id if isinstance(call_id, str) else None)

    def _count(self, record: Record, call_id: str | None) -> None:
        if record.act.get("phase") == "end":
            if call_id is not None:
                self.results.add(call_id)
            return
        self.results.discard(call_id or "")
        tool = record.act.get("tool")
        if isinstance(tool, str):
            self.tools[tool] += 1

    def told(self, client: str) -> Seen:
        tools = tuple(self.tools.most_common(MAX_TOOLS))
        return Seen(client, self.last, self.session, self.began, tools, len(self.results), self.alarms)
