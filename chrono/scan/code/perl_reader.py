"""Owns the reading of Perl: source to the form that `interpret` runs, as far as a program's effects need it.

What built-in functions and modules do is left to `perl_library`.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import UNREAD, Reader, Token, number_of
from chrono.scan.code.perl_lexer import KNOWN_LIST, PerlLexer

# Named unary operators take one operand; other names without brackets take all that follows.
_UNARY = frozenset(
    (
        "shift pop defined ref scalar lc uc lcfirst ucfirst chr ord length quotemeta rmdir readlink chdir "
        "stat lstat glob require do chomp chop hex oct int abs sleep exists delete each keys values undef "
        "eval fc caller umask readdir closedir close fileno eof lock srand rand sqrt localtime gmtime "
        "exit alarm chroot readline"
    ).split()
)
_GIVE_LISTS = frozenset("glob map grep sort reverse \0range readdir keys values \0all".split())


def read_perl(source: str) -> tuple[tree.Node, ...]:
    """Source as statements. Raises LimitReached or RecursionError where it is too long or too deep."""
    return PerlReader(PerlLexer(source, _inside).tokens()).program()


class PerlReader(Reader):
    """Reads Perl 5 as people write it."""

    precedence = {  # noqa: RUF012
        "or": 0, "xor": 0, "and": 0, ",": 0, "=>": 0, "..": 3, "...": 3, "||": 4, "//": 4, "&&": 5, "|": 6, "^": 6,
        "&": 7, "==": 8, "!=": 8, "<=>": 8, "eq": 8, "ne": 8, "cmp": 8, "<": 9, ">": 9, "<=": 9, ">=": 9, "lt": 9,
        "gt": 9, "le": 9, "ge": 9, "+": 11, "-": 11, ".": 11, "*": 12, "/": 12, "%": 12, "x": 12, "=~": 13, "!~": 13,
        "**": 14, "<<": 10, ">>": 10,
    }  # fmt: skip
    assignments = frozenset(
        ("=", "+=", "-=", "*=", "/=", ".=", "%=", "x=", "||=", "//=", "&&=", "|=", "&=", "**=", "<<=", ">>=")
    )
    text_join = "."

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._comma_lists: list[tree.Node] = []

    def combine(self, op: str, left: tree.Node, right: tree.Node) -> tree.Node:
        if op in (",", "=>"):
            first = left.items if isinstance(left, tree.ListOf) and left in self._comma_lists else (left,)
            joined = tree.ListOf((*first, right))
            self._comma_lists = [joined]
            return joined
        if op == "..":
            return tree.Call(tree.Name("\0range"), (left, right), (), 0)
        if op in ("=~", "!~"):
            return tree.Call(tree.Name("\0bind"), (left, right), (), 0)
        if op == "x":
            return tree.Binary("*", left, right)
        return super().combine(op, left, right)

    # --- operands -----------------------------------------------------------------------------------------------------

    def prefix(self) -> tree.Node:
        token = self.token
        kind = token.kind
        if kind == "variable":
            return self._variable()
        if kind == "name":
            return self._word()
        if kind == "op":
            return self._operator(token)
        if kind in ("line", "end"):
            return UNREAD
        self.at += 1
        if kind == "string":
            return _text(token)
        if kind == "number":
            return tree.Const(number_of(token.value))
        if kind == "words":
            return tree.ListOf(tuple(tree.Const(word) for word in token.value.split()))
        if kind == "shell":
            return tree.Backticks(token.parts or (), token.line)
        if kind == "glob":
            inside = token.value
            name = "readline" if inside.startswith(("$", "STDIN")) or inside.isupper() or not inside else "glob"
            return tree.Call(tree.Name(name), (tree.Interpolated(token.parts or ()),), (), token.line)
        if kind == "change":
            return tree.Call(tree.Name("\0change"), (tree.Const(token.value), *(token.parts or ())), (), token.line)
        return tree.Const(token.value) if kind == "regex" else UNREAD

    def _operator(self, token: Token) -> tree.Node:
        op = token.value
        if op == "(":
            self.at += 1
            items = self.listed(")")
            if self.is_op("="):
                return tree.ListOf(items)
            value: tree.Node = (
                items[0] if len(items) == 1 and not isinstance(items[0], tree.Spread) else tree.ListOf(items)
            )
            if len(items) == 1 and isinstance(items[0], tree.Name) and items[0].name[:1] == "@":
                return items[0]
            return value
        if op == "[":
            self.at += 1
            return tree.ListOf(self.listed("]"))
        if op == "{":
            return self._table()
        if op == "-" and self.ahead().kind == "name" and len(self.ahead().value) == 1 and self.ahead().value.isalpha():
            # A file test (`-e $x`).
            name = self.ahead().value
            self.at += 2
            return tree.Call(tree.Name("-" + name), (self.expression(13),), (), token.line)
        if op in ("!", "-", "+", "~", "\\", "++", "--"):
            self.at += 1
            value = self.expression(13)
            return value if op in ("\\", "+") else tree.Unary({"!": "not", "-": "-"}.get(op, "?"), value)
        return UNREAD

    def _table(self) -> tree.Node:
        stop = self.closing()
        self.at += 1
        items = self.listed("}")
        self.at = stop + 1
        pairs: list[tuple[tree.Node | None, tree.Node]] = []
        flat: list[tree.Node] = []
        for item in items:
            flat += item.items if isinstance(item, tree.ListOf) and item in self._comma_lists else [item]
        for at in range(0, len(flat) - 1, 2):
            key = flat[at]
            pairs.append(
                (
                    tree.Const(key.name) if isinstance(key, tree.Name) and key.name[:1] not in "$@%" else key,
                    flat[at + 1],
                )
            )
        return tree.TableOf(tuple(pairs))

    def item(self) -> tree.Node:
        value = self.expression(1)
        if isinstance(value, tree.Name) and value.name[:1] == "@":
            return tree.Spread(value)
        listed = (
            isinstance(value, tree.Call)
            and isinstance(value.function, tree.Name)
            and value.function.name in _GIVE_LISTS
        )
        if listed:
            return tree.Spread(value)
        return value

    def listed(self, closer: str) -> tuple[tree.Node, ...]:
        found: list[tree.Node] = []
        while self.token.kind != "end" and not self.is_op(closer):
            before = self.at
            if self.accept(",", "=>"):
                continue
            if self.token.kind == "name" and self.ahead().value == "=>" and self.ahead().kind == "op":
                found.append(tree.Const(self.take().value))
                continue
            found.append(self.item())
            if self.at == before:
                self.at += 1
        self.accept(closer)
        return tuple(found)

    def _variable(self) -> tree.Node:
        token = self.take()
        name = token.value
        sigil = name[0]
        if self.is_op("{") and len(name.lstrip("$")) <= 1 and name.strip("$@%&") == "":
            # `@{ … }` and `${ … }`: what the expression inside refers to.
            stop = self.closing()
            self.at += 1
            inner = self.expression()
            self.at = stop + 1
            value: tree.Node = tree.Call(tree.Name("\0all"), (inner,), (), 0) if sigil == "@" else inner
            return value
        if sigil == "&":
            args = self.arguments() if self.is_op("(") else (tree.Spread(tree.Name("@_")),)
            return tree.Call(tree.Name(name[1:]), args, (), token.line)
        if name.startswith(("$$", "@$", "%$")) and len(name) > 2:
            inner = tree.Name("$" + name.lstrip("$@%"))
            return tree.Call(tree.Name("\0all"), (inner,), (), 0) if sigil == "@" else inner
        if sigil == "$" and self.is_op("["):
            self.at += 1
            key = self.expression()
            self.accept("]")
            return tree.Index(tree.Name("@" + name[1:]), key)
        if sigil == "$" and self.is_op("{"):
            return tree.Index(tree.Name("%" + name[1:]), self._key())
        return tree.Name(name)

    def _key(self) -> tree.Node:
        stop = self.closing()
        self.at += 1
        negative = self.is_op("-")
        if self.token.kind == "name" and self.at + 1 == stop:
            key: tree.Node = tree.Const(self.token.value)
        elif negative and self.at + 2 == stop:
            key = tree.Const("-" + self.ahead().value)
        else:
            key = self.expression()
        self.at = stop + 1
        return key

    def postfix(self, value: tree.Node) -> tree.Node:
        while self.token.kind == "op":
            op = self.token.value
            if op == "->":
                value = self._arrow(value)
            elif op == "[" and isinstance(value, tree.Index | tree.Call):
                self.at += 1
                value = tree.Index(value, self.expression())
                self.accept("]")
            elif op == "{" and isinstance(value, tree.Index):
                value = tree.Index(value, self._key())
            elif op == "(" and isinstance(value, tree.Index):
                value = tree.Call(value, self.arguments(), (), self.token.line)
            elif op in ("++", "--"):
                self.at += 1
                value = tree.Assign(value, tree.Const(1), op[0])
            else:
                break
        return value

    def _arrow(self, value: tree.Node) -> tree.Node:
        line = self.take().line
        if self.is_op("["):
            self.at += 1
            found: tree.Node = tree.Index(value, self.expression())
            self.accept("]")
            return found
        if self.is_op("{"):
            return tree.Index(value, self._key())
        if self.is_op("("):
            return tree.Call(value, self.arguments(), (), line)
        if self.token.kind == "variable":
            name = self.take().value
            if name.startswith("@"):
                self.accept("*")
                return tree.Call(tree.Name("\0all"), (value,), (), 0)
            args = self.arguments() if self.is_op("(") else ()
            return tree.Call(tree.Name(name), (value, *args), (), line)
        method = self.take().value
        if isinstance(value, tree.Name) and "::" not in method and value.name[:1] not in "$@%":
            target: tree.Node = tree.Attribute(tree.Name(value.name), method)
        else:
            target = tree.Attribute(value, method)
        args = self.arguments() if self.is_op("(") else ()
        return tree.Call(target, args, (), line)

    def _word(self) -> tree.Node:
        token = self.take()
        word = token.value
        if word in ("my", "our", "local", "state"):
            if self.is_op("("):
                self.at += 1
                return tree.ListOf(self.listed(")"))
            return self.expression(13)
        if word == "sub":
            return self._sub("", token.line)
        if word in ("not", "defined", "ref", "scalar") and not self.is_op("("):
            value = self.expression(9 if word != "not" else 1)
            return tree.Unary("not", value) if word == "not" else value
        if word in ("do", "eval") and self.is_op("{"):
            return tree.Call(tree.Function("", (), self.later_block(), token.line), (), (), token.line)
        if word in ("map", "grep", "sort", "first", "any", "all") and (self.is_op("{") or self.is_op("(")):
            return self._with_block(word, token.line)
        if self.is_op("=>"):
            return tree.Const(word)
        if word in ("__FILE__", "__PACKAGE__", "wantarray"):
            return tree.Const("main") if word == "__PACKAGE__" else UNREAD
        if self.is_op("("):
            return tree.Call(tree.Name(word), self.arguments(), (), token.line)
        if self.is_op("->") or word.endswith("::"):
            return tree.Name(word.removesuffix("::"))
        return self._command(word, token.line)

    def _command(self, word: str, line: int) -> tree.Node:
        """A name without brackets: a call with what follows, or a bareword."""
        following = self.token
        if word == "new" and following.kind == "name":
            target = self.take().value
            args = self.arguments() if self.is_op("(") else ()
            return tree.Call(tree.Attribute(tree.Name(target), "new"), args, (), line)
        operand = following.kind not in ("op", "end", "name") or (
            following.kind == "op" and following.value in ("[", "\\", "-", "!", "{") and word in KNOWN_LIST
        )
        operand = operand or (
            following.kind == "name"
            and following.value not in self.precedence
            and following.value not in ("if", "unless", "for", "foreach", "while", "until")
            and (word in KNOWN_LIST or word in _UNARY)
        )
        if word in ("fork", "time", "wait", "getppid", "wantarray"):
            return tree.Call(tree.Name(word), (), (), line)
        if word in _UNARY:
            args = (self.expression(10),) if operand else ()
            return tree.Call(tree.Name(word), args, (), line)
        if not operand:
            return tree.Call(tree.Name(word), (), (), line) if word in KNOWN_LIST else tree.Name(word)
        if word in ("print", "printf", "say", "system", "exec") and self.is_op("{"):
            self.skip_brackets()
        if word in ("print", "printf", "say") and following.kind == "name" and following.value.isupper():
            self.at += 1
        args = self._list_operands()
        return tree.Call(tree.Name(word), args, (), line)

    def _list_operands(self) -> tuple[tree.Node, ...]:
        found: list[tree.Node] = []
        stops = ("or", "and", "if", "unless", "for", "foreach", "while", "until", "xor")
        while self.token.kind != "end" and not self.is_op(")", "]", "}", ";", ":") and not self.is_name(*stops):
            before = self.at
            if self.accept(",", "=>"):
                continue
            found.append(self.item())
            if self.at == before:
                self.at += 1
                break
            if not self.is_op(",", "=>"):
                break
        return tuple(found)

    def _with_block(self, word: str, line: int) -> tree.Node:
        """`map { … } @list`, also in brackets; with an expression in place of the block."""
        bracketed = self.accept("(")
        if self.is_op("{"):
            body = self.later_block()
            function: tree.Node = tree.Function("", (), body, line)
            self.accept(",")
        elif word == "sort":
            function = tree.Const(None)
        else:
            value = self.expression(1)
            function = tree.Function("", (), lambda: (value,), line, (), True)
            self.accept(",")
        rest = self.listed(")") if bracketed else self._list_operands()
        return tree.Call(tree.Name(word), (function, *rest), (), line)

    def _sub(self, name: str, line: int) -> tree.Node:
        while self.token.kind != "end" and not self.is_op("{", ";"):
            if self.is_op("("):
                self.skip_brackets()
            else:
                self.at += 1
        if not self.is_op("{"):
            return tree.Const(None)
        return tree.Function(name, (), self.later_block(), line)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[tree.Node, ...]:
        token = self.token
        if self.accept(";"):
            return ()
        if self.is_op("{"):
            return (tree.Block(self.block()),)
        if token.kind == "name":
            read = _STATEMENTS.get(token.value)
            if read is not None and self.ahead().value not in ("=>", "->"):
                found = read(self)
                if found is not None:
                    return found
            if self.ahead().value == ":" and token.value.isupper():
                self.at += 2
                return ()
        return self._simple()

    def _simple(self) -> tuple[tree.Node, ...]:
        value: tree.Node
        if self.is_name("return"):
            self.at += 1
            operands = () if self.is_name("if", "unless") or self.is_op(";", "}") else (self.expression(),)
            value = tree.Return(operands[0] if operands else None)
        elif self.is_name("last", "next", "redo"):
            value = tree.Jump("break" if self.take().value == "last" else "continue")
            if self.token.kind == "name" and self.token.value.isupper():
                self.at += 1
        elif self.is_name("die", "croak", "confess"):
            line = self.take().line
            value = tree.Block((tree.Call(tree.Name("die"), self._list_operands(), (), line), tree.Jump("raise")))
        else:
            value = self.expression()
        result = self._modified(value)
        self.accept(";")
        return result

    def _modified(self, value: tree.Node) -> tuple[tree.Node, ...]:
        token = self.token
        if token.kind != "name":
            return (value,)
        if token.value in ("if", "unless"):
            self.at += 1
            test = self.expression()
            return (tree.If(test, (value,), ()),) if token.value == "if" else (tree.If(test, (), (value,)),)
        if token.value in ("for", "foreach"):
            self.at += 1
            return (tree.Loop(tree.Name("$_"), self.expression(), None, (value,), (), token.line),)
        if token.value in ("while", "until"):
            self.at += 1
            return (tree.Loop(None, None, self.expression(), (value,), (), token.line),)
        return (value,)

    def a_sub(self) -> tuple[tree.Node, ...] | None:
        if self.ahead().kind != "name":
            return None
        line = self.take().line
        return (self._sub(self.take().value, line),)

    def an_if(self) -> tuple[tree.Node, ...]:
        negative = self.take().value == "unless"
        test = self.bracketed()
        yes = self.block()
        no: tuple[tree.Node, ...] = ()
        if self.is_name("elsif"):
            no = self.an_if()
        elif self.accept("else"):
            no = self.block()
        return (tree.If(test, no, yes),) if negative else (tree.If(test, yes, no),)

    def a_for(self) -> tuple[tree.Node, ...]:
        line = self.take().line
        target: tree.Node = tree.Name("$_")
        self.accept("my", "our", "state")
        if self.token.kind == "variable":
            target = tree.Name(self.take().value)
        if not self.is_op("("):
            return ()
        stop = self.closing()
        self.at += 1
        first = self.listed(")") if not self._has_semicolon(stop) else None
        if first is not None:
            self.at = stop + 1
            iterable: tree.Node = (
                first[0].value if len(first) == 1 and isinstance(first[0], tree.Spread) else tree.ListOf(first)
            )
            return (tree.Loop(target, iterable, None, self.block(), (), line),)
        start = () if self.is_op(";") else (self.expression(),)
        self.accept(";")
        test = None if self.is_op(";") else self.expression()
        self.at = stop + 1
        return (*start, tree.Loop(None, None, test, self.block(), (), line))

    def _has_semicolon(self, stop: int) -> bool:
        return any(token.kind == "op" and token.value == ";" for token in self.tokens[self.at : stop])

    def a_while(self) -> tuple[tree.Node, ...]:
        token = self.take()
        test = self.bracketed()
        if isinstance(test, tree.Assign) and isinstance(test.value, tree.Call):
            function = test.value.function
            if isinstance(function, tree.Name) and function.name in (
                "readdir",
                "readline",
                "glob",
                "shift",
                "each",
            ):
                return (tree.Loop(test.target, test.value, None, self.block(), (), token.line),)
        if isinstance(test, tree.Call) and isinstance(test.function, tree.Name) and test.function.name == "readline":
            return (tree.Loop(tree.Name("$_"), test, None, self.block(), (), token.line),)
        if token.value == "until":
            test = tree.Unary("not", test)
        return (tree.Loop(None, None, test, self.block(), (), token.line),)

    def a_use(self) -> tuple[tree.Node, ...]:
        """`use Shop::Tools …;` runs the module, if it is the project's; pragmas do nothing here."""
        named = self.ahead()
        loads = self.token.value == "use" and named.kind == "name" and named.value[:1].isupper()
        node = tree.Call(tree.Name("\0use"), (tree.Const(named.value),), (), self.token.line)
        while self.token.kind != "end" and not self.is_op(";"):
            self.at += 1
        self.accept(";")
        return (node,) if loads else ()

    def a_package(self) -> tuple[tree.Node, ...]:
        self.at += 2
        if self.is_op("{"):
            return (tree.Block(self.block()),)
        self.accept(";")
        return ()

    def a_special(self) -> tuple[tree.Node, ...] | None:
        """`BEGIN { … }` and `END { … }` run."""
        if not (self.ahead().kind == "op" and self.ahead().value == "{"):
            return None
        self.at += 1
        return (tree.Block(self.block()),)


_STATEMENTS = {
    "sub": PerlReader.a_sub,
    "if": PerlReader.an_if,
    "unless": PerlReader.an_if,
    "for": PerlReader.a_for,
    "foreach": PerlReader.a_for,
    "while": PerlReader.a_while,
    "until": PerlReader.a_while,
    "use": PerlReader.a_use,
    "no": PerlReader.a_use,
    "package": PerlReader.a_package,
    "BEGIN": PerlReader.a_special,
    "END": PerlReader.a_special,
}


def _text(token: Token) -> tree.Node:
    parts = token.parts
    if parts is None:
        return tree.Const(token.value)
    return parts[0] if len(parts) == 1 else tree.Interpolated(parts)


def _inside(tokens: list[Token]) -> tree.Node:
    return PerlReader(tokens).expression()
