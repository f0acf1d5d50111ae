"""Claims about every package in every way: whole or in pieces, waiting or awaiting, and whatever becomes of the call.

Each test's body runs again in replay, without a network (`conftest`). What one package alone does has a file of its own.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import litellm
import pytest

from chrono import record
from chrono.record.entry import EnvelopeEntry
from chrono.record.sink import MemorySink
from tests.peers.conftest import only, said
from tests.peers.fake_provider import FakeProvider, Pieces, Whole
from tests.peers.packages import PACKAGES, Limits, Package, Talk

pytestmark = pytest.mark.slow

QUESTION = "The capital of France?"
CLIENTS = [name for name, one in PACKAGES.items() if not one.around]  # a graph's own stream: `test_langgraph`
_LITELLM = ("completion", "acompletion", "responses", "aresponses", "embedding", "aembedding")


@pytest.fixture(params=PACKAGES)
def package(request: pytest.FixtureRequest) -> Iterator[Package]:
    before = {name: getattr(litellm, name) for name in _LITELLM}
    yield PACKAGES[request.param]
    for name, function in before.items():
        setattr(litellm, name, function)


@pytest.fixture(params=["whole", "pieces"])
def streams(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "pieces")


@pytest.fixture(params=["sync", "async"])
def awaits(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "async")


class Asking:
    """Puts questions to one client in one of the four ways; a stream is read to its end."""

    def __init__(self, talk: Talk, streams: bool, awaits: bool) -> None:
        self.talk, self.streams, self.awaits = talk, streams, awaits

    def one(self, text: str = QUESTION) -> None:
        if self.awaits:
            asyncio.run(self.later(text))
        elif self.streams:
            list(self.talk.stream(text))
        else:
            self.talk.ask(text)

    async def later(self, text: str) -> None:
        if not self.streams:
            await self.talk.aask(text)
            return
        async for _ in await opened(self.talk, text):
            pass

    def at_once(self, texts: list[str]) -> None:
        async def gathered() -> None:
            await asyncio.gather(*map(self.later, texts))

        if self.awaits:
            asyncio.run(gathered())
            return
        with ThreadPoolExecutor(len(texts)) as pool:
            list(pool.map(self.one, texts))


async def opened(talk: Talk, text: str) -> AsyncIterator[Any]:
    stream: Any = talk.astream(text)
    return await stream if inspect.isawaitable(stream) else stream  # type: ignore[no-any-return]


def answer(package: Package, streams: bool) -> Whole | Pieces:
    return package.pieces() if streams else package.whole()


def plan(provider: FakeProvider, package: Package, streams: bool, *answers: Whole | Pieces) -> None:
    provider.plan(package.stream_path if streams else package.path, *answers)


def content(entry: EnvelopeEntry) -> Any:
    return said(entry)["content"]


def test_an_answer_is_recorded_with_what_it_cost(
    package: Package, streams: bool, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    plan(provider, package, streams, answer(package, streams))
    Asking(package.client(provider, Limits()), streams, awaits).one()
    entry = only(sink, *package.around)
    assert (entry.kind, entry.status, entry.input["messages"]) == (
        "llm", "success", [{"role": "user", "content": QUESTION}],
    )  # fmt: skip
    assert content(entry) == [{"type": "text", "text": "Paris."}]
    assert (said(entry)["finish_reason"], said(entry)["usage"]) == ("stop", package.usage)
    assert ("chrono.first_chunk_ms" in entry.metadata, "chrono.partial" in entry.metadata) == (streams, False)


def test_a_tool_call_is_recorded_with_its_arguments(
    package: Package, streams: bool, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    plan(provider, package, streams, package.call_pieces() if streams else package.call_whole())
    Asking(package.client(provider, Limits()), streams, awaits).one()
    entry = only(sink, *package.around)
    (call,) = content(entry)
    assert (call["type"], call["name"], call["arguments"]) == ("tool_call", "weather", {"city": "Paris"})
    assert said(entry)["finish_reason"] == "tool_calls"


def test_an_error_is_the_caller_s_and_recorded(
    package: Package, streams: bool, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    body = {"type": "error", "error": {"type": "bad", "code": 400, "message": "not like this", "status": "INVALID"}}
    plan(provider, package, streams, Whole(body, 400))
    with pytest.raises(Exception, match="not like this") as caught:
        Asking(package.client(provider, Limits()), streams, awaits).one()
    entry = only(sink, *package.around)
    assert entry.status == "failure" and entry.metadata["chrono.error"]["args"]
    assert said(entry)["error"]["type"] in classes(caught.value)
    assert "not like this" in said(entry)["error"]["message"]


def test_what_the_client_tries_again_is_one_call(
    package: Package, streams: bool, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    refused = Whole({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, 503)
    plan(provider, package, streams, refused, answer(package, streams))
    Asking(package.client(provider, Limits(retries=1)), streams, awaits).one()
    assert len(provider.asked) == 2
    assert content(only(sink, *package.around)) == [{"type": "text", "text": "Paris."}]


@pytest.mark.live_only  # threads and tasks begin in another order each time, which a replay tells
def test_calls_at_once_are_told_apart_and_in_one_span(
    package: Package, streams: bool, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    plan(provider, package, streams, answer(package, streams))
    texts = [f"Question {number}?" for number in range(4)]
    asking = Asking(package.client(provider, Limits()), streams, awaits)
    with record.record("at once"):
        asking.at_once(texts)
    calls = [one for one in sink.envelopes if one.name not in package.around]
    assert sorted(one.input["messages"][0]["content"] for one in calls) == texts
    assert sorted(one.metadata["chronicle.invocation_index"] for one in calls) == [1, 2, 3, 4]
    assert len({one.span_id for one in sink.envelopes}) == 1
    assert all(content(one) == [{"type": "text", "text": "Paris."}] for one in calls)
    with record.replay(list(sink.envelopes)) as run:
        asking.at_once(texts)
    assert {one.kind for one in run.divergences} <= {"order"} and len(provider.asked) == 4


def test_a_provider_that_takes_too_long_is_a_failure(
    package: Package, streams: bool, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.go_on.clear()
    held = package.pieces() if streams else package.whole()
    if isinstance(held, Whole):
        body = json.dumps(held.body).encode()
        held = Pieces((body[:9], body[9:]), "application/json")
    plan(provider, package, streams, held)
    with pytest.raises(Exception) as caught:
        Asking(package.client(provider, Limits(timeout_s=0.3)), streams, awaits).one()
    provider.go_on.set()
    entry = only(sink, *package.around)
    assert entry.status == "failure"
    assert said(entry)["error"]["type"] in classes(caught.value)


@pytest.mark.parametrize("package", CLIENTS, indirect=True)
def test_a_stream_that_is_closed_early_is_partial(
    package: Package, awaits: bool, provider: FakeProvider, sink: MemorySink
) -> None:
    plan(provider, package, True, package.pieces())
    talk = package.client(provider, Limits())

    async def leave() -> None:
        stream: Any = await opened(talk, QUESTION)
        await anext(aiter(stream))
        await (stream.aclose if hasattr(stream, "aclose") else stream.close)()

    if awaits:
        asyncio.run(leave())
    else:
        stream: Any = talk.stream(QUESTION)
        next(iter(stream))
        stream.close()
    entry = only(sink, *package.around)
    assert (entry.status, entry.metadata["chrono.partial"]) == ("success", True)
    assert 0 < entry.metadata["chrono.chunks"] < 7


def classes(error: BaseException) -> set[str]:
    """The names of what can catch it: LangChain raises a class of its own, derived from what its client raised."""
    return {one.__name__ for one in type(error).__mro__[:-3]}
