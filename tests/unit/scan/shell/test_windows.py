"""Claims about what programs start under Windows."""

from __future__ import annotations

import pytest

from chrono.scan.command import Word
from chrono.scan.shell.windows import program_of, started_by
from chrono.testing.world import FakeWorld


def inner(*argv: Word) -> list[tuple[Word, ...]]:
    found = started_by(argv, FakeWorld(), cwd="/home/dev/proj", via=(), span=(0, 1))
    return [command.argv for command in found]


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (("wsl", "rm", "-rf", "/x"), ("rm", "-rf", "/x")),
        (("wsl", "-d", "Ubuntu", "-e", "rm", "-rf", "/x"), ("rm", "-rf", "/x")),
        (("wsl", "--", "rm -rf /x"), ("rm", "-rf", "/x")),
        (("bash", "-c", "rm -rf /x"), ("rm", "-rf", "/x")),
        (("sudo", "rm", "-rf", "/x"), ("rm", "-rf", "/x")),
        (("runas", "/user:Administrator", "rd /s /q C:\\x"), ("cmd", "/c", "rd /s /q C:\\x")),
        (("wmic", "process", "call", "create", "rd /s /q C:\\x"), ("cmd", "/c", "rd /s /q C:\\x")),
        (("forfiles", "/p", "C:\\x", "/c", "cmd /c del @path"), ("cmd", "/c", "del C:\\x\\*")),
        (("psexec", "\\\\srv", "-s", "cmd", "/c", "dir"), ("cmd", "/c", "dir")),
        (("docker", "run", "-it", "node", "rm", "-rf", "/x"), ("rm", "-rf", "/x")),
    ],
)
def test_what_a_program_starts_is_reported(argv: tuple[Word, ...], wanted: tuple[Word, ...]) -> None:
    assert wanted in inner(*argv)


@pytest.mark.parametrize(
    "argv", [("git", "status"), ("npm", "test"), ("notepad", "x"), ("wsl", "--list"), ("docker", "ps")]
)
def test_what_starts_nothing_reports_nothing(argv: tuple[Word, ...]) -> None:
    assert inner(*argv) == []


def test_a_program_is_known_without_folder_and_ending() -> None:
    assert program_of("C:\\Windows\\System32\\CMD.EXE") == "cmd"
