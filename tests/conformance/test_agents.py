"""Every installed adapter passes the public suite, and is found through its entry point like a stranger's."""

import pytest

from chrono.agents.claude_code import ADAPTER
from chrono.agents.registry import BUILT_IN, GROUP, adapter, names
from chrono.errors import PluginError
from chrono.testing.agents import AgentAdapterConformance


class TestClaudeCode(AgentAdapterConformance):
    adapter = ADAPTER
    originals = (
        b'{\n  "model": "opus"\n}\n',
        b'{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}}',
        b'{\r\n\t"permissions": {"allow": []}\r\n}',
    )


def test_the_built_in_adapters_are_registered_as_entry_points() -> None:
    registered = {found.name: found.value.partition(":")[0] for found in GROUP.found()}
    for name, module in BUILT_IN.items():
        assert registered[name] == module
        assert GROUP.load(name) is adapter(name)
    assert set(BUILT_IN) <= set(names())


def test_an_unknown_adapter_is_an_error_with_the_known_names() -> None:
    with pytest.raises(PluginError, match="claude-code"):
        adapter("nobody")
