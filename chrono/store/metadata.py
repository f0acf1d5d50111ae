"""Owns the metadata blob: what git's trees cannot say (mode bits, skipped paths, live databases).

The blob is text, one line a fact (docs/formats/savepoint.md). It is made of one piece a folder, so that an unchanged
folder costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from chrono.errors import StoreError
from chrono.store import tree
from chrono.store.names import quote, unquote
from chrono.store.snapshot import Skip
from chrono.tuples import NamedTuple

HEADER = b"chrono-metadata 1\n"

USUAL_FOLDER = 0o755
_USUAL = {tree.FILE: 0o644, tree.EXECUTABLE: 0o755, tree.FOLDER: USUAL_FOLDER}


def git_mode(mode: int) -> int:
    """The mode a tree entry has for a regular file of these permission bits."""
    return tree.EXECUTABLE if mode & 0o100 else tree.FILE


def folder_piece(
    folder: bytes,
    mode: int,
    files: Sequence[tuple[bytes, int]],
    skips: Sequence[tuple[bytes, str, bool]],
    live: Sequence[bytes],
) -> bytes:
    """The lines of one folder.

    `files` are (name, permission bits) of its regular files. The commonest bits of plain and of executable files
    are written once for the folder where they are not 0644 and 0755, so that another umask does not cost a line a
    file. The root's own mode is not kept.
    """
    place = folder + b"/"
    lines = []
    if folder and mode != _USUAL[tree.FOLDER]:
        lines.append(b"d %04o %s" % (mode, quote(place)))
    for letter, kind in ((b"F", tree.FILE), (b"X", tree.EXECUTABLE)):
        bits = [entry for entry in files if git_mode(entry[1]) == kind]
        usual = _USUAL[kind]
        if all(mode == usual for _, mode in bits):
            continue
        common = Counter(mode for _, mode in bits).most_common(1)[0][0]
        if common != usual:
            lines.append(b"%s %04o %s" % (letter, common, quote(place)))
        lines += [b"f %04o %s" % (mode, quote(_below(folder, name))) for name, mode in bits if mode != common]
    lines += [b"l %s" % quote(_below(folder, name)) for name in live]
    pieces = [line + b"\n" for line in lines]
    pieces += [skip_line(_below(folder, name), reason, kept) for name, reason, kept in skips]
    return b"".join(pieces)


def skip_line(path: bytes, reason: str, kept: bool) -> bytes:
    return b"s %s %s %s\n" % (reason.encode(), b"kept" if kept else b"absent", quote(path))


def _below(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


class Metadata(NamedTuple):
    """A metadata blob, read. Paths are bytes; folders as b"src", the root b""."""

    folders: dict[bytes, int]
    files: dict[bytes, int]
    plain: dict[bytes, int]
    executable: dict[bytes, int]
    skips: tuple[Skip, ...]
    live: tuple[str, ...]

    def mode(self, path: bytes, kind: int) -> int:
        """The permission bits of the entry at `path` whose tree mode is `kind` (0o777 for a link)."""
        if kind == tree.LINK:
            return 0o777
        if kind == tree.FOLDER:
            return self.folders.get(path, _USUAL[tree.FOLDER])
        exact = self.files.get(path)
        return exact if exact is not None else self.usual(path.rpartition(b"/")[0], kind)

    def usual(self, folder: bytes, kind: int) -> int:
        """The permission bits of those files of tree mode `kind` directly in `folder` without a line of their own."""
        common = self.executable if kind == tree.EXECUTABLE else self.plain
        return common.get(folder, _USUAL.get(kind, 0o644))


EMPTY = Metadata({}, {}, {}, {}, (), ())


def parse(data: bytes) -> Metadata:
    """Raises StoreError for another version or a malformed line."""
    if not data.startswith(HEADER):
        raise StoreError("a savepoint's metadata has an unknown version", "upgrade chrono")
    found = Metadata({}, {}, {}, {}, (), ())
    skips = []
    live = []
    targets = {b"d": found.folders, b"f": found.files, b"F": found.plain, b"X": found.executable}
    try:
        for line in data[len(HEADER) :].split(b"\n")[:-1]:
            letter, _, rest = line.partition(b" ")
            if letter == b"s":
                reason, kept, path = rest.split(b" ", 2)
                skips.append(Skip(unquote(path).decode("utf-8", "surrogateescape"), reason.decode(), kept == b"kept"))
            elif letter == b"l":
                live.append(unquote(rest).decode("utf-8", "surrogateescape"))
            else:
                mode, _, path = rest.partition(b" ")
                key = unquote(path)
                targets[letter][key[:-1] if letter != b"f" else key] = int(mode, 8) & 0o7777
    except (ValueError, KeyError) as error:
        raise StoreError(f"a savepoint's metadata is malformed: {error}") from None
    return found._replace(skips=tuple(skips), live=tuple(live))
