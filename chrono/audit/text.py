"""Owns the text of a log over all the files that it lies in: which byte, counted from the log's first, stands where.

Which files those are is left to `audit.place`, making them to `audit.segment`; what a line says to `audit.record`.
"""

from __future__ import annotations

import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from chrono.audit.record import MAX_LINE_BYTES
from chrono.errors import AuditTampered
from chrono.tuples import NamedTuple

PLAIN, PACKED, PRUNED = "plain", "packed", "pruned"
"""How a file holds its part: as it is; in gzip blocks; in gzip blocks, and leaf hashes in place of most lines."""

BLOCK_BYTES = 1 << 18
"""Text of one gzip block: what is read at once to get at any byte of it."""
ENDLESS_BYTES = 1 << 26
"""A line longer than this is not read to its end: no file of a log grows further, so no crash leaves one."""
_CHUNK_BYTES = 1 << 20
_HEADER = struct.Struct("<4BI2BH2BH2I")  # RFC 1952, with an extra field: how long the block is, how long its text
_FIXED = (0x1F, 0x8B, 8, 4, 0, 0, 255, 12, ord("c"), ord("h"), 8)
_TRAILER = struct.Struct("<2I")


class SegmentBroken(AuditTampered):
    """A file of the log is missing, or does not hold what its place asks for."""


class EndlessLine(AuditTampered):
    """What follows the last record is a line that never seems to end, such as a hole of a terabyte."""


class Part(NamedTuple):
    """One file of a log: its text begins at byte `start` and ends before `end` (0: the file that still grows)."""

    fd: int
    form: str
    start: int
    end: int
    name: str = ""


class Line(NamedTuple):
    """One line: its bytes without LF, where it starts, its length, and whether its LF is there.

    `data` is None where only its `leaf` hash is known: it is longer than a record may be, or `pruned`.
    """

    data: bytes | None
    offset: int
    length: int
    leaf: bytes
    whole: bool
    pruned: bool = False


class Span(NamedTuple):
    """Bytes `start` to `end` of a log; `pruned`: most lines there are leaf hashes."""

    start: int
    end: int
    pruned: bool


class Text:
    """The text of a log; `fd` of the parts belong to it. A hole (what was pruned) reads as short as it is."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._starts = [part.start for part in parts]
        self._packed: dict[int, Packed] = {}

    @classmethod
    def of(cls, fd: int, start: int = 0) -> Text:
        """The text of one file that begins at byte `start` of its log."""
        return cls((Part(fd, PLAIN, start, 0),))

    def __enter__(self) -> Text:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for part in self.parts:
            os.close(part.fd)
        self.parts, self._starts = (), []

    @property
    def start(self) -> int:
        return self._starts[0]

    @property
    def end(self) -> int:
        """Where the text ends now."""
        last = self.parts[-1]
        return last.end or last.start + os.fstat(last.fd).st_size

    def spans(self, start: int) -> Iterator[Span]:
        """The text from `start` on: runs of files that are whole, and pruned files."""
        held: Span | None = None
        for part in self.parts:
            end = part.end or self.end
            if end <= start:
                continue
            if part.form == PRUNED or held is None:
                if held is not None:
                    yield held
                held = Span(max(start, part.start), end, part.form == PRUNED)
                if held.pruned:
                    yield held
                    held = None
            else:
                held = held._replace(end=end)
        if held is not None:
            yield held

    def pread(self, size: int, offset: int) -> bytes:
        """At most `size` bytes from `offset` on; fewer only at the end, and before a hole. Raises SegmentBroken."""
        data = self._read(size, offset)
        while 0 < len(data) < size:
            more = self._read(size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def _read(self, size: int, offset: int) -> bytes:
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return b""
        part = self.parts[at]
        if part.end:
            size = min(size, part.end - offset)
        if part.form == PLAIN:
            return os.pread(part.fd, size, offset - part.start)
        return self.packed(at).pread(size, offset - part.start)

    def packed(self, at: int) -> Packed:
        """The blocks of part `at`. Raises SegmentBroken."""
        found = self._packed.get(at)
        if found is None:
            found = self._packed[at] = Packed(self.parts[at].fd, self.parts[at].name)
        return found


class Packed:
    """A file of gzip blocks, each a member of its own that tells its length: any byte is reached by reading one block.

    `gunzip` reads it whole. Only what `pack` writes is read: other members, or anything between, are no segment.
    """

    def __init__(self, fd: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._at: list[tuple[int, int, int]] = []  # where a block lies, its bytes, the bytes of its text
        self._starts: list[int] = []
        self._held: tuple[int, bytes] = (-1, b"")
        end, at, text = os.fstat(fd).st_size, 0, 0
        while at < end:
            head = os.pread(fd, _HEADER.size, at)
            if len(head) < _HEADER.size:
                raise self._broken("it is cut off")
            found = _HEADER.unpack(head)
            length, holds = found[-2:]
            if text % BLOCK_BYTES:
                raise self._broken("a block before the last is not full")  # small ones would fill the memory
            if found[:-2] != _FIXED or not 0 < holds <= BLOCK_BYTES:
                raise self._broken("it is not in gzip blocks as chrono writes them")
            if length <= _HEADER.size + _TRAILER.size or at + length > end:
                raise self._broken("it is cut off")
            self._at.append((at, length, holds))
            self._starts.append(text)
            at, text = at + length, text + holds
        self.size = text

    def pread(self, size: int, offset: int) -> bytes:
        """As `os.pread`, of the text. Raises SegmentBroken."""
        pieces = []
        while size > 0 and offset < self.size:
            index = bisect_right(self._starts, offset) - 1
            inside = offset - self._starts[index]
            piece = self._block(index)[inside : inside + size]
            pieces.append(piece)
            size, offset = size - len(piece), offset + len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def sha256(self) -> str:
        """SHA-256 of the text (hex). Raises SegmentBroken."""
        from hashlib import sha256

        digest = sha256()
        for index in range(len(self._at)):
            digest.update(self._block(index))
        return digest.hexdigest()

    def _block(self, index: int) -> bytes:
        if self._held[0] == index:
            return self._held[1]
        at, length, holds = self._at[index]
        body = os.pread(self._fd, length - _HEADER.size, at + _HEADER.size)
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            text = inflate.decompress(body, holds + 1)
        except zlib.error as error:
            raise self._broken(str(error)) from None
        if len(text) != holds or inflate.unused_data != _TRAILER.pack(zlib.crc32(text), holds):
            raise self._broken("a block does not hold what it says")
        self._held = (index, text)
        return text

    def _broken(self, why: str) -> SegmentBroken:
        return SegmentBroken(f"segment {self._name} is damaged: {why}", "put the file back from a copy, or gunzip one")


def pack(text: bytes) -> bytes:
    """One block: `text` (1 to BLOCK_BYTES) as a gzip member. The same text gives the same bytes."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(text) + deflate.flush()
    length = _HEADER.size + len(body) + _TRAILER.size
    head = _HEADER.pack(*_FIXED, length, len(text))
    return head + body + _TRAILER.pack(zlib.crc32(text), len(text))


def lines(text: Text, start: int = 0, until: int | None = None) -> Iterator[Line]:
    """The lines from byte `start` on (to byte `until`), in bounded memory whatever the files hold. `start` is the
    beginning of a line. Raises SegmentBroken, EndlessLine."""
    for part in text.parts:
        if part.end and part.end <= start:
            continue
        if until is not None and part.start >= until:
            return
        begin = max(start, part.start)
        yield from _lines(text, begin, until, part)


def _lines(text: Text, start: int, until: int | None, part: Part) -> Iterator[Line]:
    """The lines of one part."""
    pruned = part.form == PRUNED
    stop = min(part.end or until or 0, until or part.end)
    offset = position = start

    def ahead() -> bytes:
        return text._read(_CHUNK_BYTES if not stop else min(_CHUNK_BYTES, stop - position), position)

    chunk = ahead()
    if not chunk:
        return
    from hashlib import sha256  # loaded where there is something to hash: a hook mostly finds its log as it left it

    held, held_bytes, digest = b"", 0, sha256(b"\x00")
    while chunk:
        at = 0
        while (end := chunk.find(b"\n", at)) >= 0:
            if held_bytes:
                digest.update(chunk[at:end])
                length, leaf, data = held_bytes + end - at, digest.digest(), held + chunk[at:end]
                held, held_bytes, digest = b"", 0, sha256(b"\x00")
            else:
                length, data = end - at, chunk[at:end]
                leaf = sha256(b"\x00" + data).digest()
            if pruned and length == _LEAF_DIGITS and (kept := _leaf(data)) is not None:
                yield Line(None, offset, length, kept, True, True)
            else:
                yield Line(data if length <= MAX_LINE_BYTES else None, offset, length, leaf, True)
            at = end + 1
            offset = position + at
        rest = chunk[at:]
        if rest:
            held_bytes += len(rest)
            held = held + rest if held_bytes <= MAX_LINE_BYTES else b""
            digest.update(rest)
        if held_bytes > ENDLESS_BYTES:
            raise EndlessLine(
                f"at byte {offset} of the audit log a line of more than {ENDLESS_BYTES} bytes begins, which no crash "
                "leaves",
                "look at who wrote it, and cut the file there",
            )
        position += len(chunk)
        if stop and position >= stop:
            break
        chunk = ahead()
    if held_bytes:
        yield Line(held if held_bytes <= MAX_LINE_BYTES else None, offset, held_bytes, digest.digest(), False)


_LEAF_DIGITS = 64


def _leaf(data: bytes) -> bytes | None:
    """The leaf hash that stands in place of a line."""
    if data.strip(b"0123456789abcdef"):
        return None
    return bytes.fromhex(data.decode("ascii"))
