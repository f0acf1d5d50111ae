"""Owns what a provider of models must do for us: the LlmAdapter and Provider protocols, and finding them by name.

How one provider's JSON becomes canonical is left to its plugin (entry-point group `chrono.providers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from chrono.plugins import PluginGroup
from chrono.record.entry import Json, JsonObject

PROVIDERS = PluginGroup("chrono.providers", api_version=1)


@runtime_checkable
class LlmAdapter(Protocol):
    """JSON form of what crossed -> the canonical one (specs: record A11). Pure; what it raises is logged only.

    An answer is the wire object of `trace.payloads.LlmInput` or `LlmOutput` without "raw", or such a model.
    """

    provider: str

    def to_canonical_input(self, raw: JsonObject) -> Any: ...

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> Any: ...


class Method(NamedTuple):
    """One method of a client that is a boundary: `path` from the client ("chat.completions.create"); `name` of its
    boundary ("openai.chat"); `stream` says of the arguments and the live result whether the result is a stream."""

    path: str
    name: str
    adapter: LlmAdapter
    stream: Callable[[Mapping[str, Any], Any], bool]


class Assembler(Protocol):
    """Puts the chunks of one stream together, one stream an instance."""

    def add(self, chunk: Json) -> None:
        """Take the JSON form of the next chunk, as it arrived."""
        ...

    def result(self) -> Json:
        """The whole answer so far, in the JSON form that a call without streaming would have had."""
        ...


class Provider(Protocol):
    """One provider: the object behind an entry point of `chrono.providers`; its name is the canonical provider name."""

    api_version: int
    name: str

    def matches(self, client: object) -> bool:
        """Whether `client` is one of this provider's. Looks at the class only; imports no SDK."""
        ...

    def methods(self, client: object) -> tuple[Method, ...]:
        """The methods that `client` has."""
        ...

    def assembler(self, method: Method) -> Assembler: ...

    def identity(self, client: object) -> JsonObject:
        """Metadata `client.library`, `client.version` and, where it is not the default, `client.base_url`."""
        ...


_adapters: dict[str, LlmAdapter] = {}


def register_adapter(adapter: LlmAdapter) -> LlmAdapter:
    """Take `adapter` for boundaries of its provider, before any plugin's."""
    _adapters[adapter.provider] = adapter
    return adapter
