"""`chrono mcp` under clients that others wrote: the inspector of the protocol, and agents that a model tells to call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chrono.policy.approvals import Member
from chrono.signing import generate
from chrono.workspace import approvals, team
from chrono.workspace.actors import actor
from chrono.workspace.project import Workspace
from tests.e2e import other_clients
from tests.e2e.fake_models import FakeModel, ToolUse
from tests.e2e.hooked import Hooked
from tests.e2e.real_client import CHECKOUT, environment, run_claude

pytestmark = [pytest.mark.client, pytest.mark.slow]

SERVER = [sys.executable, "-P", "-m", "chrono", "mcp"]
SPACE = "mcp__chrono"
RUN = ToolUse(f"{SPACE}__chrono_run", {"command": "printf two > a.txt; echo said"})
BACK = ToolUse(f"{SPACE}__chrono_rollback", {"id": "HEAD~1"})
GATE = "gates: {mcp.rollback: approve}\n"


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Hooked]:
    made = Hooked(tmp_path, service="off")
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    made.chrono("init")
    yield made
    made.end()


def served(hooked: Hooked) -> dict[str, str]:
    """The environment of the server."""
    return {**hooked.environ, "PYTHONPATH": str(CHECKOUT)}


def approve(hooked: Hooked) -> None:
    """A person answers the one request that waits, with a key of their own."""
    ws = Workspace.open(str(hooked.project), hooked.environ)
    try:
        by, key = actor(hooked.environ), generate()
        sara = Member("sara", "developer", key.public)
        team.add(ws.home, ws.log, by, sara, replace=True)
        (request,) = approvals.pending(ws.home, time.time_ns())
        approvals.decide(ws.home, ws.log, by, request, sara, ws.policy(), key, time.time_ns())
    finally:
        ws.close()


def sources(hooked: Hooked) -> set[str]:
    return {record["by"]["source"] for record in hooked.records()}


def inspected(hooked: Hooked, method: str, *arguments: str) -> Any:
    """What the inspector prints for one request to a server of its own."""
    program = other_clients.program("inspector", "mcp-inspector")
    settings = hooked.home / "servers.json"
    server = {"command": SERVER[0], "args": SERVER[1:], "env": served(hooked), "cwd": str(hooked.project)}
    settings.write_text(json.dumps({"mcpServers": {"chrono": server}}))
    done = subprocess.run(
        [program, "--cli", "--config", str(settings), "--server", "chrono", "--method", method, *arguments],
        cwd=hooked.project,
        env=environment(hooked.home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def called(hooked: Hooked, tool: str, **arguments: object) -> Any:
    pairs = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
    return inspected(hooked, "tools/call", "--tool-name", tool, *pairs)["structuredContent"]


def test_the_inspector_lists_and_calls_every_tool(hooked: Hooked) -> None:
    before = (hooked.project / "a.txt").read_bytes()
    tools = {tool["name"] for tool in inspected(hooked, "tools/list")["tools"]}
    ran = called(hooked, "chrono_run", command="printf two > a.txt; echo said")
    assert (ran["output"], ran["exit_code"]) == ("said\n", 0)
    assert (hooked.project / "a.txt").read_bytes() == b"two"
    back = called(hooked, "chrono_rollback", id=ran["before"])
    assert back["applied"] and (hooked.project / "a.txt").read_bytes() == before
    answers = {
        "chrono_run": ran,
        "chrono_rollback": back,
        "chrono_scan": called(hooked, "chrono_scan", command="rm -rf ~"),
        "chrono_snapshot": called(hooked, "chrono_snapshot", message="by the inspector"),
        "chrono_status": called(hooked, "chrono_status"),
        "chrono_log": called(hooked, "chrono_log", limit=3),
        "chrono_audit_verify": called(hooked, "chrono_audit_verify"),
    }
    assert set(answers) == tools
    assert answers["chrono_scan"]["decision"] == "block"
    assert answers["chrono_status"]["changes"] == []
    assert len(answers["chrono_log"]["savepoints"]) == 3
    assert answers["chrono_audit_verify"]["ok"]
    assert "mcp" in sources(hooked)


def test_claude_code_goes_back_only_with_a_persons_word(hooked: Hooked) -> None:
    hooked.chrono("guard", "install")
    before = (hooked.project / "a.txt").read_bytes()
    (hooked.chrono_home / "policy.yaml").write_text(GATE)
    server = {"command": SERVER[0], "args": SERVER[1:], "env": served(hooked)}
    servers = hooked.home / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"chrono": server}}))
    kept: list[bytes] = []

    def answered() -> None:
        kept.append((hooked.project / "a.txt").read_bytes())
        approve(hooked)

    model = FakeModel([[RUN], [BACK], [BACK], [BACK]], before={2: answered})
    arguments = ("--dangerously-skip-permissions", "--mcp-config", str(servers), "--strict-mcp-config")
    done = run_claude(model, home=hooked.home, project=hooked.project, arguments=arguments)
    assert done.exit_code == 0, done
    ran, refused, applied, again = model.tool_results()
    assert "said" in ran and kept == [b"two"]
    assert "chrono approvals approve" in refused
    assert "chrono approvals approve" not in applied
    assert (hooked.project / "a.txt").read_bytes() == before
    assert "chrono approvals approve" in again
    assert {"hook", "mcp"} <= sources(hooked)
    hooked.chrono("audit", "--verify")


def test_codex_goes_back_only_with_a_persons_word(hooked: Hooked) -> None:
    client = other_clients.CODEX
    other_clients.program(client.name, client.program)
    hooked.chrono("guard", "install", client.name, "--scope", client.scope)
    before = (hooked.project / "a.txt").read_bytes()
    (hooked.chrono_home / "policy.yaml").write_text(GATE)

    def prepared(home: Path, project: Path, port: int) -> dict[str, str]:
        environ = client.prepare(home, project, port)
        with (home / ".codex" / "config.toml").open("a") as settings:
            words = ", ".join(f"{name} = {json.dumps(value)}" for name, value in served(hooked).items())
            settings.write(f"[mcp_servers.chrono]\ncommand = {json.dumps(SERVER[0])}\n")
            settings.write(f"args = {json.dumps(SERVER[1:])}\nenv = {{ {words} }}\n")
            settings.write('default_tools_approval_mode = "approve"\nstartup_timeout_sec = 60\nrequired = true\n')
        return environ

    codex = client._replace(prepare=prepared)

    def play(*uses: ToolUse) -> str:
        model = FakeModel([[use._replace(name=use.name[len(SPACE) + 2 :], namespace=SPACE)] for use in uses])
        done = other_clients.run(codex, model, home=hooked.home, project=hooked.project)
        assert model.requests, done
        return model.heard

    heard = play(RUN, BACK)
    assert "said" in heard and "chrono approvals approve" in heard, heard[heard.rfind("function_call") :][:3000]
    assert (hooked.project / "a.txt").read_bytes() == b"two"
    approve(hooked)
    play(BACK)
    assert (hooked.project / "a.txt").read_bytes() == before
    assert {"hook", "mcp"} <= sources(hooked)
    assert os.path.exists(hooked.project / ".chrono")
    hooked.chrono("audit", "--verify")
