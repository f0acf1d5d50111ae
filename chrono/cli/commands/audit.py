"""Owns `chrono audit` and its subs. What `chrono audit` alone may be asked is left to `cli.audit_options`, showing
records to `cli.audit_records`, verdicts to `cli.audit_verdict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import audit_records
from chrono.cli.audit_options import PAGE, Act, Sought, check
from chrono.cli.audit_records import moment, record_json, record_row
from chrono.cli.options import Json, gathered, screen_of
from chrono.cli.place import workspace, write_out
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.workspace.project import Workspace


@gathered
def run_show(ctx: typer.Context, act: Act, sought: Sought, json: Json = False) -> int:
    """Show the audit log, or prove it.

    Without an option: the newest records. --verify leaves with 0 where the log is intact, 20 where it was tampered
    with, 21 where that cannot be told, 22 where it is intact but was reset or a level is missing.

    \b
    Examples:
      chrono audit --since 2h --decision block
      chrono audit --grep deploy --follow
      chrono audit --verify --full
    """
    screen = screen_of(ctx)
    check(act, sought)
    ws = workspace(screen)
    return _shown(screen, ws, sought, json=json) if act.kind is None else _done(screen, ws, act, json=json)


def _done(screen: Screen, ws: Workspace, act: Act, *, json: bool) -> int:
    from chrono.cli import audit_keys, audit_verdict

    match act.kind:
        case "witness":
            return audit_verdict.show_witnesses(screen, ws, json=json)
        case "elsewhere":
            return audit_verdict.show_elsewhere(
                screen,
                ws,
                act.push,
                verify_remote=act.verify_remote,
                full=act.full,
                strict=act.strict,
                json=json,
            )
        case "verify":
            return audit_verdict.show(screen, ws, act.against, full=act.full, strict=act.strict, new=act.new, json=json)
        case "keys":
            return audit_keys.show_keys(screen, ws, json=json)
        case "reset_witness":
            return audit_keys.reset(screen, ws, act.reason, json=json)
        case "rotate_key":
            return audit_keys.rotate(screen, ws, act.new_key, act.reason, json=json)
        case _:
            return audit_keys.revoke(screen, ws, act.revoke_key or "", act.trusted_until, act.reason, json=json)


def _shown(screen: Screen, ws: Workspace, sought: Sought, *, json: bool) -> int:
    query = sought.query(ws.clock)
    if sought.out is not None:
        return audit_records.export(screen, ws, "csv", query, sought.out, json=json)
    if sought.follow:
        return audit_records.follow(screen, ws, query, json=json)
    return audit_records.show(screen, ws, query, PAGE if sought.limit is None else sought.limit, json=json)


def run_export(
    ctx: typer.Context,
    form: Annotated[
        str, typer.Argument(metavar="FORMAT", help="csv, ocsf, cef, cloudevents, otlp or jsonl.", show_default=False)
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it.", show_default="standard output"),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From then on: a day, a time, 3h.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")] = None,
    json: Json = False,
) -> int:
    """Export records for another system.

    csv for spreadsheets; ocsf, cef, cloudevents and otlp for a SIEM; jsonl as they are. Every event keeps its signed
    line, so that chrono audit --verify --against FILE can hold the copy against the log later.

    \b
    Examples:
      chrono audit export csv --since 30d --out audit.csv
    """
    from chrono.audit.export import FORMATS
    from chrono.audit.query import Query

    screen = screen_of(ctx)
    if form not in FORMATS:
        raise UsageError(f"there is no format {form}", f"one of: {', '.join(FORMATS)}")
    if json and out is None:
        raise UsageError("--json needs --out FILE", "the events themselves are the output otherwise")
    ws = workspace(screen)
    query = Query(moment(since, "--since", ws.clock), moment(until, "--until", ws.clock))
    return audit_records.export(screen, ws, form, query, out, json=json)


# --- proofs


def run_prove(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(metavar="N", help="The record's number.", show_default=False)],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it.", show_default="standard output"),
    ] = None,
    json: Json = False,
) -> None:
    """Prove one record to somebody who does not have the log.

    The file holds the record, its way up the hash tree and the signed checkpoint (C2SP tlog-proof). Whoever knows the
    public key checks it with chrono audit verify-proof, or with another tool.

    \b
    Examples:
      chrono audit prove 12 --out 12.tlog-proof
    """
    from chrono.audit.place import project_place
    from chrono.audit.proof import NotAProof, prove_in

    screen = screen_of(ctx)
    ws = workspace(screen)
    try:
        proof = prove_in(project_place(ws.layout), number)
    except NotAProof as error:
        raise ChronoError(str(error)) from None
    if out is not None:
        write_out(out, proof.text.encode("utf-8"))
    if json:
        screen.value({"n": proof.n, "out": out, "proof": proof.text})
    elif out is None:
        screen.block(proof.text)
    else:
        screen.text(f"record {proof.n} is proved by {out}")


def run_verify_proof(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .tlog-proof file.", show_default=False)],
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key", metavar="KEY", help="A public key to trust: base64, or an OpenSSH line.", show_default="pins"
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Check a proof of one record.

    Trusted are the keys given, else CHRONO_AUDIT_TRUSTED_KEYS, else what this machine has pinned for that log. Needs
    neither project nor log. Leaves with 20 where the proof does not hold, 21 where no key is known.
    """
    from chrono.audit.keys import settings
    from chrono.audit.proof import MAX_PROOF_BYTES, NotAProof, parse, verified
    from chrono.cli.audit_keys import key_of, keys_for
    from chrono.errors import AuditTampered, AuditUnverifiable
    from chrono.workspace.config import home_layout

    screen = screen_of(ctx)
    try:
        with open(file, "rb") as source:
            text = source.read(MAX_PROOF_BYTES + 1).decode("utf-8")
        proof = parse(text)
        given = tuple(key_of(word) for word in key or ()) or settings(screen.environ).trusted
        keys = given or keys_for(home_layout(screen.environ), proof.note)
        if not keys:
            raise AuditUnverifiable(
                "no key is known for the log of this proof", "give the public key you trust: --key BASE64"
            )
        proved = verified(proof, keys)
    except OSError as error:
        raise ChronoError(f"{file} cannot be read: {error.strerror}") from None
    except (NotAProof, UnicodeDecodeError) as error:
        why = str(error) if isinstance(error, NotAProof) else "it is not UTF-8 text"
        raise AuditTampered(f"{file} proves nothing: {why}", "ask for it again, or check the key") from None
    record = proved.record
    if json:
        screen.value(
            {
                "record": record_json(record.n, record),
                "log": proved.checkpoint.log,
                "size": proved.checkpoint.size,
                "kid": proved.key.kid,
            }
        )
        return 0
    screen.text(Styled("proved", "green"), f"  record {record.n} of log {record.log}")
    screen.table([record_row(record.n, record)], indent=2)
    screen.text(f"under a checkpoint of {count(proved.checkpoint.size, 'record')}, signed by key {proved.key.kid}")
    return 0


def run_checkpoint(
    ctx: typer.Context,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it.", show_default="standard output"),
    ] = None,
    ssh: Annotated[
        bool, typer.Option("--sshsig", help="With --out: also FILE.sig, which ssh-keygen -Y verify checks.")
    ] = False,
    json: Json = False,
) -> None:
    """Export the newest signed checkpoint.

    Kept elsewhere, it lets anybody show later that the log only grew. It is a C2SP signed note. With --sshsig:
    ssh-keygen -Y verify -f allowed_signers -I chrono -n chrono-audit -s FILE.sig < FILE
    """
    from chrono.audit.place import project_place
    from chrono.audit.proof import NotAProof, newest_checkpoint

    screen = screen_of(ctx)
    if ssh and out is None:
        raise UsageError("--sshsig needs --out FILE")
    ws = workspace(screen)
    try:
        note = newest_checkpoint(project_place(ws.layout))
    except NotAProof as error:
        raise ChronoError(str(error)) from None
    if out is not None:
        write_out(out, note.encode("utf-8"))
    line = _ssh_signature(ws, note, out) if ssh and out is not None else None
    if json:
        screen.value({"checkpoint": note, "out": out, "allowed_signer": line})
        return
    if out is None:
        screen.block(note)
        return
    screen.text(f"the checkpoint is in {out}")
    if line is not None:
        screen.text(f"its signature is in {out}.sig; the line for allowed_signers:")
        screen.text(line, indent=2)


def run_timestamp(
    ctx: typer.Context,
    tsa: Annotated[str, typer.Option("--tsa", metavar="URL", help="The time stamp authority.", show_default=False)],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="The checkpoint; the stamp is FILE.tsr.", show_default=False),
    ],
    ca: Annotated[
        str | None, typer.Option("--ca", metavar="FILE", help="Check the stamp against these certificates (openssl).")
    ] = None,
    json: Json = False,
) -> None:
    """Have an authority date the newest checkpoint (RFC 3161).

    Whoever steals the key later cannot write records into the time before. Anybody checks it with
    openssl ts -verify -data FILE -in FILE.tsr -CAfile CERTIFICATES
    """
    import base64

    from chrono.audit import checkpoint, stamp
    from chrono.audit.external import External, add_external
    from chrono.audit.place import project_place
    from chrono.audit.proof import NotAProof, newest_checkpoint
    from chrono.clock import rfc3339

    screen = screen_of(ctx)
    ws = workspace(screen)
    ws.require_own()
    try:
        note = newest_checkpoint(project_place(ws.layout))
    except NotAProof as error:
        raise ChronoError(str(error)) from None
    with screen.working("asking the authority"):
        answer = stamp.stamp(note, tsa)
    if ca is not None:
        stamp.check(note, answer, ca)
    write_out(out, note.encode("utf-8"))
    write_out(f"{out}.tsr", answer)
    point, _ = checkpoint.parse(note)
    at, proof = rfc3339(ws.clock.now_ns()), base64.b64encode(answer).decode("ascii")
    add_external(ws.home, ws.log.log_id, [External("W6", tsa, point.size, point.root.hex(), at, proof)])
    if json:
        screen.value({"checkpoint": out, "stamp": f"{out}.tsr", "size": point.size, "checked": ca is not None})
        return
    screen.text(f"{tsa} dated the checkpoint of {count(point.size, 'record')}: {out}, {out}.tsr")
    if ca is None:
        screen.note("not checked against the authority's certificates: --ca FILE does that")


def _ssh_signature(ws: Workspace, note: str, out: str) -> str:
    from chrono.audit.keys import find_signer
    from chrono.audit.pin import read_pin
    from chrono.audit.sshagent import openssh_line
    from chrono.audit.sshsig import sshsig

    pin = read_pin(ws.home, ws.log.log_id)
    signer = find_signer(ws.home, ws.keys, wanted=pin.active if pin is not None else None)
    if signer is None:
        raise ChronoError("the log is not signed (CHRONO_AUDIT_UNSIGNED=1)", "unset CHRONO_AUDIT_UNSIGNED")
    write_out(f"{out}.sig", sshsig(note.encode("utf-8"), signer).encode("ascii"))
    return f"chrono {openssh_line(signer.public)}"


def run_witness_daemon(
    ctx: typer.Context,
    at: Annotated[str, typer.Option("--socket", metavar="PATH", help="Where it listens.", show_default=False)],
    folder: Annotated[
        str, typer.Option("--dir", metavar="DIR", help="Where it keeps what it saw.", show_default=False)
    ],
) -> None:
    """Run the witness that another account keeps on this machine, until it is stopped.

    Started as root or as an account of its own; users set CHRONO_AUDIT_WITNESS_SOCKET to the socket. It keeps hashes
    only, and never goes back: docs/howto/witness-on-this-machine.md has the systemd unit.
    """
    from chrono.audit.overseer import serve

    screen = screen_of(ctx)
    serve(at, folder, lambda: screen.text(f"listening on {at}"))


# --- what was taken out


def run_reveal(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(metavar="N", help="The record's number.", show_default=False)],
    json: Json = False,
) -> None:
    """Show what a command was before its secrets were taken out.

    Works where CHRONO_AUDIT_KEEP_RAW_DAYS was set when it ran, for so many days. The text and its salt prove that it
    is what the record is committed to. Looking is recorded.
    """
    from chrono.audit import record
    from chrono.audit.reveal import find
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws, committed = _committed(screen, number)
    kept = find(ws.home, committed, now_ns=ws.clock.now_ns())
    if kept is None:
        raise ChronoError(
            f"what was taken out of record {number} was not kept, or not for so long",
            "CHRONO_AUDIT_KEEP_RAW_DAYS=N keeps it for N days from then on",
        )
    looked = record.Act(more=(("record", number),))
    ws.log.append(record.Entry("audit.read", actor(screen.environ), looked), timeout_s=30)
    if json:
        screen.value({"n": number, "raw": kept.raw, "salt": kept.salt.hex(), "cmd_c": committed})
    else:
        screen.block(kept.raw + "\n")


def run_erase(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(metavar="N", help="The record's number.", show_default=False)],
    json: Json = False,
) -> None:
    """Delete what was taken out of a command and kept.

    The log stays as it is, byte for byte, and verifies; what the record is committed to can no longer be shown.
    """
    from chrono.audit.reveal import erase

    screen = screen_of(ctx)
    ws, committed = _committed(screen, number)
    gone = erase(ws.home, committed)
    if json:
        screen.value({"n": number, "erased": gone})
    else:
        screen.line(f"what was kept of record {number} is erased" if gone else "nothing was kept")


def run_segments(
    ctx: typer.Context,
    close: Annotated[bool, typer.Option("--close", help="Close the file that grows now, whatever its size.")] = False,
    pack: Annotated[bool, typer.Option("--pack", help="Pack the closed files now.")] = False,
    json: Json = False,
) -> None:
    """Show the files that the log lies in.

    At 64 MiB a file is closed and the next one begins. Closed files are packed in the background (gzip: zcat reads
    them). However many there are, it is one log.
    """
    from chrono.cli import audit_segments
    from chrono.workspace import segments
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    if close:
        segments.close(ws, actor(screen.environ))
    if pack:
        with screen.working("packing"):
            segments.pack(ws)
    found = segments.listed(ws)
    if json:
        screen.value({"segments": [audit_segments.as_json(one) for one in found]})
    else:
        audit_segments.show(screen, found)


def run_prune(
    ctx: typer.Context,
    before: Annotated[
        str, typer.Option("--before", metavar="WHEN", help="A day, a time in UTC, or how long ago (365d).")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Take the text of old records away, and keep their hashes.

    Closed files that hold nothing newer go; what is left verifies, and proves, as before. What savepoints, keys and
    sessions need stays readable. The log is verified first and records what was pruned. Agents are refused.

    \b
    Examples:
      chrono audit prune --before 365d --dry-run
    """
    from chrono.cli import audit_segments
    from chrono.workspace import segments

    screen = screen_of(ctx)
    ws = workspace(screen)
    plan = segments.plan_prune(ws, moment(before, "--before", ws.clock))
    return audit_segments.prune(screen, ws, plan, dry_run=dry_run, yes=yes, json=json)


def _committed(screen: Screen, number: int) -> tuple[Workspace, str]:
    from itertools import islice

    from chrono.audit.place import project_place
    from chrono.audit.reveal import is_commitment
    from chrono.audit.verify import read_records

    ws = workspace(screen)
    ws.require_own()
    if number < 0:
        raise UsageError(f"{number} is not the number of a record")
    record = next(islice(read_records(project_place(ws.layout)), number, None), None)
    committed = record.act.get("cmd_c") if record is not None else None
    if not isinstance(committed, str) or not is_commitment(committed):
        raise ChronoError(f"nothing was taken out of record {number}", "chrono audit shows what it says")
    return ws, committed
