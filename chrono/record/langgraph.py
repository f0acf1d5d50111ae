"""Owns instrumenting a LangGraph: every node and every router of a graph becomes a boundary, in place.

langgraph itself is never imported: what is used of a graph are its `nodes` and `branches` and their runnables.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from chrono.record.boundaries import boundary

if TYPE_CHECKING:
    from chrono.trace.enums import Kind

_MARK = "__chrono_boundary__"
_INJECTED = frozenset({"config", "runtime", "writer", "store", "previous"})
"""What the framework hands to a node beside its state: its own objects, and no input."""


def instrument(graph: Any, *, kind: str | Kind = "tool") -> Any:
    """Make every node (by its name) and every router of a conditional edge ("source:branch") of a StateGraph a boundary
    of `kind`, before or after `compile`, for sync and async runs; answers with `graph`. Twice is once.

    Raises TypeError for what is no such graph.
    """
    builder = getattr(graph, "builder", graph)
    nodes, branches = getattr(builder, "nodes", None), getattr(builder, "branches", None)
    if not isinstance(nodes, Mapping) or not isinstance(branches, Mapping):
        raise TypeError(f"a StateGraph or a compiled one is needed, not {type(graph).__name__}")
    for name, node in nodes.items():
        _instrument_runnable(getattr(node, "runnable", node), str(name), kind)
    for source, routers in branches.items():
        for branch, router in routers.items():
            _instrument_runnable(getattr(router, "path", router), f"{source}:{branch}", kind)
    return graph


def instrument_langgraph(
    nodes: Mapping[str, Callable[..., Any]], *, kind: str | Kind = "tool"
) -> dict[str, Callable[..., Any]]:
    """The functions of `nodes`, each as a boundary under its name: for graphs that are put together by hand."""
    return {name: _wrapped(function, name, kind) for name, function in nodes.items()}


def _instrument_runnable(runnable: Any, name: str, kind: str | Kind) -> None:
    function, coroutine = getattr(runnable, "func", None), getattr(runnable, "afunc", None)
    if function is None and coroutine is None:
        # A chain, a model or a subgraph as a node: its two entries are the boundary. Such an object may refuse new
        # attributes (pydantic), so they are set past its own __setattr__.
        for entry in ("invoke", "ainvoke"):
            method = getattr(runnable, entry, None)
            if method is not None:
                object.__setattr__(runnable, entry, _wrapped(method, name, kind))
        return
    if function is not None:
        runnable.func = _wrapped(function, name, kind)
    if isinstance(coroutine, functools.partial) and function is not None and function in coroutine.args:
        # No coroutine of its own: the sync function in an executor.
        arguments = (runnable.func if one is function else one for one in coroutine.args)
        runnable.afunc = functools.partial(coroutine.func, *arguments, **coroutine.keywords)
    elif coroutine is not None:
        runnable.afunc = _wrapped(coroutine, name, kind)


def _wrapped(function: Callable[..., Any], name: str, kind: str | Kind) -> Callable[..., Any]:
    if getattr(function, _MARK, False):
        return function
    wrapped = boundary(name, kind=kind, extract_input=_state_only(function))(function)
    setattr(wrapped, _MARK, True)
    return wrapped


def _state_only(function: Callable[..., Any]) -> Callable[..., Mapping[str, Any]] | None:
    """How to name the arguments of a node that takes what the framework injects; None: as always."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    if _INJECTED.isdisjoint(signature.parameters):
        return None

    def state(*args: Any, **kwargs: Any) -> Mapping[str, Any]:
        bound = signature.bind_partial(*args, **kwargs).arguments
        return {name: value for name, value in bound.items() if name not in _INJECTED}

    return state
