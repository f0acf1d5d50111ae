"""Owns the bytes of a savepoint's commit: its message, its trailers and how they are read back.

Writing objects is left to `store.objects`, refs to `store.refs`. Format: docs/formats/savepoint.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from chrono.clock import from_rfc3339, rfc3339
from chrono.errors import StoreError
from chrono.ids import CommitId, TreeId
from chrono.tuples import NamedTuple

META_TRAILER = "Chrono-Meta"
TIME_TRAILER = "Chrono-Time"
KIND_TRAILER = "Chrono-Kind"
_OWN = frozenset((META_TRAILER.lower(), TIME_TRAILER.lower()))
_EMAIL = "chrono@localhost"

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_TRAILER = re.compile(rf"^({_KEY.pattern}): (.*)$", re.MULTILINE)
_LOOKS_LIKE_OURS = re.compile(r"\s*chrono-", re.IGNORECASE)
_CONTROL = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|n|x[0-9a-f]{2}|u[0-9a-f]{4})")
_MESSAGE_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_OUR_HEAD = re.compile(
    rb"tree ([0-9a-f]{40})((?:\nparent [0-9a-f]{40})*)\n"
    rb"author ([^<\n]*) <[^<>\n]*> (\d{1,12}) [+]0000\ncommitter [^\n]*\Z"
)
"""The head of a commit as `encode` writes it, which nearly all are."""
_TREE = re.compile(rb"^tree (.*)$", re.MULTILINE)
_PARENT = re.compile(rb"^parent (.*)$", re.MULTILINE)
_AUTHOR = re.compile(rb"^author ([^<\n]*) <[^<>]*> (-?\d+) [+-]\d{4}$", re.MULTILINE)


class Savepoint(NamedTuple):
    """One commit of the hidden repository, read back.

    `kind` is the value of `Chrono-Kind` ("manual", "auto", "rescue", "rollback", …; "commit" where there is none).
    `ref` is the ref through which it was found, or None. `meta` names the metadata blob.
    """

    id: CommitId
    kind: str
    ref: str | None
    at_ns: int
    message: str
    author: str
    tree: TreeId
    meta: str | None
    parents: tuple[CommitId, ...]
    trailers: tuple[tuple[str, str], ...]

    def trailer(self, key: str) -> str | None:
        """The first value of `key`, or None."""
        for name, value in self.trailers:
            if name == key:
                return value
        return None


def encode(
    tree: TreeId,
    meta: str | None,
    parents: Iterable[CommitId],
    author: str,
    at_ns: int,
    message: str,
    trailers: Iterable[tuple[str, str]],
) -> bytes:
    """The raw commit object.

    The trailers are the last block of the message, after an empty line, and hold no line break; the message cannot
    reach into it, and lines of it that begin like ours are quoted. Raises ValueError for a malformed key, one that
    this function writes itself, or a missing `Chrono-Kind`.
    """
    trailers = tuple(trailers)
    for key, _ in trailers:
        if not _KEY.fullmatch(key) or key.lower() in _OWN:
            raise ValueError(f"not a trailer key: {key!r}")
    if not any(key == KIND_TRAILER for key, _ in trailers):
        raise ValueError(f"a savepoint needs the trailer {KIND_TRAILER}")
    person = f"{_person(author)} <{_EMAIL}> {max(at_ns, 0) // 1_000_000_000} +0000"
    head = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {person}", f"committer {person}"]
    block = [*trailers, (TIME_TRAILER, rfc3339(max(at_ns, 0)))]
    if meta is not None:
        block.append((META_TRAILER, meta))
    lines = [f"{key}: {_escape(value)}" for key, value in block]
    text = "\n".join([*head, "", _defused(message), "", *lines, ""])
    return text.encode("utf-8")


def decode(commit: CommitId, raw: bytes, ref: str | None = None) -> Savepoint:
    """Reads a raw commit object. Raises StoreError where it is none."""
    head, separator, body = raw.partition(b"\n\n")
    ours = _OUR_HEAD.match(head)
    if ours is None:
        tree, parents, author, seconds = _foreign_head(commit, head)
    else:
        words = ours[2].decode("ascii").split("\nparent ")
        tree, parents = ours[1].decode("ascii"), tuple(map(CommitId, words[1:]))
        author, seconds = ours[3].decode("utf-8", "replace"), int(ours[4])
    if not separator:
        raise StoreError(f"object {commit} is not a commit")
    message, trailers = split_message(body)
    values = dict(reversed(trailers))
    at_ns = seconds * 1_000_000_000
    told = values.get(TIME_TRAILER)
    if told is not None:
        try:
            at_ns = from_rfc3339(told)
        except ValueError:
            pass
    kind = values.get(KIND_TRAILER, "commit")
    meta = values.get(META_TRAILER)
    return Savepoint(commit, kind, ref, at_ns, message, author, TreeId(tree), meta, parents, trailers)


def _foreign_head(commit: CommitId, head: bytes) -> tuple[str, tuple[CommitId, ...], str, int]:
    """(tree, parents, author, seconds) of a commit that others wrote, however odd: what cannot be read is unknown."""
    tree = _TREE.search(head)
    if tree is None or len(tree[1]) != 40:
        raise StoreError(f"object {commit} is not a commit")
    parents = tuple(CommitId(parent.decode("ascii", "replace")) for parent in _PARENT.findall(head))
    person = _AUTHOR.search(head)
    author = person[1].decode("utf-8", "replace") if person is not None else "unknown"
    return tree[1].decode("ascii", "replace"), parents, author, int(person[2]) if person is not None else 0


def split_message(body: bytes) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(message, trailers) of a commit's text. Only the last block counts, and only if each line of it is a trailer."""
    text = body.decode("utf-8", "surrogateescape").rstrip("\n")
    message, separator, block = text.rpartition("\n\n")
    if not separator:
        return text, ()
    trailers: list[tuple[str, str]] = _TRAILER.findall(block)
    if len(trailers) != block.count("\n") + 1:
        return text, ()
    if "\\" in block:
        trailers = [(key, _unescape(value)) for key, value in trailers]
    return message, tuple(trailers)


def _person(name: str) -> str:
    clean = re.sub(r"[<>\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", name).strip(" .,:;\"'\\")
    return clean or "unknown"


def _defused(message: str) -> str:
    text = message.replace("\r\n", "\n").replace("\r", "\n")
    text = _MESSAGE_CONTROL.sub("\ufffd", text).strip()
    lines = ["> " + line if _LOOKS_LIKE_OURS.match(line) else line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip() or "(no message)"


def _escape(value: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        char = match[0]
        if char == "\\":
            return "\\\\"
        if char == "\n":
            return "\\n"
        number = ord(char)
        return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"

    return _CONTROL.sub(escaped, value)


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if code == "\\":
            return "\\"
        return "\n" if code == "n" else chr(int(code[1:], 16))

    return _ESCAPED.sub(plain, text)
