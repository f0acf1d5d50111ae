"""Owns arithmetic on constants: `$((…))`, `((…))`, `let`, subscripts, in bash's 64-bit integers.

Words in the expression are expanded before; where a value is not known the result is None.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.expression import expression

_TOKEN = expression(
    r"\s*(?:(0[xX][0-9A-Fa-f]+|[0-9]+#[0-9A-Za-z@_]+|[0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|"
    r"(\*\*|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%<>=!~&|^?:(),\[\]]))"
)
_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
_ASSIGN = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
MAX_CHARS = 4000
MAX_NESTED = 30


class Failed(Exception):
    """The expression is not understood, or divides by zero."""


class Variables:
    """How an expression reads and sets variables: `read` and `write` take the name and the subscript's value."""

    __slots__ = ("read", "write")

    def __init__(
        self,
        read: Callable[[str, int | None], str | None],
        write: Callable[[str, int | None, int | None], None],
    ) -> None:
        self.read = read
        self.write = write


def calculate(text: str, variables: Variables, depth: int = 0) -> int | None:
    """The value of an expression; None where it depends on something unknown. Raises Failed."""
    if "\0" in text:
        return None
    if not text.strip():
        return 0
    if text.isdecimal() and text[0] != "0" and len(text) < 18 and text.isascii():
        return int(text)
    if len(text) > MAX_CHARS or depth > 8:
        return None
    parser = _Expression(text, variables, depth)
    value = parser.comma()
    if parser.token:
        raise Failed(f"unexpected {parser.token} in an expression")
    return value


def _wrap(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


class _Expression:
    def __init__(self, text: str, variables: Variables, depth: int) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.variables = variables
        self.depth = depth
        self.nested = 0
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise Failed("an expression is not understood")
            number, name, op = match.groups()
            self.tokens.append(("number", number) if number else ("name", name) if name else ("op", op))
            at = match.end()
        self.at = 0

    @property
    def token(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        if self.kind == "op" and self.token == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise Failed(f"{token} is missing in an expression")

    def enter(self) -> None:
        self.nested += 1
        if self.nested > MAX_NESTED:
            raise Failed("an expression is nested too deeply")

    def comma(self) -> int | None:
        value = self.assignment()
        while self.take(","):
            value = self.assignment()
        return value

    def assignment(self) -> int | None:
        self.enter()
        try:
            start = self.at
            if self.kind == "name":
                name, index, known = self.variable()
                op = self.token if self.kind == "op" else ""
                if op in _ASSIGN:
                    self.at += 1
                    value = self.assignment()
                    if op != "=":
                        value = _apply(op[:-1], self.read(name, index, known), value)
                    self.variables.write(name, index, value if known else None)
                    return value
                self.at = start
            return self.ternary()
        finally:
            self.nested -= 1

    def ternary(self) -> int | None:
        condition = self.binary(1)
        if not self.take("?"):
            return condition
        yes = self.comma()
        self.expect(":")
        no = self.assignment()
        if condition is None:
            return yes if yes == no else None
        return yes if condition else no

    def binary(self, least: int) -> int | None:
        left = self.unary()
        while self.kind == "op":
            op = self.token
            level = _BINARY.get(op, 0)
            if level < least:
                break
            self.at += 1
            self.enter()
            right = self.binary(level if op == "**" else level + 1)
            self.nested -= 1
            left = _apply(op, left, right)
        return left

    def unary(self) -> int | None:
        self.enter()
        try:
            for op in ("++", "--"):
                if self.take(op):
                    if self.kind != "name":
                        return self.unary()
                    name, index, known = self.variable()
                    value = _apply(op[0], self.read(name, index, known), 1)
                    self.variables.write(name, index, value if known else None)
                    return value
            for op in ("!", "~", "-", "+"):
                if self.take(op):
                    value = self.unary()
                    if value is None:
                        return None
                    return {"!": int(not value), "~": ~value, "-": _wrap(-value), "+": value}[op]
            return self.primary()
        finally:
            self.nested -= 1

    def primary(self) -> int | None:
        if self.take("("):
            value = self.comma()
            self.expect(")")
            return value
        if self.kind == "number":
            token = self.token
            self.at += 1
            return _number(token)
        if self.kind == "name":
            name, index, known = self.variable()
            value = self.read(name, index, known)
            for op in ("++", "--"):
                if self.take(op):
                    self.variables.write(name, index, _apply(op[0], value, 1) if known else None)
            return value
        raise Failed("an expression lacks a value")

    def variable(self) -> tuple[str, int | None, bool]:
        """(name, subscript, whether the subscript is known)."""
        name = self.token
        self.at += 1
        if not self.take("["):
            return name, None, True
        index = self.comma()
        self.expect("]")
        return name, index, index is not None

    def read(self, name: str, index: int | None, known: bool) -> int | None:
        text = self.variables.read(name, index) if known else None
        if text is None:
            return None
        return calculate(text, self.variables, self.depth + 1)


def _number(token: str) -> int:
    if "#" in token:
        base_text, digits = token.split("#", 1)
        base = int(base_text)
        if not 2 <= base <= 64 or len(token) > 80:
            raise Failed("a number's base is not understood")
        value = 0
        for char in digits:
            value = value * base + _digit(char, base)
        return _wrap(value)
    if len(token) > 40:
        raise Failed("a number is too long")
    try:
        return _wrap(int(token, 16 if token[:2] in ("0x", "0X") else 8 if token[0] == "0" else 10))
    except ValueError:
        raise Failed("a number is not understood") from None


def _digit(char: str, base: int) -> int:
    if char.isdigit():
        value = int(char)
    elif char.islower():
        value = ord(char) - ord("a") + 10
    elif char.isupper():
        value = ord(char) - ord("A") + (10 if base <= 36 else 36)
    else:
        value = 62 if char == "@" else 63
    if value >= base:
        raise Failed("a digit does not fit its base")
    return value


def _apply(op: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        if op == "&&" and 0 in (left, right):
            return 0
        if op == "||" and (left or right):
            return 1
        return None
    if op in ("/", "%"):
        if right == 0:
            raise Failed("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if op == "/" else left - quotient * right)
    if op == "**":
        if right < 0:
            raise Failed("exponent less than 0")
        return _wrap(pow(left, right, 1 << 64))
    if op in ("<<", ">>"):
        return _wrap(left << (right & 63)) if op == "<<" else left >> (right & 63)
    return _wrap(int(_SIMPLE[op](left, right)))


_SIMPLE: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
