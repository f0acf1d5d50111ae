"""Owns what was taken out of a command before it was recorded, for those who asked to keep it: one private file each.

The record holds only a commitment (`audit.redact`). Showing salt and raw text reveals what was there; deleting the file
erases it for good, and the log stays as it is, byte for byte. Nothing is kept unless a person asks for it.
"""

from __future__ import annotations

import os

from chrono.audit.redact import SALT_BYTES, commitment
from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import UsageError
from chrono.files import atomic_write, own_folder, read_own
from chrono.layout import HomeLayout
from chrono.tuples import NamedTuple

_DAY_NS = 86_400 * 1_000_000_000
_MAX_BYTES = 1 << 24
MAX_DAYS = 3650


class Kept(NamedTuple):
    """The raw text of a command, and the salt that ties it to the commitment in its record."""

    raw: str
    salt: bytes


def is_commitment(text: str) -> bool:
    """Whether `text` is what a record is committed to, 64 hex digits. What a log says names a file here, so nothing
    else may: no path leads out of the folder."""
    return len(text) == 64 and not text.strip("0123456789abcdef")


def days_of(text: str | None) -> int:
    """CHRONO_AUDIT_KEEP_RAW_DAYS: for how many days raw text is kept; 0 where it is not set. Raises UsageError."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or int(text[:6]) > MAX_DAYS:
        raise UsageError(f"CHRONO_AUDIT_KEEP_RAW_DAYS={text[:20]} is no number of days up to {MAX_DAYS}")
    return int(text)


def keep(home: HomeLayout, committed: str, kept: Kept, *, now_ns: int, days: int) -> None:
    """Keeps a raw text for so many days, and takes away what is older than it was to be. Raises OSError."""
    own_folder(home.reveal)
    value: dict[str, Json] = {
        "raw": kept.raw.encode("utf-8", "surrogateescape").hex(),
        "salt": kept.salt.hex(),
        "until_s": (now_ns + days * _DAY_NS) // 1_000_000_000,
    }
    atomic_write(home.revealed(committed), canonical_bytes(value), durable=False)
    if committed[:1] == "0":  # now and then: each look reads every file
        sweep(home, now_ns)


def find(home: HomeLayout, committed: str, *, now_ns: int) -> Kept | None:
    """The raw text behind a commitment, where it was kept, is not too old, and really is what was committed to."""
    if not is_commitment(committed):
        return None
    try:
        data = read_own(home.revealed(committed), _MAX_BYTES)
    except OSError:
        return None
    try:
        value = parse(data)
        if not isinstance(value, dict):
            return None
        raw, salt, until_s = value.get("raw"), value.get("salt"), value.get("until_s")
        if not isinstance(raw, str) or not isinstance(salt, str) or not isinstance(until_s, int):
            return None
        found = Kept(bytes.fromhex(raw).decode("utf-8", "surrogateescape"), bytes.fromhex(salt))
    except (NotCanonical, ValueError):
        return None
    if until_s * 1_000_000_000 < now_ns:
        erase(home, committed)
        return None
    return found if len(found.salt) == SALT_BYTES and commitment(found.raw, found.salt) == committed else None


def erase(home: HomeLayout, committed: str) -> bool:
    """Deletes what was kept; False where nothing was."""
    if not is_commitment(committed):
        return False
    try:
        os.unlink(home.revealed(committed))
    except OSError:
        return False
    return True


def sweep(home: HomeLayout, now_ns: int) -> int:
    """Deletes what is older than it was to be kept; how many."""
    gone = 0
    try:
        names = os.listdir(home.reveal)
    except OSError:
        return 0
    for name in names:
        if is_commitment(name):
            before = os.path.lexists(home.revealed(name))
            gone += before and find(home, name, now_ns=now_ns) is None and not os.path.lexists(home.revealed(name))
    return gone
