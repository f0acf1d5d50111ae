"""Owns the tokens of PHP: code between `<?php` and `?>`, strings, here-documents, comments.

What they mean together is left to `php_reader`, which is handed in to read the expressions inside strings.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import Token
from chrono.scan.code.lexer import Lexer, token_pattern
from chrono.scan.code.strings import delimited, heredoc, raw, variable_end

_OPERATORS = (
    "<<<= ??= **= === !== <=> ... <<= >>= ?-> -> => :: ++ -- ** == != <> <= >= && || ?? << >> += -= "
    "*= /= .= %= &= |= ^= { } ( ) [ ] ; , < > + - * / % . & | ^ ! ~ ? : = @ # \\ $"
)
_KINDS = (
    r"(?P<space>\s+)|(?P<attribute>\#\[)|(?P<comment>(?://|\#)(?:(?!\?>)[^\n])*|/\*.*?(?:\*/|\Z))"
    r"|(?P<close>\?>\n?)|(?P<heredoc><<<[ \t]*(?:\"\w+\"|'\w+'|\w+)[ \t]*\r?\n)"
    r"|(?P<variable>\$+[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)"
    r"|(?P<number>0[xX][\da-fA-F_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>\\?[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*(?:\\[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)*)"
    r"|(?P<quote>[\"'`])"
)


class PhpLexer(Lexer):
    SIGILS = "${"

    def file_tokens(self) -> list[Token]:
        """Tokens of a file: text until `<?php`, code until `?>`, and so on."""
        while self.at < len(self.source):
            opening = self.source.find("<?", self.at)
            if opening < 0:
                break
            self.skip_to(opening + 2)
            if self.source[self.at : self.at + 3].lower() == "php":
                self.at += 3
            elif self.source.startswith("=", self.at):
                self.at += 1
            elif self.source.startswith("xml", self.at):
                continue
            self.tokens()
            self.found.append(Token("op", ";", self.line))
        return self.found

    def tokens(self) -> list[Token]:
        source, pattern = self.source, token_pattern(_KINDS, _OPERATORS)
        while self.at < len(source):
            kind, text, end = self.take(pattern)
            if kind == "close":
                self.skip_to(end)
                break
            if kind in ("space", "comment", "other"):
                self.skip_to(end)
            elif kind == "attribute":
                _, self.at = delimited(source, self.at + 1)
            elif kind == "heredoc":
                self._heredoc(text, end)
            elif kind == "quote":
                inside, end = delimited(source, self.at)
                parts = (tree.Const(raw(inside)),) if text == "'" else self.interpolated(inside, self.line)
                self.add("shell" if text == "`" else "string", "", end, parts=parts)
            else:
                self.add(kind, text, end)
        return self.found

    def _heredoc(self, opening: str, start: int) -> None:
        tag = opening.strip()[3:].strip()
        body, end = heredoc(self.source, start, tag.strip("'\""), True)
        body = body.removesuffix("\n")
        parts = (tree.Const(body),) if tag.startswith("'") else self.interpolated(body, self.line)
        self.add("string", "", end, parts=parts)

    def inserted(self, text: str, at: int, line: int) -> tuple[tree.Node, int] | None:
        """`$x`, `$x[k]`, `$x->y`, `{$x->y()}` or `${x}`."""
        following = text[at + 1 : at + 2]
        if text[at] == "{":
            if following != "$":
                return None
            variable, end = delimited(text, at)
        elif following.isalpha() or (following and following in "_{"):
            end = variable_end(text, at, arrows=False, methods=True)
            variable = text[at:end]
            variable = "$" + variable[2:-1] if following == "{" and variable.endswith("}") else variable
        else:
            return None
        return self.read(PhpLexer(variable, self.read, line).tokens()), max(end, at + 1)
