"""Owns what others, elsewhere, have seen of a log: one canonical line a checkpoint, in CHRONO_HOME/witness.

Who they are and how they are asked is left to `audit.push` and `audit.cosign`; whether the log still fits what they saw
to `audit.verify`.
"""

from __future__ import annotations

from collections.abc import Iterable

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.files import atomic_write, own_folder, read_own
from chrono.layout import HomeLayout
from chrono.tuples import NamedTuple

_MAX_BYTES = 1 << 22


class External(NamedTuple):
    """`holder` saw `size` records with the tree root `root` (hex) at time `at`; `proof` is what it answered, for those
    who ask it again. `level`: "W2" (a daemon of another account), "remote" (a store of records), "W4" (git), "W5" (a
    C2SP witness), "W6" (a time stamp)."""

    level: str
    holder: str
    size: int
    root: str
    at: str
    proof: str


def read_external(home: HomeLayout, log: str) -> tuple[External, ...]:
    """The largest of each holder. Lines that are none are passed over: they only ever add to what is checked."""
    try:
        data = read_own(home.external(log), _MAX_BYTES)
    except OSError:
        return ()
    found = (_external(line) for line in data.split(b"\n"))
    return tuple(entry for entry in found if entry is not None)


def add_external(home: HomeLayout, log: str, entries: Iterable[External]) -> None:
    """Keeps what holders answered: of each the largest, so that a step back forgets nothing. Raises OSError."""
    kept = {(entry.level, entry.holder): entry for entry in read_external(home, log)}
    for entry in entries:
        before = kept.get((entry.level, entry.holder))
        if before is None or entry.size >= before.size:
            kept[entry.level, entry.holder] = entry
    own_folder(home.witness)
    atomic_write(home.external(log), b"".join(_line(entry) for _, entry in sorted(kept.items())))


def forget_external(home: HomeLayout, log: str, entries: Iterable[External]) -> None:
    """Ends what holders count for, by a person's word that a record tells of. Raises OSError."""
    gone = set(entries)
    kept = [entry for entry in read_external(home, log) if entry not in gone]
    atomic_write(home.external(log), b"".join(map(_line, kept)))


def _line(entry: External) -> bytes:
    value: dict[str, Json] = dict(entry._asdict())
    return canonical_bytes(value) + b"\n"


def _external(line: bytes) -> External | None:
    try:
        value = parse(line)
    except NotCanonical:
        return None
    if not isinstance(value, dict):
        return None
    texts = [value.get(name) for name in ("level", "holder", "root", "at", "proof")]
    size = value.get("size")
    if not isinstance(size, int) or size < 1 or not all(isinstance(text, str) for text in texts):
        return None
    level, holder, root, at, proof = (str(text) for text in texts)
    return External(level, holder, size, root, at, proof)
