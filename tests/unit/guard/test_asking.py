"""Claims about an ask that reaches nobody: it is refused with an id, and one approval lets exactly that call run once."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chrono.agents.protocol import Reply
from chrono.guard import engine
from chrono.guard.caller import Caller
from chrono.guard.resources import Resources
from chrono.policy.approvals import Member
from chrono.policy.model import DEFAULTS
from chrono.signing import generate
from chrono.workspace import approvals, team
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from tests.waiting import LONG_S

SCRIPT = "echo deploying\n"
POLICY = "rules:\n  - id: deploys\n    decision: ask\n    score: 65\n    title: deploys\n    why: customers see it\n    safer: make check\n    match: {program: deploy}\n"


class Headless:
    """A project whose policy asks about `deploy`, and a client where nobody can be asked."""

    def __init__(self, folder: Path, compiled_rules: Path) -> None:
        (folder / "home").mkdir()
        self.root = folder / "project"
        self.root.mkdir()
        (self.root / "ship.sh").write_text(SCRIPT + "deploy now\n")
        state = folder / "state"
        self.environ = {"HOME": str(folder / "home"), "CHRONO_HOME": str(state), "PATH": os.environ["PATH"]}
        shutil.copytree(compiled_rules, state / "cache")
        (state / "policy.yaml").write_text(POLICY)
        self.by = actor(self.environ)
        self.ws: Workspace = initialise(str(self.root), self.environ, self.by).ws
        self.key = generate()
        self.sara = Member("sara", "developer", self.key.public)
        team.add(self.ws.home, self.ws.log, self.by, self.sara)
        self.resources = Resources()

    def fire(self, tool: str, given: dict[str, Any], **members: Any) -> Reply:
        body = {
            "session_id": "s1",
            "cwd": str(self.root),
            "permission_mode": "bypassPermissions",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": given,
            **members,
        }
        caller = Caller(self.environ, os.getpid(), os.getppid(), "/bin/agent", time.monotonic() + LONG_S)
        return engine.answer("codex-like", json.dumps(body).encode(), caller, self.resources)

    def bash(self, command: str, **members: Any) -> Reply:
        return self.fire("Bash", {"command": command}, **members)

    def approve(self, reply: Reply) -> None:
        request = approvals.find(self.ws.home, asked_id(reply), time.time_ns())
        approvals.decide(self.ws.home, self.ws.log, self.by, request, self.sara, DEFAULTS, self.key, time.time_ns())

    def last(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(Path(self.ws.layout.audit_log).read_text().splitlines()[-1])
        return line


def asked_id(reply: Reply) -> str:
    found = re.search(rb"chrono approvals approve ([0-9a-f]{12})", reply.stderr)
    assert found is not None, reply
    return found.group(1).decode()


@pytest.fixture
def headless(tmp_path: Path, compiled_rules: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Headless]:
    from chrono.agents.claude_code import ADAPTER

    made = Headless(tmp_path, compiled_rules)
    monkeypatch.setattr(made.resources, "adapter", lambda name: ADAPTER)
    yield made
    made.resources.close()
    made.ws.close()


def test_an_ask_that_reaches_nobody_is_refused_with_its_id_and_recorded(headless: Headless) -> None:
    reply = headless.bash("deploy now")
    assert reply.exit_code == 2
    act = headless.last()["act"]
    assert (act["decision"], act["verdict"], act["request"]) == ("block", "ask", asked_id(reply))
    (request,) = approvals.pending(headless.ws.home, time.time_ns())
    assert (request.text, request.cwd, request.client) == ("deploy now", str(headless.root), "claude-code")
    assert asked_id(headless.bash("deploy now")) == request.id


def test_a_person_who_can_be_asked_is_asked_and_nothing_waits(headless: Headless) -> None:
    reply = headless.bash("deploy now", permission_mode="default")
    assert b'"ask"' in reply.stdout
    assert approvals.pending(headless.ws.home, time.time_ns()) == ()


def test_an_approved_call_runs_once_after_a_savepoint_and_the_record_says_who(headless: Headless) -> None:
    headless.approve(headless.bash("deploy now"))
    (headless.root / "new.txt").write_text("x")
    assert headless.bash("deploy now") == Reply(b"", b"", 0)
    act = headless.last()["act"]
    assert (act["decision"], act["verdict"]) == ("allow", "ask")
    assert act["approved"]["name"] == "sara" and act["approved"]["kid"] == headless.key.kid
    assert "savepoint" in act
    again = headless.bash("deploy now")
    assert again.exit_code == 2 and asked_id(again)


@pytest.mark.parametrize("change", ["text", "cwd", "script"])
def test_an_approval_is_not_for_another_text_folder_or_script(headless: Headless, change: str) -> None:
    headless.approve(headless.bash("sh ship.sh"))
    other = headless.root / "other"
    other.mkdir()
    shutil.copy(headless.root / "ship.sh", other / "ship.sh")
    if change == "script":
        (headless.root / "ship.sh").write_text(SCRIPT + "deploy now --all\n")
    reply = headless.bash(
        "sh ./ship.sh" if change == "text" else "sh ship.sh",
        cwd=str(other if change == "cwd" else headless.root),
    )
    assert reply.exit_code == 2
    assert headless.last()["act"]["decision"] == "block"


def test_a_block_cannot_be_approved(headless: Headless) -> None:
    reply = headless.bash("rm -rf /")
    assert reply.exit_code == 2 and b"approvals approve" not in reply.stderr


def test_an_edit_is_approved_with_its_content(headless: Headless) -> None:
    Path(headless.ws.home.policy).write_text(
        "rules:\n  - id: edits\n    decision: ask\n    title: edits the price\n    why: it is the price\n"
        "    safer: ask\n    match: {touches: {how: [write, edit], place: project}}\n"
    )
    path = str(headless.root / "price.txt")
    reply = headless.fire("Write", {"file_path": path, "content": "1"})
    headless.approve(reply)
    assert headless.fire("Write", {"file_path": path, "content": "1000"}).exit_code == 2
    assert headless.fire("Write", {"file_path": path, "content": "1"}) == Reply(b"", b"", 0)


def test_a_no_is_told_to_the_agent(headless: Headless) -> None:
    request = approvals.find(headless.ws.home, asked_id(headless.bash("deploy now")), time.time_ns())
    home, log, now = headless.ws.home, headless.ws.log, time.time_ns()
    approvals.decide(home, log, headless.by, request, headless.sara, DEFAULTS, None, now, decision="deny")
    assert (
        b"Sara denied it" in headless.bash("deploy now").stderr
        or b"sara denied it" in headless.bash("deploy now").stderr
    )


def test_the_client_of_this_very_hook_may_not_answer(headless: Headless) -> None:
    from chrono.errors import Denied

    request = approvals.find(headless.ws.home, asked_id(headless.bash("deploy now")), time.time_ns())
    assert request.agents
    with pytest.raises(Denied, match="started by the agent that asks"):
        approvals.refuse_relatives([request], os.getpid(), ())


def test_parallel_hooks_get_one_call_of_one_approval(headless: Headless) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from chrono.agents.claude_code import ADAPTER

    headless.approve(headless.bash("deploy now"))

    def alone(number: int) -> int:
        """As a process of its own would: nothing is shared but the disk."""
        resources = Resources()
        resources.adapter = lambda name: ADAPTER  # type: ignore[method-assign]
        body = {
            "session_id": f"s{number}",
            "cwd": str(headless.root),
            "permission_mode": "bypassPermissions",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "deploy now"},
        }
        caller = Caller(headless.environ, os.getpid(), os.getppid(), "/bin/agent", time.monotonic() + LONG_S)
        try:
            return engine.answer("x", json.dumps(body).encode(), caller, resources).exit_code
        finally:
            resources.close()

    with ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(alone, range(6)))
    assert sorted(codes) == [0, 2, 2, 2, 2, 2]
