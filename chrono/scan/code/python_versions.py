"""Owns Python that the interpreter here does not read: syntax of newer versions, and of Python 2, in its own words.

Reading what it reads is left to `python_reader`. Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.scan.code import tree

MAX_LINES_LEFT_OUT = 12

_PARAMETERS = re.compile(r"^([ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+)\[[^\n()]*?\](?=[ \t]*[(:])", re.M)
_TYPE = re.compile(r"^([ \t]*)type[ \t]+(\w+)(?:\[[^\n=]*\])?[ \t]*=", re.M)
_EXCEPT = re.compile(r"^([ \t]*except\*?[ \t]+)([\w.]+(?:[ \t]*,[ \t]*[\w.]+)+)([ \t]*:)", re.M)
_TEMPLATE = re.compile(r"(?<![\w\"'])(?:[tT][rR]?|[rR][tT])(?=[\"'])")
_FORMATTED = re.compile(r"(?<![\w\"'])(?:[fF][rR]?|[rR][fF])(?=[\"'])")
_HOLE = re.compile(r"\{[^{}\n]*\}")

_PRINT = re.compile(r"^([ \t]*)print(?:[ \t]*>>[ \t]*[\w.]+[ \t]*,)?(?:[ \t]+(?![=(.])([^\n]+?))?[ \t]*,?[ \t]*$", re.M)
_EXEC = re.compile(r"^([ \t]*)exec[ \t]+(?![=(.])([^\n]+?)(?:[ \t]+in[ \t]+[^\n]+)?$", re.M)
_CAUGHT = re.compile(r"^([ \t]*except[ \t]+[\w.()]+)[ \t]*,[ \t]*(\w+)[ \t]*:", re.M)
_RAISED = re.compile(r"^([ \t]*raise[ \t]+[\w.]+)[ \t]*,[ \t]*([^\n]+)$", re.M)
_OCTAL = re.compile(r"(?<![\w.])0([0-7]+)(?![\w.])")


def read_tolerantly(
    source: str, read: Callable[[str], tuple[tree.Node, ...]], telling: Sequence[str]
) -> tuple[tree.Node, ...]:
    """Reads `source` as the version that it was written for may; raises SyntaxError where that cannot be told.

    A line that no rewriting makes readable is left out where it holds none of the words that a call with an effect
    needs. docs: decision 120.
    """
    for rewritten in (_of_newer(source), _of_two(source)):
        try:
            return _without_unread(rewritten, read, telling)
        except SyntaxError as error:
            last = error
    raise last


def _of_newer(source: str) -> str:
    """Type parameters, `type` statements, `except A, B:`, quotes in formatted texts, template texts."""
    source = _PARAMETERS.sub(r"\1", source)
    source = _TYPE.sub(r"\1\2 =", source)
    source = _EXCEPT.sub(r"\1(\2)\3", source)
    source = _TEMPLATE.sub("f", source)
    return "\n".join(_with_other_quotes(line) if _FORMATTED.search(line) else line for line in source.split("\n"))


def _with_other_quotes(line: str) -> str:
    """Since Python 3.12 a formatted text may hold its own quotation marks between braces."""
    opening = _FORMATTED.search(line)
    quote = line[opening.end()] if opening else '"'
    other = "'" if quote == '"' else '"'
    return _HOLE.sub(lambda found: found[0].replace(quote, other) if quote * 3 not in line else found[0], line)


def _of_two(source: str) -> str:
    """`print x`, `exec x`, `except E, e`, `raise E, x`, `0755`."""
    source = _PRINT.sub(lambda found: f"{found[1]}print({found[2] or ''})", source)
    source = _EXEC.sub(r"\1exec(\2)", source)
    source = _CAUGHT.sub(r"\1 as \2:", source)
    source = _RAISED.sub(r"\1(\2)", source)
    return _OCTAL.sub(r"0o\1", source).replace("<>", "!=")


def _without_unread(
    source: str, read: Callable[[str], tuple[tree.Node, ...]], telling: Sequence[str]
) -> tuple[tree.Node, ...]:
    lines = source.split("\n")
    for _ in range(MAX_LINES_LEFT_OUT):
        try:
            return read("\n".join(lines))
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            if not 0 <= at < len(lines) or any(word in lines[at] for word in telling):
                raise
            line = lines[at]
            indent = line[: len(line) - len(line.lstrip())]
            # A line that opens a block keeps it, as one that always runs.
            lines[at] = indent + ("if 1:" if line.split("#")[0].rstrip().endswith(":") else "pass")
    return read("\n".join(lines))
