"""Claims about what the adapters of `chrono-agents` read out of the payloads that the real clients send."""

from __future__ import annotations

import json

import pytest

from chrono.agents.protocol import Call, Decision, PayloadRefused
from chrono.agents.registry import adapter

P = "/work/p"


def decode(client: str, **body: object) -> Call:
    return adapter(client).decode(json.dumps(body).encode())


def like_claude(client: str, event: str, tool: str, given: object, **more: object) -> Call:
    return decode(client, session_id="s", cwd=P, hook_event_name=event, tool_name=tool, tool_input=given, **more)


PATCH = "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** Update File: b/c.txt\n*** Move to: d.txt\n*** Delete File: e\n*** End Patch\n"


def test_codex_calls_a_shell_bash_and_puts_patches_into_its_command() -> None:
    call = like_claude("codex", "PreToolUse", "Bash", {"command": "ls"}, tool_use_id="c1", agent_id="a")
    assert (call.kind, call.commands, call.call_id, call.agent_id, call.can_ask) == ("shell", ("ls",), "c1", "a", False)
    call = like_claude("codex", "PreToolUse", "apply_patch", {"command": PATCH})
    assert (call.kind, call.commands, call.changes) == ("edit", (), True)
    assert call.paths == ("a.txt", "b/c.txt", "d.txt", "e")
    with pytest.raises(PayloadRefused):
        like_claude("codex", "PreToolUse", "apply_patch", {"command": "nonsense"})
    call = like_claude("codex", "PreToolUse", "mcp__demo__touch", {"path": f"{P}/x"})
    assert (call.kind, call.server, call.paths) == ("mcp", "demo", (f"{P}/x",))


@pytest.mark.parametrize(
    "text",
    [
        "bash",
        "bash --norc -i",
        " /bin/sh ",
        "python3",
        "python3 -q",
        "env FOO=1 python",
        "exec zsh",
        "node",
        "psql",
        "psql mydb",
        "sqlite3 dev.db",
        "ssh host",
        "ssh -t host",
        "cat | sh",
        "cat - | bash",
        "A=1 bash",
    ],
)
def test_codex_may_not_open_a_program_that_it_could_type_into(text: str) -> None:
    with pytest.raises(PayloadRefused, match="waits for input"):
        like_claude("codex", "PreToolUse", "Bash", {"command": text})
    assert like_claude("codex", "PostToolUse", "Bash", {"command": text}).event == "post"
    assert like_claude("qwen", "PreToolUse", "run_shell_command", {"command": text}).commands == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "bash -c 'ls'",
        "bash script.sh",
        "python3 -c 'print(1)'",
        "python3 -m pytest",
        "python3 --version",
        "python app.py",
        "node -e 1",
        "node server.js",
        "psql -c 'select 1'",
        "psql mydb -f x.sql",
        "sqlite3 dev.db '.tables'",
        "ssh host uptime",
        "ls",
        "echo bash",
        "cat x | sh",
        "which python3",
        "psql --version",
    ],
)
def test_codex_may_run_programs_that_are_told_everything_at_once(text: str) -> None:
    assert like_claude("codex", "PreToolUse", "Bash", {"command": text}).commands == (text,)


def test_gemini_names_its_mcp_server_in_the_context() -> None:
    call = like_claude("gemini", "BeforeTool", "run_shell_command", {"command": "ls"})
    assert (call.kind, call.commands, call.call_id) == ("shell", ("ls",), None)
    context = {"server_name": "my_server", "tool_name": "write_it"}
    call = like_claude("gemini", "BeforeTool", "mcp_my_server_write_it", {"path": "x"}, mcp_context=context)
    assert (call.kind, call.server, call.paths) == ("mcp", "my_server", ("x",))
    assert like_claude("gemini", "BeforeTool", "replace", {"file_path": "x"}).kind == "edit"
    assert not like_claude("gemini", "BeforeTool", "google_web_search", {"query": "x"}).changes
    failed = like_claude("gemini", "AfterTool", "replace", {"file_path": "x"}, tool_response={"error": "no"})
    assert (failed.event, failed.outcome) == ("post", "failed")


def test_qwen_asks_where_somebody_may_be_there() -> None:
    for mode, asks in (("default", True), ("auto_edit", True), ("yolo", False), ("auto", False)):
        call = like_claude("qwen", "PreToolUse", "run_shell_command", {"command": "x"}, permission_mode=mode)
        assert call.can_ask is asks
        reply = adapter("qwen").encode(Decision("ask", "why"), call)
        assert adapter("qwen").outcome(reply) == ("asks" if asks else "stops")


def test_droid_has_tools_of_its_own() -> None:
    assert like_claude("droid", "PreToolUse", "Execute", {"command": "ls"}).commands == ("ls",)
    assert like_claude("droid", "PreToolUse", "ApplyPatch", {"input": PATCH}).paths[0] == "a.txt"
    assert like_claude("droid", "PreToolUse", "Create", {"file_path": "x"}).kind == "write"


def test_copilot_names_no_event_and_may_send_arguments_as_text() -> None:
    given = {"command": "ls", "mode": "sync"}
    for arguments in (given, json.dumps(given)):
        call = decode("copilot", sessionId="s", cwd=P, toolName="bash", toolArgs=arguments, agentId="a")
        assert (call.event, call.commands, call.session, call.agent_id) == ("pre", ("ls",), "s", "a")
    done = decode(
        "copilot", sessionId="s", cwd=P, toolName="bash", toolArgs=given, toolResult={"resultType": "success"}
    )
    assert done.event == "post"
    assert decode("copilot", sessionId="s", cwd=P, source="new").event == "other"
    with pytest.raises(PayloadRefused):
        decode("copilot", sessionId="s", cwd=P, toolName="bash", toolArgs="{")
    with pytest.raises(PayloadRefused):
        decode("copilot", sessionId="s", cwd=P, toolName="apply_patch", toolArgs={"patch": "x"})


def test_cline_sends_several_commands_in_one_call() -> None:
    call = decode(
        "cline",
        taskId="t",
        workspaceRoots=[P],
        hookName="tool_call",
        tool_call={"id": "c", "name": "run_commands", "input": {"commands": ["ls", "rm x"]}},
    )
    assert (call.commands, call.cwd, call.call_id, call.session) == (("ls", "rm x"), P, "c", "t")
    call = decode(
        "cline",
        taskId="t",
        workspaceRoots=[P],
        hookName="PreToolUse",
        preToolUse={"toolName": "execute_command", "parameters": {"command": "ls"}},
    )
    assert call.commands == ("ls",)
    with pytest.raises(PayloadRefused):
        decode("cline", taskId="t", workspaceRoots=[P], hookName="tool_call")
    assert decode("cline", taskId="t", workspaceRoots=[P], hookName="agent_start").event == "other"


def test_opencode_takes_an_unknown_tool_with_an_underscore_for_an_mcp_server_s() -> None:
    for client in ("opencode", "kilo"):
        call = like_claude(client, "tool.execute.before", "demo_write_file", {"path": "x"})
        assert (call.kind, call.server, call.paths) == ("mcp", "demo", ("x",))
        assert like_claude(client, "tool.execute.before", "write", {"filePath": "x"}).paths == ("x",)
        assert not like_claude(client, "tool.execute.before", "plan_exit", {}).changes


def test_documented_payloads_are_read() -> None:
    call = decode(
        "cursor",
        hook_event_name="preToolUse",
        cwd="",
        workspace_roots=[P],
        tool_name="Shell",
        tool_input={"command": "ls"},
    )
    assert (call.commands, call.cwd) == (("ls",), P)
    call = decode("windsurf", agent_action_name="pre_write_code", tool_info={"file_path": f"{P}/x", "edits": []})
    assert (call.event, call.kind, call.paths) == ("pre", "edit", (f"{P}/x",))
    call = decode(
        "windsurf",
        agent_action_name="pre_mcp_tool_use",
        tool_info={"mcp_server_name": "db", "mcp_tool_name": "run_sql", "mcp_tool_arguments": {"command": "x"}},
    )
    assert (call.kind, call.server, call.commands) == ("mcp", "db", ("x",))
    call = like_claude("kiro", "PreToolUse", "fs_read", {"operations": [{"path": "a"}, {"path": "b"}]})
    assert (call.kind, call.paths) == ("read", ("a", "b"))
    call = like_claude("kiro", "PreToolUse", "@git/push_it", {})
    assert (call.kind, call.server) == ("mcp", "git")
    call = decode(
        "crush", event="PreToolUse", session_id="s", cwd=P, tool_name="mcp_db_write", tool_input={"path": "x"}
    )
    assert (call.kind, call.server, call.paths) == ("mcp", "db", ("x",))
    call = decode("antigravity", toolCall={"name": "write_to_file", "args": {"TargetFile": "x"}}, workspacePaths=[P])
    assert (call.event, call.paths) == ("pre", ("x",))
    assert like_claude("devin", "PreToolUse", "exec", {"command": "ls"}).commands == ("ls",)


def test_goose_calls_its_folder_otherwise_and_names_tools_by_extension() -> None:
    def goose(tool: str, given: object, event: str = "PreToolUse") -> Call:
        body = {"event": event, "session_id": "s", "tool_call_id": "c", "tool_name": tool, "tool_input": given}
        return decode("goose", **body, working_dir=P)

    call = goose("developer__shell", {"command": "ls"})
    assert (call.kind, call.commands, call.cwd, call.call_id, call.can_ask) == ("shell", ("ls",), P, "c", False)
    assert goose("developer__edit", {"path": "x", "before": "a", "after": "b"}).paths == ("x",)
    call = goose("github__delete_repo", {"path": "x"})
    assert (call.kind, call.server, call.changes) == ("mcp", "github", True)
    assert goose("developer__shell", {"command": "ls"}, "PostToolUseFailure").event == "fail"


def test_amp_has_the_plugin_send_what_others_send_themselves() -> None:
    call = like_claude("amp", "tool.call", "shell_command", {"command": "ls"}, tool_use_id="c")
    assert (call.kind, call.commands, call.call_id) == ("shell", ("ls",), "c")
    assert like_claude("amp", "tool.call", "apply_patch", {"patchText": PATCH}).paths[0] == "a.txt"
    assert like_claude("amp", "tool.result", "create_file", {"path": "x"}).event == "post"


@pytest.mark.parametrize(
    ("client", "tool", "given", "paths"),
    [
        ("gemini", "grep_search", {"pattern": "KEY", "dir_path": "/home/u/.ssh"}, ("/home/u/.ssh",)),
        ("qwen", "read_many_files", {"paths": ["a", "b/c"]}, ("a", "b/c")),
        ("droid", "Grep", {"pattern": "."}, ()),
        ("opencode", "grep", {"pattern": ".", "path": "x", "include": "*.pem"}, ("x", "*.pem")),
    ],
)
def test_what_looks_through_files_reads_those_it_names(
    client: str, tool: str, given: dict[str, object], paths: tuple[str, ...]
) -> None:
    event = {"gemini": "BeforeTool", "opencode": "tool.execute.before"}.get(client, "PreToolUse")
    call = like_claude(client, event, tool, given)
    assert (call.kind, call.paths, call.changes) == ("read" if paths else "other", paths, False)


def test_cline_reads_several_files_at_once() -> None:
    read = {"id": "c", "name": "read_files", "input": {"files": [{"path": "/a"}, {"path": "/b", "start_line": 2}]}}
    call = decode("cline", taskId="t", workspaceRoots=[P], hookName="tool_call", tool_call=read)
    assert (call.kind, call.paths) == ("read", ("/a", "/b"))


@pytest.mark.parametrize(
    ("tool", "given", "commands", "paths"),
    [
        ("batch", {"tool_calls": [{"tool": "bash", "parameters": {"command": "ls"}}]}, ("ls",), ()),
        ("write_bash", {"shellId": "1", "input": "curl x | sh\n"}, ("curl x | sh\n",), ()),
        ("send_to_terminal", {"id": 3, "keys": ["ls", "-l"]}, ("ls -l",), ()),
        ("run_it", {"CommandLine": "ls"}, ("ls",), ()),
        ("write_files", {"files": [{"path": "a", "content": "x"}, {"filePath": "b"}]}, (), ("a", "b")),
        ("say", {"input": "rm -rf /", "files": [{"path": "a"}]}, (), ()),
    ],
)
def test_an_unknown_tool_is_looked_into_at_any_depth(
    tool: str, given: dict[str, object], commands: tuple[str, ...], paths: tuple[str, ...]
) -> None:
    call = like_claude("opencode", "tool.execute.before", tool, given)
    assert (call.kind, call.commands, call.paths) == ("mcp", commands, paths)
