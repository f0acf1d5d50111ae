"""Owns zsh's modifiers of a value: `${x:h}`, `$x:t:r` (zshexpn, section Modifiers).

What else zsh reads in its own way lies with the reader or the evaluation it differs from.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.expression import expression

MODIFIERS = expression(r"(?::[htreulaAPcq])+(?![A-Za-z0-9_])")
"""Behind a name without braces; anything else there is text of its own."""


def modified(value: str, letters: str) -> str | None:
    """The value after each modifier in turn; None where one is not known. What is unknown stays so."""
    for letter in letters:
        change = _CHANGES.get(letter)
        if change is None:
            return None
        if "\0" in value and letter not in "aAcPq":
            value = _of_unknown(value, letter)
        else:
            value = change(value)
    return value


def _of_unknown(value: str, letter: str) -> str:
    """Folders in front of what is unknown stay known: the folder of `/a/b/?` can be any from /a/b on."""
    if letter == "h" and "\0" not in value.rpartition("/")[2]:
        return _folder(value)
    return "\0"


def _folder(value: str) -> str:
    bare = value.rstrip("/")
    head, slash, _ = bare.rpartition("/")
    return head.rstrip("/") or "/" if slash else "/" if value.startswith("/") else "."


def _ending(value: str) -> str:
    stem, dot, ending = value.rpartition(".")
    return ending if dot and stem and "/" not in ending else ""


def _same(value: str) -> str:
    return value


_CHANGES: dict[str, Callable[[str], str]] = {
    "h": _folder,
    "t": lambda value: value.rstrip("/").rpartition("/")[2],
    "r": lambda value: value[: -len(_ending(value)) - 1] if _ending(value) else value,
    "e": _ending,
    "u": str.upper,
    "l": str.lower,
    **dict.fromkeys("aAPcq", _same),
}
