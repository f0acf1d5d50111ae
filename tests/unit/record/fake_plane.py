"""Owns a control plane on loopback that takes, refuses, fails, drags or hangs as a test tells it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from typing import Any

from tests.loopback import Loopback, Quiet


class FakePlane:
    """Keeps what it took. `answers` says what to do with a request: a function of method, path and body that answers
    None (take it), a status, or a status with headers; it may sleep. Closed envelopes are deduplicated, as a real one
    does, and `times` counts how often each was sent and taken."""

    def __init__(self, max_batch: int = 100, max_body_bytes: int = 4 << 20, *, port: int = 0) -> None:
        self.max_batch, self.max_body_bytes = max_batch, max_body_bytes
        self.answers: Any = lambda method, path, body: None
        self.traces: dict[str, Any] = {}
        self.spans: dict[tuple[str, str], Any] = {}
        self.envelopes: dict[tuple[str, str], Any] = {}
        self.times: Counter[str] = Counter()
        self.requests: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        plane = self

        class Handler(Quiet):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle(self) -> None:
                try:
                    super().handle()
                except (OSError, json.JSONDecodeError):
                    pass  # the client has gone, or two of them wrote on one connection

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer, headers = plane._handle(self.command, self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = _serve

        self._server = Loopback(Handler, port)
        self.url = self._server.url

    def __enter__(self) -> FakePlane:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def sent(self, method: str) -> list[str]:
        """Paths that were asked for with `method`."""
        return [path for one, path in self.requests if one == method]

    def _handle(self, method: str, path: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        self.requests.append((method, path))
        said = self.answers(method, path, body)
        if said is not None:
            status, headers = said if isinstance(said, tuple) else (said, {})
            return status, {"detail": f"told to say {status}"}, headers
        if path == "/health":
            return 200, {"status": "ok", "max_batch": self.max_batch, "max_body_bytes": self.max_body_bytes}, {}
        if len(body) > self.max_body_bytes and path.endswith(":batch"):
            return 413, {"detail": "payload too large"}, {}
        if path == "/count":
            return 200, {"envelopes": len(self.envelopes), "spans": len(self.spans)}, {}
        value = json.loads(body)
        with self._lock:
            if path.endswith("/envelopes:batch"):
                return self._take_envelopes(value["envelopes"])
            if path == "/v1/traces":
                self.traces.setdefault(value["trace_id"], value)
                return 201, {}, {}
            known = self.spans.get((value["trace_id"], value["span_id"]))
            if known is not None and known["state"] == "closed":
                return 200, {"status": "deduped"}, {}
            self.spans[value["trace_id"], value["span_id"]] = value
            return 200, {"status": "stored"}, {}

    def _take_envelopes(self, envelopes: list[Any]) -> tuple[int, Any, dict[str, str]]:
        if len(envelopes) > self.max_batch:
            return 400, {"detail": f"batch max {self.max_batch}"}, {}
        if any(one.get("kind") not in ("tool", "llm") for one in envelopes):
            return 400, {"detail": "invalid envelope"}, {}
        deduped = 0
        for one in envelopes:
            key = (one["trace_id"], one["envelope_id"])
            known = self.envelopes.get(key)
            self.times[one["envelope_id"]] += 1
            if known is not None and known["envelope_status"]["state"] == "closed":
                deduped += 1
            else:
                self.envelopes[key] = one
        return 201, {"accepted": len(envelopes) - deduped, "deduped": deduped}, {}


def failing_now_and_then() -> Any:
    """Answers every third request that would write with 503."""
    asked = iter(range(1 << 60))
    return lambda method, path, body: 503 if method != "GET" and next(asked) % 3 == 1 else None


def hanging(method: str, path: str, body: bytes) -> None:
    """Accepts, and says nothing."""
    time.sleep(3600)


def slow(seconds: float) -> Any:
    """Takes everything, each after so long."""

    def wait(method: str, path: str, body: bytes) -> None:
        time.sleep(seconds)

    return wait


if __name__ == "__main__":  # for benchmarks, as a process of its own; ends with its standard input
    answers = {"well": None, "503": failing_now_and_then(), "hang": hanging}[sys.argv[1]]
    plane = FakePlane()
    plane.answers = answers or plane.answers
    print(plane.url, flush=True)
    sys.stdin.read()
    os._exit(0)
