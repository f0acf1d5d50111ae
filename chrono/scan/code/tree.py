"""Owns the one form into which code of every language is read: expressions and statements as frozen values.

Each language's reader builds it; `interpret` runs it.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.tuples import NamedTuple

Node = object
"""Any of the classes below."""


class Const(NamedTuple):
    value: object


class Interpolated(NamedTuple):
    """A string with expressions inside."""

    parts: tuple[Node, ...]


class Name(NamedTuple):
    name: str


class Attribute(NamedTuple):
    owner: Node
    name: str


class Index(NamedTuple):
    owner: Node
    key: Node


class Slice(NamedTuple):
    owner: Node
    start: Node | None
    stop: Node | None
    step: Node | None


class Call(NamedTuple):
    function: Node
    args: tuple[Node, ...]
    named: tuple[tuple[str | None, Node], ...]
    line: int


class Spread(NamedTuple):
    value: Node


class Binary(NamedTuple):
    op: str
    left: Node
    right: Node


class Unary(NamedTuple):
    op: str
    value: Node


class Boolean(NamedTuple):
    """`op` is "and", "or" or "else" (the first that is not null)."""

    op: str
    values: tuple[Node, ...]


class Choice(NamedTuple):
    test: Node
    yes: Node
    no: Node


class ListOf(NamedTuple):
    items: tuple[Node, ...]


class TableOf(NamedTuple):
    """Pairs of key and value; a key of None is a spread."""

    pairs: tuple[tuple[Node | None, Node], ...]


class Parameter(NamedTuple):
    """`kind` is "" for one, "*" for the rest, "**" for the rest by name."""

    name: str
    default: Node | None = None
    kind: str = ""


class Function(NamedTuple):
    """`body` is read only when the function is called, as most of a file's functions are not."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Callable[[], tuple[Node, ...]]
    line: int
    decorators: tuple[Node, ...] = ()
    expression: bool = False


class Class(NamedTuple):
    name: str
    bases: tuple[Node, ...]
    body: tuple[Node, ...]
    line: int


class Assign(NamedTuple):
    """`op` is "=" or the operator of an augmented assignment ("+" of `+=`). It is an expression too."""

    target: Node
    value: Node
    op: str = "="
    declares: bool = False


class Comprehension(NamedTuple):
    """`clauses` are (target, iterable, conditions)."""

    element: Node
    clauses: tuple[tuple[Node, Node, tuple[Node, ...]], ...]


class Backticks(NamedTuple):
    """Text that a shell runs."""

    parts: tuple[Node, ...]
    line: int


class Yield(NamedTuple):
    value: Node | None
    spread: bool = False


class If(NamedTuple):
    test: Node
    yes: tuple[Node, ...]
    no: tuple[Node, ...]


class Loop(NamedTuple):
    """`target` takes each element of `iterable`; without an iterable it is a loop while `test` holds."""

    target: Node | None
    iterable: Node | None
    test: Node | None
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()
    line: int = 0


class Try(NamedTuple):
    body: tuple[Node, ...]
    handlers: tuple[tuple[Node, ...], ...]
    otherwise: tuple[Node, ...]
    final: tuple[Node, ...]


class Branches(NamedTuple):
    """Several bodies of which one may run (`switch`, `match`)."""

    subject: Node | None
    bodies: tuple[tuple[Node, ...], ...]


class Return(NamedTuple):
    value: Node | None


class Jump(NamedTuple):
    """`break`, `continue`, `raise`."""

    kind: str


class Import(NamedTuple):
    """Binds `alias` to the library thing `name`."""

    name: str
    alias: str


class ImportAll(NamedTuple):
    name: str


class Scoped(NamedTuple):
    """A `with` block: the value is bound, the body runs, the thing is closed."""

    value: Node
    target: Node | None


class Block(NamedTuple):
    body: tuple[Node, ...]


class Global(NamedTuple):
    names: tuple[str, ...]
