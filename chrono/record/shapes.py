"""Owns the least that traces, spans and envelopes must be for a reader to show them, wherever they came from. Pure.

What they are in full is said by `trace`, whose models need pydantic; a reader here does without, and keeps what it does
not know.
"""

from __future__ import annotations

import re
from typing import Any

from chrono.record import frames

TRACE_ID = re.compile(r"[0-9a-f]{32}")

Members = dict[str, tuple[type, ...]]

_TEXT: tuple[type, ...] = (str,)
_MAYBE_TEXT: tuple[type, ...] = (str, type(None))
_MAYBE_OBJECT: tuple[type, ...] = (dict, type(None))
_TIMES: Members = {"started_at": _MAYBE_TEXT, "ended_at": _MAYBE_TEXT}
_LIFE: Members = {"state": _TEXT, "status": _MAYBE_TEXT, **_TIMES}
_TRACE: Members = {"trace_id": _TEXT, "name": _MAYBE_TEXT, "metadata": _MAYBE_OBJECT, **_TIMES}
_SPAN: Members = {"trace_id": _TEXT, "span_id": _TEXT, "service": _TEXT, **_LIFE}
_ENVELOPE: Members = {
    "trace_id": _TEXT,
    "span_id": _TEXT,
    "envelope_id": _TEXT,
    "kind": _TEXT,
    "name": _TEXT,
    "envelope_status": (dict,),
    "input": _MAYBE_OBJECT,
    "output": _MAYBE_OBJECT,
    "metadata": _MAYBE_OBJECT,
}
_OF_KIND: dict[bytes, Members] = {
    frames.TRACE: _TRACE,
    frames.SPAN: _SPAN,
    frames.OPEN_SPAN: _SPAN,
    frames.ENVELOPE: _ENVELOPE,
    frames.OPEN_ENVELOPE: _ENVELOPE,
}


def misshapen(kind: bytes, value: Any) -> str | None:
    """Which member of `value`, a record of `kind` (a letter of `frames`), no reader can take; None where it is well."""
    members = _OF_KIND[kind]
    wrong = _wrong(members, value, "")
    if wrong is not None or members is not _ENVELOPE:
        return wrong
    wrong = _wrong(_LIFE, value["envelope_status"], "envelope_status.")
    if wrong is None and not isinstance((value.get("output") or {}).get("error"), dict | None):
        wrong = "output.error"
    if wrong is None and not isinstance((value.get("input") or {}).get("messages"), list | None):
        wrong = "input.messages"
    return wrong


def _wrong(members: Members, value: Any, at: str) -> str | None:
    if not isinstance(value, dict):
        return at.removesuffix(".") or "the record itself"
    return next((at + name for name, types in members.items() if not isinstance(value.get(name), types)), None)
