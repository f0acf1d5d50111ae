"""Owns the tree of a parsed shell text: words and their parts, commands. Values only.

How text becomes this tree is left to `lexer`, `words` and `parser`; what it runs to `interpret`. Offsets count
characters of the text that was parsed.
"""

from __future__ import annotations

from chrono.tuples import NamedTuple


class Text(NamedTuple):
    """Literal characters; quoted ones neither split nor match as a pattern."""

    text: str
    quoted: bool


class Quoted(NamedTuple):
    """What stands between double quotes."""

    parts: tuple[Part, ...]


class Param(NamedTuple):
    """`$name` and `${…}`.

    - `subscript`: None, "@", "*" or the subscript as a word. `indirect`: `${!name…}`.
    - `op`: "" or one of `:- - := = :? ? :+ + # ## % %% / // /# /% ^ ^^ , ,, : @`, "len" for `${#name}`, "names" for
      `${!prefix*}`, "bad" for a form that no dialect here knows (`arg` then holds what stands inside).
    - `arg`, `arg2`: the words after the operator (pattern and replacement, offset and length).
    - `bare`: written without braces, so that a brace expansion behind it can lengthen the name.
    """

    name: str
    subscript: Word | str | None = None
    indirect: bool = False
    op: str = ""
    arg: Word | None = None
    arg2: Word | None = None
    bare: bool = False


class Subst(NamedTuple):
    """Command substitution. `inline` marks `${ …; }`, which runs in the same shell."""

    body: Body
    inline: bool = False


class Arith(NamedTuple):
    """`$((…))` and `$[…]`."""

    expression: Word


class Process(NamedTuple):
    """Process substitution; `op` is "<" or ">"."""

    op: str
    body: Body


class ArrayValue(NamedTuple):
    """The parenthesised list in `a=(…)`: (subscript or None, `+=`, value)."""

    items: tuple[tuple[Word | None, bool, Word], ...]


class Declared(NamedTuple):
    """An assignment among the arguments of `declare` and its kin: its value neither splits nor matches."""

    assign: Assign


Part = Text | Quoted | Param | Subst | Arith | Process | ArrayValue | Declared


class Word(NamedTuple):
    """One word. `plain` is its value where no dialect would expand anything in it."""

    parts: tuple[Part, ...]
    start: int
    end: int
    plain: str | None = None


class Heredoc:
    """A here-document whose body is read at the end of the line, so it is filled in later."""

    __slots__ = ("body", "delimiter", "quoted", "strip")

    def __init__(self, delimiter: str, quoted: bool, strip: bool) -> None:
        self.delimiter = delimiter
        self.quoted = quoted
        self.strip = strip
        self.body: Word | None = None


class Redir(NamedTuple):
    """`fd` is None where the operator's own default holds; `variable` is the name in `{name}>file`."""

    op: str
    fd: int | None
    variable: str | None
    target: Word
    heredoc: Heredoc | None
    start: int
    end: int


class Assign(NamedTuple):
    name: str
    subscript: Word | None
    append: bool
    value: Word


class Simple(NamedTuple):
    assigns: tuple[Assign, ...]
    words: tuple[Word, ...]
    redirs: tuple[Redir, ...]
    start: int
    end: int


class Pipeline(NamedTuple):
    commands: tuple[Node, ...]
    negated: bool
    timed: bool


class AndOr(NamedTuple):
    """(operator in front, command); the first operator is ""."""

    items: tuple[tuple[str, Node], ...]


class Item(NamedTuple):
    node: Node
    background: bool


class If(NamedTuple):
    clauses: tuple[tuple[Body, Body], ...]
    otherwise: Body | None


class While(NamedTuple):
    condition: Body
    body: Body
    until: bool


class For(NamedTuple):
    """`words` is None for `for name; do`, which walks the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Body
    select: bool


class ForArith(NamedTuple):
    first: Word
    condition: Word
    step: Word
    body: Body


class Branch(NamedTuple):
    """One branch of `case`; `end` is `;;`, `;&` or `;;&`."""

    patterns: tuple[Word, ...]
    body: Body
    end: str


class Case(NamedTuple):
    word: Word
    branches: tuple[Branch, ...]


class Group(NamedTuple):
    body: Body


class Subshell(NamedTuple):
    body: Body


class ArithCommand(NamedTuple):
    expression: Word


class Test(NamedTuple):
    """A node of `[[ … ]]`: `op` "&&", "||", "!" over tests; else a unary or binary operator over words; "" for a word
    alone."""

    op: str
    tests: tuple[Test, ...] = ()
    words: tuple[Word, ...] = ()


class Conditional(NamedTuple):
    test: Test
    start: int
    end: int


class Function(NamedTuple):
    name: str
    body: Node


class Coproc(NamedTuple):
    name: str
    body: Node


class Redirected(NamedTuple):
    """A compound command with redirections of its own."""

    node: Node
    redirs: tuple[Redir, ...]
    start: int
    end: int


Node = (
    Simple
    | Pipeline
    | AndOr
    | If
    | While
    | For
    | ForArith
    | Case
    | Group
    | Subshell
    | ArithCommand
    | Conditional
    | Function
    | Coproc
    | Redirected
)
Body = tuple[Item, ...]
