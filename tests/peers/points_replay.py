"""Owns the points of replay: which call gets which recording, what may run, what comes back (specs: record A16, 1-7)."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from anthropic import Anthropic
from openai import OpenAI, RateLimitError
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from tests.peers import answers
from tests.peers.behaviour import World, point
from tests.peers.fake_provider import FakeProvider, Whole, running

ASK: dict[str, Any] = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "The capital of France?"}]}


@point(1, "a call after a stubbed one with calls inside gets its own recording")
def nested(world: World) -> None:
    @world.chronicle.boundary("inner")
    def inner(number: int) -> int:
        return number

    @world.chronicle.boundary("outer")
    def outer() -> int:
        return inner(1)

    with world.chronicle.record():
        outer(), inner(2)
    with world.replay():
        found = outer(), inner(2)
    assert found == (1, 2), found


@point(2, "parallel tasks that come in another order get their own results")
def parallel_tasks(world: World) -> None:
    delays = {"a": 0.0, "b": 0.02}

    @world.chronicle.boundary("fetch")
    async def fetch(name: str) -> str:
        return f"page {name}"

    async def one(name: str) -> str:
        await asyncio.sleep(delays[name])
        return await fetch(name)

    async def both() -> list[str]:
        async with world.chronicle.aspan():
            return await asyncio.gather(one("a"), one("b"))

    asyncio.run(both())
    delays.update(a=0.02, b=0.0)

    async def again() -> list[str]:
        return await asyncio.gather(one("a"), one("b"))

    with world.replay():
        found = asyncio.run(again())
    assert found == ["page a", "page b"], found


def _tool_and_calls(world: World) -> tuple[Callable[[str], str], list[str]]:
    made: list[str] = []

    @world.chronicle.boundary("tool")
    def tool(name: str) -> str:
        made.append(name)
        return f"did {name}"

    return tool, made


def _client(world: World, provider: FakeProvider) -> Any:
    return world.chronicle.wrap(OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0))


@point(3, "a stream is answered in replay, not asked for again")
def streams_stay_offline(world: World) -> None:
    with running() as provider:
        provider.go_on.set()
        provider.plan("/chat/completions", answers.chat_pieces())
        client = _client(world, provider)
        with world.chronicle.record():
            list(client.chat.completions.create(**ASK, stream=True))
        asked = len(provider.asked)
        with world.replay():
            list(client.chat.completions.create(**ASK, stream=True))
        assert len(provider.asked) == asked, "replay asked the provider"


@point(3, "a copy of a wrapped client is answered in replay")
def copies_stay_offline(world: World) -> None:
    with running() as provider:
        provider.plan("/chat/completions", answers.chat_whole())
        client = _client(world, provider)
        with world.chronicle.record():
            client.with_options(timeout=5).chat.completions.create(**ASK)
        asked = len(provider.asked)
        with world.replay():
            client.with_options(timeout=5).chat.completions.create(**ASK)
        assert len(provider.asked) == asked, "replay asked the provider"


@point(3, "a tool that a worker thread calls does not run in replay")
def threads_stay_in_the_replay(world: World) -> None:
    tool, made = _tool_and_calls(world)

    def work() -> None:
        thread = threading.Thread(target=tool, args=("delete",))
        thread.start()
        thread.join()

    with world.chronicle.record():
        work()
    made.clear()
    with world.replay():
        work()
    assert made == [], "the tool ran"


@point(3, "a tool that a thread pool calls does not run in replay")
def pools_stay_in_the_replay(world: World) -> None:
    tool, made = _tool_and_calls(world)
    with ThreadPoolExecutor(1) as pool:
        with world.chronicle.record():
            pool.submit(tool, "delete").result()
        made.clear()
        with world.replay():
            assert pool.submit(tool, "delete").result() == "did delete"
    assert made == [], "the tool ran"


@point(4, "a changed argument is told")
def changed_arguments(world: World) -> None:
    tool, _ = _tool_and_calls(world)
    with world.chronicle.record():
        tool("a")
    with world.replay() as run:
        tool("b")
    assert world.noticed(run), "silent"


@point(4, "a recorded call that nobody made is told")
def leftovers(world: World) -> None:
    tool, _ = _tool_and_calls(world)
    with world.chronicle.record():
        tool("a"), tool("b")
    with world.replay() as run:
        tool("a")
    assert world.noticed(run), "silent"


@point(4, "a plan that names no recorded call is told")
def misspelt_plans(world: World) -> None:
    tool, _ = _tool_and_calls(world)
    with world.chronicle.record():
        tool("a")
    with world.replay(world.chronicle.ReplayPlan().run("toool")) as run:
        tool("a")
    assert world.noticed(run), "silent"


@point(4, "an unknown trace is told")
def unknown_traces(world: World) -> None:
    try:
        with world.chronicle.replay_trace("ab" * 16, "cd" * 8, client=world.plane):
            pass
    except Exception:
        return
    raise AssertionError("silent")


@point(5, "a recorded FileNotFoundError is caught as one, with its attributes")
def own_errors(world: World) -> None:
    @world.chronicle.boundary("read")
    def read(path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    def program() -> str | None:
        try:
            return read("/nowhere")
        except FileNotFoundError as error:
            return error.filename if isinstance(error.filename, str) else None

    with world.chronicle.record():
        program()
    with world.replay():
        assert program() == "/nowhere"


@point(5, "a recorded RateLimitError is caught as one, so that retries go the same way")
def sdk_errors(world: World) -> None:
    with running() as provider:
        provider.plan(
            "/chat/completions", Whole({"error": {"message": "slow down", "code": "rate"}}, 429), answers.chat_whole()
        )
        client = _client(world, provider)

        def program() -> tuple[int, str]:
            for attempt in (1, 2):
                try:
                    return attempt, client.chat.completions.create(**ASK).choices[0].message.content
                except RateLimitError as error:
                    assert error.status_code == 429
            raise AssertionError("never answered")

        with world.chronicle.record():
            first = program()
        with world.replay():
            assert program() == first == (2, "Paris.")


class Model(BaseModel):
    city: str
    days: tuple[int, ...]


@dataclass
class Page:
    """Fields that a dict has methods of the same name for."""

    items: list[int]
    keys: str
    values: int
    get: str
    copy: str


@dataclass
class Place:
    x: int
    y: int


DEEP: Any = 0
for _ in range(20):
    DEEP = [DEEP]

VALUES: dict[str, Any] = {
    "tuple": (1, (2, 3)),
    "set": {1, 2},
    "bytes": b"\x00\xff",
    "datetime": datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC),
    "date": datetime.date(2026, 5, 1),
    "int keys": {1: "a", 2: "b"},
    "dataclass": Place(1, 2),
    "pydantic model": Model(city="Paris", days=(1, 2)),
    "nesting of 20 levels": DEEP,
}


def _comes_back(name: str, value: Any) -> None:
    @point(6, f"a value comes back as what it was: {name}")
    def types(world: World) -> None:
        @world.chronicle.boundary("give")
        def give() -> Any:
            return value

        with world.chronicle.record():
            give()
        with world.replay():
            got = give()
        assert type(got) is type(value) and got == value, f"{type(got).__name__}: {got!r}"


for _name, _value in VALUES.items():
    _comes_back(_name, _value)


@point(6, "a field called items, keys, values, get or copy is a field")
def fields_before_methods(world: World) -> None:
    @world.chronicle.boundary("give")
    def give() -> Page:
        return Page(items=[1], keys="k", values=2, get="g", copy="c")

    with world.chronicle.record():
        give()
    with world.replay():
        got = give()
    assert (got.items, got.keys, got.values, got.get, got.copy) == ([1], "k", 2, "g", "c"), got.items


@point(6, "a ChatCompletion comes back as one")
def sdk_types(world: World) -> None:
    with running() as provider:
        provider.plan("/chat/completions", answers.chat_whole())
        client = _client(world, provider)
        with world.chronicle.record():
            client.chat.completions.create(**ASK)
        with world.replay():
            got = client.chat.completions.create(**ASK)
    assert isinstance(got, ChatCompletion), type(got).__name__


@point(7, "a call that runs in replay and raises leaves what it was given")
def failing_runs(world: World) -> None:
    fails = False

    @world.chronicle.boundary("tool")
    def tool(name: str) -> str:
        if fails:
            raise ValueError(name)
        return name

    with world.chronicle.record():
        tool("a")
    fails = True
    with world.replay(world.chronicle.ReplayPlan().run("tool")) as run:
        try:
            tool("a")
        except ValueError:
            pass
        assert run.captured_input("tool", 1) == {"name": "a"}


@point(7, "two providers do not share one counter")
def providers_apart(world: World) -> None:
    with running() as provider:
        provider.plan("/chat/completions", answers.chat_whole())
        provider.plan("/messages", answers.message_whole())
        client = _client(world, provider)
        other = world.chronicle.wrap(Anthropic(api_key="k", base_url=provider.url, max_retries=0))
        with world.chronicle.record():
            client.chat.completions.create(**ASK)
            other.messages.create(**ASK, max_tokens=9)
    names = {one.name for one in world.envelopes()}
    assert len(names) == 2, names
