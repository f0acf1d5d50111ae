"""Owns the streams and generators of a replay: what was recorded piece by piece comes again piece by piece.

Which of them a recording asks for says `record.answers`; a provider's own stream classes are left to its plugin.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from typing import Any

from chrono.record.errors import ReplayMismatchError
from chrono.tuples import NamedTuple


class Pieces(NamedTuple):
    """What a stream gave. `error` came after `items`; `returned` is a generator's value at its end. `abandoned`: the
    recorded caller had stopped reading, so nobody knows what would have come next."""

    name: str
    items: Sequence[Any]
    error: BaseException | None = None
    returned: Any = None
    abandoned: bool = False

    def last(self) -> None:
        """Raises what came after the items, if anything did."""
        if self.error is not None:
            raise self.error
        if self.abandoned:
            raise ReplayMismatchError(
                f"the recorded caller of {self.name} stopped reading after {len(self.items)} items; "
                "what would have come next is not in the recording"
            )


def generator(pieces: Pieces) -> Generator[Any, Any, Any]:
    """As a generator; what is sent into it is ignored, as nobody is there to hear it."""
    yield from pieces.items
    pieces.last()
    return pieces.returned


async def async_generator(pieces: Pieces) -> AsyncGenerator[Any, Any]:
    for item in pieces.items:
        yield item
    pieces.last()


async def ready(value: Any) -> Any:
    """`value`, for a caller that awaits it."""
    return value


async def failed(error: BaseException) -> Any:
    """`error`, for a caller that awaits it."""
    raise error


class RecordedStream:
    """A stream of no known class: read in either way, in `with` or without."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._read = generator(pieces)

    def __iter__(self) -> RecordedStream:
        return self

    def __next__(self) -> Any:
        return next(self._read)

    def __aiter__(self) -> RecordedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return next(self._read)
        except StopIteration:
            raise StopAsyncIteration from None

    def __enter__(self) -> RecordedStream:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> RecordedStream:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._read.close()

    async def aclose(self) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the recorded stream of {self._pieces.name} has no {name!r}; it gives its items only")


class Managed:
    """A context manager that answers with `made` when it is entered, or fails then."""

    def __init__(self, made: Any, error: BaseException | None = None) -> None:
        self._made = made
        self._error = error

    def __enter__(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._made

    def __exit__(self, *raised: object) -> None:
        close = getattr(self._made, "close", None)
        if close is not None:
            close()

    async def __aenter__(self) -> Any:
        return self.__enter__()

    async def __aexit__(self, *raised: object) -> None:
        close = getattr(self._made, "aclose", None) or getattr(self._made, "close", None)
        closing = close() if close is not None else None
        if isinstance(closing, Coroutine):
            await closing


class RecordedResponse:
    """In place of an SDK's raw response: what it was parsed to. Headers were not recorded."""

    status_code = 200

    def __init__(self, parsed: Any, *, is_async: bool = False) -> None:
        self._parsed = parsed
        self._is_async = is_async
        self.headers: dict[str, str] = {}

    def parse(self, **_options: Any) -> Any:
        return ready(self._parsed) if self._is_async else self._parsed

    def close(self) -> Any:
        return ready(None) if self._is_async else None
