"""Owns documents (JSON, YAML, TOML, ini) between text and values: what code reads from one can still be told.

Reading and writing the files is left to `effects`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.errors import ChronoError
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


def value_of_document(text: object, kind: str) -> object:
    """The value of a text of `kind` ("json", "yaml", "toml", "ini"); ANY where it is not known or is none."""
    if kind == "json":
        return value_of(text)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str) or len(text) > _MAX_CHARS:
        return ANY
    try:
        return _lifted(_DOCUMENTS[kind](text))
    except (ValueError, RecursionError, ChronoError):
        return ANY


def _of_yaml(text: str) -> object:
    from chrono.yamlfile import load

    return load(text, name="document").value


def _of_toml(text: str) -> object:
    import tomllib

    return tomllib.loads(text)


def _of_ini(text: str) -> object:
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    return {name: dict(parser.items(name)) for name in parser.sections()}


_DOCUMENTS: dict[str, Callable[[str], object]] = {"yaml": _of_yaml, "toml": _of_toml, "ini": _of_ini}


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
