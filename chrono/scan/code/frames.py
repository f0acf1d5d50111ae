"""Owns what a running program is made of: scopes, functions with their scope, arguments, and what a library answers.

Running it is left to `interpret`.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.values import (
    ANY,
    Items,
)
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol
else:
    Protocol = object

Value = object


class Arguments(NamedTuple):
    """`more` is True where further arguments of unknown number may follow; `rest` tells what they are like."""

    values: tuple[Value, ...]
    named: dict[str, Value]
    more: bool = False
    rest: Value = ANY

    def at(self, place: int, name: str = "") -> Value:
        """The argument at a place or by its name; ANY where it may be there but is not known, None where it is not."""
        if name and name in self.named:
            return self.named[name]
        if place < len(self.values):
            return self.values[place]
        return self.rest if self.more else None


class Library(Protocol):
    """What a language brings along. Each answers None for "not mine"."""

    language: str
    hoists: bool
    """Functions are known before the statements in front of them have run."""
    assigns_outward: bool
    """An assignment goes to the variable of that name further out, where there is one."""
    returns_last: bool
    """A function returns the value of its last statement."""
    calls_bare_names: bool
    """A name alone calls the method of that name."""

    def name(self, run: Any, name: str) -> Value: ...
    def attribute(self, run: Any, owner: Value, name: str) -> Value: ...
    def call(self, run: Any, name: str, args: Arguments) -> Value: ...
    def method(self, run: Any, owner: Value, name: str, args: Arguments) -> Value: ...


class Scope:
    """Variables of one function or of the module; `file` is the one it stands in."""

    __slots__ = ("file", "outer", "parent", "result", "returned", "variables", "yields")

    def __init__(self, parent: Scope | None) -> None:
        self.result: Value = None
        self.returned = False
        self.parent = parent
        self.file: str = parent.file if parent is not None else ""
        self.variables: dict[str, Value] = {}
        self.outer: set[str] = set()
        self.yields: Items | None = None

    def find(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope
            scope = scope.parent
        return None


METHOD_KINDS = {
    "property": "property",
    "cached_property": "property",
    "classmethod": "classmethod",
    "staticmethod": "static",
}
"""What Python's own decorators of methods make of them (`Closure.kind`)."""


class Closure:
    """A function of the code itself, with the scope it was made in."""

    __slots__ = ("active", "body", "kind", "node", "owner", "scope")

    def __init__(self, node: tree.Function, scope: Scope, owner: Value = None) -> None:
        self.node = node
        self.scope = scope
        self.owner = owner
        self.body: tuple[tree.Node, ...] | None = None
        self.kind = ""
        """What a decorator makes of a method: "property", "classmethod" or "static"."""
        self.active = 0
