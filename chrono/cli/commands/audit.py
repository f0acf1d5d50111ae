"""Owns `chrono audit`: the records for people, the verdict, proofs. Judging is left to `workspace.verify`.

`chrono audit` alone, or with an option such as --verify, is `chrono audit show`, whose --help lists the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace, write_out
from chrono.cli.render import Screen
from chrono.cli.text import Part, Styled, count, one_line
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.audit.record import Record
    from chrono.audit.verify import Report
    from chrono.workspace.project import Workspace

PAGE = 30

_DECISIONS = {"allow": "green", "ask": "yellow", "block": "red"}
_LEVELS = {"checked": "green", "failed": "red"}


def run_show(
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
    rotate_key: Annotated[
        bool, typer.Option("--rotate-key", help="Hand this log over to a new key; the old one signs that.")
    ] = False,
    new_key: Annotated[
        str | None, typer.Option("--new-key", metavar="FILE", help="With --rotate-key: the key that takes over.")
    ] = None,
    revoke_key: Annotated[
        str | None, typer.Option("--revoke-key", metavar="KID", help="Say that a former key is no longer trusted.")
    ] = None,
    trusted_until: Annotated[
        int | None,
        typer.Option("--trusted-until", metavar="N", min=0, help="With --revoke-key: its first record not to count."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why an alarm is ended or a key changed.")
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
    acts = (verify, keys, reset_witness, rotate_key, revoke_key is not None)
    if sum(acts) > 1:
        raise UsageError("--verify, --keys, --reset-witness, --rotate-key and --revoke-key exclude each other")
    if (full or strict) and not verify:
        raise UsageError("--full and --strict belong to --verify")
    if reason is not None and not any(acts[2:]):
        raise UsageError("--reason belongs to --reset-witness, --rotate-key or --revoke-key")
    if (new_key is not None and not rotate_key) or (trusted_until is not None and revoke_key is None):
        raise UsageError("--new-key belongs to --rotate-key, --trusted-until to --revoke-key")
    ws = workspace(screen)
    if verify:
        return _verify(screen, ws, full=full, strict=strict, json=json)
    if any(acts[1:]):
        from chrono.cli import audit_keys

        if keys:
            return audit_keys.show_keys(screen, ws, json=json)
        if reset_witness:
            return audit_keys.reset(screen, ws, reason, json=json)
        if rotate_key:
            return audit_keys.rotate(screen, ws, new_key, reason, json=json)
        return audit_keys.revoke(screen, ws, revoke_key or "", trusted_until, reason, json=json)
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
                "record": _record_json(record.n, record),
                "log": proved.checkpoint.log,
                "size": proved.checkpoint.size,
                "kid": proved.key.kid,
            }
        )
        return 0
    screen.text(Styled("proved", "green"), f"  record {record.n} of log {record.log}")
    screen.table([_record_row(record.n, record)], indent=2)
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


def _ssh_signature(ws: Workspace, note: str, out: str) -> str:
    from chrono.audit.keys import find_signer
    from chrono.audit.pin import read_pin
    from chrono.audit.sshagent import openssh_line
    from chrono.audit.sshsig import sshsig

    pin = read_pin(ws.home, ws.log.log_id)
    signer = find_signer(ws.home, ws.keys, wanted=pin.active if pin is not None else None)
    if signer is None:
        raise ChronoError("the log is not signed (CHRONO_AUDIT_UNSIGNED=1)")
    write_out(f"{out}.sig", sshsig(note.encode("utf-8"), signer).encode("ascii"))
    return f"chrono {openssh_line(signer.public)}"
