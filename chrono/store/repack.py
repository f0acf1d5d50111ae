"""Owns making packs of objects that lie elsewhere: with deltas, by libgit2, which never sees a configuration.

Commits go into a pack of their own without deltas, since a history is read commit by commit. Which objects, and what
becomes of their old places, is left to `store.prune`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from chrono.errors import StoreError
from chrono.store.disk import READ_FILE
from chrono.store.leftovers import PACK_PREFIX
from chrono.store.objects import Objects
from chrono.store.pack import PackIndex, PackWriter


def write(objects: Objects, ids: Iterable[bytes], temp_parent: bytes) -> list[PackIndex]:
    """Packs that together hold exactly `ids`, durable and visible when this returns. Raises StoreError, OSError.

    Each object was hashed again on the way: what an index names is in the pack, whole.
    """
    commits: list[bytes] = []
    others: list[bytes] = []
    for oid in sorted(set(ids)):
        head = objects.head(oid)
        if head is None:
            raise StoreError(f"object {oid.hex()} went away while it was packed", "try again")
        (commits if head[0] == b"commit" else others).append(oid)
    made = []
    if others:
        made.append(_with_deltas(objects, others, temp_parent))
    if commits:
        writer = PackWriter(objects.pack_folder, objects.disk)
        try:
            for oid in commits:
                writer.add(oid, b"commit", objects.read_as(oid, b"commit"))
            made.append(writer.finish())
        except BaseException:
            writer.abandon()
            raise
    found = [PackIndex(stem + b".idx") for stem in made]
    held = {oid for index in found for oid in index.ids()}
    if held != {*commits, *others}:
        raise StoreError("a pack does not hold what was put into it", "nothing was removed")
    return found


def _with_deltas(objects: Objects, ids: list[bytes], temp_parent: bytes) -> bytes:
    """The stem of the new pack."""
    disk = objects.disk
    folder = os.path.join(temp_parent, PACK_PREFIX + os.urandom(4).hex().encode())
    disk.mkdir(folder, 0o700)
    try:
        _run_libgit2(objects.folder, ids, folder)
        names = sorted(os.fsencode(name) for name in os.listdir(folder))
        stems = {name.rpartition(b".")[0] for name in names}
        if len(stems) != 1 or {name.rpartition(b".")[2] for name in names} != {b"pack", b"idx"}:
            raise StoreError("libgit2 made no pack")
        for name in names:
            fd = os.open(os.path.join(folder, name), READ_FILE)
            try:
                disk.fsync(fd)
            finally:
                os.close(fd)
        (stem,) = stems
        place = os.path.join(objects.pack_folder, stem)
        for end in (b".pack", b".idx"):  # the index last: it makes the pack visible
            disk.rename(os.path.join(folder, stem + end), place + end)
        disk.fsync_folder(objects.pack_folder)
    finally:
        remove_folder(folder, objects)
    return place


def remove_folder(folder: bytes, objects: Objects) -> None:
    """Removes a temporary folder and the files in it, as far as that is possible."""
    try:
        for name in os.listdir(folder):
            objects.disk.unlink(os.path.join(folder, os.fsencode(name)))
        objects.disk.rmdir(folder)
    except OSError:
        pass


def _run_libgit2(objects_folder: bytes, ids: list[bytes], folder: bytes) -> None:
    import pygit2

    path = os.fsdecode(objects_folder)
    for level in pygit2.enums.ConfigLevel:
        if level.name in ("PROGRAMDATA", "SYSTEM", "XDG", "GLOBAL"):
            pygit2.settings.search_path[level] = ""
    # Exactly two backends: alternates, replace refs, grafts and configuration are never read.
    odb = pygit2.Odb()
    odb.add_backend(pygit2.OdbBackendPack(path), 2)
    odb.add_backend(pygit2.OdbBackendLoose(path, 1, False), 1)
    repository = pygit2.Repository()
    repository.set_odb(odb)
    try:
        builder = pygit2.PackBuilder(repository)
        builder.set_threads(1)
        for oid in ids:
            builder.add(pygit2.Oid(raw=oid))
        builder.write(folder)
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise StoreError(f"the objects could not be packed: {error}") from None
