"""Owns arithmetic on a shell's variables: it ties `arithmetic` to a State."""

from __future__ import annotations

from chrono.scan.shell.arithmetic import Failed, Variables, calculate
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.state import Array, State


def arithmetic(m: Machine, expression: str, state: State) -> int | None:
    """The value of an expression, with its assignments made; None where unknown. Raises Failed."""

    def read(name: str, index: int | None) -> str | None:
        value = m.pick(name, state.get(name), state)
        if isinstance(value, Array):
            found = dict(zip(value.keys, value.values, strict=True)).get(str(index or 0), "")
            return None if "\0" in found else found
        if value is None or index:
            return "0" if value is None else ""
        return None if "\0" in value else value

    def write(name: str, index: int | None, value: int | None) -> None:
        text = "\0" if value is None else str(value)
        if index is None:
            state.set(name, text)
        else:
            state.set(name, with_element(state.get(name)[0], str(index), text))

    return calculate(expression, Variables(read, write))


def arithmetic_text(m: Machine, expression: str, state: State) -> str:
    """The value as `$((…))` writes it; an error stops the command, which is unknown rather than nothing."""
    try:
        value = arithmetic(m, expression, state)
    except (Failed, ValueError, OverflowError):
        return "\0"
    return "\0" if value is None else str(value)


def with_element(value: str | Array | None, key: str, text: str, *, append: bool = False) -> Array:
    """The array with one element set."""
    if not isinstance(value, Array):
        value = Array((), ()) if value is None else Array(("0",), (value,))
    elements = dict(zip(value.keys, value.values, strict=True))
    if not value.associative and key.startswith("-") and value.keys:
        key = str(int(value.keys[-1]) + 1 + int(key))
    elements[key] = elements.get(key, "") + text if append else text
    if value.associative:
        return Array(tuple(elements), tuple(elements.values()), True)
    keys = sorted(elements, key=lambda k: int(k) if k.lstrip("-").isdecimal() else 0)
    return Array(tuple(keys), tuple(elements[key] for key in keys))
