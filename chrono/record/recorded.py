"""Owns what stands in replay for an object whose class is not there: its fields, readable in every usual way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn


class RecordedDict(dict[str, Any]):
    """A recorded JSON object: a dict whose members can be read as attributes, too (specs: record A14)."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the recorded object has no {name!r}") from None

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        """The plain JSON object."""
        found: dict[str, Any] = plain(self)
        return found

    to_dict = model_dump


class RecordedList(list[Any]):
    """A recorded JSON array whose objects are RecordedDict."""


class RecordedObject:
    """The fields of a recorded object whose class is not loaded. A field comes before any method of this class, so
    `items` and `keys` are what was recorded."""

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_recorded", (kind, fields))

    def __getattribute__(self, name: str) -> Any:
        kind_and_fields = object.__getattribute__(self, "_recorded")
        if name in kind_and_fields[1]:
            return kind_and_fields[1][name]
        try:
            return object.__getattribute__(self, name)
        except AttributeError:
            raise AttributeError(f"the recorded {kind_and_fields[0]} has no {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("a recorded object cannot be changed")

    def __getitem__(self, name: str) -> Any:
        return _fields(self)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_fields(self))

    def __contains__(self, name: object) -> bool:
        return name in _fields(self)

    def __len__(self) -> int:
        return len(_fields(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordedObject) and _recorded(self) == _recorded(other)

    def __hash__(self) -> int:
        return hash(_recorded(self)[0])

    def __repr__(self) -> str:
        kind, fields = _recorded(self)
        return f"<recorded {kind}: {fields!r}>"

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        """The recorded JSON object."""
        found: dict[str, Any] = plain(_fields(self))
        return found

    to_dict = model_dump


def readable(json: Any) -> Any:
    """`json` with its objects and arrays readable by attribute, at every depth."""
    if isinstance(json, dict):
        return RecordedDict({name: readable(value) for name, value in json.items()})
    if isinstance(json, list):
        return RecordedList(readable(value) for value in json)
    return json


def plain(value: Any) -> Any:
    """`value` without the classes of this module."""
    if isinstance(value, RecordedObject):
        value = _fields(value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _recorded(value: RecordedObject) -> tuple[str, dict[str, Any]]:
    found: tuple[str, dict[str, Any]] = object.__getattribute__(value, "_recorded")
    return found


def _fields(value: RecordedObject) -> dict[str, Any]:
    return _recorded(value)[1]
