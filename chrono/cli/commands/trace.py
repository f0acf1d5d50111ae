"""Owns `chrono trace`: what was recorded, listed, shown, taken elsewhere and compared.

Reading the store is left to `record.reading`, files and planes to `record.exchange`, comparing to `record.compare`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chrono.cli import audit_records, shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace, write_out
from chrono.cli.text import Part, Styled, age, count, one_line, size
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.record.compare import Change, Difference
    from chrono.record.reading import StoredTrace, Summary

PAGE = 30
SHORT_ID = 12
VALUE_COLUMNS = 160
"""A value in a line of its own is cut here; all of it: --json."""

_STYLES = {"success": "green", "failure": "red", "open": "yellow"}

Store = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR", help="The store to look at. [the project's, else your own]"),
]
TraceId = Annotated[str, typer.Argument(metavar="TRACE", help="The trace's id, or its beginning.")]


def run_list(
    ctx: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="Only names with this in it.", show_default=False)
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only success, failure or open.")
    ] = None,
    service: Annotated[str | None, typer.Option("--service", metavar="NAME", help="Only with this service.")] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="KEY=VALUE", help="Only with this label.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From then on: a day, a time, 3h.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="At most so many; 0 for all.")] = PAGE,
    skip: Annotated[int, typer.Option("--skip", metavar="N", help="Leave out the newest N.")] = 0,
    store: Store = None,
    json: Json = False,
) -> None:
    """List traces, newest first.

    Each with its id, status, age, the number of recorded calls, its services and its name.

    \b
    Examples:
      chrono trace list refund --status failure --since 3h
    """
    from chrono.clock import SystemClock
    from chrono.record.reading import Wanted, chosen, summaries

    screen = screen_of(ctx)
    if limit < 0 or skip < 0:
        raise UsageError("--limit and --skip are numbers of traces")
    if status not in (None, *_STYLES):
        raise UsageError(f"--status {status} is none of success, failure, open")
    clock = SystemClock()
    wanted = Wanted(
        text,
        status,
        service,
        audit_records.moment(since, "--since", clock) or None,
        audit_records.moment(until, "--until", clock) or None,
        _label(label),
    )
    folder = _folder(store)
    found = chosen(summaries(folder), wanted)
    listed = found[skip : skip + limit if limit else None]
    if json:
        screen.value({"store": folder, "count": len(found), "traces": [_summary(one) for one in listed]})
        return
    now_ns = clock.now_ns()
    with screen.paged():
        screen.table([_row(one, now_ns) for one in listed])
    if not found:
        screen.note(f"no trace in {folder}" + (" is like that" if any(wanted) else ""))
    elif len(listed) < len(found):
        screen.note(f"{len(listed)} of {len(found)} are shown; more: --skip {skip + len(listed)}, or -n 0 for all")


def run_show(
    ctx: typer.Context,
    trace: TraceId,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="At most so many calls; 0 for all.")] = 200,
    skip: Annotated[int, typer.Option("--skip", metavar="N", help="Leave out the first N calls.")] = 0,
    store: Store = None,
    json: Json = False,
) -> None:
    """Show one trace.

    Its spans, and each recorded call: what it was given and what it gave back. With --json all of it, as recorded.
    """
    from chrono.record.reading import read_trace, trace_id_of

    screen = screen_of(ctx)
    if limit < 0 or skip < 0:
        raise UsageError("--limit and --skip are numbers of calls")
    folder = _folder(store)
    found = read_trace(folder, trace_id_of(folder, trace))
    shown = found.envelopes[skip : skip + limit if limit else None]
    if json:
        screen.value(
            {
                "trace_id": found.trace_id,
                "trace": found.trace,
                "spans": list(found.spans),
                "envelope_count": len(found.envelopes),
                "envelopes": list(shown),
                "damaged": found.damaged,
            }
        )
        return
    with screen.paged():
        _print_trace(screen, found, shown)
    if len(shown) < len(found.envelopes):
        screen.note(
            f"{len(shown)} of {count(len(found.envelopes), 'call')} are shown; more: --skip {skip + len(shown)}"
        )
    if found.damaged:
        screen.warning(f"{count(found.damaged, 'record')} of this trace cannot be read")


def run_export(
    ctx: typer.Context,
    trace: TraceId,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write it there.")] = None,
    with_files: Annotated[
        bool, typer.Option("--with-files", help="With the project's files as they were when the trace began.")
    ] = False,
    include_secrets: Annotated[
        bool,
        typer.Option("--include-secrets", help="With --with-files: also credential-class files, .env and the like."),
    ] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Write one trace as one file.

    Another machine takes it in with `chrono trace import`, a test replays it. Without --out it goes to standard output.
    With --with-files it holds every file that the savepoint does, as it is: nothing in them is masked.

    \b
    Examples:
      chrono trace export 4bf92f35 --out incident.json
    """
    from chrono.record.exchange import exported
    from chrono.record.reading import read_trace, trace_id_of
    from chrono.record.reading import with_files as stored_files

    screen = screen_of(ctx)
    if json and out is None:
        raise UsageError("--json needs --out: without it, the file itself is what is printed")
    folder = _folder(store)
    found = read_trace(folder, trace_id_of(folder, trace))
    if with_files:
        found = _with_files(screen, stored_files(folder, found), include_secrets)
    data = exported(found)
    if out is None:
        screen.block(data.decode())
        return
    write_out(out, data)
    if json:
        screen.value({"trace_id": found.trace_id, "file": os.path.abspath(out), "bytes": len(data)})
    else:
        screen.line(f"{found.trace_id} is in {out} ({count(len(found.envelopes), 'call')}, {size(len(data))})")


def run_import(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help="An exported file, or a control plane's URL.")],
    trace: Annotated[
        str | None, typer.Argument(metavar="[TRACE]", help="With a URL: the id of the trace.", show_default=False)
    ] = None,
    store: Store = None,
    json: Json = False,
) -> None:
    """Take in a trace, from a file or a control plane.

    What the store has already is left as it is, so it can be done again. A control plane gets CHRONO_RECORD_API_KEY,
    where CHRONO_RECORD_CONTROL_PLANE_URL names no other one.
    """
    from chrono.record.exchange import import_trace

    screen = screen_of(ctx)
    found = _from(source, trace)
    if found.files is not None:
        from chrono.workspace.parcels import unpacked

        for path in unpacked(found.files).left_out:
            screen.warning(f"{one_line(path)} leads out of the folder: a replay will not have this link")
    done = import_trace(_folder(store), found)
    if json:
        screen.value({"trace_id": done.trace_id, "written": done.written, "known": done.known})
        return
    known = f", {done.known:,} were there" if done.known else ""
    screen.line(f"{done.trace_id}: {count(done.written, 'record')} written{known}")


def run_resend(ctx: typer.Context, store: Store = None, json: Json = False) -> int:
    """Send again what a control plane had refused.

    Records that it refuses for good are set aside while all others go on. Once it was mended, or its limits were
    raised, this sends them alone. The control plane is the one of CHRONO_RECORD_CONTROL_PLANE_URL. Leaves with 1 where
    something is still refused.
    """
    from chrono.record.plane import HttpPlane
    from chrono.record.resend import resend
    from chrono.record.settings import get_settings
    from chrono.record.storesink import plane_name

    screen = screen_of(ctx)
    settings = get_settings()
    url = settings.control_plane_url
    if not url:
        raise UsageError("no control plane is set", "set CHRONO_RECORD_CONTROL_PLANE_URL")
    plane = HttpPlane(url, settings.api_key, timeout_s=settings.timeout)
    try:
        done = resend(_folder(store), plane_name(url), plane)
    finally:
        plane.close()
    if json:
        refused: list[dict[str, shapes.Json]] = [{"file": name, **note._asdict()} for name, note in done.refused]
        screen.value({"taken": done.taken, "gone": done.gone, "refused": refused, "busy": list(done.busy)})
        return 1 if done.refused else 0
    gone = f", {done.gone:,} not in the store any more" if done.gone else ""
    screen.line(f"{count(done.taken, 'record')} taken by {url}{gone}")
    for name, note in done.refused:
        screen.line(Styled("refused", "red"), f" {name} at {note.at}: {note.status} {one_line(note.detail)}")
    for name in done.busy:
        screen.warning(f"{name}: a process is still delivering it; what was refused of it can be sent when that ends")
    return 1 if done.refused else 0


def run_diff(
    ctx: typer.Context,
    left: Annotated[str, typer.Argument(metavar="A", help="A trace's id, or an exported file.")],
    right: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    store: Store = None,
    json: Json = False,
) -> int:
    """Show what two traces did differently.

    Calls that only one of them made, and what changed in the arguments and results of the others; times and ids do not
    count. Leaves with 1 where there is a difference.
    """
    from chrono.record.compare import differences

    screen = screen_of(ctx)
    folder = _folder(store)
    one, other = _trace(folder, left), _trace(folder, right)
    found = differences(one, other)
    if json:
        screen.value(
            {
                "left": one.trace_id,
                "right": other.trace_id,
                "differences": [
                    {**diff._asdict(), "changes": [_change(change) for change in diff.changes]} for diff in found
                ],
            }
        )
        return 1 if found else 0
    if not found:
        screen.line(Styled("no difference", "green"), f" in {count(len(one.envelopes), 'call')}")
        return 0
    with screen.paged():
        for diff in found:
            _print_difference(screen, diff)
    return 1


def _folder(store: str | None) -> str:
    from chrono.record.settings import get_settings, store_folder

    if store is not None:
        if not os.path.isdir(store):
            raise ChronoError(f"there is no folder {store}")
        return os.path.abspath(store)
    return store_folder(get_settings())


def _with_files(screen: Screen, found: StoredTrace, include_secrets: bool) -> StoredTrace:
    """Raises NoFiles, NoSuchSavepoint, StoreError, Denied."""
    import dataclasses

    from chrono.record.files import first_files
    from chrono.workspace.parcels import packed

    if found.files is not None:
        return found
    ws = workspace(screen)
    try:
        return dataclasses.replace(
            found, files=packed(ws, first_files(found.spans)[0], include_secrets=include_secrets)
        )
    finally:
        ws.close()


def _from(source: str, trace: str | None) -> StoredTrace:
    from chrono.record.exchange import fetched, load
    from chrono.record.plane import HttpPlane
    from chrono.record.settings import get_settings

    if source.startswith(("http://", "https://")):
        if trace is None:
            raise UsageError("which trace of this control plane?", "chrono trace import URL TRACE")
        settings = get_settings()
        # A key goes to the control plane that it was set for, not to whatever address is typed here.
        known = settings.control_plane_url is None or source.startswith(settings.control_plane_url.rstrip("/"))
        plane = HttpPlane(source, settings.api_key if known else None, timeout_s=settings.timeout)
        try:
            return fetched(plane, trace)
        finally:
            plane.close()
    try:
        return load(source)
    except OSError as error:
        raise ChronoError(f"{source} cannot be read: {error.strerror}") from None


def _trace(folder: str, named: str) -> StoredTrace:
    from chrono.record.reading import read_trace, trace_id_of

    if os.path.isfile(named):
        return _from(named, None)
    return read_trace(folder, trace_id_of(folder, named))


def _label(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--label {text} is not KEY=VALUE")
    return key, value


def _summary(one: Summary) -> dict[str, shapes.Json]:
    return {**one._asdict(), "services": list(one.services)}


def _row(one: Summary, now_ns: int) -> tuple[Part, ...]:
    services = ", ".join(one.services) or "-"
    return (
        Styled(one.trace_id[:SHORT_ID], "bold"),
        Styled(one.status, _STYLES[one.status]),
        _age(one.started_at, now_ns),
        count(one.envelope_count, "call"),
        one_line(services),
        one_line(one.name or "-"),
    )


def _age(started_at: str | None, now_ns: int) -> str:
    from datetime import datetime

    if started_at is None:
        return "-"
    try:
        return age(now_ns / 1e9 - datetime.fromisoformat(started_at).timestamp())
    except ValueError:
        return "-"


def _print_trace(screen: Screen, found: StoredTrace, shown: tuple[Any, ...]) -> None:
    trace = found.trace or {}
    screen.line(Styled(found.trace_id, "bold"), f"  {trace.get('name') or ''}".rstrip())
    labels = trace.get("metadata") or {}
    if labels:
        screen.line("  " + one_line(", ".join(f"{key}={value}" for key, value in labels.items())))
    for span in found.spans:
        status = span.get("status") or "open"
        screen.line(
            "  span ", span["span_id"], " ", span["service"], " ", Styled(status, _STYLES.get(status, "yellow"))
        )
    for envelope in shown:
        state = envelope["envelope_status"]
        status = state.get("status") or "open"
        screen.line(
            Styled(status, _STYLES.get(status, "yellow")),
            f"  {envelope['kind']} ",
            Styled(one_line(envelope["name"]), "bold"),
            f"  {envelope['envelope_id']}{_took(state)}",
        )
        output = envelope.get("output") or {}
        screen.line(_cut(f"    given {_text(_plain_input(envelope))}"))
        if output.get("error"):
            error = output["error"]
            screen.line(_cut(f"    failed {error.get('type')}: {one_line(str(error.get('message')))}"))
        elif output:
            screen.line(_cut(f"    gave {_text(_plain_output(envelope))}"))


def _plain_input(envelope: Any) -> Any:
    given = envelope.get("input") or {}
    if envelope["kind"] != "llm":
        return given.get("raw")
    return {"model": given.get("model"), "messages": (given.get("messages") or [])[-1:]}


def _plain_output(envelope: Any) -> Any:
    gave = envelope["output"]
    return gave.get("raw") if envelope["kind"] != "llm" or not gave.get("content") else gave["content"]


def _took(state: Any) -> str:
    from datetime import datetime

    try:
        began, ended = (datetime.fromisoformat(state[key]) for key in ("started_at", "ended_at"))
        return f"  {(ended - began).total_seconds() * 1000:.1f} ms"
    except (KeyError, TypeError, ValueError):
        return ""  # still open, or times of a form that we do not write


def _print_difference(screen: Screen, diff: Difference) -> None:
    name = f"{diff.kind} {one_line(diff.name)}"
    if diff.right_id is None:
        screen.line(Styled(f"- {name}", "red"), f"  {diff.left_id}  only in A")
    elif diff.left_id is None:
        screen.line(Styled(f"+ {name}", "green"), f"  {diff.right_id}  only in B")
    else:
        screen.line(Styled(f"! {name}", "yellow"), f"  {diff.left_id} {diff.right_id}")
        for change in diff.changes:
            screen.line(f"    {one_line(change.path)}")
            screen.line(Styled(_cut(f"      - {_text(change.left)}"), "red"))
            screen.line(Styled(_cut(f"      + {_text(change.right)}"), "green"))


def _change(change: Change) -> dict[str, Any]:
    from chrono.record.compare import MISSING

    return {key: value for key, value in change._asdict().items() if value is not MISSING}


def _text(value: Any) -> str:
    import json

    from chrono.record.compare import MISSING

    if value is MISSING:
        return "(not there)"

    return one_line(json.dumps(value, ensure_ascii=False))


def _cut(line: str) -> str:
    return line if len(line) <= VALUE_COLUMNS else line[: VALUE_COLUMNS - 1] + "…"
