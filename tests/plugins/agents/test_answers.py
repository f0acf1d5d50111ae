"""Claims about the answers of the adapters of `chrono-agents`: what the real clients were seen to obey."""

from __future__ import annotations

import json

import pytest

from chrono.agents.protocol import Decision, Reply
from chrono.agents.registry import adapter, names

NO = Decision("block", "because")


def refusal(client: str) -> Reply:
    return adapter(client).encode(NO, None)


@pytest.mark.parametrize("client", names())
def test_a_refusal_tells_why_on_both_streams(client: str) -> None:
    reply = refusal(client)
    assert b"because" in reply.stdout and b"because" in reply.stderr


@pytest.mark.parametrize(
    "client",
    ["codex", "qwen", "droid", "kiro", "devin", "crush", "windsurf", "opencode", "kilo", "gemini", "goose", "amp"],
)
def test_status_two_refuses_where_the_client_obeys_it(client: str) -> None:
    assert refusal(client).exit_code == 2


@pytest.mark.parametrize("client", ["copilot", "cline", "cursor"])
def test_status_zero_where_another_would_lose_the_reason(client: str) -> None:
    assert refusal(client).exit_code == 0


def test_each_client_gets_its_own_words() -> None:
    assert json.loads(refusal("gemini").stdout) == {"decision": "deny", "reason": "because"}
    assert json.loads(refusal("copilot").stdout)["permissionDecision"] == "deny"
    assert json.loads(refusal("cline").stdout) == {"cancel": True, "errorMessage": "because"}
    assert json.loads(refusal("cursor").stdout)["permission"] == "deny"
    said = json.loads(refusal("codex").stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse" and said["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    "client", ["codex", "gemini", "droid", "cline", "opencode", "kilo", "copilot", "windsurf", "kiro"]
)
def test_ask_becomes_a_refusal_where_nobody_would_be_asked(client: str) -> None:
    one = adapter(client)
    call = one.decode(one.sample("ls", cwd="/work/p"))
    assert one.outcome(one.encode(Decision("ask", "because"), call)) == "stops"


def test_what_lets_a_call_run_is_known_for_what_it_is() -> None:
    for client in ("codex", "qwen", "droid"):
        assert adapter(client).outcome(Reply(b"", b"x", 1)) == "runs"
        assert adapter(client).outcome(Reply(b'{"decision": "block"', b"", 0)) == "runs"
        assert adapter(client).outcome(Reply(b"", b"", 2)) == "runs"
    assert adapter("gemini").outcome(Reply(b"{}x", b"y", 2)) == "runs"
    assert adapter("gemini").outcome(Reply(b"", b"y", 2)) == "stops"
    assert adapter("cline").outcome(Reply(b"", b"y", 2)) == "runs"
    assert adapter("copilot").outcome(Reply(b"", b"", 1)) == "stops"
