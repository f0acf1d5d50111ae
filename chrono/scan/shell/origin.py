"""Owns where a followed text stands: which link of the chain names its file, and on which line an offset lies.

What is reported with it is left to `machine`.
"""

from __future__ import annotations

from chrono.tuples import NamedTuple

Via = tuple[str, ...]
Span = tuple[int, int]


class Origin(NamedTuple):
    """A file whose text runs: `via[at]` names it, `starts` are the offsets of its lines.

    `span` is where the outermost text started it: the only offsets that a reader of that text can look up.
    """

    at: int
    starts: tuple[int, ...]
    span: Span

    def via(self, via: Via, offset: int) -> Via:
        """The chain with the line of `offset` behind the name of the file."""
        from bisect import bisect_right

        return (*via[: self.at], f"{via[self.at]}:{bisect_right(self.starts, offset)}", *via[self.at + 1 :])


def origin_of(text: str, at: int, span: Span) -> Origin:
    starts = [0]
    place = text.find("\n")
    while place >= 0:
        starts.append(place + 1)
        place = text.find("\n", place + 1)
    return Origin(at, tuple(starts), span)
