"""Owns what all providers ask of a client: where its class comes from, which methods it has, where it calls.

Nothing here imports a provider's package.
"""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlsplit

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
    inner = getattr(client, "_client", client)
    base = str(getattr(client, "base_url", None) or getattr(inner, "base_url", None) or "")
    parts = urlsplit(base)
    if (
        parts.hostname
        and parts.hostname not in hosts
        and not parts.hostname.endswith(tuple(f".{one}" for one in hosts))
    ):
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        port = f":{parts.port}" if parts.port else ""
        known["client.base_url"] = f"{parts.scheme}://{host}{port}{parts.path}".rstrip("/")
    return known
