"""Owns what the lexers of Perl, PHP and Ruby share: quotes with any bracket, escapes, heredocs, variables in strings.

Which quotes a language has is left to its reader.
"""

from __future__ import annotations

MAX_PARTS = 2_000
"""A string with more expressions inside is unknown from there on."""

CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "e": "\x1b",
    "f": "\f",
    "b": "\b",
    "0": "\0",
    "s": " ",
    "v": "\v",
}


def delimited(source: str, at: int, *, inner: str = "") -> tuple[str, int]:
    """The content of a quote whose opening mark stands at `at`, and the place behind it. Brackets nest.

    `inner` opens an expression inside, which may hold the closing mark (Ruby's `#{`).
    """
    opener = source[at : at + 1]
    closer = CLOSERS.get(opener, opener)
    depth = 1
    place = at + 1
    while place < len(source):
        letter = source[place]
        if letter == "\\":
            place += 2
            continue
        if inner and source.startswith(inner, place):
            _, place = delimited(source, place + len(inner) - 1, inner=inner)
            continue
        if letter == closer:
            depth -= 1
            if depth == 0:
                return source[at + 1 : place], place + 1
        elif letter == opener:
            depth += 1
        place += 1
    return source[at + 1 :], len(source)


def raw(text: str, quote: str = "'") -> str:
    """A single-quoted literal's content: only the quote and the backslash are escaped."""
    if "\\" not in text:
        return text
    return text.replace("\\\\", "\0").replace("\\" + quote, quote).replace("\0", "\\")


def escaped(text: str) -> str:
    """A double-quoted literal's content, escapes replaced; what is not an escape stays as it is."""
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter != "\\" or at + 1 >= len(text):
            out.append(letter)
            at += 1
            continue
        following = text[at + 1]
        at += 2
        if following == "x" or following == "u":
            braced = text.startswith("{", at)
            end = text.find("}", at) if braced else at
            if not braced:
                while (
                    end < min(len(text), at + (2 if following == "x" else 4)) and text[end] in "0123456789abcdefABCDEF"
                ):
                    end += 1
            digits = text[at + braced : end]
            try:
                out.append(chr(int(digits, 16)))
            except (ValueError, OverflowError):
                out.append("?")
            at = max(end + braced, at)
        elif following in "01234567":
            end = at
            while end < min(len(text), at + 2) and text[end] in "01234567":
                end += 1
            out.append(chr(int(following + text[at:end], 8)))
            at = end
        else:
            out.append(_ESCAPES.get(following, following))
    return "".join(out)


def variable_end(text: str, at: int, *, arrows: bool, methods: bool) -> int:
    """The end of a variable that starts with its sigil at `at`, with the indexes that belong to it.

    `arrows`: `->[…]` and `->{…}` belong to it (Perl); `methods`: `->name` does (PHP).
    """
    place = at + 1
    if place < len(text) and text[place] == "{":
        _, place = delimited(text, place)
    else:
        while place < len(text) and (text[place].isalnum() or text[place] == "_" or text.startswith("::", place)):
            place += 2 if text.startswith("::", place) else 1
    while place < len(text):
        if text[place] in "[{" and (text[place] == "[" or arrows):
            if text[place] == "[" and not _is_index(text, place):
                break
            _, place = delimited(text, place)
        elif arrows and text.startswith(("->[", "->{"), place):
            _, place = delimited(text, place + 2)
        elif methods and text.startswith("->", place) and text[place + 2 : place + 3].isalpha():
            place += 2
            while place < len(text) and (text[place].isalnum() or text[place] == "_"):
                place += 1
        else:
            break
    return place


def _is_index(text: str, at: int) -> bool:
    """True of `[0]`, `[$i]`, `['k']`, `[key]`; False of the character class of a pattern."""
    inside, _ = delimited(text, at)
    return bool(inside) and (inside[0] in "$-'\"" or inside.replace("_", "").isalnum())


def heredoc(source: str, at: int, tag: str, indented: bool) -> tuple[str, int]:
    """The body of a heredoc whose first line starts at `at`, and the place behind its end line.

    `indented`: the end line and the body may be indented, and the common indentation goes.
    """
    lines: list[str] = []
    place = at
    while place < len(source):
        newline = source.find("\n", place)
        stop = len(source) if newline < 0 else newline
        line = source[place:stop]
        place = min(stop + 1, len(source))
        found = line.strip() if indented else line.rstrip("\r")
        if found == tag or (indented and found.startswith(tag) and not found[len(tag) : len(tag) + 1].isalnum()):
            # PHP lets code follow the end mark on its line.
            rest = line[line.index(tag) + len(tag) :]
            place = min(stop + 1, len(source)) if not rest.strip() else stop - len(rest)
            break
        lines.append(line)
    if indented:
        widths = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
        cut = min(widths, default=0)
        lines = [line[cut:] for line in lines]
    return "".join(line + "\n" for line in lines), place
