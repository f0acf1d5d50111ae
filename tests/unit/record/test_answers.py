"""Claims about what a call gets in replay: values of their own types (A16.6), and nothing that a file could smuggle in."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import enum
import json
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel

from chrono import record
from chrono.record import replay
from chrono.record.entry import wire
from chrono.record.sink import MemorySink


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    left: int
    right: str


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    tags: tuple[str, ...] = ()


class Item(BaseModel):
    name: str
    at: datetime.datetime


class Order(BaseModel):
    items: list[Item]
    total: Decimal


def nested(depth: int) -> Any:
    value: Any = ["deep"]
    for _ in range(depth):
        value = {"in": (value,)}
    return value


NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
VALUES = [
    None, True, 2**70, float("inf"), "text", b"\x00\xff", b"text", bytearray(b"x"), (1, (2, [3])), {1: "a", None: "b"},
    {1, 2}, frozenset({"a"}), NOW, NOW.date(), NOW.time(), datetime.timedelta(days=1, microseconds=3), UUID(int=5),
    Decimal("1.10"), 1 + 2j, Color.RED, Level.HIGH, Pair(1, "b"), Point(1, ("a", "b")), Path("/tmp/x"),
    Item(name="n", at=NOW), Order(items=[Item(name="n", at=NOW)], total=Decimal("9.99")), nested(20),
    collections.OrderedDict(a=1, b=(2,)), collections.Counter("aab"), "\udc80", [Point(1), {"items": (Color.RED,)}],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_what_it_was(sink: MemorySink, value: Any) -> None:
    @record.boundary("give")
    def give() -> Any:
        return value

    with record.record("r"):
        give()
    calls = json.loads(json.dumps([wire(one) for one in sink.envelopes], allow_nan=False))
    with replay(calls):
        again = give()
    assert again == value and type(again) is type(value)


class ModuleError(RuntimeError):
    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(f"{code}: {hint}")
        self.code, self.hint = code, hint


def undecodable() -> UnicodeDecodeError:
    with pytest.raises(UnicodeDecodeError) as caught:
        b"\xff".decode()
    return caught.value


ERRORS: list[BaseException] = [
    FileNotFoundError(2, "No such file", "/x"), KeyError("k"), ModuleError(7, hint="h"), undecodable(),
    StopIteration(3), SystemExit(4), KeyboardInterrupt(), asyncio.CancelledError("x"), TimeoutError(),
    ExceptionGroup("g", [ValueError("1")]), subprocess.CalledProcessError(3, ["ls"], b"out"),
    json.JSONDecodeError("m", "doc", 1), Exception("plain"), ImportError("x", name="n"),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_exception_comes_back_as_what_it_was(sink: MemorySink, error: BaseException) -> None:
    @record.boundary("fail")
    def fail() -> None:
        raise error

    with record.record("r"), pytest.raises(type(error)):
        fail()
    calls = json.loads(json.dumps([wire(one) for one in sink.envelopes]))
    with replay(calls), pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is not error and str(caught.value) == str(error)
    assert isinstance(caught.value, record.RecordedCallError) == isinstance(error, Exception)
    for name in ("errno", "filename", "code", "hint", "start", "returncode", "output", "pos"):
        assert getattr(caught.value, name, None) == getattr(error, name, None)


def call(output: dict[str, Any], metadata: dict[str, Any], *, kind: str = "tool") -> dict[str, Any]:
    return {
        "trace_id": "ab" * 16, "span_id": "cd" * 8, "envelope_id": "ef" * 8, "name": "give", "kind": kind,
        "input": {"raw": {}}, "output": output, "metadata": metadata,
    }  # fmt: skip


@record.boundary("give")
def give() -> Any:
    raise AssertionError("never called")


BUILT: list[str] = []


class Loaded:
    def __new__(cls, *args: Any) -> Loaded:
        BUILT.append("new")
        return super().__new__(cls)


class Told(str):
    def __new__(cls, text: str) -> Told:
        BUILT.append("new")
        return super().__new__(cls, text)

    def __init__(self, text: str) -> None:
        BUILT.append("init")


class Raised(Exception):
    def __new__(cls, *args: Any) -> Raised:
        BUILT.append("new")
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        BUILT.append("init")


@pytest.mark.parametrize("kind", ["enum", "dataclass", "pydantic", "path", "str", "int", "list", "set", "mapping", "x"])
@pytest.mark.parametrize("name", ["subprocess:Popen", "os:system", f"{__name__}:Loaded", "builtins:eval", ":", "a"])
def test_a_file_cannot_have_a_class_built(sink: MemorySink, kind: str, name: str) -> None:
    BUILT.clear()
    notes = {"output": {"": {"type": kind, "class": name}}}
    with replay([call({"raw": "touch /tmp/owned"}, {"chrono.types": notes})]):
        assert give() == "touch /tmp/owned"
    assert BUILT == []


def test_a_file_cannot_run_a_class_s_own_code(sink: MemorySink) -> None:
    BUILT.clear()
    notes = {"output": {"": {"type": "str", "class": f"{__name__}:Told"}}}
    with replay([call({"raw": "x"}, {"chrono.types": notes})]):
        assert give() == "x"
    facts = {"class": f"{__name__}:Raised", "args": ["x"]}
    with (
        replay([call({"error": {"type": "Raised", "message": "x"}}, {"chrono.error": facts})]),
        pytest.raises(Raised, match="x"),
    ):
        give()
    assert BUILT == []


@pytest.mark.parametrize("error", ["os:system", "antigravity:Error", "", 7, None, "subprocess:Popen"])
def test_an_error_of_no_class_is_an_error_all_the_same(sink: MemorySink, error: Any) -> None:
    facts = {"class": error, "bases": [error], "args": {"not": "a list"}, "attributes": [1]}
    with (
        replay([call({"error": {"type": "Odd", "message": "m"}}, {"chrono.error": facts})]),
        pytest.raises(record.RecordedCallError, match="m"),
    ):
        give()


def test_a_class_that_is_not_there_is_read_by_its_fields(sink: MemorySink) -> None:
    notes = {"output": {"": {"type": "pydantic", "class": "not.there:Answer"}}}
    fields = {"items": [1], "keys": "k", "get": 2, "copy": None, "values": 3}
    with replay([call({"raw": fields}, {"chrono.types": notes})]):
        answer = give()
    assert (answer.items, answer.keys, answer.get, answer.copy, answer.values) == ([1], "k", 2, None, 3)
    assert answer["items"] == [1] and "keys" in answer and answer.model_dump() == fields
    with pytest.raises(AttributeError, match="nothing"):
        _ = answer.nothing


def test_a_model_s_answer_that_kept_no_types_is_read_both_ways(sink: MemorySink) -> None:
    with replay([call({"raw": {"choices": [{"text": "t"}]}}, {}, kind="llm")]):
        answer = give()
    assert answer.choices[0].text == "t" == answer["choices"][0]["text"]
    assert answer.model_dump() == {"choices": [{"text": "t"}]} and type(answer.to_dict()) is dict


@pytest.mark.parametrize(
    "bad",
    [
        {"metadata": {"chrono.types": "x"}}, {"metadata": {"chrono.types": {"output": {"/a/0": 5}}}},
        {"metadata": []}, {"envelope_status": {"started_at": "never", "ended_at": 5}}, {"parent_envelope_id": "ef" * 8},
        {"metadata": {"chronicle.sequence": "x", "chrono.stream": {}, "chrono.stream_part": 4}}, {"input": 5},
    ],
)  # fmt: skip
def test_a_damaged_envelope_is_answered_as_far_as_it_goes(sink: MemorySink, bad: dict[str, Any]) -> None:
    with replay([{**call({"raw": "x"}, {}), **bad}]):
        give()


def test_calls_within_each_other_end(sink: MemorySink) -> None:
    one, other = call({"raw": 1}, {}), call({"raw": 2}, {})
    one |= {"envelope_id": "1" * 16, "parent_envelope_id": "2" * 16}
    other |= {"envelope_id": "2" * 16, "parent_envelope_id": "1" * 16}
    with replay([one, other]) as run:
        assert {give(), give()} == {1, 2}
    assert run.divergences == []
