"""Owns what a record looks like in other systems: CSV, OCSF, CEF, CloudEvents, OTLP logs; and reading a copy back.

Every exported event keeps the signed line as it is, so a copy can be held against the log. Pure; which records are
exported, and where to, is left to `cli`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TextIO

from chrono.audit.query import paths
from chrono.audit.record import Record
from chrono.clock import from_rfc3339
from chrono.tuples import NamedTuple

_PRODUCT, _VENDOR, _OCSF_VERSION = "chrono", "chrono", "1.3.0"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_BATCH, _BATCH_BYTES = 500, 1 << 20
_LINE_CHARS = 1 << 24
"""Longest line of a copy: no export writes half as much, so what is longer is none."""
COLUMNS = (
    *("n", "at", "ev", "decision", "score", "user", "uid", "host", "agent", "model", "session", "tool_use_id"),
    *("source", "tool", "cmd", "cwd", "paths", "rules", "exit", "dur_ms", "message", "commit"),
    *("log", "prev", "kid", "sig", "raw"),
)
_SEVERITY = {"block": ("High", 4, 8, 17), "ask": ("Medium", 3, 5, 13)}
_INFORMATIONAL = ("Informational", 1, 2, 9)


class NotACopy(ValueError):
    """A file that holds no exported records; the text says why."""


class Copied(NamedTuple):
    """A record's line as an exported event keeps it, and the line of the file that it stands in."""

    line: bytes
    at_line: int


def csv_rows(records: Iterable[Record]) -> Iterator[str]:
    """RFC 4180, header first. A cell that a spreadsheet would take for a formula begins with `'` (CWE-1236)."""
    yield _row(COLUMNS)
    for record in records:
        yield _row([neutral(cell) for cell in _cells(record)])


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(list(cells))
    return out.getvalue()


def neutral(cell: str) -> str:
    """`cell` as a spreadsheet shows it without computing anything."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _cells(record: Record) -> list[str]:
    act, by = record.act, record.by
    rules = act.get("rules")
    anchor = record.anchor or {}
    values: dict[str, object] = {
        **{
            name: by.get(name) for name in ("user", "uid", "host", "agent", "model", "session", "tool_use_id", "source")
        },
        **{name: act.get(name) for name in ("decision", "score", "tool", "cmd", "cwd", "exit", "dur_ms", "message")},
        "n": record.n,
        "at": record.at,
        "ev": record.ev,
        "paths": " ".join(paths(record)[:50]),
        "rules": " ".join(str(rule) for rule in rules) if isinstance(rules, list) else "",
        "commit": anchor.get("commit"),
        "log": record.log,
        "prev": record.prev,
        "kid": record.kid,
        "sig": _signature(record),
        "raw": record.line.decode("utf-8"),
    }
    return ["" if values[name] is None else str(values[name]) for name in COLUMNS]


def _signature(record: Record) -> str:
    return record.line[-90:-2].decode("ascii") if record.kid is not None else ""


# --- events for SIEMs, one JSON object or line each


def ocsf(record: Record) -> str:
    """OCSF: Process Activity (1007) for commands, File System Activity (1001), API Activity (6003) for MCP tools."""
    act, by = record.act, record.by
    tool = str(act.get("tool") or "")
    category, kind, activity = (0, 0, 0)
    more: dict[str, Any] = {}
    if tool.startswith("mcp__"):
        category, kind, activity = 6, 6003, 99
        more = {"api": {"operation": tool}, "activity_name": "Call"}
    elif record.ev == "file":
        category, kind, activity = 1, 1001, 3
        path = next(iter(paths(record)), "")
        more = {"file": {"path": path, "name": path.rpartition("/")[2], "type_id": 1}}
    elif record.ev == "command":
        category, kind, activity = 1, 1007, 1
        more = {"process": {"cmd_line": str(act.get("cmd") or ""), "name": tool}}
    decision = str(act.get("decision") or "")
    name, severity, _, _ = _SEVERITY.get(decision, _INFORMATIONAL)
    return _line({
        "category_uid": category,
        "class_uid": kind,
        "activity_id": activity,
        "type_uid": kind * 100 + activity,
        "time": from_rfc3339(record.at) // 1_000_000,
        "severity_id": severity,
        "severity": name,
        "action_id": 2 if decision == "block" else 1,
        "disposition_id": 2 if decision == "block" else 1,
        "message": record.ev,
        "metadata": {
            "version": _OCSF_VERSION,
            "product": {"name": _PRODUCT, "vendor_name": _VENDOR},
            "sequence": record.n,
            "uid": f"{record.log}:{record.n}",
            "log_name": record.log,
            "original_time": record.at,
        },
        "actor": {
            "user": {"name": by.get("user"), "uid": str(by.get("uid", ""))},
            "app_name": by.get("agent"),
            "session": {"uid": by.get("session")},
        },
        "device": {"hostname": by.get("host"), "type_id": 0},
        **more,
        "unmapped": {"decision": decision, "rules": act.get("rules"), "score": act.get("score")},
        "raw_data": record.line.decode("utf-8"),
    })  # fmt: skip


def cef(record: Record) -> str:
    """ArcSight CEF 0; the signed line is `cs6`."""
    act, by = record.act, record.by
    decision = str(act.get("decision") or "")
    severity = _SEVERITY.get(decision, _INFORMATIONAL)[2]
    head = (_PRODUCT, "chrono-toolkit", "2", record.ev, f"{record.ev} {decision}".strip(), str(severity))
    fields = {
        "rt": from_rfc3339(record.at) // 1_000_000,
        "externalId": f"{record.log}:{record.n}",
        "act": decision,
        "suser": by.get("user"),
        "suid": by.get("uid"),
        "dvchost": by.get("host"),
        "sproc": by.get("agent"),
        "msg": act.get("cmd") or act.get("message"),
        "filePath": next(iter(paths(record)), None),
        "cs1Label": "session",
        "cs1": by.get("session"),
        "cs6Label": "record",
        "cs6": record.line.decode("utf-8"),
    }
    told = " ".join(f"{key}={_extension(str(value))}" for key, value in fields.items() if value not in (None, ""))
    return f"CEF:0|{'|'.join(_header(part) for part in head)}|{told}\n"


def _header(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("\r", " ")


def _extension(text: str) -> str:
    return text.replace("\\", "\\\\").replace("=", "\\=").replace("\n", "\\n").replace("\r", "\\r")


def _unextended(text: str) -> str:
    marks = {"\\": "\\", "=": "=", "n": "\n", "r": "\r"}
    parts, escaped = [], False
    for char in text:
        if escaped:
            parts.append(marks.get(char, char))
        elif char != "\\":
            parts.append(char)
        escaped = char == "\\" and not escaped
    return "".join(parts)


def cloudevents(record: Record) -> str:
    """CloudEvents 1.0 in JSON; the signed line is the extension `chronoline`."""
    line = record.line.decode("utf-8")
    return _line({
        "specversion": "1.0",
        "id": f"{record.log}:{record.n}",
        "source": f"urn:chrono:log:{record.log}",
        "type": f"dev.chrono.audit.{record.ev}",
        "time": record.at,
        "datacontenttype": "application/json",
        "data": json.loads(line),
        "chronoline": line,
    })  # fmt: skip


def otlp(records: Iterable[Record]) -> Iterator[str]:
    """OTLP logs as JSON, a request of at most some hundred records a line; the body of each is the signed line."""
    batch: list[dict[str, Any]] = []
    size = 0
    for record in records:
        batch.append(_log_record(record))
        size += len(record.line)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield _otlp_request(batch)
            batch, size = [], 0
    if batch:
        yield _otlp_request(batch)


def _log_record(record: Record) -> dict[str, Any]:
    at_ns = str(from_rfc3339(record.at))
    decision = str(record.act.get("decision") or "")
    attributes = {
        "chrono.log": record.log,
        "chrono.n": record.n,
        "chrono.decision": decision,
        "user.name": record.by.get("user"),
        "host.name": record.by.get("host"),
        "gen_ai.agent.name": record.by.get("agent"),
        "session.id": record.by.get("session"),
        "process.command_line": record.act.get("cmd"),
    }
    severity = _SEVERITY.get(decision, _INFORMATIONAL)
    return {
        "timeUnixNano": at_ns,
        "observedTimeUnixNano": at_ns,
        "severityNumber": severity[3],
        "severityText": severity[0],
        "eventName": f"chrono.{record.ev}",
        "body": {"stringValue": record.line.decode("utf-8")},
        "attributes": [
            {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in attributes.items()
            if value not in (None, "")
        ],
    }


def _otlp_request(batch: list[dict[str, Any]]) -> str:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": _PRODUCT}}]}
    scope = {"scope": {"name": "chrono.audit", "version": "2"}, "logRecords": batch}
    return _line({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n"


def _each(form: Callable[[Record], str]) -> Callable[[Iterable[Record]], Iterator[str]]:
    return lambda records: map(form, records)


FORMATS: dict[str, Callable[[Iterable[Record]], Iterator[str]]] = {
    "csv": csv_rows,
    "ocsf": _each(ocsf),
    "cef": _each(cef),
    "cloudevents": _each(cloudevents),
    "otlp": otlp,
    "jsonl": _each(lambda record: record.line.decode("utf-8") + "\n"),
}
"""What `chrono audit export` writes: from records to the pieces of a file."""


# --- a copy, read back


def lines_of(file: TextIO) -> Iterator[str]:
    """The lines of an exported file, with their ends, in bounded memory. Raises NotACopy at one that is too long."""
    number = 0
    while line := file.readline(_LINE_CHARS):
        number += 1
        if len(line) == _LINE_CHARS:
            raise NotACopy(f"line {number} is too long")
        yield line


def copied(text: Iterable[str]) -> Iterator[Copied]:
    """The record lines that an exported file keeps, in its order. `text` are its lines, with their ends.

    Raises NotACopy at the first line that keeps none.
    """
    lines = iter(enumerate(text, 1))
    first = next(lines, None)
    if first is None:
        return
    if first[1].startswith("n,at,"):
        yield from _of_csv(chain([first[1]], (line for _, line in lines)))
        return
    for number, line in chain([first], lines):
        for raw in _of_line(line.rstrip("\r\n"), number):
            yield Copied(raw.encode("utf-8", "surrogatepass"), number)


def _of_csv(lines: Iterable[str]) -> Iterator[Copied]:
    rows = csv.DictReader(lines)
    try:
        for row in rows:
            raw = row.get("raw")
            if not raw:
                raise NotACopy(f"line {rows.line_num} has no raw column")
            yield Copied(raw.encode("utf-8"), rows.line_num)
    except csv.Error as error:
        raise NotACopy(f"line {rows.line_num}: {error}") from None


def _of_line(line: str, number: int) -> list[str]:
    if line.startswith("CEF:"):
        _, mark, raw = line.partition(" cs6=")
        if mark:
            return [_unextended(raw)]
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        for key in ("raw_data", "chronoline"):
            if isinstance(value.get(key), str):
                return [value[key]]
        if "resourceLogs" in value:
            return list(_bodies(value))
        if "prev" in value and "log" in value:
            return [line]
    raise NotACopy(f"line {number} keeps no record")


def _bodies(request: dict[str, Any]) -> Iterator[str]:
    try:
        for resource in request["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    body = record["body"]["stringValue"]
                    if not isinstance(body, str):
                        raise TypeError
                    yield body
    except (KeyError, TypeError):
        raise NotACopy("an OTLP request without bodies") from None
