"""Claims about asking a program how it is used."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command
from chrono.scan.usage import only_asks_usage


def asks(text: str, platform: str = "linux") -> bool:
    return only_asks_usage(Command(tuple(text.split())), platform)


@pytest.mark.parametrize(
    "text",
    [
        "git reset --hard --help",
        "git push --force -h",
        "docker volume prune -h",
        "npm unpublish -h",
        "python manage.py flush --help",
        "eksctl delete cluster --help",
        "terraform destroy -help",
    ],
)
def test_a_program_that_is_asked_for_its_help_does_nothing_else(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "bash -c x --help",
        "docker run alpine x --help",
        "kubectl exec pod x -h",
        "npm run x --help",
        "python -c x --help",
        "git rm -- --help",
        "shutdown now -h",
        "chown -R dev / -h",
        "git reset --hard",
    ],
)
def test_a_word_that_is_meant_for_something_else_is_no_such_question(text: str) -> None:
    assert not asks(text)


def test_a_file_tool_of_macos_takes_it_for_one_more_file() -> None:
    assert asks("rm -rf src --help")
    assert not asks("rm -rf src --help", "darwin")
