"""Owns the way back from recorded JSON to Python values, by the notes that `record.serialise` wrote beside it. Pure.

Who may be built is the caller's choice: a class is only ever found by the function that is passed in, and no module is
imported because a record names it.
"""

from __future__ import annotations

import base64
import datetime
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

from chrono.record.entry import Json, JsonObject

FindClass = Callable[[str], type | None]


class Rebuilt(NamedTuple):
    """`value`, and the paths (with their notes) of what could not be made again and stays as its JSON."""

    value: Any
    left: JsonObject


def loaded_class(name: str) -> type | None:
    """The class `module:Qualified.Name` where its module is loaded already; None otherwise."""
    module_name, _, path = name.partition(":")
    found: Any = sys.modules.get(module_name)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def rebuild(json: Json, notes: Mapping[str, Any], find_class: FindClass = loaded_class) -> Rebuilt:
    """The value of `json` under `notes`. Never raises: what cannot be made again is left as JSON and named."""
    if not notes:
        return Rebuilt(json, {})
    tree = _Place()
    for path, note in notes.items():
        place = tree
        for step in path.split("/")[1:]:
            place = place.below.setdefault(step.replace("~1", "/").replace("~0", "~"), _Place())
        place.notes = note if isinstance(note, list) else [note]
    left: JsonObject = {}
    return Rebuilt(_built(json, tree, "", find_class, left), left)


class _Place:
    __slots__ = ("below", "notes")

    def __init__(self) -> None:
        self.below: dict[str, _Place] = {}
        self.notes: list[Any] = []


def _built(json: Json, place: _Place, path: str, find_class: FindClass, left: JsonObject) -> Any:
    value = json
    if place.below and isinstance(json, dict | list):
        value = dict(json) if isinstance(json, dict) else list(json)
        for step, child in place.below.items():
            key: Any = step
            if isinstance(value, list):
                key = int(step) if step.isdigit() and int(step) < len(value) else None
            elif step not in value:
                key = None
            if key is not None:
                value[key] = _built(value[key], child, f"{path}/{step}", find_class, left)
    for note in place.notes:
        try:
            value = _made(value, note, find_class)
        except Exception:
            left[path] = note
    return value


def _made(value: Any, note: Any, find_class: FindClass) -> Any:
    """`value` as its note says. Raises where that is not possible."""
    kind = note if isinstance(note, str) else note["type"]
    details: Mapping[str, Any] = note if isinstance(note, dict) else {}
    if "class" in details:
        found = find_class(details["class"])
        if found is None:
            raise LookupError(details["class"])
        return _CLASSES[kind](found, value)
    if kind in _BYTES:
        data = base64.b64decode(value) if details["as"] == "base64" else value.encode()
        return _BYTES[kind](data)
    if kind == "surrogates":
        return base64.b64decode(details["base64"]).decode("utf-8", "surrogatepass")
    if kind == "keys":
        return {_KEYS[details["keys"].get(key, "str")](key): item for key, item in value.items()}
    return _SIMPLE[kind](value)


def _dataclass(found: type, fields: Mapping[str, Any]) -> Any:
    """Without `__init__`, which may do anything, and with the fields of a frozen one."""
    made: Any = object.__new__(found)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def _model(found: Any, fields: Any) -> Any:
    """A pydantic model: checked where it takes its own JSON, as it is where it does not."""
    try:
        return found.model_validate(fields)
    except Exception:
        return found.model_construct(**fields)


def _true(text: str) -> bool:
    return text == "True"


_BYTES: Final[dict[str, Callable[[bytes], Any]]] = {"bytes": bytes, "bytearray": bytearray, "memoryview": memoryview}
_KEYS: Final[dict[str, Callable[[str], Any]]] = {
    "str": str, "int": int, "float": float, "bool": _true, "null": lambda _: None,
}  # fmt: skip
_SIMPLE: Final[dict[str, Callable[[Any], Any]]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(*parts),
    "uuid": UUID,
    "decimal": Decimal,
    "int": lambda text: int(text, 0),
    "float": float,
    "complex": lambda parts: complex(*parts),
}
_CLASSES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "enum": lambda found, value: found(value),
    "dataclass": _dataclass,
    "pydantic": _model,
    "path": lambda found, text: found(text),
    "tuple": lambda found, items: found._make(items) if hasattr(found, "_make") else found(items),
    "list": lambda found, items: found(items),
    "set": lambda found, items: found(items),
    "mapping": lambda found, items: found(items),
    "str": lambda found, text: found(text),
    "int": lambda found, number: found(number),
    "float": lambda found, number: found(number),
    "datetime": lambda found, text: found.fromisoformat(text),
    "date": lambda found, text: found.fromisoformat(text),
    "time": lambda found, text: found.fromisoformat(text),
    "timedelta": lambda found, parts: found(*parts),
    "uuid": lambda found, text: found(text),
    "decimal": lambda found, text: found(text),
    "complex": lambda found, parts: found(*parts),
}
