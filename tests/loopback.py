"""Owns serving HTTP on a free port of loopback, which every fake server of the tests stands on.

What is answered is left to the handlers.
"""

from __future__ import annotations

import threading
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
