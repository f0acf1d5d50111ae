"""Owns the streams of replay for clients of the Stainless kind (`openai`, `anthropic`): their own Stream classes, with
recorded chunks in place of a connection, so that every helper of the package reads them as always.

What was recorded is left to the core (`chrono.record.answers`).
"""

from __future__ import annotations

import sys
from typing import Any

from chrono.record.playback import Pieces, async_generator, generator


def recorded_stream(client: Any, package: str, pieces: Pieces, *, is_async: bool) -> Any:
    """A Stream (AsyncStream) of `package` that gives `pieces` and holds no connection."""
    module: Any = sys.modules[package]
    owner = client if hasattr(client, "_make_sse_decoder") else client._client
    response = _empty_response(owner)
    kind = module.AsyncStream if is_async else module.Stream
    stream = kind(cast_to=object, response=response, client=owner)
    stream._iterator = async_generator(pieces) if is_async else generator(pieces)
    return stream


def _empty_response(owner: Any) -> Any:
    """A response of the HTTP library that the client uses, which may be httpx or its successor."""
    name = next(
        base.__module__.partition(".")[0] for base in type(owner._client).__mro__ if base.__module__.startswith("httpx")
    )
    http: Any = sys.modules[name]
    return http.Response(200, request=http.Request("POST", str(owner.base_url)))
