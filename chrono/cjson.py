"""Owns JSON by the compiled half of Python's `json` alone: loading the other half costs a hook more than using it.

Whatever is not plain (an error, white space around) is handed to `json` itself, so that answers and errors are its
own; so is everything where this Python keeps its compiled half elsewhere. What is canonical is left to `canonical`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecoder
    from typing import Any


class _Wishes:
    """What a scanner asks of the decoder that it belongs to."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None  # of a later Python

    def __init__(
        self,
        parse_int: "Callable[[str], object]",
        parse_float: "Callable[[str], object]",
        parse_constant: "Callable[[str], object]",
    ) -> None:
        self.parse_int = parse_int
        self.parse_float = parse_float
        self.parse_constant = parse_constant


def reader(
    parse_int: "Callable[[str], object]" = int,
    parse_float: "Callable[[str], object]" = float,
    parse_constant: "Callable[[str], object]" = float,
) -> "Callable[[str], object]":
    """What `json.JSONDecoder(...).decode` is, given the same functions. It raises ValueError, RecursionError."""

    def general() -> "JSONDecoder":
        from json import JSONDecoder

        return JSONDecoder(parse_int=parse_int, parse_float=parse_float, parse_constant=parse_constant)

    try:
        from _json import make_scanner

        wishes: Any = _Wishes(parse_int, parse_float, parse_constant)
        scan = make_scanner(wishes)
    except (ImportError, AttributeError, TypeError):
        return general().decode

    def read(text: str) -> object:
        try:
            value, end = scan(text, 0)
        except (StopIteration, ValueError, SystemError):
            # The last is Python 3.11's way to say that `json`, which has the error's class, is not loaded yet.
            return general().decode(text)
        if end != len(text) and text[end:].strip(" \t\n\r"):
            return general().decode(text)
        found: object = value
        return found

    return read


read = reader()
"""What `json.JSONDecoder().decode` gives."""


def read_bytes(data: bytes) -> object:
    """What `json.loads` gives for bytes: UTF-8 (lone surrogates too), UTF-16 or UTF-32. Raises as `read`."""
    if data[:1] == b"{" and data[1:2] != b"\0":
        return read(data.decode("utf-8", "surrogatepass"))
    import json

    found: object = json.loads(data)
    return found


def writer() -> "Callable[[object], str]":
    """What `JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode` is.

    A value that holds itself is a RecursionError.
    """
    try:
        from _json import encode_basestring, make_encoder

        encode = make_encoder(None, _refuse, encode_basestring, None, ":", ",", True, False, False)
    except (ImportError, TypeError):
        from json import JSONEncoder

        return JSONEncoder(
            check_circular=False, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        ).encode
    return lambda value: "".join(encode(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


try:
    from _json import encode_basestring as quoted
except ImportError:
    from json.encoder import encode_basestring as quoted

__all__ = ("quoted", "read", "read_bytes", "reader", "writer")
