"""Owns the reading of PHP: source to the form that `interpret` runs; what stands outside `<?php … ?>` is passed over.

What functions do is left to `php_library`.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import UNREAD, Reader, Token, number_of
from chrono.scan.code.php_lexer import PhpLexer

_CASTS = frozenset("int integer bool boolean float double string array object binary unset".split())


def read_php(source: str) -> tuple[tree.Node, ...]:
    """A file's code as statements. Raises LimitReached or RecursionError where it is too long or too deep."""
    return PhpReader(PhpLexer(source, _inside).file_tokens()).program()


def read_php_code(source: str) -> tuple[tree.Node, ...]:
    """Code without `<?php` in front of it, as `eval` takes it."""
    return PhpReader(PhpLexer(source, _inside).tokens()).program()


class PhpReader(Reader):
    """Reads PHP 7 and 8 as people write it."""

    precedence = {  # noqa: RUF012
        "or": 0, "xor": 0, "and": 0, "??": 3, "||": 4, "&&": 5, "|": 6, "^": 6, "&": 7, "==": 8, "!=": 8, "<>": 8,
        "===": 8, "!==": 8, "<=>": 8, "<": 9, ">": 9, "<=": 9, ">=": 9, "<<": 10, ">>": 10, ".": 11, "+": 12, "-": 12,
        "*": 13, "/": 13, "%": 13, "instanceof": 14, "**": 15,
    }  # fmt: skip
    assignments = frozenset(("=", "+=", "-=", "*=", "/=", ".=", "%=", "**=", "??=", "&=", "|=", "^=", "<<=", ">>="))
    text_join = "."

    # --- operands -----------------------------------------------------------------------------------------------------

    def prefix(self) -> tree.Node:
        token = self.token
        kind = token.kind
        if kind == "op":
            return self._operator(token)
        if kind == "name":
            return self._word(token)
        if kind == "end":
            return UNREAD
        self.at += 1
        if kind == "variable":
            return tree.Name(token.value if not token.value.startswith("$$") else "\0unread")
        if kind == "string":
            parts = token.parts or ()
            return parts[0] if len(parts) == 1 else tree.Interpolated(parts)
        if kind == "shell":
            return tree.Backticks(token.parts or (), token.line)
        return tree.Const(number_of(token.value)) if kind == "number" else UNREAD

    def _operator(self, token: Token) -> tree.Node:
        op = token.value
        if op == "(":
            inside = self.ahead()
            if inside.kind == "name" and inside.value.lower() in _CASTS and self.ahead(2).value == ")":
                self.at += 3
                value = self.expression(14)
                return tree.Unary("text", value) if inside.value.lower() == "string" else value
            return self.bracketed()
        if op == "[":
            self.at += 1
            return self._array("]")
        if op in ("!", "-", "+", "~", "@", "&", "++", "--"):
            self.at += 1
            value = self.expression(14)
            return tree.Unary({"!": "not", "-": "-"}[op], value) if op in "!-" else value
        if op == "$" and self.ahead().value == "{":
            self.at += 1
            self.skip_brackets()
        return UNREAD

    def _array(self, closer: str) -> tree.Node:
        """`[a, b]` or `[k => v]`; the opening bracket has been taken."""
        items: list[tree.Node] = []
        pairs: list[tuple[tree.Node | None, tree.Node]] = []
        while self.token.kind != "end" and not self.is_op(closer):
            before = self.at
            if self.accept(","):
                continue
            value = self.item()
            if self.accept("=>"):
                pairs.append((value, self.expression(1)))
            else:
                items.append(value)
            if self.at == before:
                self.at += 1
        self.accept(closer)
        if not pairs:
            return tree.ListOf(tuple(items))
        return tree.TableOf((*pairs, *((tree.Const(at), value) for at, value in enumerate(items))))

    def item(self) -> tree.Node:
        if self.accept("..."):
            return tree.Spread(self.expression(1))
        if self.token.kind == "name" and self.ahead().value == ":" and self.ahead().kind == "op":
            # A named argument.
            self.at += 2
        return self.expression(1)

    def _word(self, token: Token) -> tree.Node:
        self.at += 1
        word = token.value
        lower = word.lower()
        if lower in ("array", "list") and self.accept("("):
            return self._array(")")
        if lower in ("true", "false", "null"):
            return tree.Const({"true": True, "false": False}.get(lower))
        if lower == "new":
            return self._new(token.line)
        if lower in ("function", "fn"):
            return self._closure(lower, token.line)
        if lower == "static" and self.is_name("function", "fn"):
            kind = self.take().value
            return self._closure(kind, token.line)
        if lower in ("print", "echo", "clone", "throw", "yield"):
            return self.expression(1)
        if lower in ("include", "include_once", "require", "require_once"):
            return tree.Call(tree.Name("include"), (self.expression(1),), (), token.line)
        if lower in ("exit", "die"):
            args = self.arguments() if self.is_op("(") else ()
            return tree.Call(tree.Name("exit"), args, (), token.line)
        if lower == "match" and self.is_op("("):
            return self._match()
        return tree.Name(word.lstrip("\\"))

    def _new(self, line: int) -> tree.Node:
        if self.is_name("class"):
            return tree.Call(self._class_from("", line), (), (), line)
        token = self.take()
        args = self.arguments() if self.is_op("(") else ()
        return tree.Call(tree.Name(token.value.lstrip("\\")), args, (("\0new", tree.Const(True)),), line)

    def _match(self) -> tree.Node:
        self.bracketed()
        stop = self.closing()
        self.at += 1
        values: list[tree.Node] = []
        while self.at < stop:
            before = self.at
            if self.accept("=>"):
                values.append(self.expression(1))
            elif not self.accept(",", "default"):
                self.expression(1)
            if self.at == before:
                self.at += 1
        self.at = stop + 1
        result: tree.Node = values[0] if values else UNREAD
        for value in values[1:]:
            result = tree.Choice(UNREAD, result, value)
        return result

    def _closure(self, kind: str, line: int) -> tree.Node:
        self.accept("&")
        parameters, _ = self._parameters()
        if self.is_name("use"):
            self.at += 1
            self.skip_brackets()
        self._skip_return_type()
        if kind == "fn":
            self.accept("=>")
            body = self.expression(1)
            return tree.Function("", parameters, lambda: (body,), line, (), True)
        return tree.Function("", parameters, self.later_block() if self.is_op("{") else lambda: (), line)

    def _parameters(self) -> tuple[tuple[tree.Parameter, ...], list[tree.Node]]:
        """The parameters, and the assignments to fields that a constructor's make (`private string $dir`)."""
        fields: list[tree.Node] = []
        if not self.is_op("("):
            return (), fields
        stop = self.closing()
        self.at += 1
        found: list[tree.Parameter] = []
        kind, promoted = "", False
        while self.at < stop:
            token = self.take()
            if token.value == "...":
                kind = "*"
            elif token.kind == "variable":
                default = self.expression(1) if self.accept("=") else None
                found.append(tree.Parameter(token.value, default, kind))
                kind = ""
                if promoted:
                    field = tree.Attribute(tree.Name("$this"), token.value.removeprefix("$"))
                    fields.append(tree.Assign(field, tree.Name(token.value)))
            promoted = token.value in ("private", "public", "protected", "readonly") or (
                promoted and token.kind != "variable"
            )
        self.at = stop + 1
        return tuple(found), fields

    def _skip_return_type(self) -> None:
        if self.accept(":"):
            while self.token.kind == "name" or self.is_op("?", "|", "&"):
                self.at += 1

    def postfix(self, value: tree.Node) -> tree.Node:
        while self.token.kind == "op":
            token = self.token
            op = token.value
            if op == "(":
                value = tree.Call(value, self.arguments(), (), token.line)
            elif op in ("->", "?->", "::"):
                self.at += 1
                member = self.take()
                if member.kind == "op" and member.value == "{":
                    member = member._replace(value="\0unread")
                    self.at -= 1
                    self.skip_brackets()
                value = tree.Attribute(
                    value, member.value if member.kind != "variable" or op == "::" else member.value[1:]
                )
            elif op == "[":
                self.at += 1
                if self.accept("]"):
                    value = tree.Index(value, UNREAD)
                    continue
                value = tree.Index(value, self.expression())
                self.accept("]")
            elif op in ("++", "--"):
                self.at += 1
                value = tree.Assign(value, tree.Const(1), op[0])
            else:
                break
        return value

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[tree.Node, ...]:
        token = self.token
        if self.accept(";"):
            return ()
        if self.is_op("{"):
            return (tree.Block(self.block()),)
        if token.kind == "name":
            read = _STATEMENTS.get(token.value.lower())
            if read is not None and self.ahead().value not in (
                "::",
                "(" if token.value.lower() in ("function", "fn") else "",
            ):
                found = read(self)
                if found is not None:
                    return found
        value = self.expression()
        self.accept(";")
        return (value,)

    def _body(self, *ends: str) -> tuple[tree.Node, ...]:
        """`{ … }`, one statement, or `: … endif;`."""
        if not self.accept(":"):
            return self.block()
        found: list[tree.Node] = []
        while self.token.kind != "end" and not self.is_name(*ends):
            before = self.at
            found.extend(self.statement())
            if self.at == before:
                self.at += 1
        if self.token.value.startswith("end"):
            self.at += 1
            self.accept(";")
        return tuple(found)

    def an_echo(self) -> tuple[tree.Node, ...]:
        self.at += 1
        found: list[tree.Node] = [self.expression(1)]
        while self.accept(","):
            found.append(self.expression(1))
        self.accept(";")
        return tuple(found)

    def an_if(self) -> tuple[tree.Node, ...]:
        self.at += 1
        test = self.bracketed()
        yes = self._body("else", "elseif", "endif")
        no: tuple[tree.Node, ...] = ()
        if self.is_name("elseif") or (self.is_name("else") and self.ahead().value == "if"):
            self.at += self.is_name("else")
            no = self.an_if()
        elif self.accept("else"):
            no = self._body("endif")
        return (tree.If(test, yes, no),)

    def a_foreach(self) -> tuple[tree.Node, ...]:
        line = self.take().line
        if not self.accept("("):
            return ()
        iterable = self.expression()
        self.accept("as")
        self.accept("&")
        target = self.postfix(self.prefix())
        if self.accept("=>"):
            self.accept("&")
            value = self.postfix(self.prefix())
            iterable = tree.Call(tree.Name("\0pairs"), (iterable,), (), line)
            target = tree.ListOf((target, value))
        self.accept(")")
        return (tree.Loop(target, iterable, None, self._body("endforeach"), (), line),)

    def a_for(self) -> tuple[tree.Node, ...]:
        line = self.take().line
        stop = self.closing()
        self.at += 1
        first = [] if self.is_op(";") else [self.expression()]
        while self.accept(","):
            first.append(self.expression())
        self.accept(";")
        test = None if self.is_op(";") else self.expression()
        self.at = stop + 1
        return (*first, tree.Loop(None, None, test, self._body("endfor"), (), line))

    def a_while(self) -> tuple[tree.Node, ...]:
        line = self.take().line
        test = self.bracketed()
        return (tree.Loop(None, None, test, self._body("endwhile"), (), line),)

    def a_do(self) -> tuple[tree.Node, ...]:
        self.at += 1
        body = self.block()
        if self.accept("while"):
            self.bracketed()
        self.accept(";")
        return body

    def a_switch(self) -> tuple[tree.Node, ...]:
        self.at += 1
        subject = self.bracketed()
        stop = self.closing() if self.is_op("{") else len(self.tokens)
        self.at += 1
        bodies: list[list[tree.Node]] = []
        while self.at < stop and not self.is_name("endswitch"):
            before = self.at
            if self.is_name("case", "default"):
                if self.take().value == "case":
                    self.expression()
                self.accept(":", ";")
                bodies.append([])
            elif bodies:
                bodies[-1].extend(self.statement())
            if self.at == before:
                self.at += 1
        self.at = stop + 1 if stop < len(self.tokens) else self.at + 1
        return (tree.Branches(subject, tuple(tuple(body) for body in bodies)),)

    def a_try(self) -> tuple[tree.Node, ...]:
        self.at += 1
        body = self.block()
        handlers: list[tuple[tree.Node, ...]] = []
        while self.accept("catch"):
            if self.is_op("("):
                self.skip_brackets()
            handlers.append(self.block())
        final = self.block() if self.accept("finally") else ()
        return (tree.Try(body, tuple(handlers), (), final),)

    def a_function(self) -> tuple[tree.Node, ...] | None:
        if self.ahead().kind != "name" and not (self.ahead().value == "&" and self.ahead(2).kind == "name"):
            return None
        line = self.take().line
        self.accept("&")
        name = self.take().value
        parameters, promoted = self._parameters()
        self._skip_return_type()
        if not self.is_op("{"):
            self.accept(";")
            return ()
        read = self.later_block()
        return (tree.Function(name, parameters, (lambda: (*promoted, *read())) if promoted else read, line),)

    def a_class(self) -> tuple[tree.Node, ...]:
        while self.is_name("abstract", "final", "readonly"):
            self.at += 1
        if not self.is_name("class", "interface", "trait", "enum"):
            return ()
        line = self.take().line
        name = self.take().value
        return (self._class_from(name, line),)

    def _class_from(self, name: str, line: int) -> tree.Node:
        bases: list[tree.Node] = []
        while self.token.kind != "end" and not self.is_op("{"):
            if self.accept("extends"):
                bases.append(tree.Name(self.take().value.lstrip("\\")))
            elif self.is_op("("):
                self.skip_brackets()
            else:
                self.at += 1
        stop = self.closing()
        self.at += 1
        body: list[tree.Node] = []
        while self.at < stop:
            token = self.token
            if token.kind == "name" and token.value.lower() == "function":
                found = self.a_function()
                self.at += found is None
                body.extend(found or ())
            elif token.kind == "variable":
                self.at += 1
                if self.accept("="):
                    body.append(tree.Assign(tree.Name(token.value[1:]), self.expression(1), declares=True))
            elif token.kind == "op" and token.value == "{":
                self.skip_brackets()
            else:
                self.at += 1
        self.at = stop + 1
        return tree.Class(name, tuple(bases), tuple(body), line)

    def a_return(self) -> tuple[tree.Node, ...]:
        self.at += 1
        value = None if self.is_op(";") or self.token.kind == "end" else self.expression()
        self.accept(";")
        return (tree.Return(value),)

    def a_throw(self) -> tuple[tree.Node, ...]:
        self.at += 1
        value = self.expression()
        self.accept(";")
        return (value, tree.Jump("raise"))

    def a_jump(self) -> tuple[tree.Node, ...]:
        kind = self.take().value.lower()
        if self.token.kind == "number":
            self.at += 1
        self.accept(";")
        return (tree.Jump(kind),)

    def a_use(self) -> tuple[tree.Node, ...]:
        """`use A\\B as C;`, `namespace X;`, `global $x;`, `declare(…);`: no code."""
        while self.token.kind != "end" and not self.is_op(";", "{"):
            self.at += 1
        if self.is_op("{"):
            return (tree.Block(self.block()),)
        self.accept(";")
        return ()

    def a_static(self) -> tuple[tree.Node, ...] | None:
        if self.ahead().kind != "variable":
            return None
        self.at += 1
        return None

    def a_const(self) -> tuple[tree.Node, ...]:
        self.at += 1
        name = self.take().value
        value = self.expression(1) if self.accept("=") else UNREAD
        self.accept(";")
        return (tree.Assign(tree.Name(name), value),)


_STATEMENTS = {
    "echo": PhpReader.an_echo,
    "if": PhpReader.an_if,
    "foreach": PhpReader.a_foreach,
    "for": PhpReader.a_for,
    "while": PhpReader.a_while,
    "do": PhpReader.a_do,
    "switch": PhpReader.a_switch,
    "try": PhpReader.a_try,
    "function": PhpReader.a_function,
    "class": PhpReader.a_class,
    "abstract": PhpReader.a_class,
    "final": PhpReader.a_class,
    "interface": PhpReader.a_class,
    "trait": PhpReader.a_class,
    "return": PhpReader.a_return,
    "throw": PhpReader.a_throw,
    "break": PhpReader.a_jump,
    "continue": PhpReader.a_jump,
    "use": PhpReader.a_use,
    "namespace": PhpReader.a_use,
    "global": PhpReader.a_use,
    "declare": PhpReader.a_use,
    "static": PhpReader.a_static,
    "const": PhpReader.a_const,
}


def _inside(tokens: list[Token]) -> tree.Node:
    return PhpReader(tokens).expression()
