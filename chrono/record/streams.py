"""Owns streams of model providers: each chunk goes to the caller as it comes, the envelope holds what they make up.

A stream is known by what it can do (`__next__`, `__anext__`, or a context manager around one), not by its class, and
keeps its own class for the caller. How chunks are put together is left to the provider's Assembler; plain generators
are `record.generators`.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any, Final

from chrono.record.hooks import log
from chrono.record.provider import Assembler
from chrono.record.serialise import to_json
from chrono.record.session import HERE

MakeAssembler = Callable[[], Assembler]

# What the caller was given, as `chrono.stream` in the envelope's metadata: replay gives the same kind of thing.
STREAM: Final = "stream"
ASYNC_STREAM: Final = "async stream"
MANAGED: Final = "managed stream"
ASYNC_MANAGED: Final = "async managed stream"
RESPONSE: Final = "response"
ASYNC_RESPONSE: Final = "async response"


def observed(result: Any, crossing: Any, assembler: MakeAssembler, part: str | None = None) -> Any:
    """What the caller gets in place of `result` where that is a stream (perhaps the same object); None where it is not.

    `part`: the member of a mapping result that is the stream.
    """
    kind = type(result)
    if kind in _WHOLE and part is None:
        return None
    if part is not None:
        if not isinstance(result, dict) or part not in result:
            return None
        crossing.note("chrono.stream_part", part)
        result[part] = _proxy(result[part], Reading(crossing, assembler(), STREAM))
        return result
    if inspect.isawaitable(result):
        crossing.note("chrono.awaited", True)
        return crossing.awaited(result)
    if _is_unread_response(result):
        form = ASYNC_RESPONSE if inspect.iscoroutinefunction(result.parse) else RESPONSE
        return _unread_response(result, Reading(crossing, assembler(), form))
    if _can(result, "__next__", "__anext__"):
        form = STREAM if _can(result, "__next__") else ASYNC_STREAM
        return watch(result, Reading(crossing, assembler(), form))
    if _can(result, "__enter__", "__aenter__"):
        form = MANAGED if _can(result, "__enter__") else ASYNC_MANAGED
        return _Managed(result, Reading(crossing, assembler(), form))
    if not _can(result, "parse"):
        _WHOLE.add(kind)
    return None


_WHOLE: weakref.WeakSet[type] = weakref.WeakSet()
"""Classes whose objects are no stream: a pydantic model takes long to say what it does not have."""


class Reading:
    """One stream being read: the chunks so far. Ends once, whole, broken off or failed."""

    def __init__(self, crossing: Any, assembler: Assembler, form: str) -> None:
        self.crossing = crossing
        crossing.note("chrono.stream", form)
        self.assembler = assembler
        self.chunks: list[Any] = []
        self.open = True

    def chunk(self, chunk: Any) -> None:
        if not self.chunks:
            self.crossing.first_chunk()
        self.chunks.append(chunk)

    def end(self, *, partial: bool) -> None:
        if self.open:
            self.open = False
            self.crossing.finish(self._assembled(), partial=partial, chunks=self.chunks)

    def dropped(self) -> None:
        """The caller let go of it."""
        self.end(partial=True)

    def fail(self, error: BaseException) -> None:
        if self.open:
            self.open = False
            self.crossing.fail(error, result=self._assembled() if self.chunks else None, chunks=self.chunks)

    def _assembled(self) -> Any:
        try:
            for chunk in self.chunks:
                self.assembler.add(to_json(chunk))
            return self.assembler.result()
        except Exception:
            log.exception("the chunks of %s could not be put together", self.crossing.spec.name)
            return None


def watch(stream: Any, reading: Reading) -> Any:
    """`stream` itself where an SDK keeps its iterator in it (all its helpers then read through ours), else a proxy."""
    innermost = stream
    while hasattr(innermost, "_raw_stream"):
        innermost = innermost._raw_stream
    iterator = getattr(innermost, "_iterator", None)
    if not _can(iterator, "__next__", "__anext__"):
        return _proxy(stream, reading)
    innermost._iterator = _proxy(iterator, reading)
    for one in {id(stream): stream, id(innermost): innermost}.values():
        _end_on_close(one, reading)
    return stream


def _end_on_close(stream: Any, reading: Reading) -> None:
    close = stream.close
    if inspect.iscoroutinefunction(close):

        async def aclosing() -> None:
            try:
                await close()
            finally:
                reading.end(partial=True)

        stream.close = aclosing
        return

    def closing() -> None:
        try:
            close()
        finally:
            reading.end(partial=True)

    stream.close = closing


class _Proxy:
    """In place of a stream: notes what goes through, is of the stream's class to whoever asks, hands on all else."""

    def __init__(self, stream: Any, reading: Reading) -> None:
        self._chrono_stream = stream
        self._chrono_reading = reading
        self._chrono_iterator: Any = None
        # Not `__del__`: what is alive at the interpreter's end is to be recorded too.
        weakref.finalize(self, reading.dropped)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        kind: type = type(self._chrono_stream)
        return kind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chrono_stream, name)


class _Sync(_Proxy):
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        reading = self._chrono_reading
        token = HERE.set(reading.crossing.inner)
        try:
            if self._chrono_iterator is None:
                self._chrono_iterator = iter(self._chrono_stream)
            chunk = next(self._chrono_iterator)
        except StopIteration:
            reading.end(partial=False)
            raise
        except BaseException as error:
            reading.fail(error)
            raise
        finally:
            HERE.reset(token)
        reading.chunk(chunk)
        return chunk

    def close(self) -> None:
        try:
            close = getattr(self._chrono_stream, "close", None)
            if close is not None:
                close()
        finally:
            self._chrono_reading.end(partial=True)

    def __enter__(self) -> Any:
        if _can(self._chrono_stream, "__enter__"):
            self._chrono_stream.__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        try:
            if _can(self._chrono_stream, "__exit__"):
                return self._chrono_stream.__exit__(*raised)
            return None
        finally:
            self._chrono_reading.end(partial=True)


class _Async(_Proxy):
    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        reading = self._chrono_reading
        token = HERE.set(reading.crossing.inner)
        try:
            if self._chrono_iterator is None:
                self._chrono_iterator = aiter(self._chrono_stream)
            chunk = await anext(self._chrono_iterator)
        except StopAsyncIteration:
            reading.end(partial=False)
            raise
        except BaseException as error:
            reading.fail(error)
            raise
        finally:
            HERE.reset(token)
        reading.chunk(chunk)
        return chunk

    async def aclose(self) -> None:
        try:
            close = getattr(self._chrono_stream, "aclose", None)
            if close is not None:
                await close()
        finally:
            self._chrono_reading.end(partial=True)

    async def __aenter__(self) -> Any:
        if _can(self._chrono_stream, "__aenter__"):
            await self._chrono_stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        try:
            if _can(self._chrono_stream, "__aexit__"):
                return await self._chrono_stream.__aexit__(*raised)
            return None
        finally:
            self._chrono_reading.end(partial=True)


class _Either(_Sync, _Async):
    """Some streams can be read both ways."""


def _proxy(stream: Any, reading: Reading) -> Any:
    if not _can(stream, "__anext__", "__aiter__"):
        return _Sync(stream, reading)
    return _Either(stream, reading) if _can(stream, "__next__") else _Async(stream, reading)


class _Managed(_Proxy):
    """A context manager that opens the stream when it is entered."""

    def __enter__(self) -> Any:
        reading = self._chrono_reading
        with reading.crossing.inside():
            try:
                return watch(self._chrono_stream.__enter__(), reading)
            except BaseException as error:
                reading.fail(error)
                raise

    def __exit__(self, *raised: Any) -> Any:
        try:
            return self._chrono_stream.__exit__(*raised)
        finally:
            self._chrono_reading.end(partial=True)

    async def __aenter__(self) -> Any:
        reading = self._chrono_reading
        with reading.crossing.inside():
            try:
                return watch(await self._chrono_stream.__aenter__(), reading)
            except BaseException as error:
                reading.fail(error)
                raise

    async def __aexit__(self, *raised: Any) -> Any:
        try:
            return await self._chrono_stream.__aexit__(*raised)
        finally:
            self._chrono_reading.end(partial=True)


def _is_unread_response(result: Any) -> bool:
    """An SDK's raw response whose body has not been read: looking into it would read it for the caller."""
    parse, response = getattr(result, "parse", None), getattr(result, "http_response", None)
    if parse is None or response is None:
        return False
    return inspect.iscoroutinefunction(parse) or not getattr(response, "is_closed", True)


def _unread_response(result: Any, reading: Reading) -> Any:
    """`result`, recorded when the caller parses it."""
    parse = result.parse
    if inspect.iscoroutinefunction(parse):

        async def aparsing(*args: Any, **kwargs: Any) -> Any:
            return _parsed(await parse(*args, **kwargs), reading)

        result.parse = aparsing
    else:

        def parsing(*args: Any, **kwargs: Any) -> Any:
            return _parsed(parse(*args, **kwargs), reading)

        result.parse = parsing
    weakref.finalize(result, reading.dropped)
    return result


def _parsed(answer: Any, reading: Reading) -> Any:
    if not reading.open:
        return answer
    if _can(answer, "__next__", "__anext__"):
        reading.crossing.note("chrono.parsed", STREAM if _can(answer, "__next__") else ASYNC_STREAM)
        return watch(answer, reading)
    reading.open = False
    reading.crossing.finish(answer)
    return answer


def _can(value: Any, *names: str) -> bool:
    kind = type(value)
    return any(hasattr(kind, name) for name in names)
