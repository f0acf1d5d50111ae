"""Owns the JSON form of an httpx request and response, and making a response again (specs: record A12).

Nothing here imports httpx: what is handed in has its classes, and a response is made only where they are loaded. The
recorded calls over httpx are `record.http`; exceptions of SDKs that hold a response come here from `record.serialise`.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from chrono.record.entry import Json, JsonObject
from chrono.trace.traceparent import HEADER

MASK: Final = "[REDACTED]"
SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-auth-token",
     "x-goog-api-key", "x-amz-security-token", "x-csrf-token"}
)  # fmt: skip
MODULES: Final = ("httpx", "httpx2")
_OF_THE_TRANSFER: Final = ("content-length", "content-encoding", "transfer-encoding")


def is_response(kind: type) -> bool:
    return kind.__name__ == "Response" and _is_of_httpx(kind)


def is_request(kind: type) -> bool:
    return kind.__name__ == "Request" and _is_of_httpx(kind)


def request_form(request: Any, *, body: bool = True) -> JsonObject:
    """Method, address, headers and, where it is wanted, what was sent."""
    form = {"method": request.method, "url": str(request.url), "headers": _headers(request.headers)}
    if body:
        try:
            content = request.content
        except Exception:  # the body of a streamed request is not there before it is sent
            content = None
        form["body"] = _body(content, request.headers.get("content-type"))
    return form


def response_form(response: Any, content: bytes | None) -> JsonObject:
    return {
        "status_code": response.status_code,
        "headers": _headers(response.headers),
        "body": _body(content, response.headers.get("content-type")),
    }


def held_response_form(response: Any) -> JsonObject:
    """A response that is a value: with its request, and with its body only where that has been read."""
    form = response_form(response, getattr(response, "_content", None))
    request = getattr(response, "_request", None)
    return form if request is None else {**form, "request": request_form(request, body=False)}


def request_again(kind: Any, form: JsonObject) -> Any:
    """Raises what httpx raises for a form that is none."""
    return kind(form["method"], form["url"], headers=_sendable(form.get("headers")))


def response_again(kind: Any, form: JsonObject, request: Any = None) -> Any:
    """A response of class `kind` with this form, to `request`, or to the one it holds itself."""
    if request is None and isinstance(form.get("request"), dict):
        http: Any = sys.modules[kind.__module__.partition(".")[0]]
        request = request_again(http.Request, form["request"])
    headers = _sendable(form.get("headers"))
    if headers.get("set-cookie") == MASK:
        headers["set-cookie"] = "recorded=1"  # some cookie, so that later requests carry one as they did
    body = form.get("body")
    content = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return kind(form["status_code"], headers=headers, content=content, request=request)


def _is_of_httpx(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in MODULES


def _sendable(headers: Json) -> dict[str, str]:
    return {
        name: value
        for name, value in (headers.items() if isinstance(headers, dict) else ())
        if isinstance(value, str) and name not in _OF_THE_TRANSFER
    }


def _headers(headers: Any) -> JsonObject:
    """Names in lower case; the trace header left out; values that are secrets by their name masked."""
    found: JsonObject = {}
    for name, value in headers.multi_items():
        key = name.lower()
        if key == HEADER:
            continue
        shown = MASK if key in SECRET_HEADERS else value
        found[key] = f"{found[key]}, {shown}" if key in found and shown != MASK else shown
    return found


def _body(content: bytes | None, content_type: str | None) -> Json:
    """JSON, text, a word on bytes, or None where there is nothing (or nothing to be read without changing it)."""
    if not content:
        return None
    if "json" in (content_type or ""):
        try:
            return json.loads(content)
        except ValueError:
            pass
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"<binary {len(content)} bytes>"
