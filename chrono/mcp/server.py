"""Owns the MCP server: tools and resources of one project, over standard input and output, on the official SDK.

What a tool does is left to `mcp.tools`. Standard output belongs to the protocol, so nothing else is printed there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from chrono import __version__
from chrono.errors import ChronoError
from chrono.mcp import shapes
from chrono.mcp.tools import Tools, as_text
from chrono.policy.cover import within

_INSTRUCTIONS = (
    "chrono guards this project. Prefer chrono_run to a shell of your own: it judges the command, takes a savepoint "
    "before it, and goes back where it fails. chrono_rollback undoes what came later than a savepoint, and is undone "
    "by what it answers in `undo`."
)
_PROGRESS_S = 1.0

T = TypeVar("T")


def serve(start: str, environ: Mapping[str, str]) -> None:
    """Serves the project around `start` until standard input ends. Raises NoWorkspace, Denied."""
    build(Tools(start, environ)).run("stdio")


def build(tools: Tools) -> MCPServer:
    """The server with its tools and resources."""
    app = MCPServer("chrono", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    changes = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
    saves = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

    @app.tool(annotations=looks)
    async def chrono_scan(command: str) -> shapes.ScanResult:
        """Say what the guard would decide about a shell command. Nothing is run."""
        return await _told(lambda: tools.scan(command))

    @app.tool(annotations=changes)
    async def chrono_run(command: str, ctx: Context, timeout_s: float | None = None) -> shapes.RunResult:
        """Run a shell command in the project, with a savepoint before it. If it fails, the files go back."""
        await _check_roots(ctx, tools.root)
        return await _run(tools, command, timeout_s, ctx)

    @app.tool(annotations=saves)
    async def chrono_snapshot(message: str = "") -> shapes.SnapshotResult:
        """Take a savepoint of the project's files."""
        return await _told(lambda: tools.snapshot(message))

    @app.tool(annotations=looks)
    async def chrono_status() -> shapes.StatusResult:
        """Say what changed since the newest savepoint."""
        return await _told(tools.status)

    @app.tool(annotations=looks)
    async def chrono_log(limit: int = 20) -> shapes.LogResult:
        """List savepoints, newest first."""
        return await _told(lambda: tools.log(limit))

    @app.tool(annotations=changes)
    async def chrono_rollback(ctx: Context, id: str | None = None) -> shapes.RollbackResult:
        """Bring the files back as they were at a savepoint; without an id, at the newest one."""
        await _check_roots(ctx, tools.root)
        return await _told(lambda: tools.rollback(id))

    @app.tool(annotations=looks)
    async def chrono_audit_verify() -> shapes.VerifyResult:
        """Prove that nobody changed the audit log."""
        return await _told(tools.audit_verify)

    @app.resource("chrono://status", mime_type="application/json")
    async def status() -> shapes.StatusResult:
        """Where the project stands."""
        return await _told(tools.status)

    @app.resource("chrono://log", mime_type="application/json")
    async def log() -> shapes.LogResult:
        """The newest savepoints."""
        return await _told(lambda: tools.log(50))

    return app


async def _told(work: Callable[[], T]) -> T:
    """The result of `work`, done in a thread; an error of chrono's is told to the model in its own words."""
    try:
        return await anyio.to_thread.run_sync(work)
    except ChronoError as error:
        raise ToolError(as_text(error)) from None


async def _run(tools: Tools, command: str, timeout_s: float | None, ctx: Context) -> shapes.RunResult:
    """Runs in a thread; progress is reported each second, and a cancelled call ends everything it started."""
    stop = threading.Event()
    done = anyio.Event()
    result: list[shapes.RunResult] = []

    async def report() -> None:
        seconds = 0.0
        while not done.is_set():
            with anyio.move_on_after(_PROGRESS_S):
                await done.wait()
            seconds += _PROGRESS_S
            if not done.is_set():
                await ctx.report_progress(seconds, message="running")

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(report)
            try:
                work = lambda: tools.run(command, timeout_s, stop)  # noqa: E731
                result.append(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
            finally:
                done.set()
    except* ChronoError as errors:
        raise ToolError(as_text(_first(errors))) from None
    finally:
        stop.set()
    return result[0]


def _first(errors: BaseExceptionGroup[ChronoError]) -> ChronoError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ChronoError)
    return error


async def _check_roots(ctx: Context, root: str) -> None:
    """Raises ToolError where the client says what folders it works in, and this project is in none of them."""
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return
    try:
        with anyio.fail_after(5):
            listed = await ctx.session.list_roots()
    except Exception:  # a client that cannot tell its roots has not narrowed anything
        return
    folders = [_folder(str(one.uri)) for one in listed.roots]
    named = [folder for folder in folders if folder is not None]
    if named and not any(within(root, folder) or within(folder, root) for folder in named):
        raise ToolError(f"the client works in {', '.join(named)}, and the project is {root}")


def _folder(uri: str) -> str | None:
    parts = urlsplit(uri)
    return os.path.realpath(unquote(parts.path)) if parts.scheme == "file" else None
