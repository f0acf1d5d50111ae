"""Owns reading words: quoting, substitutions, `$'…'`, process substitution, arrays, extended patterns.

`${…}` is left to `parameters`, what a word means to `expand`.
"""

from __future__ import annotations

import re

from chrono.scan.expression import expression
from chrono.scan.shell.ansi import decode_ansi
from chrono.scan.shell.braces import expand_braces, may_expand
from chrono.scan.shell.lexer import MAX_DEPTH, Reader, skip_newlines
from chrono.scan.shell.parameters import PAREN, Readers, read_braced, read_subscript
from chrono.scan.shell.syntax import Arith, ArrayValue, Param, Part, Process, Quoted, Subst, Text, Word
from chrono.scan.shell.zsh import MODIFIERS

_FAST = expression(r"[^ \t\n|&;()<>\"'`$\\\0*?\[{~]+(?=[ \t\n|&;)<>]|\Z)")
_COMMON = expression(r"(?:'([^'\0]*)'|\"([^\"$`\\\0]*)\"|(\")?\$([A-Za-z_][A-Za-z0-9_]*)(?(3)\"))(?=[ \t\n|&;)<>]|\Z)")
_RUN = expression(r"[^ \t\n|&;()<>\"'`$\\\0]+")
_DOUBLE_RUN = expression(r"[^\"\\$`\0]+")
_HEREDOC_RUN = expression(r"[^\\$`\0]+")
_NAME = expression(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_REST = expression(r"[A-Za-z0-9_]+")
_BACKQUOTE_RUN = expression(r"[^`\\]+")
_ARITH_RUN = expression(r"[^()$`\\\"\0]+")
_ANSI_END = expression(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_BOUNDARY = frozenset(" \t\n|&;()<>")
_SPECIAL = frozenset("*?[~{")


def read_word(r: Reader) -> Word | None:
    """The word at the position, or None where none starts."""
    match = _FAST.match(r.text, r.pos, r.end)
    if match is None:
        return _read_common(r) or _read_slow(r)
    start = r.pos
    r.pos = match.end()
    r.budget.work += 1
    text = match.group()
    return Word((Text(text, False),), *(r.fixed or (start, r.pos)), text)


def _read_common(r: Reader) -> Word | None:
    """A word that is one quoted text with nothing to expand in it, or one variable; `_read_slow` reads the same."""
    match = _COMMON.match(r.text, r.pos, r.end)
    if match is None or r.budget.depth >= MAX_DEPTH:
        return None
    start = r.pos
    r.pos = match.end()
    r.budget.spend(1)
    single, double, quote, name = match.groups()
    place = r.fixed or (start, r.pos)
    if name is not None:
        part: Part = Param(name, bare=True)
        if quote:
            r.budget.work += 1
            part = Quoted((part,))
        return Word((part,), *place)
    if double is None:
        return Word((Text(single, True),), *place, single)
    return Word((Quoted((Text(double, True),) if double else ()),), *place, double)


def _read_slow(r: Reader) -> Word | None:
    start = r.pos
    parts: list[Part] = []
    text = r.text
    while r.pos < r.end:
        char = text[r.pos]
        if char in _BOUNDARY:
            if char in "<>" and text.startswith("(", r.pos + 1) and r.dialect != "dash":
                parts.append(_process(r, char))
                continue
            if char == "(" and r.dialect == "zsh" and r.pos == start + 1 and text[start] == "=":
                # `=(…)`: as `<(…)`, through a file that can be read twice.
                r.pos = start
                parts = [_process(r, "<")]
                continue
            if char == "(" and parts and (_opens_pattern(parts[-1], r) or _opens_qualifier(r, parts)):
                pattern = _extended_pattern(r)
                parts.extend(pattern)
                if r.dialect == "zsh":
                    parts.extend(_qualifying_code(r, pattern, start))
                continue
            break
        match = _RUN.match(text, r.pos, r.end)
        if match is not None:
            parts.append(Text(match.group(), False))
            r.pos = match.end()
        else:
            read_special(r, parts, char)
        r.budget.spend(1)
    if r.pos == start:
        return None
    return Word(tuple(parts), *(r.fixed or (start, r.pos)), _plain(parts))


def _plain(parts: list[Part]) -> str | None:
    """The word's value where nothing in it is to be expanded."""
    out: list[str] = []
    for part in parts:
        if type(part) is Quoted:
            for inner in part.parts:
                if type(inner) is not Text or "\0" in inner.text:
                    return None
                out.append(inner.text)
        elif type(part) is Text:
            if "\0" in part.text or (not part.quoted and not _SPECIAL.isdisjoint(part.text)):
                return None
            out.append(part.text)
        else:
            return None
    return "".join(out)


def read_special(r: Reader, parts: list[Part], char: str) -> None:
    """One quoted or expanded part outside double quotes."""
    if char == "'":
        parts.append(_single(r))
    elif char == '"':
        parts.append(read_double(r))
    elif char == "\\":
        r.pos += 2
        if r.pos > r.end:
            r.pos = r.end
            parts.append(Text("\\", True))
        elif r.text[r.pos - 1] != "\n":
            parts.append(Text(r.text[r.pos - 1], True))
    elif char == "$":
        parts.append(read_dollar(r, quoted=False))
    elif char == "`":
        parts.append(_backquote(r, quoted=False))
    else:
        r.pos += 1
        parts.append(Text("\0", False))


def _single(r: Reader) -> Text:
    stop = r.text.find("'", r.pos + 1, r.end)
    if stop < 0:
        raise r.unparsed("a single quote is not closed")
    part = Text(r.text[r.pos + 1 : stop], True)
    r.pos = stop + 1
    return part


def read_double(r: Reader) -> Quoted:
    """From an opening double quote to behind the closing one."""
    r.pos += 1
    r.budget.enter()
    parts = _quoted_parts(r, _DOUBLE_RUN, '$`"\\', '"')
    r.budget.leave()
    if not r.ahead('"'):
        raise r.unparsed("a double quote is not closed")
    r.pos += 1
    return Quoted(tuple(parts))


def read_heredoc_body(r: Reader) -> Word:
    """The whole of a here-document that expands."""
    return r.word(_quoted_parts(r, _HEREDOC_RUN, "$`\\", ""), 0)  # type: ignore[arg-type]


def _quoted_parts(r: Reader, run: re.Pattern[str], escapable: str, closer: str) -> list[Part]:
    parts: list[Part] = []
    text = r.text
    while r.pos < r.end:
        match = run.match(text, r.pos, r.end)
        if match is not None:
            parts.append(Text(match.group(), True))
            r.pos = match.end()
            if r.pos >= r.end:
                break
        char = text[r.pos]
        if char == closer:
            break
        r.budget.spend(1)
        if char == "\\":
            following = text[r.pos + 1 : r.pos + 2] if r.pos + 1 < r.end else ""
            r.pos += 1 + len(following)
            if following != "\n":
                keep = "" if following and following in escapable else "\\"
                parts.append(Text(keep + following, True))
        elif char == "$":
            parts.append(read_dollar(r, quoted=True))
        elif char == "`":
            parts.append(_backquote(r, quoted=bool(closer)))
        else:
            r.pos += 1
            parts.append(Text("\0", True))
    return parts


def read_dollar(r: Reader, *, quoted: bool) -> Part:
    """What a dollar starts; a lone one is itself."""
    text, start = r.text, r.pos
    r.pos += 1
    while r.ahead("\\\n"):
        r.pos += 2
    char = r.peek()
    match = _NAME.match(text, r.pos, r.end)
    if match is not None:
        r.pos = match.end()
        if r.dialect == "zsh" and r.ahead("["):
            return Param(match.group(), read_subscript(r, READERS))
        if r.dialect == "zsh" and r.ahead(":"):
            modifiers = MODIFIERS.match(text, r.pos, r.end)
            if modifiers is not None:
                r.pos = modifiers.end()
                letters = modifiers.group().replace(":", "")
                return Param(match.group(), op=":", arg=Word((), r.pos, r.pos, letters))
        return Param(_continued_name(r, match.group()), bare=True)
    if char == "{":
        r.budget.enter()
        part = read_braced(r, READERS, quoted=quoted)
        r.budget.leave()
        return part
    if char == "(":
        return _parenthesis(r)
    if char and char in "@*#?-$!0123456789":
        r.pos += 1
        return Param(char)
    if r.dialect != "dash":
        if char == "'" and not quoted:
            return _ansi(r)
        if char == '"' and not quoted:
            return read_double(r)
        if char == "[":
            return _old_arithmetic(r)
    r.pos = max(start + 1, r.pos)
    return Text("$", quoted)


def _continued_name(r: Reader, name: str) -> str:
    """A name goes on behind a continued line."""
    while r.ahead("\\\n"):
        match = _NAME_REST.match(r.text, r.pos + 2, r.end)
        if match is None:
            break
        name += match.group()
        r.pos = match.end()
    return name


def _read_body_until(r: Reader, closers: frozenset[str], closer: str) -> Subst:
    """Commands from the position to behind `closer`."""
    r.budget.enter()
    r.substitutions += 1
    body = r.read_body(r, closers)
    r.substitutions -= 1
    r.budget.leave()
    if not r.ahead(closer):
        raise r.unparsed("a command substitution is not closed")
    r.pos += 1
    return Subst(body, inline=closer == "}")


def _parenthesis(r: Reader) -> Part:
    """`$((…))` where it closes as one, else `$(…)`."""
    if r.text.startswith("((", r.pos, r.end):
        expression = read_arithmetic(r)
        if expression is not None:
            return Arith(expression)
    r.pos += 1
    return _read_body_until(r, PAREN, ")")


def read_arithmetic(r: Reader) -> Word | None:
    """The expression between `((` and `))`; None, with the position untouched, where they do not belong together."""
    start, heredocs = r.pos, len(r.pending)
    if start in r.not_arithmetic:
        return None
    r.pos += 2
    r.budget.enter()
    parts = _arithmetic_parts(r, ")")
    r.budget.leave()
    if parts is not None and r.ahead("))"):
        r.pos += 2
        return Word(tuple(parts), *(r.fixed or (start, r.pos)))
    r.not_arithmetic.add(start)
    r.pos = start
    del r.pending[heredocs:]
    return None


def _old_arithmetic(r: Reader) -> Part:
    start = r.pos
    r.pos += 1
    depth = 0
    parts: list[Part] = []
    while r.pos < r.end and (depth or r.text[r.pos] != "]"):
        char = r.text[r.pos]
        r.budget.spend(1)
        if char in "$`\\\"'\0":
            read_special(r, parts, char)
        else:
            depth += (char == "[") - (char == "]")
            parts.append(Text(char, True))
            r.pos += 1
    if r.pos >= r.end:
        r.pos = start
        return Text("$", False)
    r.pos += 1
    return Arith(Word(tuple(parts), *(r.fixed or (start, r.pos))))


def _arithmetic_parts(r: Reader, closer: str) -> list[Part] | None:
    """Parts up to the unpaired `closer`; None at the end of the text."""
    parts: list[Part] = []
    depth = 0
    while r.pos < r.end:
        match = _ARITH_RUN.match(r.text, r.pos, r.end)
        if match is not None:
            parts.append(Text(match.group(), True))
            r.pos = match.end()
            continue
        r.budget.spend(1)
        char = r.text[r.pos]
        if char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                return parts
            depth -= 1
        elif char == "\\" and r.ahead("\\\n"):
            r.pos += 2
            continue
        elif char == "$":
            parts.append(read_dollar(r, quoted=True))
            continue
        elif char != '"':
            read_special(r, parts, char)
            continue
        r.pos += 1
        if char != '"':
            parts.append(Text(char, True))
    return None


def read_expression(r: Reader, closers: str) -> Word:
    """One of the three expressions of `for ((…; …; …))`, up to one of `closers` outside parentheses."""
    start, depth = r.pos, 0
    parts: list[Part] = []
    while r.pos < r.end:
        char = r.text[r.pos]
        if depth == 0 and char in closers:
            break
        r.budget.spend(1)
        if char in "$`\\\"'\0":
            read_special(r, parts, char)
            continue
        depth += (char == "(") - (char == ")")
        parts.append(Text(char, True))
        r.pos += 1
    return Word(tuple(parts), *(r.fixed or (start, r.pos)))


def _backquote(r: Reader, *, quoted: bool) -> Subst:
    """Backquotes: their text loses one level of backslashes and is then read on its own."""
    start = r.pos
    position = start + 1
    out: list[str] = []
    r.budget.spend(4)
    escapable = '$`\\"' if quoted else "$`\\"
    while True:
        match = _BACKQUOTE_RUN.match(r.text, position, r.end)
        if match is not None:
            out.append(match.group())
            position = match.end()
        if position >= r.end:
            raise r.unparsed("a backquote is not closed")
        if r.text[position] == "`":
            break
        r.budget.spend(1)
        following = r.text[position + 1 : position + 2]
        out.append(following if following and following in escapable else "\\" + following)
        position += 2
    r.pos = position + 1
    reader = r.inner("".join(out), start, r.pos)
    r.budget.enter()
    body = reader.read_body(reader, frozenset())
    r.budget.leave()
    if reader.pos < reader.end:
        raise r.unparsed("what stands in backquotes is not understood")
    return Subst(body)


def _ansi(r: Reader) -> Text:
    match = _ANSI_END.match(r.text, r.pos + 1, r.end)
    if match is None:
        raise r.unparsed("a $' quote is not closed")
    r.pos = match.end()
    return Text(decode_ansi(match.group()[:-1]), True)


def _process(r: Reader, op: str) -> Process:
    r.pos += 2
    subst = _read_body_until(r, PAREN, ")")
    return Process(op, subst.body)


def _opens_pattern(last: Part, r: Reader) -> bool:
    return type(last) is Text and not last.quoted and last.text[-1:] in ("?", "*", "+", "@", "!")


def _opens_qualifier(r: Reader, parts: list[Part]) -> bool:
    """zsh's `*.o(N)`; behind a plain name a parenthesis makes a function."""
    return r.dialect == "zsh" and any(
        isinstance(part, Text) and not part.quoted and not _SPECIAL.isdisjoint(part.text) for part in parts
    )


_CODE = expression(r"\((?:#q)?[^:'+]*?(?:e(\W)(.*?)\1|\+(\w+))", re.DOTALL)


def _qualifying_code(r: Reader, pattern: list[Part], start: int) -> list[Part]:
    """`*(e:'…':)` and `*(+name)` run code for each file (zshexpn, Glob Qualifiers): as a substitution would."""
    pieces = [piece for part in pattern for piece in (part.parts if isinstance(part, Quoted) else (part,))]
    match = _CODE.match("".join(piece.text for piece in pieces if isinstance(piece, Text)))
    if match is None:
        return []
    reader = r.inner(match.group(2) or match.group(3) or "", start, r.pos)
    return [Process("<", reader.read_body(reader, frozenset()))]


def _extended_pattern(r: Reader) -> list[Part]:
    """`@(a|b)` and its kin, as unquoted text and what is expanded inside."""
    parts: list[Part] = []
    depth = 0
    r.budget.enter()
    while r.pos < r.end:
        char = r.text[r.pos]
        r.budget.spend(1)
        match = _RUN.match(r.text, r.pos, r.end)
        if match is not None:
            parts.append(Text(match.group(), False))
            r.pos = match.end()
        elif char in _BOUNDARY:
            parts.append(Text(char, char in " \t\n&;<>"))
            depth += (char == "(") - (char == ")")
            r.pos += 1
            if depth == 0:
                r.budget.leave()
                return parts
        else:
            read_special(r, parts, char)
    raise r.unparsed("a pattern's parenthesis is not closed")


def read_array(r: Reader) -> ArrayValue:
    """The list in `name=(…)`, from its parenthesis to behind the closing one."""
    r.pos += 1
    r.budget.enter()
    items: list[tuple[Word | None, bool, Word]] = []
    while True:
        skip_newlines(r)
        if r.ahead(")"):
            r.pos += 1
            break
        subscript, append = None, False
        if r.ahead("["):
            subscript, append = _array_subscript(r)
        value = read_word(r)
        if value is None:
            if subscript is None:
                raise r.unparsed("an array is not closed")
            value = r.word((), r.pos, "")
        if subscript is None and value.plain is None and may_expand(value) and r.dialect != "dash":
            items += [(None, False, word) for word in expand_braces(value)]
            r.budget.spend(1)
        else:
            items.append((subscript, append, value))
    r.budget.leave()
    return ArrayValue(tuple(items))


def _array_subscript(r: Reader) -> tuple[Word | None, bool]:
    """`[subscript]=` or `[subscript]+=`; without them the bracket belongs to the word."""
    start = r.pos
    subscript = read_subscript(r, READERS)
    if subscript is not None and (r.ahead("=") or r.ahead("+=")):
        append = r.ahead("+")
        r.pos += 2 if append else 1
        return subscript, append
    r.pos = start
    return None, False


def _quoted_expansion(r: Reader, char: str) -> Part:
    """An expansion in the word of a `${…}` between double quotes, where bash reads `$'…'` too."""
    if r.ahead("$'") and r.dialect != "dash":
        r.pos += 1
        return _ansi(r)
    return read_dollar(r, quoted=True) if char == "$" else _backquote(r, quoted=True)


READERS = Readers(read_double, read_special, _quoted_expansion, _read_body_until)
