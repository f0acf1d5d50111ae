"""Owns generators that cross a boundary: each item goes to the caller as it comes, the envelope holds what was taken.

Streams of model providers are `record.streams`.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Final, Protocol

from chrono.record.session import HERE, Here

GENERATOR: Final = "generator"
ASYNC_GENERATOR: Final = "async generator"
GENERATORS: Final = frozenset({GeneratorType, AsyncGeneratorType})


class Watched(Protocol):
    """What a generator's crossing must be able to do (`crossing.Crossing`)."""

    inner: Here

    @property
    def session(self) -> Any: ...

    def first_chunk(self) -> None: ...

    def note(self, key: str, value: Any) -> None: ...

    def finish(self, result: Any, *, partial: bool = ..., metadata: Any = ...) -> None: ...

    def fail(self, error: BaseException, *, result: Any = ..., metadata: Any = ...) -> None: ...


class Taken:
    """The items that a caller took, so many as are recorded anyway, and how it ended."""

    __slots__ = ("count", "crossing", "items", "limit")

    def __init__(self, crossing: Watched) -> None:
        self.crossing = crossing
        self.limit: int = crossing.session.rules.max_items
        self.items: list[Any] = []
        self.count = 0

    def add(self, item: Any) -> None:
        self.crossing.first_chunk()
        self.count += 1
        if self.count <= self.limit:
            self.items.append(item)

    def done(self, value: Any, *, partial: bool) -> None:
        facts: dict[str, Any] = {"chrono.items": self.count}
        if value is not None:
            facts["chrono.returned"] = value
        if self.count > self.limit:
            facts["chrono.items_cut"] = True
        self.crossing.finish(self.items, partial=partial, metadata=facts)

    def failed(self, error: BaseException) -> None:
        self.crossing.fail(error, result=self.items, metadata={"chrono.items": self.count})

    def dropped(self) -> None:
        """Nobody began to read."""
        self.done(None, partial=True)


def observed_generator(result: Any, crossing: Watched) -> Any:
    """A generator of the same kind that yields what `result` yields and closes `crossing` at its end."""
    taken = Taken(crossing)
    crossing.note("chrono.stream", GENERATOR if isinstance(result, GeneratorType) else ASYNC_GENERATOR)
    driver = _drive(result, taken) if isinstance(result, GeneratorType) else _adrive(result, taken)
    # A generator that was never begun runs no code when it is dropped, so somebody else must close the envelope.
    weakref.finalize(driver, taken.dropped)
    return driver


def generator_function(begin: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function around `begin`, which answers with a generator: what asks for the kind sees no change."""

    def function(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from begin(*args, **kwargs))

    return function


def async_generator_function(begin: Callable[..., Any]) -> Callable[..., Any]:
    """As `generator_function`; values sent and exceptions thrown in are handed on (there is no `async yield from`)."""

    async def function(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = begin(*args, **kwargs)
        step: Callable[..., Any] = generator.asend
        given: Any = None
        while True:
            try:
                item = await step(given)
            except StopAsyncIteration:
                return
            try:
                given = yield item
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as error:
                step, given = generator.athrow, error
            else:
                step = generator.asend

    return function


def _drive(generator: Generator[Any, Any, Any], taken: Taken) -> Generator[Any, Any, Any]:
    """PEP 380's delegation, with each step inside the crossing and each item noted."""
    inner = taken.crossing.inner
    step: Callable[..., Any] = generator.send
    given: Any = None
    while True:
        token = HERE.set(inner)
        try:
            item = step(given)
        except StopIteration as end:
            HERE.reset(token)
            taken.done(end.value, partial=False)
            return end.value
        except BaseException as error:
            HERE.reset(token)
            taken.failed(error)
            raise
        HERE.reset(token)
        taken.add(item)
        try:
            given = yield item
        except GeneratorExit:
            try:
                generator.close()
            finally:
                taken.done(None, partial=True)
            raise
        except BaseException as error:
            step, given = generator.throw, error
        else:
            step = generator.send


async def _adrive(generator: AsyncGenerator[Any, Any], taken: Taken) -> AsyncGenerator[Any, Any]:
    """As `_drive`."""
    inner = taken.crossing.inner
    step: Callable[..., Any] = generator.asend
    given: Any = None
    while True:
        token = HERE.set(inner)
        try:
            item = await step(given)
        except StopAsyncIteration:
            HERE.reset(token)
            taken.done(None, partial=False)
            return
        except BaseException as error:
            HERE.reset(token)
            taken.failed(error)
            raise
        HERE.reset(token)
        taken.add(item)
        try:
            given = yield item
        except GeneratorExit:
            try:
                await generator.aclose()
            finally:
                taken.done(None, partial=True)
            raise
        except BaseException as error:
            step, given = generator.athrow, error
        else:
            step = generator.asend
