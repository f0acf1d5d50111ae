"""Owns what the tests of real client packages share: the fake provider, the entries, and a span around the test.

These tests run in the environment that `scripts/peers` makes; in the development environment they are not collected.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from chrono import record
from chrono.record import default_hooks, reset
from chrono.record.entry import EnvelopeEntry, wire
from chrono.record.runtime import use_sink
from chrono.record.sink import MemorySink
from tests.peers.fake_provider import FakeProvider, running

if find_spec("openai") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def without_certificates() -> Iterator[None]:
    """Every client reads the certificates of the world as it is made, some twice; nothing here speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)
        yield


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with running() as one:
        yield one


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemorySink]:
    for name in list(os.environ):
        if name.startswith(("CHRONO_RECORD_", "CHRONICLE_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)
    memory = MemorySink()
    use_sink(memory)
    yield memory
    default_hooks.clear()
    use_sink(None)
    reset()


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """What a test claims of the real call, it claims of the replay: its body runs again, answered from what the first
    run recorded, with no network (`live_only` tests look at the recording while it is made)."""
    done: Any = yield
    memory = pyfuncitem.funcargs.get("sink")
    if done.excinfo is not None or not isinstance(memory, MemorySink) or pyfuncitem.get_closest_marker("live_only"):
        return
    recorded = list(memory.envelopes)
    names = pyfuncitem._fixtureinfo.argnames
    tried: list[object] = []

    def refused(_: socket.socket, address: object) -> None:
        tried.append(address)  # a client may take the error for one of the network, and try again or say nothing
        raise AssertionError("a replay has no network")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refused)
        patch.setattr(socket.socket, "connect_ex", refused)
        with record.replay(recorded) as run:
            pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    assert not tried, "a replay has no network"
    assert memory.envelopes == recorded, "a replay records nothing"
    assert not run.divergences, run.report()


def only(sink: MemorySink, *around: str) -> EnvelopeEntry:
    """The one envelope, which lies within those named `around`, the innermost first; readers take their wire form."""
    from chrono.trace.entities import Envelope

    found = sink.envelopes
    assert [one.name for one in found] == [found[0].name, *around], "one call is one envelope"
    assert [one.parent_envelope_id for one in found] == [*(one.envelope_id for one in found[1:]), None]
    for one in found:
        Envelope.model_validate(wire(one))
    return found[0]


def said(entry: EnvelopeEntry) -> dict[str, Any]:
    """The canonical output without raw and chunks."""
    assert entry.output is not None
    return {name: value for name, value in entry.output.items() if name not in ("raw", "chunks")}


def given(entry: EnvelopeEntry) -> dict[str, Any]:
    return {name: value for name, value in entry.input.items() if name != "raw"}
