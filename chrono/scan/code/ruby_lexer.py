"""Owns the tokens of Ruby: strings, regular expressions, here-documents, comments.

What they mean together is left to `ruby_reader`, which is handed in to read the expressions inside strings.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import Token
from chrono.scan.code.lexer import Expression, Lexer, Waiting, token_pattern
from chrono.scan.code.strings import delimited, raw

_OPERATORS = (
    "**= <=> === ... <<= >>= &&= ||= &. -> => ** == != >= <= && || << >> += -= *= /= %= |= &= ^= .. :: =~ !~ "
    "{ } ( ) [ ] ; , < > + - * / % . & | ^ ! ~ ? : = \\"
)


KEYWORDS = frozenset(
    (
        "and begin break case class def do else elsif end ensure for if in module next nil not or redo "
        "rescue retry return self super then true false undef unless until when while yield alias "
        "defined? BEGIN END"
    ).split()
)


_BEFORE_OPERAND = KEYWORDS - {"end", "self", "true", "false", "nil"}


_KINDS = (
    r"(?P<newline>\n)|(?P<space>(?:[ \t\r\f]|\\\r?\n)+)|(?P<comment>\#[^\n]*)"
    r"|(?P<label>[A-Za-z_]\w*[?!]?:(?!:))"
    r"|(?P<name>[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*[?!]?(?!=[^=~>])|[A-Za-z_]\w*)"
    r"|(?P<variable>\$[A-Za-z_]\w*|\$[^\w\s]|\$\d+|@@?[A-Za-z_]\w*)"
    r"|(?P<number>0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"|(?P<symbol>:(?:[A-Za-z_]\w*[?!=]?|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[+\-*/<>=!~%&|^\[\]]+))"
    r"|(?P<quote>[\"'`])"
)


class RubyLexer(Lexer):
    SIGILS = "#"

    def __init__(self, source: str, read: Expression, line: int = 1) -> None:
        super().__init__(source, read, line)
        self.questions = 0

    def tokens(self) -> list[Token]:
        source, pattern = self.source, token_pattern(_KINDS, _OPERATORS)
        self._skip_comment()
        spaced = False
        while self.at < len(source):
            kind, text, end = self.take(pattern)
            if kind == "newline":
                self._newline(end)
                if source.startswith("__END__", self.at):
                    break
                spaced = True
            elif kind in ("space", "comment"):
                self.skip_to(end)
                spaced = True
            else:
                self._token(kind, text, end, spaced)
                spaced = False
        self.found.append(Token("line", "\n", self.line))
        return self.found

    def _newline(self, end: int) -> None:
        self.at = end
        if not self.waiting:
            # Blank lines go at once, so that looking ahead for a dot stays cheap.
            place = end
            while self.source[place : place + 1] in (" ", "\t", "\r", "\n"):
                place += 1
            start = self.source.rfind("\n", end, place) + 1
            self.line += self.source.count("\n", end, start)
            self.at = max(end, start)
        last = self.found[-1] if self.found else None
        goes_on = last is not None and last.kind == "op" and last.value not in (")", "]", "}", "?", "!", "|")
        if not goes_on and not self._dot_follows() and (last is None or last.kind != "line"):
            self.found.append(Token("line", "\n", self.line))
        self.line += 1
        self.read_waiting()
        self._skip_comment()

    def _dot_follows(self) -> bool:
        """True where the next line goes on with `.method`."""
        place = self.at
        while place < len(self.source) and self.source[place] in " \t\r\n":
            place += 1
        return self.source.startswith((".", "&."), place) and not self.source.startswith("..", place)

    def _skip_comment(self) -> None:
        if self.source.startswith("=begin", self.at):
            self.skip_block("=end")

    def _token(self, kind: str, text: str, end: int, spaced: bool) -> None:
        if kind == "quote":
            inside, end = delimited(self.source, self.at, inner="" if text == "'" else "#{")
            if text == "'":
                self.add("string", "", end, spaced, (tree.Const(raw(inside)),))
            else:
                label = text == '"' and self.source.startswith(":", end) and not self.source.startswith("::", end)
                kind = "shell" if text == "`" else "label" if label and self._key_expected() else "string"
                self.add(kind, inside, end + (kind == "label"), spaced, self.interpolated(inside, self.line))
        elif kind == "label" and not self._key_expected() and self.questions:
            # `a ? b : c` without a space.
            self.add("name", text[:-1], end - 1, spaced)
        elif kind == "label":
            self.add("label", text[:-1], end, spaced)
        elif kind == "symbol":
            if self.found and self.found[-1].kind in ("name", "number", "string") and not spaced and self.questions:
                self.add("op", ":", self.at + 1, spaced)
            else:
                self.add("symbol", text[1:].strip("\"'"), end, spaced)
        elif kind == "op" and text[0] == "/" and self._operand_expected(spaced, end):
            inside, stop = delimited(self.source, self.at)
            self.add("regex", inside, self.letters_end(stop), spaced)
        elif (
            kind == "op" and text[0] == "%" and self._operand_expected(spaced, self.at + 1) and self._percent(spaced)
        ) or (kind == "op" and text == "<<" and self._heredoc(end, spaced)):
            return
        elif kind == "other":
            self.at = end
        else:
            self.questions += (kind == "op" and text == "?") - (kind == "op" and text == ":" and self.questions > 0)
            self.add(kind, text, end, spaced)

    def _key_expected(self) -> bool:
        return (
            not self.found
            or self.found[-1].value in ("(", ",", "{", "|")
            or self.found[-1].kind in ("name", "line", "label")
        )

    def _operand_expected(self, spaced: bool, end: int) -> bool:
        if not self.found:
            return True
        last = self.found[-1]
        if last.kind in ("op", "line", "label"):
            return last.value not in (")", "]", "}")
        if last.kind == "name":
            follows = self.source[end : end + 1]
            return last.value in _BEFORE_OPERAND or (
                spaced and follows not in (" ", "=", "") and not last.value[0].isupper()
            )
        return False

    def _percent(self, spaced: bool) -> bool:
        source = self.source
        place = self.at + 1
        kind = "Q"
        if source[place : place + 1].isalpha():
            kind = source[place]
            place += 1
        mark = source[place : place + 1]
        if not mark or mark.isalnum() or mark.isspace() or kind not in "qQwWiIxrs":
            return False
        inside, end = delimited(source, place, inner="#{" if kind in "QWIx" else "")
        if kind in "wWiI":
            self.add("words", inside, end, spaced)
        elif kind == "q":
            self.add("string", "", end, spaced, (tree.Const(raw(inside, mark)),))
        elif kind == "r":
            self.add("regex", inside, end, spaced)
        else:
            self.add(
                "shell" if kind == "x" else "string",
                "",
                end,
                spaced,
                self.interpolated(inside, self.line),
            )
        return True

    def _heredoc(self, end: int, spaced: bool) -> bool:
        source = self.source
        place = end
        indented = source[place : place + 1] in ("~", "-")
        place += indented
        quote = source[place : place + 1]
        if quote in ("'", '"', "`"):
            tag, stop = delimited(source, place)
        else:
            stop = self.word_end(place)
            tag = source[place:stop]
            if not tag or not (tag[0].isupper() or (indented and tag[0].isalpha())):
                return False
            if not indented and not self._operand_expected(spaced, end):
                return False
        self.waiting.append(Waiting(len(self.found), tag, indented, quote == "'"))
        self.add("shell" if quote == "`" else "string", "", stop, spaced, (tree.Const(""),))
        return True

    def inserted(self, text: str, at: int, line: int) -> tuple[tree.Node, int] | None:
        """What stands in `#{ … }`."""
        if not text.startswith("{", at + 1):
            return None
        inside, end = delimited(text, at + 1, inner="#{")
        return self.read(RubyLexer(inside, self.read, line).tokens()), end
