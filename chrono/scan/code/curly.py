"""Owns what the readers of JavaScript, PHP, Perl and Ruby share: tokens, brackets, and parsing by precedence.

Each language's words and statements are left to its own reader. A reader never fails: what it does not understand is
passed over, a token at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import tree
from chrono.scan.command import LimitReached
from chrono.tuples import NamedTuple

MAX_TOKENS = 120_000
UNREAD = tree.Name("\0unread")


class Token(NamedTuple):
    """`kind` is "name", "variable", "string", "number", "regex", "shell", "op", "line" (an end of line) or "end".

    `value` is the text; of strings with expressions inside, `parts` has constants and nodes. `spaced` tells whether
    white space stands in front of it.
    """

    kind: str
    value: str
    line: int
    parts: tuple[tree.Node, ...] | None = None
    spaced: bool = False


END = Token("end", "", 0)


def brackets(tokens: list[Token]) -> dict[int, int]:
    """Index of each opening bracket -> index of the one that closes it (or of the end)."""
    pairs: dict[int, int] = {}
    open_ones: list[tuple[str, int]] = []
    closing = {")": "(", "]": "[", "}": "{"}
    for at, token in enumerate(tokens):
        if token.kind != "op":
            continue
        value = token.value
        if value in ("(", "[", "{"):
            open_ones.append((value, at))
        elif value in closing:
            # A bracket that does not fit closes nothing, unless one further out does.
            for depth in range(len(open_ones) - 1, max(len(open_ones) - 4, -1), -1):
                if open_ones[depth][0] == closing[value]:
                    pairs[open_ones[depth][1]] = at
                    del open_ones[depth:]
                    break
    for _, at in open_ones:
        pairs[at] = len(tokens)
    return pairs


def number_of(text: str) -> object:
    """The value of a number as Perl, PHP and Ruby write it; 0 for what none of them would read."""
    bare = text.replace("_", "")
    try:
        if bare[:2].lower() in ("0x", "0b"):
            return int(bare, 0)
        if bare.isdigit():
            return int(bare[:18], 8) if bare[0] == "0" and len(bare) > 1 else int(bare[:18])
        return float(bare)
    except ValueError:
        return 0


class Reader:
    """Walks over tokens; subclasses say what a statement and a simple expression are."""

    precedence: dict[str, int] = {}  # noqa: RUF012 -- constant of each subclass
    assignments: frozenset[str] = frozenset()
    right_binding: frozenset[str] = frozenset(("**",))
    text_join = ""

    def __init__(self, tokens: list[Token]) -> None:
        if len(tokens) > MAX_TOKENS:
            raise LimitReached("it is too long to be read to its end")
        self.tokens = tokens
        self.at = 0
        self.pairs = brackets(tokens)

    # --- tokens -------------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else END

    def ahead(self, count: int = 1) -> Token:
        return self.tokens[self.at + count] if self.at + count < len(self.tokens) else END

    def take(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def is_op(self, *values: str) -> bool:
        token = self.token
        return token.kind == "op" and token.value in values

    def is_name(self, *values: str) -> bool:
        token = self.token
        return token.kind == "name" and token.value in values

    def accept(self, *values: str) -> bool:
        """Takes the next token if it is one of these operators or words."""
        token = self.token
        if token.kind in ("op", "name") and token.value in values:
            self.at += 1
            return True
        return False

    def closing(self) -> int:
        """Index of the bracket that closes the one at the current token."""
        return self.pairs.get(self.at, len(self.tokens))

    def skip_brackets(self) -> None:
        self.at = self.closing() + 1

    # --- expressions --------------------------------------------------------------------------------------------------

    def expression(self, least: int = 0) -> tree.Node:
        left = self.postfix(self.prefix())
        while True:
            token = self.token
            if token.kind not in ("op", "name"):
                return left
            op = token.value
            if op in self.assignments and token.kind == "op":
                if least > 1:
                    return left
                self.at += 1
                left = self.assignment(left, op)
                continue
            if op == "?" and token.kind == "op" and least <= 2:
                left = self.choice(left)
                continue
            level = self.precedence.get(op)
            if level is None or level < least:
                return left
            self.at += 1
            right = self.expression(level if op in self.right_binding else level + 1)
            left = self.combine(op, left, right)

    def assignment(self, target: tree.Node, op: str) -> tree.Node:
        value = self.expression(1)
        if op in ("=", ":="):
            return tree.Assign(target, value)
        if op in ("||=", "??=", "//=", "or="):
            return tree.Assign(target, value, "||")
        if op == "&&=":
            return tree.Boolean("and", (target, tree.Assign(target, value)))
        operator = "text+" if op[:-1] == self.text_join else op[:-1]
        return tree.Assign(target, value, operator)

    def choice(self, test: tree.Node) -> tree.Node:
        self.at += 1
        if self.accept(":"):
            return tree.Boolean("or", (test, self.expression(2)))
        yes = self.expression(1)
        no = self.expression(1) if self.accept(":") else UNREAD
        return tree.Choice(test, yes, no)

    def combine(self, op: str, left: tree.Node, right: tree.Node) -> tree.Node:
        if op in ("&&", "and"):
            return tree.Boolean("and", (left, right))
        if op in ("||", "or"):
            return tree.Boolean("or", (left, right))
        if op in ("??", "//"):
            return tree.Boolean("else", (left, right))
        if op == self.text_join:
            return tree.Binary("text+", left, right)
        if op == ",":
            return tree.Boolean("and", (tree.Choice(left, tree.Const(True), tree.Const(True)), right))
        return tree.Binary({"===": "==", "!==": "!=", "eq": "==", "ne": "!="}.get(op, op), left, right)

    def prefix(self) -> tree.Node:
        """One operand, with the operators in front of it."""
        raise NotImplementedError

    def postfix(self, value: tree.Node) -> tree.Node:
        """What follows an operand: calls, members, indexes."""
        raise NotImplementedError

    def arguments(self) -> tuple[tree.Node, ...]:
        """What stands between the parenthesis here and the one that closes it."""
        self.at += 1
        return self.listed(")")

    def listed(self, closer: str) -> tuple[tree.Node, ...]:
        """Expressions between commas up to `closer`, which is taken; the opening bracket has been."""
        found: list[tree.Node] = []
        while self.token.kind != "end" and not self.is_op(closer):
            before = self.at
            if self.accept(","):
                continue
            found.append(self.item())
            if self.at == before:
                self.at += 1
        self.accept(closer)
        return tuple(found)

    def item(self) -> tree.Node:
        """One element of a list or of arguments."""
        if self.accept("..."):
            return tree.Spread(self.expression(1))
        return self.expression(1)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[tree.Node, ...]:
        raise NotImplementedError

    def program(self) -> tuple[tree.Node, ...]:
        return self.until(len(self.tokens))

    def until(self, stop: int) -> tuple[tree.Node, ...]:
        """Statements up to a token, each of which moves on."""
        found: list[tree.Node] = []
        while self.at < stop and self.token.kind != "end":
            before = self.at
            found.extend(self.statement())
            if self.at == before:
                self.at += 1
        self.at = max(self.at, stop) if stop < len(self.tokens) else self.at
        return tuple(found)

    def block(self) -> tuple[tree.Node, ...]:
        """`{ … }`, or a single statement."""
        if not self.is_op("{"):
            return self.statement()
        stop = self.closing()
        self.at += 1
        body = self.until(stop)
        self.at = stop + 1
        return body

    def later_block(self) -> Callable[[], tuple[tree.Node, ...]]:
        """The block at this place, read when it is asked for; the reader moves behind it."""
        start, stop = self.at, self.closing()
        self.at = stop + 1

        def read() -> tuple[tree.Node, ...]:
            kept, self.at = self.at, start + 1
            body = self.until(stop)
            self.at = kept
            return body

        return read

    def bracketed(self) -> tree.Node:
        """The expression in the brackets that stand here."""
        if not self.accept("("):
            return self.expression()
        value: tree.Node = UNREAD if self.is_op(")") else self.expression()
        self.accept(")")
        return value
