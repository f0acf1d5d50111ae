"""Owns scratch worktrees: folders outside the project that a savepoint was checked out into, and the list of them.

Writing and deleting the files is left to `store.checkout`. A worktree is no project of its own: nothing in it is saved,
and what happens there never reaches the project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import ChronoError, Conflict, StoreError, UsageError
from chrono.files import atomic_write, fsync_dir, own_folder
from chrono.ids import CommitId
from chrono.layout import find_project
from chrono.policy.cover import within
from chrono.store.names import quote, unquote
from chrono.tuples import NamedTuple
from chrono.workspace.project import CLI_WAIT_S

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.store.checkout import CheckedOut
    from chrono.store.diff import Change
    from chrono.store.savepoint import Savepoint
    from chrono.store.snapshot import Skip
    from chrono.workspace.project import Workspace

_ENTRY_BYTES = 64 * 1024
_SCRATCH = re.compile(r"chrono-[a-z]+-[0-9a-f]{12}")


class Worktree(NamedTuple):
    """One entry of the list.

    `path` is absolute. `state`: "ready", "unfinished" (its making was cut short), "gone" (somebody deleted it) or
    "replaced" (another folder has its name now). `pid`: the process whose scratch folder it is, None for a person's.
    """

    path: str
    commit: CommitId
    at_ns: int
    state: str
    pid: int | None
    entry: str
    device: int
    inode: int


class Added(NamedTuple):
    """A worktree that was made; `skips` are paths that the savepoint itself does not hold."""

    path: str
    savepoint: Savepoint
    written: CheckedOut
    skips: tuple[Skip, ...]


def add(ws: Workspace, folder: str, text: str, by: Actor, *, timeout_s: float = CLI_WAIT_S) -> Added:
    """Checks the savepoint that `text` names out into `folder`, which must be new or empty, outside every project.

    Where it fails nothing is left behind. Raises UsageError (a folder that is not fit), NoSuchSavepoint, Denied,
    StoreError.
    """
    ws.require_own()
    commit = ws.store.resolve(text)
    path = fit(ws, folder)
    made = _make(ws, path, commit, None)
    try:
        written = ws.store.check_out(commit, path)
        _note(ws, by, "add", path, commit, timeout_s)
        _write_entry(made._replace(state="ready"))
    except BaseException:
        _discard(ws, made)
        raise
    skips = tuple(skip for skip in ws.store.skips(commit) if not skip.kept)
    return Added(path, ws.store.savepoint(commit), written, skips)


def listed(ws: Workspace) -> tuple[Worktree, ...]:
    """All worktrees of the project, by path."""
    try:
        names = sorted(os.listdir(ws.layout.worktrees))
    except FileNotFoundError:
        return ()
    found = (_read_entry(os.path.join(ws.layout.worktrees, name)) for name in names if not name.startswith("."))
    return tuple(sorted(entry for entry in found if entry is not None))


def find(ws: Workspace, folder: str) -> Worktree:
    """The worktree at `folder`. Raises UsageError where there is none."""
    path = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(folder))), os.path.basename(folder))
    for entry in listed(ws):
        if entry.path in (path, os.path.abspath(folder)):
            return entry
    raise UsageError(f"{folder} is not a worktree of this project", "chrono worktree list names them")


def changes(ws: Workspace, worktree: Worktree) -> tuple[Change, ...]:
    """What was changed in it since: work that no savepoint holds."""
    if worktree.state != "ready":
        return ()
    return ws.store.changed_in(worktree.path, worktree.commit)


def remove(ws: Workspace, worktree: Worktree, by: Actor, *, force: bool = False, timeout_s: float = CLI_WAIT_S) -> None:
    """Deletes the folder and its entry. Raises Conflict where it holds changes and `force` is not given, Denied."""
    ws.require_own()
    if worktree.state == "ready" and not force:
        changed = changes(ws, worktree)
        if changed:
            raise Conflict(
                f"{worktree.path} holds {len(changed)} changed paths that no savepoint holds: {changed[0].path}"
                + (", …" if len(changed) > 1 else ""),
                "copy what you need, then: chrono worktree remove --force DIR",
            )
    _discard(ws, worktree)
    _note(ws, by, "remove", worktree.path, worktree.commit, timeout_s)


@contextmanager
def scratch(ws: Workspace, purpose: str, commit: CommitId) -> Iterator[str]:
    """A folder in the system's temporary folder that holds `commit` while this runs, and is gone afterwards.

    What a killed process left behind is removed by the next one.
    """
    path = fit(ws, os.path.join(_temporary(ws), f"chrono-{purpose}-{os.urandom(6).hex()}"))
    made = _make(ws, path, commit, os.getpid())
    try:
        ws.store.check_out(commit, path)
        yield path
    finally:
        _discard(ws, made)


def sweep(ws: Workspace) -> int:
    """Removes scratch folders of processes that are no more; how many there were."""
    from chrono.store.leftovers import lives

    base = _temporary(ws)
    stale = [
        entry
        for entry in listed(ws)
        if entry.pid is not None
        and not lives(entry.pid)
        # An entry that somebody forged must not make us delete anything else.
        and os.path.dirname(entry.path) == base
        and _SCRATCH.fullmatch(os.path.basename(entry.path))
    ]
    for entry in stale:
        _discard(ws, entry)
    return len(stale)


def fit(ws: Workspace, folder: str) -> str:
    """`folder`, absolute, its parent resolved. Raises UsageError, in words, where it is not fit for a worktree."""
    typed = folder.rstrip(os.sep) or folder
    parent = os.path.realpath(os.path.dirname(os.path.abspath(typed)))
    name = os.path.basename(os.path.abspath(typed))
    path = os.path.join(parent, name)
    if os.path.islink(path):
        raise UsageError(f"{folder} is a link", "name a folder that does not exist yet")
    if not os.path.isdir(parent):
        raise UsageError(f"{parent} does not exist", "make it first, or choose another place")
    if within(path, ws.root):
        raise UsageError(
            f"{folder} lies inside the project {ws.root}: its savepoints would hold the worktree, too",
            "choose a folder outside the project, for example ../" + os.path.basename(ws.root) + "-old",
        )
    other = find_project(path)
    if other is not None:
        raise UsageError(f"{folder} lies inside another project, {other.root}", "choose a folder outside of it")
    if within(path, os.path.realpath(ws.home.root)):
        raise UsageError(f"{folder} lies inside CHRONO_HOME, where keys and witness are kept", "choose another place")
    if not os.path.lexists(path):
        return path
    if not os.path.isdir(path):
        raise UsageError(f"{folder} exists and is no folder", "name a folder that does not exist yet")
    if os.listdir(path):
        raise UsageError(f"{folder} exists and is not empty", "name a new folder, or an empty one")
    return path


def _make(ws: Workspace, path: str, commit: CommitId, pid: int | None) -> Worktree:
    """The folder and its entry; both exist when this returns, or neither."""
    try:
        own_folder(ws.layout.worktrees)
        try:
            os.mkdir(path, 0o700 if pid is not None else 0o777)
        except FileExistsError:
            if os.path.islink(path) or not os.path.isdir(path) or os.listdir(path):
                raise
        info = os.lstat(path)
        entry = os.path.join(ws.layout.worktrees, os.urandom(8).hex())
        made = Worktree(path, commit, ws.clock.now_ns(), "unfinished", pid, entry, info.st_dev, info.st_ino)
        _write_entry(made)
    except OSError as error:
        raise StoreError(f"{path} could not be made: {error.strerror}", "choose another place") from error
    return made


def _discard(ws: Workspace, worktree: Worktree) -> None:
    """The folder first, so that a crash in between leaves it in the list."""
    from chrono.store.checkout import remove_tree

    try:
        info = os.lstat(worktree.path)
        if (info.st_dev, info.st_ino) == (worktree.device, worktree.inode):
            remove_tree(os.fsencode(worktree.path))
    except FileNotFoundError:
        pass
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, bytes | str) else worktree.path
        raise ChronoError(
            f"{worktree.path} could not be removed: {where}: {error.strerror}",
            "remove what is in the way, then: chrono worktree remove DIR",
        ) from error
    try:
        os.unlink(worktree.entry)
        fsync_dir(ws.layout.worktrees)
    except FileNotFoundError:
        pass


def _note(ws: Workspace, by: Actor, phase: str, path: str, commit: CommitId, timeout_s: float) -> None:
    from chrono.audit.record import Act, Entry

    more: tuple[tuple[str, Json], ...] = (("worktree", path), ("target", commit))
    ws.log.append(Entry("checkout", by, Act(phase=phase, more=more)), timeout_s=timeout_s)


def _write_entry(worktree: Worktree) -> None:
    value: dict[str, Json] = {
        "at_ns": str(worktree.at_ns),
        "commit": worktree.commit,
        "dev": str(worktree.device),
        "ino": str(worktree.inode),
        "path": quote(os.fsencode(worktree.path)).decode("utf-8"),
        "pid": worktree.pid,
        "ready": worktree.state == "ready",
        "version": 1,
    }
    atomic_write(worktree.entry, canonical_bytes(value) + b"\n")


def _read_entry(path: str) -> Worktree | None:
    """None for a file that is none of ours."""
    from chrono.scan.world import Read
    from chrono.workspace.machine_world import read_file

    content = read_file(path, _ENTRY_BYTES, follow=False)
    if not isinstance(content, Read):
        return None
    try:
        value = parse(content.data.removesuffix(b"\n"))
        if not isinstance(value, dict) or value.get("version") != 1:
            return None
        folder = os.fsdecode(unquote(str(value.get("path")).encode("utf-8")))
        device, inode, at_ns = (int(str(value.get(key))) for key in ("dev", "ino", "at_ns"))
    except (NotCanonical, ValueError):
        return None
    commit, pid = value.get("commit"), value.get("pid")
    if not isinstance(commit, str) or not os.path.isabs(folder):
        return None
    state = "ready" if value.get("ready") is True else "unfinished"
    try:
        info = os.lstat(folder)
        if (info.st_dev, info.st_ino) != (device, inode):
            state = "replaced"
    except OSError:
        state = "gone"
    owner = pid if isinstance(pid, int) and pid > 0 else None
    return Worktree(folder, CommitId(commit), at_ns, state, owner, path, device, inode)


def _temporary(ws: Workspace) -> str:
    import tempfile

    return os.path.realpath(ws.environ.get("TMPDIR") or tempfile.gettempdir())
