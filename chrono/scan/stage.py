"""Owns which environment of an application a command says it works in: its tests' or production's.

Which commands that matters to is said by the rules; how options are read by `scan.options`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chrono.scan.command import Command, Word
from chrono.scan.options import Parsed

TEST, PRODUCTION = "test", "production"
STAGES = (TEST, PRODUCTION)

_VARIABLES = frozenset(
    "RAILS_ENV RACK_ENV HANAMI_ENV NODE_ENV APP_ENV MIX_ENV LARAVEL_ENV SYMFONY_ENV DJANGO_ENV FLASK_ENV FLASK_CONFIG "
    "FLASK_APP_ENV GO_ENV RUST_ENV APP_ENVIRONMENT ENVIRONMENT ASPNETCORE_ENVIRONMENT DOTNET_ENVIRONMENT "
    "SPRING_PROFILES_ACTIVE QUARKUS_PROFILE MICRONAUT_ENVIRONMENTS DJANGO_SETTINGS_MODULE DJANGO_CONFIGURATION "
    "KNEX_ENV SEQUELIZE_ENV AMBER_ENV LUCKY_ENV ADONIS_ENV CAKE_ENV CI_ENVIRONMENT TEST_DATABASE_URL".split()
)
_OPTIONS = ("--env", "-e", "--environment", "-E", "--settings", "--profile", "--stage", "--app-env", "-env")
_ADDRESSES = ("_URL", "_URI", "_DSN", "DATABASE", "_DB", "DB_NAME", "PGDATABASE")
"""How names of variables end that say where a database is."""

_TEST_NAMES = frozenset(("test", "tests", "testing", "ci", "spec", "e2e", "cypress"))
_PRODUCTION_NAMES = frozenset(("prod", "production", "live", "prd"))
_WORD = re.compile(r"[a-z0-9]+")
_HOST = re.compile(r"://(?:[^/@]*@)?([^/:?]*)")
_HERE = frozenset(
    ("", "localhost", "127.0.0.1", "[", "db", "database", "postgres", "mysql", "mariadb", "mongo", "redis")
)
"""Hosts that are this machine, or a container beside it."""


def stage_of(command: Command, parsed: Parsed) -> str | None:
    """ "test" or "production" where a variable, an option or a word says so; production where they disagree."""
    said = set(_said(command, parsed))
    return PRODUCTION if PRODUCTION in said else TEST if TEST in said else None


def _said(command: Command, parsed: Parsed) -> Iterator[str]:
    words = (word for word in command.argv[1:] if isinstance(word, str) and "=" in word)
    given: dict[str, Word] = {}
    for name, value in (*command.env, *command.assigns, *_pairs(words)):
        given[name.lstrip("-")] = value
    for name, value in given.items():
        stage = _of_variable(name, value) if isinstance(value, str) else None
        if stage is not None:
            yield stage
    for value in parsed.values(*_OPTIONS):
        stage = stage_named(value) if isinstance(value, str) else None
        if stage is not None:
            yield stage


def _pairs(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, _, value = word.partition("=")
        if name.isidentifier() or name in _OPTIONS:
            yield name, value


def _of_variable(name: str, value: str) -> str | None:
    if name in _VARIABLES or f"--{name}" in _OPTIONS:
        return stage_named(value)
    return of_address(value) if name.upper().endswith(_ADDRESSES) else None


def stage_named(value: str) -> str | None:
    """What a name such as `test`, `config.settings.testing` or `.env.production` stands for."""
    parts = set(_WORD.findall(value.lower().replace("_", ".")))
    return PRODUCTION if parts & _PRODUCTION_NAMES else TEST if parts & _TEST_NAMES else None


def of_address(value: str) -> str | None:
    """What the address of a database, or its name alone, says: `postgres://localhost/shop_test` is one for tests."""
    address = value.split("?", 1)[0]
    host = _HOST.search(address)
    stage = stage_named(address.rstrip("/").rsplit("/", 1)[-1])
    if host is not None and stage_named(host[1]) == PRODUCTION:
        return PRODUCTION
    return None if stage == TEST and host is not None and host[1] not in _HERE else stage
