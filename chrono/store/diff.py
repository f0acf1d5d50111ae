"""Owns differences as people see them: lists of changes, and patches in git's form.

Finding what differs is left to `store.contents`.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator

from chrono.store import tree
from chrono.store.contents import Difference, Entry
from chrono.tuples import NamedTuple

ReadBytes = Callable[[bytes, Entry], bytes | None]
"""The content of a path on one side, None where it is too large to show."""

SHOW_AT_MOST_BYTES = 8 << 20
_BINARY_PROBE_BYTES = 8000
_EMPTY_TREE = tree.EMPTY_TREE.hex()


class Change(NamedTuple):
    """A path that differs. `kind`: "added", "deleted", "modified", "type" or "mode" (only the permission bits).

    Folders appear only where they are empty, or where their own mode differs.
    """

    path: str
    kind: str
    old: Entry | None
    new: Entry | None


class LineCount(NamedTuple):
    """How many lines a change adds and deletes; both None where the content has no lines to count."""

    change: Change
    added: int | None
    deleted: int | None


def shown(differences: Iterator[Difference]) -> Iterator[tuple[bytes, str, Entry | None, Entry | None]]:
    """(path, kind, old, new) of those differences that are worth a line."""
    for path, old, new in differences:
        if old is None and new is not None:
            if not new.is_folder or new.oid == _EMPTY_TREE:
                yield path, "added", old, new
        elif new is None and old is not None:
            if not old.is_folder or old.oid == _EMPTY_TREE:
                yield path, "deleted", old, new
        elif old is not None and new is not None:
            if stat.S_IFMT(old.mode) != stat.S_IFMT(new.mode):
                yield path, "type", old, new
            else:
                yield path, "modified" if old.oid != new.oid and not old.is_folder else "mode", old, new


def patch(changes: Iterator[tuple[bytes, str, Entry | None, Entry | None]], old: ReadBytes, new: ReadBytes) -> str:
    """A unified diff that `git apply` reads. Bytes that are not UTF-8 travel as surrogate escapes."""
    out: list[bytes] = []
    for path, _, before, after in changes:
        if before is not None and after is not None and stat.S_IFMT(before.mode) != stat.S_IFMT(after.mode):
            out += _file_patch(path, before, None, old, new)
            out += _file_patch(path, None, after, old, new)
        else:
            out += _file_patch(path, before, after, old, new)
    return b"".join(out).decode("utf-8", "surrogateescape")


def _file_patch(
    path: bytes, before: Entry | None, after: Entry | None, old: ReadBytes, new: ReadBytes
) -> Iterator[bytes]:
    if (before is not None and before.is_folder) or (after is not None and after.is_folder):
        return
    old_mode, new_mode = _mode_text(before), _mode_text(after)
    changed = before is None or after is None or before.oid != after.oid
    if not changed and old_mode == new_mode:
        return  # bits that git's form has no room for
    old_name, new_name = _quoted(b"a/" + path), _quoted(b"b/" + path)
    yield b"diff --git %s %s\n" % (old_name, new_name)
    if before is None:
        yield b"new file mode %s\n" % new_mode
    elif after is None:
        yield b"deleted file mode %s\n" % old_mode
    elif old_mode != new_mode:
        yield b"old mode %s\nnew mode %s\n" % (old_mode, new_mode)
    if not changed:
        return
    zeros = "0" * 40
    ids = (before.oid if before else zeros)[:12], (after.oid if after else zeros)[:12]
    both = b" " + new_mode if before is not None and after is not None and old_mode == new_mode else b""
    yield b"index %s..%s%s\n" % (ids[0].encode(), ids[1].encode(), both)
    left = old(path, before) if before is not None else b""
    right = new(path, after) if after is not None else b""
    sides = (old_name if before else b"/dev/null", new_name if after else b"/dev/null")
    if left is None or right is None or _is_binary(left) or _is_binary(right):
        yield b"Binary files %s and %s differ\n" % sides
        return
    hunks = _hunks(left, right)
    if hunks:
        yield b"--- %s\n+++ %s\n" % sides
        yield hunks


def line_count(
    path: bytes, before: Entry | None, after: Entry | None, old: ReadBytes, new: ReadBytes
) -> tuple[int, int] | None:
    """(added, deleted) lines; None for binary and very large files."""
    if any(entry is not None and entry.is_folder for entry in (before, after)):
        return 0, 0
    if before is not None and after is not None and before.oid == after.oid:
        return 0, 0
    left = old(path, before) if before is not None else b""
    right = new(path, after) if after is not None else b""
    if left is None or right is None or _is_binary(left) or _is_binary(right):
        return None
    import pygit2

    made = pygit2.Patch.create_from(left, right, flag=pygit2.enums.DiffOption.FORCE_TEXT)
    _, added, deleted = made.line_stats
    return added, deleted


def _hunks(left: bytes, right: bytes) -> bytes:
    import pygit2

    made = pygit2.Patch.create_from(left, right, flag=pygit2.enums.DiffOption.FORCE_TEXT)
    data: bytes = made.data
    start = data.find(b"\n@@ ")
    return data[start + 1 :] if start >= 0 else b""


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:_BINARY_PROBE_BYTES]


def _mode_text(entry: Entry | None) -> bytes:
    if entry is None:
        return b"000000"
    if entry.is_link:
        return b"120000"
    return b"100755" if entry.mode & 0o100 else b"100644"


_ESCAPES = {0x22: b'\\"', 0x5C: b"\\\\", 0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}


def _quoted(path: bytes) -> bytes:
    """git's C-style quoting, where a name needs it."""
    if all(0x20 <= byte < 0x7F and byte not in (0x22, 0x5C) for byte in path):
        return path
    body = b"".join(
        _ESCAPES.get(byte) or (bytes((byte,)) if 0x20 <= byte < 0x7F else b"\\%03o" % byte) for byte in path
    )
    return b'"' + body + b'"'
