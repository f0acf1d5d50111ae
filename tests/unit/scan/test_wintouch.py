"""Claims about what commands of Windows do to paths."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command, Pattern, Word
from chrono.scan.options import name_of
from chrono.scan.wintouch import windows_claims


def claims(*argv: Word) -> list[tuple[str, Word]]:
    command = Command(argv, windows=True)
    return [(how, word) for how, word, _ in windows_claims(name_of(command), command)]


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (("Remove-Item", "a", "-Recurse"), [("delete-tree", "a")]),
        (("Remove-Item", "a", "b"), [("delete", "a"), ("delete", "b")]),
        (("Remove-Item", "src\\*", "-Recurse", "-Include:*.pyc"), [("delete", Pattern(("src/", None, ".pyc")))]),
        (("Remove-Item", "bin", "obj", "-Recurse"), [("delete-tree", "obj")]),
        (("Remove-Item", "HKLM:\\Software\\X", "-Recurse"), []),
        (("Move-Item", "a", "-Destination:b"), [("move", "a"), ("write", "b"), ("write", "b/a")]),
        (("Copy-Item", "a", "-Destination:b"), [("read", "a"), ("write", "b"), ("write", "b/a")]),
        (("Set-Content", "a", "-Value:x"), [("write", "a")]),
        (("Add-Content", "a"), [("append", "a")]),
        (("Clear-Content", "a"), [("empty", "a")]),
        (("Out-File", "a", "-Append"), [("append", "a")]),
        (("New-Item", "a", "-ItemType:Directory", "-Force"), []),
        (("New-Item", "a", "-Force"), [("empty", "a")]),
        (("New-Item", "a", "-Force", "-Value:x"), [("write", "a")]),
        (("Set-Content", "a", "-Value:"), [("empty", "a")]),
        (("Out-File", "a", "-Value:"), [("empty", "a")]),
        (("Get-Content", "a"), [("read", "a")]),
        (("Invoke-WebRequest", "http://x", "-OutFile:a"), [("write", "a")]),
        (("Invoke-WebRequest", "http://x", "-InFile:a"), [("read", "a")]),
        (("del", "/s", "/q", "C:\\x\\*.*"), [("delete-tree", "C:\\x\\*")]),
        (("del", "/s", "*.pyc"), [("delete", Pattern(("./", None, ".pyc")))]),
        (("del", "a", "b"), [("delete", "a"), ("delete", "b")]),
        (("rd", "/s", "/q", "a"), [("delete-tree", "a")]),
        (("rd", "a"), []),
        (("move", "a", "b"), [("move", "a"), ("write", "b"), ("write", "b/a")]),
        (("copy", "/y", "nul", "a"), [("empty", "a")]),
        (("robocopy", "a", "b", "/MIR"), [("read", "a"), ("delete-tree", "b")]),
        (("robocopy", "a", "b", "/MIR", "/L"), []),
        (("icacls", "a"), []),
        (("icacls", "a", "/grant", "Everyone:F", "/t"), [("mode-tree", "a")]),
        (("takeown", "/f", "a", "/r"), [("owner-tree", "a")]),
        (("attrib", "+r", "a"), [("mode", "a")]),
        (("type", "a"), [("read", "a")]),
    ],
)
def test_paths_and_what_happens_to_them(argv: tuple[Word, ...], wanted: list[tuple[str, Word]]) -> None:
    assert claims(*argv) == wanted
