"""Owns assignments: scalars, elements, arrays, appending, what `declare` has marked a name as."""

from __future__ import annotations

from chrono.scan.shell import expand
from chrono.scan.shell.arithmetic import Failed
from chrono.scan.shell.calculate import arithmetic, arithmetic_text, with_element
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.sinks import SHELL_VARIABLES, of_variables
from chrono.scan.shell.state import UNKNOWN_ARRAY, Array, State
from chrono.scan.shell.syntax import ArrayValue, Assign, Word


def assign(m: Machine, assignment: Assign, state: State) -> None:
    """Makes one assignment in the state."""
    name = assignment.name
    parts = assignment.value.parts
    kept = state.origins.get(name, ()) if assignment.append or assignment.subscript is not None else ()
    before = m.begin_sources()
    if len(parts) == 1 and isinstance(parts[0], ArrayValue):
        array = _array(m, parts[0], name, state, append=assignment.append)
        sources = m.end_sources(before)
        state.set(name, array)
    else:
        text = expand.assignment_text(m, assignment.value, state)
        sources = m.end_sources(before)
        set_text(m, name, assignment.subscript, text, state, append=assignment.append)
    state.came_from(name, (*kept, *sources))
    if name in SHELL_VARIABLES or (name in state.exported and "a" in state.options):
        run_held(m, name, state)


def run_held(m: Machine, name: str, state: State) -> None:
    """What a variable holds that a shell, or every program that sees it, runs later: judged as if it ran now."""
    value = state.get(name)[0]
    if isinstance(value, Array):
        value = "\n".join(value.values)
    for inner in of_variables(((name, value),)) if isinstance(value, str) else ():
        side = state.copy()
        side.outs = None
        m.subshell(side, lambda text=inner.text or "", side=side: m.run_text(text, side, label=name))  # type: ignore[misc]


def set_text(m: Machine, name: str, index: Word | None, text: str, state: State, *, append: bool = False) -> None:
    """Sets a variable or one element to a text, through namerefs, integer and case marks."""
    marks = state.marks.get(name, "") if state.marks else ""
    if "n" in marks:
        target = state.get(name)[0]
        if isinstance(target, str) and target.isidentifier() and target != name:
            set_text(m, target, index, text, state, append=append)
            return
    if "i" in marks:
        before = state.get(name)[0] if append and index is None else None
        text = arithmetic_text(m, f"{before or 0}+({text})" if isinstance(before, str) else text, state)
        append = append and not isinstance(before, str)
    elif "u" in marks:
        text = text.upper()
    elif "l" in marks:
        text = text.lower()
    if "a" in state.options:
        state.export(name)
    if index is not None:
        _set_element(m, name, index, text, state, append=append)
        return
    if not append:
        if "A" in marks or (isinstance(state.get(name)[0], Array) and name in state.vars):
            state.set(name, with_element(state.get(name)[0], "0", text))
        else:
            state.set(name, text)
        return
    value = m.pick(name, state.get(name), state)
    if isinstance(value, Array):
        state.set(name, with_element(value, "0", text, append=True))
    else:
        state.set(name, (value or "") + text)


def _set_element(m: Machine, name: str, index: Word, text: str, state: State, *, append: bool) -> None:
    value = m.pick(name, state.get(name), state)
    key: str | None = expand.text(m, index, state)
    associative = (isinstance(value, Array) and value.associative) or "A" in state.marks.get(name, "")
    if not associative:
        key = _number(m, key or "", state)
    if key is None or "\0" in key:
        state.set(name, UNKNOWN_ARRAY)
        return
    if associative and not isinstance(value, Array):
        value = Array((), (), True)
    state.set(name, with_element(value, key, text, append=append))


def _number(m: Machine, text: str, state: State) -> str | None:
    try:
        number = arithmetic(m, text, state)
    except (Failed, ValueError, OverflowError):
        return None
    return None if number is None else str(number)


def _array(m: Machine, literal: ArrayValue, name: str, state: State, *, append: bool) -> Array:
    before = state.get(name)[0] if append else None
    associative = "A" in state.marks.get(name, "") or (isinstance(before, Array) and before.associative)
    array = before if isinstance(before, Array) else Array((), (), associative)
    if isinstance(before, str):
        array = Array(("0",), (before,))
    if not any(item[0] for item in literal.items) and not associative:
        # The ordinary case in one go: an array of a thousand words must not cost a thousand copies.
        values = [value for item in literal.items for value in expand.fields(m, item[2], state)]
        start = int(array.keys[-1]) + 1 if array.keys else 0
        keys = tuple(str(start + at) for at in range(len(values)))
        return Array((*array.keys, *keys), (*array.values, *values))
    return _keyed(m, literal, array, state)


def _keyed(m: Machine, literal: ArrayValue, array: Array, state: State) -> Array:
    elements = dict(zip(array.keys, array.values, strict=True))
    following = int(array.keys[-1]) + 1 if array.keys and not array.associative else 0
    waiting: str | None = None
    for subscript, append, word in literal.items:
        if subscript is None:
            for value in expand.fields(m, word, state):
                if not array.associative:
                    elements[str(following)] = value
                    following += 1
                elif waiting is None:
                    waiting = value
                else:
                    elements[waiting], waiting = value, None
            continue
        key: str | None = expand.text(m, subscript, state)
        if not array.associative:
            key = _number(m, key or "", state)
        if key is None or "\0" in key:
            return UNKNOWN_ARRAY
        value = expand.text(m, word, state)
        elements[key] = elements.get(key, "") + value if append else value
        following = int(key) + 1 if not array.associative else 0
    if array.associative:
        return Array(tuple(elements), tuple(elements.values()), True)
    keys = sorted(elements, key=int)
    return Array(tuple(keys), tuple(elements[key] for key in keys))
