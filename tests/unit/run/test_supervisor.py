"""Claims about a supervised command's savepoints and records."""

from __future__ import annotations

import pytest

from chrono.errors import UsageError
from chrono.policy.model import DEFAULTS, Role
from chrono.policy.roles import may
from chrono.run.supervisor import request


def test_words_are_arguments_and_a_text_is_for_a_shell() -> None:
    asked = request(("echo", "a b", "$HOME"))
    assert asked.argv == ("echo", "a b", "$HOME")
    assert asked.text == "echo 'a b' '$HOME'"
    assert request((), shell="make && make test").argv == ("/bin/sh", "-c", "make && make test")


@pytest.mark.parametrize(("words", "shell"), [((), None), ((), "  "), (("a",), "b")])
def test_nothing_or_both_is_a_usage_error(words: tuple[str, ...], shell: str | None) -> None:
    with pytest.raises(UsageError):
        request(words, shell=shell)


def test_roles_count_only_where_the_policy_has_some() -> None:
    assert may(DEFAULTS, "anybody", "run.force")
    roles = (
        Role("sara", ("maintainer",)),
        Role("tom", ("developer",)),
        Role("developer", ("view", "run.force")),
        Role("eve", ("nonsense",)),
    )
    policy = DEFAULTS._replace(roles=roles)
    assert may(policy, "sara", "run.force")
    assert may(policy, "tom", "run.force"), "the policy's own role of that name counts"
    assert not may(policy, "tom", "approve")
    assert not may(policy, "eve", "view")
    assert not may(policy, "nobody", "view")
    assert not may(policy, "developer", "view"), "a role is no person"
