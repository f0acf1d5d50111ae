"""Owns how the cause of a change looks, to people and as JSON. What the cause is is said by `workspace.timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.cli.text import Part, Styled, one_line

if TYPE_CHECKING:
    from chrono.cli.shapes import Json
    from chrono.workspace.timeline import Call, Cause


def cause_word(value: Cause) -> str:
    """Whose it is, in one word or two: an agent, a person's name, `by hand`, a verb of chrono."""
    if value.kind == "call" and value.call is not None:
        return value.call.agent or value.call.user or "somebody"
    if value.kind == "verb":
        return f"chrono {value.step.after.verb}" if value.step.after is not None else "chrono"
    return "by hand" if value.kind == "person" else "at the start"


def call_text(value: Call) -> str:
    """What was called: the command, or the tool and its files."""
    if value.command:
        return one_line(value.command)
    return one_line(" ".join((value.tool or "a tool", *value.paths)))


def cause_rows(value: Cause) -> list[tuple[Part, ...]]:
    """The cause as a table: who, session, tool call, command."""
    rows: list[tuple[Part, ...]] = []
    call = value.call
    if call is None:
        rows.append((Styled("who", "dim"), Styled(_words(value), "bold")))
        rows += [(Styled("or", "dim"), f"before that: {call_text(other)}") for other in value.others[:5]]
        return rows
    if call.agent:
        rows.append((Styled("agent", "dim"), Styled(call.agent, "bold")))
    if call.user:
        rows.append((Styled("user", "dim"), call.user))
    if call.session:
        rows.append((Styled("session", "dim"), call.session))
    if call.tool_use or call.tool:
        rows.append((Styled("call", "dim"), " ".join(filter(None, (call.tool, call.tool_use)))))
    rows.append((Styled("command" if call.command else "files", "dim"), Styled(call_text(call), "bold")))
    if call.at:
        rows.append((Styled("at", "dim"), call.at))
    if call.record is not None:
        rows.append((Styled("record", "dim"), f"{call.record} of the audit log"))
    rows += [(Styled("or", "dim"), call_text(other)) for other in value.others[:5]]
    return rows


def _words(value: Cause) -> str:
    if value.kind == "person" and value.others:
        return "a person, after a call had ended that may have written a part of it"
    if value.kind == "person":
        return "a person: nothing that chrono saw was running"
    if value.kind == "verb" and value.step.after is not None:
        return f"chrono {value.step.after.verb}, by {value.step.after.user or 'somebody'}"
    return "it was there in the first savepoint"


def cause_json(value: Cause) -> dict[str, Json]:
    return {
        "kind": value.kind,
        "verb": value.step.after.verb if value.kind == "verb" and value.step.after is not None else None,
        "before": value.step.before.commit if value.step.before is not None else None,
        "after": value.step.after.commit if value.step.after is not None else None,
        "call": call_json(value.call) if value.call is not None else None,
        "others": [call_json(other) for other in value.others],
    }


def call_json(value: Call) -> dict[str, Json]:
    return {
        "record": value.record,
        "at": value.at or None,
        "agent": value.agent,
        "session": value.session,
        "tool": value.tool,
        "tool_use": value.tool_use,
        "command": value.command,
        "paths": list(value.paths),
        "user": value.user,
        "savepoint": value.savepoint,
    }
