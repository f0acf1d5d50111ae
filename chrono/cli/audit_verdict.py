"""Owns how the verdict on a log is asked for and told: of this log, of a store's copy, by witnesses.

Judging is left to `workspace.verify`, which options ask for what to `cli.commands.audit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.cli import shapes
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count

if TYPE_CHECKING:
    from chrono.audit.verify import Report
    from chrono.workspace.project import Workspace

_LEVELS = {"checked": "green", "failed": "red"}


def show(screen: Screen, ws: Workspace, against: str | None, *, full: bool, strict: bool, new: bool, json: bool) -> int:
    from chrono.workspace.verify import verify, with_copy

    with screen.working("verifying"):
        report = verify(ws, full=full, strict=strict, resume=new)
        if against is not None:
            report = with_copy(ws, report, against)
    if json:
        screen.value(_report_json(report))
        return report.exit_code
    _print_report(screen, report)
    return report.exit_code


def show_elsewhere(
    screen: Screen, ws: Workspace, url: str | None, *, verify_remote: bool, full: bool, strict: bool, json: bool
) -> int:
    from chrono.workspace.verify import ask_store, push_log, verify

    auth = screen.environ.get("CHRONO_AUDIT_PUSH_AUTH") or None
    pushed: dict[str, shapes.Json] | None = None
    if url is not None:
        ws.require_own()
        with screen.working("sending"):
            kept, sent = push_log(ws, url, auth)
        pushed = {"url": url, "sent": sent, "size": kept.size}
        if not verify_remote:
            if json:
                screen.value({"pushed": pushed})
            else:
                screen.text(f"{count(sent, 'record')} sent; {url} has {kept.size:,}")
            return 0
    with screen.working("asking the store"):
        seen = ask_store(ws, url, auth)
        report = verify(ws, full=full, strict=strict, external=(seen,))
    if json:
        screen.value({**_report_json(report), "pushed": pushed, "store": seen.holder, "store_size": seen.size})
        return report.exit_code
    if pushed is not None:
        screen.text(f"{count(sent, 'record')} sent; {url} has {kept.size:,}")
    if not report.findings:
        screen.text(f"the first {count(seen.size, 'record')} here are those that {seen.holder} keeps")
    _print_report(screen, report)
    return report.exit_code


def show_witnesses(screen: Screen, ws: Workspace, *, json: bool) -> int:
    from chrono.workspace.verify import ask_witnesses

    ws.require_own()
    with screen.working("asking the witnesses"):
        quorum, answers = ask_witnesses(ws)
    signed = [answer for answer in answers if answer.seen is not None]
    code = 0 if len(signed) >= quorum.least else 1
    if json:
        told: list[shapes.Json] = [
            {"name": answer.cosigner.name, "size": answer.seen.size if answer.seen else None, "why": answer.why or None}
            for answer in answers
        ]
        screen.value({"least": quorum.least, "witnesses": told})
        return code
    screen.table(
        [
            (answer.cosigner.name, Styled("signed", "green"), f"{answer.seen.size:,} records at {answer.seen.at[:19]}Z")
            if answer.seen is not None
            else (answer.cosigner.name, Styled("did not sign", "red"), answer.why)
            for answer in answers
        ]
    )
    if code:
        screen.warning(f"{len(signed)} signed, {quorum.least} must: ask again later, nothing is lost by that")
    return code


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
