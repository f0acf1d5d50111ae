"""Claims about what PowerShell and cmd.exe find around them: variables, small files, command lines of programs."""

from __future__ import annotations

import pytest

from chrono.scan.shell.windows_host import MAX_FILE_BYTES, argv_of_line, environment_of, file_text
from chrono.testing.world import FakeWorld

HOME = "/home/dev"


def test_a_variable_is_what_is_set_and_else_what_windows_always_sets() -> None:
    world = FakeWorld({}, environ={"HOME": HOME, "TEMP": "D:\\t", "PUBLIC": "E:\\p"})
    assert environment_of(world, "Temp") == "D:\\t"
    assert environment_of(world, "public") == "E:\\p"
    assert environment_of(world, "TMP") == f"{HOME}/AppData/Local/Temp"
    assert environment_of(world, "USERPROFILE") == HOME
    assert environment_of(world, "ComSpec") == "C:\\WINDOWS\\system32\\cmd.exe"
    assert environment_of(world, "USERNAME") == world.user
    assert environment_of(world, "ACME") is None


def test_a_file_is_read_as_the_text_left_it() -> None:
    world = FakeWorld({"/a": "old", "/big": "x" * (MAX_FILE_BYTES + 1), "/nul": "a\0b"})
    assert file_text(world, {"/a": "new"}, "/a") == "new"
    assert file_text(world, {}, "/a") == "old"
    assert [file_text(world, {}, path) for path in ("/big", "/nul", "/none")] == [None, None, None]


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("a b\tc", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        ('a" "b', ["a b"]),
        ('\\"a b\\"', ['"a', 'b"']),
        ('""', [""]),
        ("C:\\a\\ b", ["C:\\a\\", "b"]),
        ("  ", []),
    ],
)
def test_a_command_line_is_cut_as_programs_cut_it(line: str, argv: list[str]) -> None:
    assert argv_of_line(line) == argv
