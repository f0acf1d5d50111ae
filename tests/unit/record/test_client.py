"""A program's own control-plane client gets entities, and its errors mean what the plane's answers mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chrono.record.entry import TraceEntry
from chrono.record.errors import ControlPlaneError, DeliveryError
from chrono.record.settings import Settings
from chrono.record.storesink import StoreSink, open_sink
from tests.unit.record.test_delivery import AT, TRACE, envelope, span
from tests.waiting import LONG_S


class Client:
    """Keeps what it is given; `fails` are raised one after the other first."""

    def __init__(self, *fails: Exception) -> None:
        self.fails = list(fails)
        self.traces: list[Any] = []
        self.spans: list[Any] = []
        self.envelopes: list[Any] = []

    def upsert_trace(self, trace: Any) -> None:
        self.traces.append(trace)

    def upsert_span(self, span: Any) -> None:
        self.spans.append(span)

    def append_envelopes(self, envelopes: Any) -> None:
        if self.fails:
            raise self.fails.pop(0)
        self.envelopes += envelopes

    def read_span_envelopes(self, trace_id: str, span_id: str) -> list[Any]:
        return self.envelopes

    def close(self) -> None:
        pass


def recorded(client: Client, store: Path) -> StoreSink:
    sink = open_sink(Settings(store=str(store), fail_open=False, timeout=LONG_S), client)
    sink.put_trace(TraceEntry(TRACE, "named", {}, AT))
    for number in range(4):
        sink.put_envelope(envelope(number))
    sink.put_span(span())
    return sink


def test_a_client_gets_the_entities(tmp_path: Path) -> None:
    client = Client()
    sink = recorded(client, tmp_path)
    sink.flush()
    sink.close()
    assert [one.name for one in client.traces] == ["named"]
    assert [one.name for one in client.envelopes] == [f"tool-{number}" for number in range(4)]
    assert [str(one.status) for one in client.spans] == ["success"]


def test_a_client_that_fails_is_tried_again(tmp_path: Path) -> None:
    client = Client(RuntimeError("not now"), ControlPlaneError("busy", status_code=503))
    sink = recorded(client, tmp_path)
    sink.flush()
    sink.close()
    assert len(client.envelopes) == 4


def test_a_refusal_of_a_client_sets_aside(tmp_path: Path) -> None:
    refusals = [ControlPlaneError("no", status_code=422) for _ in range(3)]  # four, two, one: the first of all
    client = Client(*refusals)
    sink = recorded(client, tmp_path)
    with pytest.raises(DeliveryError, match="refuses"):
        sink.flush()
    sink.close()
    assert [one.name for one in client.envelopes] == ["tool-1", "tool-2", "tool-3"]
