"""Owns canonical bytes: the one writer of what is hashed or signed (RFC 8785 on a subset), and its strict reader.

What a record must hold is left to `audit.record`.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from json import JSONDecodeError
from json.encoder import encode_basestring

from chrono.digest import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Json: TypeAlias = "None | bool | int | str | list[Json] | dict[str, Json]"

MAX_INT = 2**53 - 1
MAX_DEPTH = 8

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
quoted: Callable[[str], str] = encode_basestring
"""The canonical form of a text, unless it holds a NUL (which then stands there as `\\u0000`) or a lone surrogate (which
has no UTF-8 form): whoever builds a line from it looks for both. A property test holds it to `canonical_bytes`."""

_ESCAPED_NUL = "\\u0000"  # how the encoder writes one; a text may also hold these six characters


class NotCanonical(ValueError):
    """A value or a line outside the canonical subset; the text says why."""


def canonical_bytes(value: Json) -> bytes:
    """The only serialisation of `value`: RFC 8785 for ASCII keys, no floats, |int| <= 2^53 - 1, depth <= 8.

    Inside this subset RFC 8785 equals sorted keys, no white space and unescaped text (specs: audit section 2).
    Raises NotCanonical.
    """
    _check(value, 1)
    text = _ENCODER.encode(value)
    if _ESCAPED_NUL in text:
        _refuse_nul(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise NotCanonical("a lone surrogate has no UTF-8 form") from None


def parse(line: bytes) -> Json:
    """The value of a canonical line. Raises NotCanonical unless `canonical_bytes(value) == line`, byte for byte.

    One rule rejects duplicate keys, white space, escapes, `1.0`, a BOM and CRLF.
    """
    try:
        value: Json = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise NotCanonical("not UTF-8") from None
    except JSONDecodeError as error:
        raise NotCanonical(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise NotCanonical(str(error)) from None
    if _plainly_flat(line):
        if _ENCODER.encode(value) == line.decode("ascii"):
            return value
    elif canonical_bytes(value) == line:
        return value
    raise NotCanonical("JSON, but not in canonical form")


def _plainly_flat(line: bytes) -> bool:
    """Whether nothing that `canonical_bytes` would refuse can be in a line that the decoder accepted: no key that is
    not ASCII, no NUL, no more brackets than levels. Most lines are so, and their members need no second look."""
    return line.isascii() and line.count(b"{") + line.count(b"[") <= MAX_DEPTH and b"\\u0000" not in line


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data`, 64 lower-case hex characters."""
    return sha256(data).hexdigest()


def base64_of(data: bytes) -> str:
    """RFC 4648 section 4, padded, on one line."""
    return b2a_base64(data, newline=False).decode("ascii")


def from_base64(text: str | bytes) -> bytes:
    """The inverse of `base64_of`. Raises ValueError on any other spelling: white space, stray bits, missing padding."""
    data = a2b_base64(text)
    if b2a_base64(data, newline=False) != (text.encode("ascii") if isinstance(text, str) else text):
        raise ValueError("not base64 in its one form")
    return data


def recordable(text: str) -> str:
    """`text` with what no canonical line can hold made visible: lone surrogates as `\\udc80`, NUL as U+2400."""
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def _check(value: object, depth: int) -> None:
    """Everything but text, which the encoder sees anyway; no call is spent on a member that is plainly well."""
    if isinstance(value, dict):
        if depth > MAX_DEPTH:
            raise NotCanonical(f"nested deeper than {MAX_DEPTH}")
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise NotCanonical(f"key {key!r} is not ASCII text")
            kind = type(item)
            if kind is not str and (kind is not int or not -MAX_INT <= item <= MAX_INT):
                _check(item, depth + 1)
    elif isinstance(value, list):
        if depth > MAX_DEPTH:
            raise NotCanonical(f"nested deeper than {MAX_DEPTH}")
        for item in value:
            if type(item) is not str:
                _check(item, depth + 1)
    elif isinstance(value, int):
        if not -MAX_INT <= value <= MAX_INT:
            raise NotCanonical(f"{value} is beyond 2^53 - 1")
    elif value is not None and not isinstance(value, str):
        raise NotCanonical(f"a {type(value).__name__} has no canonical form")


def _refuse_nul(value: object) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise NotCanonical("text with a NUL")
    elif isinstance(value, dict):
        for key, item in value.items():
            if "\0" in key:
                raise NotCanonical(f"key {key!r} is not ASCII text")
            _refuse_nul(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_nul(item)


def _whole(text: str) -> int:
    value = int(text) if len(text) <= 17 else MAX_INT + 1
    if not -MAX_INT <= value <= MAX_INT:
        raise ValueError(f"{text[:40]} is beyond 2^53 - 1")
    return value


def _no_float(text: str) -> Json:
    raise ValueError(f"{text} is not a whole number")


_DECODER = json.JSONDecoder(parse_float=_no_float, parse_constant=_no_float, parse_int=_whole)
