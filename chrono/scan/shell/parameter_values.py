"""Owns what `$name` and `${…}` yield under every operator; how that splits is left to `expand`."""

from __future__ import annotations

from chrono.scan.issuers import is_password, is_token, variable_issuer
from chrono.scan.shell import globs
from chrono.scan.shell.ansi import decode_ansi
from chrono.scan.shell.arithmetic import Failed
from chrono.scan.shell.calculate import arithmetic, with_element
from chrono.scan.shell.machine import Aborted, Machine
from chrono.scan.shell.state import Array, State, Value
from chrono.scan.shell.syntax import Param, Text, Word
from chrono.scan.shell.values import MANY_FIELDS
from chrono.scan.shell.zsh import modified
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class ListValue(NamedTuple):
    """Several elements: `$@`, `${a[@]}`; `star` for `$*`, `${a[*]}`."""

    items: tuple[str, ...]
    star: bool


class WordValue(NamedTuple):
    """A default word takes the parameter's place and is expanded where it stands."""

    word: Word


class Helpers(Protocol):
    def text(self, word: Word) -> str: ...
    def pattern(self, word: Word) -> str: ...


Result = str | ListValue | WordValue

# What the shell itself sets, and nobody can tell from the text.
_DYNAMIC = frozenset(
    ("RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "LINENO", "PPID", "BASHPID", "BASH",
     "BASH_VERSION", "BASH_VERSINFO", "BASH_COMMAND", "BASH_LINENO", "HOSTNAME", "HOSTTYPE",
     "OSTYPE", "MACHTYPE", "SHLVL", "SHELLOPTS", "BASHOPTS", "GROUPS", "PIPESTATUS", "COLUMNS", "LINES",
     "REPLY", "_", "ZSH_VERSION", "COMP_WORDS", "DIRSTACK", "status", "pipestatus"),
)  # fmt: skip


def ifs_of(m: Machine, state: State) -> str | None:
    """IFS where the text sets it; None for the default."""
    values = state.vars.get("IFS")
    if values is None:
        return None
    value = values[0]
    return value if isinstance(value, str) and "\0" not in value else None


def parameter(m: Machine, part: Param, state: State, helpers: Helpers) -> Result:
    """What one parameter yields."""
    op = part.op
    if not op and part.subscript is None and not part.indirect:
        return _simple(m, part.name, state)
    if op == "bad":
        inside = helpers.text(part.arg) if part.arg is not None else ""
        if m.dialect == "zsh" and inside[:1] == "=" and inside[1:].isidentifier():
            # `${=name}` is split into words, which zsh does not do otherwise.
            value = lookup(m, inside[1:], state)
            return ListValue(tuple(value.split()), False) if isinstance(value, str) else "\0"
        return "\0"
    if op == "names":
        prefix = part.name
        known = sorted(name for name in state.vars if name.startswith(prefix))
        return ListValue((*known, MANY_FIELDS), part.subscript == "*")
    if part.indirect:
        if part.subscript in ("@", "*") and not op:
            return _keys(m, part, state)
        target = _indirect(m, part, state, helpers)
        if target is None:
            return "\0"
        part = target
    noted = len(m.sources)
    value = _raw(m, part, state, helpers)
    if op == "len" or op[-1:] == "+" or (op == ":" and _is_glimpse(part)):
        # Of the value itself nothing is told but its size, its first letters, or that it is there.
        del m.sources[noted:]
    if not op:
        if isinstance(value, ListValue):
            return value
        return _unset(m, part.name, state) if value is None else value
    return _operate(m, part, value, state, helpers)


def _is_glimpse(part: Param) -> bool:
    """`${TOKEN:0:4}`: too little to be of use to anybody."""
    length = part.arg2.parts if part.arg2 is not None else ()
    return len(length) == 1 and isinstance(length[0], Text) and length[0].text in tuple("0123456")


def _simple(m: Machine, name: str, state: State) -> Result:
    value = lookup(m, name, state)
    if value is None:
        return _unset(m, name, state)
    if isinstance(value, Array):
        if m.dialect == "zsh":
            return ListValue(tuple(item for item in value.values if item), True)
        return dict(zip(value.keys, value.values, strict=True)).get("0", "")
    return value


def _unset(m: Machine, name: str, state: State) -> str:
    """The value of a variable that neither the text nor the environment sets: empty.

    In the words of a program that destroys it may also be anything: the shell that runs the text can know more.
    """
    if name and (name[0].isalpha() or name[0] == "_") and name not in state.vars:
        m.note_unset(name)
        if m.destroys:
            return str(m.pick(f"${name}", ("", "\0"), state))
    return ""


def lookup(m: Machine, name: str, state: State) -> Value | ListValue:
    """The value of a parameter: special, positional, a variable's, or the environment's."""
    values = state.vars.get(name)
    if values is not None:
        value = values[0] if len(values) == 1 else m.pick(name, values, state)
        if state.origins and name in state.origins:
            m.note_sources(state.origins[name])
        if state.marks and "n" in state.marks.get(name, "") and isinstance(value, str) and value != name:
            return lookup(m, value, state) if value.isidentifier() else "\0"
        return value
    char = name[:1]
    if char.isdigit():
        _note_parameters(m, state)
        return _positional(m, int(name), state) if len(name) < 7 else None
    if not char.isalpha() and char != "_":
        return _special(m, name, state)
    return _environment(m, name, state)


def _note_parameters(m: Machine, state: State) -> None:
    if state.origins and "@" in state.origins:
        m.note_sources(state.origins["@"])


def _positional(m: Machine, number: int, state: State) -> str | None:
    if number == 0:
        return m.shell_name
    params = state.params
    if MANY_FIELDS in params[:number]:
        return "\0"
    return params[number - 1] if number <= len(params) else None


def _special(m: Machine, name: str, state: State) -> Value | ListValue:
    if name in ("@", "*"):
        _note_parameters(m, state)
        return ListValue(state.params, name == "*")
    if name == "#":
        return "\0" if MANY_FIELDS in state.params else str(len(state.params))
    if name == "?":
        return str(state.status) if state.status >= 0 else "\0"
    if name == "-":
        return "".join(sorted(o for o in state.options if len(o) == 1)) + "hBc" if m.dialect == "bash" else "\0"
    return "\0"


def _environment(m: Machine, name: str, state: State) -> Value:
    if name == "PWD":
        return m.pick("PWD", state.cwds, state)
    if name in ("UID", "EUID"):
        return str(m.world.uid)
    if name == "FUNCNAME":
        return m.calls[-1].name if m.calls else ""
    if name == "BASH" and m.dialect == "bash":
        return "/bin/bash"
    if name == "BASH_SOURCE":
        return _source(m)
    if name in _DYNAMIC:
        return "\0"
    if name == "IFS":
        return " \t\n"
    if name == "OPTIND":
        return "1"
    value = state.environment(name)
    if value is None and name in ("USER", "LOGNAME"):
        return m.world.user  # a login sets them, and whoever started the guard may have left them out
    m.note_outside()
    if ("_" in name or name[-8:] == "PASSWORD") and (is_password(name) or is_token(name) or variable_issuer(name)):
        m.note_sources((("printenv", name),))
    return value


def _source(m: Machine) -> str:
    """The file that runs: the script itself, or the one that it sources."""
    if m.origin is None:
        return "\0"
    verb, _, path = m.via[m.origin.at].partition(" ")
    return path if verb in ("source", ".") else m.shell_name


def _keys(m: Machine, part: Param, state: State) -> Result:
    value = lookup(m, part.name, state)
    if isinstance(value, Array):
        keys = value.keys if MANY_FIELDS not in value.values else (MANY_FIELDS,)
        return ListValue(keys, part.subscript == "*")
    return ListValue(("0",) if value is not None else (), part.subscript == "*")


def _indirect(m: Machine, part: Param, state: State, helpers: Helpers) -> Param | None:
    """`${!name}`: the parameter that the value names."""
    value = _raw(m, part._replace(op="", indirect=False), state, helpers)
    if part.name == "#" and isinstance(value, str):
        return part._replace(name=value, indirect=False, subscript=None)
    if not isinstance(value, str) or "\0" in value or not value:
        return None
    name, bracket, rest = value.partition("[")
    if not (name.isidentifier() or name.isdecimal() or name in ("@", "*")):
        return None
    if not bracket:
        return part._replace(name=name, indirect=False, subscript=None)
    subscript = rest.removesuffix("]")
    if subscript in ("@", "*"):
        return part._replace(name=name, indirect=False, subscript=subscript)
    return part._replace(name=name, indirect=False, subscript=Word((), 0, 0, subscript))


def _raw(m: Machine, part: Param, state: State, helpers: Helpers) -> str | ListValue | None:
    """The value without its operator; None where it is not set."""
    value = lookup(m, part.name, state)
    index = part.subscript
    if index is None:
        if isinstance(value, Array):
            if m.dialect == "zsh":
                return ListValue(tuple(item for item in value.values if item), True)
            return dict(zip(value.keys, value.values, strict=True)).get("0")
        return value
    if index in ("@", "*"):
        if isinstance(value, Array):
            return ListValue(value.values, index == "*")
        if isinstance(value, ListValue):
            return value
        return ListValue(() if value is None else (value,), index == "*")
    assert isinstance(index, Word)
    return _element(m, value, index, state, helpers)


def _element(m: Machine, value: Value | ListValue, index: Word, state: State, helpers: Helpers) -> str | None:
    key = helpers.text(index)
    if isinstance(value, Array) and value.associative:
        if "\0" in key:
            return "\0"
        return dict(zip(value.keys, value.values, strict=True)).get(key)
    try:
        number = arithmetic(m, key, state)
    except (Failed, ValueError, OverflowError):
        return "\0"
    if number is None or isinstance(value, ListValue):
        return "\0"
    if not isinstance(value, Array):
        return value if number in (0, -1) else None
    if MANY_FIELDS in value.values:
        return "\0"
    if m.dialect == "zsh" and number > 0:
        number -= 1
    if number < 0:
        return value.values[number] if -number <= len(value.values) else None
    return dict(zip(value.keys, value.values, strict=True)).get(str(number))


def _operate(m: Machine, part: Param, value: str | ListValue | None, state: State, helpers: Helpers) -> Result:
    op = part.op
    if op == "len":
        return _length(m, part, value, state)
    if op[-1] in "-=?+" and op[0] in ":-=?+":
        return _default(m, part, value, state, helpers)
    if value is None:
        value = _unset(m, part.name, state)
    if op == ":":
        return _substring(m, part, value, state, helpers)
    if op == "@":
        return _transform(part, value, state, helpers)
    pattern = helpers.pattern(part.arg) if part.arg is not None else ""
    if op[0] == "/":
        # The unquoted `&` of bash 5.2 stands for the match; no constant text uses it by chance, so it is unknown.
        replacement = helpers.text(part.arg2) if part.arg2 is not None else ""
        return _each(value, lambda item: _or_unknown(globs.replace(pattern, item, replacement, op)))
    if op[0] in "#%":
        return _each(value, lambda item: _removed(pattern, item, op))
    return _each(value, lambda item: _or_unknown(globs.change_case(pattern, item, op)))


def _removed(pattern: str, item: str, op: str) -> str:
    """Removing from a partly unknown value: the end that is not touched stays known."""
    found = globs.remove(pattern, item, op)
    if found is not None:
        return found
    if "\0" in item and "\0" not in pattern and item != MANY_FIELDS:
        if op == "%" and not globs.has_magic(pattern):
            tail = item[item.rindex("\0") + 1 :]
            removed = globs.remove(pattern, tail, op) if len(tail) >= len(pattern) else None
            if removed is not None:
                return item[: item.rindex("\0") + 1] + removed
            return item[: item.index("\0") + 1]
        if op[0] == "%":
            return item[: item.index("\0") + 1]
        return item[item.rindex("\0") :]
    return "\0"


def _or_unknown(value: str | None) -> str:
    return "\0" if value is None else value


def _each(value: str | ListValue, change: object) -> Result:
    assert callable(change)
    if isinstance(value, str):
        return str(change(value)) if value != MANY_FIELDS else value
    items = tuple(item if item == MANY_FIELDS else str(change(item)) for item in value.items)
    return ListValue(items, value.star)


def _length(m: Machine, part: Param, value: str | ListValue | None, state: State) -> str:
    if isinstance(value, ListValue):
        return "\0" if MANY_FIELDS in value.items else str(len(value.items))
    if value is None:
        _unset(m, part.name, state)
        return "0"
    return "\0" if "\0" in value else str(len(value))


def _default(m: Machine, part: Param, value: str | ListValue | None, state: State, helpers: Helpers) -> Result:
    """`:-`, `:=`, `:?`, `:+` and their forms without a colon."""
    op = part.op
    assert part.arg is not None
    if isinstance(value, ListValue):
        absent = not value.items or (op[0] == ":" and value.items == ("",))
        present: Result = value
        unknown = value.items == (MANY_FIELDS,)
    else:
        absent = value is None or (op[0] == ":" and value == "")
        present = "" if value is None else value
        unknown = value == "\0"
    if unknown and op[0] == ":":
        # An unknown value may be empty: then the default counts. The command is looked at both ways.
        absent = m.pick(f"empty {part.name}", ("", "set"), state) == ""
    if op[-1] == "+":
        return "" if absent else WordValue(part.arg)
    if not absent:
        return present
    if op[-1] == "=":
        text = helpers.text(part.arg)
        if isinstance(part.subscript, Word):
            state.set(part.name, with_element(state.get(part.name)[0], helpers.text(part.subscript), text))
        else:
            state.set(part.name, text)
        return text
    if op[-1] == "?":
        helpers.text(part.arg)
        raise Aborted
    return WordValue(part.arg)


def _substring(m: Machine, part: Param, value: str | ListValue, state: State, helpers: Helpers) -> Result:
    assert part.arg is not None
    if m.dialect == "zsh":
        letters = helpers.text(part.arg) + (helpers.text(part.arg2) if part.arg2 is not None else "")
        if letters.isalpha() and letters not in state.vars:
            return _each(value, lambda item: _or_unknown(modified(item, letters)))
    try:
        offset = arithmetic(m, helpers.text(part.arg), state)
        length = None if part.arg2 is None else arithmetic(m, helpers.text(part.arg2), state)
    except (Failed, ValueError, OverflowError):
        offset = None
        length = None
    unknown = offset is None or (part.arg2 is not None and length is None)
    if isinstance(value, ListValue):
        if unknown or MANY_FIELDS in value.items:
            return ListValue((MANY_FIELDS,), value.star)
        assert offset is not None
        items = value.items
        if part.name in ("@", "*"):
            items = (m.shell_name, *items)
            offset = offset if offset >= 0 else len(items) + offset
            if part.arg2 is None and offset == 0:
                return ListValue(items, value.star)
        start = offset if offset >= 0 else max(len(items) + offset, 0)
        stop = len(items) if length is None else start + max(length, 0)
        return ListValue(items[start:stop], value.star)
    if unknown or "\0" in value:
        return "\0"
    assert offset is not None
    start = offset if offset >= 0 else len(value) + offset
    if start < 0 or start > len(value):
        return ""
    stop = len(value) if length is None else start + length if length >= 0 else len(value) + length
    return value[start : max(stop, start)]


def _transform(part: Param, value: str | ListValue, state: State, helpers: Helpers) -> Result:
    """`${name@X}`."""
    letter = helpers.text(part.arg) if part.arg is not None else ""

    def change(item: str) -> str:
        if "\0" in item:
            return "\0"
        if letter == "U":
            return item.upper()
        if letter == "L":
            return item.lower()
        if letter == "u":
            return item[:1].upper() + item[1:]
        if letter == "Q":
            return "'" + item.replace("'", "'\\''") + "'"
        if letter == "E":
            return decode_ansi(item)
        if letter == "a":
            return state.marks.get(part.name, "")
        return "\0"

    return _each(value, change)
