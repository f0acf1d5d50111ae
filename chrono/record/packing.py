"""Owns how a record's JSON is cut into shared pieces and put together again, so that a conversation that is sent again
with each turn takes O(n) bytes, not O(n^2). Pure: files are left to `record.local` and `record.reading`.

A reference is the byte 0x01 and twelve hex digits, the place in the same file where the piece's line begins. JSON text
never holds 0x01 (it must be escaped there), so a reference cannot be mistaken for anything that was recorded. A piece
is any run of bytes, with references of its own; it need not be a whole JSON value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from chrono.record.frames import MAX_BODY_BYTES, DamagedStore

MARK = b"\x01"
SMALL_OBJECT_BYTES = 2048
SMALL_RECORD_BYTES = 8192
"""A record below this is written as it is: looking for pieces would cost more than it saves."""
SMALL_PIECE_BYTES = 256
"""No piece is smaller: a reference and the piece's own head take about 70 bytes."""
MAX_DEPTH = 6
_SCALARS = frozenset({int, float, bool, type(None)})
OUTER_DEPTH = 3
"""Of objects that are gone through without asking first how long they are: envelope, input, raw."""
MAX_KNOWN = 50_000
"""Pieces that one file's writer remembers; what is forgotten is written again."""

_REFERENCE = re.compile(rb"\x01([0-9a-f]{12})")


def _encoder(*, ensure_ascii: bool) -> Callable[[object], str]:
    """`JSONEncoder.encode` makes its C encoder anew at each call, which costs as much as a small record takes. Where
    the interpreter's is not the one known, the slow way is as right."""
    slow = json.JSONEncoder(separators=(",", ":"), ensure_ascii=ensure_ascii, check_circular=False, default=repr).encode
    try:
        from json import encoder

        text = encoder.encode_basestring_ascii if ensure_ascii else encoder.encode_basestring
        make: Any = encoder.c_make_encoder  # type: ignore[attr-defined]
        quick = make(None, repr, text, None, ":", ",", False, False, True)
        sample: dict[str, Any] = {"é\n": [1, 2.5, None, True, "\u20ac", {}], "set": set()}
        if "".join(quick(sample, 0)) == slow(sample):
            return lambda value: "".join(quick(value, 0))
    except Exception:  # noqa: S110 - an interpreter without it, or with another one
        pass
    return slow


_TEXT = _encoder(ensure_ascii=False)
_ASCII = _encoder(ensure_ascii=True)

Put = Callable[[bytes], int]
"""Appends a piece and returns the place of its line."""


def json_bytes(value: object) -> bytes:
    """JSON text of `value` in UTF-8, without white space; a lone surrogate stays an escape (as `entry.encode`)."""
    try:
        return _TEXT(value).encode()
    except UnicodeEncodeError:
        return _ASCII(value).encode()


def _is_small(item: object) -> bool:
    """Whether `item` is plainly below a piece's size: at most 4 bytes a character, or 6 where it is escaped."""
    kind = type(item)
    if kind is str:
        return len(item) < SMALL_PIECE_BYTES // 6  # type: ignore[arg-type]
    return kind in _SCALARS or item in ({}, [])


class Packer:
    """What one file's writer knows of the pieces that it wrote."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}

    def pack(self, value: Mapping[str, Any], plain: bytes, put: Put) -> bytes:
        """`plain`, the JSON text of `value`, with what was written before, or may come again, as references."""
        if len(plain) < SMALL_RECORD_BYTES:
            return plain
        return self._object(value, put, 1)

    def forget(self) -> None:
        """For a new file."""
        self._places.clear()

    def _any(self, value: object, put: Put, depth: int) -> bytes:
        if depth < MAX_DEPTH:
            if isinstance(value, list) and len(value) > 1 and isinstance(value[0], dict | list):
                return self._list(value, put, depth)
            if isinstance(value, dict) and value:
                if depth <= OUTER_DEPTH:
                    return self._object(value, put, depth)
                plain = json_bytes(value)
                return plain if len(plain) < SMALL_OBJECT_BYTES else self._object(value, put, depth)
        return self._shared(json_bytes(value), put)

    def _object(self, value: Mapping[str, Any], put: Put, depth: int) -> bytes:
        """Members that can be no piece are encoded together with their neighbours: each call of the encoder counts."""
        parts: list[bytes] = []
        run: dict[str, Any] = {}
        for key, item in value.items():
            if _is_small(item):
                run[key] = item
                continue
            if run:
                parts.append(json_bytes(run)[1:-1])
                run = {}
            parts.append(json_bytes(key) + b":" + self._any(item, put, depth + 1))
        if run:
            parts.append(json_bytes(run)[1:-1])
        return b"{" + b",".join(parts) + b"}"

    def _list(self, value: list[object], put: Put, depth: int) -> bytes:
        """The longest beginning that an earlier list ended with is one reference; the rest is one new piece."""
        items = [self._any(item, put, depth + 1) for item in value]
        digests, digest = [], b""
        for item in items:
            digest = blake2b(item, key=digest, digest_size=16).digest()
            digests.append(digest)
        known = len(items)
        while known and digests[known - 1] not in self._places:
            known -= 1
        head = self._reference(digests[known - 1]) if known else b""
        if known == len(items):
            return b"[" + head + b"]"
        rest = b",".join(items[known:])
        whole = head + b"," + rest if head else rest
        if len(rest) < SMALL_PIECE_BYTES:
            return b"[" + whole + b"]"
        return b"[" + self._written(digest, whole, put) + b"]"

    def _shared(self, plain: bytes, put: Put) -> bytes:
        if len(plain) < SMALL_PIECE_BYTES:
            return plain
        digest = blake2b(plain, digest_size=16).digest()
        return self._reference(digest) if digest in self._places else self._written(digest, plain, put)

    def _written(self, digest: bytes, piece: bytes, put: Put) -> bytes:
        if len(self._places) >= MAX_KNOWN:
            self._places.clear()
        self._places[digest] = put(piece)
        return self._reference(digest)

    def _reference(self, digest: bytes) -> bytes:
        return MARK + b"%012x" % self._places[digest]


def unpack(body: bytes, place: int, piece_at: Callable[[int], bytes], limit: int = MAX_BODY_BYTES) -> bytes:
    """`body`, whose line begins at `place`, with every reference replaced by the piece that stands there.

    O(bytes of the result). A reference leads backwards only and the result has at most `limit` bytes, or the file is
    not ours: raises DamagedStore, and what `piece_at` raises.
    """
    if MARK not in body:
        return body
    out: list[bytes] = []
    size = 0
    waiting: list[tuple[bytes, int]] = [(body, place)]
    while waiting:
        text, before = waiting.pop()
        # split gives text and place in turn, beginning and ending with text
        parts = _REFERENCE.split(text)
        out.append(parts[0])
        size += len(parts[0])
        if size > limit:
            raise DamagedStore(f"the record at {place} has more than {limit} bytes")
        rest: list[tuple[bytes, int]] = []
        for found, after in zip(parts[1::2], parts[2::2], strict=True):
            at = int(found, 16)
            if at >= before:
                raise DamagedStore(f"the record at {place} refers to {at}, which is not before it")
            rest.append((piece_at(at), at))
            if after:
                rest.append((after, before))
        waiting.extend(reversed(rest))
    return b"".join(out)
