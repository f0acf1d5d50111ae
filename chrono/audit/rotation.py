"""Owns what a person does to the keys of a log: handing over to a new one, and taking trust back from an old one.

How the hand-over is written and survives a crash is left to `audit.append`, judging it to `audit.chain`.
"""

from __future__ import annotations

import os

from chrono.audit.append import AuditLog, Receipt
from chrono.audit.keys import KeySettings, find_signer, read_key_file, store_key
from chrono.audit.pin import read_pin
from chrono.audit.record import Act, Actor, Entry
from chrono.canonical import Json
from chrono.errors import KeyRefused
from chrono.layout import HomeLayout
from chrono.signing import Signer, generate

_WAIT_S = 30.0


def rotate_key(
    log: AuditLog,
    home: HomeLayout,
    keys: KeySettings,
    by: Actor,
    *,
    new_key_file: str | None = None,
    reason: str | None = None,
    timeout_s: float = _WAIT_S,
) -> Receipt:
    """Hands the log over to another key: the old one signs the record, the new one proves that it exists.

    Without `new_key_file` the home's own key takes over where this log is still under an older one, else a new one is
    made. The old key is kept beside it for the other logs that are pinned to it. Raises KeyRefused, and what
    `AuditLog.append` raises.
    """
    if keys.unsigned:
        raise KeyRefused("an unsigned log has no key to rotate", "unset CHRONO_AUDIT_UNSIGNED")
    pin = read_pin(home, log.log_id)
    active = pin.active if pin is not None else None
    if active is None:
        raise KeyRefused("this log is not signed yet: its first signed record brings the key")
    old = find_signer(home, keys, wanted=active)
    assert old is not None
    own = keys.key is None and keys.key_file is None
    if new_key_file is not None:
        new = read_key_file(new_key_file, keys)
    elif not own:
        raise KeyRefused(
            "the key comes from the environment, so the new one must, too", "name its file with --new-key FILE"
        )
    else:
        new = _own_next(home, keys, old)
    if new.public == active:
        raise KeyRefused(f"key {active.kid} signs this log already")
    if own and new_key_file is None:
        store_key(home, old, keys, kept=True)  # both are on the disk before the record names them
        store_key(home, new, keys, kept=True)
    with log.writing(timeout_s) as writing:
        receipt = log.rotate(writing, by, new, reason)
    if own and new_key_file is None:
        store_key(home, new, keys, kept=False)
    return receipt


def _own_next(home: HomeLayout, keys: KeySettings, old: Signer) -> Signer:
    if os.path.lexists(home.audit_key):
        current = read_key_file(home.audit_key, keys)
        if current.public != old.public:
            return current
    return generate()


def revoke_key(
    log: AuditLog, by: Actor, kid: str, trusted_until: int, *, reason: str | None = None, timeout_s: float = _WAIT_S
) -> Receipt:
    """Says that what key `kid` signed from record number `trusted_until` on does not count.

    Raises KeyRefused where `kid` signs the log now: rotate first, or nothing could be said after it.
    """
    pin = read_pin(log.home, log.log_id)
    if pin is not None and pin.active is not None and pin.active.kid == kid:
        raise KeyRefused(f"key {kid} signs this log now", "hand over first: chrono audit --rotate-key")
    more: tuple[tuple[str, Json], ...] = (("kid", kid), ("trusted_until", trusted_until))
    return log.append(Entry("key.revoke", by, Act(message=reason, more=more)), timeout_s=timeout_s)
