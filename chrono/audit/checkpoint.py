"""Owns the checkpoint: the signed tree head of a log, a C2SP signed note (type 0x01, Ed25519).

Where it is kept is left to `audit.head` and `audit.witness`.
"""

from __future__ import annotations

from functools import lru_cache

from chrono.canonical import base64_of, from_base64
from chrono.digest import sha256
from chrono.signing import PublicKey, Signer
from chrono.tuples import NamedTuple

ORIGIN_PREFIX = "chrono.local/"
_DASH = "— "


class NotACheckpoint(ValueError):
    """Text that is no checkpoint, or no checkpoint of the log and key at hand; the text says why."""


class Checkpoint(NamedTuple):
    """`size` records of log `log` have the tree root `root` (32 bytes)."""

    log: str
    size: int
    root: bytes

    @property
    def origin(self) -> str:
        return ORIGIN_PREFIX + self.log

    @property
    def text(self) -> str:
        """The signed text: origin, size, base64 root, each with LF (C2SP tlog-checkpoint)."""
        root = base64_of(self.root)
        return f"{ORIGIN_PREFIX}{self.log}\n{self.size}\n{root}\n"


@lru_cache(maxsize=16)
def key_hash(origin: str, key: PublicKey) -> bytes:
    """First 4 bytes of SHA-256(name || LF || 0x01 || key) (C2SP signed-note)."""
    return sha256(origin.encode("utf-8") + b"\n\x01" + key.raw).digest()[:4]


def sign(checkpoint: Checkpoint, signer: Signer | None) -> str:
    """The note of `checkpoint`; without a signer (unsigned mode) it has no signature line."""
    text = checkpoint.text
    if signer is None:
        return text + "\n"
    origin = checkpoint.origin
    blob = key_hash(origin, signer.public) + signer.sign(text.encode("ascii"))
    return f"{text}\n{_DASH}{origin} {base64_of(blob)}\n"


def parse(note: str) -> tuple[Checkpoint, tuple[tuple[str, bytes], ...]]:
    """The checkpoint of `note` and its signatures as (key name, 4-byte key hash || signature), unchecked.

    Raises NotACheckpoint.
    """
    text, blank, tail = note.partition("\n\n")
    lines = text.split("\n")
    if not blank or len(lines) != 3:
        raise NotACheckpoint("a checkpoint has three lines and a blank one")
    origin, size_text, root_text = lines
    if not origin.startswith(ORIGIN_PREFIX):
        raise NotACheckpoint(f"foreign origin {origin[:80]!r}")
    if not (size_text.isascii() and size_text.isdigit()) or str(int(size_text[:20])) != size_text:
        raise NotACheckpoint("the size is no decimal number")
    root = _base64(root_text)
    if len(root) != 32:
        raise NotACheckpoint("the root is not 32 bytes")
    signatures = []
    if tail and not tail.endswith("\n"):
        raise NotACheckpoint("the last line has no end")
    for line in tail.split("\n")[:-1]:
        name, _, blob = line.removeprefix(_DASH).partition(" ")
        if not line.startswith(_DASH) or not name or not blob:
            raise NotACheckpoint("a malformed signature line")
        signatures.append((name, _base64(blob)))
    return Checkpoint(origin.removeprefix(ORIGIN_PREFIX), int(size_text), root), tuple(signatures)


def verified(note: str, *, log: str, key: PublicKey | None) -> Checkpoint:
    """The checkpoint of a note of log `log`, signed by `key` (None: an unsigned log). Raises NotACheckpoint."""
    checkpoint, signatures = parse(note)
    if checkpoint.log != log:
        raise NotACheckpoint(f"foreign origin: a checkpoint of log {checkpoint.log[:32]}")
    if key is None:
        if signatures:
            raise NotACheckpoint("a signed checkpoint of an unsigned log")
        return checkpoint
    mine = key_hash(checkpoint.origin, key)
    data = checkpoint.text.encode("utf-8")
    for name, blob in signatures:
        if name == checkpoint.origin and blob[:4] == mine and len(blob) == 68:
            if key.verifies(blob[4:], data):
                return checkpoint
            raise NotACheckpoint("the signature of the checkpoint does not hold")
    raise NotACheckpoint(f"no signature of key {key.kid} on the checkpoint")


def _base64(text: str) -> bytes:
    try:
        return from_base64(text)
    except ValueError:
        raise NotACheckpoint("malformed base64") from None
