"""Owns cutting a log into stretches and having several processes read them; what they find comes back in order.

How a stretch is read is left to `audit.part`. A helper gets the open log and requests, no key and no path; where
helpers cannot be had, or one dies, this process reads by itself.
"""

from __future__ import annotations

import json
import os
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, TypeAlias

from chrono.audit.merkle import Subtree
from chrono.audit.part import Anchored, Asked, At, Notable, Regular, numbered, read_part
from chrono.audit.record import MAX_LINE_BYTES
from chrono.audit.text import Part, Text
from chrono.signing import PublicKey, public_key_of_text
from chrono.tuples import NamedTuple

_AHEAD = 2
"""Requests that wait at one helper: it never idles, and an answer never meets a request that the pipe cannot hold."""
_KEPT = 64
"""Stretches that were read here and wait for one before them; then this process waits, too."""
SPANS = (1 << 21, 1 << 20, 1 << 18)
"""Bytes of a stretch at each depth: some tenths of a second of work."""
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from chrono.audit.spread import serve; serve()"

Key: TypeAlias = "PublicKey | None"


class Asking(NamedTuple):
    """What is to be read: bytes `start` to `end` of the log, whole lines from `start` on; `wanted`: sizes, sorted."""

    text: Text
    start: int
    end: int
    log: str
    depth: int
    wanted: list[int]

    def stretches(self, key: Callable[[], Key]) -> Iterator[Asked]:
        """The stretches, each from what its first line claims. Ends early where there is no line to begin with."""
        span = SPANS[self.depth]
        start, begins = self.start, _claim(self.text, self.start)
        while begins is not None and start < self.end:
            end = _line_end(self.text, start, start + span, self.end)
            signs = key()
            if end is None or signs is None:
                return
            follows = _claim(self.text, end) if end < self.end else None
            low = bisect_right(self.wanted, begins[0])
            high = bisect_right(self.wanted, follows[0]) if follows is not None else len(self.wanted)
            sizes = tuple(self.wanted[low : max(low, high)])
            yield Asked(start, end, begins[0], begins[1], self.log, signs, self.depth, sizes)
            start, begins = end, follows


def _claim(text: Text, offset: int) -> tuple[int, str] | None:
    line, newline, _ = text.pread(MAX_LINE_BYTES + 1, offset).partition(b"\n")
    return numbered(line) if newline else None


def _line_end(text: Text, start: int, near: int, end: int) -> int | None:
    """The end of a line at or after byte `near`; of the last line between `start` and `end` where that comes first."""
    if near < end:
        found = text.pread(min(MAX_LINE_BYTES + 1, end - near), near).find(b"\n")
        return near + found + 1 if found >= 0 else None
    start = max(start, end - MAX_LINE_BYTES - 1)  # before the stretch there may be a hole
    found = text.pread(end - start, start).rfind(b"\n")
    return start + found + 1 if found >= 0 else None


class Crew:
    """Helpers for one reading, beside this process, which reads, too; none where it is to do it alone."""

    def __init__(self, text: Text, workers: int) -> None:
        self._text = text
        self._helpers = [_Helper(text) for _ in range(workers - 1)] if os.name == "posix" else []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for helper in self._helpers:
            helper.end()

    def read(self, asking: Asking, key: Callable[[], Key]) -> Iterator[tuple[Asked, Regular | None]]:
        """Each stretch with what was found in it, in order. `key` is asked anew for each: it may have changed."""
        begun: deque[_Begun] = deque()
        stretches = asking.stretches(key)
        for asked in stretches:
            begun.append(self._begin(asked, key))
            while begun and (len(begun) > _KEPT or begun[0].ready):
                yield self._end(begun.popleft())
        while begun:
            yield self._end(begun.popleft())

    def _begin(self, asked: Asked, key: Callable[[], Key]) -> _Begun:
        """Gives a stretch to a helper that has little to do, else reads it here."""
        for helper in self._helpers:
            if helper.waiting < _AHEAD:
                helper.ask(asked)
                return _Begun(asked, helper)
        if asked.key != key():
            asked = asked._replace(key=key() or asked.key)
        return _Begun(asked, None, read_part(self._text, asked))

    def _end(self, begun: _Begun) -> tuple[Asked, Regular | None]:
        if begun.helper is None:
            return begun.asked, begun.found
        try:
            return begun.asked, begun.helper.answer()
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return begun.asked, read_part(self._text, begun.asked)  # a helper that died: its work is done here


class _Begun(NamedTuple):
    """A stretch that a helper is reading, or that was read here."""

    asked: Asked
    helper: _Helper | None
    found: Regular | None = None

    @property
    def ready(self) -> bool:
        return self.helper is None or self.helper.answered()


class _Helper:
    """A process that reads stretches; `waiting`: how many it was asked for and has not told of."""

    def __init__(self, text: Text) -> None:
        import subprocess

        paths = [path for path in sys.path if path]
        self.waiting = 0
        self._held = b""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, json.dumps(paths), json.dumps(text.parts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[part.fd for part in text.parts],
            env={},
        )

    def ask(self, asked: Asked) -> None:
        self.waiting += 1
        try:
            _pipe(self._process.stdin).write(_request(asked))
            _pipe(self._process.stdin).flush()
        except OSError:
            pass  # noticed when its answer is missing

    def answered(self) -> bool:
        """Whether an answer, or its end, has come. Never waits."""
        import select

        out = _pipe(self._process.stdout)
        while b"\n" not in self._held:
            if not select.select([out], [], [], 0)[0]:
                return False
            if not self._more():
                return True
        return True

    def answer(self) -> Regular | None:
        """The next answer. Raises OSError where the helper is gone."""
        self.waiting -= 1
        while b"\n" not in self._held:
            if not self._more():
                raise OSError("the helper is gone")
        line, _, self._held = self._held.partition(b"\n")
        return _answered(line)

    def _more(self) -> bool:
        piece = os.read(_pipe(self._process.stdout).fileno(), 1 << 16)
        self._held += piece
        return bool(piece)

    def end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                _pipe(pipe).close()
            except OSError:
                pass
        self._process.kill()
        self._process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def serve() -> None:
    """The life of a helper: a request a line, an answer a line, until the requests end."""
    text = Text([Part(*part) for part in json.loads(sys.argv[2])])
    with open(0, "rb", closefd=False) as requests, open(1, "wb", closefd=False) as answers:
        for line in requests:
            answers.write(_told(read_part(text, _requested(line))))
            answers.flush()


# Between the processes: one JSON list a line. Both ends are this file.


def _request(asked: Asked) -> bytes:
    value = (*asked[:5], asked.key.text, asked.depth, asked.sizes)
    return json.dumps(value).encode("ascii") + b"\n"


def _requested(line: bytes) -> Asked:
    start, end, first, prev, log, key, depth, sizes = json.loads(line)
    return Asked(start, end, first, prev, log, public_key_of_text(key), depth, tuple(sizes))


def _told(found: Regular | None) -> bytes:
    if found is None:
        return b"null\n"
    at = [(at.size, at.leaf, _trees(at.subtrees)) for at in found.at]
    notable = [
        noted if isinstance(noted, Anchored) else (noted.n, noted.prev, noted.line.decode("utf-8"), True)
        for noted in found.notable
    ]
    last = found.last_line.decode("utf-8", "surrogateescape")
    value = (found.records, found.leaf, _trees(found.subtrees), at, notable, found.first_at, found.last_at, last)
    return json.dumps(value).encode("ascii") + b"\n"


def _trees(subtrees: tuple[Subtree, ...]) -> list[tuple[int, str]]:
    return [(level, digest.hex()) for level, digest in subtrees]


def _subtrees(value: list[tuple[int, str]]) -> tuple[Subtree, ...]:
    return tuple(Subtree(level, bytes.fromhex(digest)) for level, digest in value)


def _answered(line: bytes) -> Regular | None:
    value = json.loads(line)
    if value is None:
        return None
    records, leaf, subtrees, at, notable, first_at, last_at, last_line = value
    return Regular(
        records,
        leaf,
        _subtrees(subtrees),
        tuple(At(size, last, _subtrees(trees)) for size, last, trees in at),
        tuple(
            Anchored(*noted) if len(noted) == 3 else Notable(noted[0], noted[1], noted[2].encode("utf-8"))
            for noted in notable
        ),
        first_at,
        last_at,
        last_line.encode("utf-8", "surrogateescape"),
    )
