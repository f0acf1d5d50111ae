"""Claims about chrono's entries in a settings file of Claude Code."""

import json

import pytest

from chrono.agents.claude_code import ADAPTER
from chrono.agents.claude_settings import EVENTS
from chrono.agents.protocol import SettingsRefused

COMMAND = ADAPTER.hook_command("/opt/py/bin/python3", "/opt/site/chrono/guard/boot.py", "/p/.claude/settings.json")
OLDER = ADAPTER.hook_command("/old/python3", "/old/chrono/guard/boot.py", "/p/.claude/settings.json")

WITH_OTHERS = """{
    "model": "opus",
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "other-guard"}]}
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
    },
    "zzz": 1.50
}
"""


def test_the_installed_command_is_the_documented_one() -> None:
    assert COMMAND == (
        '"/opt/py/bin/python3" -I -S "/opt/site/chrono/guard/boot.py" claude-code || case $? in 42) exit 2;; *) echo '
        '"chrono: the guard could not run, so this call is denied. Reinstall chrono-toolkit or remove the entry in '
        '/p/.claude/settings.json" >&2; exit 2;; esac'
    )


def test_paths_cannot_break_out_of_the_command() -> None:
    command = ADAPTER.hook_command("/a$(touch x)/`id`/python", '/b"; rm -rf ~; "/boot.py', "/s")
    assert command.startswith('"/a\\$(touch x)/\\`id\\`/python" -I -S "/b\\"; rm -rf ~; \\"/boot.py" ')
    with pytest.raises(SettingsRefused):
        ADAPTER.hook_command("/a\nb/python", "/boot.py", "/s")
    with pytest.raises(SettingsRefused):
        ADAPTER.hook_command("python3", "/boot.py", "/s")


def test_a_new_file_holds_five_hooks_and_the_guard_is_closed() -> None:
    value = json.loads(ADAPTER.installed(None, COMMAND))
    assert tuple(value["hooks"]) == EVENTS
    assert value["hooks"]["PreToolUse"] == [
        {"matcher": "*", "hooks": [{"type": "command", "command": COMMAND, "timeout": 30, "onFailure": "block"}]}
    ]
    assert value["hooks"]["SessionEnd"] == [{"hooks": [{"type": "command", "command": COMMAND, "timeout": 30}]}]
    assert ADAPTER.inspect(ADAPTER.installed(None, COMMAND)).problems == ()


@pytest.mark.parametrize(
    "text", [WITH_OTHERS, WITH_OTHERS.replace("\n", "\r\n"), "\ufeff" + WITH_OTHERS, '{"a": [1,2]}']
)
def test_other_entries_their_order_and_their_form_stay(text: str) -> None:
    before = text.encode()
    after = ADAPTER.installed(before, COMMAND)
    assert ADAPTER.uninstalled(after) == before
    kept = [line for line in after.decode().splitlines() if line in text.splitlines()]
    assert len(kept) >= len(text.splitlines()) - 3
    value = json.loads(after.decode().removeprefix("\ufeff"))
    assert value["hooks"]["PreToolUse"][-1]["hooks"][0]["command"] == COMMAND


def test_installing_twice_changes_nothing() -> None:
    once = ADAPTER.installed(WITH_OTHERS.encode(), COMMAND)
    assert ADAPTER.installed(once, COMMAND) == once


def test_an_earlier_chrono_is_replaced_not_doubled() -> None:
    older = ADAPTER.installed(WITH_OTHERS.encode(), OLDER)
    newer = ADAPTER.installed(older, COMMAND)
    assert OLDER not in str(json.loads(newer))
    assert len(ADAPTER.inspect(newer).hooks) == len(EVENTS)
    assert ADAPTER.uninstalled(newer) == WITH_OTHERS.encode()


def test_a_hook_that_was_moved_into_another_group_is_found_and_taken_out() -> None:
    value = json.loads(WITH_OTHERS)
    value["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": COMMAND})
    text = json.dumps(value).encode()
    assert [hook.closed for hook in ADAPTER.inspect(text).hooks] == [False]
    out = ADAPTER.uninstalled(text)
    assert out is not None and json.loads(out) == json.loads(WITH_OTHERS)


def test_nothing_is_left_of_a_file_that_only_held_the_hooks() -> None:
    assert ADAPTER.uninstalled(ADAPTER.installed(None, COMMAND)) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("// hello\n" + WITH_OTHERS, "line 1, column 1: a comment"),
        (WITH_OTHERS.replace("1.50", "1.50,"), "a trailing comma"),
        ("[]", "not a JSON object"),
        ('{"hooks": []}', "not an object"),
        ('{"hooks": {"PreToolUse": {}}}', "not a list"),
        ('{"disableAllHooks": true}', "no hook at all"),
        ('{"disableAllHooks": "yes"}', "ignores the whole file"),
        ('{"permissions": "all"}', "ignores the whole file"),
        ('{"env": ["x"]}', "ignores the whole file"),
        ('{"model": 1}', "ignores the whole file"),
        ('{"hooks": {"PreToolUse": ["x"]}}', "drops every PreToolUse hook"),
        ('{"hooks": {"PreToolUse": [{"matcher": 1, "hooks": []}]}}', "drops every PreToolUse hook"),
        ('{"hooks": {"PreToolUse": [{"hooks": [{"type": "zz"}]}]}}', "drops every PreToolUse hook"),
        (
            '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "onFailure": "stop"}]}]}}',
            "drops every PreToolUse hook",
        ),
        ("\xff", "not strict JSON"),
    ],
)
def test_a_file_whose_hooks_would_silently_not_run_is_refused_and_reported(text: str, why: str) -> None:
    before = text.encode()
    with pytest.raises(SettingsRefused) as caught:
        ADAPTER.installed(before, COMMAND)
    assert why in caught.value.message
    assert caught.value.hint
    if "not a list" not in why:
        assert any(why in problem for problem in ADAPTER.inspect(before).problems)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(SettingsRefused, match="not UTF-8"):
        ADAPTER.installed(b"\xff\xfe{}", COMMAND)
    assert ADAPTER.inspect(b"\xff\xfe{}").problems


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"onFailure": "block"', '"onFailure": "continue"'),
        ('"matcher": "*"', '"matcher": "Bash"'),
        ('"timeout": 30', '"timeout": 5'),
        ('"type": "command"', '"async": true, "type": "command"'),
        ('"type": "command"', '"if": "Bash(ls)", "type": "command"'),
    ],
)
def test_a_weakened_hook_is_reported(old: str, new: str) -> None:
    weakened = ADAPTER.installed(None, COMMAND).decode().replace(old, new)
    found = ADAPTER.inspect(weakened.encode())
    assert any("does not guard every tool" in problem for problem in found.problems)


def test_a_missing_event_is_reported() -> None:
    value = json.loads(ADAPTER.installed(None, COMMAND))
    del value["hooks"]["PostToolUseFailure"]
    assert ADAPTER.inspect(json.dumps(value).encode()).problems == ("the hook for PostToolUseFailure is missing",)
