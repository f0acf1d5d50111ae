"""Claims about instrumented graphs, on the attributes that a langgraph graph has; the real one is in tests/e2e."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chrono import record as chronicle
from chrono.record.sink import MemorySink


class Callable_:
    """As langgraph's RunnableCallable: a function, a coroutine, or a function made to run in an executor."""

    def __init__(self, func: Callable[..., Any] | None, afunc: Any = None) -> None:
        self.func = func
        self.afunc = afunc or functools.partial(_executor, None, func)


async def _executor(pool: None, func: Callable[..., Any], *args: Any) -> Any:
    return await asyncio.to_thread(func, *args)


@dataclass
class Node:
    runnable: Any


@dataclass
class Branch:
    path: Any


class Graph:
    def __init__(self, nodes: dict[str, Node], branches: dict[str, dict[str, Branch]]) -> None:
        self.nodes, self.branches = nodes, branches


def step(state: dict[str, int], config: Any = None) -> dict[str, int]:
    return {"n": state["n"] + 1}


async def astep(state: dict[str, int]) -> dict[str, int]:
    return {"n": state["n"] + 2}


def test_nodes_and_routers_are_boundaries_for_sync_and_async_runs(sink: MemorySink) -> None:
    both, only_async, router = Callable_(step), Callable_(None, astep), Callable_(lambda state: "end")
    graph = Graph({"a": Node(both), "b": Node(only_async)}, {"a": {"route": Branch(router)}})
    assert chronicle.instrument(graph) is graph
    assert chronicle.instrument(graph) is graph  # twice is once

    async def main() -> None:
        async with chronicle.aspan():
            assert await both.afunc({"n": 1}) == {"n": 2}
            assert await only_async.afunc({"n": 1}) == {"n": 3}

    with chronicle.record():
        assert both.func({"n": 1}, config=object()) == {"n": 2}  # type: ignore[misc]
        assert router.func({"n": 1}) == "end"  # type: ignore[misc]
    asyncio.run(main())
    assert [(one.name, one.kind) for one in sink.envelopes] == [
        ("a", "tool"), ("a:route", "tool"), ("a", "tool"), ("b", "tool"),
    ]  # fmt: skip
    assert sink.envelopes[0].input == {"raw": {"state": {"n": 1}}}
    assert len({one.trace_id for one in sink.envelopes}) == 2


def test_a_node_that_is_no_function_is_a_boundary_by_its_invoke(sink: MemorySink) -> None:
    class Chain:
        __slots__ = ("__dict__",)

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

        def invoke(self, state: int) -> int:
            return state + 1

        async def ainvoke(self, state: int) -> int:
            return state + 1

    chain = Chain()
    compiled = type("Compiled", (), {"builder": Graph({"chain": Node(chain)}, {})})()
    chronicle.instrument(compiled, kind="llm")
    with chronicle.record():
        assert chain.invoke(1) == 2
        assert asyncio.run(chain.ainvoke(1)) == 2
    assert [(one.name, one.kind) for one in sink.envelopes] == [("chain", "llm")] * 2


def test_functions_by_name_come_back_wrapped_and_other_things_are_refused(sink: MemorySink) -> None:
    nodes = chronicle.instrument_langgraph({"step": step})
    with chronicle.record():
        assert nodes["step"]({"n": 1}) == {"n": 2}
    assert sink.envelopes[0].name == "step"
    with pytest.raises(TypeError, match="StateGraph"):
        chronicle.instrument(object())
