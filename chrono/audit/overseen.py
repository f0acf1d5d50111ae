"""Owns asking the witness daemon of another account (level W2): telling it of leaves, hearing what it has seen.

Keeping them is left to `audit.overseer`. Nothing here stops an append: a daemon that is away is told the rest later.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator

from chrono.audit.merkle import leaf_hash
from chrono.audit.place import LogPlace, open_text
from chrono.audit.text import lines
from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

WAIT_S = 1.0
BATCH = 1000
_TAIL_BYTES = 1 << 22
_ANSWER = re.compile(r"(OK|CONFLICT) (\d{1,15}) ([0-9a-f]{64}) (\d{1,12})\n")
_PEER = struct.Struct("3i")


class Seen(NamedTuple):
    """What the daemon has of a log: `size` records with tree root `root` (hex), the last told at `at_s` (Unix)."""

    size: int
    root: str
    at_s: int


def seen(path: str, log: str) -> Seen:
    """What the daemon at `path` has seen. Raises ChronoError: it is away, or runs as this very user."""
    return _asked(path, f"GET {log}\n")[1]


def told(path: str, log: str, fd: int, size: int, end: int) -> Seen:
    """Tells the daemon the leaves that it lacks of the first `size` records, which end at byte `end` of log `fd`; what
    it has then.

    For the end of an append: reads no more of the log than its last megabytes, and leaves a daemon that lacks more
    than that to `caught_up`. Raises ChronoError, OSError.
    """
    agreed, state = _asked(path, f"ADD {log} {size - 1} {_leaves(fd, end, 1)[0]}\n")
    while not agreed and state.size < size:
        lacking = _leaves(fd, end, size - state.size)
        if len(lacking) != size - state.size:
            return state
        _, state = _asked(path, f"ADD {log} {state.size} {','.join(lacking[:BATCH])}\n")
    return state


def caught_up(path: str, log: str, place: LogPlace, size: int) -> Seen:
    """As `told`, however far the daemon is behind; reads the log from its beginning. Raises ChronoError, OSError."""
    state = seen(path, log)
    if state.size >= size:
        return state
    for first, batch in _batches(place, state.size, size):
        agreed, state = _asked(path, f"ADD {log} {first} {','.join(batch)}\n")
        if not agreed:
            return state  # another writer told it meanwhile
    return state


def _batches(place: LogPlace, first: int, size: int) -> Iterator[tuple[int, list[str]]]:
    with open_text(place) as text:
        held: list[str] = []
        for n, line in enumerate(lines(text)):
            if n >= size or not line.whole:
                break
            if n >= first:
                held.append(line.leaf.hex())
            if len(held) == BATCH:
                yield first, held
                first, held = first + BATCH, []
        if held:
            yield first, held


def _leaves(fd: int, end: int, count: int) -> list[str]:
    """The leaf hashes (hex) of the last `count` lines before byte `end`; fewer where those are some megabytes."""
    span = 1 << 12
    while True:
        start = max(0, end - span)
        held = os.pread(fd, end - start, start).split(b"\n")[:-1]
        held = held[1:] if start else held
        if start == 0 or len(held) >= count or span >= _TAIL_BYTES:
            return [leaf_hash(line).hex() for line in held[-count:]]
        span *= 4


def _asked(path: str, request: str) -> tuple[bool, Seen]:
    """(whether it agreed, what it has now). Raises ChronoError."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise ChronoError("a witness daemon needs a system that tells who answers (Linux)")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(WAIT_S)
            connection.connect(path)
            _pid, uid, _gid = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
            if uid == os.getuid():
                raise ChronoError(
                    f"the witness daemon at {path} runs as this user, and so bounds nothing",
                    "start it under an account of its own",
                )
            connection.sendall(request.encode("ascii"))
            answer = b""
            while not answer.endswith(b"\n") and len(answer) < 1 << 12:
                piece = connection.recv(1 << 12)
                if not piece:
                    break
                answer += piece
    except OSError as error:
        raise ChronoError(f"the witness daemon at {path} does not answer: {error.strerror or error}") from None
    found = _ANSWER.fullmatch(answer.decode("ascii", "replace"))
    if found is None:
        raise ChronoError(f"the witness daemon at {path} refuses: {answer[:200].decode('ascii', 'replace').strip()}")
    return found[1] == "OK", Seen(int(found[2]), found[3], int(found[4]))
