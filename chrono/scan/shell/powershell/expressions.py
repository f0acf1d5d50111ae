"""Owns reading PowerShell expressions: operators, members, indexes, casts, arrays, tables.

Statements and commands are left to `parser`, single tokens to `lexer`.
"""

from __future__ import annotations

import re

from chrono.scan.shell.powershell.lexer import DASHES, DOUBLE, SINGLE, Lexer
from chrono.scan.shell.powershell.syntax import (
    Array,
    Binary,
    Block,
    Cast,
    Index,
    Member,
    Paren,
    Substitution,
    Table,
    Ternary,
    Text,
    TypeName,
    Unary,
    Variable,
)

_LOGICAL, _BITWISE, _COMPARISON, _SUM, _PRODUCT, _FORMAT, _RANGE = range(1, 8)
_COALESCE = 8

_WORD_OPERATORS: dict[str, int] = {
    "and": _LOGICAL, "or": _LOGICAL, "xor": _LOGICAL, "band": _BITWISE, "bor": _BITWISE, "bxor": _BITWISE,
    "f": _FORMAT, "is": _COMPARISON, "isnot": _COMPARISON, "as": _COMPARISON, "shl": _COMPARISON, "shr": _COMPARISON,
}  # fmt: skip
for _name in ("eq ne gt ge lt le like notlike match notmatch contains notcontains in notin replace split join").split():
    for _case in ("", "c", "i"):
        _WORD_OPERATORS[_case + _name] = _COMPARISON
_OPERATOR = re.compile(f"[{DASHES}]([A-Za-z]+)(?![A-Za-z_])")
_TYPE = re.compile(r"\[\s*([A-Za-z_][\w.+`]*(?:\s*\[[^\[\]'\"$;|]*(?:\[[^\[\]]*\][^\[\]]*)*\])*)\s*\]")
_MEMBER = re.compile(r"[A-Za-z_]\w*")
_SIGNS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}
_UNARY_WORDS = ("not", "bnot", "join", "split", "csplit", "isplit")
_KEY = re.compile(r"[\w.-]+")


def plain_operator(word: str) -> str:
    """An operator without the `c` or `i` that says whether capitals count."""
    if len(word) > 2 and word[0] in "ci" and word not in ("contains", "in", "is", "isnot"):
        return word[1:] if word[1:] in _WORD_OPERATORS else word
    return word


class Expressions(Lexer):
    """Reads expressions; statements inside them are read by the class that inherits."""

    def block(self) -> Block:
        """`{ … }`; the place stands on the brace."""
        raise NotImplementedError

    def body_until(self, close: str) -> tuple[object, ...]:
        """Statements up to a closing sign, which is read too."""
        raise NotImplementedError

    def argument_list(self) -> tuple[object, ...]:
        """`(a, b)` of a method; the place stands behind the parenthesis."""
        args: list[object] = []
        self.lines()
        while self.peek() != ")":
            if self.at >= self.end:
                raise self.fail("a parenthesis is not closed")
            if self.peek() == ",":
                self.at += 1
                self.lines()
                continue
            before = self.at
            args.append(self.operand(_LOGICAL, in_list=True))
            self.lines()
            if self.at == before:
                raise self.fail(f"'{self.peek()}' is not expected here")
        self.at += 1
        return tuple(args)

    # --- operators ----------------------------------------------------------------------------------------------------

    def expression(self) -> object:
        """An expression with all its operators, lists and `? :` among them."""
        self.enter()
        found = self.operand(_LOGICAL)
        self.blanks()
        if self.peek() == "?" and self.peek(2) not in ("?.", "?[", "??") and not self.text.startswith("?{", self.at):
            found = self._ternary(found)
        self.leave()
        return found

    def _ternary(self, test: object) -> object:
        before = self.at
        self.at += 1
        self.lines()
        yes = self.operand(_LOGICAL)
        self.lines()
        if self.peek() != ":":
            self.at = before
            return test
        self.at += 1
        self.lines()
        return Ternary(test, yes, self.expression())

    def operand(self, least: int, *, in_list: bool = False) -> object:
        """An operand and every operator behind it that binds at least as tightly as `least`."""
        self.count()
        left = self._unary(in_list)
        if not in_list:
            left = self._list(left)
        while True:
            before = self.at
            self.blanks()
            op, binds = self._operator(in_list)
            if op is None or binds < least:
                self.at = before
                return left
            self.lines()
            right = self.operand(binds + 1, in_list=in_list)
            left = Binary(op, left, right)
            self.count()

    def _operator(self, in_list: bool) -> tuple[str | None, int]:
        """The operator that stands here (read), and how tightly it binds."""
        char = self.peek()
        if not char or char in ";\n|)}]{":
            return None, 0
        if char in DASHES:
            found = _OPERATOR.match(self.text, self.at)
            if found:
                word = found.group(1).lower()
                binds = _WORD_OPERATORS.get(word, 0)
                if binds:
                    self.at = found.end()
                    return plain_operator(word), binds
                return None, 0
            if self.peek(2)[1:] in ("-", "=") or self.text[self.at + 1 : self.at + 2] == ">":
                return None, 0
            self.at += 1
            return "-", _SUM
        if char in _SIGNS and self.peek(2)[1:] not in ("=",) and self.peek(2) != "++":
            self.at += 1
            return char, _SIGNS[char]
        two = self.peek(2)
        if two == "..":
            self.at += 2
            return "..", _RANGE
        if two == "??" and self.peek(3) != "??=":
            self.at += 2
            return "??", _COALESCE
        return None, 0

    def _list(self, first: object) -> object:
        """`a, b, c` behind its first item."""
        before = self.at
        self.blanks()
        if self.peek() != ",":
            self.at = before
            return first
        items = [first]
        while self.peek() == ",":
            self.at += 1
            self.lines()
            if self.peek() in ("", ")", "}", "]"):
                break
            items.append(self._unary(True))
            self.count()
            before = self.at
            self.blanks()
        self.at = before
        return Array(tuple(items))

    def _unary(self, in_list: bool) -> object:
        char = self.peek()
        if char == "!":
            self.at += 1
            self.blanks()
            return Unary("not", self._deeper(in_list))
        if char == ",":
            self.at += 1
            self.lines()
            return Array((self._deeper(in_list),))
        if char == "+" or (char != "" and char in DASHES):
            two = self.peek(2)
            if two in ("++", "--"):
                self.at += 2
                self.blanks()
                return Unary(two, self._deeper(in_list))
            found = _OPERATOR.match(self.text, self.at)
            if found and found.group(1).lower() in _UNARY_WORDS:
                self.at = found.end()
                self.blanks()
                word = plain_operator(found.group(1).lower())
                inner = self.operand(_FORMAT if word in ("join", "split") else _COALESCE, in_list=in_list)
                return Unary(word, inner)
            self.at += 1
            self.blanks()
            return Unary("-" if char != "+" else "+", self._deeper(in_list))
        return self._postfix(self._primary())

    def _deeper(self, in_list: bool) -> object:
        self.enter()
        found = self._unary(in_list)
        self.leave()
        return found

    # --- what an operand begins with ----------------------------------------------------------------------------------

    def _primary(self) -> object:
        char = self.peek()
        if char == "$":
            if self.peek(2) == "$(":
                return self.substitution()
            variable = self.variable()
            if variable is None:
                raise self.fail("a variable has no name")
            return variable
        if char and char in SINGLE:
            return self.single()
        if char and char in DOUBLE:
            return self.double()
        if char == "(":
            return self.paren()
        if char == "@":
            return self.at_sign()
        if char == "[":
            return self._type()
        if char == "{":
            return self.block()
        number = self.number(strict=False)
        if number is not None:
            return number
        raise self.fail(f"'{char}' is not expected here" if char else "something is missing at the end")

    def paren(self) -> Paren:
        """`( … )`; the place stands on the sign."""
        self.enter()
        self.at += 1
        body = self.body_until(")")
        self.leave()
        return Paren(body)

    def substitution(self) -> Substitution:
        self.enter()
        self.at += 2
        body = self.body_until(")")
        self.leave()
        return Substitution(body)

    def at_sign(self) -> object:
        """`@( … )`, `@{ … }`, a here-string or a splat."""
        two = self.peek(2)
        if two == "@(":
            self.enter()
            self.at += 2
            body = self.body_until(")")
            self.leave()
            return Substitution(body, True)
        if two == "@{":
            return self._table()
        here = self.here_string()
        if here is not None:
            return here
        found = self.variable()
        if found is None:
            raise self.fail("'@' is not expected here")
        return found

    def _table(self) -> Table:
        self.enter()
        self.at += 2
        pairs: list[tuple[object, object]] = []
        self.separators()
        while self.peek() != "}":
            if self.at >= self.end:
                raise self.fail("a brace is not closed")
            key = self._key()
            self.lines()
            if self.peek() != "=":
                raise self.fail("'=' is missing in a table")
            self.at += 1
            self.lines()
            pairs.append((key, self.table_value()))
            self.count()
            self.separators()
        self.at += 1
        self.leave()
        return Table(tuple(pairs))

    def table_value(self) -> object:
        """The statement that is the value of a table's entry."""
        raise NotImplementedError

    def _key(self) -> object:
        found = _KEY.match(self.text, self.at)
        if found:
            self.at = found.end()
            return Text(found.group())
        return self._postfix(self._primary())

    def type_name(self) -> str | None:
        """`[name]`, read where one stands here."""
        found = _TYPE.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return "".join(found.group(1).lower().split()).removeprefix("system.")

    def _type(self) -> object:
        name = self.type_name()
        if name is None:
            raise self.fail("a type is not understood")
        before = self.at
        self.blanks()
        if self.text.startswith("::", self.at):
            return TypeName(name)
        char = self.peek()
        if char and (char in "$@([{!" or char in SINGLE or char in DOUBLE or char.isdigit()):
            return Cast(name, self._deeper(True))
        if char and char in DASHES + "+" and re.match(r"[+-]?[\d.$(]", self.text[self.at : self.at + 2]):
            return Cast(name, self._deeper(True))
        self.at = before
        return TypeName(name)

    # --- what may stand behind an operand -----------------------------------------------------------------------------

    def _postfix(self, found: object) -> object:
        while True:
            two = self.peek(2)
            char = two[:1]
            if (
                two == "::"
                or (char == "." and two != ".." and self._is_member(1))
                or (two == "?." and self._is_member(2))
            ):
                found = self._member(found, two)
            elif char == "[" and not isinstance(found, Text | TypeName):
                self.enter()
                self.at += 1
                self.lines()
                at = self.expression()
                self.lines()
                if self.peek() != "]":
                    raise self.fail("a bracket is not closed")
                self.at += 1
                self.leave()
                found = Index(found, at)
            elif char == "[" and isinstance(found, Text) and not found.bare and isinstance(found.value, str):
                found = self._index_of_text(found)
                if isinstance(found, Text):
                    return found
            elif two in ("++", "--") and isinstance(found, Variable | Member | Index):
                self.at += 2
                return Unary(f"post{two}", found)
            else:
                return found
            self.count()

    def _index_of_text(self, found: Text) -> object:
        self.enter()
        before = self.at
        self.at += 1
        self.lines()
        try:
            at = self.expression()
            self.lines()
            if self.peek() == "]":
                self.at += 1
                return Index(found, at)
            self.at = before
            return found
        finally:
            self.leave()

    def _is_member(self, skip: int) -> bool:
        char = self.text[self.at + skip : self.at + skip + 1]
        return char != "" and (char.isalpha() or char in "_$('\"")

    def _member(self, inner: object, sign: str) -> object:
        self.at += 1 if sign[:1] == "." else 2
        if sign == "::":
            self.blanks()
        found = _MEMBER.match(self.text, self.at)
        name: object
        if found:
            self.at = found.end()
            name = Text(found.group())
        else:
            char = self.peek()
            if char == "$":
                name = self.variable() or self.substitution()
            elif char == "(":
                name = self.paren()
            elif char and char in SINGLE:
                name = self.single()
            elif char and char in DOUBLE:
                name = self.double()
            else:
                raise self.fail("the name of a member is missing")
        args: tuple[object, ...] | None = None
        if self.peek() == "(":
            self.enter()
            self.at += 1
            args = self.argument_list()
            self.leave()
        elif self.peek() == "{":
            args = (self.block(),)
        return Member(inner, name, args, sign == "::")
