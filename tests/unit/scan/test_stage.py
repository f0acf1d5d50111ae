"""Claims about which environment of an application a command says it works in."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command
from chrono.scan.options import parse
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from chrono.scan.stage import PRODUCTION, TEST, stage_of
from tests.unit.scan.conftest import decision, world

OPTIONS = ("gnu", (("", frozenset(["--env", "-e", "--settings"])),))


def stage(text: str, *, env: tuple[tuple[str, str], ...] = ()) -> str | None:
    words = text.split()
    assigns = []
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        assigns.append((name, value))
    command = Command(tuple(words), assigns=tuple(assigns), env=env)
    return stage_of(command, parse(command.argv, OPTIONS))


@pytest.mark.parametrize(
    "text",
    [
        "RAILS_ENV=test rake db:reset",
        "rake db:reset RAILS_ENV=test",
        "APP_ENV=testing artisan migrate:fresh",
        "artisan migrate:fresh --env=testing",
        "sequelize db:drop --env test",
        "manage.py flush --settings=shop.settings.test",
        "DJANGO_SETTINGS_MODULE=shop.settings_test manage.py flush",
        "DATABASE_URL=postgres://dev@localhost:5433/shop_test prisma migrate reset",
        "DB_NAME=shop_test rake db:drop",
    ],
)
def test_a_variable_an_option_or_a_word_says_tests(text: str) -> None:
    assert stage(text) == TEST


@pytest.mark.parametrize(
    "text",
    [
        "rake db:reset",
        "RAILS_ENV=development rake db:reset",
        "FOO=test rake db:reset",
        "DATABASE_URL=postgres://db.shop.example/shop_test prisma migrate reset",
        "DATABASE_URL=postgres://localhost/latest prisma migrate reset",
        "sequelize db:drop --env staging",
    ],
)
def test_what_says_nothing_of_tests_is_none(text: str) -> None:
    assert stage(text) is None


def test_production_prevails() -> None:
    assert stage("NODE_ENV=test sequelize db:drop --env production") == PRODUCTION
    assert stage("DATABASE_URL=postgres://db.prod.example/shop_test NODE_ENV=test prisma migrate reset") == PRODUCTION


def test_what_was_exported_before_counts() -> None:
    assert stage("rake db:reset", env=(("RAILS_ENV", "test"),)) == TEST


@pytest.mark.parametrize(
    "text", ["export RAILS_ENV=test; bundle exec rails db:drop", "NODE_ENV=test npx prisma migrate reset --force"]
)
def test_it_reaches_what_a_runner_starts(text: str, ruleset: Ruleset) -> None:
    assert decision(scan(text, ruleset, world()), covered=False) == "allow"
    assert decision(scan(text.replace("=test", "=staging"), ruleset, world()), covered=False) == "block"
