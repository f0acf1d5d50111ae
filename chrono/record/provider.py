"""Owns what a provider of models must do for us: the LlmAdapter and Provider protocols, and finding them by name.

How one provider's JSON becomes canonical is left to its plugin (entry-point group `chrono.providers`).
"""

from __future__ import annotations

import logging
from typing import Any, Final, Protocol, runtime_checkable

from chrono.plugins import PluginGroup
from chrono.record.entry import Json, JsonObject
from chrono.tuples import NamedTuple

log = logging.getLogger("chrono.record")

UNKNOWN: Final = "unknown"
_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})

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
    boundary ("openai.chat"). A stream among its results is known by what it can do; `part` is the member of a mapping
    result that holds it."""

    path: str
    name: str
    adapter: LlmAdapter | None
    part: str | None = None


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
    adapter: LlmAdapter
    """Of boundaries that name this provider and are no method of its client (`wrap_llm(…, provider=…)`)."""

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

    # A provider may have `replayed(client, method, answer)`, too: what a call of `method` gets in replay (an
    # `answers.Answer`), as an object of the package itself; None for the usual one.


_adapters: dict[str, LlmAdapter] = {}
_missing: set[str] = set()  # providers that were looked for and are not installed


def register_adapter(adapter: LlmAdapter) -> LlmAdapter:
    """Take `adapter` for boundaries of its provider, before any plugin's."""
    _adapters[adapter.provider] = adapter
    return adapter


def adapter_of(provider: str | None, adapter: LlmAdapter | None = None) -> LlmAdapter | None:
    """The adapter of a boundary: its own, else the registered one of its provider, else the plugin's. None: generic."""
    if adapter is not None or provider is None:
        return adapter
    found = _adapters.get(provider)
    if found is None and provider not in _missing:
        found = _of_plugin(provider)
        if found is None:
            _missing.add(provider)
        else:
            _adapters[provider] = found
    return found


def canonical_input(provider: str | None, adapter: LlmAdapter | None, raw: JsonObject) -> JsonObject:
    """The wire object of a model's input, "raw" with it. What an adapter cannot read is recorded as raw alone."""
    found = adapter_of(provider, adapter)
    whole: JsonObject = {"model": UNKNOWN, "messages": []}
    try:
        _add(whole, found.to_canonical_input(raw) if found is not None else _plain_input(raw))
    except Exception:
        log.warning("the adapter of %s cannot read an input", provider, exc_info=True)
    whole["raw"] = raw
    return whole


def canonical_output(
    provider: str | None, adapter: LlmAdapter | None, raw: Json, requested_model: str | None
) -> JsonObject:
    """The wire object of a model's output, as `canonical_input`."""
    found = adapter_of(provider, adapter)
    whole: JsonObject = {"content": [], "provider": provider or (found.provider if found is not None else UNKNOWN)}
    requested = requested_model if requested_model != UNKNOWN else None
    try:
        if found is not None:
            _add(whole, found.to_canonical_output(raw, requested))
        elif isinstance(raw, str):
            whole["content"] = [{"type": "text", "text": raw}]
    except Exception:
        log.warning("the adapter of %s cannot read an output", provider, exc_info=True)
    whole["raw"] = raw
    return whole


def _plain_input(raw: JsonObject) -> JsonObject:
    """Model and messages of an unknown provider, where they stand in the shape that most have."""
    canonical: JsonObject = {}
    if isinstance(raw.get("model"), str) and raw["model"]:
        canonical["model"] = raw["model"]
    messages = raw.get("messages")
    if isinstance(messages, list) and all(
        isinstance(one, dict) and one.get("role") in _ROLES and isinstance(one.get("content"), str) for one in messages
    ):
        canonical["messages"] = [{"role": one["role"], "content": one["content"]} for one in messages]
    return canonical


def _add(whole: JsonObject, canonical: Any) -> None:
    """Put what an adapter answered into the wire object."""
    if hasattr(canonical, "model_dump"):
        canonical = canonical.model_dump(mode="json", exclude_none=True)
    for key, value in canonical.items():
        if value is not None and key != "raw":
            whole[key] = value


def _of_plugin(provider: str) -> LlmAdapter | None:
    if all(entry.name != provider for entry in PROVIDERS.found()):
        return None
    plugin: Any = PROVIDERS.load(provider)
    adapter: LlmAdapter = plugin.adapter
    return adapter
