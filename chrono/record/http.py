"""Owns the httpx boundary: calls to the hosts of `inject_hosts` are recorded and carry the trace header (specs: A12).

Which hosts those are is `record.propagation`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any, Final

from chrono.record.arguments import Unknown
from chrono.record.crossing import BoundarySpec, Crossing, ainvoke, invoke
from chrono.record.entry import Json
from chrono.record.hooks import log
from chrono.record.httpforms import MODULES, request_form, response_again, response_form
from chrono.record.propagation import inject, url_allowed
from chrono.record.session import HERE, rules_of
from chrono.record.settings import SettingsError, get_settings
from chrono.trace.traceparent import HEADER

INTERNAL: Final = "chronicle.internal"
"""A request with this extension is the recorder's own and is never recorded."""

_originals: dict[type, Any] = {}


def instrument_httpx() -> None:
    """Record through every client of httpx and httpx2, once. What is not installed is left out."""
    for name in MODULES:
        try:
            module: Any = sys.modules.get(name) or __import__(name)
        except ImportError:
            continue
        for client, wrapped in ((module.Client, _sending), (module.AsyncClient, _async_sending)):
            if client not in _originals:
                _originals[client] = client.send
                client.send = wrapped(client.send)


def uninstrument_httpx() -> None:
    """Take `instrument_httpx` back."""
    for client, original in list(_originals.items()):
        client.send = original  # type: ignore[attr-defined]
        del _originals[client]


def _sending(original: Any) -> Any:
    @functools.wraps(original)
    def send(self: Any, request: Any, **options: Any) -> Any:
        if not _recorded(request):
            return original(self, request, **options)

        def call(request: Any, **options: Any) -> Any:
            _announce(request)
            return original(self, request, **options)

        return invoke(_spec(self, request, options), call, (request,), options)

    return send


def _async_sending(original: Any) -> Any:
    @functools.wraps(original)
    async def send(self: Any, request: Any, **options: Any) -> Any:
        if not _recorded(request):
            return await original(self, request, **options)

        async def call(request: Any, **options: Any) -> Any:
            _announce(request)
            return await original(self, request, **options)

        return await ainvoke(_spec(self, request, options), call, (request,), options)

    return send


def _recorded(request: Any) -> bool:
    """Whether this is a boundary. Settings that cannot be read any more are no reason to fail a request, but in replay
    it would go out for real."""
    try:
        return not request.extensions.get(INTERNAL) and url_allowed(str(request.url))
    except SettingsError as error:
        session = HERE.get().session
        if session is not None and session.is_replay:
            raise
        log.warning("a request was not recorded: %s", error.message)
    except AttributeError:
        pass  # no request: the client itself says so
    return False


def _announce(request: Any) -> None:
    """Called inside the crossing, so that the other service's span hangs on this very envelope."""
    if HERE.get().envelope_id is not None:
        header = inject().get(HEADER)
        if header is not None:
            request.headers[HEADER] = header


def _spec(client: Any, request: Any, options: Mapping[str, Any]) -> BoundarySpec:
    url = request.url
    port = f":{url.port}" if url.port is not None else ""
    name = f"http {request.method} {url.host}{port}{url.path}"
    clean = rules_of(get_settings()).clean
    return BoundarySpec(
        clean(name) if clean is not None else name,
        "tool",
        Unknown(),
        extract_input=lambda request, **_options: request_form(request),
        observe=_observe_stream if options.get("stream") else _observe,
        answer=lambda answer: _again(client, request, answer.raw),
    )


def _observe(response: Any, crossing: Crossing) -> Any:
    crossing.finish(response_form(response, response.content), live=response)
    return response


def _observe_stream(response: Any, crossing: Crossing) -> Any:
    """A streamed answer is the caller's to read. What it has read when it closes the response is recorded."""
    if response.is_closed:
        return _observe(response, crossing)
    taken: list[bytes] = []
    original = response.stream

    class Watched(type(original)):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def __iter__(self) -> Any:
            for chunk in original:
                crossing.first_chunk()
                taken.append(chunk)
                yield chunk

        async def __aiter__(self) -> Any:
            async for chunk in original:
                crossing.first_chunk()
                taken.append(chunk)
                yield chunk

        def close(self) -> None:
            try:
                original.close()
            finally:
                self.end()

        async def aclose(self) -> None:
            try:
                await original.aclose()
            finally:
                self.end()

        def end(self) -> None:
            content = b"".join(taken)
            encoded = response.headers.get("content-encoding")
            read = getattr(response, "_content", None) if encoded else content
            crossing.finish(response_form(response, read), live=response, partial=not response.is_stream_consumed)

    response.stream = Watched()
    return response


def _again(client: Any, request: Any, raw: Json) -> Any:
    """The recorded response to `request`, of its own library (specs: record A12); None where none was kept."""
    if not isinstance(raw, dict) or not isinstance(raw.get("status_code"), int):
        return None
    http: Any = sys.modules[type(request).__module__.partition(".")[0]]
    response = response_again(http.Response, raw, request)
    client.cookies.extract_cookies(response)  # which sending would have done
    return response
