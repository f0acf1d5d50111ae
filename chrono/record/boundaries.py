"""Owns declaring a boundary: the `boundary` decorator and `wrap_llm`.

What happens when one is crossed is `record.crossing`; client objects are wrapped by `record.wrapping`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from chrono.record.crossing import BoundarySpec, ainvoke, invoke, spec_of
from chrono.record.generators import async_generator_function, generator_function
from chrono.record.provider import LlmAdapter

if TYPE_CHECKING:
    from chrono.trace.enums import Kind

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("llm", "tool")


def boundary(
    name: str,
    *,
    kind: str | Kind = "tool",
    provider: str | None = None,
    adapter: LlmAdapter | None = None,
    extract_input: Callable[..., Mapping[str, Any]] | None = None,
    extract_result: Callable[[Any], Any] | None = None,
    extract_metadata: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Callable[[F], F]:
    """Record every call of the decorated function as boundary `name`: plain, async, generator or async generator.

    `extract_input(*args, **kwargs)` replaces the arguments by name, `extract_result(result)` what is recorded of the
    result, `extract_metadata(result)` adds metadata. Raises ValueError at once for a kind that is neither llm nor tool.
    """
    spec_kind = _kind(kind)
    if not isinstance(name, str) or not name:
        raise ValueError("a boundary has a name")

    def decorate(function: F) -> F:
        spec = spec_of(
            name,
            spec_kind,
            function,
            provider=provider,
            adapter=adapter,
            extract_input=extract_input,
            extract_result=extract_result,
            extract_metadata=extract_metadata,
        )
        return wrap_function(spec, function)

    return decorate


def wrap_llm(
    name: str,
    dispatch: Callable[..., Any],
    *,
    provider: str | None = None,
    adapter: LlmAdapter | None = None,
    extract_input: Callable[..., Mapping[str, Any]] | None = None,
    extract_result: Callable[[Any], Any] | None = None,
    extract_metadata: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Callable[..., Any]:
    """`dispatch`, a function that calls a model, as a boundary of kind llm; otherwise as `boundary`."""
    return boundary(
        name,
        kind="llm",
        provider=provider,
        adapter=adapter,
        extract_input=extract_input,
        extract_result=extract_result,
        extract_metadata=extract_metadata,
    )(dispatch)


def wrap_function(spec: BoundarySpec, function: F) -> F:
    """`function` as the boundary `spec`, of the same kind of callable."""
    wrapped: F = _wrapped(spec, function)
    return wrapped


def _kind(kind: str | Kind) -> str:
    if str(kind) in KINDS:
        return str(kind)
    hint = ""
    if str(kind) in ("router", "custom"):
        hint = "; a router is an llm where a model decides, otherwise a tool"
    raise ValueError(f"a boundary is of kind llm or tool, not {kind!r}{hint}")


def _wrapped(spec: BoundarySpec, function: Any) -> Any:
    wrapper: Any
    if _is(inspect.iscoroutinefunction, function):

        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await ainvoke(spec, function, args, kwargs)

    elif _is(inspect.isasyncgenfunction, function):
        wrapper = async_generator_function(lambda *args, **kwargs: invoke(spec, function, args, kwargs))
    elif _is(inspect.isgeneratorfunction, function):
        wrapper = generator_function(lambda *args, **kwargs: invoke(spec, function, args, kwargs))
    else:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return invoke(spec, function, args, kwargs)

    try:
        return functools.wraps(function)(wrapper)
    except (AttributeError, TypeError):
        return wrapper


def _is(question: Callable[[Any], bool], function: Any) -> bool:
    """Ask of the function itself, and of `__call__` where it is an object with one."""
    call = getattr(type(function), "__call__", None)  # noqa: B004
    return question(function) or (not inspect.isroutine(function) and call is not None and question(call))
