"""Claims about the quick way to JSON: it comes to what the walk comes to, or leaves the value to the walk."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.record.plain import MAX_DEPTH, plain_copy
from chrono.record.redact import is_secret_key, redact_default
from chrono.record.serialise import Rules, write

WALK = Rules(redact_default, is_secret_key)
SECRETS = (
    "sk-abcdefghijklmnop1234",
    "ghp_" + "a1B2c3D4e5" * 3,
    "Bearer abcdef1234567890",
    "password=hunter22",
    'api_key: "hunter2222"',
    "postgres://u:pa55w0rd@host/db",
    "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----",
)
NAMES = ("role", "content", "a", "max_tokens", "api_key", "password", "Set-Cookie", "schlüssel")


def planted(text: str) -> st.SearchStrategy[str]:
    """`text` as it is, within words, behind line ends and quotes, and as JSON and Python would escape it."""
    wraps = st.sampled_from((f"{text}", f"it is {text} now", f"\n\t{text}\n", f'"{text}"', f"é{text}", f"\\n{text}\\"))
    return st.one_of(wraps, wraps.map(lambda one: one.encode("unicode_escape").decode()))


TEXTS = st.one_of(
    st.sampled_from(("", "user", "some words", "token", "a key and a secret", "\ud800", "x\udfffy", "日本")),
    st.text(max_size=20),
    st.sampled_from(SECRETS).flatmap(planted),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.binary(max_size=4), st.tuples(TEXTS)
)  # fmt: skip
KEYS = st.one_of(st.sampled_from(NAMES), st.text(max_size=4), st.integers(0, 3), st.sampled_from(SECRETS))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


class Text(str):
    """A text with code of its own."""


def copied(value: Any, names: set[str] | None = None) -> Any:
    found = plain_copy(value, names if names is not None else {"a", "b"}, set(), redact_default)
    return None if found is None else found.json


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_the_quick_way_comes_to_what_the_walk_comes_to(value: dict[Any, Any]) -> None:
    quick = WALK._replace(plain_names=set(), plain_texts=set())
    walked = write(value, WALK)
    for _ in range(2):  # at first no name is known, then all are
        assert repr(write(value, quick)) == repr(walked)


def test_what_is_plain_takes_the_quick_way_and_shares_nothing() -> None:
    value = {"a": [{"b": [1, 2.5, None, True, "text", "längerer text"]}], "b": {}}
    found = copied(value)
    assert found == value
    found["a"][0]["b"].append(1)
    assert len(value["a"][0]["b"]) == 6  # type: ignore[index]


@pytest.mark.parametrize(
    "item",
    [*SECRETS, "\ud800", "long enough \udfff", 2**63, float("nan"), float("inf"), (1,), b"b", Text("a"), {1: 1},
     {"unknown": 1}, {Text("a"): 1}, object()],
)  # fmt: skip
def test_what_needs_a_look_is_left_to_the_walk(item: Any) -> None:
    assert copied({"a": "text"}) is not None
    for value in ({"a": item}, {"a": [item]}, [[{"b": [item]}]]):
        assert copied(value) is None


def test_a_cycle_and_a_deep_value_are_left_to_the_walk() -> None:
    cycle: dict[str, Any] = {"a": 1}
    cycle["b"] = [cycle, cycle, cycle, cycle]
    assert copied(cycle) is None
    deep: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert copied(deep) is not None
    assert copied([deep]) is None


def test_more_members_than_asked_for_are_left_to_the_walk() -> None:
    value = [[1] * 9, {"a": 1}]
    found = plain_copy(value, {"a"}, set(), redact_default, 12)
    assert found is not None and found.members == 12
    assert plain_copy(value, {"a"}, set(), redact_default, 11) is None
