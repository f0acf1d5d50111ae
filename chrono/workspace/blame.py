"""Owns the answer to who last wrote each line of a file: which tool call of which agent, or a person.

The states and the causes of what changed between them are `workspace.timeline`'s, the lines `store.tracing`'s. A line
that came through a rename or a rollback unchanged keeps the cause that it had.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chrono.errors import NoSuchSavepoint, UsageError
from chrono.store.names import is_ours_to_leave
from chrono.store.tracing import Found, Tracer, line_count, shared_lines
from chrono.store.tree import object_id
from chrono.tuples import NamedTuple
from chrono.workspace import timeline
from chrono.workspace.timeline import Cause, Step

if TYPE_CHECKING:
    from chrono.store.diff import Change
    from chrono.workspace.project import Workspace

TEXT_AT_MOST_BYTES = 8 << 20
_PROBE_BYTES = 8000
_ALIKE = 0.5
_MOST_SOURCES = 50


class Line(NamedTuple):
    """One line, without its line feed; `number` counts from 1."""

    number: int
    text: bytes
    cause: Cause


class Rename(NamedTuple):
    """The file was called `old` before `cause`."""

    old: str
    new: str
    cause: Cause


class Blame(NamedTuple):
    """The answer for one path.

    `lines` is None where it has none to tell apart: `what` says why ("binary", "large", "link"), and `last` who wrote
    it last. `deleted`: who deleted it; the lines are those that it had.
    """

    path: str
    lines: tuple[Line, ...] | None
    what: str
    last: Cause
    deleted: Cause | None
    renames: tuple[Rename, ...]


class _Version(NamedTuple):
    """The file as of the end of `step`, where it was another one before; `found` None: it was gone."""

    step: Step
    path: str
    found: Found | None
    data: bytes | None


def blame(ws: Workspace, path: str) -> Blame:
    """Who last wrote each line of `path` (relative to the project), as it is now or was last.

    Raises UsageError for a folder, NoSuchSavepoint where no savepoint ever held it, StoreError.
    """
    trace = _Trace(ws)
    versions, renames = trace.versions(path)
    newest = versions[0]
    deleted = None
    if newest.found is None:
        deleted = timeline.cause(newest.step, newest.path)
        versions = versions[1:]
    current = versions[0]
    last = trace.cause(current)
    if current.found is not None and current.found.kind == "link":
        return Blame(path, None, "link", last, deleted, renames)
    if current.data is None:
        return Blame(path, None, "large", last, deleted, renames)
    if _is_binary(current.data):
        return Blame(path, None, "binary", last, deleted, renames)
    causes = trace.annotate(versions)
    texts = current.data.split(b"\n")[: line_count(current.data)]
    lines = tuple(Line(number, text, causes[number - 1]) for number, text in enumerate(texts, 1))
    return Blame(path, lines, "text", last, deleted, renames)


class _Trace:
    """One file followed through the timeline."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._line = timeline.read(ws)
        self._tracer: Tracer = ws.store.tracer()
        self._renames: list[Rename] = []
        self._changed_at_ns: int | None = None

    def cause(self, version: _Version) -> Cause:
        """Whose a version is. For the file of now its time tells whether the last call had ended."""
        changed_at_ns = self._changed_at_ns if version.step.after is None else None
        return timeline.cause(version.step, version.path, changed_at_ns=changed_at_ns)

    # --- backwards: which versions there were

    def versions(self, path: str) -> tuple[list[_Version], tuple[Rename, ...]]:
        """The versions, newest first, and the renames on the way."""
        now, data = self._on_disk(path)
        steps = self._line.steps
        found: list[_Version] = []
        current, here = now, path
        for index in range(len(steps) - 1, -1, -1):
            step = steps[index]
            before = self._at(index - 1, here)
            if before != current:
                last = index == len(steps) - 1
                content = data if last else self._content(current)
                found.append(_Version(step, here, current, content))
                if before is None and (step.after is None or not step.after.verb):
                    source = self._source(step, here, current, content)
                    if source is None:
                        break
                    self._renames.append(Rename(source, here, timeline.cause(step, here)))
                    here, before = source, self._at(index - 1, source)
            current = before
        if not found or all(version.found is None for version in found):
            raise NoSuchSavepoint(
                f"no savepoint ever held {path}",
                "ignored and generated files are not saved; chrono status lists what is",
            )
        return found, tuple(self._renames)

    def _at(self, index: int, path: str) -> Found | None:
        if index < 0:
            return None
        root = bytes.fromhex(self._line.states[index].savepoint.tree)
        found = self._tracer.find(root, os.fsencode(path))
        return found if found is None or found.kind != "folder" else None

    def _content(self, found: Found | None) -> bytes | None:
        return self._tracer.content(found.oid, TEXT_AT_MOST_BYTES) if found is not None else None

    def _on_disk(self, path: str) -> tuple[Found | None, bytes | None]:
        """The file of now, where a savepoint taken now would hold it. Raises UsageError for a folder."""
        full = os.path.join(self._ws.root, path)
        try:
            info = os.lstat(full)
        except OSError:
            return None, None
        if stat.S_ISDIR(info.st_mode):
            raise UsageError(f"{path} is a folder", "name a file in it")
        if is_ours_to_leave(os.fsencode(path)):
            return None, None
        newest = self._at(len(self._line.states) - 1, path)
        (change,) = self._ws.store.changes(self._line.states[-1].commit, None, (path,))[:1] or (None,)
        if change is None or change.new is None:
            return (newest, self._content(newest)) if change is None else (None, None)
        if stat.S_ISLNK(info.st_mode):
            data: bytes | None = os.fsencode(os.readlink(full))
        elif info.st_size > TEXT_AT_MOST_BYTES or not stat.S_ISREG(info.st_mode):
            data = None
        else:
            with open(full, "rb") as file:
                data = file.read(TEXT_AT_MOST_BYTES)
        self._changed_at_ns = info.st_mtime_ns
        kind = "link" if change.new.is_link else "file"
        oid = object_id(b"blob", data) if data is not None else bytes.fromhex(change.new.oid)
        return Found(kind, oid), data

    # --- renames

    def _source(self, step: Step, path: str, new: Found | None, data: bytes | None) -> str | None:
        """The file that went away in the same step and is the same, or much the same."""
        if step.before is None or new is None or new.kind != "file":
            return None
        after = step.after.commit if step.after is not None else None
        gone = [
            change
            for change in self._ws.store.changes(step.before.commit, after)
            if change.kind == "deleted" and change.old is not None and stat.S_ISREG(change.old.mode)
        ]
        for change in gone:
            if change.old is not None and change.old.oid == new.oid.hex() and data:
                return change.path
        if not data or _is_binary(data):
            return None
        best, score = None, _ALIKE
        for change in sorted(gone, key=lambda one: _nearness(one, path))[:_MOST_SOURCES]:
            alike = self._alike(change, data)
            if alike > score:
                best, score = change.path, alike
        return best

    def _alike(self, change: Change, data: bytes) -> float:
        """The share of lines that both have, of the longer one."""
        assert change.old is not None
        old = self._tracer.content(bytes.fromhex(change.old.oid), TEXT_AT_MOST_BYTES)
        if not old or _is_binary(old):
            return 0.0
        shared = sum(run.lines for run in shared_lines(old, data))
        return shared / max(line_count(old), line_count(data))

    # --- forwards: whose each line is

    def annotate(self, versions: list[_Version]) -> list[Cause]:
        """The causes of the lines of the newest version. `versions` newest first."""
        known: dict[bytes, list[Cause]] = {}
        causes: list[Cause] = []
        data = b""
        for version in reversed(versions):
            text = version.data if version.data is not None and not _is_binary(version.data) else b""
            verb = version.step.after is not None and bool(version.step.after.verb)
            oid = version.found.oid if version.found is not None else b""
            if verb and oid in known:
                causes = known[oid]
            else:
                mine = self.cause(version)
                made = [mine] * line_count(text)
                for old, old_causes in (*self._merged(version, known), (data, causes)):
                    for run in shared_lines(old, text):
                        made[run.new : run.new + run.lines] = old_causes[run.old : run.old + run.lines]
                causes = made
            data = text
            if oid:
                known[oid] = causes
        return causes

    def _merged(self, version: _Version, known: dict[bytes, list[Cause]]) -> Iterator[tuple[bytes, list[Cause]]]:
        """What a merge brought in: lines of the other side keep the causes that they have there."""
        after = version.step.after
        for parent in after.savepoint.parents[1:] if after is not None else ():
            try:
                root = bytes.fromhex(self._ws.store.savepoint(parent).tree)
            except NoSuchSavepoint:
                continue
            found = self._tracer.find(root, os.fsencode(version.path))
            if found is not None and found.oid in known:
                data = self._content(found)
                if data is not None and not _is_binary(data):
                    yield data, known[found.oid]


def _nearness(change: Change, path: str) -> tuple[bool, bool]:
    """Files of the same name, then those of the same folder, first."""
    return (
        os.path.basename(change.path) != os.path.basename(path),
        os.path.dirname(change.path) != os.path.dirname(path),
    )


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:_PROBE_BYTES]
