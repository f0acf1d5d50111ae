"""Owns JSON between text and values: what code reads from a document, changes and writes back can still be told.

Reading and writing the files is left to `effects`.
"""

from __future__ import annotations

from chrono.scan.code.values import ANY, Items, Table, Text

_MAX_CHARS = 100_000
_MAX_DEPTH = 30


def value_of(text: object) -> object:
    """The value of a JSON text; ANY where the text is not known or is no JSON."""
    import json

    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str) or len(text) > _MAX_CHARS:
        return ANY
    try:
        return _lifted(json.loads(text))
    except (ValueError, RecursionError):
        return ANY


def text_of_value(value: object, indent: int | None = None) -> object:
    """The JSON text of a value; ANY where a part of it is not known."""
    import json

    try:
        return json.dumps(_lowered(value, _MAX_DEPTH), ensure_ascii=False, indent=indent)
    except _Unknown:
        return ANY


class _Unknown(Exception):
    pass


def _lifted(value: object) -> object:
    if isinstance(value, dict):
        return Table({key: _lifted(item) for key, item in value.items()})
    return Items(map(_lifted, value)) if isinstance(value, list) else value


def _lowered(value: object, depth: int) -> object:
    if isinstance(value, Table) and not value.open and depth:
        return {str(key): _lowered(item, depth - 1) for key, item in value.entries.items()}
    if isinstance(value, Items) and value.more is None and depth:
        return [_lowered(item, depth - 1) for item in value.values]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Text):
        # What is not known of a text stays out; what is known of it counts.
        return "".join(piece for piece in value.pieces if isinstance(piece, str))
    raise _Unknown
