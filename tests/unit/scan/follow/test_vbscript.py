"""Claims about VBScript: what its calls run and delete becomes lines of cmd.exe, what it only shows does not."""

from __future__ import annotations

import pytest

from chrono.scan.follow.vbscript import commands_of_vbscript
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from tests.unit.scan.conftest import PROJECT, decision, world
from tests.unit.scan.conftest import ruleset as ruleset


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('CreateObject("WScript.Shell").Run "cmd /c rd /s /q C:\\Users", 0, True', "cmd /c rd /s /q C:\\Users"),
        (
            'Set sh = CreateObject("WScript.Shell")\nhome = sh.ExpandEnvironmentStrings("%USERPROFILE%")\n'
            'Set fso = CreateObject("Scripting.FileSystemObject")\nfso.DeleteFolder home & "\\Documents", True',
            'rd /s /q "%USERPROFILE%\\Documents"',
        ),
        ('CreateObject("WScript.Shell").RegDelete "HKLM\\SOFTWARE\\"', 'reg delete "HKLM\\SOFTWARE" /f'),
        (
            'var fso = new ActiveXObject("Scripting.FileSystemObject"); fso.DeleteFile("C:\\\\a.txt")',
            'del /f /q "C:\\\\a.txt"',
        ),
    ],
)
def test_a_call_becomes_the_line_that_does_the_same(text: str, line: str) -> None:
    assert line in commands_of_vbscript(text, world())


def test_what_is_shown_or_remarked_is_no_line() -> None:
    text = '\' fso.DeleteFolder "C:\\Users"\nMsgBox "do not .Run this"\nWScript.Echo 1\n'
    assert [line for line in commands_of_vbscript(text, world()) if "Users" in line] == []


@pytest.mark.parametrize("shell", ["cmd", "powershell", "bash"])
def test_a_script_host_runs_its_script(shell: str, ruleset: Ruleset) -> None:
    wipe = 'Set s = CreateObject("WScript.Shell")\ns.Run "cmd /c rd /s /q %USERPROFILE%", 0, True\n'
    tidy = 'Set s = CreateObject("WScript.Shell")\ns.Run "cmd /c rd /s /q dist", 0, True\n'
    for text, told in ((wipe, "block"), (tidy, "allow")):
        here = world(**{f"{PROJECT}/x.vbs": text})
        for command in ("cscript //nologo x.vbs", "wscript x.vbs"):
            assert decision(scan(command, ruleset, here, shell=shell), covered=True) == told
