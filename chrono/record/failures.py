"""Owns making a recorded exception again: of its own type, so that every `except` of the program takes the same way.

What was kept of it says `record.crossing`. A file may name any class: only exceptions are made, and none of their own
code runs; Python's own ones are initialised by Python.
"""

from __future__ import annotations

import builtins
from typing import Any, Final

from chrono.record.entry import JsonObject
from chrono.record.errors import RecordedCallError
from chrono.record.hooks import AbortCall
from chrono.record.rebuild import loaded_class, rebuild
from chrono.record.recording import Recorded

_OWN: Final = ("error_type", "error_message", "name", "invocation_index")


def recorded_error(call: Recorded, invocation: int) -> BaseException:
    """The exception that `call` had failed with: of a class that is both the original one and RecordedCallError, with
    its arguments, attributes and text. What is no Exception (an interrupt, a cancellation) is of its own class only:
    nobody's `except Exception` may catch it."""
    error = call.error or {}
    said, message = str(error.get("type", "Exception")), str(error.get("message", ""))
    facts = call.metadata.get("chrono.error")
    facts = facts if isinstance(facts, dict) else {}
    original = _class_of(said, facts)
    args = _rebuilt(facts, "args")
    args = tuple(args) if isinstance(args, list) else () if facts else (message,)
    attributes = _rebuilt(facts, "attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    if issubclass(original, BaseExceptionGroup):
        args = _members(args, facts)
    if not issubclass(original, Exception):
        return _made(original, args, attributes)
    try:
        made = _made(_both(original), args, attributes)
    except Exception:  # a class that refuses heirs, or to be made so
        made = _made(_both(Exception), args, attributes)
    for name, value in zip(_OWN, (said, message, call.name, invocation), strict=True):
        if name not in attributes:
            made.__dict__[name] = value
    return made


def _class_of(said: str, facts: JsonObject) -> type[BaseException]:
    """The nearest class that is loaded; a bare name, as other recorders write it, is one of Python's own or ours."""
    bases = facts.get("bases")
    for name in (facts.get("class"), *(bases if isinstance(bases, list) else ())):
        found = loaded_class(name) if isinstance(name, str) else None
        if found is not None and issubclass(found, BaseException):
            return found
    if said == "AbortCall":
        return AbortCall
    found = getattr(builtins, said, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else Exception


def _members(args: tuple[Any, ...], facts: JsonObject) -> tuple[Any, ...]:
    """The arguments of a group, whose members were kept as their class and text."""
    notes = facts.get("args_types")
    members = []
    for at, text in enumerate(args[1] if len(args) > 1 and isinstance(args[1], list) else ()):
        note = notes.get(f"/1/{at}") if isinstance(notes, dict) else None
        name = note.get("class") if isinstance(note, dict) else None
        members.append(_made(_class_of("Exception", {"class": name}), (text,), {}))
    return (str(args[0]) if args else "", members or [Exception("")])


def _rebuilt(facts: JsonObject, side: str) -> Any:
    notes = facts.get(f"{side}_types")
    return rebuild(facts.get(side), notes if isinstance(notes, dict) else {}).value


def _both(original: type[BaseException]) -> type[BaseException]:
    found = _made_classes.get(original)
    if found is None:
        body = {
            "__module__": original.__module__,
            "__qualname__": original.__qualname__,
            "__doc__": original.__doc__,
            "__str__": _text,
            "__reduce__": lambda self: (Exception, (str(self),)),
        }
        bases = (original, RecordedCallError) if original is not Exception else (RecordedCallError,)
        found = type(original.__name__, bases, body)
        _made_classes[original] = found
    return found


def _text(self: Any) -> str:
    return str(self.error_message)


def _made(kind: type[BaseException], args: tuple[Any, ...], attributes: JsonObject) -> BaseException:
    made = kind.__new__(kind, *args) if kind.__new__ in _PYTHONS_NEW else BaseException.__new__(kind, *args)
    ancestor: Any = _ancestor(kind)
    try:
        ancestor.__init__(made, *args)
    except Exception:  # what its `__new__` has set must do
        made.args = args
    for name, value in attributes.items():
        try:
            made.__dict__[name] = value
        except Exception:  # noqa: S112  (an attribute that cannot be set is not worth losing the exception)
            continue
    return made


def _ancestor(kind: type[BaseException]) -> type[BaseException]:
    """The nearest class that is Python's own."""
    return next(one for one in kind.__mro__ if one.__module__ == "builtins" and issubclass(one, BaseException))


_made_classes: dict[type[BaseException], type[BaseException]] = {}
_PYTHONS_NEW: Final = frozenset(
    one.__new__ for one in vars(builtins).values() if isinstance(one, type) and issubclass(one, BaseException)
)
