"""A store of audit logs that only grows, as small as one can be: what `chrono audit --push` talks to in tests."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.loopback import Loopback, Quiet

from .consistency import consistent


class AppendOnlyStore:
    """Serves on a port of its own. `fail` answers are given first, one a request; `auth` is asked for where set."""

    def __init__(self) -> None:
        self.logs: dict[str, list[bytes]] = {}
        self.notes: dict[str, str] = {}
        self.fail: list[int] = []
        self.auth: str | None = None
        self.requests: list[tuple[str, str]] = []
        store = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                store.serve(self, b"")

            def do_POST(self) -> None:
                store.serve(self, self.rfile.read(int(self.headers["Content-Length"])))

            do_PUT = do_POST

        self._server = Loopback(Handler)
        self.url = f"{self._server.url}/audit"

    def close(self) -> None:
        self._server.close()

    def serve(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        self.requests.append((request.command, request.path))
        status, answer = self._answer(request, body)
        data = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, object]]:
        if self.fail:
            return self.fail.pop(0), {"error": "not now"}
        if self.auth is not None and request.headers.get("Authorization") != self.auth:
            return 401, {"error": "who are you?"}
        log = request.path.removeprefix("/audit/").removesuffix("/checkpoint")
        if request.command == "GET" and log not in self.logs:
            return 404, {"error": "never heard of it"}
        lines = self.logs.setdefault(log, [])
        if request.command == "POST":
            if int(request.headers["Chrono-From"]) != len(lines):
                return 409, {"error": f"the next record is {len(lines)}"}
            lines.extend(body.split(b"\n")[:-1])
        elif request.command == "PUT":
            size, root = body.decode().split("\n")[1:3]
            if int(size) > len(lines) or base64.b64encode(root_of(lines[: int(size)])).decode() != root:
                return 409, {"error": "the checkpoint is of other records"}
            self.notes[log] = body.decode()
        return 200, {"size": len(lines), "checkpoint": self.notes.get(log, "")}


class WitnessServer(AppendOnlyStore):
    """A C2SP witness (c2sp.org/tlog-witness) that remembers size and root of each log, and signs what continues them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self._key = name, Ed25519PrivateKey.generate()
        raw = b"\x04" + self._key.public_key().public_bytes_raw()
        self.hint = sha256(name.encode() + b"\n" + raw).digest()[:4]
        self.vkey = f"{name}+{self.hint.hex()}+{base64.b64encode(raw).decode()}"
        self.seen: dict[str, tuple[int, bytes]] = {}
        self.lie = False

    def serve(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        status, text = (self.fail.pop(0), "") if self.fail else self._judge(request.path, body.decode())
        data = text.encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _judge(self, path: str, body: str) -> tuple[int, str]:
        if not path.endswith("/add-checkpoint"):
            return 404, ""
        head, _, note = body.partition("\n\n")
        first, *hashes = head.split("\n")
        old = int(first.removeprefix("old "))
        origin, size_text, root_text = note.split("\n")[:3]
        size, root = int(size_text), base64.b64decode(root_text)
        before, known = self.seen.get(origin, (0, b""))
        if old != before or (old == size and old and known != root):
            return 409, f"{before}\n"
        if old and old < size and not consistent(old, known, size, root, [base64.b64decode(part) for part in hashes]):
            return 422, ""
        self.seen[origin] = (size, root)
        at = (1_790_000_000).to_bytes(8, "big")
        text = f"cosignature/v1\ntime 1790000000\n{origin}\n{size + self.lie}\n{root_text}\n"
        blob = self.hint + at + self._key.sign(text.encode())
        return 200, f"— {self.name} {base64.b64encode(blob).decode()}\n"


def root_of(lines: list[bytes]) -> bytes:
    """RFC 6962 section 2.1, as it is written there."""
    if len(lines) == 1:
        return sha256(b"\0" + lines[0]).digest()
    split = 1 << ((len(lines) - 1).bit_length() - 1)
    return sha256(b"\1" + root_of(lines[:split]) + root_of(lines[split:])).digest()
