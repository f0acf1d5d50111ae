"""Owns reading redirections: operators, descriptors, the beginnings of here-documents.

Bodies of here-documents are read by `lexer` at the end of the line; what redirections do is left to `redirects`.
"""

from __future__ import annotations

import re

from chrono.scan.expression import expression
from chrono.scan.shell.lexer import Reader, skip_blanks
from chrono.scan.shell.syntax import Heredoc, Redir, Text, Word
from chrono.scan.shell.words import read_word

_REDIRECT = expression(r"([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(<<<|<<-|<<|<>|<&|<(?!\()|>>|>\||>&|>(?!\()|&>>|&>)")
_DASH_REDIRECT = expression(r"([0-9]+)?(<<-|<<|<>|<&|<|>>|>\||>&|>)")


def read_redirect(r: Reader) -> Redir | None:
    """The redirection that stands here, taken; None where none does."""
    dash = r.dialect == "dash"
    match = (_DASH_REDIRECT if dash else _REDIRECT).match(r.text, r.pos, r.end)
    if match is None:
        return None
    r.budget.spend(4)
    start = r.pos
    number, op = match.groups()
    r.pos = match.end()
    skip_blanks(r)
    target = read_word(r)
    if target is None:
        raise r.unparsed(f"{op} names no file")
    fd = int(number) if number and number.isdigit() and len(number) < 9 else None
    variable = number[1:-1] if number and number[0] == "{" else None
    heredoc = None
    if op in ("<<", "<<-"):
        heredoc = _heredoc(r, target, op == "<<-")
    return Redir(op, fd, variable, target, heredoc, *(r.fixed or (start, r.pos)))


def _heredoc(r: Reader, word: Word, strip: bool) -> Heredoc:
    """The delimiter is the word without its quotes; anything quoted in it keeps the body from being expanded."""
    quoted = any(not (isinstance(part, Text) and not part.quoted) for part in word.parts)
    delimiter = word.plain
    if delimiter is None:
        raw = (
            r.text[word.start : word.end]
            if r.fixed is None
            else "".join(part.text for part in word.parts if isinstance(part, Text))
        )
        delimiter = re.sub(r"\\(.)|[\"']", r"\1", raw)
    heredoc = Heredoc(delimiter, quoted, strip)
    r.pending.append(heredoc)
    return heredoc
