"""Owns the grammar of commands: lists, pipelines, compound commands, functions, redirections.

Words are left to `words`, `[[ … ]]` to `conditional`. Anything that is not understood raises Unparsed: there is no
best effort, but whole lines in front of the fault are kept, because a shell has run them by then.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import Unparsed
from chrono.scan.expression import expression
from chrono.scan.shell import zsh_blocks
from chrono.scan.shell.braces import expand_braces, may_expand
from chrono.scan.shell.lexer import Budget, Reader, following, line_end, skip_blanks, skip_newlines
from chrono.scan.shell.parameters import read_subscript
from chrono.scan.shell.plain import BLANKS, DECLARES, FIRST, PLAIN, PREFIXES, read_plain_command
from chrono.scan.shell.redirections import read_redirect
from chrono.scan.shell.syntax import (
    AndOr,
    ArithCommand,
    Assign,
    Body,
    Branch,
    Case,
    Conditional,
    Coproc,
    Declared,
    For,
    ForArith,
    Function,
    Group,
    If,
    Item,
    Node,
    Pipeline,
    Redir,
    Redirected,
    Simple,
    Subshell,
    Text,
    While,
    Word,
)
from chrono.scan.shell.words import (
    READERS,
    read_arithmetic,
    read_array,
    read_expression,
    read_heredoc_body,
    read_word,
)
from chrono.tuples import NamedTuple

_EDGE = r"(?=[ \t\n;&|()<>]|\\\n|\Z)"
_CLOSER = expression(rf"(?:then|else|elif|fi|do|done|esac|\}}){_EDGE}")
_KEYWORD_STARTS = frozenset("iwufcst![{")
_COMMAND_ENDS = frozenset(("", "\n", ";", "|", ")"))
_DOUBLED = frozenset("&|")
_CLOSER_STARTS = frozenset("tefd}")
_KEYWORD = expression(rf"(?:if|while|until|foreach|for|case|select|function|coproc|time|!|\[\[|\{{){_EDGE}")
_ASSIGN = expression(r"[A-Za-z_][A-Za-z0-9_]*(?=\[|\+?=)")
_IN = expression(rf"in{_EDGE}")
_ESAC = expression(rf"esac{_EDGE}")
_DO_WORD = expression(rf"do{_EDGE}")
_NAME = expression(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_WORDS = expression(rf"[ \t]*({PLAIN}(?:[ \t]+{PLAIN})*)(?=[ \t\n|&;)]|\Z)")
_FIRST_WORDS = expression(rf"[ \t]*({FIRST}(?:[ \t]+{PLAIN})*)(?=[ \t\n|&;)]|\Z)")
_PLAIN_WORD = expression(rf"[ \t]*({PLAIN})(?=[ \t\n|&;)]|\Z)")
_TIME_OPTION = expression(rf"(?:-p|--){_EDGE}")
_CASE_ENDS = frozenset((";;", ";&", ";;&", ";|"))
_FUNCTION_STOP = expression(r"[^ \t\n;&|()<>\"'`$\\\0]+")


_new = tuple.__new__
"""What the constructors of values come to, for those that there are many of."""


class Parsed(NamedTuple):
    """`fault` tells why reading stopped; then `body` holds the lines before it."""

    body: Body
    fault: Unparsed | None


def parse(text: str, dialect: str, budget: Budget, fixed: tuple[int, int] | None = None) -> Parsed:
    """The commands of a text. Raises LimitReached."""
    reader = Reader(text, dialect, budget, read_body, read_heredoc_body, fixed)
    lines: list[Item] = []
    depth = budget.depth
    try:
        while True:
            skip_newlines(reader)
            if reader.pos >= reader.end:
                return Parsed(tuple(lines), None)
            lines.extend(_line(reader))
    except Unparsed as fault:
        budget.depth = depth
        return Parsed(tuple(lines), fault)


def _line(r: Reader) -> list[Item]:
    """Commands up to the end of the line."""
    items: list[Item] = []
    while (char := following(r)) and char != "\n":
        items.append(_ended(r, _and_or(r)))
    if char:
        line_end(r)
    return items


def read_body(r: Reader, closers: frozenset[str]) -> Body:
    """Commands up to one of `closers` (left in place) or, where there are none, to the end."""
    items: list[Item] = []
    while True:
        skip_newlines(r)
        if r.pos >= r.end or _at_closer(r, closers):
            return tuple(items)
        items.append(_item(r))


def _at_closer(r: Reader, closers: frozenset[str]) -> bool:
    char = r.text[r.pos]
    if char == ")":
        if ")" in closers:
            return True
        raise r.unparsed("a ) stands alone")
    if char == ";":
        return ";;" in closers and r.text[r.pos : r.pos + 2] in _CASE_ENDS
    closer = _closer(r)
    if not closer or closer in closers:
        return bool(closer)
    raise r.unparsed(f"{closer} stands where no such block is open")


def _item(r: Reader) -> Item:
    return _ended(r, _and_or(r))


def _ended(r: Reader, node: Node) -> Item:
    """The command with what separates it from the next one taken."""
    char = following(r)
    if char == "&":
        r.pos += 1
        return Item(node, True)
    if char == ";" and r.text[r.pos : r.pos + 2] not in _CASE_ENDS:
        r.pos += 1
        if r.dialect == "zsh" and r.peek() in ("&", "|"):
            r.pos += 1
    elif char and char not in ("\n);}" if r.dialect == "zsh" else "\n);"):
        if _closer(r):
            # `if (a) then`: behind a compound command no separator is needed.
            return Item(node, False)
        raise r.unparsed(f"unexpected {char}")
    return Item(node, False)


def _operator(r: Reader, first: str) -> bool:
    """Whether the doubled operator stands here, also across a continued line; taken if so."""
    if r.ahead(first + first):
        r.pos += 2
        return True
    if r.ahead(first + "\\\n" + first):
        r.pos += 4
        return True
    return False


def _and_or(r: Reader) -> Node:
    first = _pipeline(r)
    items: list[tuple[str, Node]] = []
    while (op := following(r)) in _DOUBLED and _operator(r, op):
        skip_newlines(r)
        items.append((op + op, _pipeline(r)))
    return AndOr((("", first), *items)) if items else first


def _keyword(r: Reader) -> str:
    """The word that begins a compound command or goes before one, where one stands here."""
    if r.peek() not in _KEYWORD_STARTS:
        return ""
    match = _KEYWORD.match(r.text, r.pos, r.end)
    return match.group() if match else ""


def _closer(r: Reader) -> str:
    """The word that ends a compound command, where one stands here."""
    if r.peek() not in _CLOSER_STARTS:
        return ""
    match = _CLOSER.match(r.text, r.pos, r.end)
    return match.group() if match else ""


def _pipeline(r: Reader) -> Node:
    first = read_plain_command(r)
    if first is not None and (r.pos >= r.end or r.text[r.pos] != "|"):
        return first
    negated = timed = bare = False
    while first is None and (keyword := _keyword(r)):
        if keyword == "!":
            negated = not negated
            bare = True
        elif keyword == "time" and r.dialect != "dash":
            timed = bare = True
            r.pos += 4
            skip_blanks(r)
            while (option := _TIME_OPTION.match(r.text, r.pos, r.end)) is not None:
                r.pos = option.end()
                skip_blanks(r)
            continue
        else:
            break
        r.pos += 1
        skip_blanks(r)
    if bare and (r.pos >= r.end or r.text[r.pos] in "\n;&|)"):
        return Pipeline((), negated, timed)
    commands = [_command(r, keyword) if first is None else first]
    while following(r) == "|" and not (r.ahead("||") or r.ahead("|\\\n|")):
        r.pos += 1
        if r.ahead("&"):
            r.pos += 1
        skip_newlines(r)
        if _keyword(r) == "!":
            # zsh takes `a | ! b`; the status is all that changes.
            r.pos += 1
            skip_blanks(r)
        commands.append(read_plain_command(r) or _command(r))
    if len(commands) == 1 and not negated and not timed:
        return commands[0]
    return Pipeline(tuple(commands), negated, timed)


def _command(r: Reader, keyword: str | None = None) -> Node:
    """One command; `keyword` is what stands here, where that is known."""
    r.budget.spend(3)
    start = r.pos
    char = r.peek()
    if char == "(":
        return _with_redirects(r, _parenthesis(r), start)
    if keyword is None:
        keyword = _keyword(r)
    reader = _COMPOUND.get(keyword) if keyword else None
    if reader is None or (
        r.dialect != "zsh" and (keyword == "foreach" or (r.dialect == "dash" and keyword in _NOT_DASH))
    ):
        if char in _CLOSER_STARTS and _closer(r):
            raise r.unparsed("a command is missing here")
        return _simple(r)
    r.pos += len(keyword)
    r.budget.enter()
    node = reader(r)
    r.budget.leave()
    # Their redirections belong to the command inside. Asked by keyword: narrowing the tree's recursive union with
    # isinstance costs the type checker minutes.
    return node if keyword in _REDIRECTED_INSIDE else _with_redirects(r, node, start)


def _with_redirects(r: Reader, node: Node, start: int) -> Node:
    redirs: list[Redir] = []
    while True:
        skip_blanks(r)
        redir = read_redirect(r)
        if redir is None:
            break
        redirs.append(redir)
    if not redirs:
        return node
    return Redirected(node, tuple(redirs), *(r.fixed or (start, r.pos)))


def _parenthesis(r: Reader) -> Node:
    if r.dialect != "dash" and r.ahead("(("):
        expression = read_arithmetic(r)
        if expression is not None:
            return ArithCommand(expression)
    if r.dialect == "zsh" and zsh_blocks.has_no_name(r):
        return zsh_blocks.anonymous(r, _GRAMMAR)
    r.pos += 1
    r.budget.enter()
    body = read_body(r, _PAREN)
    r.budget.leave()
    _expect(r, ")")
    return Subshell(body)


def _expect(r: Reader, closer: str) -> None:
    if not r.ahead(closer):
        raise r.unparsed(f"{closer} is missing")
    r.pos += len(closer)


_PAREN = frozenset((")",))
_THEN = frozenset(("then",))
_AFTER_THEN = frozenset(("elif", "else", "fi"))
_FI = frozenset(("fi",))
_DO = frozenset(("do",))
_DONE = frozenset(("done",))
_BRACE = frozenset(("}",))
_BRANCH = frozenset((";;", "esac"))
_BRACE_BRANCH = frozenset((";;", "}"))


def _if(r: Reader) -> Node:
    clauses: list[tuple[Body, Body]] = []
    otherwise: Body | None = None
    while True:
        condition = _condition_before(r, _THEN)
        if r.dialect == "zsh" and not r.ahead("then"):
            clauses.append((condition, zsh_blocks.block(r, _GRAMMAR)))
            skip_blanks(r)
            word = _closer(r)
            if word not in ("elif", "else"):
                return If(tuple(clauses), None)
            r.pos += 4
            if word == "else":
                return If(tuple(clauses), zsh_blocks.block(r, _GRAMMAR))
            continue
        _expect(r, "then")
        clauses.append((condition, read_body(r, _AFTER_THEN)))
        if r.ahead("elif"):
            r.pos += 4
            continue
        if r.ahead("else"):
            r.pos += 4
            otherwise = read_body(r, _FI)
        _expect(r, "fi")
        return If(tuple(clauses), otherwise)


def _condition_before(r: Reader, closers: frozenset[str]) -> Body:
    """Commands up to `then` or `do`; in zsh also up to a block or a command right behind the last one."""
    if r.dialect != "zsh":
        return read_body(r, closers)
    items: list[Item] = []
    while True:
        skip_newlines(r)
        if r.pos >= r.end or _at_closer(r, closers):
            return tuple(items)
        node = _and_or(r)
        if zsh_blocks.stands_here(r) and not _closer(r):
            return (*items, Item(node, False))
        items.append(_ended(r, node))


def _while(r: Reader) -> Node:
    return _loop(r, until=False)


def _until(r: Reader) -> Node:
    return _loop(r, until=True)


def _loop(r: Reader, *, until: bool) -> Node:
    condition = _condition_before(r, _DO)
    if r.dialect == "zsh" and not r.ahead("do"):
        return While(condition, zsh_blocks.block(r, _GRAMMAR), until)
    _expect(r, "do")
    body = read_body(r, _DONE)
    _expect(r, "done")
    return While(condition, body, until)


def _do_body(r: Reader) -> Body:
    """`do … done`, or the old `{ … }` that bash and zsh still take."""
    skip_newlines(r)
    if r.ahead("{"):
        return zsh_blocks.braced(r, _GRAMMAR)
    if not _DO_WORD.match(r.text, r.pos, r.end):
        if r.dialect == "zsh":
            return zsh_blocks.block(r, _GRAMMAR)
        raise r.unparsed("do is missing")
    r.pos += 2
    body = read_body(r, _DONE)
    _expect(r, "done")
    return body


def _for(r: Reader) -> Node:
    skip_blanks(r)
    if r.ahead("((") and r.dialect != "dash":
        return _for_arithmetic(r)
    return _for_words(r, select=False)


def _foreach(r: Reader) -> Node:
    return _for_words(r, select=False, body=lambda reader: zsh_blocks.foreach_body(reader, _GRAMMAR))


def _select(r: Reader) -> Node:
    return _for_words(r, select=True)


def _for_arithmetic(r: Reader) -> Node:
    r.pos += 2
    expressions = []
    for closer in (";", ";", ")"):
        expressions.append(read_expression(r, closer))
        _expect(r, closer)
    _expect(r, ")")
    skip_blanks(r)
    if r.peek() == ";":
        r.pos += 1
    return ForArith(expressions[0], expressions[1], expressions[2], _do_body(r))


def _for_words(r: Reader, *, select: bool, body: Callable[[Reader], Body] = _do_body) -> Node:
    skip_blanks(r)
    match = _FUNCTION_STOP.match(r.text, r.pos, r.end)
    if match is None:
        raise r.unparsed("a loop has no variable")
    name = match.group()
    r.pos = match.end()
    skip_newlines(r)
    names = zsh_blocks.more_names(r) if r.dialect == "zsh" and not select else []
    words: tuple[Word, ...] | None = None
    if _IN.match(r.text, r.pos, r.end):
        r.pos += 2
        words = _words(r)
    elif r.dialect == "zsh" and r.ahead("("):
        r.pos += 1
        words = _words(r)
        _expect(r, ")")
    skip_blanks(r)
    if r.peek() == ";":
        r.pos += 1
    held = body(r)
    return zsh_blocks.for_each_name(name, names, words, held) if names else For(name, words, held, select)


def _words(r: Reader) -> tuple[Word, ...]:
    words: list[Word] = []
    while True:
        skip_blanks(r)
        word = read_word(r)
        if word is None:
            return tuple(words)
        _add(r, words, word)


def _add(r: Reader, words: list[Word], word: Word) -> None:
    if word.plain is None and r.dialect != "dash" and may_expand(word):
        expanded = expand_braces(word)
        r.budget.spend(len(expanded))
        words.extend(expanded)
    else:
        words.append(word)


def _case(r: Reader) -> Node:
    skip_blanks(r)
    word = read_word(r)
    if word is None:
        raise r.unparsed("case has no word")
    skip_newlines(r)
    braces = r.dialect == "zsh" and r.ahead("{")
    _expect(r, "{" if braces else "in")
    branches: list[Branch] = []
    while True:
        skip_newlines(r)
        if r.ahead("}") if braces else _ESAC.match(r.text, r.pos, r.end):
            r.pos += 1 if braces else 4
            return Case(word, tuple(branches))
        patterns = _patterns(r)
        body = read_body(r, _BRACE_BRANCH if braces else _BRANCH)
        end = next((e for e in (";;&", ";;", ";&", ";|") if r.ahead(e)), "")
        r.pos += len(end)
        branches.append(Branch(patterns, body, end or ";;"))
        if not end and not r.ahead("}" if braces else "esac"):
            raise r.unparsed("case is not closed")


def _patterns(r: Reader) -> tuple[Word, ...]:
    if r.ahead("("):
        r.pos += 1
    patterns: list[Word] = []
    while True:
        skip_blanks(r)
        word = read_word(r)
        if word is None:
            raise r.unparsed("a case pattern is missing")
        patterns.append(word)
        skip_blanks(r)
        if r.ahead("|"):
            r.pos += 1
            continue
        _expect(r, ")")
        return tuple(patterns)


def _group(r: Reader) -> Node:
    body = read_body(r, _BRACE)
    _expect(r, "}")
    return zsh_blocks.with_always(r, _GRAMMAR, body) if r.dialect == "zsh" else Group(body)


def _conditional(r: Reader) -> Node:
    from chrono.scan.shell.conditional import read_conditional

    start = r.pos - 2
    test = read_conditional(r)
    return Conditional(test, *(r.fixed or (start, r.pos)))


def _function(r: Reader) -> Node:
    skip_blanks(r)
    if r.dialect == "zsh" and r.ahead("{"):
        return zsh_blocks.anonymous(r, _GRAMMAR)
    match = _FUNCTION_STOP.match(r.text, r.pos, r.end)
    if match is None:
        raise r.unparsed("a function has no name")
    r.pos = match.end()
    skip_blanks(r)
    if r.ahead("("):
        r.pos += 1
        skip_blanks(r)
        _expect(r, ")")
    return _function_body(r, match.group())


def _function_body(r: Reader, name: str) -> Node:
    skip_newlines(r)
    r.budget.enter()
    body = _command(r)
    r.budget.leave()
    if isinstance(body, Simple) and r.dialect == "bash":
        raise r.unparsed("a function has no body")
    return Function(name, body)


def _coproc(r: Reader) -> Node:
    skip_blanks(r)
    name = "COPROC"
    match = _NAME.match(r.text, r.pos, r.end)
    if match is not None and not _keyword(r):
        start = r.pos
        r.pos = match.end()
        skip_blanks(r)
        if r.peek() == "(" or _keyword(r):
            name = match.group()
        else:
            r.pos = start
    return Coproc(name, _command(r))


_COMPOUND: dict[str, Callable[[Reader], Node]] = {
    "if": _if,
    "while": _while,
    "until": _until,
    "for": _for,
    "foreach": _foreach,
    "case": _case,
    "select": _select,
    "function": _function,
    "coproc": _coproc,
    "[[": _conditional,
    "{": _group,
}
_GRAMMAR = zsh_blocks.Grammar(read_body, _item, _and_or, _command, _words)
_NOT_DASH = frozenset(("select", "function", "coproc", "[["))
_REDIRECTED_INSIDE = frozenset(("function", "coproc"))


class _Parts:
    """A simple command as it is read. `declares`: assignments among its arguments are such; `last`: where it ends."""

    __slots__ = ("assigns", "declares", "last", "redirs", "words")

    def __init__(self, start: int) -> None:
        self.assigns: list[Assign] = []
        self.words: list[Word] = []
        self.redirs: list[Redir] = []
        self.declares = False
        self.last = start

    def add_word(self, r: Reader, word: Word) -> None:
        self.note(word)
        self.last = r.pos
        _add(r, self.words, word)

    def note(self, word: Word) -> None:
        """Remembers what the words so far mean for the next one."""
        words = self.words
        if not words:
            self.declares = word.plain in DECLARES or word.plain in PREFIXES
        elif self.declares and len(words) == 1 and words[0].plain in PREFIXES:
            self.declares = word.plain in DECLARES


def _simple(r: Reader) -> Node:
    start = r.pos
    parts = _Parts(start)
    while (_plain_words(r, parts) or _part(r, parts)) and following(r) not in _COMMAND_ENDS:
        pass
    words = parts.words
    if r.peek() == "(":
        if len(words) == 1 and not parts.assigns and not parts.redirs:
            return _short_function(r, words[0])
        raise r.unparsed("unexpected (")
    if not words and not parts.assigns and not parts.redirs:
        raise r.unparsed(f"unexpected {r.peek() or 'end'}".replace("\n", "end of line"))
    return Simple(tuple(parts.assigns), tuple(words), tuple(parts.redirs), *(r.fixed or (start, parts.last)))


def _plain_words(r: Reader, parts: _Parts) -> bool:
    """Takes words without anything special in them, which most are; an assignment ends them."""
    words, fixed = parts.words, r.fixed
    # One by one where an assignment may end them: looking at all the rest for each would be quadratic.
    wanted = _PLAIN_WORD if parts.declares else _PLAIN_WORDS if words else _FIRST_WORDS
    match = wanted.match(r.text, r.pos, r.end)
    if match is None:
        return False
    begin = end = match.start(1)
    for text in BLANKS.split(match[1]):
        if (parts.declares and "=" in text) or (text == "}" and r.dialect == "zsh"):
            break
        start = r.text.find(text, end)
        end = start + len(text)
        first, last = fixed or (start, end)
        word = _new(Word, ((_new(Text, (text, False)),), first, last, text))
        if len(words) < 2:
            parts.note(word)
        words.append(word)
        r.budget.work += 1
    if end == begin:
        return False
    r.pos = parts.last = end
    return True


def _part(r: Reader, parts: _Parts) -> bool:
    """Takes a word, an assignment or a redirection; False where the command ends."""
    skip_blanks(r)
    char = r.text[r.pos] if r.pos < r.end else "\n"
    if char in "<>&" or char.isdigit() or char == "{":
        redir = read_redirect(r)
        if redir is not None:
            parts.redirs.append(redir)
            parts.last = r.pos
            return True
    if char in "\n;&|)(" or (char == "}" and r.dialect == "zsh"):
        return False
    if not parts.words or parts.declares:
        assign = _assignment(r)
        if assign is not None:
            if parts.words:
                parts.words.append(Word((Declared(assign),), assign.value.start, assign.value.end))
            else:
                parts.assigns.append(assign)
            parts.last = r.pos
            return True
    word = read_word(r)
    if word is None:
        return False
    parts.add_word(r, word)
    return True


def _assignment(r: Reader) -> Assign | None:
    match = _ASSIGN.match(r.text, r.pos, r.end)
    if match is None:
        return None
    start = r.pos
    r.pos = match.end()
    index = read_subscript(r, READERS) if r.ahead("[") else None
    append = r.ahead("+=")
    if not append and not r.ahead("="):
        r.pos = start
        return None
    r.pos += 2 if append else 1
    value_start = r.pos
    if r.ahead("(") and r.dialect != "dash":
        array = read_array(r)
        value = Word((array,), *(r.fixed or (value_start, r.pos)))
    else:
        value = read_word(r) or Word((), *(r.fixed or (value_start, value_start)), "")
    return Assign(match.group(), index, append, value)


def _short_function(r: Reader, name: Word) -> Node:
    r.pos += 1
    skip_blanks(r)
    _expect(r, ")")
    return _function_body(r, r.text[name.start : name.end] if name.plain is None else name.plain)
