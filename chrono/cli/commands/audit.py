"""Owns `chrono audit`: the records for people, the verdict, the keys. Judging is left to `workspace.verify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.render import Screen
from chrono.cli.text import Part, Styled, count, one_line
from chrono.errors import Denied, UsageError

if TYPE_CHECKING:
    from chrono.audit.record import Record
    from chrono.audit.verify import Report
    from chrono.workspace.project import Workspace

PAGE = 30

_DECISIONS = {"allow": "green", "ask": "yellow", "block": "red"}
_LEVELS = {"checked": "green", "failed": "red"}


def run(
    ctx: typer.Context,
    verify: Annotated[
        bool, typer.Option("--verify", help="Prove that the log is what was written, and fits the savepoints.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="With --verify: every signature, too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --verify: every line's form; warnings and resets fail, too.")
    ] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Which keys sign and are trusted; never a key itself.")] = False,
    reset_witness: Annotated[
        bool, typer.Option("--reset-witness", help="End an alarm that you have looked into; this is recorded.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="With --reset-witness: why, for the record.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", help=f"At most so many records; 0 for all. [{PAGE}]")
    ] = None,
    json: Json = False,
) -> int:
    """Show the audit log, or prove it.

    Without an option: the newest records. --verify leaves with 0 where the log is intact, 20 where it was tampered
    with, 21 where that cannot be told, 22 where it is intact but was reset or a level is missing.
    """
    screen = screen_of(ctx)
    if sum((verify, keys, reset_witness)) > 1:
        raise UsageError("--verify, --keys and --reset-witness exclude each other")
    if (full or strict) and not verify:
        raise UsageError("--full and --strict belong to --verify")
    if reason is not None and not reset_witness:
        raise UsageError("--reason belongs to --reset-witness")
    ws = workspace(screen)
    if verify:
        return _verify(screen, ws, full=full, strict=strict, json=json)
    if keys:
        return _keys(screen, ws, json=json)
    if reset_witness:
        return _reset(screen, ws, reason, json=json)
    return _records(screen, ws, PAGE if limit is None else limit, json=json)


# --- records


def _records(screen: Screen, ws: Workspace, limit: int, *, json: bool) -> int:
    from collections import deque

    from chrono.audit.place import project_place
    from chrono.audit.verify import read_records

    found = deque(enumerate(read_records(project_place(ws.layout))), maxlen=limit or None)
    if json:
        screen.value({"records": [_record_json(number, record) for number, record in found]})
        return 0
    screen.table([_record_row(number, record) for number, record in found])
    if limit and found and found[0][0] > 0:
        screen.note(f"the newest {limit} of {found[-1][0] + 1:,} are shown; all of them: chrono audit -n 0")
    return 0


def _record_json(number: int, record: Record | None) -> shapes.Json:
    import json

    if record is None:
        return {"n": number, "malformed": True}
    value: shapes.Json = json.loads(record.line)
    return value


def _record_row(number: int, record: Record | None) -> tuple[Part, ...]:
    if record is None:
        return (f"{number:>5}", "?", Styled("malformed", "red"), "", "", "run chrono audit --verify")
    act, anchor = record.act, record.anchor or {}
    decision = str(act.get("decision") or "")
    subject = act.get("cmd") or act.get("message") or _paths(act) or act.get("phase") or ""
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


def _paths(act: Mapping[str, object]) -> str:
    files = act.get("files")
    if not isinstance(files, list):
        return ""
    return " ".join(str(entry[0]) for entry in files if isinstance(entry, list) and entry)


# --- the verdict


def _verify(screen: Screen, ws: Workspace, *, full: bool, strict: bool, json: bool) -> int:
    from chrono.workspace.verify import verify

    with screen.working("verifying"):
        report = verify(ws, full=full, strict=strict)
    if json:
        screen.value(_report_json(report))
        return report.exit_code
    _print_report(screen, report)
    return report.exit_code


def _print_report(screen: Screen, report: Report) -> None:
    style = {0: "green", 22: "yellow"}.get(report.exit_code, "red")
    screen.text(Styled(report.integrity, style))
    screen.text(report.completeness)
    for finding in report.findings:
        where = f"record {finding.record}" if finding.record is not None else "the log"
        screen.text(Styled(f"{where}, {finding.code}: ", "red"), finding.text, indent=2)
    for warning in report.warnings:
        screen.warning(warning)
    screen.line("")
    screen.table(
        [(level.name, Styled(level.state, _LEVELS.get(level.state, "dim")), level.text) for level in report.levels],
        indent=2,
    )
    if report.size:
        screen.line(f"  {count(report.size, 'record')}, root {report.root}")


def _report_json(report: Report) -> dict[str, shapes.Json]:
    return {
        "exit_code": report.exit_code,
        "integrity": report.integrity,
        "completeness": report.completeness,
        "size": report.size,
        "root": report.root,
        "resets": report.resets,
        "open_sessions": report.open_sessions,
        "findings": [
            {"code": finding.code, "record": finding.record, "text": finding.text} for finding in report.findings
        ],
        "warnings": list(report.warnings),
        "levels": [{"name": level.name, "state": level.state, "text": level.text} for level in report.levels],
    }


# --- keys and witness


def _keys(screen: Screen, ws: Workspace, *, json: bool) -> int:
    from chrono.audit.keys import find_signer
    from chrono.audit.pin import read_pin
    from chrono.errors import KeyRefused

    settings = ws.keys
    pin = read_pin(ws.home, ws.log.log_id)
    problem = None
    try:
        signer = find_signer(ws.home, settings)
    except KeyRefused as error:
        signer, problem = None, error.message
    source = (
        "switched off (CHRONO_AUDIT_UNSIGNED)"
        if settings.unsigned
        else "CHRONO_AUDIT_KEY"
        if settings.key is not None
        else settings.key_file or ws.home.audit_key
    )
    signing = signer.public.kid if signer is not None else None
    pinned = pin.key.kid if pin is not None and pin.key is not None else None
    trusted = [key.kid for key in settings.trusted]
    if json:
        screen.value(
            {
                "log": ws.log.log_id,
                "signing": signing,
                "source": source,
                "problem": problem,
                "pinned": pinned,
                "pinned_public": pin.key.text if pin is not None and pin.key is not None else None,
                "trusted": list(trusted),
                "store": ws.home.keys,
                "trust": ws.home.trust,
            }
        )
        return 0
    rows: list[tuple[Part, ...]] = [
        ("log", ws.log.log_id),
        ("signs with", signing or Styled("no key", "yellow")),
        ("from", source),
        ("pinned", pinned or Styled("none", "yellow")),
        *(("also trusted", kid) for kid in trusted),
        ("key store", ws.home.keys),
        ("trust store", ws.home.trust),
    ]
    screen.table(rows)
    if problem is not None:
        screen.warning(problem)
    return 0


def _reset(screen: Screen, ws: Workspace, reason: str | None, *, json: bool) -> int:
    from chrono.audit.log import reset_witness
    from chrono.workspace.actors import actor
    from chrono.workspace.verify import verify

    if screen.agent:
        raise Denied(
            f"an agent cannot end an alarm ({screen.agent} is set)", "a person runs this in a terminal of their own"
        )
    ws.require_own()
    lost = verify(ws).unanchored
    receipt = reset_witness(ws.log, actor(screen.environ), reason, commits=lost)
    if json:
        screen.value({"reset": receipt is not None, "record": receipt.n if receipt is not None else None})
    elif receipt is None:
        screen.line("there is no alarm to end")
    else:
        screen.text(f"the alarm is ended and recorded (record {receipt.n}); --strict still shows it")
    return 0
