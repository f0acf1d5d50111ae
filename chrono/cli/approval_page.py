"""Owns the page on which a person answers requests in a browser: on the loopback interface, for one browser only.

The address holds a random token that is good for one visit: what a browser keeps in its history opens nothing. The
visit sets a cookie, and every form carries a second secret. What an answer needs is left to `cli.watching`.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs, urlsplit

from chrono.cli.text import age, safe
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.policy.approvals import Grant, Request

HOST = "127.0.0.1"
COOKIE = "chrono_approvals"
MOST_BODY = 4096
READ_S = 10.0
REFRESH_S = 3


class Desk(Protocol):
    """What the page shows, and where its answers go."""

    def pending(self) -> tuple[tuple[Request, str], ...]: ...
    def answer(self, request_id: str, nonce: str, decision: str) -> Grant: ...


class _Server(ThreadingHTTPServer):
    """The server with its secrets."""

    daemon_threads = True

    def __init__(self, desk: Desk, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.desk = desk
        self.ticket: str | None = secrets.token_urlsafe(24)
        self.cookie = secrets.token_urlsafe(24)
        self.form = secrets.token_urlsafe(24)
        self.origin = f"http://{HOST}:{self.server_port}"
        self._guard = threading.Lock()

    def admits(self, ticket: str) -> bool:
        """Whether `ticket` is the token of the address; true once."""
        with self._guard:
            if self.ticket is None or not _same(ticket, self.ticket):
                return False
            self.ticket = None
            return True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up is no event for the terminal."""


@contextmanager
def serving(desk: Desk, port: int = 0) -> Iterator[str]:
    """Serves the page while the block runs; the address that opens it, once."""
    server = _Server(desk, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"{server.origin}/?token={server.ticket}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = READ_S
    server_version, sys_version = "chrono", ""

    def do_GET(self) -> None:
        if not self._is_ours():
            return
        address = urlsplit(self.path)
        tokens = parse_qs(address.query).get("token", [])
        if address.path != "/":
            self._send(HTTPStatus.NOT_FOUND, _message("There is nothing here."))
        elif self._knows_cookie():
            self._send(HTTPStatus.OK, _page(self.server.desk.pending(), self.server.form), refresh=True)
        elif tokens and self.server.admits(tokens[0]):
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Location", "/")
            self.send_header("Set-Cookie", f"{COOKIE}={self.server.cookie}; HttpOnly; SameSite=Strict; Path=/")
            self._end(b"")
        else:
            again = (
                "This address was opened already, or is not the whole one. Start chrono approvals watch --page again."
            )
            self._send(HTTPStatus.FORBIDDEN, _message(again))

    def do_POST(self) -> None:
        if not self._is_ours():
            return
        given = self._form()
        if not self._knows_cookie() or self.headers.get("Origin") != self.server.origin or given is None:
            self._send(HTTPStatus.FORBIDDEN, _message("This did not come from the page."))
            return
        if not _same(given.get("form", ""), self.server.form) or given.get("decision") not in ("approve", "deny"):
            self._send(HTTPStatus.FORBIDDEN, _message("This did not come from the page."))
            return
        try:
            self.server.desk.answer(given.get("id", ""), given.get("nonce", ""), given["decision"])
        except ChronoError as error:
            self._send(HTTPStatus.CONFLICT, _message(f"{error.message}. {error.hint or ''}", back=True))
            return
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", "/")
        self._end(b"")

    def _is_ours(self) -> bool:
        """Whether the browser meant this server: a page elsewhere that has its name point here did not."""
        if self.headers.get("Host") == self.server.origin.removeprefix("http://"):
            return True
        self._send(HTTPStatus.FORBIDDEN, _message("This server has another name."))
        return False

    def _knows_cookie(self) -> bool:
        pairs = (pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";"))
        return any(name == COOKIE and _same(value, self.server.cookie) for name, _, value in pairs)

    def _form(self) -> dict[str, str] | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BODY:
            return None
        body = self.rfile.read(int(length)).decode("ascii", "replace")
        return {key: values[0] for key, values in parse_qs(body).items()}

    def _send(self, status: HTTPStatus, body: str, *, refresh: bool = False) -> None:
        self.send_response(status)
        nonce = secrets.token_urlsafe(12)
        head = f'<meta http-equiv="refresh" content="{REFRESH_S}">' if refresh else ""
        text = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>chrono approvals</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'{head}<style nonce="{nonce}">{_STYLE}</style></head><body><main>{body}</main></body></html>'
        )
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", f"style-src 'nonce-{nonce}'; {_NOTHING_ELSE}")
        self._end(text.encode("utf-8", "backslashreplace"))

    def _end(self, body: bytes) -> None:
        for name, value in _HEADERS:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing goes to the terminal: requests hold tokens."""


_NOTHING_ELSE = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Connection", "close"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)

_BREAKABLE = re.compile(r"[^\s]*[-/?|][^\s]*")

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--ok:#1a7f37;--no:#b42318}
body{font:16px/1.5 system-ui,sans-serif;margin:0}
main{max-width:52rem;margin:0 auto;padding:1.5rem 1rem;overflow-wrap:anywhere}
h1{font-size:1.15rem;margin:0 0 1rem}
article{border:1px solid var(--line);border-radius:10px;padding:1rem;margin:0 0 1rem}
header{display:flex;gap:.75rem;flex-wrap:wrap;font-size:.9rem;opacity:.8}
pre{font:14px/1.45 ui-monospace,monospace;background:#8881;border-radius:6px;padding:.75rem;margin:.75rem 0;
white-space:pre-wrap}
ul{margin:.5rem 0;padding-left:1.2rem}li{margin:.25rem 0}
span{display:inline-block;max-width:100%;word-break:break-all;vertical-align:top}
p{margin:.5rem 0}small{opacity:.75}
form{display:flex;gap:.75rem;margin-top:.75rem}
button{font:inherit;padding:.45rem 1.1rem;border-radius:8px;border:1px solid var(--line);background:none;cursor:pointer}
button.ok{background:var(--ok);border-color:var(--ok);color:#fff}button.no{border-color:var(--no);color:var(--no)}
@media(prefers-color-scheme:dark){button.no{color:#ff8f85;border-color:#ff8f85}}
"""


def _page(pending: tuple[tuple[Request, str], ...], form: str) -> str:
    waiting = [request for request, state in pending if state == "waits"]
    done = [(request, state) for request, state in pending if state != "waits"]
    title = f"{len(waiting)} waiting" if waiting else "Nothing waits"
    parts = [f"<h1>chrono approvals · {title}</h1>", *(_article(request, form) for request in waiting)]
    parts += [f"<p><small>{state}: <code>{_text(request.text[:200])}</code></small></p>" for request, state in done]
    return "".join(parts)


def _article(request: Request, form: str) -> str:
    when = age((time.time_ns() - request.at_ns) / 1e9)
    reasons = "".join(f"<li>{_text(reason)}</li>" for reason in request.reasons)
    files = "".join(
        f"<li><code>{_text(path)}</code> <small>{digest[:12]}…</small></li>" for path, digest in request.files
    )
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value, quote=True)}">'
        for name, value in (("form", form), ("id", request.id), ("nonce", request.nonce))
    )
    return (
        f"<article><header><b>{_text(request.client or 'an agent')}</b><span>{_text(request.tool)}</span>"
        f"<span>{when}</span><code>{request.id}</code></header>"
        f"<pre>{_text(request.text, lines=True)}</pre><p>in <code>{_text(request.cwd)}</code></p>"
        f"<ul>{reasons}</ul>{f'<p>It runs:</p><ul>{files}</ul>' if files else ''}"
        f'<form method="post" action="/">{hidden}'
        '<button class="ok" name="decision" value="approve">Allow exactly this, once</button>'
        '<button class="no" name="decision" value="deny">Deny</button></form></article>'
    )


def _message(text: str, *, back: bool = False) -> str:
    return f"<h1>chrono approvals</h1><p>{_text(text)}</p>" + ('<p><a href="/">Back</a></p>' if back else "")


def _text(text: str, *, lines: bool = False) -> str:
    """Text that an agent may have chosen: no markup, nothing invisible, no turned reading direction. Each word that a
    browser might break (at a hyphen, a slash) stays whole as long as a line holds it: half an option reads as another.
    """
    return _BREAKABLE.sub(r"<span>\g<0></span>", escape(safe(text, lines=lines), quote=True))


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
