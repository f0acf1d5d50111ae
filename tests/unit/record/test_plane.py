"""Talking to a control plane: what it says is understood, and nothing it does lasts longer than the time it has."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from chrono.record.errors import ControlPlaneError
from chrono.record.plane import HttpPlane, Limits, PlaneSilent
from tests.unit.record.fake_plane import FakePlane
from tests.waiting import LONG_S


@contextmanager
def speaking(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """The URL of a server that says what `speak` says, once for each connection, after it has read the request."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.recv(1 << 16)
                    speak(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def test_limits_are_what_the_plane_says() -> None:
    with FakePlane(max_batch=7, max_body_bytes=5000) as plane:
        http = HttpPlane(plane.url)
        assert http.limits() == Limits(7, 5000)
        plane.answers = lambda method, path, body: 404
        assert http.limits() == Limits()
        http.close()


def test_one_connection_is_kept_and_made_anew_where_it_was_closed() -> None:
    connections = 0

    def once(connection: socket.socket) -> None:
        nonlocal connections
        connections += 1
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with speaking(once) as url:
        http = HttpPlane(url)
        for _ in range(3):
            assert http.request("POST", "/v1/traces", b"{}").ok
            time.sleep(0.02)
        http.close()
    assert connections == 3


def test_an_answer_that_drips_is_given_up() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
        for _ in range(10_000):
            connection.sendall(b"x")
            time.sleep(0.05)

    with speaking(drip) as url:
        http = HttpPlane(url, timeout_s=0.3)
        begin = time.monotonic()
        with pytest.raises(PlaneSilent):
            http.request("GET", "/health")
        assert time.monotonic() - begin < LONG_S
        http.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000,
    ],
    ids=["nothing", "garbage", "cut", "long header"],
)
def test_what_is_no_answer_is_an_error_of_the_plane(said: bytes) -> None:
    with speaking(lambda connection: connection.sendall(said)) as url:
        http = HttpPlane(url, timeout_s=1.0)
        with pytest.raises(ControlPlaneError) as caught:
            http.request("GET", "/health")
        assert caught.value.status_code is None
        http.close()


def test_an_error_is_told_in_the_planes_own_words() -> None:
    with FakePlane() as plane:
        plane.answers = lambda method, path, body: (429, {"Retry-After": "7"})
        http = HttpPlane(plane.url)
        answer = http.request("POST", "/v1/traces", b"{}")
        assert (answer.status, answer.detail, answer.retry_after_s) == (429, "told to say 429", 7.0)
        with pytest.raises(ControlPlaneError, match="told to say 429"):
            http.read("/v1/traces/x")
        http.close()


def test_a_path_in_the_url_and_odd_ids_are_kept_apart() -> None:
    with FakePlane() as plane:
        plane.answers = lambda method, path, body: 204
        http = HttpPlane(plane.url + "/base/")
        http.put_span("a/../b", b'{"span_id": "c?d"}')
        assert plane.sent("PUT") == ["/base/v1/traces/a%2F..%2Fb/spans/c%3Fd"]
        http.close()


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def proxy(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        asked.append(connection.recv(1 << 16))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with speaking(proxy) as url:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", url)
        http = HttpPlane("http://plane.example:81", "secret")
        assert http.request("GET", "/health").ok
        http.close()
    assert b"GET /health" in asked[0] and b"Authorization: Bearer secret" in asked[0]


@pytest.mark.parametrize("url", ["", "plane.example", "ftp://plane.example", "http://"])
def test_what_is_no_url_is_said_at_once(url: str) -> None:
    with pytest.raises(ControlPlaneError, match="is not the URL"):
        HttpPlane(url)


def test_a_fork_while_an_answer_is_being_read_does_not_stall_the_child() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        plane = HttpPlane(f"http://127.0.0.1:{server.getsockname()[1]}", timeout_s=LONG_S)
        asking = threading.Thread(target=lambda: plane.put_trace(b"{}"), daemon=True)
        asking.start()
        peer, _ = server.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            time.sleep(0.3)  # the thread waits for the body now, and holds what it reads through
            child = os.fork()
            if child == 0:
                plane.forked()
                os._exit(0)
            deadline = time.monotonic() + LONG_S
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    pytest.fail("the child waits for a lock of a thread that it does not have")
                time.sleep(0.01)
            peer.sendall(b"{}")
            asking.join(LONG_S)
        plane.close()
    assert not asking.is_alive(), "the parent's connection goes on"
