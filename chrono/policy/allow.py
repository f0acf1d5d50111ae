"""Owns the allow list: which commands of a text an entry covers. Pure.

An entry is compared with what runs, never with a piece of the text: `git push --force *` must not cover
`git push --force x;rm -rf ~`.
"""

from __future__ import annotations

from chrono.policy.model import AllowEntry
from chrono.scan.command import Command
from chrono.scan.finding import Finding, Scan


def words(entry: str) -> tuple[str, ...]:
    """The words of an entry: split at white space, quotes group and fall away, a backslash is an ordinary character.

    Raises ValueError on an open quote.
    """
    found: list[str] = []
    current: str | None = None
    quote = ""
    for char in entry:
        if quote:
            if char == quote:
                quote = ""
            else:
                current = (current or "") + char
        elif char in "\"'":
            quote = char
            current = current or ""
        elif char.isspace():
            if current is not None:
                found.append(current)
                current = None
        else:
            current = (current or "") + char
    if quote:
        raise ValueError(f"the quote {quote} is not closed")
    if current is not None:
        found.append(current)
    return tuple(found)


def allowed_text(scan: Scan, allow: tuple[AllowEntry, ...]) -> AllowEntry | None:
    """The entry that equals the whole text, character for character, if there is one."""
    text = scan.text.strip()
    for entry in allow:
        if entry.text == text and "*" not in words(entry.text):
            return entry
    return None


def allowing(finding: Finding, scan: Scan, allow: tuple[AllowEntry, ...]) -> AllowEntry | None:
    """The entry that covers `finding`, or None.

    An entry speaks for the command it spells and for what that spelling alone makes run (`sudo x`, `sh -c x`); what
    the command reads from a file can change behind the entry's back, so it is never covered.
    """
    if finding.via and scan.followed:
        return None
    whole = allowed_text(scan, allow)
    if whole is not None:
        return whole
    for command in scan.commands:
        if command.via or not _plain(command):
            continue
        same = finding.span == command.span and finding.argv == command.argv and not finding.via
        inside = bool(finding.via) and _encloses(command.span, finding.span)
        if same or inside:
            for entry in allow:
                if _spells(entry, command):
                    return entry
    return None


def _plain(command: Command) -> bool:
    """Whether argv is all there is to the command: the rest (redirects, input, assignments) is not in an entry."""
    return not (command.redirects or command.assigns or command.upstream) and command.stdin is None


def _encloses(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer != (0, 0)


def _spells(entry: AllowEntry, command: Command) -> bool:
    pattern = words(entry.text)
    if len(pattern) != len(command.argv):
        return False
    return all(
        isinstance(word, str) and (want == word or (want == "*" and index > 0))
        for index, (want, word) in enumerate(zip(pattern, command.argv, strict=True))
    )
