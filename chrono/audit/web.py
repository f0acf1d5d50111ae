"""Owns one HTTP exchange with somebody who keeps something of a log: encrypted, tried again, never redirected.

What is asked and what an answer means is left to `audit.push`, `audit.cosign` and `audit.stamp`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

TRIES = 5
FIRST_PAUSE_S = 0.2
_TIMEOUT_S = 30
_MAX_ANSWER = 1 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_BUSY = (429, 500, 502, 503, 504)


class Asked(NamedTuple):
    """An answer: its HTTP status and its body, of which at most a mebibyte is read."""

    status: int
    body: bytes


def safe_address(url: str) -> str:
    """`url` without a slash at its end. Raises ChronoError where it would send something in the clear."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise ChronoError("the address is malformed", "for example https://audit.example.com/chrono") from None
    if parts.username or parts.password:
        raise ChronoError("the address holds a password", "give it in CHRONO_AUDIT_PUSH_AUTH, as the whole header")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise ChronoError(f"{url} is not encrypted", "use https; http is for this machine itself only")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ChronoError(f"{url} is no address", "for example https://audit.example.com/chrono")
    return url.rstrip("/")


def ask(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Asked:
    """One exchange, tried again where the other side is busy or away. Never follows a redirection with the headers.

    Raises ChronoError where there is no answer.
    """
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    opener = urllib.request.build_opener(Stay)
    why = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
        request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))  # noqa: S310
        try:
            with opener.open(request, timeout=_TIMEOUT_S) as answer:
                return Asked(answer.status, answer.read(_MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in _BUSY:
                    return Asked(error.code, error.read(_MAX_ANSWER))
                why = f"HTTP {error.code}"
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            why = str(getattr(reason, "strerror", None) or reason)
    raise ChronoError(f"{url} does not answer: {why}", "try again later: nothing is lost by that")
