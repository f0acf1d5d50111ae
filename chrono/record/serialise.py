"""Owns the way from a Python value to JSON: never raises, bounded, redacted on the way, types noted beside the JSON.

The JSON is what every reader of such traces expects (a tuple is a list, a time is text). What that loses stands in
notes, JSON pointer -> type, from which `record.rebuild` makes the value again. What a secret is says `record.redact`.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID
from weakref import WeakSet

from chrono.record.entry import Json, JsonObject
from chrono.record.httpforms import held_response_form, is_request, is_response, request_form
from chrono.record.plain import MAX_DEPTH, MAX_INT, MOST_MEMBERS, plain_copy
from chrono.tuples import NamedTuple

MAX_REPR: Final = 4096
MAX_NOTES: Final = 10_000
MAX_PLAIN_NAMES: Final = 4096
LONGEST_PLAIN_NAME: Final = 128
MASK: Final = "[REDACTED]"
TRUNCATED: Final = "...[truncated]"

RAISED: Final = (Exception, SystemExit, GeneratorExit)
"""What the code of a value (its `__repr__`, say) may raise without ending the program that is only recorded. Not a
KeyboardInterrupt, which comes from a person, nor what stops a call on purpose."""

Note = Any  # a type's name, or an object {"type": name, …}


class Rules(NamedTuple):
    """How values are written: `clean` masks secrets in texts, `secret_key` names what is masked whole."""

    clean: Callable[[str], str] | None = None
    secret_key: Callable[[str], bool] | None = None
    max_text_bytes: int | None = None
    max_items: int = 100_000
    plain_names: set[str] | None = None
    """Names of members that were found to be ASCII and no secret: shared by all walks under equal rules, which are then
    known to judge a name always alike. None: a walk's own."""
    plain_texts: set[str] | None = None
    """Texts that `clean` found to hold no secret, of which it is known to judge always alike. None: nothing is."""


class Written(NamedTuple):
    """A value's JSON; `notes` by JSON pointer ("" is the value itself); `truncated` where something was cut."""

    json: Json
    notes: JsonObject
    truncated: bool


PLAIN: Final = Rules()


def to_json(value: object, rules: Rules = PLAIN) -> Json:
    """The JSON of `value`, without notes. Never raises (specs: record A10)."""
    return write(value, rules).json


def write(value: object, rules: Rules = PLAIN) -> Written:
    """`value` as JSON with notes. Costs at most about `max_items` steps; a cycle is cut where it closes."""
    walk = _Walk(rules)
    kind = type(value)
    if kind is dict or kind is list:
        json = walk.plain(value, 0)
        if json is not None:
            return Written(json, {}, False)
    try:
        json = walk.value(value, 0)
    except RAISED as error:  # a value's own code may raise anything at any step
        walk.notes = [["", {"type": "unreadable", "of": type_name(value), "error": type(error).__name__}]]
        json = _repr(value)
        if rules.clean is not None:
            json = rules.clean(json)
    return Written(json, _noted(walk.notes) if walk.notes else {}, walk.truncated)


def _noted(notes: list[list[Any]]) -> JsonObject:
    """By path; where a value has two (an enum whose value is a tuple), a list of them, the innermost first."""
    kept: JsonObject = {}
    for path, note in notes[:MAX_NOTES]:
        if path not in kept:
            kept[path] = note
        elif isinstance(kept[path], list):
            kept[path].append(note)
        else:
            kept[path] = [kept[path], note]
    if len(notes) > MAX_NOTES:
        kept["*"] = "more"
    return kept


def type_name(value: object) -> str:
    """`module:Qualified.Name` of the value's class."""
    kind = type(value)
    return f"{kind.__module__}:{kind.__qualname__}"


_ASIS: Final = frozenset({bool, type(None)})
_NUMBERS: Final = frozenset({int, bool, type(None)})
_FLOATS: Final = frozenset({float})
_KEY_KINDS: Final = {int: "int", float: "float", bool: "bool", type(None): "null"}
_LONG: Final = 32  # from this length on a list is first looked at as a whole


class _Walk:
    """One value on its way to JSON. A note's path grows from its end: whoever holds a child puts its key before it."""

    __slots__ = ("clean", "left", "max_text", "notes", "open", "plain_names", "plain_texts", "secret_key", "truncated")

    def __init__(self, rules: Rules) -> None:
        self.clean = rules.clean
        self.secret_key = rules.secret_key
        self.plain_names = rules.plain_names if rules.plain_names is not None else set()
        self.plain_texts = rules.plain_texts
        self.max_text = rules.max_text_bytes
        self.left = rules.max_items
        self.notes: list[list[Any]] = []
        self.open: set[int] = set()  # ids of the containers around: meeting one again is a cycle
        self.truncated = False

    def value(self, value: Any, depth: int) -> Json:
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind in _ASIS:
            return value
        if kind is int:
            return value if -MAX_INT <= value < MAX_INT else self.noted("int", _whole(value))
        if kind is float:
            return value if math.isfinite(value) else self.noted("float", repr(value))
        if depth >= MAX_DEPTH:
            self.truncated = True
            return self.noted(
                {"type": "deep", "of": type_name(value)}, f"<{kind.__name__} nested deeper than {MAX_DEPTH}>"
            )
        mark = id(value)
        if mark in self.open:
            return self.noted("cycle", f"<cycle: {kind.__name__}>")
        self.open.add(mark)
        try:
            if kind is dict:
                return self.mapping(value, depth)
            if kind is list:
                return self.sequence(value, depth)
            if kind is tuple:
                return self.noted("tuple", self.sequence(value, depth))
            before = len(self.notes)
            try:
                return self.other(value, kind, depth)
            except RAISED as error:  # the value's own code may raise anything
                del self.notes[before:]
                self.notes.append(["", {"type": "unreadable", "of": type_name(value), "error": type(error).__name__}])
                return self.text(_repr(value))
        finally:
            self.open.discard(mark)

    def noted(self, note: Note, json: Json) -> Json:
        self.notes.append(["", note])
        return json

    def text(self, text: str) -> str:
        if self.clean is not None:
            cleaned = self.clean(text)
            if cleaned != text:
                self.notes.append(["", "redacted"])
                text = cleaned
        if self.max_text is not None and len(text) * 4 > self.max_text:
            data = text.encode("utf-8", "surrogatepass")
            if len(data) > self.max_text:
                self.truncated = True
                text = data[: self.max_text].decode("utf-8", "ignore") + TRUNCATED
                self.notes.append(["", "cut"])
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                # No UTF-8 reader takes a lone surrogate; one of them in a batch has cost others the whole batch.
                whole = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
                self.notes.append(["", {"type": "surrogates", "base64": whole}])
                return text.encode("utf-8", "backslashreplace").decode()
        return text

    def plain(self, value: Any, depth: int) -> Json:
        """The JSON of a dict or list where the quick way can tell it, else None."""
        if self.plain_texts is None or self.clean is None or self.max_text is not None:
            return None
        most = min(self.left, MOST_MEMBERS)
        try:
            found = plain_copy(value, self.plain_names, self.plain_texts, self.clean, most, depth)
        except RuntimeError:  # another thread is changing it
            return None
        if found is None:
            return None
        self.left -= found.members
        return found.json

    def mapping(self, given: Mapping[Any, Any], depth: int) -> JsonObject:
        try:
            items = list(given.items())
        except RuntimeError:  # another thread is changing it
            items = list(dict(given).items())
        out: JsonObject = {}
        key_kinds: JsonObject | None = None
        notes, plain_names, secret_key = self.notes, self.plain_names, self.secret_key
        for key, item in items:
            if self.left <= 0:
                self.cut(len(items))
                break
            self.left -= 1
            is_plain = type(key) is str and key in plain_names
            name = key
            if not is_plain:
                if type(key) is not str:
                    name = _key_text(key)
                    key_kinds = key_kinds or {}
                    key_kinds[name] = _KEY_KINDS.get(type(key)) or type_name(key)
                name = self.name(name)
            if name in out:
                name = _unused(name, out)
            if item is None or item is True or item is False:
                out[name] = item
                continue
            before = len(notes)
            if not is_plain and secret_key is not None and item and secret_key(name):
                out[name] = self.secret(item, depth)
            else:
                out[name] = self.text(item) if type(item) is str else self.value(item, depth + 1)
            if len(notes) > before:
                self.under(name, before)
        if key_kinds is not None:
            notes.append(["", {"type": "keys", "keys": key_kinds}])
        return out

    def name(self, given: str) -> str:
        """A member's name as it is written; one that is plain is looked at once."""
        name = self.clean(given) if self.clean is not None and len(given) > 7 else given
        if not name.isascii():
            return name.encode("utf-8", "backslashreplace").decode()
        is_plain = name is given and len(name) <= LONGEST_PLAIN_NAME
        if is_plain and not (self.secret_key is not None and self.secret_key(name)):
            if len(self.plain_names) >= MAX_PLAIN_NAMES:
                self.plain_names.clear()
            self.plain_names.add(name)
        return name

    def secret(self, item: Any, depth: int) -> Json:
        """What stands under a secret's name: each text or number of it is masked; objects are looked at as always."""
        kind = type(item)
        if kind is bool or isinstance(item, Mapping):
            return self.value(item, depth + 1)
        if kind in (list, tuple):
            return [self.secret(one, depth + 1) if one else one for one in item[: max(self.left, 0)]]
        self.notes.append(["", "redacted"])
        return MASK

    def sequence(self, given: Sequence[Any], depth: int) -> list[Json]:
        size = len(given)
        if size >= _LONG:
            if size > self.left:
                given = given[: max(self.left, 0)]
            kinds = set(map(type, given))
            if (kinds <= _NUMBERS and _small(given)) or (kinds == _FLOATS and all(map(math.isfinite, given))):
                self.left -= len(given)
                if len(given) < size:
                    self.cut(size)
                return list(given)
        out: list[Json] = []
        notes, value = self.notes, self.value
        for index, item in enumerate(given):
            if self.left <= 0:
                break
            self.left -= 1
            before = len(notes)
            out.append(value(item, depth + 1))
            if len(notes) > before:
                self.under(str(index), before)
        if len(out) < size:
            self.cut(size)
        return out

    def under(self, name: str, first: int) -> None:
        step = "/" + name.replace("~", "~0").replace("/", "~1")
        for note in self.notes[first:]:
            note[0] = step + note[0]

    def cut(self, size: int) -> None:
        self.truncated = True
        self.notes.append(["", {"type": "cut", "length": size}])

    def other(self, value: Any, kind: type, depth: int) -> Json:
        """What is none of JSON's own types. The order matters: an Enum may be a str, a model may be a Mapping."""
        if kind in _MODELS:
            return self.noted({"type": "pydantic", "class": type_name(value)}, self.model(value, depth + 1))
        if isinstance(value, Enum):
            json = self.value(value.value, depth + 1)
            return self.noted({"type": "enum", "class": type_name(value)}, json)
        for base, note, form in _SIMPLE:
            if isinstance(value, base):
                exact = note if kind is base else {"type": note, "class": type_name(value)}
                return self.noted(exact, self.value(form(value), depth + 1) if note in ("str", "int") else form(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return self.bytes(bytes(value), kind.__name__)
        if isinstance(value, PurePath):
            return self.noted({"type": "path", "class": type_name(value)}, self.text(str(value)))
        if isinstance(value, BaseException):
            return self.noted({"type": "exception", "class": type_name(value)}, self.text(_text_of(value)))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            found = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
            return self.noted({"type": "dataclass", "class": type_name(value)}, self.mapping(found, depth))
        if hasattr(kind, "model_dump"):
            _MODELS.add(kind)
            return self.other(value, kind, depth)
        if hasattr(kind, "parse") and hasattr(value, "http_response"):  # an SDK's raw response
            return self.noted({"type": "raw response", "class": type_name(value)}, self.value(value.parse(), depth + 1))
        if is_response(kind):
            return self.noted(
                {"type": "http response", "class": type_name(value)}, self.mapping(held_response_form(value), depth)
            )
        if is_request(kind):
            json = self.mapping(request_form(value, body=False), depth)
            return self.noted({"type": "http request", "class": type_name(value)}, json)
        if isinstance(value, Mapping):
            return self.noted({"type": "mapping", "class": type_name(value)}, self.mapping(value, depth))
        if isinstance(value, tuple):
            return self.noted({"type": "tuple", "class": type_name(value)}, self.sequence(tuple(value), depth))
        if isinstance(value, list):
            return self.noted({"type": "list", "class": type_name(value)}, self.sequence(list(value), depth))
        if isinstance(value, Set):
            exact = kind.__name__ if kind in (set, frozenset) else {"type": "set", "class": type_name(value)}
            return self.noted(exact, self.sequence(_in_order(value, self.left), depth))
        return self.noted({"type": "opaque", "class": type_name(value)}, self.text(_repr(value)))

    def model(self, model: Any, depth: int) -> Json:
        dumped = _dumped(model)
        if type(dumped) is dict:
            json = self.plain(dumped, depth)
            if json is not None:
                return json
        return self.value(dumped, depth)

    def bytes(self, data: bytes, name: str) -> Json:
        """Text where the bytes are text (a secret in them is then seen), base64 otherwise."""
        if self.max_text is not None and len(data) > self.max_text:
            self.truncated = True
            data = data[: self.max_text]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self.noted({"type": name, "as": "base64"}, base64.b64encode(data).decode())
        before = len(self.notes)
        text = self.text(text)
        if len(self.notes) == before:
            self.notes.append(["", {"type": name, "as": "utf-8"}])
        return text


_SIMPLE: Final[tuple[tuple[type, str, Callable[[Any], Any]], ...]] = (
    (datetime.datetime, "datetime", lambda value: value.isoformat()),
    (datetime.date, "date", lambda value: value.isoformat()),
    (datetime.time, "time", lambda value: value.isoformat()),
    (datetime.timedelta, "timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    (UUID, "uuid", str),
    (Decimal, "decimal", str),
    (str, "str", str.__str__),
    (int, "int", int),
    (float, "float", lambda value: float(value) if math.isfinite(value) else repr(float(value))),
    (complex, "complex", lambda value: [value.real, value.imag]),
)


_MODELS: WeakSet[type] = WeakSet()
"""Classes found to be models and nothing before that in `_Walk.other`: an answer of an SDK is one of few."""


def _small(numbers: Sequence[Any]) -> bool:
    whole = [one for one in numbers if one is not None]
    return not whole or (min(whole) >= -MAX_INT and max(whole) < MAX_INT)


def _whole(value: int) -> str:
    """Digits, or hexadecimal where Python refuses to count so many digits."""
    limit = sys.get_int_max_str_digits()
    return hex(value) if limit and value.bit_length() > limit * 3 else str(value)


def _unused(name: str, taken: JsonObject) -> str:
    number = 2
    while f"{name} ({number})" in taken:
        number += 1
    return f"{name} ({number})"


def _key_text(key: Any) -> str:
    if isinstance(key, Enum) and isinstance(key.value, str):
        return str(key.value)
    if isinstance(key, str):
        return str.__str__(key)
    return _text_of(key)


def _text_of(value: Any) -> str:
    try:
        return str.__str__(str(value))  # `__str__` may answer with a subclass, which has code of its own
    except RAISED:
        return _repr(value)


def _repr(value: Any) -> str:
    try:
        text = repr(value)
    except RAISED:
        text = f"<{type(value).__name__} without a repr>"
    return text if len(text) <= MAX_REPR else text[:MAX_REPR] + TRUNCATED


def _dumped(model: Any) -> Any:
    """A pydantic model's own JSON form. A model class (not an instance), or one that refuses, has none."""
    if isinstance(model, type):
        return _repr(model)
    try:
        return model.model_dump(mode="json", warnings=False)
    except TypeError:  # an object that only looks like a model
        return model.model_dump()


def _in_order(members: Iterable[Any], most: int) -> list[Any]:
    """A set's members in an order that is the same in every run where they can be sorted."""
    found = list(members)
    if len(found) > most:
        return found
    try:
        return sorted(found)
    except TypeError:
        return found
