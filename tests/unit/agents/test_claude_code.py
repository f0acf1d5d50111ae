"""Claims about Claude Code's payloads and answers. The payloads have the form of version 2.1.332."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.agents.claude_code import ADAPTER, decode, encode, outcome
from chrono.agents.protocol import Call, Decision, PayloadRefused, Reply

BASE = {
    "session_id": "7fae3114",
    "transcript_path": "/home/u/.claude/projects/p/7fae3114.jsonl",
    "cwd": "/srv/project",
    "prompt_id": "7af380e2",
    "permission_mode": "default",
}


def payload(event: str, **members: object) -> bytes:
    return json.dumps({**BASE, "hook_event_name": event, **members}).encode() + b"\n"


def pre(tool: str, given: object, **members: object) -> Call:
    return decode(payload("PreToolUse", tool_name=tool, tool_input=given, tool_use_id="toolu_1", **members))


def test_a_bash_call_is_a_shell_command_that_may_change_files() -> None:
    call = pre("Bash", {"command": "touch x; echo ran", "description": "d"})
    assert call == Call(
        client="claude-code",
        event="pre",
        kind="shell",
        tool="Bash",
        commands=("touch x; echo ran",),
        changes=True,
        cwd="/srv/project",
        session="7fae3114",
        call_id="toolu_1",
        mode="default",
        can_ask=True,
    )


def test_a_powershell_call_is_read_as_powershell() -> None:
    assert pre("PowerShell", {"command": "rm x"}).shell == "powershell"


@pytest.mark.parametrize(
    ("tool", "given", "kind", "path"),
    [
        ("Write", {"file_path": "/srv/project/a", "content": "x"}, "write", "/srv/project/a"),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": False}, "edit", "a"),
        ("MultiEdit", {"file_path": "/a", "edits": []}, "edit", "/a"),
        ("NotebookEdit", {"notebook_path": "/n.ipynb", "cell_id": "c", "new_source": "2"}, "edit", "/n.ipynb"),
    ],
)
def test_an_edit_names_its_file(tool: str, given: object, kind: str, path: str) -> None:
    call = pre(tool, given)
    assert (call.kind, call.paths, call.changes) == (kind, (path,), True)


def test_reading_tools_change_nothing() -> None:
    assert pre("Read", {"file_path": "/a"})[2:8] == ("read", "Read", (), "bash", ("/a",), False)
    assert pre("Grep", {"pattern": "x"}).changes is False
    assert pre("Task", {"prompt": "x"}).changes is False


def test_a_tool_that_nobody_knows_may_change_files() -> None:
    assert pre("Frobnicate", {}).changes is True


def test_an_mcp_call_gives_its_commands_and_the_files_it_writes() -> None:
    server = {"name": "my__demo", "source": "project"}
    call = pre("mcp__my__demo__writeFile", {"path": "/x", "content": "y"}, mcp_server=server)
    assert (call.kind, call.server, call.paths, call.commands) == ("mcp", "my__demo", ("/x",), ())
    call = pre("mcp__sh__run", {"command": "rm -rf /"})
    assert (call.server, call.commands, call.paths) == ("sh", ("rm -rf /",), ())
    assert pre("mcp__sh__run", {"cmd": ["rm", "-rf", "my files"]}).commands == ("rm -rf 'my files'",)
    assert pre("mcp__sh__run", {"commands": ["a", "b"]}).commands == ("a", "b")
    assert pre("mcp__fs__read_file", {"path": "/x"}).paths == ()


@pytest.mark.parametrize("mode", ["bypassPermissions", "dontAsk", "auto", "somethingNew"])
def test_nobody_is_asked_where_the_mode_asks_nobody(mode: str) -> None:
    assert pre("Bash", {"command": "x"}, permission_mode=mode).can_ask is False


def test_results_carry_their_outcome() -> None:
    members = {"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "t", "duration_ms": 30}
    done = decode(payload("PostToolUse", tool_response={"stdout": "ran", "interrupted": False}, **members))
    assert (done.event, done.outcome, done.dur_ms, done.call_id) == ("post", "ok", 30, "t")
    stopped = decode(payload("PostToolUse", tool_response={"interrupted": True}, **members))
    assert stopped.outcome == "interrupted"
    failed = decode(payload("PostToolUseFailure", error="exit 1", is_interrupt=False, **members))
    assert (failed.event, failed.outcome) == ("fail", "failed")
    mcp = decode(payload("PostToolUse", tool_name="mcp__a__b", tool_input={}, tool_response="text"))
    assert mcp.outcome == "ok"


def test_sessions_have_two_ends() -> None:
    assert decode(payload("SessionStart", source="startup"))[1] == "session.start"
    ended = decode(payload("SessionEnd", reason="other"))
    assert (ended.event, ended.outcome, ended.session) == ("session.end", "other", "7fae3114")
    assert decode(payload("Stop")).event == "other"


def test_an_unknown_event_that_names_a_tool_is_judged() -> None:
    call = decode(payload("BeforeToolUse", tool_name="Bash", tool_input={"command": "ls"}))
    assert (call.event, call.commands) == ("pre", ("ls",))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"{}",
        payload("PreToolUse"),
        payload("PreToolUse", tool_name="Bash"),
        payload("PreToolUse", tool_name="Bash", tool_input="rm"),
        payload("PreToolUse", tool_name="Bash", tool_input={}),
        payload("PreToolUse", tool_name="Bash", tool_input={"command": ["rm"]}),
        payload("PreToolUse", tool_name="Write", tool_input={"content": "x"}),
        payload("PreToolUse", tool_name="", tool_input={}),
        payload("PreToolUse", tool_name="Bash", tool_input={"command": "x"}, cwd="relative"),
        payload("PreToolUse", tool_name="Bash", tool_input={"command": "x"}, cwd="/a\0b"),
        payload("PreToolUse", tool_name="Bash", tool_input={"command": "x"}, cwd=None),
        payload(""),
    ],
)
def test_what_is_not_understood_is_refused(data: bytes) -> None:
    with pytest.raises(PayloadRefused):
        decode(data)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        decode(data)
    except PayloadRefused:
        pass


def test_lone_surrogates_and_nul_survive() -> None:
    call = decode(payload("PreToolUse", tool_name="Bash", tool_input={"command": "echo \ud800\0 x"}))
    assert call.commands == ("echo \ud800\0 x",)
    reply = encode(Decision("block", "no: \ud800 \0 \x1b[2J \u202e"), call)
    assert reply.stderr == b"no: \\ud800 \\u0000 \\u001b[2J \\u202e\n"
    json.loads(reply.stdout)


def call_of(event: str, *, can_ask: bool = False) -> Call:
    return Call("claude-code", event, "shell", "Bash", ("x",), can_ask=can_ask)


def test_allow_is_silence() -> None:
    for call in (call_of("pre"), call_of("post"), None):
        assert encode(Decision("allow", "a savepoint with skips"), call) == Reply(b"", b"", 0)


REASONS = st.text(st.characters(codec=None, categories=None), max_size=60)


@given(st.sampled_from(["block", "ask"]), REASONS, st.sampled_from([call_of("pre"), None]))
def test_a_refusal_stops_the_client_in_three_ways(decision: str, reason: str, call: Call | None) -> None:
    reply = encode(Decision(decision, reason), call)
    assert outcome(reply) == "stops"
    assert reply.exit_code == 2
    assert reply.stderr.strip()
    said = json.loads(reply.stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse"
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"]
    assert outcome(reply._replace(exit_code=0)) == "stops"
    assert outcome(reply._replace(stdout=b"")) == "stops"


def test_ask_asks_only_where_somebody_can_answer() -> None:
    asking = encode(Decision("ask", "sure?"), call_of("pre", can_ask=True))
    assert outcome(asking) == "asks"
    assert asking.exit_code == 0
    assert asking.stderr == b""
    assert outcome(encode(Decision("ask", "sure?"), call_of("pre"))) == "stops"


def test_after_the_call_a_reason_is_told_but_decides_nothing() -> None:
    reply = encode(Decision("block", "it ran although it was denied"), call_of("post"))
    assert (reply.stdout, reply.exit_code) == (b"", 2)


def test_a_long_reason_is_cut() -> None:
    assert len(encode(Decision("block", "x" * 100_000), call_of("pre")).stderr) < 5000


@pytest.mark.parametrize(
    ("reply", "does"),
    [
        (Reply(b"", b"", 0), "runs"),
        (Reply(b"hello", b"", 0), "runs"),
        (Reply(b'{"hookSpecificOutput":{"permissionDecision":"deny"}}', b"", 0), "runs"),
        (Reply(b"", b"", 1), "stops"),
        (Reply(b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}', b"", 0), "runs"),
    ],
)
def test_what_the_client_does_is_told_as_measured(reply: Reply, does: str) -> None:
    assert outcome(reply) == does


def test_the_sample_is_a_payload() -> None:
    call = decode(ADAPTER.sample("rm -rf /", cwd="/p"))
    assert (call.kind, call.commands, call.cwd) == ("shell", ("rm -rf /",), "/p")
