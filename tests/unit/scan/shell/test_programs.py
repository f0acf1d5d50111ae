"""Claims about what programs print for known input, where commands are made of it."""

from __future__ import annotations

import pytest

from chrono.scan.shell.evaluate import evaluate
from chrono.testing.world import FakeWorld


def started(text: str) -> list[tuple[object, ...]]:
    world = FakeWorld({"/opt/tools/bash": "x"}, environ={"PATH": "/opt/tools:/usr/local/bin"})
    return [command.argv for command in evaluate(text, world).commands]


@pytest.mark.parametrize("found", ["which bash", "command -v bash", "type -p bash", "type -P bash"])
def test_a_shell_that_is_looked_up_runs_its_text(found: str) -> None:
    assert ("rm", "-rf", "x") in started(f"$({found}) -c 'rm -rf x'")


def test_a_program_is_found_along_path() -> None:
    assert started("echo $(which bash)")[-1] == ("echo", "/opt/tools/bash")
    assert started("echo $(which nowhere)")[-1] == ("echo", "/usr/bin/nowhere")


def test_a_function_is_named_as_it_is() -> None:
    assert ("rm", "x") in started("f() { rm x; }; $(command -v f)")


@pytest.mark.parametrize("text", ["cp /bin/rm x; ./x -rf y", "ln -s /bin/rm x && ./x -rf y"])
def test_a_program_under_another_name_is_the_program(text: str) -> None:
    assert ("/bin/rm", "-rf", "y") in started(text)
