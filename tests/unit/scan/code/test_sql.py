"""What SQL text destroys, and what only looks like it."""

from __future__ import annotations

import pytest

from chrono.scan.code.nosql import mongo_effects, redis_effects, redis_script_effects
from chrono.scan.code.sql import destroys, statements


def kinds(text: str) -> list[tuple[str, str, bool]]:
    return [(effect.kind, effect.object, effect.has_where) for effect in statements(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP TABLE users", ("drop", "table users", False)),
        ("drop table if exists public.users cascade", ("drop", "table public.users", False)),
        ('DROP TABLE "Users"', ("drop", "table users", False)),
        ("DROP DATABASE prod;", ("drop", "database prod", False)),
        ("DROP SCHEMA public CASCADE", ("drop", "schema public", False)),
        ("TRUNCATE users", ("truncate", "table users", False)),
        ("TRUNCATE TABLE users, posts", ("truncate", "table users", False)),
        ("DELETE FROM users", ("delete", "table users", False)),
        ("DELETE FROM users WHERE 1=1", ("delete", "table users", False)),
        ("DELETE FROM users WHERE true", ("delete", "table users", False)),
        ("DELETE FROM users WHERE (1 = 1) OR id = 3", ("delete", "table users", False)),
        ("DELETE FROM users WHERE 'a'='a'", ("delete", "table users", False)),
        ("DELETE FROM users WHERE id IS NOT NULL", ("delete", "table users", False)),
        ("DELETE FROM users WHERE id = 3", ("delete", "table users", True)),
        ("UPDATE users SET a = 1", ("update", "table users", False)),
        ("UPDATE users SET a = 1 WHERE id = 3", ("update", "table users", True)),
        ("UPDATE users SET a = (SELECT 1 WHERE x = 2)", ("update", "table users", False)),
        ("ALTER TABLE users DROP COLUMN email", ("alter-drop", "column users.email", False)),
        ("ALTER TABLE users DROP email", ("alter-drop", "column users.email", False)),
        ("WITH gone AS (DELETE FROM users RETURNING *) SELECT 1", ("delete", "table users", False)),
        ("EXPLAIN ANALYZE DELETE FROM users", ("delete", "table users", False)),
        ("/*! DROP TABLE users */", ("drop", "table users", False)),
        ("/* x */ -- y\nDROP TABLE users", ("drop", "table users", False)),
        ("\\! rm -rf ~", ("shell", "rm -rf ~", False)),
        (".shell rm -rf ~", ("shell", "rm -rf ~", False)),
        ("COPY x FROM PROGRAM 'rm -rf ~'", ("shell", "copy … program", False)),
    ],
)
def test_a_destroying_statement_is_told(text: str, expected: tuple[str, str, bool]) -> None:
    assert kinds(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM dropped_tables",
        "SELECT * FROM logs WHERE msg LIKE '%DROP TABLE%'",
        "SELECT 'it''s DROP TABLE x; DROP TABLE y'",
        "SELECT $$DROP TABLE users$$, $q$; DELETE FROM users; $q$",
        'SELECT "drop table"',
        "-- DROP TABLE users\nSELECT 1",
        "/* DROP TABLE users; /* nested */ TRUNCATE x */ SELECT 1",
        "INSERT INTO t VALUES ('DELETE FROM users')",
        "CREATE TABLE t (drop_at int)",
        "DROP INDEX idx",
        "ALTER TABLE t DROP CONSTRAINT c",
        "ALTER TABLE t ALTER COLUMN c DROP DEFAULT",
        "SELECT truncate(1.5, 0)",
        "EXPLAIN DELETE FROM users",
        "GRANT DELETE ON users TO x",
        "SELECT E'a\\'; DROP TABLE users'",
        "\\d users",
        "",
    ],
)
def test_what_only_looks_like_it_is_silent(text: str) -> None:
    assert kinds(text) == []


def test_several_statements_are_told_in_order_with_their_places() -> None:
    text = "SELECT 1; DROP TABLE a; DELETE FROM b;"
    found = statements(text)
    assert [text[slice(*effect.span)] for effect in found] == ["DROP TABLE a", "DELETE FROM b"]


def test_a_limited_delete_destroys_nothing_of_note() -> None:
    limited, whole = statements("DELETE FROM a WHERE id = 1; DELETE FROM a")
    assert not destroys(limited)
    assert destroys(whole)


def test_a_text_that_is_too_long_says_so() -> None:
    assert statements("SELECT a, " * 40_000)[-1].kind == "limit"


@pytest.mark.parametrize("words", [("FLUSHALL",), ("flushdb", "async"), ("EVAL", "redis.call('FLUSHALL')", "0")])
def test_a_redis_command_that_empties_a_database_is_told(words: tuple[str, ...]) -> None:
    assert [effect.kind for effect in redis_effects(words)] == ["truncate"]


def test_redis_commands_that_empty_nothing_are_silent() -> None:
    assert redis_effects(("SET", "a", "FLUSHALL")) == ()
    assert redis_script_effects("GET a\nDEL b\n") == ()
    assert [effect.span for effect in redis_script_effects("GET a\nFLUSHALL\n")] == [(6, 14)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("db.dropDatabase()", [("drop", "database", False)]),
        ("db.users.drop()", [("drop", "collection users", False)]),
        ("db.users.deleteMany({})", [("delete", "collection users", False)]),
        ("db.users.deleteMany({a: 1})", [("delete", "collection users", True)]),
        ("print('db.dropDatabase()') // db.users.drop()", []),
        ("db.users.dropIndexes()", []),
        ("db.users.find({})", []),
    ],
)
def test_mongo_code_is_told_by_its_calls(text: str, expected: list[tuple[str, str, bool]]) -> None:
    assert [(e.kind, e.object, e.has_where) for e in mongo_effects(text)] == expected
