"""Owns a patch word by word: within changed lines only what differs is marked. Pure.

The patch itself comes from `store.diff`; colours and streams are `cli.render`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from chrono.cli.text import Part, Styled

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_COMPARE_AT_MOST_WORDS = 4000
"""Longer blocks are shown as removed and added as a whole: comparing them would take seconds."""


def word_rows(patch: str) -> Iterator[tuple[Part, ...]]:
    """The lines of a patch with changed lines merged: `[-removed-]` and `{+added+}` around words, in red and green."""
    removed: list[str] = []
    added: list[str] = []
    in_hunk = False
    for row in patch.splitlines():
        if in_hunk and row[:1] == "-" and not added:
            removed.append(row[1:])
            continue
        if in_hunk and row[:1] == "+":
            added.append(row[1:])
            continue
        if removed or added:
            yield from _merged(removed, added)
            removed, added = [], []
            if in_hunk and row[:1] == "-":
                removed.append(row[1:])
                continue
        if row.startswith("@@ "):
            in_hunk = True
            yield (Styled(row, "cyan"),)
        elif in_hunk and row[:1] in (" ", "\\"):
            yield (row[1:] if row[:1] == " " else Styled(row, "dim"),)
        else:
            in_hunk = False
            yield (Styled(row, "bold"),)
    yield from _merged(removed, added)


def _merged(removed: list[str], added: list[str]) -> Iterator[tuple[Part, ...]]:
    old, new = _WORD.findall("\n".join(removed)), _WORD.findall("\n".join(added))
    if not removed or not added or len(old) + len(new) > _COMPARE_AT_MOST_WORDS:
        yield from ((_gone(row),) for row in removed)
        yield from ((_come(row),) for row in added)
        return
    row: list[Part] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces = [("", "".join(old[a:b]))]
        else:
            pieces = [("-", "".join(old[a:b])), ("+", "".join(new[c:d]))]
        for mark, text in pieces:
            for number, piece in enumerate(text.split("\n")):
                if number:
                    yield tuple(row)
                    row = []
                if piece:
                    row.append(_gone(piece) if mark == "-" else _come(piece) if mark else piece)
    yield tuple(row)


def _gone(text: str) -> Part:
    return Styled(f"[-{text}-]", "red")


def _come(text: str) -> Part:
    return Styled(f"{{+{text}+}}", "green")
