"""Claims about the MCP tools: the same answers as on the command line, and nothing that overrules the policy."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chrono.errors import Denied, NoWorkspace, UsageError
from chrono.mcp.tools import Tools
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from tests.waiting import LONG_S, until


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "CHRONO_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def project(tmp_path: Path, environ: dict[str, str]) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    initialise(str(folder), environ, actor(environ)).ws.close()
    return folder


@pytest.fixture
def tools(project: Path, environ: dict[str, str]) -> Iterator[Tools]:
    yield Tools(str(project), environ)


def policy(tools: Tools, project: Path, text: str) -> None:
    from chrono.layout import HomeLayout

    Path(HomeLayout(tools._ws.home.root).policy).write_text(text)


def run(tools: Tools, command: str, timeout_s: float | None = LONG_S) -> Any:
    return tools.run(command, timeout_s, threading.Event())


def records(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / ".chrono" / "audit.jsonl").read_text().splitlines()]


def test_a_command_is_run_in_the_project_and_saved(tools: Tools, project: Path) -> None:
    done = run(tools, "pwd; echo two > a.txt; echo err >&2")
    assert (done["exit_code"], done["decision"], done["rolled_back"]) == (0, "allow", False)
    assert done["output"] == f"{project}\nerr\n"
    assert done["commit"] and done["covers"]["not"]
    last = [record for record in records(project) if record["ev"] == "command"]
    assert {record["by"]["source"] for record in last} == {"mcp"}
    tools.rollback(done["before"])
    assert (project / "a.txt").read_text() == "one\n"


def test_a_failure_goes_back(tools: Tools, project: Path) -> None:
    done = run(tools, "echo two > a.txt; touch new; exit 4")
    assert (done["exit_code"], done["rolled_back"], done["commit"]) == (4, True, None)
    assert (project / "a.txt").read_text() == "one\n" and not (project / "new").exists()


@pytest.mark.parametrize("timeout_s", [-1, 0, float("nan"), float("inf"), 1e9])
def test_a_time_that_is_none_starts_nothing(tools: Tools, project: Path, timeout_s: float) -> None:
    with pytest.raises(UsageError, match="timeout_s lies between"):
        run(tools, "touch ran", timeout_s=timeout_s)
    assert not (project / "ran").exists()


def test_what_is_blocked_or_needs_a_person_is_not_run(tools: Tools, project: Path) -> None:
    for command, decision in (("touch m; rm -rf ~", "block"), ("touch m; npm publish", "ask")):
        done = run(tools, command)
        assert (done["decision"], done["exit_code"]) == (decision, None)
        assert done["reasons"] and not (project / "m").exists()
        assert records(project)[-1]["act"]["decision"] == "block"
    with pytest.raises(UsageError):
        run(tools, "  ")


def test_a_cancelled_or_late_command_ends_with_all_it_started(tools: Tools, project: Path) -> None:
    done = run(tools, "sleep 60 & sleep 60", timeout_s=0.5)
    assert done["exit_code"] == 124 and done["still_running"] == []
    stop = threading.Event()
    stopping = threading.Thread(target=lambda: until((project / "new").exists) and stop.set())
    stopping.start()
    done = tools.run("touch new; sleep 600", 600, stop)
    stopping.join()
    assert (done["exit_code"], done["how"], done["rolled_back"]) == (124, "cancelled", True)
    assert not (project / "new").exists()


def test_output_is_cut_at_its_beginning(tools: Tools) -> None:
    done = run(tools, "seq 100000")
    assert done["output_cut"] and done["output"].endswith("100000\n") and len(done["output"]) <= 64 * 1024


def test_gates_leave_it_to_people(tools: Tools, project: Path) -> None:
    policy(tools, project, "gates:\n  mcp.rollback: approve\n  mcp.run: block\n  mcp.snapshot: block\n")
    (project / "a.txt").write_text("two\n")
    done = tools.rollback(None)
    assert not done["applied"] and "person" in done["reason"]
    assert (project / "a.txt").read_text() == "two\n"
    assert run(tools, "touch m")["exit_code"] is None and not (project / "m").exists()
    with pytest.raises(Denied):
        tools.snapshot("x")


def approve(tools: Tools, environ: dict[str, str]) -> None:
    """Answers the one request that waits."""
    from chrono.policy.approvals import Member
    from chrono.policy.model import DEFAULTS
    from chrono.signing import generate
    from chrono.workspace import approvals, team

    ws, by, key = tools._ws, actor(environ), generate()
    sara = Member("sara", "developer", key.public)
    team.add(ws.home, ws.log, by, sara, replace=True)
    (request,) = approvals.pending(ws.home, time.time_ns())
    approvals.decide(ws.home, ws.log, by, request, sara, DEFAULTS, key, time.time_ns())


def test_an_approved_run_runs_once(tools: Tools, project: Path, environ: dict[str, str]) -> None:
    policy(tools, project, "gates:\n  mcp.run: approve\n")
    done = run(tools, "touch m")
    assert done["decision"] == "ask" and "chrono approvals approve" in done["reasons"][-1]
    approve(tools, environ)
    assert run(tools, "touch other")["decision"] == "ask"
    assert run(tools, "touch m")["exit_code"] == 0 and (project / "m").exists()
    assert run(tools, "touch m")["decision"] == "ask"


def test_an_approved_rollback_is_applied_once(tools: Tools, project: Path, environ: dict[str, str]) -> None:
    policy(tools, project, "gates:\n  mcp.rollback: approve\n")
    (project / "a.txt").write_text("two\n")
    assert "chrono approvals approve" in tools.rollback(None)["reason"]
    approve(tools, environ)
    assert tools.rollback(None)["applied"] and (project / "a.txt").read_text() == "one\n"
    (project / "a.txt").write_text("three\n")
    assert not tools.rollback(None)["applied"]


def test_the_looking_tools_agree_with_the_files(tools: Tools, project: Path) -> None:
    assert tools.scan("rm -rf ~")["decision"] == "block"
    assert tools.scan("git status")["read_only"]
    assert tools.status()["changes"] == []
    (project / "b.txt").write_text("x")
    assert tools.status()["changes"] == ["added b.txt"]
    saved = tools.snapshot("mine")
    assert saved["created"] and tools.log(1)["savepoints"][0]["message"] == "mine"
    assert tools.rollback(None)["applied"] is False
    assert tools.audit_verify()["ok"]
    with pytest.raises(UsageError):
        tools.log(0)


def test_outside_a_project_there_is_no_server(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(NoWorkspace):
        Tools(str(tmp_path / "home"), environ)
