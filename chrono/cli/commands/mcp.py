"""Owns `chrono mcp`: starts the MCP server of `chrono.mcp`, or says how to get it."""

from __future__ import annotations

import typer

from chrono.cli.options import screen_of
from chrono.cli.place import here
from chrono.errors import PluginError


def run(ctx: typer.Context) -> None:
    """Serve this project to an agent over the Model Context Protocol.

    Speaks on standard input and output; clients start it, people do not. Its tools are chrono_scan, chrono_run,
    chrono_snapshot, chrono_status, chrono_log, chrono_rollback and chrono_audit_verify.
    """
    from importlib.util import find_spec

    screen = screen_of(ctx)
    if find_spec("mcp") is None:
        raise PluginError(
            "the MCP server needs a package that is not installed", "in the checkout of chrono: pip install '.[mcp]'"
        )
    from chrono.mcp.server import serve

    serve(here(), screen.environ)
