"""Owns installing, taking out and examining the guard in a client: settings file, self-test, record, report.

What belongs into the file is left to the adapter, writing it to `agents.settings`, showing the result to `cli`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.agents import settings
from chrono.agents.abilities import AsksClient
from chrono.agents.protocol import SUBFOLDER, AgentAdapter, Hook
from chrono.agents.registry import adapter as load_adapter
from chrono.agents.registry import names
from chrono.agents.settings import Memory, SettingsPlan
from chrono.errors import ChronoError, UsageError
from chrono.files import atomic_write
from chrono.guard import wire
from chrono.guard.selftest import Fired, self_test
from chrono.layout import HomeLayout, find_project
from chrono.tuples import NamedTuple
from chrono.workspace.config import ensure_home, home_layout, user_home

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json

SCOPES = ("project", "user")
DEFAULT_CLIENT = "claude-code"
WAIT_S = 30.0


class SelfTestFailed(ChronoError):
    """The hook does not do what it must with this Python; the settings file is as it was. `fired` tells the rest."""

    def __init__(self, message: str, hint: str, fired: tuple[Fired, ...]) -> None:
        super().__init__(message, hint)
        self.fired = fired


class Installed(NamedTuple):
    """A hook that was installed, or stood there already (`changed` False), and that passed its self-test.

    `misses` are the gaps of the chosen scope, for people.
    """

    client: str
    scope: str
    path: str
    changed: bool
    command: str
    fired: tuple[Fired, ...]
    misses: tuple[str, ...]


class Uninstalled(NamedTuple):
    """`changed` False: there was nothing of chrono's in the file."""

    client: str
    scope: str
    path: str
    changed: bool


class HookReport(NamedTuple):
    """One scope as found. `hooks` are chrono's entries; `problems` keep the client from running them, for people.

    `fired` is what the installed command answered; empty where there is none. `seen` is when a session of the client
    last reported through the hook (RFC 3339), None where none ever did. `gaps`: what these hooks cannot guard.
    `only_in`: the folder in which the client must be started to read this file, where that is another one than here.
    """

    client: str
    scope: str
    path: str
    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]
    fired: tuple[Fired, ...]
    seen: str | None
    gaps: tuple[str, ...] = ()
    only_in: str | None = None

    @property
    def holds(self) -> bool:
        """Whether a dangerous call is refused and a harmless one runs, of a client that is started here."""
        well = bool(self.hooks) and not self.problems and all(fired.holds for fired in self.fired)
        return well and self.only_in is None

    @property
    def closed(self) -> bool:
        """Whether every call is refused, a harmless one as well: what judges cannot work, and nothing gets by."""
        return bool(self.fired) and all(fired.does == "stops" for fired in self.fired)


class Status(NamedTuple):
    """The hooks of all scopes around a folder. `guarded`: at least one scope holds, and none is broken."""

    reports: tuple[HookReport, ...]

    @property
    def guarded(self) -> bool:
        return any(report.holds for report in self.reports) and not any(
            report.problems and report.hooks for report in self.reports
        )


def install(
    start: str,
    environ: Mapping[str, str],
    by: Actor,
    *,
    scope: str = "project",
    client: str = DEFAULT_CLIENT,
    interpreter: str = sys.executable,
    deny_raw_shell: bool = False,
) -> Installed:
    """Puts the hook into the client's settings and fires it at once.

    The project is the one around `start`, or `start` itself. `deny_raw_shell` takes the client's own shell tools away:
    what is left is the `chrono_run` of chrono's MCP server. Raises SettingsRefused (nothing was written),
    SelfTestFailed (the file was put back), UsageError, PluginError.
    """
    where = _Where.of(start, environ, scope, client)
    ensure_home(where.home)
    command = where.adapter.hook_command(interpreter, boot_path(), where.path)
    plan = settings.plan_install(where.adapter, where.path, command)
    plan, denied = settings.deny_shells(where.adapter, plan) if deny_raw_shell else (plan, ())
    _write_paths(where.home, interpreter)
    if plan.changes:
        settings.remember(where.home, where.adapter, plan, denied)
        settings.apply(plan)
    fired = self_test(where.adapter, command, cwd=where.project, environ=environ)
    if not all(one.holds for one in fired):
        _take_back(where, plan)
        raise _failed(fired, plan)
    _record("guard.install", where, by, environ)
    return Installed(client, scope, where.path, plan.changes, command, fired, where.adapter.gaps(scope))


def uninstall(
    start: str, environ: Mapping[str, str], by: Actor, *, scope: str = "project", client: str = DEFAULT_CLIENT
) -> Uninstalled:
    """Takes the hook out; an untouched file gets its old bytes back. Raises SettingsRefused, Conflict."""
    where = _Where.of(start, environ, scope, client)
    plan = settings.plan_uninstall(where.adapter, where.path, where.home)
    if plan.changes:
        ensure_home(where.home)
        _record("guard.uninstall", where, by, environ)
        settings.apply(plan)
    settings.forget(where.home, where.path)
    return Uninstalled(client, scope, where.path, plan.changes)


def uninstall_everywhere(environ: Mapping[str, str], by: Actor) -> tuple[Uninstalled, ...]:
    """Takes out every hook that this home remembers to have installed. Raises as `uninstall`."""
    home = home_layout(environ)
    done = []
    for memory in settings.remembered(home):
        adapter = load_adapter(memory.client)
        plan = settings.plan_uninstall(adapter, memory.path, home)
        _record("guard.uninstall", _Where(adapter, "user", memory.path, os.sep, home, os.sep), by, environ)
        settings.apply(plan)
        settings.forget(home, memory.path)
        done.append(Uninstalled(memory.client, "", memory.path, plan.changes))
    return tuple(done)


def clients_here(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The clients among the installed adapters that this machine has, by their commands on PATH. Raises PluginError."""
    from shutil import which

    path = environ.get("PATH", os.defpath)
    return tuple(name for name in names() if any(which(program, path=path) for program in load_adapter(name).programs))


def programs() -> dict[str, tuple[str, ...]]:
    """The commands of each client that there is an adapter for. Raises PluginError."""
    return {name: load_adapter(name).programs for name in names()}


def hooked_clients(start: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The clients that have a hook of chrono's in a settings file around `start`. Raises PluginError."""
    found = []
    for name in names():
        for scope in SCOPES:
            where = _Where.of(start, environ, scope, name)
            try:
                content = settings.read_settings(where.path)
            except ChronoError:
                continue
            if content is not None and where.adapter.inspect(content).hooks:
                found.append(name)
                break
    return tuple(found)


def lost_hooks(folder: str, environ: Mapping[str, str]) -> tuple[Memory, ...]:
    """The installed hooks that are gone from settings files in `folder`, or of the person's own scope.

    `git switch` to a branch without the file takes a hook away, and so does any other program that rewrites it.
    """
    real, person = os.path.realpath(folder), user_home(environ)
    found = []
    for memory in settings.remembered(home_layout(environ)):
        try:
            adapter = load_adapter(memory.client)
            own = memory.path == adapter.settings_path("user", project=real, user_home=person)
            if not own and not os.path.realpath(memory.path).startswith(real.rstrip(os.sep) + os.sep):
                continue
            content = settings.read_settings(memory.path)
            gone = content is None or not adapter.inspect(content).hooks
        except ChronoError:
            gone = True
        if gone:
            found.append(memory)
    return tuple(found)


def status(start: str, environ: Mapping[str, str], *, client: str = DEFAULT_CLIENT) -> Status:
    """What the client would do now: each scope's file is read with its strictness, each hook found there is fired."""
    reports: list[HookReport] = []
    for scope in SCOPES:
        where = _Where.of(start, environ, scope, client)
        if any(report.path == where.path for report in reports):
            continue
        reports.append(_report(where, environ))
    return Status(tuple(reports))


def boot_path() -> str:
    """The hook's first file, beside this one."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "boot.py")


class _Where(NamedTuple):
    """One scope of one client, the project that its self-test runs in, and the folder that it was asked about."""

    adapter: AgentAdapter
    scope: str
    path: str
    project: str
    home: HomeLayout
    start: str

    @classmethod
    def of(cls, start: str, environ: Mapping[str, str], scope: str, client: str) -> _Where:
        if scope not in SCOPES:
            raise UsageError(f"there is no scope '{scope}'", f"choose one of: {', '.join(SCOPES)}")
        adapter = load_adapter(client)
        real = os.path.realpath(start)
        layout = find_project(real)
        project = layout.root if layout is not None else real
        path = adapter.settings_path(scope, project=project, user_home=user_home(environ))
        return cls(adapter, scope, path, project, home_layout(environ), real)


def _report(where: _Where, environ: Mapping[str, str]) -> HookReport:
    try:
        content = settings.read_settings(where.path)
    except ChronoError as error:
        return HookReport(where.adapter.name, where.scope, where.path, (), (error.message,), (), None)
    found = where.adapter.inspect(content)
    problems = list(found.problems)
    fired: tuple[Fired, ...] = ()
    commands = tuple(dict.fromkeys(hook.command for hook in found.hooks))
    for command in commands:
        fired += self_test(where.adapter, command, cwd=where.project, environ=environ)
    if found.hooks and isinstance(where.adapter, AsksClient):
        problems.extend(where.adapter.client_problems(where.path, where.project, environ))
    problems.extend(_problem(one) for one in fired if not one.holds)
    seen = _last_session(where) if found.hooks else None
    gaps = where.adapter.gaps(where.scope)
    only_in = where.project if found.hooks and SUBFOLDER in gaps and where.start != where.project else None
    name, scope = where.adapter.name, where.scope
    return HookReport(name, scope, where.path, found.hooks, tuple(problems), fired, seen, gaps, only_in)


def _last_session(where: _Where) -> str | None:
    """When a session of the client last began under the hook, from the end of the project's (or machine's) log."""
    from chrono.audit.place import machine_place, project_place
    from chrono.guard.recall import newest_at

    layout = find_project(where.project)
    places = [machine_place(where.home)] + ([project_place(layout)] if layout is not None else [])
    seen = [at for at in (newest_at(place, "session.start") for place in places) if at is not None]
    return max(seen, default=None)


def _problem(fired: Fired) -> str:
    if fired.does == "stops":
        return f"every call is refused, `{fired.command}` too: {fired.said.partition(chr(10))[0]}"
    return f"the hook does not hold: {_outcome(fired)}"


def _outcome(fired: Fired) -> str:
    return f"`{fired.command}` {fired.does}, it must be that it {fired.expected}" + (
        f" ({fired.said.splitlines()[0]})" if fired.said else ""
    )


def _failed(fired: tuple[Fired, ...], plan: SettingsPlan) -> SelfTestFailed:
    bad = next(one for one in fired if not one.holds)
    return SelfTestFailed(
        f"the hook does not work with this Python: {_outcome(bad)}; {plan.path} is as it was before",
        "run `chrono doctor`, correct what it names, then run the command again",
        fired,
    )


def _take_back(where: _Where, plan: SettingsPlan) -> None:
    if plan.changes:
        settings.apply(settings.undone(plan))
        settings.forget(where.home, where.path)


def _record(ev: str, where: _Where, by: Actor, environ: Mapping[str, str]) -> None:
    """The record goes to the project's own log, where there is one, else to the machine's."""
    from chrono.audit.record import Act, Entry
    from chrono.guard.resources import Resources

    resources = Resources()
    try:
        more: tuple[tuple[str, Json], ...] = (
            ("client", where.adapter.name),
            ("scope", where.scope),
            ("path", where.path),
        )
        place = resources.place(where.project if where.scope == "project" else os.sep, environ)
        place.log.append(Entry(ev, by, Act(more=more)), timeout_s=WAIT_S)
    finally:
        resources.close()


def _write_paths(home: HomeLayout, interpreter: str) -> None:
    """Notes the folders of chrono's dependencies that an isolated start of `interpreter` would not find by itself."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    target = os.fsdecode(wire.run_file(os.fsencode(home.root), wire.build_id(package), "paths"))
    if interpreter != sys.executable:
        return  # another installation's own `guard install` has to say
    known = _isolated_paths(interpreter)
    needed = dict.fromkeys(path for path in _dependency_folders() if path not in known)
    atomic_write(target, "".join(path + "\n" for path in needed).encode("utf-8", "surrogateescape"))


def _isolated_paths(interpreter: str) -> frozenset[str]:
    code = "import site, sys; site.main(); sys.stdout.write('\\n'.join(sys.path))"
    done = subprocess.run(
        [interpreter, "-I", "-S", "-c", code], capture_output=True, text=True, errors="surrogateescape", check=False
    )
    return frozenset(done.stdout.split("\n"))


def _dependency_folders() -> tuple[str, ...]:
    from importlib.util import find_spec

    found = []
    for name in ("pygit2", "cryptography", "ruamel.yaml", "cffi", "_cffi_backend"):
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.origin:
            folder = os.path.dirname(spec.origin)
            for _ in range(name.count(".") + 1 if spec.submodule_search_locations else 0):
                folder = os.path.dirname(folder)
            found.append(folder)
    return tuple(found)
