"""Owns ports of loopback: serving HTTP on a free one, which every fake server of the tests stands on, and holding one.

What is answered is left to the handlers.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Logs no request."""

    def log_message(self, *_: object) -> None:
        pass


class Loopback(ThreadingHTTPServer):
    """Serves from its making until `close`, or to the end of a `with` block."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def held_port(port: int = 0) -> Iterator[int]:
    """A port at which nobody listens and that the kernel gives to nobody else; who asks for it by number may have it.

    A port that was found free and let go belongs to whoever asks next, in a suite of several processes a stranger.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a server could not take it over
        holder.bind(("127.0.0.1", port))
        yield holder.getsockname()[1]
