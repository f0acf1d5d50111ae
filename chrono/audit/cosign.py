"""Owns asking C2SP witnesses (c2sp.org/tlog-witness) to cosign the log's checkpoint, and checking that they did.

A witness signs only what continues the tree it signed before, so a log that is shown differently to different people
becomes two signatures that contradict each other. Which witnesses there are is said by CHRONO_AUDIT_WITNESS; what they
answered is kept by `audit.external`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice

from chrono.audit import checkpoint
from chrono.audit.checkpoint import Checkpoint, NotACheckpoint
from chrono.audit.external import External
from chrono.audit.place import LogPlace, open_text
from chrono.audit.proof import NotAProof, continuation, newest_checkpoint
from chrono.audit.text import lines
from chrono.audit.web import Asked, ask, safe_address
from chrono.clock import rfc3339
from chrono.errors import AuditTampered, ChronoError, KeyRefused, UsageError
from chrono.signing import PublicKey, public_key
from chrono.tuples import NamedTuple

_COSIGNATURE = 4
_HINT = "CHRONO_AUDIT_WITNESS is [K] URL,VKEY [URL,VKEY …]: K of these witnesses must sign, all where K is left out"


class Cosigner(NamedTuple):
    """One witness: its name and public key, as its verifier key says, and its address."""

    name: str
    key: PublicKey
    url: str

    @property
    def hint(self) -> bytes:
        """The 4-byte key hash of its signature lines."""
        return sha256(self.name.encode("utf-8") + b"\n" + bytes((_COSIGNATURE,)) + self.key.raw).digest()[:4]


class Quorum(NamedTuple):
    """`least` of `cosigners` must have signed."""

    least: int
    cosigners: tuple[Cosigner, ...]


class Answer(NamedTuple):
    """What one witness answered: `seen` where it signed, else `why` not."""

    cosigner: Cosigner
    seen: External | None
    why: str


def quorum_of(text: str) -> Quorum:
    """The witnesses in CHRONO_AUDIT_WITNESS. Raises UsageError, KeyRefused, ChronoError (an address in the clear)."""
    words = text.split()
    least = int(words.pop(0)) if words and words[0].isascii() and words[0].isdigit() else 0
    cosigners = tuple(_cosigner(word) for word in words)
    if not cosigners or len({cosigner.name for cosigner in cosigners}) < len(cosigners):
        raise UsageError("CHRONO_AUDIT_WITNESS names no witness, or one twice", _HINT)
    if least > len(cosigners):
        raise UsageError(f"CHRONO_AUDIT_WITNESS wants {least} of {len(cosigners)} witnesses", _HINT)
    return Quorum(least or len(cosigners), cosigners)


def _cosigner(word: str) -> Cosigner:
    url, _, vkey = word.partition(",")
    name, hint, typed = [*vkey.split("+", 2), "", ""][:3]
    try:
        data = base64.b64decode(typed, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not name or len(data) != 33 or data[0] != _COSIGNATURE:
        raise UsageError(f"{vkey[:80]} is no verifier key of a witness", _HINT)
    found = Cosigner(name, public_key(data[1:]), safe_address(url))
    if found.hint.hex() != hint:
        raise KeyRefused(f"the verifier key of witness {name} does not fit its own hash")
    return found


def cosign(place: LogPlace, quorum: Quorum, known: tuple[External, ...]) -> tuple[Answer, ...]:
    """Asks each witness for the newest checkpoint. `known`: what they signed before, so that they need not say.

    One that is away is an answer, not an error. Raises ChronoError where the log has no checkpoint, AuditTampered where
    a witness saw a log that this one does not continue.
    """
    try:
        note = newest_checkpoint(place)
        point, _ = checkpoint.parse(note)
    except (NotAProof, NotACheckpoint) as error:
        raise ChronoError(str(error), "run chrono audit --verify") from None
    sizes = {entry.holder: entry.size for entry in known if entry.level == "W5"}
    return tuple(_one(place, cosigner, note, point, sizes.get(cosigner.name, 0)) for cosigner in quorum.cosigners)


def _one(place: LogPlace, cosigner: Cosigner, note: str, point: Checkpoint, old: int) -> Answer:
    another = False
    for _ in range(2):  # the second time with the size that the witness told
        if old > point.size:
            raise AuditTampered(
                f"truncated: witness {cosigner.name} saw {old} records, the log's checkpoint covers {point.size}",
                "run chrono audit --verify",
            )
        try:
            answer = ask("POST", cosigner.url + "/add-checkpoint", _request(place, note, point, old), {})
        except ChronoError as error:
            return Answer(cosigner, None, error.message)
        if answer.status != 409:
            break
        told = answer.body.strip()
        another = told.isdigit() and len(told) < 16 and int(told) == old > 0  # the same size, and another root
        if another or not told.isdigit() or len(told) > 16:
            break
        old = int(told)
    if answer.status == 422 or another:
        raise AuditTampered(
            f"witness {cosigner.name} saw another log: the first {old} records were others", "run chrono audit --verify"
        )
    return _signed(cosigner, note, point, answer)


def _request(place: LogPlace, note: str, point: Checkpoint, old: int) -> bytes:
    path = continuation(_leaves(place, point.size), old, point.size) if old else ()
    hashes = "".join(f"{base64.b64encode(part).decode('ascii')}\n" for part in path)
    return f"old {old}\n{hashes}\n{note}".encode()


def _leaves(place: LogPlace, size: int) -> Iterator[bytes]:
    with open_text(place) as text:
        for line in islice(lines(text), size):
            yield line.leaf


def _signed(cosigner: Cosigner, note: str, point: Checkpoint, answer: Asked) -> Answer:
    if answer.status != 200:
        return Answer(
            cosigner, None, f"it refuses: HTTP {answer.status} {answer.body[:200].decode('utf-8', 'replace')}"
        )
    for line in answer.body.decode("utf-8", "replace").splitlines():
        at_s = cosigned_at(line, point, cosigner)
        if at_s is not None:
            at = rfc3339(at_s * 1_000_000_000)
            return Answer(
                cosigner, External("W5", cosigner.name, point.size, point.root.hex(), at, note + line + "\n"), ""
            )
    return Answer(cosigner, None, "its answer is not its signature on this checkpoint")


def cosigned_at(line: str, point: Checkpoint, cosigner: Cosigner) -> int | None:
    """When (Unix seconds) `cosigner` signed `point`, by a signature line; None where it is not its signature.

    c2sp.org/tlog-cosignature: the signature is over `cosignature/v1`, `time N` and the checkpoint, each with LF.
    """
    words = line.split(" ")
    if len(words) != 3 or words[0] != "—" or words[1] != cosigner.name:
        return None
    try:
        blob = base64.b64decode(words[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(blob) != 4 + 8 + 64 or blob[:4] != cosigner.hint:
        return None
    at_s = int.from_bytes(blob[4:12], "big")
    signed = f"cosignature/v1\ntime {at_s}\n{point.text}".encode()
    return at_s if at_s < 1 << 40 and cosigner.key.verifies(blob[12:], signed) else None


def still_signed(entry: External, quorum: Quorum) -> bool:
    """Whether what is kept of a witness's answer is its signature on what the entry says."""
    cosigner = next((found for found in quorum.cosigners if found.name == entry.holder), None)
    try:
        point, _ = checkpoint.parse(entry.proof)
    except NotACheckpoint:
        return False
    if cosigner is None or (point.size, point.root.hex()) != (entry.size, entry.root):
        return False
    return any(cosigned_at(line, point, cosigner) is not None for line in entry.proof.splitlines())
