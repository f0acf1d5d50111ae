"""Owns wrapping a client: each of its methods that calls a model becomes a boundary, in place.

Which methods those are is left to the client's provider (`record.provider`); what becomes of a stream to
`record.streams`. A client of nobody we know is wrapped where it has one of the usual methods.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from chrono.record.arguments import Args, Kwargs, Unknown, shape_of
from chrono.record.crossing import BoundarySpec, ainvoke, invoke
from chrono.record.entry import Json
from chrono.record.hooks import log
from chrono.record.provider import PROVIDERS, Assembler, LlmAdapter, Method, Provider
from chrono.record.streams import observed

Client = TypeVar("Client")

_USUAL: Final = ("chat.completions.create", "messages.create", "create")
_COPIES: Final = ("with_options", "copy")
_MARK: Final = "__chrono_boundary__"
_NOT_GIVEN: Final = frozenset(("NotGiven", "Omit", "_Omit"))


def wrap(
    client: Client, *, name: str | None = None, provider: str | None = None, adapter: LlmAdapter | None = None
) -> Client:
    """Make every call of a model through `client` a boundary of kind llm, and return the same client.

    Copies that it makes of itself (`with_options`) are wrapped too; wrapping twice is wrapping once. `name` replaces
    the names of all its boundaries (default: one for each provider and API, as `openai.chat`); `provider` chooses a
    plugin by name where the class does not tell; `adapter` reads what the provider's own cannot. Raises TypeError for
    an object without a method that is known to call a model.
    """
    known = _provider_of(client, provider)
    methods = known.methods(client) if known is not None else ()
    if not methods:
        known = None
        usual = next((path for path in _USUAL if callable(_at(client, path))), None)
        methods = () if usual is None else (Method(usual, "llm", adapter),)
    if not methods:
        raise TypeError(
            f"{type(client).__name__} has no method that is known to call a model; "
            "wrap the function that does with wrap_llm(name, function)"
            + ("" if PROVIDERS.found() else ", or install chrono-providers, which knows the usual clients")
        )
    if known is None and adapter is None and not PROVIDERS.found():
        _say_that_none_is_installed(type(client).__name__)
    facts = known.identity(client) if known is not None else {}
    for method in methods:
        spec = BoundarySpec(
            name or method.name,
            "llm",
            Unknown(),
            provider=provider or (known.name if known is not None else None),
            adapter=adapter or method.adapter,
            metadata=facts or None,
        )
        _replace(client, method, spec, known)
    _wrap_copies(client, {"name": name, "provider": provider, "adapter": adapter})
    return client


def _provider_of(client: object, name: str | None) -> Provider | None:
    """The plugin that knows this client. One that cannot be loaded is no reason to fail where another one matches."""
    entries = PROVIDERS.found()
    for entry in entries:
        if name is not None and entry.name != name:
            continue
        try:
            plugin = cast(Provider, PROVIDERS.load(entry.name))
            if name is not None or plugin.matches(client):
                return plugin
        except Exception:
            log.warning("the provider %s of %s cannot be used", entry.name, entry.distribution, exc_info=True)
    return None


@functools.cache  # once for each class: a client that copies itself for every call is wrapped as often
def _say_that_none_is_installed(name: str) -> None:
    log.warning(
        "no provider of models is installed: the calls of %s are recorded as they are, without messages and tokens "
        "where every reader looks for them; chrono-providers (plugins/providers) knows the usual clients",
        name,
    )


def _at(client: object, path: str) -> Any:
    found: Any = client
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return None
    return found


def _replace(client: object, method: Method, spec: BoundarySpec, provider: Provider | None) -> None:
    place, _, verb = method.path.rpartition(".")
    owner = _at(client, place) if place else client
    function = getattr(owner, verb)
    if hasattr(function, _MARK):
        return

    def assembler() -> Assembler:
        return _Listed() if provider is None else provider.assembler(method)

    replayed = getattr(provider, "replayed", None)
    spec = spec._replace(
        observe=lambda result, crossing: observed(result, crossing, assembler, method.part),
        answer=None if replayed is None else lambda answer: replayed(client, method, answer),
    )
    wrapped = _boundary(spec._replace(shape=_AsGiven(function)), function)
    setattr(owner, verb, wrapped)
    for view in ("with_raw_response", "with_streaming_response"):  # made from the method, and kept
        getattr(owner, "__dict__", {}).pop(view, None)
    if _at(client, method.path) is not wrapped:
        raise TypeError(f"{type(client).__name__}.{method.path} cannot be replaced; wrap the object that holds it")


def _boundary(spec: BoundarySpec, function: Callable[..., Any]) -> Callable[..., Any]:
    wrapper: Callable[..., Any]
    if inspect.iscoroutinefunction(inspect.unwrap(function)):

        async def awaiting(*args: Any, **kwargs: Any) -> Any:
            return await ainvoke(spec, function, args, kwargs)

        wrapper = awaiting
    else:

        def calling(*args: Any, **kwargs: Any) -> Any:
            return invoke(spec, function, args, kwargs)

        wrapper = calling
    wrapper = functools.wraps(function)(wrapper)
    setattr(wrapper, _MARK, spec.name)
    return wrapper


def _wrap_copies(client: object, options: dict[str, Any]) -> None:
    for verb in _COPIES:
        copy = getattr(client, verb, None)
        if not inspect.ismethod(copy) or hasattr(copy, _MARK):
            continue

        def copying(*args: Any, _copy: Callable[..., Any] = copy, **kwargs: Any) -> Any:
            return wrap(_copy(*args, **kwargs), **options)

        copying = functools.wraps(copy)(copying)
        setattr(copying, _MARK, verb)
        setattr(client, verb, copying)


class _Listed:
    """The answer of a provider that nobody knows: the chunks as they came."""

    def __init__(self) -> None:
        self._chunks: list[Json] = []

    def add(self, chunk: Json) -> None:
        self._chunks.append(chunk)

    def result(self) -> Json:
        return self._chunks


class _AsGiven(Unknown):
    """Arguments of an SDK's method: only those that the caller gave. The declared ones that stand for "not given" would
    be a hundred in each record."""

    def __init__(self, function: Callable[..., Any]) -> None:
        shape = shape_of(function)
        self._shape = shape if isinstance(shape, Unknown) else shape._replace(defaults={})

    def by_name(self, args: Args, kwargs: Kwargs) -> Kwargs:
        named = self._shape.by_name(args, kwargs)
        return {name: value for name, value in named.items() if type(value).__name__ not in _NOT_GIVEN}

    def patched(self, args: Args, kwargs: Kwargs, patches: Any) -> tuple[Args, Kwargs, list[str]]:
        return self._shape.patched(args, kwargs, patches)
