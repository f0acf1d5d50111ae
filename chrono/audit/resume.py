"""Owns how far a log was verified: what the verifier knew at a record, signed by this home's key, kept at home.

A later verification may go on from there instead of reading everything again; that it did, its verdict says. Reading
lines is left to `audit.chain`, when to go on to `audit.verify`.
"""

from __future__ import annotations

import base64
import binascii

from chrono.audit.merkle import CompactRange, leaf_hash
from chrono.audit.record import MAX_LINE_BYTES
from chrono.audit.text import Text
from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.files import atomic_write, read_own
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, Signer
from chrono.tuples import NamedTuple

SIGNED_PREFIX = b"chrono-audit-verified/v1\n"
_MAX_BYTES = 1 << 26


class Verified(NamedTuple):
    """The state of a verifier behind `size` records that end at byte `offset`; `hashes` of the compact range, `leaf` of
    the last record (hex). `depth`: how closely they were read. `seen`: (size, root, leaf) where others' checkpoints
    were compared. `anchors`: (commit, record, SHA-256). `keys`: (first record, kid) of those that signed."""

    log: str
    at: str
    depth: int
    size: int
    offset: int
    leaf: str
    hashes: tuple[str, ...]
    last_at: str
    seen: tuple[tuple[int, str, str], ...]
    anchors: tuple[tuple[str, int, str], ...]
    pruned: tuple[str, ...]
    excused: tuple[str, ...]
    earlier_logs: tuple[str, ...]
    resets: int
    open_sessions: tuple[str, ...]
    keys: tuple[tuple[int, str], ...]
    revoked: tuple[str, ...]

    @property
    def tree(self) -> CompactRange:
        """Raises ValueError."""
        return CompactRange(self.size, [bytes.fromhex(part) for part in self.hashes])


def write_verified(home: HomeLayout, state: Verified, signer: Signer) -> None:
    """Keeps `state`, signed. Raises OSError, NotCanonical."""
    body = canonical_bytes(_plain(state._asdict()))
    signature = base64.b64encode(signer.sign(SIGNED_PREFIX + body))
    atomic_write(home.verified(state.log), body + b"\n" + signature + b"\n", durable=False)


def read_verified(home: HomeLayout, log: str, key: PublicKey) -> Verified | None:
    """How far `log` was verified under `key`; None where nothing says so, or what does is not signed by it."""
    try:
        body, _, signature = read_own(home.verified(log), _MAX_BYTES).partition(b"\n")
    except OSError:
        return None
    try:
        if not key.verifies(base64.b64decode(signature.removesuffix(b"\n"), validate=True), SIGNED_PREFIX + body):
            return None
        value = parse(body)
        if not isinstance(value, dict) or value.get("log") != log or value.keys() != set(Verified._fields):
            return None
        state = Verified(**{name: _frozen(value[name]) for name in Verified._fields})  # type: ignore[arg-type]
        _ = state.tree
    except (binascii.Error, NotCanonical, ValueError, TypeError):
        return None
    return state


def still_there(text: Text, state: Verified) -> bool:
    """Whether the log still has the last verified record where it was."""
    start = max(0, state.offset - (MAX_LINE_BYTES + 2))
    before = text.pread(state.offset - start, start)
    ends = len(before) == state.offset - start and before.endswith(b"\n")
    return ends and leaf_hash(before[:-1].rpartition(b"\n")[2]).hex() == state.leaf


def _plain(value: object) -> Json:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, bool | int | str)
    return value


def _frozen(value: Json) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
