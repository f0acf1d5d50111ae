"""Owns how records of the audit log are found and shown: by what a person asks, as a table, as JSON, as they come.

Finding them is left to `audit.index`, what other systems' forms look like to `audit.export`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from chrono.cli import shapes
from chrono.cli.render import Screen
from chrono.cli.text import Part, Styled, count, one_line
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.audit.place import LogPlace
    from chrono.audit.query import Query
    from chrono.audit.record import Record
    from chrono.audit.text import Text
    from chrono.clock import Clock
    from chrono.workspace.project import Workspace

_DECISIONS = {"allow": "green", "ask": "yellow", "block": "red"}
_ENDS = (("trusted", "no longer trusted"), ("pinned", "no longer pinned"))
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LOOK_EVERY_S = 0.5


def moment(text: str | None, option: str, clock: Clock) -> str:
    """A point in time as a person types it, in the form of records: a day, a time (UTC), or how long ago (`90m`, `3d`).

    "" for None. Raises UsageError.
    """
    from chrono.clock import from_rfc3339, rfc3339

    if text is None:
        return ""
    if text[:-1].isdigit() and text[:-1].isascii() and len(text) < 12 and text[-1] in _UNITS_S:
        return rfc3339(max(0, clock.now_ns() - int(text[:-1]) * _UNITS_S[text[-1]] * 1_000_000_000))
    day, _, rest = text.replace(" ", "T").removesuffix("Z").partition("T")
    whole, _, fraction = rest.partition(".")
    hours = (whole + "00:00:00"[len(whole) :]) if len(whole) in (0, 5, 8) else "-"
    found = f"{day}T{hours}.{fraction[:6]:0<6}Z"
    try:
        from_rfc3339(found)
    except ValueError:
        raise UsageError(
            f"{option} {text} is no time", "a day (2026-11-30), a time in UTC (2026-11-30T14:05), or 90m, 3h, 2d ago"
        ) from None
    return found


def show(screen: Screen, ws: Workspace, query: Query, limit: int, *, json: bool) -> int:
    """The newest records that were asked for, oldest first."""
    from chrono.audit.index import found
    from chrono.audit.place import project_place

    with screen.working("searching"):
        hits = found(project_place(ws.layout), ws.home, ws.log.log_id, query, limit)
    if json:
        screen.value({"records": [record_json(number, record) for number, record in hits]})
        return 0
    screen.table([record_row(number, record) for number, record in hits])
    if not hits:
        screen.note("no record fits" if not query.empty else "the log is empty")
    elif limit and len(hits) == limit and (hits[0][0] > 0 or not query.empty):
        what = "that fit" if not query.empty else f"of {hits[-1][0] + 1:,}"
        screen.note(f"the newest {limit} {what} are shown; all of them: -n 0")
    return 0


def follow(screen: Screen, ws: Workspace, query: Query, *, json: bool) -> int:
    """Records as they are written, until a person interrupts. With JSON, one object a line."""
    from chrono.audit.index import follow as read_on
    from chrono.audit.place import open_text, project_place

    place = project_place(ws.layout)
    text = open_text(place)
    try:
        at = text.end
        following = _count(text, at)
        while True:
            for n, end, record in read_on(text, query, at, following):
                if record is not None and json:
                    screen.value(record_json(n, record))
                elif record is not None:
                    screen.table([record_row(n, record)])
                screen.flush()
                at, following = end, n + 1
            if not _grows(text, place):
                text.close()
                text = open_text(place)  # a segment was closed: the same text goes on in the next file
            else:
                time.sleep(_LOOK_EVERY_S)
    except KeyboardInterrupt:
        return 0
    finally:
        text.close()


def _grows(text: Text, place: LogPlace) -> bool:
    """Whether the last file of `text` is the one that records are still written to."""
    try:
        return os.path.samestat(os.fstat(text.parts[-1].fd), os.stat(place.log, follow_symlinks=False))
    except FileNotFoundError:
        return True  # between two files: look again later


def _count(text: Text, size: int) -> int:
    """The number of the record that comes next, by the last one's own word."""
    from chrono.audit.part import numbered

    start = max(0, size - (1 << 17))
    last = text.pread(size - start, start).rstrip(b"\n").rpartition(b"\n")[2]
    found = numbered(last)
    return found[0] + 1 if found is not None else 0


def export(screen: Screen, ws: Workspace, form: str, query: Query, out: str | None, *, json: bool) -> int:
    """Every record that was asked for, in the form of another system: into file `out`, or on the screen."""
    from chrono.audit.export import FORMATS
    from chrono.audit.place import project_place

    written = 0

    def counted() -> Iterator[Record]:
        nonlocal written
        for record in exported(project_place(ws.layout), query):
            written += 1
            yield record

    pieces = FORMATS[form](counted())
    if out is None:
        for piece in pieces:
            screen.block(piece)
        return 0
    try:
        with open(out, "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
    except OSError as error:
        raise ChronoError(f"{out} cannot be written: {error.strerror}") from None
    if json:
        screen.value({"out": out, "format": form, "records": written})
    else:
        screen.text(f"{count(written, 'record')} in {out}")
    return 0


def exported(place: LogPlace, query: Query) -> Iterator[Record]:
    """Every record that was asked for, read one after the other. What is no record is left out."""
    from chrono.audit.query import matches
    from chrono.audit.verify import read_records

    for record in read_records(place):
        if record is not None and matches(record, query):
            yield record


def record_json(number: int, record: Record | None) -> shapes.Json:
    import json

    if record is None:
        return {"n": number, "malformed": True}
    value: shapes.Json = json.loads(record.line)
    return value


def record_row(number: int, record: Record | None) -> tuple[Part, ...]:
    if record is None:
        return (f"{number:>5}", "?", Styled("malformed", "red"), "", "", "run chrono audit --verify")
    act, anchor = record.act, record.anchor or {}
    decision = str(act.get("decision") or "")
    subject = act.get("cmd") or act.get("message") or _paths(act) or _person(act) or act.get("phase") or _ended(act)
    if act.get("cmd") and isinstance(act.get("approved"), dict):
        subject = f"(approved by {_person(act)}) {subject}"
    commit = str(anchor.get("commit") or "")
    text = one_line(str(subject))
    if commit:
        text = f"{shapes.short(commit)}  {text}".rstrip()
    style = _DECISIONS.get(decision)
    return (
        f"{record.n:>5}",
        f"{record.at[:10]} {record.at[11:19]}Z",
        record.ev,
        Styled(decision, style) if style else decision or "-",
        str(record.by.get("agent") or record.by.get("user") or "-"),
        text,
    )


def _person(act: Mapping[str, object]) -> str:
    """Who a record of an approval or of the team is about, and with which key."""
    used = act.get("approved")
    about: Mapping[str, object] = used if isinstance(used, dict) else act
    if not isinstance(about.get("name"), str):
        return ""
    words = [str(about["name"]), f"key {about['kid']}" if about.get("kid") else "no key"]
    if act.get("role"):
        words.insert(1, f"({act['role']})")
    if request := act.get("request") or about.get("id"):
        words.append(f"request {request}")
    return " ".join(words)


def _ended(act: Mapping[str, object]) -> str:
    """What a person took back; the same kind of record tells of the beginning."""
    return next((text for member, text in _ENDS if act.get(member) is False), "")


def _paths(act: Mapping[str, object]) -> str:
    files = act.get("files")
    if not isinstance(files, list):
        return ""
    return " ".join(str(entry[0]) for entry in files if isinstance(entry, list) and entry)
