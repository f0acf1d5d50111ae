"""Owns a small MCP server with one tool, `write_file`, as the tests of the clients need it: no SDK, JSON-RPC by lines."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "write_file",
    "description": "Writes a file.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["path", "text"],
    },
}


def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    if method == "initialize":
        return {
            "protocolVersion": given["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with open(given["arguments"]["path"], "w") as file:
            file.write(given["arguments"]["text"])
        return {"content": [{"type": "text", "text": "written"}], "isError": False}
    return {}


def main() -> None:
    """Answers until its input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(asked["method"], asked.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
