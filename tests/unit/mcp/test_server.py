"""Claims about the MCP server as its official client sees it, over standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from tests.waiting import LONG_S, until

ROOT = Path(__file__).resolve().parents[3]
NAMES = {
    "chrono_scan",
    "chrono_run",
    "chrono_snapshot",
    "chrono_status",
    "chrono_log",
    "chrono_rollback",
    "chrono_audit_verify",
}


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


def talk(project: Path, environ: dict[str, str], work: Callable[[Client], Awaitable[None]]) -> None:
    async def session() -> None:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "chrono", "mcp"],
            env={**environ, "PYTHONPATH": str(ROOT)},
            cwd=str(project),
        )
        with anyio.fail_after(LONG_S):
            async with Client(stdio_client(parameters)) as client:
                await work(client)

    anyio.run(session)


def test_every_tool_is_listed_with_a_schema_and_answers(project: Path, environ: dict[str, str]) -> None:
    async def work(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert {tool.name for tool in listed} == NAMES
        assert all(tool.output_schema and tool.description for tool in listed)

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            return result.structured_content

        assert (await call("chrono_scan", command="rm -rf ~"))["decision"] == "block"
        ran = await call("chrono_run", command="echo two > a.txt; echo said")
        assert ran["output"] == "said\n" and ran["covers"]["not"]
        assert (project / "a.txt").read_text() == "two\n"
        assert (await call("chrono_status"))["changes"] == []
        back = await call("chrono_rollback", id=ran["before"])
        assert back["applied"] and (project / "a.txt").read_text() == "one\n"
        assert (await call("chrono_snapshot", message="m"))["id"]
        assert len((await call("chrono_log", limit=3))["savepoints"]) == 3
        assert (await call("chrono_audit_verify"))["ok"]
        wrong = await client.call_tool("chrono_rollback", {"id": "ffffffff"})
        assert wrong.is_error and "savepoint" in wrong.content[0].text
        resources = {str(one.uri) for one in (await client.list_resources()).resources}
        assert resources == {"chrono://status", "chrono://log"}
        assert "branch" in (await client.read_resource("chrono://status")).contents[0].text

    talk(project, environ, work)


def test_a_long_run_reports_progress(project: Path, environ: dict[str, str]) -> None:
    seen: list[float] = []
    waits = "until [ -e ../reported ]; do sleep 0.05; done"

    async def work(client: Client) -> None:
        async def progress(value: float, total: float | None, message: str | None) -> None:
            seen.append(value)
            if len(seen) > 1:
                (project.parent / "reported").touch()

        result = await client.call_tool("chrono_run", {"command": waits}, progress_callback=progress)
        assert not result.is_error

    talk(project, environ, work)
    assert seen == sorted(seen)


def test_a_run_whose_client_goes_away_is_ended(project: Path, environ: dict[str, str]) -> None:
    written = project.parent / "pid"
    command = "echo $$ > ../pid.new; mv ../pid.new ../pid; exec sleep 600"

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "chrono_run", {"command": command})
            while not written.exists():
                await anyio.sleep(0.02)
            calls.cancel_scope.cancel()

    talk(project, environ, work)
    pid = int(written.read_text())
    until(lambda: not os.path.exists(f"/proc/{pid}"))
