"""Owns the way back from recorded JSON to Python values, by the notes that `record.serialise` wrote beside it. Pure.

A record may be anybody's file. No module is imported because it names one, and no code of a class runs but what makes a
pydantic model valid and looks an enum's member up: a class is first held to be of the kind that the note says. What
cannot be made is left as a readable `RecordedObject`, or as its JSON.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import enum
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from chrono.record.entry import Json, JsonObject
from chrono.record.httpforms import is_request, is_response, request_again, response_again
from chrono.record.recorded import RecordedObject
from chrono.tuples import NamedTuple

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
            value = _readable(value, note)
    return value


def _readable(value: Any, note: Any) -> Any:
    """Fields of an object that cannot be made, as an object."""
    if isinstance(note, dict) and note.get("type") in _WITH_FIELDS and isinstance(value, dict):
        return RecordedObject(str(note.get("class")), value)
    return value


def _made(value: Any, note: Any, find_class: FindClass) -> Any:
    """`value` as its note says. Raises where that is not possible."""
    kind = note if isinstance(note, str) else note["type"]
    details: Mapping[str, Any] = note if isinstance(note, dict) else {}
    if "class" in details:
        found = find_class(details["class"])
        if kind in _CLASSES:
            is_kind, make = _CLASSES[kind]
            if found is None or not is_kind(found):
                raise LookupError(details["class"])
            return make(found, value)
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
    known = {field.name for field in dataclasses.fields(found)}
    made: Any = object.__new__(found)
    for name, value in fields.items():
        if name in known:
            object.__setattr__(made, name, value)
    return made


def _model(found: Any, fields: Any) -> Any:
    """A pydantic model that has this very JSON: made valid, or as it is where that changes or refuses something."""
    try:
        valid = found.model_validate(fields)
    except Exception:
        return found.model_construct(**fields)
    if _dumps(valid) == fields:
        return valid
    built = found.model_construct(**fields)
    return built if _dumps(built) == fields else valid


def _dumps(model: Any) -> Any:
    try:
        return model.model_dump(mode="json", warnings=False)
    except Exception:
        return None


def _is_model(found: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(found, pydantic.BaseModel)


def _is_dataclass(found: type) -> bool:
    return dataclasses.is_dataclass(found)


def _kin(base: type) -> Callable[[type], bool]:
    return lambda found: issubclass(found, base)


def _filled(base: Any, fill: str) -> Callable[[Any, Any], Any]:
    """Containers are made empty and filled by their base class, whatever their own would do."""

    def make(found: Any, items: Any) -> Any:
        made = base.__new__(found)
        getattr(base, fill)(made, items)
        return made

    return make


def _own(found: Any, module: str) -> Any:
    """Python's own class only; another one of the kind may do what it likes."""
    if found.__module__.partition(".")[0] != module:
        raise LookupError(found)
    return found


def _mapping(found: Any, items: Mapping[Any, Any]) -> Any:
    if found is collections.defaultdict:
        return found(None, items)
    if found is collections.OrderedDict or found is collections.Counter:
        return found(items)
    return _filled(dict, "update")(found, items)


def _true(text: str) -> bool:
    return text == "True"


_WITH_FIELDS: Final = frozenset({"pydantic", "dataclass", "http response", "http request"})
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
_CLASSES: Final[dict[str, tuple[Callable[[type], bool], Callable[[Any, Any], Any]]]] = {
    "enum": (_kin(enum.Enum), lambda found, value: found(value)),
    "dataclass": (_is_dataclass, _dataclass),
    "pydantic": (_is_model, _model),
    "http response": (is_response, response_again),
    "http request": (is_request, request_again),
    "path": (_kin(PurePath), lambda found, text: _own(found, "pathlib")(text)),
    "tuple": (_kin(tuple), tuple.__new__),
    "list": (_kin(list), _filled(list, "extend")),
    "set": (_kin(set), _filled(set, "update")),
    "mapping": (_kin(dict), _mapping),
    "str": (_kin(str), str.__new__),
    "int": (_kin(int), int.__new__),
    "float": (_kin(float), float.__new__),
}
