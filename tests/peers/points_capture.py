"""Owns the points of capture, hooks and secrets: what is recorded of a call, and what of it may be read (specs: record
A16, 8 and 13 to 15; unknown members, 18)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from openai import OpenAI
from pydantic import BaseModel

from tests.peers import answers
from tests.peers.behaviour import World, bounded, point
from tests.peers.fake_provider import Pieces, Whole, running
from tests.peers.points_replay import ASK
from tests.unit.record.test_redact import SECRETS

MODEL = {"model": "gpt-4o-mini"}


def _recorded(world: World, path: str, answer: Whole | Pieces, ask: Any) -> Any:
    """The envelope of the one call that `ask(client)` makes."""
    with running() as provider:
        provider.plan(path, answer)
        client = world.chronicle.wrap(OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0))
        with world.chronicle.record():
            ask(client)
    return world.only()


@point(8, "a stream is recorded, put together, with its usage")
def streams(world: World) -> None:
    def ask(client: Any) -> None:
        for _ in client.chat.completions.create(**ASK, stream=True):
            pass

    output = _recorded(world, "/chat/completions", answers.chat_pieces(), ask).output
    assert output.content[0].text == "Paris." and output.usage.output == 5


@point(8, "the time to the first chunk of a stream is recorded")
def first_chunks(world: World) -> None:
    def ask(client: Any) -> None:
        list(client.chat.completions.create(**ASK, stream=True))

    metadata = _recorded(world, "/chat/completions", answers.chat_pieces(), ask).metadata
    assert any("first_chunk" in key for key in metadata)


@point(8, "a call of the Responses API is recorded")
def responses(world: World) -> None:
    one = _recorded(
        world, "/responses", answers.response_whole(), lambda client: client.responses.create(**MODEL, input="hi")
    )
    assert one.output.content[0].text == "Paris."


@point(8, "a call of parse() is recorded")
def parsing(world: World) -> None:
    class City(BaseModel):
        city: str

    answer = answers.chat_whole({"role": "assistant", "content": '{"city": "Paris"}'})
    one = _recorded(
        world, "/chat/completions", answer, lambda client: client.chat.completions.parse(**ASK, response_format=City)
    )
    assert one.output.usage.output == 5


@point(8, "embeddings are recorded")
def embeddings(world: World) -> None:
    one = _recorded(
        world, "/embeddings", answers.embedding_whole(), lambda client: client.embeddings.create(**MODEL, input="hi")
    )
    assert one.kind == "llm"


@point(8, "what a generator gave is recorded")
def generators(world: World) -> None:
    @world.chronicle.boundary("rows")
    def rows(count: int) -> Iterator[int]:
        yield from range(count)

    with world.chronicle.record():
        assert list(rows(3)) == [0, 1, 2]
    assert world.only().output.raw == [0, 1, 2]


@point(8, "the job of a thread pool is recorded in the span that submitted it")
def pools(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool() -> int:
        return 1

    with world.chronicle.record() as session, ThreadPoolExecutor(1) as pool:
        pool.submit(tool).result()
    assert world.only().trace_id == session.trace_id, "it is in another trace"


@point(8, "default values of arguments are recorded")
def defaults(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool(path: str, force: bool = True) -> None:
        pass

    with world.chronicle.record():
        tool("x")
    assert world.only().input.raw == {"path": "x", "force": True}, world.only().input.raw


def _patching(world: World, patches: dict[str, Any]) -> None:
    class Patch(world.chronicle.Hook):  # type: ignore[misc, name-defined]
        def enter(self, call: Any) -> dict[str, Any]:
            return patches

    world.chronicle.default_hooks.register(Patch())


@point(8, "the recorded input is the one that the call got, after the hooks")
def patched_inputs(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool(path: str) -> str:
        return path

    _patching(world, {"path": "/safe"})
    with world.chronicle.record():
        assert tool(path="/etc") == "/safe"
    assert world.only().input.raw == {"path": "/safe"}, world.only().input.raw


@point(13, "an attempt of something that is no envelope does not fail the call")
def wrong_attempts(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool() -> int:
        return 1

    with world.chronicle.record(), world.chronicle.attempt(2, of="bad"):
        assert tool() == 1


@point(13, "a hook may patch an argument that is given by position")
def positional_patches(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool(path: str) -> str:
        return path

    _patching(world, {"path": "/safe"})
    with world.chronicle.record():
        assert tool("/etc") == "/safe"


@point(13, "a value that refers to itself four times costs less than a second")
def cycles(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool(value: Any) -> None:
        pass

    value: dict[str, Any] = {}
    value.update(a=value, b=value, c=value, d=value)
    began = time.process_time()
    with bounded(5), world.chronicle.record():
        tool(value)
    assert time.process_time() - began < 1


@point(13, "a list of a million costs its call no more than writing it as JSON twice")
def long_lists(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool(value: Any) -> None:
        pass

    value = list(range(1_000_000))
    began = time.process_time()
    json.dumps(value)
    once_s = time.process_time() - began
    tool([])
    began = time.thread_time()
    tool(value)
    took_s = time.thread_time() - began
    assert took_s < 2 * once_s, f"{took_s / once_s:.1f} times"


@point(14, "where a later hook stops the call, earlier ones get their leave")
def leaves(world: World) -> None:
    seen: list[str] = []

    class Acquires(world.chronicle.Hook):  # type: ignore[misc, name-defined]
        def enter(self, call: Any) -> None:
            seen.append("enter")

        def leave(self, call: Any) -> None:
            seen.append("leave")

    class Stops(world.chronicle.Hook):  # type: ignore[misc, name-defined]
        def enter(self, call: Any) -> None:
            raise world.chronicle.AbortCall("no")

    @world.chronicle.boundary("tool")
    def tool() -> None:
        pass

    world.chronicle.default_hooks.register(Acquires())
    world.chronicle.default_hooks.register(Stops())
    try:
        with world.chronicle.record():
            tool()
    except world.chronicle.AbortCall:
        pass
    assert seen == ["enter", "leave"], seen


KEY = "sk-proj-" + "aB3d" * 9
PLAIN = "correct-horse-battery"


def _writes(world: World, value: Any) -> str:
    @world.chronicle.boundary("tool")
    def tool(value: Any) -> Any:
        return value

    with world.chronicle.record():
        tool(value)
    return world.written()


@point(15, "secrets are masked without asking for it")
def on_by_default(world: World) -> None:
    assert KEY not in _writes(world, f"the key is {KEY}")


@point(15, f"each of {len(SECRETS)} shapes of secrets is masked where that is asked for")
def shapes(world: World) -> None:
    world.start(default_redactors=True)
    written = _writes(world, [f"it is {secret} " for secret in SECRETS.values()])
    shown = [name for name, secret in SECRETS.items() if json.dumps(secret)[1:-1] in written]
    assert not shown, f"{len(shown)} in clear: {', '.join(shown)}"


SECRET_PLACES: dict[str, Any] = {
    "after password=": f"login password={PLAIN}",
    "in a field api_key": {"api_key": PLAIN},
    "as the key of a dict": {KEY: 1},
    "in the query of an address": f"https://x.example/?key={PLAIN}",
}


def _is_masked(place: str, value: Any) -> None:
    @point(15, f"a secret is masked {place}")
    def masked(world: World) -> None:
        world.start(default_redactors=True)
        written = _writes(world, value)
        assert PLAIN not in written and KEY not in written, "in clear"


for _place, _value in SECRET_PLACES.items():
    _is_masked(_place, _value)


@point(15, "a secret is masked in labels, in the trace's name and in metadata")
def around(world: World) -> None:
    world.start(default_redactors=True)

    @world.chronicle.boundary("tool", extract_metadata=lambda result: {"note": KEY})
    def tool() -> None:
        pass

    with world.chronicle.record(f"with {KEY}", labels={"user_id": KEY}, metadata={"note": KEY}):
        tool()
    assert KEY not in world.written(), "in clear"


@point(15, "a secret is masked in the header x-goog-api-key of a request")
def headers(world: World) -> None:
    with running() as provider:
        world.start(inject_hosts=[f"127.0.0.1:{provider.port}"], default_redactors=True)
        provider.plan("/x", Whole({"ok": True}))
        world.chronicle.instrument_httpx()
        with world.chronicle.record(), httpx.Client() as client:
            client.post(f"{provider.url}/x", headers={"x-goog-api-key": PLAIN}, json={})
    assert "127.0.0.1" in world.written() and PLAIN not in world.written(), "in clear"


@point(18, "a member that a reader does not know is kept")
def unknown_members(world: World) -> None:
    @world.chronicle.boundary("tool")
    def tool() -> None:
        pass

    with world.chronicle.record():
        tool()
    one = world.only()
    sent = {**json.loads(one.model_dump_json(exclude_none=True)), "later": {"a": [1]}}
    read = type(one).model_validate(sent)
    assert json.loads(read.model_dump_json()).get("later") == {"a": [1]}, "dropped"
