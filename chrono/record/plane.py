"""Owns talking to a control plane over HTTP: its routes, limits and answers (specs: record A3).

When something is sent, and again, is left to `record.delivery`. The standard library's client is used: it costs a
process less than others to import (and only where something is sent: it loads ssl and email), and no instrumentation
of ours records it.
"""

from __future__ import annotations

import json
import os
import time
import urllib.parse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from chrono.record.errors import ControlPlaneError
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    import http.client

MAX_ANSWER_BYTES = 64 << 20


class PlaneSilent(ControlPlaneError):
    """It did not answer within the time."""


class Limits(NamedTuple):
    """The most that one batch may hold."""

    items: int = 100
    body_bytes: int = 4 << 20


class Answer(NamedTuple):
    """`retry_after_s` is what the plane asked for, None where it did not."""

    status: int
    body: bytes
    retry_after_s: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def detail(self) -> str:
        """The plane's own words."""
        try:
            said = json.loads(self.body)
            return str(said.get("detail", said)) if isinstance(said, dict) else str(said)
        except ValueError:
            return self.body[:500].decode("utf-8", "replace")


class Target(Protocol):
    """Where records are delivered. Bodies are JSON text; each call may raise ControlPlaneError."""

    def limits(self) -> Limits: ...

    def put_trace(self, body: bytes) -> Answer: ...

    def put_span(self, trace_id: str, body: bytes) -> Answer: ...

    def put_envelopes(self, bodies: Sequence[bytes]) -> Answer: ...

    def close(self) -> None:
        """Lets go of connections; a later call opens another."""
        ...

    def forked(self) -> None:
        """In a child: what is open is the parent's."""
        ...


_LEFT_BEHIND: list[http.client.HTTPConnection] = []
"""Connections of the parent, in a forked child."""


class HttpPlane:
    """A control plane at `url`. One connection, kept open; for one thread at a time."""

    def __init__(self, url: str, api_key: str | None = None, *, timeout_s: float = 5.0) -> None:
        """Raises ControlPlaneError where `url` is not one of http or https."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ControlPlaneError(f"{url} is not the URL of a control plane", "it begins with http:// or https://")
        self._https = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._https else 80)
        self._base = parts.path.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._connection: http.client.HTTPConnection | None = None

    def limits(self) -> Limits:
        """What `GET /health` says; the usual ones where it does not say."""
        answer = self.request("GET", "/health")
        if not answer.ok:
            return Limits()
        try:
            said = json.loads(answer.body)
            return Limits(max(1, int(said["max_batch"])), max(1024, int(said["max_body_bytes"])))
        except (ValueError, KeyError, TypeError):
            return Limits()

    def put_trace(self, body: bytes) -> Answer:
        return self.request("POST", "/v1/traces", body)

    def put_span(self, trace_id: str, body: bytes) -> Answer:
        span_id = json.loads(body)["span_id"]
        return self.request("PUT", f"/v1/traces/{_quoted(trace_id)}/spans/{_quoted(span_id)}", body)

    def put_envelopes(self, bodies: Sequence[bytes]) -> Answer:
        return self.request("POST", "/v1/envelopes:batch", b'{"envelopes":[' + b",".join(bodies) + b"]}")

    def read(self, path: str) -> Any:
        """The JSON value at `path`. Raises ControlPlaneError."""
        answer = self.request("GET", path)
        if not answer.ok:
            raise ControlPlaneError(
                f"the control plane answered {answer.status}: {answer.detail}", status_code=answer.status
            )
        try:
            return json.loads(answer.body)
        except ValueError:
            raise ControlPlaneError(f"the control plane's answer to {path} is not JSON") from None

    def request(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """One request. Raises PlaneSilent, or ControlPlaneError where no answer came."""
        begin = time.monotonic()
        reused = self._connection is not None
        try:
            return self._exchange(method, path, body, begin)
        except ConnectionError as error:
            self.close()
            if not reused:
                raise ControlPlaneError(f"the control plane at {self._host} cannot be reached: {error}") from error
        except Exception as error:
            self.close()
            raise self._told(error) from error
        # A kept connection that was closed meanwhile says nothing of the plane; every request here may be repeated.
        try:
            return self._exchange(method, path, body, begin)
        except Exception as error:
            self.close()
            raise self._told(error) from error

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def forked(self) -> None:
        """In the child: closes its copy of the descriptor and says nothing on it."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        # The parent's thread may be reading an answer, and what it reads through is locked in this process for ever:
        # closing that, or only letting it go, would wait for the lock.
        _LEFT_BEHIND.append(connection)
        if connection.sock is not None:
            os.close(connection.sock.detach())

    def _exchange(self, method: str, path: str, body: bytes | None, begin: float) -> Answer:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connected()
        connection.request(method, self._base + path, body=body, headers=self._headers)
        response = connection.getresponse()
        parts: list[bytes] = []
        size = 0
        try:
            while part := response.read1(1 << 16):
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    raise OSError(f"its answer is longer than {MAX_ANSWER_BYTES} bytes")
                if time.monotonic() - begin > self._timeout_s:
                    raise TimeoutError
                parts.append(part)
            if response.length:
                raise OSError("its answer was cut off")
        finally:
            response.close()  # read1 leaves it open, and then the connection takes no further request
        if response.will_close:
            self.close()
        return Answer(response.status, b"".join(parts), _seconds(response.headers.get("Retry-After")))

    def _connected(self) -> http.client.HTTPConnection:
        import http.client
        import ssl

        proxy = self._proxy()
        host, port = proxy or (self._host, self._port)
        if self._https:
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=self._timeout_s, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        if proxy:
            made.set_tunnel(self._host, self._port)
        made.connect()
        return made

    def _proxy(self) -> tuple[str, int] | None:
        """Host and port of the proxy that the environment names for this plane."""
        import urllib.request

        if urllib.request.proxy_bypass(self._host):
            return None
        named = urllib.request.getproxies().get("https" if self._https else "http")
        if not named:
            return None
        parts = urllib.parse.urlsplit(named if "//" in named else f"//{named}")
        return (parts.hostname, parts.port or 8080) if parts.hostname else None

    def _told(self, error: Exception) -> ControlPlaneError:
        if isinstance(error, TimeoutError):
            return PlaneSilent(f"the control plane at {self._host} did not answer within {self._timeout_s:g} s")
        return ControlPlaneError(f"the control plane at {self._host} cannot be reached: {error}")


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _seconds(header: str | None) -> float | None:
    """Seconds of a Retry-After header; a date in it is not understood."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
