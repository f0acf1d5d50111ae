"""Owns `chrono doctor`'s facts about the project, the home and the policy: what holds, and what to do about each gap.

Facts about agents' hooks are told by `guard` and `agents`; the table is drawn by `cli`. Nothing here writes but
`recovered`, which rolls forward what a crash left.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from chrono.errors import ChronoError, NoWorkspace, PolicyError
from chrono.layout import HomeLayout, find_project
from chrono.tuples import NamedTuple
from chrono.workspace.config import effective_policy, home_layout

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.workspace.project import Workspace

SMALL_DISK_BYTES = 512 << 20


class Check(NamedTuple):
    """One fact. `level`: "ok", "warn" or "fail"; `what` it is about, `state` as found, `todo` what to do, "" for ok."""

    level: str
    what: str
    state: str
    todo: str = ""


def checks(start: str, environ: Mapping[str, str], by: Actor) -> tuple[Check, ...]:
    """Every fact of this room about the folder `start` and the home that `environ` names.

    A check that fails in an unforeseen way is itself a fact, never an exception.
    """
    found = [_installed()]
    try:
        home = home_layout(environ)
    except ChronoError as error:
        return (*found, Check("fail", "home", error.message, error.hint or ""))
    found.append(_guarded("home", lambda: _home(home)))
    found.append(_guarded("key", lambda: _key(home, environ)))
    layout = find_project(os.path.realpath(start))
    found.append(_guarded("policy", lambda: _policy(start, home)))
    if layout is None:
        found.append(
            Check("warn", "project", f"no project at or above {start}: nothing is reversible here", "run chrono init")
        )
        return tuple(found)
    found.extend(_project_checks(start, environ, by))
    return tuple(found)


def _guarded(what: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except ChronoError as error:
        return Check("fail", what, error.message, error.hint or "")
    except OSError as error:
        return Check("fail", what, f"{error.strerror}: {error.filename}", "look at its owner and permissions")


def _installed() -> Check:
    import chrono

    where = os.path.dirname(chrono.__file__ or "")
    state = f"chrono {chrono.__version__}, Python {sys.version.split()[0]} ({sys.executable}), in {where}"
    return Check("ok", "install", state)


def _home(home: HomeLayout) -> Check:
    try:
        info = os.lstat(home.root)
    except FileNotFoundError:
        return Check("warn", "home", f"{home.root} does not exist yet", "run chrono init in a project")
    if not stat.S_ISDIR(info.st_mode):
        return Check("fail", "home", f"{home.root} is not a folder", "set CHRONO_HOME= to a folder you can write")
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        return Check("fail", "home", f"{home.root} belongs to uid {info.st_uid}", "set CHRONO_HOME= to one of yours")
    if not os.access(home.root, os.W_OK | os.X_OK):
        return Check("fail", "home", f"{home.root} cannot be written", "set CHRONO_HOME= to a folder you can write")
    if info.st_mode & 0o077:
        return Check("warn", "home", f"others can look into {home.root}", f"chmod 700 {home.root}")
    return Check("ok", "home", home.root)


def _key(home: HomeLayout, environ: Mapping[str, str]) -> Check:
    from chrono.audit.keys import find_signer, settings

    signer = find_signer(home, settings(environ))
    if signer is None:
        return Check("warn", "key", "records are not signed (CHRONO_AUDIT_UNSIGNED=1)", "unset CHRONO_AUDIT_UNSIGNED")
    return Check("ok", "key", f"signing key {signer.public.kid}")


def _policy(start: str, home: HomeLayout) -> Check:
    layout = find_project(os.path.realpath(start))
    try:
        policy = effective_policy(layout, home)
    except PolicyError as error:
        return Check("fail", "policy", f"{error.message}: every command is blocked until it is fixed", error.hint or "")
    if policy.ignored:
        first = policy.ignored[0]
        more = f" and {len(policy.ignored) - 1} more" if len(policy.ignored) > 1 else ""
        return Check(
            "warn",
            "policy",
            f"the project's policy is not trusted; it would loosen {first.key}: {first.value} (line {first.line}){more}"
            ", which does not count",
            "read it, then, if you mean it: chrono policy trust",
        )
    names = ", ".join(layer.name for layer in policy.layers) or "built-in defaults"
    return Check("ok", "policy", names)


def _project_checks(start: str, environ: Mapping[str, str], by: Actor) -> list[Check]:
    from chrono.workspace.project import Workspace

    try:
        ws = Workspace.open(start, environ)
        standing = ws.standing()
    except (ChronoError, OSError) as error:
        message = error.message if isinstance(error, ChronoError) else str(error)
        hint = (error.hint or "") if isinstance(error, ChronoError) else ""
        return [Check("fail", "project", message, hint)]
    if not standing.own:
        state = f"{standing.why}: nothing is reversible here"
        return [Check("fail", "project", state, standing.hint)]
    found = [Check("ok", "project", ws.root)]
    found.append(_guarded("recovery", lambda: _recovered(ws, by)))
    found.append(_guarded("savepoints", lambda: _savepoints(ws)))
    found.append(_guarded("git", lambda: _git(ws)))
    found.append(_guarded("disk", lambda: _disk(ws)))
    found.extend(_witness(ws))
    ws.close()
    return found


def _recovered(ws: Workspace, by: Actor) -> Check:
    from chrono.workspace.recover import recover

    done = recover(ws, by)
    if done.nothing:
        return Check("ok", "recovery", "nothing was left over from a crash")
    parts = []
    if done.commit is not None:
        parts.append(f"savepoint {done.commit[:12]} got its place ({done.ref})")
    if done.restored is not None:
        parts.append(f"an interrupted rollback was finished ({done.restored[:12]})")
    return Check("warn", "recovery", "a crash was rolled forward: " + "; ".join(parts), "look at it: chrono log")


def _savepoints(ws: Workspace) -> Check:
    from chrono.workspace.history import newest
    from chrono.workspace.upkeep import over_budget

    commit = newest(ws)
    if commit is None:
        return Check("warn", "savepoints", "there is none yet", "run chrono snapshot")
    skips = ws.store.survey().skips
    if skips:
        paths = ", ".join(skip.path for skip in skips[:3]) + (", …" if len(skips) > 3 else "")
        return Check(
            "warn",
            "savepoints",
            f"{len(skips)} paths cannot be saved as they are: {paths}",
            "make them readable, or name them in .chronoignore",
        )
    try:
        over = over_budget(ws)
    except PolicyError:  # only the budget stands in it; the check of the policy says what is wrong
        over = ""
    if over:
        return Check("warn", "savepoints", over, "see chrono stats, then chrono prune")
    return Check("ok", "savepoints", f"newest {commit[:12]}")


def _git(ws: Workspace) -> Check:
    """Whether the user's own git would leave `.chrono` alone."""
    from chrono.scan.world import Read
    from chrono.workspace.ground import EXCLUDE_LINE, git_folder
    from chrono.workspace.machine_world import read_file

    if not os.path.isfile(ws.layout.git_pointer) or not os.path.isfile(ws.layout.git_ignore):
        return Check("warn", "git", "the files that keep `git clean` off .chrono are missing", "run chrono init")
    folder = git_folder(ws.root)
    if folder is None:
        return Check("ok", "git", "no repository of yours in this folder")
    content = read_file(os.path.join(folder, "info", "exclude"), 1_000_000)
    if not isinstance(content, Read) or EXCLUDE_LINE.encode() not in content.data.splitlines():
        return Check("warn", "git", "`/.chrono/` is not in .git/info/exclude", "run chrono init")
    return Check("ok", "git", "`git clean` and `git add` leave .chrono alone")


def _disk(ws: Workspace) -> Check:
    if not hasattr(os, "statvfs"):
        return Check("ok", "disk", "not checked on this system")
    found = os.statvfs(ws.layout.dir)
    free = found.f_bavail * found.f_frsize
    if free < SMALL_DISK_BYTES:
        return Check("warn", "disk", f"{free >> 20} MiB free", "a savepoint that cannot be written blocks the command")
    return Check("ok", "disk", f"{free >> 30} GiB free" if free >> 30 else f"{free >> 20} MiB free")


def _witness(ws: Workspace) -> list[Check]:
    """The audit verdict and, one line each, the witness levels that hold."""
    from chrono.workspace.verify import verify

    try:
        report = verify(ws)
    except (ChronoError, NoWorkspace, OSError) as error:
        return [Check("fail", "audit", str(error), "run chrono audit --verify")]
    level = "ok" if report.exit_code == 0 else "warn" if report.exit_code == 22 else "fail"
    todo = "" if level == "ok" else "run chrono audit --verify"
    found = [Check(level, "audit", report.integrity, todo)]
    found.extend(Check("warn", "audit", warning, "run chrono audit --verify") for warning in report.warnings)
    for item in report.levels:
        state = {"checked": "ok", "failed": "fail"}.get(item.state, "warn")
        found.append(
            Check(state, f"witness {item.name}", f"{item.state}: {item.text}", todo if state == "fail" else "")
        )
    return found
