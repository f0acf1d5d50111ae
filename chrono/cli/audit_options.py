"""Owns what `chrono audit` may be asked: its options as two values, and which go together.

Doing it is left to `cli.commands.audit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli.audit_records import moment
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.audit.query import Query
    from chrono.clock import Clock

PAGE = 30
_ALONE = ("verify", "keys", "reset_witness", "rotate_key", "revoke_key")


@dataclass(frozen=True)
class Act:
    """What is to be done with the log other than showing records of it: at most one act, and how."""

    verify: Annotated[
        bool, typer.Option("--verify", help="Prove that the log is what was written, and fits the savepoints.")
    ] = False
    full: Annotated[bool, typer.Option("--full", help="With --verify: every signature, too.")] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="With --verify: every line's form; warnings and resets fail, too.")
    ] = False
    new: Annotated[
        bool, typer.Option("--new", help="With --verify: only what came since; the rest was verified before.")
    ] = False
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="FILE", help="With --verify: hold an exported copy against the log."),
    ] = None
    keys: Annotated[bool, typer.Option("--keys", help="Which keys sign and are trusted; never a key itself.")] = False
    reset_witness: Annotated[
        bool, typer.Option("--reset-witness", help="End an alarm that you have looked into; this is recorded.")
    ] = False
    rotate_key: Annotated[
        bool, typer.Option("--rotate-key", help="Hand this log over to a new key; the old one signs that.")
    ] = False
    new_key: Annotated[
        str | None, typer.Option("--new-key", metavar="FILE", help="With --rotate-key: the key that takes over.")
    ] = None
    revoke_key: Annotated[
        str | None, typer.Option("--revoke-key", metavar="KID", help="Say that a former key is no longer trusted.")
    ] = None
    trusted_until: Annotated[
        int | None,
        typer.Option("--trusted-until", metavar="N", min=0, help="With --revoke-key: its first record not to count."),
    ] = None
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why an alarm is ended or a key changed.")
    ] = None
    push: Annotated[
        str | None, typer.Option("--push", metavar="URL", help="Send a store elsewhere what it lacks; https.")
    ] = None
    verify_remote: Annotated[
        bool, typer.Option("--verify-remote", help="Prove that the store's copy is the beginning of this log.")
    ] = False
    witness: Annotated[
        bool, typer.Option("--witness", help="Have the witnesses in CHRONO_AUDIT_WITNESS sign the newest checkpoint.")
    ] = False

    @property
    def alone(self) -> list[str]:
        """The acts that were asked for and go with no other; a key id that is empty was asked for, too."""
        return [name for name in _ALONE if getattr(self, name) not in (False, None)]

    @property
    def kind(self) -> str | None:
        """The act: a member of `alone`, "witness", "elsewhere" (--push, --verify-remote); None: records are shown."""
        if self.witness:
            return "witness"
        if self.push is not None or self.verify_remote:
            return "elsewhere"
        return next(iter(self.alone), None)


@dataclass(frozen=True)
class Sought:
    """Which records are to be shown, and how."""

    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="From then on: a day, a time, 3h.")] = (
        None
    )
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")] = None
    actor: Annotated[str, typer.Option("--actor", metavar="NAME", help="By this user, agent, model or host.")] = ""
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Of the session that begins so.")] = ""
    event: Annotated[str, typer.Option("--event", metavar="KIND", help='Of this kind; "session." is all of them.')] = ""
    decision: Annotated[str, typer.Option("--decision", metavar="WORD", help="Decided so: allow, ask, block.")] = ""
    path: Annotated[str, typer.Option("--path", metavar="TEXT", help="That name a path with this in it.")] = ""
    grep: Annotated[str, typer.Option("--grep", metavar="TEXT", help="With this in command, tool, rules, message.")] = (
        ""
    )
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", help=f"At most so many records; 0 for all. [{PAGE}]")
    ] = None
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show records as they are written.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="With --out: as a table for spreadsheets.")] = False
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="With --csv: where to.")] = None

    def query(self, clock: Clock) -> Query:
        """What is asked of the log. Raises UsageError where a time is none."""
        from chrono.audit.query import Query

        times = (moment(self.since, "--since", clock), moment(self.until, "--until", clock))
        return Query(*times, self.actor, self.session, self.event, self.decision, self.path, self.grep).recordable


def check(act: Act, sought: Sought) -> None:
    """Raises UsageError where two options do not go together."""
    alone = act.alone
    if len(alone) > 1:
        raise UsageError("--verify, --keys, --reset-witness, --rotate-key and --revoke-key exclude each other")
    if (act.full or act.strict) and not (act.verify or act.verify_remote):
        raise UsageError("--full and --strict belong to --verify and --verify-remote")
    if act.reason is not None and not set(alone) & {"reset_witness", "rotate_key", "revoke_key"}:
        raise UsageError("--reason belongs to --reset-witness, --rotate-key or --revoke-key")
    if (act.new_key is not None and not act.rotate_key) or (act.trusted_until is not None and act.revoke_key is None):
        raise UsageError("--new-key belongs to --rotate-key, --trusted-until to --revoke-key")
    if act.new and not act.verify:
        raise UsageError("--new belongs to --verify")
    if act.against is not None and not act.verify:
        raise UsageError("--against belongs to --verify")
    if sought.csv != (sought.out is not None):
        raise UsageError("--csv and --out FILE come together", "other forms: chrono audit export")
    if act.kind in ("witness", "elsewhere") and alone:
        raise UsageError("--push, --verify-remote and --witness go with no other act")
