"""Owns a session of an agent in a project, as the guard writes it down: savepoint, record, change, end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from chrono.agents.protocol import Call
from chrono.guard import effects
from chrono.guard.caller import Caller
from chrono.guard.effects import Judged
from chrono.guard.resources import Place
from chrono.policy.decide import verdict_of
from chrono.scan.finding import Scan
from chrono.workspace.project import Workspace
from tests.waiting import LONG_S

_numbers = count(1)


def nothing() -> None:
    """A call that changes nothing."""


class Session:
    """One session; each call gets an id of its own, which is returned."""

    def __init__(self, ws: Workspace, name: str, client: str = "claude-code") -> None:
        self.ws = ws
        self.name = name
        self.client = client
        self._caller = Caller(ws.environ, os.getpid(), os.getppid(), None, time.monotonic() + LONG_S)
        self._place = Place(ws.root, ws.layout, ws, ws.home, ws.log)

    def bash(self, command: str, do: Callable[[], object] = nothing, *, decision: str = "allow") -> str:
        return self._run(self._call("Bash", "shell", commands=(command,)), do, decision)

    def write(self, name: str, data: bytes | str, *, ends: bool = True) -> str:
        """The Write tool on one file of the project."""
        path = os.path.join(self.ws.root, name)

        def do() -> None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data.encode() if isinstance(data, str) else data)

        return self._run(self._call("Write", "write", paths=(path,)), do, "allow", ends=ends)

    def begin(self, command: str) -> Call:
        """A command that is still running; `end` ends it."""
        call = self._call("Bash", "shell", commands=(command,))
        self._before(call, "allow")
        return call

    def end(self, call: Call) -> None:
        effects.after(call._replace(event="post"), self._caller, self._place)

    def _call(self, tool: str, kind: str, commands: tuple[str, ...] = (), paths: tuple[str, ...] = ()) -> Call:
        return Call(
            client=self.client,
            event="pre",
            kind=kind,
            tool=tool,
            commands=commands,
            paths=paths,
            changes=True,
            cwd=self.ws.root,
            session=self.name,
            call_id=f"toolu_{next(_numbers):05}",
        )

    def _run(self, call: Call, do: Callable[[], object], decision: str, *, ends: bool = True) -> str:
        self._before(call, decision)
        if decision != "block":
            do()
            if ends:
                self.end(call)
        assert call.call_id is not None
        return call.call_id

    def _before(self, call: Call, decision: str) -> None:
        saved = effects.savepoint(call, self._caller, self._place)
        judged = Judged(Scan("", (), (), (), False), verdict_of((), ()), decision, "", saved)
        effects.record(call, self._caller, self._place, judged)
