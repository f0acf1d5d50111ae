"""Owns the tokens of Perl: strings, regular expressions, here-documents, comments.

What they mean together is left to `perl_reader`, which is handed in to read the expressions inside strings.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import Token
from chrono.scan.code.lexer import Lexer, Waiting, token_pattern
from chrono.scan.code.strings import delimited, raw, variable_end

_OPERATORS = (
    "<=> **= ||= &&= //= ... <<= >>= -> ++ -- ** =~ !~ == != <= >= && || // .. :: += -= *= /= .= %= "
    "x= &= |= ^= << >> => { } ( ) [ ] ; , < > + - * / % . & | ^ ! ~ ? : = \\"
)


_QUOTES = frozenset("q qq qw qx m qr s tr y".split())


_BEFORE_OPERAND = frozenset(
    (
        "return and or not if unless while until split grep map join push unshift print die x lt gt le ge eq ne cmp "
        "when"
    ).split()
)


KNOWN_LIST = frozenset(
    (
        "print printf say die warn system exec unlink rename open opendir mkdir push unshift splice join "
        "split sprintf reverse sort map grep return chmod chown utime kill symlink link truncate rmtree "
        "remove_tree mkpath make_path move copy mv cp find finddepth pack unpack binmode bless wait "
        "waitpid index rindex substr lines use no croak confess carp qx dircopy fcopy rmove path remove"
    ).split()
)


_KINDS = (
    r"(?P<newline>\n)|(?P<space>[ \t\r\f]+)|(?P<comment>\#[^\n]*)"
    r"|(?P<variable>\$\#\{?\$?\w+\}?|[$@%&]\$*(?:::)?[A-Za-z_]\w*(?:::\w+)*|\$\$*\d+|\$[&`'+!@/\\,;.0-9_$]"
    r"|[$@%]\^\w|[$@%&]\$*(?=\{))"
    r"|(?P<number>0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*(?:(?:::|')[A-Za-z_]\w*)*(?:::)?)"
    r"|(?P<quote>[\"'`])"
)


class PerlLexer(Lexer):
    SIGILS = "$@"

    def tokens(self) -> list[Token]:
        source, pattern = self.source, token_pattern(_KINDS, _OPERATORS)
        self._start_line()
        spaced = False
        while self.at < len(source):
            kind, text, end = self.take(pattern)
            if kind == "newline":
                while not self.waiting and source.startswith("\n", end):
                    end += 1
                self.skip_to(end)
                self._start_line()
                spaced = True
            elif kind in ("space", "comment"):
                self.at = end
                spaced = True
            elif kind == "name" and text in ("__END__", "__DATA__"):
                break
            else:
                self._token(kind, text, end, spaced)
                spaced = False
        return self.found

    def _start_line(self) -> None:
        self.read_waiting()
        if self.source.startswith("=", self.at) and self.source[self.at + 1 : self.at + 2].isalpha():
            self.skip_block("=cut")

    def _token(self, kind: str, text: str, end: int, spaced: bool) -> None:
        if kind == "quote":
            inside, end = delimited(self.source, self.at)
            self._quoted({"'": "q", '"': "qq", "`": "qx"}[text], inside, end, spaced, text)
        elif kind == "name" and text in _QUOTES and self._quote_follows(end):
            self._quote_like(text, end, spaced)
        elif kind == "op" and text in ("/", "//", "/=", "?") and text[0] == "/" and self._operand_expected():
            _, stop = delimited(self.source, self.at)
            stop = self.letters_end(stop)
            self.add("regex", self.source[self.at : stop], stop, spaced)
        elif kind == "op" and text in ("<<", "<") and self._heredoc(end, spaced):
            return
        elif kind == "op" and text == "<" and self._operand_expected() and ">" in self.source[end : end + 200]:
            inside, stop = delimited(self.source, self.at)
            self.add("glob", inside, stop, spaced, self.interpolated(inside, self.line))
        elif kind == "other":
            self.at = end
        else:
            self.add(kind, text, end, spaced)

    def _quote_follows(self, end: int) -> bool:
        rest = self.source[end : end + 40].lstrip()
        before = self.found[-1].value if self.found else ""
        if not rest or (before in ("->", "{") and rest[0] == "}") or before in ("->", "sub"):
            return False
        if rest[0] == "=" and (rest[1:2] in (">", "=") or rest[1:2] == " "):
            return False
        if rest[0] in ",;)":
            return False
        return not (rest[0].isalnum() or rest[0] == "_" or (rest[0] == "#" and self.source[end : end + 1] != "#"))

    def _quote_like(self, word: str, end: int, spaced: bool) -> None:
        start = end
        while start < len(self.source) and self.source[start].isspace():
            start += 1
        mark = self.source[start]
        inside, stop = delimited(self.source, start)
        if word in ("s", "tr", "y"):
            second = stop - 1
            if mark in "([{<":
                second = stop
                while second < len(self.source) and self.source[second].isspace():
                    second += 1
            replacement, stop = delimited(self.source, second)
            flags, stop = stop, self.letters_end(stop)
            kind = "s" if word == "s" else "tr"
            parts = (tree.Const(inside), tree.Const(replacement), tree.Const(self.source[flags:stop]))
            self.add("change", kind, stop, spaced, parts)
            return
        if word in ("m", "qr"):
            self.add("regex", inside, self.letters_end(stop), spaced)
            return
        self._quoted(word, inside, stop, spaced, mark)

    def _quoted(self, word: str, inside: str, end: int, spaced: bool, mark: str) -> None:
        if word == "qw":
            self.add("words", inside, end, spaced)
        elif word == "q":
            self.add("string", raw(inside, mark), end, spaced)
        elif word == "qx" and mark == "'":
            self.add("shell", "", end, spaced, (tree.Const(inside),))
        else:
            self.add(
                "shell" if word == "qx" else "string",
                "",
                end,
                spaced,
                self.interpolated(inside, self.line),
            )

    def _operand_expected(self) -> bool:
        if not self.found:
            return True
        last = self.found[-1]
        if last.kind == "op":
            return last.value not in (")", "]", "}")
        return last.kind == "name" and (last.value in _BEFORE_OPERAND or last.value in KNOWN_LIST)

    def _heredoc(self, end: int, spaced: bool) -> bool:
        source = self.source
        if not source.startswith("<<", self.at):
            return False
        place = self.at + 2
        indented = source.startswith("~", place)
        place += indented
        quote = source[place : place + 1]
        if quote in ("'", '"'):
            tag, stop = delimited(source, place)
        else:
            stop = self.word_end(place)
            tag = source[place:stop]
            if not tag or tag[0].isdigit():
                return False
        self.waiting.append(Waiting(len(self.found), tag, indented, quote == "'"))
        self.add("string", "", stop, spaced, (tree.Const(""),))
        return True

    def inserted(self, text: str, at: int, line: int) -> tuple[tree.Node, int] | None:
        """A variable with its indexes, `@{[ … ]}` too; a list is joined by blanks."""
        sigil, following = text[at], text[at + 1 : at + 2]
        if not (following.isalpha() or following in "_{$:" or (sigil == "$" and following in "&0123456789")):
            return None
        end = variable_end(text, at, arrows=True, methods=False)
        if end <= at + 1:
            return None
        variable = text[at:end]
        if variable[1:2] == "{" and variable.endswith("}") and variable[2:-1].replace("_", "").isalnum():
            variable = sigil + variable[2:-1]
        value = self.read(PerlLexer(variable, self.read, line).tokens())
        return (tree.Call(tree.Name("join"), (tree.Const(" "), value), (), 0) if sigil == "@" else value), end
