"""Owns how savepoints and changed paths look to people. Printing is left to `cli.render`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from chrono.cli.render import Screen
from chrono.cli.shapes import short
from chrono.cli.text import Part, Styled, age, columns, count, one_line, safe

if TYPE_CHECKING:
    from chrono.store.diff import Change, LineCount
    from chrono.store.merge import MergeConflict
    from chrono.store.restore import Left
    from chrono.store.savepoint import Savepoint
    from chrono.store.snapshot import Skip

MAX_PATHS = 20

_KIND_STYLES = {"manual": "green", "rollback": "cyan", "rescue": "yellow", "crash": "yellow"}
_CHANGES = {
    "added": ("new", "green"),
    "deleted": ("deleted", "red"),
    "modified": ("changed", "yellow"),
    "type": ("changed type", "yellow"),
    "mode": ("changed mode", "yellow"),
}


def what(value: Savepoint) -> str:
    """What a savepoint is about, in one line: the command it was taken before, or its message."""
    return one_line(value.trailer("Chrono-Command") or value.message)


def savepoint_row(value: Savepoint, now_ns: int) -> tuple[Part, ...]:
    """Kind, id, age, agent, subject."""
    style = _KIND_STYLES.get(value.kind)
    return (
        Styled(value.kind, style) if style else value.kind,
        Styled(short(value.id), "bold"),
        age((now_ns - value.at_ns) / 1e9),
        value.trailer("Chrono-Agent") or "-",
        what(value),
    )


def savepoint_words(value: Savepoint, now_ns: int) -> str:
    """`3f2a1b9c4d5e (auto, 2 min ago: rm -rf build)`."""
    return f"{short(value.id)} ({value.kind}, {age((now_ns - value.at_ns) / 1e9)}: {what(value)})"


def change_row(value: Change) -> tuple[Part, ...]:
    name, style = _CHANGES.get(value.kind, (value.kind, "yellow"))
    return Styled(name, style), value.path


def print_paths(screen: Screen, rows: Sequence[tuple[Part, ...]], *, most: int = MAX_PATHS) -> None:
    """Rows of paths, indented; beyond `most` only how many there are."""
    screen.table(rows[:most], indent=2)
    if len(rows) > most:
        screen.line(Styled(f"  … and {count(len(rows) - most, 'path')} more", "dim"))


def print_patch(screen: Screen, patch: str, *, words: bool = False) -> None:
    """A patch line by line, or word by word."""
    if not words:
        screen.patch(patch)
        return
    from chrono.cli.words import word_rows

    for row in word_rows(patch):
        screen.line(*row)


_BAR_COLUMNS = 24


def print_line_counts(screen: Screen, counts: Sequence[LineCount]) -> None:
    """`src/a.py  12 +++++++++---`, and the sum."""
    most = max(((one.added or 0) + (one.deleted or 0) for one in counts), default=0)
    scale = min(1.0, _BAR_COLUMNS / most) if most else 1.0
    width = max((columns(safe(one.change.path)) for one in counts), default=0)
    room = max(min(width, (screen.width or 200) - _BAR_COLUMNS - 10), 16)
    for one in counts:
        path = safe(one.change.path)
        shown = path if columns(path) <= room else "…" + path[-(room - 1) :]
        pad = " " * (room - columns(shown))
        if one.added is None or one.deleted is None:
            screen.line(f"  {shown}{pad}  binary")
            continue
        total = one.added + one.deleted
        plus = max(round(one.added * scale), 1 if one.added else 0)
        minus = max(round(one.deleted * scale), 1 if one.deleted else 0)
        note = one.change.kind if not total else ""
        screen.line(f"  {shown}{pad}  {total:>5} ", Styled("+" * plus, "green"), Styled("-" * minus, "red"), note)
    added, deleted = sum(one.added or 0 for one in counts), sum(one.deleted or 0 for one in counts)
    screen.line(f"  {count(len(counts), 'path')} changed, {count(added, 'line')} added, {deleted:,} deleted")


def print_plan(screen: Screen, changes: Iterable[Change]) -> None:
    """What a restore does to the files: what comes back, then what goes."""
    changes = list(changes)
    rows: list[tuple[Part, ...]] = [(Styled("restore", "green"), one.path) for one in changes if one.new is not None]
    rows += [(Styled("remove", "red"), one.path) for one in changes if one.new is None]
    print_paths(screen, rows)


def changed_words(written: int, deleted: int) -> str:
    """`wrote 3 files, removed 1 file`; nothing is not worth a number."""
    parts = [f"wrote {count(written, 'file')}"] if written else []
    if deleted:
        parts.append(f"removed {count(deleted, 'file')}")
    return ", ".join(parts) or "no file differs"


def print_left(screen: Screen, left: Iterable[Left]) -> None:
    """A warning for each path that a restore left alone."""
    for one in left:
        screen.warning(f"{one.path} was left alone: {one.why}")


_WHY = {
    "content": "both changed the same lines",
    "binary": "both changed a file without lines",
    "deleted": "changed here, deleted there",
    "mode": "both changed its permissions",
    "type": "a file here, a link there",
    "link": "a link to two places",
    "rename": "renamed to two names",
    "folder": "a file here, a folder there",
}


def print_conflicts(screen: Screen, conflicts: Iterable[tuple[MergeConflict, bool]]) -> None:
    """Each conflict, whether it is still open, and where its versions are."""
    rows: list[tuple[Part, ...]] = []
    for one, is_open in conflicts:
        mark = Styled("open", "red") if is_open else Styled("resolved", "green")
        where = "" if one.files == (one.path,) else f" ({', '.join(one.files)})"
        rows.append((mark, one.path, _WHY.get(one.why, one.why) + where))
    screen.table(rows, indent=2)


def print_skips(screen: Screen, skips: Iterable[Skip]) -> None:
    """A warning for what a savepoint could not hold."""
    rows = list(skips)
    if not rows:
        return
    screen.warning(f"{count(len(rows), 'path')} could not be saved as {'it is' if len(rows) == 1 else 'they are'}:")
    for skip in rows[:MAX_PATHS]:
        kept = "the last savepoint's copy stands in" if skip.kept else "not in the savepoint"
        screen.note(f"  {skip.path}  ({skip.reason}; {kept})")
    if len(rows) > MAX_PATHS:
        screen.note(f"  … and {len(rows) - MAX_PATHS} more")
