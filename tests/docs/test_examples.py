"""Claims about the files under docs/examples: they are what chrono reads, not what it once read."""

from __future__ import annotations

import json
from pathlib import Path

from chrono.cli.app import VERBS
from chrono.policy.load import parse

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def test_the_policy_is_valid() -> None:
    text = (EXAMPLES / "chrono-policy.yaml").read_text()
    parse(text, "chrono-policy.yaml", layer="project")


def test_the_mcp_configuration_starts_a_verb_that_exists() -> None:
    servers = json.loads((EXAMPLES / "mcp-config.json").read_text())["mcpServers"]
    for server in servers.values():
        assert server["command"] == "chrono"
        assert server["args"][0] in VERBS
