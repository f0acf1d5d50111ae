"""Owns the reading of Ruby: source to the form that `interpret` runs, as far as a program's effects need it.

What methods do is left to `ruby_library`.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import UNREAD, Reader, Token, number_of
from chrono.scan.code.ruby_lexer import KEYWORDS, RubyLexer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_ruby(source: str) -> tuple[tree.Node, ...]:
    """Source as statements. Raises LimitReached or RecursionError where it is too long or too deep."""
    return RubyReader(RubyLexer(source, _inside).tokens()).program()


class RubyReader(Reader):
    """Reads Ruby as people write it."""

    precedence = {  # noqa: RUF012
        "or": 0, "and": 0, "..": 3, "...": 3, "||": 4, "&&": 5, "<=>": 7, "==": 7, "===": 7, "!=": 7, "=~": 7, "!~": 7,
        "<": 8, "<=": 8, ">": 8, ">=": 8, "|": 9, "^": 9, "&": 10, "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13,
        "/": 13, "%": 13, "**": 15,
    }  # fmt: skip
    assignments = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "**=", "||=", "&&=", "|=", "&=", "^=", "<<=", ">>="))
    _no_do = 0

    # --- operands -----------------------------------------------------------------------------------------------------

    def prefix(self) -> tree.Node:
        token = self.token
        kind = token.kind
        if kind == "op":
            return self._operator(token)
        if kind == "name":
            return self._word(token)
        if kind in ("end", "line"):
            return UNREAD
        self.at += 1
        if kind == "variable":
            return tree.Attribute(tree.Name("self"), token.value) if token.value[0] == "@" else tree.Name(token.value)
        if kind == "string":
            value = _text(token)
            while self.token.kind == "string":
                value = tree.Binary("text+", value, _text(self.take()))
            return value
        if kind == "shell":
            return tree.Backticks(token.parts or (), token.line)
        if kind == "number":
            return tree.Const(number_of(token.value))
        if kind == "words":
            return tree.ListOf(tuple(tree.Const(word) for word in token.value.split()))
        if kind in ("symbol", "regex"):
            return tree.Const(token.value)
        if kind == "label":
            # A hash without braces in a place where we did not expect one.
            return self._bare_table(token)
        return UNREAD

    def _operator(self, token: Token) -> tree.Node:
        op = token.value
        if op == "(":
            stop = self.closing()
            self.at += 1
            body = self.until(stop)
            self.at = stop + 1
            return body[-1] if len(body) == 1 else tree.Block(body) if body else tree.Const(None)
        if op == "[":
            self.at += 1
            return tree.ListOf(self.listed("]"))
        if op == "{":
            return self._table()
        if op == "->":
            return self._lambda()
        if op == "::":
            self.at += 1
            return tree.Name(self.take().value)
        if op in ("!", "-", "+", "~", "&", "*", "**"):
            self.at += 1
            value = self.expression(14)
            if op == "*":
                return tree.Spread(value)
            return tree.Unary({"!": "not", "-": "-"}[op], value) if op in "!-" else value
        if op in ("..", "..."):
            self.at += 1
            self.expression(4)
        return UNREAD

    def _table(self) -> tree.Node:
        stop = self.closing()
        self.at += 1
        pairs: list[tuple[tree.Node | None, tree.Node]] = []
        while self.at < stop:
            before = self.at
            self.skip_lines()
            if self.at < stop and not self.accept(","):
                pairs.append(self._pair())
            if self.at == before:
                self.at += 1
        self.at = stop + 1
        return tree.TableOf(tuple(pairs))

    def _pair(self) -> tuple[tree.Node | None, tree.Node]:
        if self.token.kind == "label":
            key = tree.Const(self.take().value)
            self.skip_lines()
            ends = self.is_op(",", "}", ")") or self.token.kind in ("line", "end")
            return key, tree.Name(str(key.value)) if ends else self.expression(1)
        if self.accept("**"):
            return None, self.expression(1)
        name = self.expression(1)
        if self.accept("=>"):
            self.skip_lines()
            return name, self.expression(1)
        return name, UNREAD

    def _bare_table(self, first: Token) -> tree.Node:
        self.at -= 1
        pairs = [self._pair()]
        while self.is_op(",") and (self.ahead().kind == "label" or (self.ahead(2).value == "=>")):
            self.at += 1
            self.skip_lines()
            pairs.append(self._pair())
        return tree.TableOf(tuple(pairs))

    def _lambda(self) -> tree.Node:
        line = self.take().line
        parameters = self._parameters_until(")") if self.accept("(") else ()
        while self.token.kind == "name" and not self.is_name("do"):
            parameters = (*parameters, tree.Parameter(self.take().value))
            self.accept(",")
        return self._block_function(line, parameters) or UNREAD

    def item(self) -> tree.Node:
        self.skip_lines()
        if self.token.kind == "label":
            return self._bare_table(self.take())
        if self.accept("*"):
            return tree.Spread(self.expression(1))
        if self.accept("**"):
            return self.expression(1)
        if self.accept("&"):
            return tree.Call(tree.Name("\0block"), (self.expression(1),), (), 0) if not self.is_op(")") else UNREAD
        value = self.expression(1)
        if self.accept("=>"):
            self.skip_lines()
            pairs: list[tuple[tree.Node | None, tree.Node]] = [(value, self.expression(1))]
            while self.is_op(",") and (self.ahead(2).value == "=>" or self.ahead().kind == "label"):
                self.at += 1
                self.skip_lines()
                pairs.append(self._pair())
            return tree.TableOf(tuple(pairs))
        return value

    def listed(self, closer: str) -> tuple[tree.Node, ...]:
        found: list[tree.Node] = []
        while self.token.kind != "end" and not self.is_op(closer):
            before = self.at
            if self.accept(",") or self.token.kind == "line":
                self.skip_lines()
                if self.at != before:
                    continue
            found.append(self.item())
            if self.at == before:
                self.at += 1
        self.accept(closer)
        return tuple(found)

    def skip_lines(self) -> None:
        while self.token.kind == "line":
            self.at += 1

    # --- words --------------------------------------------------------------------------------------------------------

    def _word(self, token: Token) -> tree.Node:
        word = token.value
        read = _EXPRESSION_WORDS.get(word)
        if read is not None:
            return read(self)
        if word in KEYWORDS:
            if word in ("end", "else", "elsif", "when", "in", "rescue", "ensure", "then", "do"):
                return UNREAD
            self.at += 1
            if word in ("not", "defined?"):
                value = self.expression(2)
                return tree.Unary("not", value) if word == "not" else UNREAD
            return {"true": tree.Const(True), "false": tree.Const(False), "nil": tree.Const(None)}.get(
                word, tree.Name(word)
            )
        self.at += 1
        if word in ("lambda", "proc") and (self.is_op("{") or self.is_name("do")):
            return self._block_function(token.line) or UNREAD
        if word == "__dir__":
            return tree.Call(tree.Name("__dir__"), (), (), token.line)
        return self._called(tree.Name(word), token)

    def _called(self, function: tree.Node, token: Token) -> tree.Node:
        """A name with its arguments, in brackets or without, and its block."""
        if self.is_op("(") and not self.token.spaced:
            self.at += 1
            args = self._free(self.listed, ")")
        elif self._command_follows():
            args = self._command_arguments()
        else:
            block = self._block()
            if block is not None:
                return tree.Call(function, (block,), (), token.line)
            bare = isinstance(function, tree.Name)
            return (
                function
                if bare and not _calls_without_arguments(token.value)
                else tree.Call(function, (), (), token.line)
            )
        block = self._block()
        return tree.Call(function, (*args, block) if block is not None else args, (), token.line)

    def _free(self, read: Any, closer: str) -> Any:
        """Reads inside brackets, where `do` is a block again."""
        kept, self._no_do = self._no_do, 0
        found = read(closer)
        self._no_do = kept
        return found

    def _command_follows(self) -> bool:
        token = self.token
        if not token.spaced:
            return False
        if token.kind in ("string", "number", "variable", "symbol", "words", "shell", "label", "regex"):
            return True
        if token.kind == "name":
            return token.value not in KEYWORDS or token.value in (
                "nil",
                "true",
                "false",
                "self",
                "not",
                "defined?",
            )
        if token.kind != "op":
            return False
        following = self.ahead()
        tight = not following.spaced
        return token.value in ("->", "::") or (token.value in ("[", "*", "&", "-", ":", "**", "(", "!") and tight)

    def _command_arguments(self) -> tuple[tree.Node, ...]:
        found: list[tree.Node] = []
        while True:
            before = self.at
            found.append(self.item())
            if self.at == before or not self.accept(","):
                return tuple(found)
            self.skip_lines()

    def _block(self) -> tree.Node | None:
        if self.is_op("{") or (self.is_name("do") and not self._no_do):
            return self._block_function(self.token.line)
        return None

    def _block_function(self, line: int, parameters: tuple[tree.Parameter, ...] = ()) -> tree.Node | None:
        if self.is_op("{"):
            stop = self.closing()
            self.at += 1
            if self.accept("|"):
                parameters = self._parameters_until("|")
            kept, self._no_do = self._no_do, 0
            body = self.until(stop)
            self._no_do = kept
            self.at = stop + 1
        elif self.accept("do"):
            if self.accept("|"):
                parameters = self._parameters_until("|")
            kept, self._no_do = self._no_do, 0
            body = self._until_end()
            self._no_do = kept
        else:
            return None
        if not parameters:
            parameters = (tree.Parameter("it"), tree.Parameter("_2"))
            body = (tree.Assign(tree.Name("_1"), tree.Name("it"), declares=True), *body)
        return tree.Function("", parameters, lambda: body, line)

    def _parameters_until(self, closer: str) -> tuple[tree.Parameter, ...]:
        found: list[tree.Parameter] = []
        kind = ""
        depth = 0
        while self.token.kind != "end" and not (self.is_op(closer) and depth == 0):
            token = self.take()
            if token.kind == "op" and token.value in ("*", "**", "&"):
                kind = token.value if token.value != "&" else ""
            elif token.kind == "op":
                depth += (token.value == "(") - (token.value == ")")
            elif token.kind in ("name", "label"):
                default = None
                if self.accept("=") or (
                    token.kind == "label" and not self.is_op(",", closer) and self.token.kind != "line"
                ):
                    default = self.expression(10)
                found.append(tree.Parameter(token.value, default, kind))
                kind = ""
        self.accept(closer)
        return tuple(found)

    def postfix(self, value: tree.Node) -> tree.Node:
        while True:
            token = self.token
            if token.kind != "op":
                return value
            if token.value in (".", "&.", "::"):
                self.at += 1
                self.skip_lines()
                name = self.take()
                if name.kind == "op" and name.value == "(":
                    self.at -= 1
                    name = Token("name", "call", token.line)
                if name.kind == "label":
                    # `a ? b.c : d`
                    self.at -= 1
                    self.tokens[self.at] = Token("op", ":", name.line)
                    value = tree.Attribute(value, name.value)
                    continue
                if token.value == "::" and name.value[:1].isupper() and not self.is_op("("):
                    value = tree.Attribute(value, name.value)
                    continue
                if self.is_op("=") and self.ahead().value not in ("=", "~"):
                    value = tree.Attribute(value, name.value)
                    continue
                value = self._called(tree.Attribute(value, name.value), name._replace(line=token.line))
            elif token.value == "[" and not token.spaced:
                self.at += 1
                items = self._free(self.listed, "]")
                value = tree.Index(value, items[0] if len(items) == 1 else tree.ListOf(items))
            else:
                return value

    def choice(self, test: tree.Node) -> tree.Node:
        self.at += 1
        self.skip_lines()
        yes = self.expression(1)
        self.skip_lines()
        if self.token.kind == "label":
            return tree.Choice(test, yes, UNREAD)
        no = self.expression(1) if self.accept(":") else UNREAD
        return tree.Choice(test, yes, no)

    # --- words that are expressions -----------------------------------------------------------------------------------

    def _until_end(self, *stops: str) -> tuple[tree.Node, ...]:
        """Statements up to `end` (taken) or up to one of `stops` (not taken), rescues and ensures included."""
        body = self._statements("end", "rescue", "ensure", "else", *stops)
        if self.is_name("rescue", "ensure", "else") and not self.is_name(*stops):
            body = (self._rescued(body),)
        self.accept("end") if not (stops and self.is_name(*stops)) else None
        return body

    def _statements(self, *stops: str) -> tuple[tree.Node, ...]:
        found: list[tree.Node] = []
        while self.token.kind != "end" and not self.is_name(*stops) and not self.is_op("}"):
            before = self.at
            found.extend(self.statement())
            if self.at == before:
                self.at += 1
        return tuple(found)

    def _rescued(self, body: tuple[tree.Node, ...]) -> tree.Node:
        handlers: list[tuple[tree.Node, ...]] = []
        otherwise: tuple[tree.Node, ...] = ()
        final: tuple[tree.Node, ...] = ()
        while self.is_name("rescue", "else", "ensure"):
            word = self.take().value
            if word == "rescue":
                while self.token.kind not in ("line", "end") and not self.is_name("then") and not self.is_op(";"):
                    self.at += 1
            part = self._statements("end", "rescue", "else", "ensure")
            if word == "rescue":
                handlers.append(part)
            elif word == "else":
                otherwise = part
            else:
                final = part
        return tree.Try(body, tuple(handlers), otherwise, final)

    def _condition(self) -> tree.Node:
        self._no_do += 1
        value = self.expression()
        self._no_do -= 1
        self.accept("then", "do", ";")
        return value

    def an_if(self) -> tree.Node:
        negative = self.take().value == "unless"
        test = self._condition()
        self.accept("then")
        self.skip_lines()
        self.accept("then")
        yes = self._statements("elsif", "else", "end")
        no: tuple[tree.Node, ...] = ()
        if self.is_name("elsif"):
            return tree.If(test, yes, (self.an_if(),))
        if self.accept("else"):
            no = self._statements("end")
        self.accept("end")
        return tree.If(test, no, yes) if negative else tree.If(test, yes, no)

    def a_while(self) -> tree.Node:
        token = self.take()
        test = self._condition()
        if token.value == "until":
            test = tree.Unary("not", test)
        return tree.Loop(None, None, test, self._until_end(), (), token.line)

    def a_for(self) -> tree.Node:
        line = self.take().line
        targets = [tree.Name(self.take().value)]
        while self.accept(","):
            targets.append(tree.Name(self.take().value))
        self.accept("in")
        iterable = self._condition()
        target: tree.Node = targets[0] if len(targets) == 1 else tree.ListOf(tuple(targets))
        return tree.Loop(target, iterable, None, self._until_end(), (), line)

    def a_case(self) -> tree.Node:
        self.at += 1
        subject = None if self.token.kind == "line" else self.expression()
        bodies: list[tuple[tree.Node, ...]] = []
        self.skip_lines()
        while self.is_name("when", "in", "else"):
            word = self.take().value
            if word != "else":
                while self.token.kind not in ("line", "end") and not self.is_name("then") and not self.is_op(";"):
                    self.at += 1
                self.accept("then", ";")
            bodies.append(self._statements("when", "in", "else", "end"))
        self.accept("end")
        return tree.Branches(subject, tuple(bodies))

    def a_begin(self) -> tree.Node:
        self.at += 1
        return tree.Block(self._until_end())

    def a_definition(self) -> tree.Node:
        line = self.take().line
        name = self.take().value
        while self.is_op("."):
            self.at += 1
            name = self.take().value
        if self.is_op("=") and not self.token.spaced:
            self.at += 1
            name += "="
        parameters: tuple[tree.Parameter, ...] = ()
        if self.accept("("):
            parameters = self._parameters_until(")")
        elif self.token.kind not in ("line", "end") and not self.is_op(";", "="):
            start = self.at
            while self.token.kind not in ("line", "end"):
                self.at += 1
            stop = self.at
            self.at = start
            inner = RubyReader([*self.tokens[start:stop], Token("op", ")", line)])
            parameters = inner._parameters_until(")")
            self.at = stop
        if self.accept("="):
            value = self.expression()
            return tree.Function(name, parameters, lambda: (value,), line, (), True)
        body = self._until_end()
        return tree.Function(name, parameters, lambda: body, line)

    def a_class(self) -> tree.Node:
        word = self.take()
        if self.accept("<<"):
            self.expression()
            return tree.Block(self._until_end())
        name = self.take().value
        while self.accept("::"):
            name = self.take().value
        bases: tuple[tree.Node, ...] = ()
        if self.accept("<"):
            bases = (self.expression(),)
        return tree.Class(name, bases, self._until_end(), word.line)

    def a_return(self) -> tree.Node:
        word = self.take().value
        ends = self.token.kind in ("line", "end") or self.is_op(";", "}") or self.is_name("if", "unless", "end")
        value = None if ends else self.expression()
        if word == "return":
            return tree.Return(value)
        return tree.Jump("continue" if word == "next" else "break")

    def a_yield(self) -> tree.Node:
        token = self.take()
        if self.is_op("(") or self._command_follows():
            return self._called(tree.Name("\0given"), token)
        return tree.Call(tree.Name("\0given"), (), (), token.line)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[tree.Node, ...]:
        if self.token.kind == "line" or self.accept(";"):
            self.skip_lines()
            return ()
        if self.is_name("alias", "undef"):
            while self.token.kind not in ("line", "end"):
                self.at += 1
            return ()
        if self.is_name("BEGIN", "END") and self.ahead().value == "{":
            self.at += 1
            return (tree.Block(self.block()),)
        value = self.expression()
        if self.is_op(",") and isinstance(value, tree.Name | tree.Attribute | tree.Spread):
            value = self._several(value)
        while self.token.kind == "name":
            word = self.token.value
            if word in ("if", "unless"):
                self.at += 1
                test = self.expression()
                value = tree.If(test, (value,), ()) if word == "if" else tree.If(test, (), (value,))
            elif word in ("while", "until"):
                self.at += 1
                value = tree.Loop(None, None, self.expression(), (value,), (), self.token.line)
            elif word == "rescue":
                self.at += 1
                value = tree.Try((value,), ((self.expression(),),), (), ())
            else:
                break
        return (value,)

    def _several(self, first: tree.Node) -> tree.Node:
        """`a, b = x, y`."""
        targets = [first]
        while self.accept(","):
            targets.append(self.postfix(self.prefix()))
        if not self.accept("="):
            return tree.Block(tuple(targets))
        values = [self.expression(1)]
        while self.accept(","):
            values.append(self.expression(1))
        value: tree.Node = values[0] if len(values) == 1 else tree.ListOf(tuple(values))
        return tree.Assign(tree.ListOf(tuple(targets)), value)

    def assignment(self, target: tree.Node, op: str) -> tree.Node:
        self.skip_lines()
        if isinstance(target, tree.Call) and not target.args and isinstance(target.function, tree.Attribute):
            target = target.function
        result = super().assignment(target, op)
        if op == "=" and self.is_op(",") and isinstance(result, tree.Assign):
            values = [result.value]
            while self.accept(","):
                self.skip_lines()
                values.append(self.item())
            return result._replace(value=tree.ListOf(tuple(values)))
        if op == "=" and self.is_name("rescue"):
            self.at += 1
            self.expression()
        return result


_EXPRESSION_WORDS = {
    "if": RubyReader.an_if,
    "unless": RubyReader.an_if,
    "while": RubyReader.a_while,
    "until": RubyReader.a_while,
    "for": RubyReader.a_for,
    "case": RubyReader.a_case,
    "begin": RubyReader.a_begin,
    "def": RubyReader.a_definition,
    "class": RubyReader.a_class,
    "module": RubyReader.a_class,
    "return": RubyReader.a_return,
    "break": RubyReader.a_return,
    "next": RubyReader.a_return,
    "yield": RubyReader.a_yield,
}


def _calls_without_arguments(word: str) -> bool:
    """True of a lower-case word that can only be a call: `exit`, `fork`, `abort!`, `done?`."""
    return word in ("exit", "fork", "abort", "exit!", "gets", "pwd") or word.endswith(("?", "!"))


def _text(token: Token) -> tree.Node:
    parts = token.parts or ()
    return parts[0] if len(parts) == 1 else tree.Interpolated(parts)


def _inside(tokens: list[Token]) -> tree.Node:
    body = RubyReader(tokens).program()
    return body[-1] if body else tree.Const("")
