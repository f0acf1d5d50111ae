"""Owns what `chrono audit` says and does about keys and alarms: which sign, handing over, revoking, ending an alarm.

The acts are `audit.rotation` and `audit.log`; only a person may do them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.cli.render import Screen
from chrono.cli.text import Part, Styled

if TYPE_CHECKING:
    from chrono.audit.pin import Pin
    from chrono.layout import HomeLayout
    from chrono.signing import PublicKey
    from chrono.workspace.project import Workspace


def show_keys(screen: Screen, ws: Workspace, *, json: bool) -> int:
    """Ids and places; never a key."""
    from chrono.audit.keys import find_signer
    from chrono.errors import KeyRefused

    settings = ws.keys
    pin = _pin(ws)
    active = pin.active if pin is not None else None
    problem = hint = None
    try:
        signer = find_signer(ws.home, settings, wanted=active)
    except KeyRefused as error:
        signer, problem, hint = None, error.message, error.hint
    source = (
        "switched off (CHRONO_AUDIT_UNSIGNED)"
        if settings.unsigned
        else "CHRONO_AUDIT_KEY"
        if settings.key is not None
        else settings.key_file or ws.home.audit_key
    )
    signing = signer.public.kid if signer is not None else None
    pinned = active.kid if active is not None else None
    began = pin.key.kid if pin is not None and pin.key is not None else None
    trusted = [key.kid for key in settings.trusted]
    if json:
        screen.value(
            {
                "log": ws.log.log_id,
                "signing": signing,
                "source": source,
                "problem": problem,
                "pinned": pinned,
                "pinned_public": active.text if active is not None else None,
                "began_with": began,
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
        *((("began with", began),) if began and began != pinned else ()),
        *(("also trusted", kid) for kid in trusted),
        ("key store", ws.home.keys),
        ("trust store", ws.home.trust),
    ]
    screen.table(rows)
    if problem is not None:
        screen.warning(problem, hint)
    return 0


def reset(screen: Screen, ws: Workspace, reason: str | None, *, json: bool) -> int:
    """Ends an alarm by a person's word."""
    from chrono.audit.external import read_external
    from chrono.audit.log import reset_witness
    from chrono.workspace.actors import actor
    from chrono.workspace.verify import verify

    ws.require_own()
    report = verify(ws)
    failed = {level.name for level in report.levels if level.state == "failed"}
    external = [entry for entry in read_external(ws.home, ws.log.log_id) if entry.level in failed]
    lost = report.unanchored
    receipt = reset_witness(ws.log, actor(screen.environ), reason, commits=lost, external=external)
    if json:
        screen.value({"reset": receipt is not None, "record": receipt.n if receipt is not None else None})
    elif receipt is None:
        screen.line("there is no alarm to end")
    else:
        screen.text(f"the alarm is ended and recorded (record {receipt.n}); --strict still shows it")
    return 0


def rotate(screen: Screen, ws: Workspace, new_key: str | None, reason: str | None, *, json: bool) -> int:
    """Hands this log over to another key."""
    from chrono.audit.rotation import rotate_key
    from chrono.workspace.actors import actor

    ws.require_own()
    receipt = rotate_key(ws.log, ws.home, ws.keys, actor(screen.environ), new_key_file=new_key, reason=reason)
    pin = _pin(ws)
    kid = pin.active.kid if pin is not None and pin.active is not None else None
    if json:
        screen.value({"record": receipt.n, "signing": kid})
        return 0
    screen.text(f"from record {receipt.n + 1} on key {kid} signs this log")
    if ws.keys.key is not None or ws.keys.key_file is not None:
        screen.note("give the new key in CHRONO_AUDIT_KEY_FILE or CHRONO_AUDIT_KEY from now on")
    return 0


def revoke(
    screen: Screen, ws: Workspace, kid: str, trusted_until: int | None, reason: str | None, *, json: bool
) -> int:
    """Says from which record on a key's signatures do not count."""
    from chrono.audit.rotation import revoke_key
    from chrono.errors import UsageError
    from chrono.workspace.actors import actor

    ws.require_own()
    if len(kid) != 32 or not set(kid) <= set("0123456789abcdef"):
        raise UsageError(f"{kid} is not a key id", "chrono audit --keys shows them: 32 hex digits")
    if trusted_until is None:
        raise UsageError("--revoke-key needs --trusted-until N", "the first record of that key that does not count")
    receipt = revoke_key(ws.log, actor(screen.environ), kid, trusted_until, reason=reason)
    if json:
        screen.value({"record": receipt.n, "kid": kid, "trusted_until": trusted_until})
    else:
        screen.text(f"records that key {kid} signed do not count from record {trusted_until} on")
    return 0


def _pin(ws: Workspace) -> Pin | None:
    from chrono.audit.pin import read_pin

    return read_pin(ws.home, ws.log.log_id)


def key_of(word: str) -> PublicKey:
    """A public key as a person gives it: base64 of 32 bytes, or a line of OpenSSH. Raises KeyRefused."""
    from chrono.audit.sshagent import openssh_public
    from chrono.signing import public_key_of_text

    return openssh_public(word.encode("utf-8")) if word.startswith("ssh-") else public_key_of_text(word)


def keys_for(home: HomeLayout, note: str) -> tuple[PublicKey, ...]:
    """The keys that this home has pinned for the log of a checkpoint, none where it knows no such log."""
    from chrono.audit.checkpoint import NotACheckpoint, parse
    from chrono.audit.pin import read_pin

    try:
        log = parse(note)[0].log
    except NotACheckpoint:
        return ()
    pin = read_pin(home, log) if len(log) == 32 and log.isalnum() else None
    return tuple(key for key in (pin.key, pin.rotated) if key is not None) if pin is not None else ()
