"""Owns what commands of cmd.exe put out where that can be told: `echo`, `type`, and groups of them.

Running them is left to `interpret`, what loops make of the lines to `loops`.
"""

from __future__ import annotations

from chrono.scan.shell.cmdexe.machine import Machine
from chrono.scan.shell.cmdexe.parser import Group, Joined, Simple
from chrono.scan.shell.windows_host import words_of

UNTOLD = "\0"
_ECHO = ("echo ", "echo.", "echo(", "echo:", "echo,", "echo;", "echo/")


def output_of(m: Machine, node: object) -> str:
    """The text that a part of the tree puts out; what cannot be told of it is UNTOLD."""
    if isinstance(node, Simple):
        return "" if node.redirects else _simple(m, m.expand(node.text).strip(" \t@"))
    if isinstance(node, Group):
        return "".join(output_of(m, inner) for inner in node.body)
    if isinstance(node, Joined) and node.op != "|":
        return output_of(m, node.left) + (output_of(m, node.right) if node.op != "||" else "")
    return UNTOLD


def _simple(m: Machine, text: str) -> str:
    lower = text[:5].lower()
    if lower in _ECHO:
        said = text[5:]
        return "" if said.strip().lower() in ("on", "off") and lower == "echo " else said + "\n"
    if lower == "type ":
        found = [m.known_file(word) for word in words_of(text[5:])]
        return "".join(UNTOLD if one is None else one for one in found)
    return UNTOLD
