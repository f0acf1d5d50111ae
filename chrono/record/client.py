"""Owns the control-plane client that a program may hand to `configure(client=…)`, and delivering through it
(specs: record A6: the client is a protocol of entities, not of bytes).

The client of a URL is `record.plane`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from chrono.record.errors import ControlPlaneError
from chrono.record.plane import Answer, Limits


class ControlPlaneClient(Protocol):
    """What a program's own client has. Entities are the models of `chrono.trace`."""

    def upsert_trace(self, trace: Any) -> None: ...

    def upsert_span(self, span: Any) -> None: ...

    def append_envelopes(self, envelopes: Sequence[Any]) -> None: ...

    def read_span_envelopes(self, trace_id: str, span_id: str) -> list[Any]: ...

    def close(self) -> None: ...


class ClientTarget:
    """Delivers through a client. An error with a `status_code` counts as that answer, any other as unreachable."""

    def __init__(self, client: ControlPlaneClient, rest: Callable[[], None] = lambda: None) -> None:
        """`rest` is called between two envelopes: to make one takes as long as to record it."""
        self._client = client
        self._rest = rest

    def limits(self) -> Limits:
        return Limits()

    def put_trace(self, body: bytes) -> Answer:
        from chrono.trace.entities import Trace

        return self._answer(lambda: self._client.upsert_trace(Trace.model_validate_json(body)))

    def put_span(self, trace_id: str, body: bytes) -> Answer:
        from chrono.trace.entities import Span

        return self._answer(lambda: self._client.upsert_span(Span.model_validate_json(body)))

    def put_envelopes(self, bodies: Sequence[bytes]) -> Answer:
        from chrono.trace.entities import Envelope

        def append() -> None:
            envelopes = []
            for body in bodies:
                envelopes.append(Envelope.model_validate_json(body))
                self._rest()
            self._client.append_envelopes(envelopes)

        return self._answer(append)

    def close(self) -> None:
        self._client.close()

    def forked(self) -> None:
        """What a fork does to the client is the business of who made it."""

    def _answer(self, call: Any) -> Answer:
        try:
            call()
        except Exception as error:
            status = getattr(error, "status_code", None)
            if isinstance(status, int):
                return Answer(status, str(error).encode("utf-8", "replace"))
            if isinstance(error, ValueError):  # pydantic's: what was recorded is no entity
                return Answer(422, str(error).encode("utf-8", "replace"))
            raise ControlPlaneError(f"the control-plane client failed: {error}") from error
        return Answer(200, b"{}")
