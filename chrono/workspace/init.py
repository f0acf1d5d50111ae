"""Owns making a project: audit log and pin, hidden repository, the files that keep git off, the first savepoint.

What is looked at beforehand is left to `workspace.ground`. The order is such that a crash between two steps leaves
something that the next `chrono init` completes: the log comes before the repository, since a repository without a log
of this home is a stranger's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.clock import Clock, SystemClock
from chrono.errors import AuditTampered, AuditUnverifiable, ChronoError, Denied, StoreError
from chrono.files import fsync_dir
from chrono.layout import ProjectLayout
from chrono.tuples import NamedTuple
from chrono.workspace.config import ensure_home, home_layout, user_home
from chrono.workspace.ground import MAX_FILES, Survey, keep_git_off, proposals, refuse_root, refuse_size, survey
from chrono.workspace.project import CLI_WAIT_S, Workspace
from chrono.workspace.savepoints import Saved, save
from chrono.workspace.standing import standing
from chrono.workspace.verify import StoreCommits

if TYPE_CHECKING:
    from chrono.audit.keys import KeySettings
    from chrono.audit.record import Actor
    from chrono.canonical import Json


class Initialised(NamedTuple):
    """What `init` found or made.

    `created`: the project is new. `adopted`: a stranger's or copied `.chrono` was taken over; its log was moved aside,
    and the new one names it. `exclude`: the file of the user's own repository that got a line, None where none did.
    `proposals`: lines for `.chronoignore` that a person may want. `saved`: the first savepoint (or the newest where
    one existed).
    """

    ws: Workspace
    created: bool
    adopted: bool
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

    `adopt` takes over a `.chrono` that this home did not make: a new log begins, which names the old one. Raises
    ChronoError (home folder, `/`, CHRONO_HOME, too many files), Denied (a stranger's `.chrono` without `adopt`),
    KeyRefused, StoreError, AuditTampered.
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
    adopted = _own(ws, by, adopt=adopt, timeout_s=timeout_s)
    exclude = keep_git_off(layout)
    saved = save(ws, "manual", "first savepoint" if new else "chrono init", by, timeout_s=timeout_s)
    return Initialised(ws, new, adopted, exclude, proposals(layout, found), saved)


def _lay_folder(layout: ProjectLayout) -> None:
    try:
        os.mkdir(layout.dir, 0o700)
        fsync_dir(layout.root)
    except FileExistsError:
        if os.path.islink(layout.dir) or not os.path.isdir(layout.dir):
            raise ChronoError(f"{layout.dir} exists and is not a folder", "move it away") from None


def _own(ws: Workspace, by: Actor, *, adopt: bool, timeout_s: float) -> bool:
    """Makes `.chrono` this home's own: log, pin, repository. Returns whether it had to be adopted."""
    from chrono.audit.log import create
    from chrono.audit.place import project_place
    from chrono.store.repository import Store

    layout = ws.layout
    state = standing(layout, ws.home)
    had_repo, had_log = os.path.lexists(layout.repo), os.path.lexists(layout.audit_log)
    strange = state.kind in ("foreign", "fork")
    if not state.own and not (strange and (adopt or had_log or not had_repo)):
        raise Denied(state.why, state.hint)
    if strange and adopt:
        # A stranger's journal must never be acted on, so it goes before the project becomes ours.
        for path in (layout.journal, layout.stat_cache):
            _remove_file(path)
        if had_repo:
            Store.disarm(layout)
    more = _origin(ws) if strange and adopt and had_repo and not had_log else ()
    try:
        log = create(project_place(layout), ws.home, ws.keys, ws.clock, by, timeout_s=timeout_s, more=more, adopt=adopt)
    except (AuditUnverifiable, AuditTampered):
        if strange:
            raise Denied(state.why, state.hint) from None
        raise
    log.close()
    if not os.path.lexists(layout.repo):
        try:
            Store.create(layout)
        except StoreError:
            if not os.path.lexists(layout.repo):  # else another init was faster
                raise
    ws.standing()
    return (had_repo or had_log) and adopt and log.log_id != state.log


def _origin(ws: Workspace) -> tuple[tuple[str, Json], ...]:
    """What a genesis record says of savepoints whose log is lost: the logs that they name themselves."""
    logs = sorted({trailer.log for trailer in StoreCommits(ws.store).trailers() if trailer.log})
    origin: dict[str, Json] = {"log": logs[0] if logs else None, "earlier": [*logs[1:]]}
    return (("forked_from", origin),)


def _remove_file(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
