"""Claims about docs/reference/clients.md: the versions are those that are run, and the gaps those that adapters tell."""

from __future__ import annotations

import re
from pathlib import Path

from chrono.agents.protocol import SUBFOLDER, WORKTREE
from chrono.agents.registry import adapter

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = "claude-code codex gemini qwen copilot cline droid opencode kilo".split()
ROWS = {
    cells[0]: dict(zip(CLIENTS, cells[1:], strict=True))
    for line in (ROOT / "docs/reference/clients.md").read_text().splitlines()
    if line.startswith("| ") and "---" not in line
    for cells in [[cell.strip() for cell in line.strip("| ").split(" | ")]]
    if len(cells) == len(CLIENTS) + 1
}


def test_the_versions_are_those_that_the_tests_run() -> None:
    pinned = dict(re.findall(r'^install (\S+) "\S+@([\d.]+)"', (ROOT / "scripts/clients").read_text(), re.MULTILINE))
    assert {client: pinned[client] for client in CLIENTS} == ROWS["version"]


def test_what_a_client_does_not_do_is_among_its_gaps() -> None:
    waits = next(row for name, row in ROWS.items() if name.startswith("the hook outlasts"))
    below = next(row for name, row in ROWS.items() if name.startswith("started in a subfolder"))
    linked = next(row for name, row in ROWS.items() if name.startswith("in a linked work tree"))
    for client in CLIENTS:
        gaps = adapter(client).gaps("project")
        assert waits[client].startswith("runs") == any("outlasts its time" in gap for gap in gaps), client
        assert (below[client] == "not guarded") == (SUBFOLDER in gaps), client
        assert (linked[client] == "not guarded") == (WORKTREE in gaps), client
