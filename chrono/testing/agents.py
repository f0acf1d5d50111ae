"""Owns the conformance suite that every adapter to an agent client must pass, those of strangers too.

Derive from AgentAdapterConformance in a test module and set `adapter`. What an adapter is, is said by
`chrono.agents.protocol`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from chrono.agents.protocol import API_VERSION, EVENTS, KINDS, AgentAdapter, Call, Decision, PayloadRefused, Reply

REASONS = ("no", "", " \n", "a\x00b", "lone \ud800", "\x1b[2J", "\u202egnp.exe", "x" * 50_000, "{}", '"', "ünï")


class AgentAdapterConformance:
    """Claims about one adapter. `originals` are settings files that hold more than chrono's hooks would need, as
    a person may have them, for install and back; none where the file is chrono's alone."""

    adapter: AgentAdapter
    originals: tuple[bytes, ...] = ()

    def call(self, command: str = "ls", cwd: str = "/srv/project") -> Call:
        return self.adapter.decode(self.adapter.sample(command, cwd=cwd))

    def test_it_speaks_this_version_and_has_a_name(self) -> None:
        assert self.adapter.api_version == API_VERSION
        assert self.adapter.name and self.adapter.name == self.adapter.name.lower()
        assert self.adapter.title

    @pytest.mark.parametrize("command", ["ls", "", "rm -rf /", "echo 'a\nb'", "echo \ud800\x00", "é" * 10_000])
    def test_a_shell_call_arrives_unchanged(self, command: str) -> None:
        call = self.call(command)
        assert call.client == self.adapter.name
        assert call.event == "pre" and call.event in EVENTS
        assert call.kind == "shell" and call.kind in KINDS
        assert call.commands == (command,)
        assert call.cwd == "/srv/project"
        assert call.changes

    @pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b"[" * 50_000, b"0", b'"x"'])
    def test_what_is_not_understood_is_refused_not_guessed(self, payload: bytes) -> None:
        with pytest.raises(PayloadRefused):
            self.adapter.decode(payload)

    def test_allow_is_silence(self) -> None:
        for call in (self.call(), None):
            assert self.adapter.encode(Decision("allow"), call) == Reply(b"", b"", 0)
            assert self.adapter.encode(Decision("allow", "a reason"), call) == Reply(b"", b"", 0)
        assert self.adapter.outcome(Reply(b"", b"", 0)) == "runs"

    @pytest.mark.parametrize("reason", REASONS)
    def test_a_block_stops_the_client_whatever_the_reason(self, reason: str) -> None:
        for call in (self.call(), None):
            reply = self.adapter.encode(Decision("block", reason), call)
            assert self.adapter.outcome(reply) == "stops"
            assert b"\x1b" not in reply.stdout + reply.stderr

    @pytest.mark.parametrize("reason", REASONS)
    def test_ask_never_lets_a_call_run_unasked(self, reason: str) -> None:
        call = self.call()
        asked = self.adapter.outcome(self.adapter.encode(Decision("ask", reason), call))
        assert asked in (("asks", "stops") if call.can_ask else ("stops",))
        for nobody in (call._replace(can_ask=False), None):
            assert self.adapter.outcome(self.adapter.encode(Decision("ask", reason), nobody)) == "stops"

    @pytest.mark.parametrize("shell", ["sh", "sh -e"])
    def test_a_crash_of_the_hook_lets_nothing_run(self, tmp_path: Path, shell: str) -> None:
        """Also where the client hands its shell the option to end at the first failure (an exported SHELLOPTS)."""
        for body, code in (("exit 0", 0), ("exit 42", 2), ("exit 1", 2), ("exit 2", 2), ("kill -9 $$", 2)):
            assert self._hook_exit(tmp_path, shell, body) == code, body
        assert self._hook_exit(tmp_path, shell, None) == 2, "a missing interpreter"

    def _hook_exit(self, folder: Path, shell: str, body: str | None) -> int:
        """The exit status of the installed command where the interpreter is a shell script of `body`."""
        odd = folder / 'it\'s $HOME `x` "y"'
        odd.mkdir(exist_ok=True)
        interpreter = odd / "python"
        interpreter.unlink(missing_ok=True)
        if body is not None:
            interpreter.write_text(f'#!/bin/sh\ntest "$3" = "{_escaped(odd)}/boot.py" || exit 7\n{body}\n')
            interpreter.chmod(0o755)
        command = self.adapter.hook_command(str(interpreter), f"{odd}/boot.py", "/settings file")
        called = ["/usr/bin/env", *shell.split(), "-c", command]
        done = subprocess.run(called, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode

    def test_install_and_uninstall_leave_every_byte_as_it_was(self) -> None:
        command = self.adapter.hook_command("/opt/python", "/opt/chrono/guard/boot.py", "/s")
        for original in self.originals:
            after = self.adapter.installed(original, command)
            found = self.adapter.inspect(after)
            assert found.problems == ()
            assert {hook.command for hook in found.hooks} == {command}
            assert any(hook.closed for hook in found.hooks)
            assert self.adapter.installed(after, command) == after
            assert self.adapter.uninstalled(after) == original

    def test_a_new_settings_file_goes_away_again(self) -> None:
        command = self.adapter.hook_command("/opt/python", "/opt/chrono/guard/boot.py", "/s")
        after = self.adapter.installed(None, command)
        assert self.adapter.uninstalled(after) is None

    def test_broken_settings_are_examined_without_an_exception(self) -> None:
        for content in (None, b"", b"\xff", b"[]", b"{", b"null", b"[" * 5000):
            self.adapter.inspect(content)

    def test_settings_lie_where_the_scope_says(self) -> None:
        for scope, folder in (("project", "/p"), ("user", "/home/u")):
            path = self.adapter.settings_path(scope, project="/p", user_home="/home/u")
            assert os.path.isabs(path) and path.startswith(folder + "/")


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
