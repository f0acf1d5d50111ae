"""Owns making a project: audit log and pin, hidden repository, the files that keep git off, the first savepoint.

What is looked at beforehand is left to `workspace.ground`. The order is such that a crash between two steps leaves
something that the next `chrono init` completes: the log comes before the repository, since a repository without a log
of this home is a stranger's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from chrono.clock import Clock, SystemClock
from chrono.errors import ChronoError, Denied, StoreError
from chrono.files import fsync_dir
from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.workspace.config import ensure_home, home_layout, user_home
from chrono.workspace.ground import MAX_FILES, Survey, keep_git_off, proposals, refuse_root, refuse_size, survey
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import CLI_WAIT_S, Saved, save
from chrono.workspace.standing import Standing, pin_again, standing
from chrono.workspace.verify import StoreCommits, anchored_commits

if TYPE_CHECKING:
    from chrono.audit.keys import KeySettings
    from chrono.audit.record import Actor
    from chrono.canonical import Json


class Initialised(NamedTuple):
    """What `init` found or made.

    `created`: the project is new. `adopted`: a stranger's or copied `.chrono` was taken over; its log was kept aside
    at `old_log`. `exclude`: the file of the user's own repository that got a line, None where none did. `proposals`:
    lines for `.chronoignore` that a person may want. `saved`: the first savepoint (or the newest where one existed).
    """

    ws: Workspace
    created: bool
    adopted: bool
    old_log: str | None
    exclude: str | None
    proposals: tuple[str, ...]
    saved: Saved


def initialise(
    root: str,
    environ: Mapping[str, str],
    by: Actor,
    *,
    adopt: bool = False,
    max_files: int = MAX_FILES,
    clock: Clock | None = None,
    keys: KeySettings | None = None,
    timeout_s: float = CLI_WAIT_S,
) -> Initialised:
    """Makes `root` a project, or completes one. Of the user's own git only the exclude file changes.

    `adopt` takes over a `.chrono` that this home did not make: a new log begins, which names the old one and anchors
    the savepoints found. Raises ChronoError (home folder, `/`, CHRONO_HOME, too many files), Denied (a stranger's
    `.chrono` without `adopt`), KeyRefused, StoreError, AuditTampered.
    """
    root = os.path.realpath(root)
    home = home_layout(environ)
    refuse_root(root, home, user_home(environ))
    layout = ProjectLayout(root)
    new = not os.path.lexists(layout.repo)
    found = survey(root, max_files=max_files) if new else Survey(0, ())
    refuse_size(root, found, max_files)
    ensure_home(home)
    _lay_folder(layout)
    ws = Workspace(layout, home, environ, clock=clock or SystemClock(), keys=keys)
    adopted, old_log = _own(ws, by, adopt=adopt, timeout_s=timeout_s)
    if adopt:
        _anchor_adopted(ws, by, timeout_s)
    exclude = keep_git_off(layout)
    saved = save(ws, "manual", "first savepoint" if new else "chrono init", by, timeout_s=timeout_s)
    return Initialised(ws, new, adopted, old_log, exclude, proposals(layout, found), saved)


def _lay_folder(layout: ProjectLayout) -> None:
    try:
        os.mkdir(layout.dir, 0o700)
        fsync_dir(layout.root)
    except FileExistsError:
        if os.path.islink(layout.dir) or not os.path.isdir(layout.dir):
            raise ChronoError(f"{layout.dir} exists and is not a folder", "move it away") from None


def _own(ws: Workspace, by: Actor, *, adopt: bool, timeout_s: float) -> tuple[bool, str | None]:
    """Makes `.chrono` this home's own. Returns whether it had to be adopted, and where the log it came with is kept."""
    from chrono.audit.log import create
    from chrono.audit.place import project_place
    from chrono.store.repository import Store

    layout, home = ws.layout, ws.home
    state = standing(layout, home)
    fresh = state.kind == "foreign" and not os.path.lexists(layout.repo) and not os.path.lexists(layout.audit_log)
    if state.own or fresh:
        create(project_place(layout), home, ws.keys, ws.clock, by, timeout_s=timeout_s)
        if not os.path.lexists(layout.repo):
            try:
                Store.create(layout)
            except StoreError:
                if not os.path.lexists(layout.repo):  # else another init was faster
                    raise
        if state.kind == "moved" and state.log is not None:
            pin_again(layout, home, state.log)
        return False, None
    if state.kind not in ("foreign", "fork") or not adopt:
        raise Denied(state.why, state.hint)
    return True, _adopt(ws, state, by, timeout_s)


def _adopt(ws: Workspace, state: Standing, by: Actor, timeout_s: float) -> str | None:
    """Begins a log of this home's own in a `.chrono` from elsewhere, and anchors the savepoints that lie in it.

    The old log is kept beside the new one, which names it; a restore that the stranger's journal asks for is dropped.
    """
    from chrono.audit.log import create
    from chrono.audit.place import project_place
    from chrono.store.repository import Store

    layout = ws.layout
    for path in (layout.journal, layout.audit_head, layout.stat_cache):
        _remove_file(path)
    kept = None
    origin: dict[str, Json] = {"log": state.log}
    if os.path.lexists(layout.audit_log):
        kept = layout.adopted_log(state.log or "unknown")
        os.replace(layout.audit_log, kept)
        fsync_dir(layout.dir)
    log = create(
        project_place(layout), ws.home, ws.keys, ws.clock, by, timeout_s=timeout_s, more=(("forked_from", origin),)
    )
    log.close()
    if not os.path.lexists(layout.repo):
        Store.create(layout)
    return kept


def _anchor_adopted(ws: Workspace, by: Actor, timeout_s: float) -> None:
    """Anchors each savepoint that another log vouched for and this one does not yet. Idempotent."""
    from chrono.audit.record import Act, Anchor, Entry

    commits = StoreCommits(ws.store)
    known = anchored_commits(ws)
    with ws.store.lock(timeout_s), ws.log.writing(timeout_s) as writing:
        for trailer in commits.trailers():
            if trailer.log == writing.log_id or trailer.commit in known:
                continue
            digest = commits.sha256(trailer.commit)
            if digest is not None:
                savepoint = ws.store.savepoint(CommitId(trailer.commit))
                act = Act(message="adopted with the project; made under another log")
                writing.append(Entry("savepoint", by, act, Anchor(savepoint.id, digest, savepoint.tree)))


def _remove_file(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
