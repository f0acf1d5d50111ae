"""Owns the reading of JavaScript and TypeScript: source to the form that `interpret` runs. Types are passed over.

What library calls do is left to `javascript_library`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import tree
from chrono.scan.code.curly import END, UNREAD, Token
from chrono.scan.code.javascript_lexer import JavaScriptLexer
from chrono.scan.code.javascript_types import TypeSkipper


def read_javascript(source: str) -> tuple[tree.Node, ...]:
    """Source as statements. Raises LimitReached or RecursionError where it is too long or too deep."""
    if source.startswith("#!"):
        source = "//" + source
    return JavaScriptReader(JavaScriptLexer(source, _inside).tokens()).program()


class JavaScriptReader(TypeSkipper):
    """Reads ECMAScript as people write it, TypeScript's types skipped."""

    precedence = {  # noqa: RUF012
        "??": 3, "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "===": 8, "!==": 8, "<": 9, ">": 9,
        "<=": 9, ">=": 9, "instanceof": 9, "in": 9, "<<": 10, ">>": 10, ">>>": 10, "+": 11, "-": 11, "*": 12, "/": 12,
        "%": 12, "**": 13, ",": 0,
    }  # fmt: skip
    assignments = frozenset(
        (
            "=",
            "+=",
            "-=",
            "*=",
            "/=",
            "%=",
            "**=",
            "<<=",
            ">>=",
            ">>>=",
            "&=",
            "|=",
            "^=",
            "&&=",
            "||=",
            "??=",
        )
    )

    # --- operands -----------------------------------------------------------------------------------------------------

    def prefix(self) -> tree.Node:
        token = self.token
        if token.kind == "string":
            self.at += 1
            return self._string(token)
        if token.kind == "number":
            self.at += 1
            return tree.Const(_number(token.value))
        if token.kind == "regex":
            self.at += 1
            return tree.Call(tree.Name("\0regex"), (tree.Const(token.value),), (), token.line)
        if token.kind == "name":
            return self._word(token)
        if token.kind != "op":
            return UNREAD
        return self._operator(token)

    def _string(self, token: Token) -> tree.Node:
        return tree.Const(token.value) if token.parts is None else _interpolated(token.parts)

    def _operator(self, token: Token) -> tree.Node:
        op = token.value
        if op == "(":
            if self._arrow_follows(self.closing()):
                return self._arrow()
            self.at += 1
            value: tree.Node = UNREAD if self.is_op(")") else self.expression()
            self.accept(")")
            return value
        if op == "[":
            self.at += 1
            return tree.ListOf(self.listed("]"))
        if op == "{":
            return self._object()
        if op in ("!", "-", "+", "~", "++", "--"):
            self.at += 1
            value = self.expression(14)
            return tree.Unary({"!": "not", "-": "-", "+": "+"}.get(op, "?"), value)
        if op == "<":
            return self._type_assertion()
        if op == "@":
            self.at += 1
            return self.expression(14)
        if op == "...":
            self.at += 1
            return tree.Spread(self.expression(1))
        return UNREAD

    def _type_assertion(self) -> tree.Node:
        """`<T>(x) => …` and `<any>x`; JSX is passed over as it comes."""
        start = self.at
        self.skip_type_arguments()
        if self.at == start:
            self.at += 1
            return UNREAD
        return self.expression(14)

    def _word(self, token: Token) -> tree.Node:
        word = token.value
        following = self.ahead()
        if word == "async" and following.kind == "name" and following.value != "of":
            self.at += 1
            return self._word(self.token)
        if word == "async" and self._arrow_follows(self.pairs.get(self.at + 1, len(self.tokens))):
            self.at += 1
            return self._arrow()
        if following.kind == "op" and following.value == "=>":
            self.at += 1
            return self._arrow_body((tree.Parameter(word),), [], token.line)
        if word in ("true", "false", "null", "undefined"):
            self.at += 1
            return tree.Const({"true": True, "false": False}.get(word))
        if word == "function":
            return self.function()
        if word == "class":
            return self.a_class()
        if word in ("await", "typeof", "void", "delete", "yield"):
            return self._keyword_operand(word)
        if word == "new":
            return self._new()
        if word == "import":
            self.at += 1
            return tree.Name("require") if self.is_op("(") else tree.Name("\0import")
        self.at += 1
        return tree.Name(word)

    def _keyword_operand(self, word: str) -> tree.Node:
        self.at += 1
        if word == "yield":
            spread = self.accept("*")
            ends = self.token.kind == "end" or self.is_op(")", "]", "}", ";", ",")
            return tree.Yield(None if ends else self.expression(1), spread)
        value = self.expression(14)
        return value if word == "await" else tree.Unary("?", value)

    def _new(self) -> tree.Node:
        line = self.take().line
        if self.accept("."):
            self.at += 1
            return UNREAD
        target = self.prefix()
        while self.is_op(".", "["):
            if self.accept("."):
                target = tree.Attribute(target, self.take().value)
            else:
                self.at += 1
                target = tree.Index(target, self.expression())
                self.accept("]")
        if self.is_op("<"):
            self.skip_type_arguments()
        args = self.arguments() if self.is_op("(") else ()
        return tree.Call(target, args, (("\0new", tree.Const(True)),), line)

    def postfix(self, value: tree.Node) -> tree.Node:
        while True:
            token = self.token
            if token.kind == "string" and token.parts is not None:
                # A tagged template: the tag gets the text as one argument.
                self.at += 1
                value = tree.Call(value, (_interpolated(token.parts),), (("\0tagged", tree.Const(True)),), token.line)
                continue
            if token.kind == "name" and token.value in ("as", "satisfies") and not isinstance(value, tree.Const | None):
                self.at += 1
                self.skip_type()
                continue
            if token.kind != "op":
                return value
            op = token.value
            if op in (".", "?."):
                value = self._member(value, token)
            elif op == "(":
                value = tree.Call(value, self.arguments(), (), token.line)
            elif op == "[":
                self.at += 1
                value = tree.Index(value, self.expression())
                self.accept("]")
            elif op in ("++", "--"):
                self.at += 1
                value = tree.Assign(value, tree.Const(1), op[0])
            elif op == "!" and self.ahead().value in (".", ")", ";", ",", "[", "]", "?.", "as"):
                self.at += 1
            elif op == "<" and self.type_arguments_of_call():
                self.skip_type_arguments()
            else:
                return value

    def _member(self, value: tree.Node, token: Token) -> tree.Node:
        self.at += 1
        if token.value == "?." and self.is_op("("):
            return tree.Call(value, self.arguments(), (), token.line)
        if token.value == "?." and self.is_op("["):
            self.at += 1
            result = tree.Index(value, self.expression())
            self.accept("]")
            return result
        return tree.Attribute(value, self.take().value)

    def _object(self) -> tree.Node:
        stop = self.closing()
        self.at += 1
        pairs: list[tuple[tree.Node | None, tree.Node]] = []
        while self.at < stop:
            before = self.at
            if not self.accept(","):
                pairs.append(self._property())
            if self.at == before:
                self.at += 1
        self.at = stop + 1
        return tree.TableOf(tuple(pairs))

    def _property(self) -> tuple[tree.Node | None, tree.Node]:
        if self.accept("..."):
            return None, self.expression(1)
        while self.is_name("async", "get", "set", "static") and self.ahead().value not in (
            ":",
            ",",
            "(",
            "}",
            "=",
        ):
            self.at += 1
        self.accept("*")
        token = self.take()
        key: tree.Node = tree.Const(token.value)
        if token.kind == "op" and token.value == "[":
            key = self.expression()
            self.accept("]")
        if self.accept(":"):
            return key, self.expression(1)
        if self.is_op("("):
            return key, self._function_from("", token.line)
        value: tree.Node = tree.Name(token.value)
        if self.accept("="):
            value = tree.Assign(value, self.expression(1))
        return key, value

    # --- functions ----------------------------------------------------------------------------------------------------

    def function(self) -> tree.Node:
        line = self.take().line
        self.accept("*")
        name = self.take().value if self.token.kind == "name" else ""
        return self._function_from(name, line)

    def _function_from(self, name: str, line: int) -> tree.Node:
        if self.is_op("<"):
            self.skip_type_arguments()
        parameters, unpacked = self._parameters()
        if self.accept(":"):
            self.skip_type()
        if not self.is_op("{"):
            return tree.Function(name, parameters, lambda: (), line)
        return tree.Function(name, parameters, self._body(unpacked), line)

    def _body(self, unpacked: list[tree.Node]) -> Callable[[], tuple[tree.Node, ...]]:
        """The block at this place, behind what takes the parameters apart."""
        read = self.later_block()
        return (lambda: (*unpacked, *read())) if unpacked else read

    def _parameters(self) -> tuple[tuple[tree.Parameter, ...], list[tree.Node]]:
        """The parameters, and the assignments that take those apart that are patterns (`({ dir, force })`)."""
        unpacked: list[tree.Node] = []
        if not self.is_op("("):
            return (), unpacked
        stop = self.closing()
        self.at += 1
        found: list[tree.Parameter] = []
        while self.at < stop:
            before = self.at
            if not self.accept(","):
                found.append(self._parameter(stop, len(found), unpacked))
            if self.at == before:
                self.at += 1
        self.at = stop + 1
        return tuple(found), unpacked

    def _parameter(self, stop: int, place: int, unpacked: list[tree.Node]) -> tree.Parameter:
        kind = "*" if self.accept("...") else ""
        promoted = False
        while self.is_name("public", "private", "protected", "readonly") and self.ahead().kind == "name":
            self.at += 1
            promoted = True
        if self.is_op("{", "["):
            name = f"\0{place}"
            unpacked.append(tree.Assign(self._target(), tree.Name(name), declares=True))
        else:
            name = self.take().value
        if promoted:
            unpacked.append(tree.Assign(tree.Attribute(tree.Name("this"), name), tree.Name(name)))
        self.accept("?")
        if self.accept(":"):
            self.skip_type()
        default = self.expression(1) if self.accept("=") and self.at < stop else None
        return tree.Parameter(name, default, kind)

    def _arrow_follows(self, closing: int) -> bool:
        after = self.tokens[closing + 1] if closing + 1 < len(self.tokens) else END
        if after.value == "=>":
            return True
        if after.value != ":" or after.kind != "op":
            return False
        # `(a): Promise<void> => …`: a return type, unless this is the middle of `a ? (b) : c`.
        for token in self.tokens[closing + 2 : closing + 16]:
            if token.value == "=>":
                return True
            if token.kind == "op" and token.value not in ("<", ">", "[", "]", "|", ".", ",", "{", "}", ":"):
                return False
        return False

    def _arrow(self) -> tree.Node:
        line = self.token.line
        parameters, unpacked = self._parameters()
        if self.accept(":"):
            self.skip_type()
        return self._arrow_body(parameters, unpacked, line)

    def _arrow_body(self, parameters: tuple[tree.Parameter, ...], unpacked: list[tree.Node], line: int) -> tree.Node:
        self.accept("=>")
        if self.is_op("{"):
            return tree.Function("", parameters, self._body(unpacked), line)
        body = self.expression(1)
        if unpacked:
            return tree.Function("", parameters, lambda: (*unpacked, tree.Return(body)), line)
        return tree.Function("", parameters, lambda: (body,), line, (), True)

    def a_class(self) -> tree.Node:
        line = self.take().line
        name = self.take().value if self.token.kind == "name" and self.token.value != "extends" else ""
        bases: list[tree.Node] = []
        if self.is_op("<"):
            self.skip_type_arguments()
        if self.accept("extends"):
            bases.append(self.postfix(self.prefix()))
        while self.token.kind != "end" and not self.is_op("{"):
            before = self.at
            if self.is_op("<"):
                self.skip_type_arguments()
            self.at += self.at == before
        stop = self.closing()
        self.at += 1
        body: list[tree.Node] = []
        while self.at < stop:
            before = self.at
            self._class_member(body)
            if self.at == before:
                self.at += 1
        self.at = stop + 1
        return tree.Class(name, tuple(bases), tuple(body), line)

    def _class_member(self, body: list[tree.Node]) -> None:
        modifiers = ("static", "async", "get", "set", "public", "private", "protected", "readonly", "override",
                     "declare", "abstract", "accessor")  # fmt: skip
        if self.accept(";", ",", "*"):
            return
        if self.accept("@"):
            self.postfix(self.prefix())
            return
        while self.is_name(*modifiers) and self.ahead().value not in ("(", "=", ";", ":"):
            self.at += 1
        self.accept("*")
        if self.is_op("{"):
            body.extend(self.block())
            return
        token = self.take()
        if token.kind == "op" and token.value == "[":
            self.expression()
            self.accept("]")
        self.accept("?", "!")
        if self.is_op("(", "<"):
            body.append(self._function_from(token.value, token.line))
            return
        if self.accept(":"):
            self.skip_type()
        if self.accept("="):
            body.append(tree.Assign(tree.Name(token.value), self.expression(1), declares=True))

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[tree.Node, ...]:
        token = self.token
        if token.kind == "op":
            if token.value == "{":
                return (tree.Block(self.block()),)
            if token.value == ";":
                self.at += 1
                return ()
        if token.kind == "name":
            if self.ahead().value == ":" and self.ahead().kind == "op" and token.value not in ("default", "case"):
                self.at += 2
                return ()
            read = _STATEMENTS.get(token.value)
            if read is not None and self.ahead().value not in (".", "=", ")", ","):
                found = read(self)
                if found is not None:
                    return found
        value = self.expression()
        self.accept(";")
        return (value,)

    def declaration(self) -> tuple[tree.Node, ...]:
        self.at += 1
        if self.is_name("enum"):
            return self.an_enum() or ()
        found: list[tree.Node] = []
        while True:
            target = self._target()
            self.accept("!")
            if self.accept(":"):
                self.skip_type()
            if self.is_name("of", "in"):
                found.append(target)
                break
            value: tree.Node = self.expression(1) if self.accept("=") else tree.Const(None)
            found.append(tree.Assign(target, value, declares=True))
            if not self.accept(","):
                break
        self.accept(";")
        return tuple(found)

    def _target(self) -> tree.Node:
        if self.is_op("["):
            self.at += 1
            return tree.ListOf(self.listed("]"))
        if self.is_op("{"):
            return self._object()
        return tree.Name(self.take().value)

    def a_function(self) -> tuple[tree.Node, ...] | None:
        if self.is_name("async"):
            if not (self.ahead().kind == "name" and self.ahead().value == "function"):
                return None
            self.at += 1
        return (self.function(),)

    def a_class_statement(self) -> tuple[tree.Node, ...]:
        self.accept("abstract")
        return (self.a_class(),) if self.is_name("class") else ()

    def an_if(self) -> tuple[tree.Node, ...]:
        self.at += 1
        test = self.bracketed()
        yes = self.block()
        no = self.block() if self.accept("else") else ()
        return (tree.If(test, yes, no),)

    def a_for(self) -> tuple[tree.Node, ...]:
        line = self.take().line
        self.accept("await")
        if not self.is_op("("):
            return ()
        stop = self.closing()
        self.at += 1
        first: tuple[tree.Node, ...] = ()
        if self.is_name("const", "let", "var"):
            first = self.declaration()
        elif not self.is_op(";"):
            first = (self.expression(10),)
            self.accept(";")
        if self.is_name("of", "in") and first:
            keys = self.take().value == "in"
            iterable = self.expression()
            if keys:
                iterable = tree.Call(tree.Attribute(tree.Name("Object"), "keys"), (iterable,), (), line)
            self.at = stop + 1
            return (tree.Loop(first[0], iterable, None, self.block(), (), line),)
        test = None if self.is_op(";") or self.at >= stop else self.expression()
        self.at = stop + 1
        return (*first, tree.Loop(None, None, test, self.block(), (), line))

    def a_while(self) -> tuple[tree.Node, ...]:
        line = self.take().line
        test = self.bracketed()
        return (tree.Loop(None, None, test, self.block(), (), line),)

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
        stop = self.closing() if self.is_op("{") else self.at
        self.at += 1
        bodies: list[list[tree.Node]] = []
        while self.at < stop:
            before = self.at
            if self.accept("case"):
                self.expression()
                self.accept(":")
                bodies.append([])
            elif self.is_name("default"):
                self.at += 1
                self.accept(":")
                bodies.append([])
            elif bodies:
                bodies[-1].extend(self.statement())
            if self.at == before:
                self.at += 1
        self.at = stop + 1
        return (tree.Branches(subject, tuple(tuple(body) for body in bodies)),)

    def a_try(self) -> tuple[tree.Node, ...]:
        self.at += 1
        body = self.block()
        handlers: tuple[tuple[tree.Node, ...], ...] = ()
        if self.accept("catch"):
            if self.is_op("("):
                self.skip_brackets()
            handlers = (self.block(),)
        final = self.block() if self.accept("finally") else ()
        return (tree.Try(body, handlers, (), final),)

    def a_return(self) -> tuple[tree.Node, ...]:
        token = self.take()
        ends = self.token.kind == "end" or self.is_op("}", ";") or self.token.line != token.line
        value = None if ends else self.expression()
        self.accept(";")
        return (tree.Return(value),) if token.value == "return" else ((value,) if value else ()) + (tree.Jump("raise"),)

    def a_jump(self) -> tuple[tree.Node, ...]:
        token = self.take()
        if self.token.kind == "name" and self.token.line == token.line:
            self.at += 1
        self.accept(";")
        return (tree.Jump(token.value),)

    def an_import(self) -> tuple[tree.Node, ...] | None:
        if self.ahead().value in ("(", "."):
            return None
        self.at += 1
        names: list[tuple[str, str]] = []
        if self.is_name("type") and self.ahead().value != "from":
            self.at += 1
        while self.token.kind != "end" and self.token.kind != "string" and not self.is_op(";"):
            token = self.take()
            if token.kind == "op" and token.value == "*":
                self.accept("as")
                names.append(("", self.take().value))
            elif token.kind == "op" and token.value == "{":
                names += self._imported()
            elif token.kind == "name" and token.value == "from":
                break
            elif token.kind == "name" and self.is_op("="):
                # TypeScript's `import fs = require("fs")`.
                self.at += 1
                return (tree.Assign(tree.Name(token.value), self.expression(1)),)
            elif token.kind == "name":
                names.append(("", token.value))
        module = self.take().value
        self.accept(";")
        bare = module.removeprefix("node:")
        if not names and bare.startswith("."):
            # For what running it does.
            return (tree.Import(bare, ""),)
        return tuple(tree.Import(f"{bare}.{name}" if name else bare, alias) for name, alias in names)

    def _imported(self) -> list[tuple[str, str]]:
        names = []
        while self.token.kind != "end" and not self.is_op("}"):
            name = self.take()
            if name.kind == "op":
                continue
            alias = name
            if self.accept("as"):
                alias = self.take()
            names.append(("" if name.value == "default" else name.value, alias.value))
        self.accept("}")
        return names

    def an_export(self) -> tuple[tree.Node, ...]:
        self.at += 1
        is_default = self.accept("default")
        if is_default and self.is_op("{"):
            return (tree.Assign(tree.Name("default"), self.expression()),)
        if self.is_op("{", "*") and self.ahead().kind != "string":
            # `export { a, b } from "x"`.
            while self.token.kind != "end" and not self.is_op(";") and self.token.value not in ("from",):
                self.at += 1
                if self.tokens[self.at - 1].value == "}":
                    break
            if self.accept("from"):
                self.at += 1
            return ()
        nodes = self.statement()
        if not is_default or not nodes:
            return nodes
        last = nodes[-1]
        name = last.name if isinstance(last, tree.Function | tree.Class) else ""
        return (*nodes[: None if name else -1], tree.Assign(tree.Name("default"), tree.Name(name) if name else last))

    def an_enum(self) -> tuple[tree.Node, ...] | None:
        """`enum X { A = "a", B }`: an object whose members without a value count up."""
        if self.ahead().kind != "name":
            return None
        self.at += 1
        name = self.take().value
        stop = self.closing() if self.is_op("{") else self.at
        self.at += 1
        members: list[tuple[tree.Node | None, tree.Node]] = []
        while self.at < stop:
            if self.accept(","):
                continue
            key = tree.Const(self.take().value)
            members.append((key, self.expression(1) if self.accept("=") else tree.Const(len(members))))
        self.at = stop + 1
        return (tree.Assign(tree.Name(name), tree.TableOf(tuple(members)), declares=True),)

    def skipped(self) -> tuple[tree.Node, ...] | None:
        """`interface X { … }`, `type X = …`, `declare …`: no code."""
        if self.ahead().kind != "name":
            return None
        word = self.take().value
        while self.token.kind != "end" and not self.is_op("{", ";", "="):
            self.at += 1
        if word == "type" and self.accept("="):
            self.skip_type()
        elif self.is_op("{"):
            if word in ("namespace", "module"):
                return (tree.Block(self.block()),)
            self.skip_brackets()
        self.accept(";")
        return ()


_STATEMENTS = {
    "const": JavaScriptReader.declaration,
    "let": JavaScriptReader.declaration,
    "var": JavaScriptReader.declaration,
    "function": JavaScriptReader.a_function,
    "async": JavaScriptReader.a_function,
    "class": JavaScriptReader.a_class_statement,
    "abstract": JavaScriptReader.a_class_statement,
    "if": JavaScriptReader.an_if,
    "for": JavaScriptReader.a_for,
    "while": JavaScriptReader.a_while,
    "do": JavaScriptReader.a_do,
    "switch": JavaScriptReader.a_switch,
    "try": JavaScriptReader.a_try,
    "return": JavaScriptReader.a_return,
    "throw": JavaScriptReader.a_return,
    "break": JavaScriptReader.a_jump,
    "continue": JavaScriptReader.a_jump,
    "import": JavaScriptReader.an_import,
    "export": JavaScriptReader.an_export,
    "interface": JavaScriptReader.skipped,
    "type": JavaScriptReader.skipped,
    "enum": JavaScriptReader.an_enum,
    "declare": JavaScriptReader.skipped,
    "namespace": JavaScriptReader.skipped,
}


def _interpolated(parts: tuple[tree.Node, ...]) -> tree.Node:
    return parts[0] if len(parts) == 1 else tree.Interpolated(parts)


def _number(text: str) -> object:
    bare = text.replace("_", "").rstrip("n")
    try:
        if bare[:2].lower() in ("0x", "0o", "0b"):
            return int(bare, 0)
        return float(bare) if any(c in bare for c in ".eE") else int(bare[:18])
    except ValueError:
        return 0


def _inside(tokens: list[Token]) -> tree.Node:
    return JavaScriptReader(tokens).expression()
