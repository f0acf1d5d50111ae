"""Owns running the real clients, offline, against the fake model, in a folder of their own.

The clients are installed by scripts/clients; tests skip where one is not there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chrono.run.process import MARK, left_behind
from tests.e2e.fake_models import FakeModel, ToolUse, serving
from tests.e2e.real_client import CHECKOUT, Ran, environment


class Client(NamedTuple):
    """One client. `program` below its folder of node_modules; `shell` and `write` its two tools as the model names them.

    - `aside`: the tool that has a subagent do what a prompt says; None where none can be started offline.
    - `serve` tells the client of an MCP server "files" that a command starts, `reach` names a tool of that server;
      None where no way is known to do so without a person.
    - `scope`: of the hooks. `patience_s`: how long a run may take; opencode works half a minute of processor time before
      it asks the model anything, and several times that on a busy machine.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    shell: Callable[[str], ToolUse]
    write: Callable[[Path, str], ToolUse]
    prepare: Callable[[Path, Path, int], dict[str, str]]
    aside: Callable[[str], ToolUse] | None
    serve: Callable[[Path, Path, list[str]], None] | None = None
    reach: Callable[[str, dict[str, object]], ToolUse] | None = None
    scope: str = "project"
    patience_s: float = 180


def _bash(name: str, **more: Any) -> Callable[[str], ToolUse]:
    return lambda command: ToolUse(name, {"command": command, "description": "x", **more})


def _put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def _merge(path: Path, value: dict[str, object]) -> None:
    """Adds top members to a settings file that `guard install` may have written to already."""
    before = json.loads(path.read_text()) if path.exists() else {}
    _put(path, {**before, **value})


def _claude(home: Path, project: Path, port: int) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, project: Path, port: int) -> dict[str, str]:
    _put(
        home / ".codex" / "config.toml",
        f"""\
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."{project}"]
trust_level = "trusted"
""",
    )
    return {"CODEX_HOME": str(home / ".codex"), "FAKE_KEY": "x"}


def _gemini(home: Path, project: Path, port: int) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "telemetry": {"enabled": False},
    }
    _merge(home / ".gemini" / "settings.json", settings)
    return {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}"}


def _qwen(home: Path, project: Path, port: int) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "model": {"name": "fake"},
    }
    _merge(home / ".qwen" / "settings.json", settings)
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_MODEL": "fake"}


def _copilot(home: Path, project: Path, port: int) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_MODEL": "gpt-4.1",
    }


def _cline(home: Path, project: Path, port: int) -> dict[str, str]:
    more = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "x", "CLINE_NO_AUTO_UPDATE": "1"}
    done = subprocess.run(
        [
            program("cline", "cline"),
            "auth",
            "-p",
            "openai-compatible",
            "-k",
            "x",
            "-m",
            "fake-model",
            "-b",
            more["OPENAI_BASE_URL"],
        ],
        env={**environment(home), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    return more


def _droid(home: Path, project: Path, port: int) -> dict[str, str]:
    model = {
        "model": "fake-model",
        "displayName": "fake",
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "apiKey": "x",
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 8000,
    }
    _put(
        home / ".factory" / "settings.json",
        {"customModels": [model], "enableDroidShield": False, "cloudSessionSync": False},
    )
    return {"FACTORY_API_KEY": "fk-fake", "FACTORY_API_BASE_URL": f"http://127.0.0.1:{port}"}


def _opencode(file: str) -> Callable[[Path, Path, int], dict[str, str]]:
    def prepare(home: Path, project: Path, port: int) -> dict[str, str]:
        limits = {"context": 100_000, "output": 8000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "fake",
            "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "x"},
            "models": {"m": {"name": "m", "tool_call": True, "limit": limits}},
        }
        _put(
            project / file,
            {
                "model": "fake/m",
                "small_model": "fake/m",
                "autoupdate": False,
                "share": "disabled",
                "provider": {"fake": provider},
            },
        )
        return {
            "KILO_DISABLE_AUTOUPDATE": "1",
            "KILO_DISABLE_MODELS_FETCH": "1",
            "KILO_TELEMETRY": "0",
            "DO_NOT_TRACK": "1",
        }

    return prepare


def _patch(path: Path, content: str) -> ToolUse:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return ToolUse("apply_patch", {"raw": f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"})


def _writer(name: str, path_key: str, text_key: str, **more: Any) -> Callable[[Path, str], ToolUse]:
    return lambda path, text: ToolUse(name, {path_key: str(path), text_key: text, **more})


def _aside(tool: str, **more: object) -> Callable[[str], ToolUse]:
    return lambda prompt: ToolUse(tool, {"description": "aside", "prompt": prompt, **more})


def _listed(file: str, **more: object) -> Callable[[Path, Path, list[str]], None]:
    """The table of MCP servers that most clients share, in a file below the home."""

    def serve(home: Path, project: Path, command: list[str]) -> None:
        server = {"command": command[0], "args": command[1:], **more}
        _merge(home / file, {"mcpServers": {"files": server}})

    return serve


def _named(form: str) -> Callable[[str, dict[str, object]], ToolUse]:
    return lambda tool, given: ToolUse(form.format(tool), given)


def _claude_serve(home: Path, project: Path, command: list[str]) -> None:
    _put(project / ".mcp.json", {"mcpServers": {"files": {"command": command[0], "args": command[1:]}}})
    _merge(home / ".claude" / "settings.json", {"enableAllProjectMcpServers": True})


def _codex_serve(home: Path, project: Path, command: list[str]) -> None:
    with (home / ".codex" / "config.toml").open("a") as settings:
        settings.write(f"[mcp_servers.files]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n")
        settings.write('default_tools_approval_mode = "approve"\nstartup_timeout_sec = 60\nrequired = true\n')


def _opencode_serve(file: str) -> Callable[[Path, Path, list[str]], None]:
    def serve(home: Path, project: Path, command: list[str]) -> None:
        _merge(project / file, {"mcp": {"files": {"type": "local", "command": command, "enabled": True}}})

    return serve


CLAUDE = Client(
    "claude-code",
    "claude",
    ("-p", "go", "--output-format", "json", "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"),
    _bash("Bash"),
    _writer("Write", "file_path", "content"),
    _claude,
    _aside("Task", subagent_type="general-purpose"),
    _claude_serve,
    _named("mcp__files__{}"),
)
CODEX = Client(
    "codex",
    "codex",
    ("exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust", "go"),
    lambda command: ToolUse("exec_command", {"cmd": command}),
    _patch,
    _codex,
    lambda prompt: ToolUse(
        "spawn_agent", {"message": prompt, "task": prompt, "agent_type": "default"}, "multi_agent_v1"
    ),
    _codex_serve,
    lambda tool, given: ToolUse(tool, given, "mcp__files"),
)
GEMINI = Client(
    "gemini",
    "gemini",
    ("-p", "go", "-m", "gemini-2.5-flash", "--output-format", "json", "--yolo"),
    _bash("run_shell_command"),
    _writer("write_file", "file_path", "content"),
    _gemini,
    lambda prompt: ToolUse("invoke_agent", {"agent_name": "generalist", "prompt": prompt}),
    _listed(".gemini/settings.json", trust=True),
    _named("mcp_files_{}"),
)
QWEN = Client(
    "qwen",
    "qwen",
    ("-p", "go", "--output-format", "json", "--auth-type", "openai", "--yolo"),
    _bash("run_shell_command", is_background=False),
    _writer("write_file", "file_path", "content"),
    _qwen,
    _aside("agent", subagent_type="general-purpose"),
    _listed(".qwen/settings.json", trust=True),
    _named("mcp__files__{}"),
)
COPILOT = Client(
    "copilot",
    "copilot",
    ("-p", "go", "--allow-all-tools", "--trust-folder", "--output-format", "json"),
    _bash("bash", mode="sync"),
    _writer("create", "path", "file_text"),
    _copilot,
    _aside("task", agent_type="general-purpose", name="n"),
    _listed(".copilot/mcp-config.json", type="local", tools=["*"]),
    _named("files-{}"),
)
CLINE = Client(
    "cline",
    "cline",
    ("--json", "go and do it now"),
    lambda command: ToolUse("run_commands", {"commands": [command]}),
    lambda path, text: ToolUse("editor", {"command": "create", "path": str(path), "new_text": text, "file_text": text}),
    _cline,
    lambda prompt: ToolUse("spawn_agent", {"systemPrompt": "x", "task": prompt, "prompt": prompt}),
)
DROID = Client(
    "droid",
    "../@factory/cli-linux-x64/bin/droid",
    ("exec", "-m", "custom:fake-0", "--skip-permissions-unsafe", "go"),
    _bash("Execute", riskLevelReason="x", riskLevel="low", timeout=60),
    _writer("Create", "file_path", "content"),
    _droid,
    None,  # its subagents need the vendor's daemon, which nobody reaches offline
    _listed(".factory/mcp.json", type="stdio", disabled=False),
    _named("files___{}"),
)
OPENCODE = Client(
    "opencode",
    "opencode",
    ("run", "go", "-m", "fake/m", "--format", "json"),
    _bash("bash"),
    _writer("write", "filePath", "content"),
    _opencode("opencode.json"),
    _aside("task", subagent_type="general"),
    _opencode_serve("opencode.json"),
    _named("files_{}"),
    patience_s=900,
)
KILO = Client(
    "kilo",
    "../@kilocode/cli-linux-x64/bin/kilo",
    ("run", "go", "-m", "fake/m", "--format", "json", "--auto"),
    _bash("bash"),
    _writer("write", "filePath", "content"),
    _opencode("kilo.json"),
    _aside("task", subagent_type="general"),
    _opencode_serve("kilo.json"),
    _named("files_{}"),
    patience_s=900,
)


def program(name: str, command: str) -> str:
    """The pinned client; skips the test, with the reason, where it is not installed."""
    chosen = os.environ.get("CHRONO_TEST_CLIENTS") or str(CHECKOUT / ".cache" / "clients")
    path = os.path.normpath(os.path.join(chosen, name, "node_modules", ".bin", command))
    if not os.access(path, os.X_OK):
        pytest.skip(f"the client {name} is not installed; scripts/clients installs it where npm is present")
    return path


def run(
    client: Client,
    model: FakeModel,
    *,
    home: Path,
    project: Path,
    below: str = "",
    server: list[str] | None = None,
    **more: str,
) -> Ran:
    """One headless run of the client in `project`, or `below` it, with everything it may do switched on.

    `server`: the command of an MCP server that it may use.
    """
    path = program(client.name, client.program)
    with serving(model):
        environ = {**environment(home), **client.prepare(home, project, model.port), **more}
        if server is not None and client.serve is not None:
            client.serve(home, project, server)
        environ.setdefault("XDG_DATA_HOME", str(home / ".local" / "share"))
        environ.setdefault("XDG_CACHE_HOME", str(home / ".cache"))
        mark = f"test-{os.getpid()}-{client.name}"
        try:
            done = subprocess.run(
                [path, *client.arguments],
                cwd=project / below,
                env={**environ, MARK: mark},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=client.patience_s,
            )
        finally:
            for left in left_behind(mark):  # Cline leaves a daemon that outlives its run
                os.kill(left.pid, signal.SIGKILL)
    return Ran(done.returncode, done.stdout, done.stderr)
