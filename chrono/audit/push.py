"""Owns keeping a copy of a log elsewhere over HTTPS, and asking what is kept there (audit format v2, "Push").

The other side is a store that only grows; what it says is believed only under the log's own signature. What it saw is
kept by `audit.external`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module

from chrono.audit import checkpoint
from chrono.audit.checkpoint import NotACheckpoint
from chrono.audit.place import LogPlace, open_text
from chrono.audit.proof import NotAProof, newest_checkpoint
from chrono.audit.text import lines
from chrono.audit.web import ask, safe_address
from chrono.errors import ChronoError
from chrono.signing import PublicKey
from chrono.tuples import NamedTuple

KEYRING_SERVICE = "chrono-audit"
BATCH_RECORDS = 500
BATCH_BYTES = 1 << 20


class Store(NamedTuple):
    """Where a copy is kept. `auth`: the value of the Authorization header, None without one; never shown."""

    url: str
    auth: str | None = None

    def __repr__(self) -> str:
        return f"Store({self.url})"


class Kept(NamedTuple):
    """What a store says it has: `size` records, and the checkpoint it was given last, "" where none."""

    size: int
    note: str


def store_at(url: str, auth: str | None) -> Store:
    """A store by its address. Raises ChronoError where the address would send records in the clear."""
    return Store(safe_address(url), auth)


def auth_for(url: str, given: str | None) -> str | None:
    """The Authorization header for `url`: what was given, else what the system's keyring keeps for the address.

    The keyring is asked where the package `keyring` is installed (extra `keyring`); None where nobody knows one.
    Raises ChronoError where the keyring cannot be opened: without it the store would refuse for no visible reason.
    """
    if given:
        return given
    try:
        keyring = import_module("keyring")
    except ImportError:
        return None
    try:
        found = keyring.get_password(KEYRING_SERVICE, url.rstrip("/"))
    except Exception as error:  # each backend has errors of its own
        raise ChronoError(
            f"the keyring cannot be asked for the store's password: {error}",
            "unlock it, or set CHRONO_AUDIT_PUSH_AUTH to the Authorization header",
        ) from None
    return found if isinstance(found, str) and found else None


def kept_at(store: Store, log: str) -> Kept:
    """What the store has of `log`; nothing where it never heard of it. Raises ChronoError."""
    status, body = _ask(store, "GET", f"/{log}", None, {})
    if status == 404:
        return Kept(0, "")
    return _kept(store, status, body)


def push(place: LogPlace, store: Store, log: str) -> tuple[Kept, int]:
    """Sends what the store lacks, then the newest checkpoint; (what it has now, records sent). Resumes by itself.

    Raises ChronoError: the store has more than this log, refuses, or does not answer.
    """
    kept, sent = kept_at(store, log), 0
    try:
        note = newest_checkpoint(place)
    except NotAProof as error:
        raise ChronoError(str(error), "run chrono audit --verify") from None
    size = checkpoint.parse(note)[0].size
    if kept.size > size:
        raise ChronoError(
            f"{store.url} keeps {kept.size} records, this log has {size}: it was cut or replaced",
            "run chrono audit --verify",
        )
    for first, batch in _batches(place, kept.size, size):
        headers = {"Content-Type": "application/jsonl", "Chrono-From": str(first)}
        status, body = _ask(store, "POST", f"/{log}", batch, headers)
        kept = _kept(store, status, body)
        sent += batch.count(b"\n")
    status, body = _ask(store, "PUT", f"/{log}/checkpoint", note.encode("utf-8"), {"Content-Type": "text/plain"})
    return _kept(store, status, body), sent


def signed_by(note: str, log: str, keys: tuple[PublicKey, ...]) -> checkpoint.Checkpoint:
    """The checkpoint in `note` under one of `keys`. Raises NotACheckpoint."""
    why = NotACheckpoint("there is no key to check it with")
    for key in keys:
        try:
            return checkpoint.verified(note, log=log, key=key)
        except NotACheckpoint as error:
            why = error
    raise why


def _batches(place: LogPlace, first: int, size: int) -> Iterator[tuple[int, bytes]]:
    with open_text(place) as text:
        held: list[bytes] = []
        begun, held_bytes = first, 0
        for n, line in enumerate(lines(text)):
            if n < first or n >= size:
                continue
            if line.pruned:
                raise ChronoError(f"record {n} was pruned here before this store had it", "push before pruning")
            if line.data is None:
                raise ChronoError(f"record {n} is too long to be one", "run chrono audit --verify")
            held.append(line.data + b"\n")
            held_bytes += line.length + 1
            if len(held) >= BATCH_RECORDS or held_bytes >= BATCH_BYTES:
                yield begun, b"".join(held)
                held, begun, held_bytes = [], n + 1, 0
        if held:
            yield begun, b"".join(held)


def _kept(store: Store, status: int, body: bytes) -> Kept:
    try:
        value = json.loads(body)
        size, note = value["size"], value["checkpoint"]
    except (ValueError, KeyError, TypeError):
        size, note = None, None
    if status == 200 and isinstance(size, int) and isinstance(note, str):
        return Kept(size, note)
    why = value.get("error") if isinstance(value := _json(body), dict) else None
    raise ChronoError(
        f"{store.url} refuses: {why or f'HTTP {status}'}",
        "set CHRONO_AUDIT_PUSH_AUTH to the Authorization header it wants, or keep it in the keyring"
        if status in (401, 403)
        else None,
    )


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _ask(store: Store, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
    return ask(method, store.url + path, body, {**headers, "Authorization": store.auth} if store.auth else headers)
