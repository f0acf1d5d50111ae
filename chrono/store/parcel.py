"""Owns one savepoint as objects that leave the machine: gathering them, checking what came, writing the files.

A parcel that came is anybody's: nothing of it is believed before `opened` has looked at all of it, and nothing of it
enters a repository. docs/formats/trace-v1.md says how it is written down.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.store import tree
from chrono.store.checkout import CheckedOut, Checkout
from chrono.store.contents import Contents
from chrono.store.disk import Disk
from chrono.store.metadata import EMPTY, Metadata
from chrono.store.metadata import parse as parse_metadata
from chrono.store.names import file_name, is_file_name, is_forged, is_ours_to_leave
from chrono.store.objects import Objects
from chrono.store.savepoint import Savepoint, decode
from chrono.tuples import NamedTuple

MOST_BYTES = 256 << 20
"""Of all objects of a parcel together, and of the files it is written as."""
MOST_ENTRIES = 200_000
MOST_LEVELS = 100

_KINDS = (tree.FILE, tree.EXECUTABLE, tree.LINK, tree.FOLDER)


class Object(NamedTuple):
    """A git object: `kind` is commit, tree or blob."""

    kind: bytes
    data: bytes


class BadParcel(StoreError):
    """Objects that are no savepoint, or one that nobody should write."""


def gather(objects: Objects, commit: CommitId, most_bytes: int = MOST_BYTES) -> Iterator[Object]:
    """The commit, its metadata, its trees and blobs, each once. Raises NoSuchSavepoint, StoreError, also where they
    are more than `most_bytes`."""
    raw = objects.read_as(bytes.fromhex(commit), b"commit")
    found = decode(commit, raw)
    size = len(raw)
    yield Object(b"commit", raw)
    seen: set[bytes] = set()
    waiting = [(bytes.fromhex(found.meta), b"blob")] if found.meta is not None else []
    waiting.append((bytes.fromhex(found.tree), b"tree"))
    while waiting:
        oid, kind = waiting.pop()
        if oid in seen:
            continue
        seen.add(oid)
        head = objects.head(oid)
        size += head[1] if head is not None else 0
        if size > most_bytes:
            raise StoreError(
                f"savepoint {commit[:12]} holds more than {most_bytes >> 20} MiB", "leave its files out of the export"
            )
        data = objects.read_as(oid, kind)
        yield Object(kind, data)
        if kind == b"tree":
            waiting += [(entry.oid, b"tree" if entry.mode == tree.FOLDER else b"blob") for entry in tree.parse(data)]


class Opened(NamedTuple):
    """A parcel that was looked at. `left_out`: links that lead out of the folder, which are not written."""

    savepoint: Savepoint
    meta: Metadata
    left_out: tuple[str, ...]
    held: dict[bytes, Object]

    def check_out(self, folder: str) -> CheckedOut:
        """Writes the files into `folder`, which is empty. Raises StoreError."""
        left_out = frozenset(map(os.fsencode, self.left_out))
        contents = Contents(bytes.fromhex(self.savepoint.tree), self.meta, lambda oid: self.held[oid].data)
        made = Checkout(
            os.fsencode(folder),
            contents,
            lambda oid: (len(self.held[oid].data), iter((self.held[oid].data,))),
            Disk(),
            lambda source, target: False,
            leave=lambda path: path in left_out or is_ours_to_leave(path),
        )
        return made.into(os.fsencode(folder))


def opened(commit: str, objects: Iterable[Object], most_bytes: int = MOST_BYTES) -> Opened:
    """Looks at all of a parcel: ids, shapes, names, sizes. Raises BadParcel."""
    held: dict[bytes, Object] = {}
    size = 0
    for one in objects:
        size += len(one.data)
        if size > most_bytes or len(held) >= MOST_ENTRIES:
            raise BadParcel(f"the files are more than {most_bytes >> 20} MiB or {MOST_ENTRIES:,} objects")
        held[tree.object_id(one.kind, one.data)] = one
    try:
        savepoint = decode(CommitId(commit), _held(held, commit, b"commit"))
        meta = parse_metadata(_held(held, savepoint.meta, b"blob")) if savepoint.meta is not None else EMPTY
    except (StoreError, ValueError) as error:
        raise BadParcel(f"the files' savepoint cannot be read: {error}") from None
    if any(mode & ~0o777 for modes in meta[:4] for mode in modes.values()):
        raise BadParcel("the files' metadata has mode bits that nobody should get from elsewhere")
    left_out = tuple(_looked_through(held, bytes.fromhex(savepoint.tree), most_bytes))
    return Opened(savepoint, meta, left_out, held)


def _held(held: dict[bytes, Object], oid: str, kind: bytes) -> bytes:
    try:
        one = held.get(bytes.fromhex(oid))
    except ValueError:
        one = None
    if one is None or one.kind != kind:
        raise BadParcel(f"the files lack {kind.decode()} {oid[:40]}")
    return one.data


def _looked_through(held: dict[bytes, Object], root: bytes, most_bytes: int) -> Iterator[str]:
    """Every entry as often as it would be written: a few trees can name each other into billions of files. Gives the
    links that lead outside."""
    waiting = [(b"", root)]
    entries = size = 0
    while waiting:
        folder, oid = waiting.pop()
        if folder.count(b"/") > MOST_LEVELS:
            raise BadParcel(f"the files have more than {MOST_LEVELS} levels of folders")
        for entry in _tree(held, oid):
            path = folder + b"/" + file_name(entry.name) if folder else file_name(entry.name)
            data = _held(held, entry.oid.hex(), b"tree" if entry.mode == tree.FOLDER else b"blob")
            entries += 1
            size += len(data)
            if entries > MOST_ENTRIES or size > most_bytes:
                raise BadParcel(f"written out, the files are more than {most_bytes >> 20} MiB or {MOST_ENTRIES:,}")
            if entry.mode == tree.FOLDER:
                waiting.append((path, entry.oid))
            elif entry.mode == tree.LINK and _leads_out(path, data):
                yield os.fsdecode(path)


def _tree(held: dict[bytes, Object], oid: bytes) -> list[tree.TreeEntry]:
    data = _held(held, oid.hex(), b"tree")
    try:
        entries = tree.parse(data)
    except StoreError as error:
        raise BadParcel(error.message) from None
    names = [file_name(entry.name) for entry in entries]
    if len(set(names)) != len(names) or any(entry.mode not in _KINDS for entry in entries):
        raise BadParcel("a folder of the files has a name twice, or an entry of no known kind")
    for entry, name in zip(entries, names, strict=True):
        if not is_file_name(name) or is_forged(entry.name) or is_ours_to_leave(b"x/" + name):
            raise BadParcel(f"a folder of the files holds {os.fsdecode(name)!r}, which is no name for a file")
    if tree.build(entries) != data:
        raise BadParcel("a folder of the files is not written as git writes one")
    return entries


def _leads_out(path: bytes, target: bytes) -> bool:
    """Whether a link may lead out of the folder: absolute, more steps up than it lies deep, or up again after a step
    down, which may be another link."""
    if target.startswith(b"/") or b"\0" in target or not target:
        return True
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    up = 0
    while up < len(parts) and parts[up] == b"..":
        up += 1
    return up > path.count(b"/") or b".." in parts[up:]
