"""Owns the tree that PowerShell text is read into.

Building it is left to `parser`, `expressions` and `lexer`; what it does to `interpret`.
"""

from __future__ import annotations

from chrono.tuples import NamedTuple

Span = tuple[int, int]


class Text(NamedTuple):
    """A constant text or number; `bare` where it was written without quotes."""

    value: str | int | float
    bare: bool = False


class Mixed(NamedTuple):
    """A text with expressions in it (`"a $b $(c)"`, `$env:TEMP\\x`): strings and nodes in order."""

    parts: tuple[object, ...]
    bare: bool = False


class Variable(NamedTuple):
    """`$name`, in small letters, with its scope or drive (`env:temp`) where one is written."""

    name: str
    splat: bool = False


class Substitution(NamedTuple):
    """`$( … )` and `@( … )` (`array`): statements whose output is the value."""

    body: tuple[object, ...]
    array: bool = False


class Paren(NamedTuple):
    """`( … )`: one pipeline or assignment whose output is the value."""

    body: tuple[object, ...]


class Table(NamedTuple):
    """`@{ key = value }`."""

    pairs: tuple[tuple[object, object], ...]


class Block(NamedTuple):
    """`{ … }`. `params` are (name in small letters, default or None); `source` its own text."""

    body: tuple[object, ...]
    params: tuple[tuple[str, object], ...] = ()
    source: str = ""


class TypeName(NamedTuple):
    """`[name]`, in small letters, without spaces."""

    name: str


class Cast(NamedTuple):
    """`[name] expression`."""

    name: str
    inner: object


class Member(NamedTuple):
    """`inner.name` and `inner::name`; `args` None where it is not called."""

    inner: object
    name: object
    args: tuple[object, ...] | None
    static: bool


class Index(NamedTuple):
    """`inner[at]`."""

    inner: object
    at: object


class Binary(NamedTuple):
    """`left op right`; the operator in small letters, without `c` or `i` in front."""

    op: str
    left: object
    right: object


class Unary(NamedTuple):
    """`op inner`."""

    op: str
    inner: object


class Array(NamedTuple):
    """`a, b, c`."""

    items: tuple[object, ...]


class Ternary(NamedTuple):
    """`test ? yes : no`."""

    test: object
    yes: object
    no: object


class Redirection(NamedTuple):
    """`op` as written without its stream number (`>`, `>>`, `<`); `stream` 1-6 or `*`."""

    op: str
    stream: str
    target: object


class Call(NamedTuple):
    """One command of a pipeline: `operator` "", "&" or "."; the first of `words` names it.

    A word that was written as a parameter is a bare Text or Mixed that begins with a dash; `Text("--%")` is followed
    by one Text with the rest of the line.
    """

    operator: str
    words: tuple[object, ...]
    redirects: tuple[Redirection, ...]
    span: Span


class Value(NamedTuple):
    """An expression as an element of a pipeline."""

    inner: object
    redirects: tuple[Redirection, ...]
    span: Span


class Pipeline(NamedTuple):
    """Elements joined by `|`; `after` as in Command ("always", "success", "failure")."""

    elements: tuple[object, ...]
    after: str = "always"


class Assign(NamedTuple):
    """`target op value`; the value is a statement."""

    target: object
    op: str
    value: object


class If(NamedTuple):
    """(condition, body) for each `if` and `elseif`, and the `else` body."""

    clauses: tuple[tuple[object, tuple[object, ...]], ...]
    otherwise: tuple[object, ...]


class Loop(NamedTuple):
    """`while`, `do … while`, `do … until` and `for`; `first` and `step` are those of `for`."""

    kind: str
    first: object
    test: object
    step: object
    body: tuple[object, ...]


class Foreach(NamedTuple):
    """`foreach ($name in source) { body }`."""

    name: str
    source: object
    body: tuple[object, ...]


class Switch(NamedTuple):
    """`switch (source) { pattern { body } }`; the pattern of `default` is None."""

    source: object
    clauses: tuple[tuple[object, tuple[object, ...]], ...]
    mode: str


class Try(NamedTuple):
    """`try { … } catch { … } finally { … }`."""

    body: tuple[object, ...]
    catches: tuple[tuple[object, ...], ...]
    last: tuple[object, ...]


class Function(NamedTuple):
    """`function name { … }`, `filter name { … }`, and methods of a class (`type.method`)."""

    name: str
    block: Block


class Leave(NamedTuple):
    """`return`, `throw`, `exit`, `break`, `continue` with what follows it."""

    kind: str
    value: object


class Params(NamedTuple):
    """A `param ( … )` block of a script."""

    params: tuple[tuple[str, object], ...]


class Body(NamedTuple):
    """`begin`, `process`, `end`, `trap`, `data` and other blocks that run where they stand."""

    kind: str
    body: tuple[object, ...]
