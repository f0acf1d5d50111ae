"""Claims about calls over httpx and httpx2, against a server on loopback."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from chrono import record as chronicle
from chrono.record.entry import encode
from chrono.record.sink import MemorySink
from tests.loopback import Loopback, Quiet

MODULES = ("httpx", "httpx2")


class Peer(Loopback):
    """Answers every request with JSON, or with three chunks under /stream; keeps the headers that it got."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        super().__init__(Handler)


class Handler(Quiet):
    protocol_version = "HTTP/1.1"
    server: Peer

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def do_POST(self) -> None:
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(201)
        if self.path.startswith("/stream"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            with suppress(OSError):  # one of the clients leaves early
                for part in (b"one ", b"two ", b"three"):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")
            return
        body = b'{"ok": true}' if self.path != "/binary" else b"\xff\xfe"
        self.send_header("Content-Type", "application/json" if self.path != "/binary" else "image/png")
        self.send_header("Set-Cookie", "session=hunter2")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def peer(sink: MemorySink) -> Iterator[Peer]:
    with Peer() as server:
        chronicle.configure(inject_hosts=[server.host])
        chronicle.instrument_httpx()
        yield server
        chronicle.uninstrument_httpx()


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def test_a_call_to_a_listed_host_is_recorded_and_the_peers_span_hangs_on_it(
    peer: Peer, module: Any, sink: MemorySink
) -> None:
    with chronicle.record() as session, module.Client() as client:
        answer = client.post(
            f"http://{peer.host}/order?page=1&api_key=hunter2",
            json={"item": 1, "password": "hunter2"},
            headers={"Authorization": "Bearer hunter2hunter2", "X-Goog-Api-Key": "hunter2"},
        )
        assert answer.json() == {"ok": True} and answer.cookies["session"] == "hunter2"
    (entry,) = sink.envelopes
    assert entry.name == f"http POST {peer.host}/order"
    assert peer.seen[0]["traceparent"] == f"00-{session.trace_id}-{entry.envelope_id}-01"
    assert peer.seen[0]["authorization"] == "Bearer hunter2hunter2"
    asked, got = entry.input["raw"], (entry.output or {})["raw"]
    assert (asked["method"], asked["body"]) == ("POST", {"item": 1, "password": "[REDACTED]"})
    assert asked["url"] == f"http://{peer.host}/order?page=1&api_key=[REDACTED]"
    assert asked["headers"]["authorization"] == "[REDACTED]" and "traceparent" not in asked["headers"]
    assert (got["status_code"], got["body"]) == (201, {"ok": True})
    assert b"hunter2" not in encode(entry)


def test_other_hosts_and_the_recorders_own_requests_are_left_alone(peer: Peer, module: Any, sink: MemorySink) -> None:
    with chronicle.record(), module.Client() as client:
        client.post(f"http://{peer.host}/", extensions={"chronicle.internal": True})
        chronicle.configure(inject_hosts=["elsewhere"])
        client.post(f"http://{peer.host}/")
    assert sink.envelopes == []
    assert all("traceparent" not in seen for seen in peer.seen)


def test_a_streamed_answer_is_the_callers_and_what_it_read_is_recorded(
    peer: Peer, module: Any, sink: MemorySink
) -> None:
    with chronicle.record(), module.Client() as client:
        with client.stream("POST", f"http://{peer.host}/stream") as answer:
            assert b"".join(answer.iter_bytes()) == b"one two three"
        with client.stream("POST", f"http://{peer.host}/stream") as answer:
            assert sink.envelopes[0].status == "success"
            assert len(sink.envelopes) == 1
    whole, unread = sink.envelopes
    assert (whole.output or {})["raw"]["body"] == "one two three"
    assert "chrono.partial" not in whole.metadata and whole.metadata["chrono.first_chunk_ms"] > 0
    assert (unread.output or {})["raw"]["body"] is None and unread.metadata["chrono.partial"] is True


def test_async_clients_are_recorded_too(peer: Peer, module: Any, sink: MemorySink) -> None:
    async def main() -> None:
        async with chronicle.aspan(), module.AsyncClient() as client:
            assert (await client.post(f"http://{peer.host}/binary")).content == b"\xff\xfe"
            async with client.stream("POST", f"http://{peer.host}/stream") as answer:
                assert [part async for part in answer.aiter_bytes()]

    asyncio.run(main())
    assert [(one.output or {})["raw"]["body"] for one in sink.envelopes] == ["<binary 2 bytes>", "one two three"]
    assert all("traceparent" in seen for seen in peer.seen)


def test_a_secret_in_the_path_is_not_in_the_name(peer: Peer, module: Any, sink: MemorySink) -> None:
    with chronicle.record(), module.Client() as client:
        client.post(f"http://{peer.host}/bot123456789:AA{'x' * 33}/send")
    assert sink.envelopes[0].name == f"http POST {peer.host}/bot[REDACTED]/send"


def test_a_host_that_does_not_answer_is_a_failure(peer: Peer, module: Any, sink: MemorySink) -> None:
    chronicle.configure(inject_hosts=["127.0.0.1:1"])
    with chronicle.record(), module.Client() as client, pytest.raises(module.ConnectError):
        client.post("http://127.0.0.1:1/")
    assert (sink.envelopes[0].output or {})["error"]["type"] == "ConnectError"


def test_instrumenting_twice_is_once_and_it_comes_off(peer: Peer, module: Any, sink: MemorySink) -> None:
    chronicle.instrument_httpx()
    with chronicle.record(), module.Client() as client:
        client.post(f"http://{peer.host}/")
        chronicle.uninstrument_httpx()
        client.post(f"http://{peer.host}/")
    assert len(sink.envelopes) == 1


@pytest.mark.parametrize("name", MODULES)
def test_in_replay_a_response_comes_without_a_request(name: str, peer: Peer, sink: MemorySink) -> None:
    http: Any = pytest.importorskip(name)

    async def later(url: str) -> Any:
        async with http.AsyncClient() as client:
            return (await client.post(url, json={"a": 1})).json()

    def program() -> list[Any]:
        with http.Client() as client:
            answer = client.post(f"http://{peer.host}/x", json={"q": 1})
            with client.stream("POST", f"http://{peer.host}/stream") as streamed:
                text = "".join(streamed.iter_text())
        return [answer.status_code, answer.json(), text, asyncio.run(later(f"http://{peer.host}/y"))]

    with chronicle.record("live"):
        first = program()
    asked = len(peer.seen)
    with chronicle.replay(list(sink.envelopes)) as run:
        assert program() == first == [201, {"ok": True}, "one two three", {"ok": True}]
    assert len(peer.seen) == asked == 3 and run.divergences == []


def test_settings_that_broke_fail_no_request_but_let_none_out_of_a_replay(
    peer: Peer, module: Any, sink: MemorySink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with module.Client() as client:
        with chronicle.record():
            monkeypatch.setenv("CHRONO_RECORD_TIMEOUT", "soon")
            assert client.post(f"http://{peer.host}/").status_code == 201
        assert "timeout" in caplog.text
        monkeypatch.delenv("CHRONO_RECORD_TIMEOUT")
        with chronicle.replay([]):
            monkeypatch.setenv("CHRONO_RECORD_TIMEOUT", "soon")
            with pytest.raises(ValueError, match="timeout"):
                client.post(f"http://{peer.host}/")
            monkeypatch.delenv("CHRONO_RECORD_TIMEOUT")
    assert len(peer.seen) == 1


def test_what_is_no_request_is_refused_by_the_client_itself(peer: Peer, module: Any, sink: MemorySink) -> None:
    with chronicle.record(), module.Client() as client, pytest.raises((AttributeError, TypeError)):
        client.send("no request")
    assert sink.envelopes == []
