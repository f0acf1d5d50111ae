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


class TestCodex(AgentAdapterConformance):
    adapter = adapter("codex")
    originals = (b'{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}], "Stop": []}}',)


class TestGemini(AgentAdapterConformance):
    adapter = adapter("gemini")
    originals = (
        b'{\n  // mine\n  "theme": "dark"\n}\n',
        b'{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "timeout": 5}]}]}}',
    )


class TestQwen(AgentAdapterConformance):
    adapter = adapter("qwen")
    originals = (b'{ /* a */ "model": {"name": "m"} }\n',)


class TestDroid(AgentAdapterConformance):
    adapter = adapter("droid")
    originals = (b'{\n  "Stop": [{"hooks": [{"type": "command", "command": "x"}]}]\n}\n',)


class TestCopilot(AgentAdapterConformance):
    adapter = adapter("copilot")
    originals = ()


class TestCline(AgentAdapterConformance):
    adapter = adapter("cline")
    originals = ()


class TestOpencode(AgentAdapterConformance):
    adapter = adapter("opencode")
    originals = ()


class TestKilo(AgentAdapterConformance):
    adapter = adapter("kilo")
    originals = ()


class TestCursor(AgentAdapterConformance):
    adapter = adapter("cursor")
    originals = (b'{"version": 1, "hooks": {"stop": [{"command": "x"}]}}',)


class TestWindsurf(AgentAdapterConformance):
    adapter = adapter("windsurf")
    originals = (b'{"hooks": {"pre_run_command": [{"command": "x", "show_output": true}]}}',)


class TestKiro(AgentAdapterConformance):
    adapter = adapter("kiro")
    originals = ()


class TestCrush(AgentAdapterConformance):
    adapter = adapter("crush")
    originals = (b'{"$schema": "x", "hooks": {"PreToolUse": [{"command": "x", "matcher": "bash"}]}}',)


class TestAntigravity(AgentAdapterConformance):
    adapter = adapter("antigravity")
    originals = (b'{"mine": {"PreToolUse": [{"matcher": "*", "hooks": []}]}}',)


class TestDevin(AgentAdapterConformance):
    adapter = adapter("devin")
    originals = (b'{"model": "m"}',)


class TestGoose(AgentAdapterConformance):
    adapter = adapter("goose")
    originals = (b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',)


class TestAmp(AgentAdapterConformance):
    adapter = adapter("amp")
    originals = ()


def test_every_installed_adapter_is_tried() -> None:
    tried = {suite.adapter.name for suite in AgentAdapterConformance.__subclasses__()}
    assert tried == set(names())


def test_the_built_in_adapters_are_registered_as_entry_points() -> None:
    registered = {found.name: found.value.partition(":")[0] for found in GROUP.found()}
    for name, module in BUILT_IN.items():
        assert registered[name] == module
        assert GROUP.load(name) is adapter(name)
    assert set(BUILT_IN) <= set(names())


def test_an_unknown_adapter_is_an_error_with_the_known_names() -> None:
    with pytest.raises(PluginError, match="claude-code"):
        adapter("nobody")
