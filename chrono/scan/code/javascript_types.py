"""Owns how TypeScript's types are passed over: they say nothing of what runs.

Everything else of the language is left to `javascript_reader`.
"""

from __future__ import annotations

from chrono.scan.code.curly import Reader, Token


class TypeSkipper(Reader):
    """Moves the reader behind a type or behind type arguments."""

    def skip_type(self) -> None:
        """Passes over a type."""
        depth = 0
        while self.token.kind != "end":
            token = self.token
            if token.kind == "op":
                if token.value in ("(", "[", "{"):
                    # `{` starts a body where a type is complete.
                    if (
                        token.value == "{"
                        and depth == 0
                        and self.tokens[self.at - 1].value not in (":", "|", "&", "as", "=>")
                    ):
                        return
                    self.skip_brackets()
                    continue
                if token.value == "<":
                    depth += 1
                elif token.value in (">", ">>", ">>>") and depth:
                    depth = max(0, depth - len(token.value))
                elif depth == 0 and token.value == "=>" and self.tokens[self.at - 1].value == ")":
                    if not self._function_type():
                        return
                elif (depth == 0 and token.value not in ("|", "&", ".", "?", ":")) or (
                    depth == 0 and token.value in ("?", ":")
                ):
                    return
            elif depth == 0 and token.kind == "name" and self._type_is_over(token):
                return
            self.at += 1

    def _type_is_over(self, token: Token) -> bool:
        """True where a word follows a complete type (`let a: string` and then the next statement)."""
        before = self.tokens[self.at - 1]
        inside = ("keyof", "typeof", "is", "readonly", "unique", "infer", "as")
        complete = before.kind in ("name", "string") and before.value not in inside
        return complete and token.value not in ("is", "extends")

    def _function_type(self) -> bool:
        """True where `=>` belongs to a type: something that is a type follows, and then no body."""
        return self.ahead().kind == "name" and self.ahead().value in (
            "void",
            "Promise",
            "string",
            "any",
            "boolean",
            "number",
        )

    def type_arguments_of_call(self) -> bool:
        """True of `<Foo, Bar[]>(`, as opposed to a comparison."""
        for count in range(1, 24):
            token = self.ahead(count)
            if token.kind == "op":
                if token.value == ">":
                    return self.ahead(count + 1).value == "("
                if token.value not in (".", ",", "[", "]", "|", "<", "{", "}", ":", ";"):
                    return False
            elif token.kind not in ("name", "string"):
                return False
        return False

    def skip_type_arguments(self) -> None:
        depth = 0
        start = self.at
        while self.at < min(start + 60, len(self.tokens)):
            value = self.token.value if self.token.kind == "op" else ""
            self.at += 1
            if value == "<":
                depth += 1
            elif value in (">", ">>", ">>>"):
                depth -= len(value)
                if depth <= 0:
                    return
            elif value in (";", "=>"):
                break
        self.at = start
