"""Owns what all providers ask of a client: where its class comes from, which methods it has, where it calls.

Nothing here imports a provider's package.
"""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import SplitResult, urlsplit

from chrono.record.provider import Method

JsonObject = dict[str, Any]


def comes_from(client: object, *packages: str) -> bool:
    """Whether the class of `client`, or one it is derived from, is defined in one of `packages`."""
    return any(
        base.__module__ == package or base.__module__.startswith(f"{package}.")
        for base in type(client).__mro__
        for package in packages
    )


def class_names(client: object) -> tuple[str, ...]:
    return tuple(base.__name__ for base in type(client).__mro__)


def has(client: object, path: str) -> bool:
    """Whether there is a method at `path`. A part that the client cannot make (no extra installed) is not there."""
    at: Any = client
    try:
        for name in path.split("."):
            at = getattr(at, name)
    except Exception:
        return False
    return callable(at)


def present(client: object, methods: tuple[Method, ...]) -> tuple[Method, ...]:
    return tuple(method for method in methods if has(client, method.path))


def identity(client: object, library: str, hosts: tuple[str, ...]) -> JsonObject:
    """`client.library`, `client.version`; `client.base_url` without credentials where it is none of `hosts`."""
    known: JsonObject = {"client.library": library}
    version = getattr(sys.modules.get(library), "__version__", None)
    if isinstance(version, str):
        known["client.version"] = version
    elsewhere = _base_url(client)
    if elsewhere is not None and not _is_one_of(elsewhere.hostname or "", hosts):
        host = f"[{elsewhere.hostname}]" if ":" in (elsewhere.hostname or "") else elsewhere.hostname
        port = f":{elsewhere.port}" if elsewhere.port else ""
        known["client.base_url"] = f"{elsewhere.scheme}://{host}{port}{elsewhere.path}".rstrip("/")
    return known


def _base_url(client: object) -> SplitResult | None:
    """Where the client, or the one it belongs to, calls; None where it says nothing or no address."""
    owner = getattr(client, "_client", client)
    written = str(getattr(client, "base_url", None) or getattr(owner, "base_url", None) or "")
    try:
        parts = urlsplit(written)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _is_one_of(host: str, hosts: tuple[str, ...]) -> bool:
    return any(host == one or host.endswith(f".{one}") for one in hosts)
