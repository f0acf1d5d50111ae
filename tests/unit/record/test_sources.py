"""Claims about where a recording comes from: the store, a program's own client, a control plane, a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chrono import record
from chrono.record import reset
from chrono.record.errors import ControlPlaneError
from chrono.record.exchange import NotATrace, exported
from chrono.record.reading import NoSuchTrace, read_trace
from chrono.record.recording import BadRecording

LIVE: list[str] = []


@record.boundary("tool")
def tool(name: str) -> tuple[str, int]:
    LIVE.append(name)
    return name, len(name)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """(trace id, span id, store folder) of one recorded call."""
    store = str(tmp_path / "store")
    record.configure(store=store)
    with record.record("r") as session:
        tool("abc")
    record.shutdown()
    LIVE.clear()
    yield session.trace_id, session.span_id, store
    reset()


def answered() -> None:
    assert tool("abc") == ("abc", 3) and LIVE == []


def test_a_trace_and_a_span_of_it_come_from_the_store(kept: Any) -> None:
    trace_id, span_id, _ = kept
    for span in (None, span_id):
        with record.replay_trace(trace_id, span) as run:
            answered()
        assert run.divergences == [] and run.trace_id == trace_id
    with pytest.raises(BadRecording, match="no span"), record.replay_trace(trace_id, "1" * 16):
        pass


def test_a_file_is_enough(kept: Any, tmp_path: Path) -> None:
    trace_id, span_id, store = kept
    path = tmp_path / "incident.json"
    path.write_bytes(exported(read_trace(store, trace_id)))
    record.configure(store=str(tmp_path / "another"))
    with record.replay_file(str(path), span_id):
        answered()
    path.write_text("{}")
    with pytest.raises(NotATrace), record.replay_file(str(path)):
        pass


def test_a_program_s_own_client_is_asked(kept: Any, tmp_path: Path) -> None:
    trace_id, span_id, store = kept
    envelopes = read_trace(store, trace_id).envelopes

    class Client:
        def read_span_envelopes(self, trace_id: str, span_id: str) -> list[Any]:
            from chrono.trace.entities import Envelope

            return [Envelope.model_validate(json.loads(json.dumps(one))) for one in envelopes]

    with record.replay_trace(trace_id, span_id, client=Client()) as run:
        answered()
    assert run.divergences == []


def test_a_client_that_knows_no_such_span_is_an_error() -> None:
    class Client:
        def read_span_envelopes(self, trace_id: str, span_id: str) -> list[Any]:
            return []

    with pytest.raises(NoSuchTrace, match="no calls"), record.replay_trace("ab" * 16, "cd" * 8, client=Client()):
        tool("never")
    assert LIVE == []


def test_a_plane_that_is_not_there_is_an_error_and_nothing_runs(kept: Any) -> None:
    with pytest.raises(NoSuchTrace), record.replay_trace("ab" * 16):
        tool("never")
    record.configure(control_plane_url="http://127.0.0.1:1", timeout=0.5)
    with pytest.raises(ControlPlaneError), record.replay_trace("ab" * 16):
        tool("never")
    assert LIVE == []
