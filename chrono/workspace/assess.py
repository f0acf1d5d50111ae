"""Owns a verdict without its effects: `chrono scan` and `chrono.assess`. Nothing is saved, recorded or asked.

The scan is done by `scan.scanner`, the decision by `policy.decide`; the same with savepoint and record is `guard`'s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.errors import ChronoError, Denied
from chrono.layout import HomeLayout, ProjectLayout, find_project
from chrono.policy.decide import decide, settle, verdict_of
from chrono.policy.model import DEFAULTS, Cover, Policy, Verdict
from chrono.scan.command import Refusal
from chrono.scan.finding import Scan
from chrono.tuples import NamedTuple
from chrono.workspace.config import effective_policy, environment, home_layout, ruleset_for, user_home
from chrono.workspace.machine_world import ClosedWorld, MachineWorld
from chrono.workspace.project import Workspace
from chrono.workspace.ring import cover_of

if TYPE_CHECKING:
    from chrono.scan.rule import Ruleset


class Assessed(NamedTuple):
    """One answer. `cover` is that of a savepoint taken now, computed; None where none is needed or possible."""

    scan: Scan
    verdict: Verdict
    cover: Cover | None


class _Setting(NamedTuple):
    """What texts in one project, or outside every one, are judged with."""

    ws: Workspace | None
    root: str | None
    policy: Policy
    rules: Ruleset


class Assessor:
    """Judges texts as the guard would; policy, rules and cover are read once for each project it meets."""

    def __init__(self, start: str, environ: Mapping[str, str], home: HomeLayout) -> None:
        self._start = start
        self._environ = environ
        self._home = home
        self._settings: dict[str | None, _Setting] = {}
        self._covers: dict[str, Cover] = {}

    @classmethod
    def open(cls, start: str, environ: Mapping[str, str]) -> Assessor:
        """For texts that would run in folder `start`. Raises PolicyError, PluginError, Denied, ChronoError."""
        assessor = cls(os.path.realpath(start), environ, home_layout(environ))
        assessor._setting(assessor._start)
        return assessor

    @property
    def rules(self) -> Ruleset:
        """The rules that hold in the folder it was opened for."""
        return self._setting(self._start).rules

    @property
    def policy(self) -> Policy:
        """The policy that holds in the folder it was opened for."""
        return self._setting(self._start).policy

    def assess(self, text: str, *, cwd: str | None = None, shell: str | None = None) -> Assessed:
        """The answer for one text, `cwd` relative to the folder it was opened for.

        Never raises for what text, folder or shell are; what cannot be judged is blocked.
        """
        try:
            folder = os.path.realpath(os.path.join(self._start, cwd)) if cwd else self._start
            setting = self._setting(folder)
            return self._judge(text, folder, shell or default_shell(), setting)
        except (ChronoError, OSError, ValueError) as error:
            why = error.message if isinstance(error, ChronoError) else str(error)
            refusal = Refusal("file", why, (0, len(text)))
            return Assessed(Scan(text, (), (), (refusal,), False), verdict_of((), (refusal,)), None)

    def _setting(self, folder: str) -> _Setting:
        layout = find_project(folder)
        root = layout.root if layout is not None else None
        found = self._settings.get(root)
        if found is None:
            found = self._settings[root] = self._read_setting(layout)
        return found

    def _read_setting(self, layout: ProjectLayout | None) -> _Setting:
        policy = effective_policy(layout, self._home)
        rules = ruleset_for(policy, self._home)
        if layout is None:
            return _Setting(None, None, policy, rules)
        ws = Workspace(layout, self._home, self._environ)
        standing = ws.standing()
        if standing.refuses:
            raise Denied(standing.why, standing.hint)
        return _Setting(ws if standing.own else None, layout.root, policy, rules)

    def _judge(self, text: str, folder: str, shell: str, setting: _Setting) -> Assessed:
        from chrono.scan.scanner import scan

        world = MachineWorld(
            folder,
            self._environ,
            project=setting.root,
            chrono_home=os.path.realpath(self._home.root),
            user_home=user_home(self._environ),
        )
        found = scan(text, setting.rules, world, shell=shell)
        provisional = decide(found, setting.policy, project=setting.root)
        cover = None
        if setting.ws is not None and provisional.if_covered != provisional.if_not:
            cover = self._cover(setting.ws)
        return Assessed(found, settle(provisional, cover), cover)

    def _cover(self, ws: Workspace) -> Cover:
        known = self._covers.get(ws.root)
        if known is None:
            known = self._covers[ws.root] = cover_of(ws.root, ws.store.survey().excluded, None)
        return known


def assess(cmd: str, project: str | None = None, shell: str | None = None) -> Verdict:
    """The verdict on one command.

    With `project`, a folder, as the guard would answer there, with the cover of a savepoint taken now. Without it no
    file is read: the built-in policy holds, scripts that `cmd` starts are not followed but refused, nothing counts as
    reversible. `shell`: "bash", "sh", "zsh", "powershell" or "cmd". Raises PolicyError, PluginError, NoWorkspace.
    """
    environ = environment()
    if project is not None:
        ws = Workspace.open(project, environ)
        folder = os.path.realpath(project)
        ws.close()
        return Assessor.open(folder, environ).assess(cmd, shell=shell).verdict
    from chrono.scan.scanner import scan

    home = home_layout(environ)
    person = user_home(environ)
    world = ClosedWorld(_here(), environ, project=None, chrono_home=home.root, user_home=person)
    found = scan(cmd, ruleset_for(DEFAULTS, home), world, shell=shell or default_shell())
    return settle(decide(found, DEFAULTS), None)


def default_shell() -> str:
    """The shell that an agent's command runs in where nobody says which."""
    return "powershell" if sys.platform == "win32" else "bash"


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"
