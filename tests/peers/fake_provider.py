"""Owns a provider of models on loopback: it answers each path with what a test planned, whole or in pieces.

What the providers' own clients make of it is what the tests claim. Answers are written down in `answers`.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.loopback import Loopback, Quiet

Json = Any


class Whole(NamedTuple):
    """An answer at once."""

    body: Json
    status: int = 200


class Pieces(NamedTuple):
    """An answer in pieces: server-sent events, or Amazon's frames. The last piece waits for `FakeProvider.go_on`, where
    a test holds it back; `broken` ends the connection before it."""

    pieces: tuple[bytes, ...]
    kind: str = "text/event-stream"
    broken: bool = False


def events(*payloads: Json, named: bool = False, end: bool = False) -> Pieces:
    """Server-sent events; `named` has the event's type on a line of its own, `end` a last `[DONE]`."""
    lines = []
    for payload in payloads:
        head = f"event: {payload['type']}\n" if named else ""
        lines.append(f"{head}data: {json.dumps(payload)}\n\n".encode())
    if end:
        lines.append(b"data: [DONE]\n\n")
    return Pieces(tuple(lines))


def frames(*messages: tuple[str, Json]) -> Pieces:
    """Frames of Amazon's event stream: length, headers, payload, each with its checksum."""
    return Pieces(tuple(_frame(kind, payload) for kind, payload in messages), "application/vnd.amazon.eventstream")


def _frame(kind: str, payload: Json) -> bytes:
    headers = b""
    for name, value in ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2) + value.encode()
    body = json.dumps(payload).encode()
    prelude = (len(headers) + len(body) + 16).to_bytes(4) + len(headers).to_bytes(4)
    prelude += zlib.crc32(prelude).to_bytes(4)
    whole = prelude + headers + body
    return whole + zlib.crc32(whole).to_bytes(4)


class FakeProvider:
    """Answers a path (its end is enough) with the planned answers in turn, the last one for ever."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[tuple[str, Json]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self._planned: dict[str, list[Whole | Pieces]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def plan(self, path: str, *answers: Whole | Pieces) -> None:
        self._planned[path] = list(answers)

    def answer(self, path: str, asked: Json) -> Whole | Pieces:
        self.asked.append((path, asked))
        for end, answers in self._planned.items():
            if path.endswith(end):
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return Whole({"error": {"message": f"nothing is planned for {path}"}}, 404)


@contextmanager
def running() -> Iterator[FakeProvider]:
    provider = FakeProvider()

    class Handler(Quiet):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            asked = json.loads(self.rfile.read(length) or b"null")
            found = provider.answer(self.path.split("?")[0], asked)
            try:
                if isinstance(found, Whole):
                    self._whole(found)
                else:
                    self._pieces(found)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _whole(self, found: Whole) -> None:
            body = json.dumps(found.body).encode()
            self.send_response(found.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.send_header("x-amzn-requestid", "req-1")
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(body)

        def _pieces(self, found: Pieces) -> None:
            self.send_response(200)
            self.send_header("content-type", found.kind)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in found.pieces[:-1]:
                self._piece(piece)
            provider.go_on.wait(20)
            if found.broken:
                self.close_connection = True
                self.connection.shutdown(2)
                return
            self._piece(found.pieces[-1])
            self.wfile.write(b"0\r\n\r\n")

        def _piece(self, piece: bytes) -> None:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()

    with Loopback(Handler) as server:
        provider.port = server.server_port
        try:
            yield provider
        finally:
            provider.go_on.set()
