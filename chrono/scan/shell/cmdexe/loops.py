"""Owns what the loops of cmd.exe go through: words, folders, numbers, lines of files and of what commands put out.

Running the body is left to `interpret`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.command import Pattern, Word
from chrono.scan.shell.cmdexe.expansion import percent
from chrono.scan.shell.cmdexe.machine import Machine
from chrono.scan.shell.cmdexe.output import UNTOLD, output_of
from chrono.scan.shell.cmdexe.parser import For, Parser
from chrono.scan.shell.values import join_text
from chrono.scan.shell.windows_host import words_of
from chrono.scan.wintouch import below, without_output

MAX_UNROLLED = 24
MAX_TOKENS = 26
_ESCAPED = re.compile(r'"[^"]*"?|\^(.)', re.S)
"""A quoted piece, or a sign with a caret: the line that holds the loop takes the caret, the inner one sees the sign."""
_OPTION = r"(?=\s+(?:tokens|delims|skip|eol|usebackq)\b|\s*\Z)"
_TOKENS = re.compile(r"\btokens=([\d,*-]*)", re.I)
_DELIMITERS = re.compile(r"\bdelims=(.*?)" + _OPTION, re.I | re.S)
_SKIPPED = re.compile(r"\bskip=(\d{1,4})", re.I)

Run = Callable[[Machine, object], None]
Row = tuple[str, ...]
"""The values of a loop's variable and of those behind it in one turn; NUL is an unknown run."""


def rows_of(m: Machine, node: For, run: Run) -> list[Row]:
    """What a loop goes through; `run` runs the commands whose lines a `for /f` reads."""
    source = m.expand(node.source)
    if "f" in node.mode:
        return _tokens(_lines(m, node, source, run), node.options.strip('"'))
    return [(value,) for value in (_counted(source) if node.mode == "l" else _listed_words(m, node, source))]


def _listed_words(m: Machine, node: For, source: str) -> list[str]:
    words = [word for word in without_output(tuple(words_of(source, signs=",;="))) if isinstance(word, str)]
    if "r" in node.mode:
        folder = words_of(m.expand(node.options))[:1] or ["."]
        return [_text(below(folder[0].rstrip("\\/"), word)) for word in words]
    if len(words) > MAX_UNROLLED:
        return [join_text(words) if len(words) <= 64 else UNTOLD]
    return words


def _text(word: Word) -> str:
    if isinstance(word, str):
        return word
    return "".join(UNTOLD if piece is None else piece for piece in word.pieces) if isinstance(word, Pattern) else UNTOLD


def _counted(source: str) -> list[str]:
    try:
        first, step, last = (int(part) for part in words_of(source, signs=",;="))
    except ValueError:
        return [UNTOLD]
    if step == 0:
        return [UNTOLD]
    found = range(first, last + (1 if step > 0 else -1), step)
    return [str(number) for number in found] if len(found) <= MAX_UNROLLED else [UNTOLD]


# --- lines


def _lines(m: Machine, node: For, source: str, run: Run) -> list[str]:
    """The lines that `for /f` reads: of a command, a string, or files."""
    back = "usebackq" in node.options.lower()
    quote = source[:1]
    if (quote == "'" and not back) or (quote == "`" and back):
        text = source[1:-1] if source[-1:] == quote and len(source) > 1 else source[1:]
        count = len(m.commands)
        nodes = Parser(percent(_ESCAPED.sub(_bare, text), m.value, m.args)).line()
        for inner in nodes:
            run(m, inner)
        return _listing(m, count) or "".join(output_of(m, inner) for inner in nodes).splitlines()
    if (quote == '"' and not back) or (quote == "'" and back):
        return [source.strip("\"'")]
    found: list[str] = []
    for name in words_of(source):
        m.emit(["type", name], builtin=True)
        text_of_file = m.known_file(name)
        found.extend([UNTOLD] if text_of_file is None else text_of_file.splitlines())
    return found


def _bare(found: re.Match[str]) -> str:
    return found.group(1) or found.group()


def _tokens(lines: list[str], options: str) -> list[Row]:
    """The lines cut into tokens, each line as the values of one turn."""
    wanted = _TOKENS.search(options)
    cut = _DELIMITERS.search(options)
    delimiters = cut.group(1) if cut else " \t"
    skipped = _SKIPPED.search(options)
    if skipped and UNTOLD not in "".join(lines):
        lines = lines[int(skipped.group(1)) :]
    places, rest = _places(wanted.group(1) if wanted else "1")
    rows = [_row(line, delimiters, places, rest) for line in lines if line.strip()]
    return [row for row in dict.fromkeys(rows) if any(row)][: MAX_UNROLLED + 1]


def _places(written: str) -> tuple[list[int], bool]:
    """`1,3-5*` as the places of tokens, and whether what is left of the line follows as one more."""
    places: list[int] = []
    for part in written.rstrip("*").split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            places.extend(range(int(first), min(int(last) if last.isdigit() else int(first), MAX_TOKENS) + 1))
    return places[:MAX_TOKENS], written.endswith("*")


def _row(line: str, delimiters: str, places: list[int], rest: bool) -> Row:
    if not delimiters or (rest and not places):
        return (line.lstrip(delimiters),)
    if UNTOLD in line:
        # Where the unknown run ends is not known, so neither is which token is which; a path is mostly one.
        whole = line if places[:1] == [1] and " " not in line else UNTOLD
        return (whole, *[UNTOLD] * (len(places) - 1 + rest))
    pieces: list[tuple[int, int]] = [found.span() for found in re.finditer(f"[^{re.escape(delimiters)}]+", line, re.S)]
    row = [line[slice(*pieces[place - 1])] if place <= len(pieces) else "" for place in places]
    if rest:
        behind = pieces[max(places)][0] if max(places) < len(pieces) else len(line)
        row.append(line[behind:])
    return tuple(row)


def _listing(m: Machine, count: int) -> list[str]:
    """The names that a listing command puts out, as patterns; nothing where it is no such command."""
    for command in m.commands[count:]:
        argv = [word if isinstance(word, str) else UNTOLD for word in command.argv]
        if argv[0].lower() != "dir":
            continue
        options = "".join(word.lower() for word in argv[1:] if word.startswith("/"))
        words = tuple(word for word in argv[1:] if not word.startswith("/")) or (".",)
        return [_entry(word, "/s" in options) for word in without_output(words) if isinstance(word, str)]
    return []


def _entry(word: str, deep: bool) -> str:
    """What `dir /b` puts out for a word: bare names, or with `/s` whole paths of what has such a name anywhere."""
    plain = word.replace("\\", "/")
    above, sign, last = plain.rpartition("/")
    if last in (".", "..") or (sign and "*" not in last and "?" not in last):
        above, sign, last = plain.rstrip("/"), "/", "*"
    if not deep:
        return last
    return _text(below(above if sign else ".", last))
