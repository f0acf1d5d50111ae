"""Claims about the hook files of `chrono-agents`: whose they are, and that a guard that cannot run refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.agents.protocol import SettingsRefused
from chrono.agents.registry import adapter

OWN = ("amp", "copilot", "cline", "opencode", "kilo", "kiro")


def command(client: str, interpreter: str = "/py") -> str:
    return adapter(client).hook_command(interpreter, '/it\'s "odd"/chrono/guard/boot.py', "/s")


@pytest.mark.parametrize("client", OWN)
def test_a_file_of_its_own_is_known_again_and_another_s_is_left_alone(client: str) -> None:
    one = adapter(client)
    made = one.installed(None, command(client))
    assert one.installed(made, command(client)) == made
    newer = one.installed(made, command(client, "/newer"))
    assert [hook.command for hook in one.inspect(newer).hooks] == [command(client, "/newer")]
    assert one.inspect(newer + b"\n").problems
    for strange in (b"#!/bin/sh\necho mine\n", b"{}", b"\xff"):
        with pytest.raises(SettingsRefused):
            one.installed(strange, command(client))
        assert one.uninstalled(strange) == strange
        assert one.inspect(strange).hooks == ()


@pytest.mark.parametrize("shell", ["sh", "sh -e"])
@pytest.mark.parametrize(
    ("said", "status", "heard"),
    [("", 0, ""), ('{"cancel": true}', 0, "cancel"), ("", 42, "could not run"), ("", 9, "could not run")],
)
def test_the_script_for_cline_cancels_where_the_guard_cannot_run(
    tmp_path: Path, said: str, status: int, heard: str, shell: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nprintf '%s' '{said}'\nexit {status}\n")
    python.chmod(0o755)
    script = tmp_path / "PreToolUse"
    script.write_bytes(adapter("cline").installed(None, command("cline", str(python))))
    done = subprocess.run(["/usr/bin/env", *shell.split(), str(script)], input=b"{}", capture_output=True)
    assert done.returncode == 0
    assert heard in done.stdout.decode() if heard else done.stdout == b""
    if heard:
        assert json.loads(done.stdout)["cancel"] is True


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("client", ["opencode", "kilo"])
@pytest.mark.parametrize(("status", "refused"), [(0, False), (42, True), (1, True), (None, True)])
def test_the_plugin_throws_unless_the_guard_lets_the_call_run(
    tmp_path: Path, client: str, status: int | None, refused: bool
) -> None:
    python = tmp_path / "python"
    if status is not None:
        python.write_text(f"#!/bin/sh\ncat > {tmp_path}/seen\necho why >&2\nexit {status}\n")
        python.chmod(0o755)
    (tmp_path / "plugin.mjs").write_bytes(adapter(client).installed(None, command(client, str(python))))
    (tmp_path / "run.mjs").write_text(
        "import { ChronoGuard } from './plugin.mjs'\n"
        f"const hooks = await ChronoGuard({{ directory: {json.dumps(str(tmp_path))} }})\n"
        "const call = { tool: 'bash', sessionID: 's', callID: 'c' }\n"
        "try { await hooks['tool.execute.before'](call, { args: { command: 'ls \\ud800' } }); console.log('runs') }\n"
        "catch (error) { console.log('refused', error.message) }\n"
    )
    done = subprocess.run(
        ["node", str(tmp_path / "run.mjs")], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert done.stdout.startswith("refused" if refused else "runs"), done
    if status is not None:
        call = adapter(client).decode((tmp_path / "seen").read_bytes())
        assert (call.commands, call.cwd) == (("ls \ud800",), str(tmp_path))


def test_a_byte_order_mark_is_a_problem_where_the_client_cannot_read_it() -> None:
    for client, reads in (("codex", False), ("gemini", False), ("qwen", True), ("droid", True)):
        one = adapter(client)
        marked = b"\xef\xbb\xbf" + one.installed(None, command(client))
        assert (one.inspect(marked).problems == ()) is reads


def test_what_switches_hooks_off_is_reported() -> None:
    assert adapter("gemini").inspect(b'{"hooksConfig": {"enabled": false}}').problems
    assert adapter("gemini").inspect(b'{"hooksConfig": {"disabled": ["chrono"]}}').problems
    assert adapter("qwen").inspect(b'{"disableAllHooks": true} // off').problems
    assert adapter("codex").inspect(b"{} // no").problems


def test_goose_is_told_to_refuse_where_the_hook_comes_to_no_decision() -> None:
    one = adapter("goose")
    made = one.installed(None, command("goose"))
    assert json.loads(made)["hooks"]["PreToolUse"][0]["hooks"][0]["on_failure"] == "block"
    for broken in (b'"on_failure": "allow"', b'"on_failure": "other"'):
        assert one.inspect(made.replace(b'"on_failure": "block"', broken)).problems
    one_group = json.loads(made)
    one_group["hooks"]["PreToolUse"][0]["matcher"] = "*"
    assert one.inspect(json.dumps(one_group).encode()).problems


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(
    ("status", "action"), [(0, "allow"), (42, "reject-and-continue"), (None, "reject-and-continue")]
)
def test_the_plugin_for_amp_rejects_unless_the_guard_lets_the_call_run(
    tmp_path: Path, status: int | None, action: str
) -> None:
    python = tmp_path / "python"
    if status is not None:
        python.write_text(f"#!/bin/sh\ncat > {tmp_path}/seen\necho why >&2\nexit {status}\n")
        python.chmod(0o755)
    text = adapter("amp").installed(None, command("amp", str(python))).decode().replace(": any", "")
    (tmp_path / "plugin.mjs").write_text(text.replace(": string", ""))  # this node may not read TypeScript
    (tmp_path / "run.mjs").write_text(
        "import plugin from './plugin.mjs'\n"
        "const hooks = {}\n"
        "plugin({ on: (event, run) => { hooks[event] = run } })\n"
        "const call = { tool: 'shell_command', toolUseID: 'c', thread: { id: 't' }, input: { command: 'ls' } }\n"
        "console.log(JSON.stringify(await hooks['tool.call'](call)))\n"
    )
    done = subprocess.run(
        ["node", str(tmp_path / "run.mjs")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    said = json.loads(done.stdout)
    assert said["action"] == action
    assert action == "allow" or said["message"]
    if status is not None:
        call = adapter("amp").decode((tmp_path / "seen").read_bytes())
        assert (call.commands, call.session, call.cwd) == (("ls",), "t", str(tmp_path))


APP_SERVER = """#!/bin/sh
read line; echo '{"method": "noise"}'; echo '{"id": 1, "result": {}}'
read line; echo '{"id": 2, "result": {"data": [{"cwd": "/", "hooks": [%s]}]}}'; sleep 60
"""


@pytest.mark.parametrize(
    ("status", "enabled", "heard"),
    [
        ("trusted", True, ""),
        ("managed", True, ""),
        ("untrusted", True, "untrusted"),
        ("modified", True, "modified"),
        ("trusted", False, "switched off"),
        (None, True, "does not see"),
    ],
)
def test_codex_is_asked_whether_it_trusts_the_hook(
    tmp_path: Path, status: str | None, enabled: bool, heard: str
) -> None:
    path = str(tmp_path / "hooks.json")
    hook = {"command": command("codex"), "sourcePath": path, "trustStatus": status, "enabled": enabled}
    program = tmp_path / "codex"
    program.write_text(APP_SERVER % (json.dumps(hook).replace("\\", "\\\\").replace("'", "'\\''") if status else ""))
    program.chmod(0o755)
    said = adapter("codex").client_problems(path, str(tmp_path), {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert (heard in said[0]) if heard else said == ()


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense; cat", 'read a; echo \'{"id": 1, "error": {}}\''])
def test_a_codex_that_cannot_be_asked_is_no_problem_of_the_hook(tmp_path: Path, script: str) -> None:
    (tmp_path / "codex").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "codex").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert adapter("codex").client_problems("/x", str(tmp_path), environ) == ()
    assert adapter("codex").client_problems("/x", str(tmp_path), {"PATH": "/nowhere"}) == ()
