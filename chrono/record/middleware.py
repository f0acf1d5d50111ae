"""Owns the ASGI middleware: one span a request or websocket, joined to the caller's trace.

Opening the span is left to `record.spans`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from chrono.record.propagation import extract
from chrono.record.spans import aspan

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class ChronicleMiddleware:
    """Pure ASGI: the span lasts until the application returns, so a streamed answer lies inside. It fails only where
    the application raises; an answer of 500 is a success of the middleware."""

    def __init__(self, app: App, *, service: str | None = None) -> None:
        self.app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        for name, value in scope.get("headers") or ():
            key = name.decode("latin-1").lower()
            # A header given twice is joined, as everywhere in HTTP; two different callers are then no caller.
            headers[key] = f"{headers[key]},{value.decode('latin-1')}" if key in headers else value.decode("latin-1")
        async with aspan(extract(headers), service=self.service):
            await self.app(scope, receive, send)
