"""Claims about values as JSON: never an error, never without bound, and back to what they were."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import time
import uuid
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.record.plain import MAX_DEPTH
from chrono.record.rebuild import rebuild
from chrono.record.redact import is_secret_key, redact_default
from chrono.record.serialise import MAX_PLAIN_NAMES, Rules, to_json, write

RULES = Rules(redact_default, is_secret_key)


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Word(str): ...


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    tags: tuple[str, ...]


class Pair(NamedTuple):
    a: int
    b: bytes


class Model(pydantic.BaseModel):
    when: datetime.datetime
    items: list[int]  # a field that is called as a method of a dict


VALUES: dict[str, Any] = {
    "none": None, "true": True, "int": 5, "float": 1.5, "text": "é\u2028", "list": [1, [2]], "dict": {"a": {"b": 1}},
    "tuple": (1, (2, "x")), "set": {3, 1}, "frozenset": frozenset({1}), "bytes": b"text", "binary": b"\xff\x00",
    "bytearray": bytearray(b"x"), "datetime": datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC),
    "date": datetime.date(2026, 5, 1), "time": datetime.time(12, 30), "timedelta": datetime.timedelta(1, 2, 3),
    "uuid": uuid.UUID(int=5), "decimal": decimal.Decimal("1.50"), "complex": 1 + 2j, "infinity": math.inf,
    "big": 10**30, "huge": 10**5000, "int keys": {1: "a", None: "b", True and 2.5: "c"}, "surrogate": "a\udc80",
    "enum": Colour.RED, "enum of a tuple": Colour.PAIR, "word": Word("w"), "dataclass": Point(1, ("a",)),
    "named tuple": Pair(1, b"x"), "model": Model(when=datetime.datetime(2026, 5, 1), items=[1]),
    "path": pathlib.PurePosixPath("/a/b"), "ordered": collections.OrderedDict({1: (1,)}),
    "odd keys": {"a/b~c": (1,)}, "deep": {"a": [{"b": (b"x", {"c": {1}})}]},
}  # fmt: skip


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_comes_back_as_what_it_was(value: Any) -> None:
    written = write({"held": value})
    text = json.dumps(written.json, allow_nan=False).encode()
    text.decode().encode("ascii")
    back = rebuild(json.loads(text), json.loads(json.dumps(written.notes)))
    assert back.left == {}
    assert back.value == {"held": value}
    assert type(back.value["held"]) is type(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(JSON)
def test_every_mixture_comes_back(value: Any) -> None:
    written = write(value)
    back = rebuild(json.loads(json.dumps(written.json, allow_nan=False)), written.notes)
    keys_collide = any("(2)" in path for path in written.notes) or "(2)" in json.dumps(written.json)
    assert keys_collide or back.value == value


@given(st.text(alphabet=st.characters()))
def test_every_text_is_one_that_every_reader_takes(text: str) -> None:
    json.dumps(to_json({text: text}), ensure_ascii=False).encode()


def test_an_object_whose_class_is_not_loaded_is_readable_and_named() -> None:
    written = write([Point(1, ())])
    back = rebuild(written.json, written.notes, lambda name: None)
    assert (back.value[0].x, back.value[0]["tags"]) == (1, ()) and back.left.keys() == {"/0"}


class Hostile:
    def __init__(self, method: str) -> None:
        self._method = method

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name == "_method":
            return object.__getattribute__(self, name)
        raise RuntimeError(name)

    def __repr__(self) -> str:
        if self._method == "repr":
            raise RuntimeError
        return "x" * 1_000_000

    def model_dump(self) -> None: ...


def test_nothing_that_a_value_does_is_an_error() -> None:
    class Keys(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            raise RuntimeError

    for value in (Hostile("repr"), Hostile("long"), Keys(a=1), {Hostile("repr"): 1}, lambda: 1, object, Exception(1)):
        written = write(["before", value, "after"])
        assert (written.json[0], written.json[2]) == ("before", "after")
        assert len(json.dumps(written.json)) < 10_000


def test_a_knot_and_a_tower_end() -> None:
    knot: list[Any] = []
    knot.extend([knot, {"again": knot}])
    assert to_json(knot) == ["<cycle: list>", {"again": "<cycle: list>"}]
    shared = [1]
    assert to_json([shared, shared]) == [[1], [1]]  # twice is no cycle
    tower: Any = "top"
    for _ in range(5000):
        tower = [tower]
    written = write(tower)
    assert written.truncated and json.dumps(written.json).count("[") == MAX_DEPTH


@pytest.mark.parametrize("item", [1, 1.5, "text of some length", {"a": 1}, (1, 2), None, b"x"])
def test_a_million_items_cost_as_much_as_a_few(item: Any) -> None:
    many = [item] * 1_000_000
    rules = RULES._replace(max_items=1000)
    began = time.process_time()
    written = write(many, rules)
    assert time.process_time() - began < 0.2
    assert written.truncated and len(written.json) <= 1000
    assert written.notes[""] == {"type": "cut", "length": 1_000_000}
    assert len(written.notes) <= 1001


def test_items_of_all_levels_count_together() -> None:
    written = write([[1, 2, 3], {"a": 1, "b": 2}, [4]], Rules(max_items=6))
    assert written.json == [[1, 2, 3], {"a": 1}] and written.truncated


def test_secrets_are_masked_in_texts_keys_and_by_name_and_noted() -> None:
    token = "sk-" + "a" * 30
    written = write(
        {"a": f"see {token}", token: 1, "password": "x", "api_keys": ["k1"], "secret": {"kind": "plain", "n": 1},
         "b": f"{token}".encode(), "usage": {"max_tokens": 5}, "client_secret": 12345, "private_key": None}, RULES,
    )  # fmt: skip
    assert written.json == {
        "a": "see [REDACTED]", "[REDACTED]": 1, "password": "[REDACTED]", "api_keys": ["k1"],
        "secret": {"kind": "plain", "n": 1}, "b": "[REDACTED]", "usage": {"max_tokens": 5},
        "client_secret": "[REDACTED]", "private_key": None,
    }  # fmt: skip
    assert {path for path, note in written.notes.items() if note == "redacted"} == {
        "/a", "/password", "/b", "/client_secret",
    }  # fmt: skip


NAMES = ("a", "role", "content", "password", "apiKey", "sk-" + "a" * 30, "é", Word("a"), Word("role"), 1, None)


@given(st.recursive(st.sampled_from(["text", "sk-" + "b" * 30, "", 7, None, True]),
                    lambda inner: st.dictionaries(st.sampled_from(NAMES), inner) | st.lists(inner)))  # fmt: skip
def test_names_that_were_met_before_change_nothing(value: Any) -> None:
    known = RULES._replace(plain_names={"a", "role", "content"})
    fresh = write(value, RULES)
    assert write(value, known) == fresh
    assert write(value, known) == fresh  # and with what the first look has added
    assert known.plain_names is not None and not any(map(is_secret_key, known.plain_names))


def test_what_is_remembered_of_names_is_bounded() -> None:
    known = RULES._replace(plain_names=set())
    write([{f"name {number}": 1} for number in range(3 * MAX_PLAIN_NAMES)] + [{"n" * 10_000: 1}], known)
    assert known.plain_names is not None and len(known.plain_names) <= MAX_PLAIN_NAMES
    assert max(map(len, known.plain_names)) < 200


def test_two_keys_that_are_masked_alike_are_both_kept() -> None:
    written = write({"sk-" + "a" * 30: 1, "sk-" + "b" * 30: 2}, RULES)
    assert written.json == {"[REDACTED]": 1, "[REDACTED] (2)": 2}


def test_texts_are_cut_by_bytes_and_not_inside_a_character() -> None:
    written = write({"a": "é" * 100, "b": "short", "c": b"\xff" * 100}, Rules(max_text_bytes=11))
    assert written.json["a"] == "é" * 5 + "...[truncated]" and written.json["b"] == "short"
    assert written.truncated and len(written.json["c"]) < 30


@pytest.mark.parametrize("method", ["__repr__", "__str__", "model_dump", "isoformat"])
@pytest.mark.parametrize("raised", [SystemExit, GeneratorExit, RecursionError])
def test_a_value_that_wants_the_program_to_end_is_only_written_down(method: str, raised: type[BaseException]) -> None:
    def ends(*args: Any, **kwargs: Any) -> Any:
        raise raised(3)

    base = datetime.datetime if method == "isoformat" else object
    kind = type("Ends", (base,), {method: ends})
    value = kind(2026, 1, 2) if base is not object else kind()
    for held in (value, [value], {"a": value}):
        assert isinstance(write(held, RULES).notes, dict)
    write({value: 1}, RULES)


def test_a_person_s_interrupt_is_heard_while_a_value_is_written() -> None:
    class Slow:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write([Slow()], RULES)
