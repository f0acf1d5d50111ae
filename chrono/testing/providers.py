"""Owns the conformance suite that every provider of models must pass, those of strangers too.

Derive from ProviderConformance in a test module and set `provider`, `exchanges` and `client`. What a provider is, is
said by `chrono.record.provider`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from chrono.record.provider import LlmAdapter, Method, Provider
from chrono.trace.payloads import LlmInput, LlmOutput
from chrono.tuples import NamedTuple

Json = Any
JsonObject = dict[str, Any]

ODD: tuple[Json, ...] = (
    None, True, -1, 1.5, "", "x", '{"a": "\\ud800", "b": NaN}', "[" * 2000, [], [None, 0, "x", [], {}], {},
    {"x": {"x": "x"}},
)  # fmt: skip
"""What somebody else's JSON may hold in any place."""


class Exchange(NamedTuple):
    """One call as the provider's API has it.

    `method`: the path of the client's method; `request`: its arguments by name; `answer`: the JSON form of its result;
    `chunks`: those of the same answer as a stream, where it can be one; `tokens`: what it has cost in all.
    """

    method: str
    request: JsonObject
    answer: Json
    chunks: tuple[Json, ...] = ()
    tokens: int | None = None


class ProviderConformance:
    """Claims about one provider."""

    provider: Provider
    exchanges: tuple[Exchange, ...]

    def client(self) -> object:
        """A client of this provider, or an object of the same methods whose class says that it is one."""
        raise NotImplementedError

    def method(self, exchange: Exchange) -> Method:
        return next(one for one in self.provider.methods(self.client()) if one.path == exchange.method)

    def adapter(self, exchange: Exchange) -> LlmAdapter:
        found = self.method(exchange).adapter
        return self.provider.adapter if found is None else found

    def test_it_speaks_this_version_and_has_a_name(self) -> None:
        assert self.provider.api_version == 1
        assert self.provider.name and self.provider.name == self.provider.name.lower()
        assert isinstance(self.provider.adapter, LlmAdapter)

    def test_it_knows_its_own_client_and_no_other(self) -> None:
        assert self.provider.matches(self.client())
        for stranger in (object(), None, 1, "x", {}, print, copy, type("Client", (), {})()):
            assert not self.provider.matches(stranger), stranger

    def test_each_method_can_be_called_and_is_named_after_the_provider(self) -> None:
        client = self.client()
        methods = self.provider.methods(client)
        assert methods
        assert len({one.path for one in methods}) == len(methods)
        for method in methods:
            at: Any = client
            for name in method.path.split("."):
                at = getattr(at, name)
            assert callable(at), method.path
            assert method.name.startswith(f"{self.provider.name}."), method.name
            assert method.adapter is None or method.adapter.provider == self.provider.name
        assert self.provider.methods(object()) == ()

    def test_what_it_says_of_a_client_is_text_under_client(self) -> None:
        for client in (self.client(), object()):
            for name, value in self.provider.identity(client).items():
                assert name in ("client.library", "client.version", "client.base_url"), name
                assert isinstance(value, str) and "@" not in value, name

    def test_a_request_and_its_answer_become_the_canonical_form(self) -> None:
        assert self.exchanges
        for exchange in self.exchanges:
            given = read_input(self.adapter(exchange), exchange.request)
            assert given.messages, "somebody said something"
            answer = read_output(self.adapter(exchange), exchange.answer)
            assert answer.provider == self.provider.name
            assert answer.model is not None

    def test_each_token_is_counted_once(self) -> None:
        for exchange in self.exchanges:
            if exchange.tokens is not None:
                usage = read_output(self.adapter(exchange), exchange.answer).usage
                assert usage is not None
                parts = (usage.input, usage.cached_read, usage.cache_write, usage.output, usage.reasoning)
                assert sum(parts) == exchange.tokens

    def test_a_stream_makes_up_the_answer_that_a_call_would_have_had(self) -> None:
        for exchange in self.exchanges:
            if exchange.chunks:
                assert self.heard(exchange, exchange.chunks) == read_output(self.adapter(exchange), exchange.answer)

    def test_a_stream_may_end_anywhere_and_come_in_any_order(self) -> None:
        for exchange in self.exchanges:
            chunks = exchange.chunks
            for end in range(len(chunks)):
                self.heard(exchange, chunks[:end])
                self.heard(exchange, chunks[end:])
            self.heard(exchange, chunks[::-1])
            self.heard(exchange, chunks * 2)

    def test_nothing_that_a_provider_may_send_is_an_error(self) -> None:
        """Each place of each example holds something else, once each; and is missing, once each."""
        for exchange in self.exchanges:
            adapter = self.adapter(exchange)
            for changed in changes(exchange.request):
                if isinstance(changed, dict):
                    read_input(adapter, changed)
            for changed in changes(exchange.answer):
                read_output(adapter, changed)
            for place, chunk in enumerate(exchange.chunks):
                for changed in changes(chunk):
                    self.heard(exchange, (*exchange.chunks[:place], changed, *exchange.chunks[place + 1 :]))

    def test_what_it_reads_it_leaves_as_it_was(self) -> None:
        for exchange in self.exchanges:
            before = copy.deepcopy(exchange)
            adapter = self.adapter(exchange)
            first = adapter.to_canonical_input(exchange.request), adapter.to_canonical_output(exchange.answer, "asked")
            again = adapter.to_canonical_input(exchange.request), adapter.to_canonical_output(exchange.answer, "asked")
            assert first == again
            self.heard(exchange, exchange.chunks)
            assert exchange == before

    def heard(self, exchange: Exchange, chunks: tuple[Json, ...]) -> LlmOutput:
        """The canonical answer of a stream of `chunks`."""
        assembler = self.provider.assembler(self.method(exchange))
        for chunk in json.loads(json.dumps(chunks)):
            assembler.add(chunk)
        return read_output(self.adapter(exchange), assembler.result())


def read_input(adapter: LlmAdapter, request: JsonObject) -> LlmInput:
    """What is recorded of `request`. Raises what the adapter raises, and ValidationError where it is not canonical."""
    canonical = adapter.to_canonical_input(request)
    if isinstance(canonical, LlmInput):
        return canonical
    return LlmInput.model_validate({"model": "unknown", **canonical, "raw": {}})


def read_output(adapter: LlmAdapter, answer: Json, requested: str | None = "asked") -> LlmOutput:
    """What is recorded of `answer`, as `read_input`."""
    canonical = adapter.to_canonical_output(answer, requested)
    return canonical if isinstance(canonical, LlmOutput) else LlmOutput.model_validate({**canonical, "raw": None})


def changes(value: Json) -> Iterator[Json]:
    """`value` with one place of it changed: to each odd value, and away."""
    yield from ODD
    if isinstance(value, dict):
        for name in value:
            yield {key: one for key, one in value.items() if key != name}
            for changed in changes(value[name]):
                yield {**value, name: changed}
    elif isinstance(value, list):
        for place in range(len(value)):
            yield value[:place] + value[place + 1 :]
            for changed in changes(value[place]):
                yield [*value[:place], changed, *value[place + 1 :]]
