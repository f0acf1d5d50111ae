"""Owns what a shell knows at one point of a text, and how two such points join.

What commands do to it is left to `interpret` and `builtins`; values themselves to `values`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.shell.syntax import Node
from chrono.scan.shell.values import MANY_FIELDS, MAX_ALTERNATIVES, MAX_VALUE_CHARS, join_fields, join_text, union
from chrono.tuples import NamedTuple

MAX_ORIGINS = 8
UNKNOWN_STATUS = -1
NONZERO_STATUS = -2
Argv = tuple[str, ...]


class Array(NamedTuple):
    """An indexed (decimal keys, ascending) or associative array. A value MANY_FIELDS stands for unknown elements."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    associative: bool = False


Value = str | Array | None
"""What a variable holds; None: it is not set."""

UNKNOWN_VALUE: tuple[Value, ...] = ("\0",)
UNKNOWN_ARRAY = Array(("0",), (MANY_FIELDS,))


class State:
    """One point of the evaluation; copies share their tables until one of them writes.

    - `vars`: name -> alternatives; what is missing is the environment's. `params`: `$1…` as fields.
    - `cwds`: alternatives for the folder. `status`: of the last command, or UNKNOWN_STATUS, NONZERO_STATUS.
    - `failed`: the state after the last command's failure where that differs from the one after its success.
    - `dead`: nothing behind this point runs. `stdin`: text still to be read, None where not known.
    - `feeds`: argvs of the programs in front of this one in a pipe. `outs`: alternatives for what was written to the
      captured standard output, None where nobody reads it.
    - `saved`: what `local` variables of the running function hid. `origins`: variable -> argvs whose output it holds.
    """

    __slots__ = (
        "_own",
        "aliases",
        "cwds",
        "dead",
        "dirs",
        "environment",
        "exported",
        "failed",
        "feeds",
        "funcs",
        "marks",
        "options",
        "origins",
        "outs",
        "params",
        "saved",
        "status",
        "stdin",
        "vars",
    )

    def __init__(self, environment: Callable[[str], str | None], cwd: str) -> None:
        self.environment = environment
        self.vars: dict[str, tuple[Value, ...]] = {}
        self.funcs: dict[str, Node] = {}
        self.aliases: dict[str, tuple[str, int]] = {}
        self.exported: frozenset[str] = frozenset()
        self.marks: dict[str, str] = {}
        self.options: frozenset[str] = frozenset()
        self.origins: dict[str, tuple[Argv, ...]] = {}
        self.params: tuple[str, ...] = ()
        self.cwds: tuple[str, ...] = (cwd,)
        self.dirs: tuple[str, ...] = ()
        self.status = 0
        self.failed: State | None = None
        self.dead = False
        self.stdin: str | None = None
        self.feeds: tuple[Argv, ...] = ()
        self.outs: tuple[str, ...] | None = None
        self.saved: dict[str, tuple[Value, ...]] | None = None
        self._own = True

    def copy(self) -> State:
        new = State.__new__(State)
        new.environment = self.environment
        new.failed = None
        new._own = self._own = False
        new._take(self)
        new.saved = None if self.saved is None else dict(self.saved)
        return new

    def _take(self, other: State) -> None:
        self.vars = other.vars
        self.funcs = other.funcs
        self.aliases = other.aliases
        self.exported = other.exported
        self.marks = other.marks
        self.options = other.options
        self.origins = other.origins
        self.params = other.params
        self.cwds = other.cwds
        self.dirs = other.dirs
        self.status = other.status
        self.dead = other.dead
        self.stdin = other.stdin
        self.feeds = other.feeds
        self.outs = other.outs
        self.saved = other.saved

    def become(self, other: State) -> None:
        """Takes everything over from a state that is not used any more."""
        if other is self:
            return
        self._take(other)
        self.failed = other.failed
        self._own = False

    def own(self) -> None:
        """Before the first write: tables of its own."""
        if not self._own:
            self.vars = dict(self.vars)
            self.funcs = dict(self.funcs)
            self.aliases = dict(self.aliases)
            self.marks = dict(self.marks)
            self.origins = dict(self.origins)
            self._own = True

    def get(self, name: str) -> tuple[Value, ...]:
        found = self.vars.get(name)
        return found if found is not None else (self.environment(name),)

    def set(self, name: str, value: Value) -> None:
        self.own()
        self.vars[name] = (value,)
        if name in self.origins:
            del self.origins[name]

    def came_from(self, name: str, sources: tuple[Argv, ...]) -> None:
        """Notes whose output a variable holds (`@`: the positional parameters)."""
        if sources or name in self.origins:
            self.own()
            self.origins[name] = tuple(dict.fromkeys(sources))[-MAX_ORIGINS:]

    def put(self, name: str, values: tuple[Value, ...]) -> None:
        self.own()
        self.vars[name] = values

    def export(self, name: str) -> None:
        self.exported |= {name}

    def write(self, text: str) -> None:
        """Adds to the captured output."""
        if self.outs is not None and text:
            self.outs = tuple(out + text if len(out) + len(text) <= MAX_VALUE_CHARS else "\0" for out in self.outs)

    def join(self, other: State) -> None:
        """This state becomes one that stands for both."""
        if other.dead:
            return
        if self.dead:
            self.become(other)
            return
        if self.vars is not other.vars:
            self._join_vars(other)
        if self.funcs is not other.funcs:
            self.own()
            self.funcs = {**other.funcs, **self.funcs}
        if self.aliases is not other.aliases:
            self.own()
            self.aliases = {**other.aliases, **self.aliases}
        if self.origins is not other.origins:
            self.own()
            self.origins = {**other.origins, **self.origins}
        if self.marks is not other.marks:
            self.own()
            self.marks = {**other.marks, **self.marks}
        self.exported |= other.exported
        self.options = self.options & other.options
        self.params = join_fields(self.params, other.params)
        self.cwds = union(self.cwds, other.cwds)
        self.dirs = self.dirs if self.dirs == other.dirs else ()
        if self.status != other.status:
            self.status = UNKNOWN_STATUS if 0 in (self.status, other.status) or UNKNOWN_STATUS in (
                self.status, other.status
            ) else NONZERO_STATUS  # fmt: skip
        if self.stdin != other.stdin:
            known = self.stdin is not None and other.stdin is not None
            self.stdin = join_text((self.stdin or "", other.stdin or "")) if known else None
        if self.outs is not None and other.outs is not None:
            self.outs = union(self.outs, other.outs)
        if other.saved:
            self.saved = {**other.saved, **(self.saved or {})}

    def _join_vars(self, other: State) -> None:
        mine, theirs = self.vars, other.vars
        self.own()
        for name in theirs.keys() - mine.keys():
            self.vars[name] = _join_values(self.get(name), theirs[name])
        for name, values in mine.items():
            others = theirs.get(name)
            if others is None:
                others = (self.environment(name),)
            if others is not values and others != values:
                self.vars[name] = _join_values(values, others)

    def same(self, other: State) -> bool:
        """Whether running the same commands from both would show nothing new."""
        return (
            (self.vars is other.vars or self.vars == other.vars)
            and self.params == other.params
            and self.cwds == other.cwds
            and self.stdin == other.stdin
            and self.outs == other.outs
            and self.funcs == other.funcs
        )

    def widen(self, before: State) -> None:
        """What changed since `before` becomes unknown, so that any number of further rounds is covered."""
        if self.vars is not before.vars:
            self.own()
            for name, values in list(self.vars.items()):
                if before.vars.get(name) != values:
                    array = any(isinstance(value, Array) for value in values)
                    self.vars[name] = (UNKNOWN_ARRAY,) if array else UNKNOWN_VALUE
        if self.params != before.params:
            self.params = (MANY_FIELDS,)
        if self.cwds != before.cwds:
            self.cwds = union(self.cwds, before.cwds)
        if self.outs != before.outs and self.outs is not None and before.outs is not None:
            self.outs = (join_text((*before.outs, *(out + "\0" for out in self.outs))),)
        if self.stdin != before.stdin and self.stdin is not None:
            self.stdin = "\0"


def _join_values(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    both = tuple(dict.fromkeys((*left, *right)))
    if len(both) <= MAX_ALTERNATIVES:
        return both
    if any(isinstance(value, Array) for value in both):
        return (UNKNOWN_ARRAY,)
    texts = tuple(value for value in both if isinstance(value, str))
    joined: tuple[Value, ...] = (join_text(texts),) if texts else ()
    return (*joined, None) if None in both else joined


def fork(state: State) -> tuple[State | None, State | None]:
    """(the state after success, the state after failure) of what ran last; None where that cannot be."""
    if state.dead:
        return None, None
    failed = state.failed
    if failed is not None:
        state.failed = None
        return state, failed
    if state.status == 0:
        return state, None
    if state.status != UNKNOWN_STATUS:
        return None, state
    other = state.copy()
    other.status = NONZERO_STATUS
    state.status = 0
    return state, other


def settle(state: State) -> None:
    """Success and failure become one state again."""
    failed = state.failed
    if failed is not None:
        state.failed = None
        state.join(failed)


def merge(left: State | None, right: State | None) -> State | None:
    """One state for both; None where neither can be."""
    if left is None or left.dead:
        return right
    if right is not None:
        left.join(right)
    return left
