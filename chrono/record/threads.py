"""Owns how new threads and the jobs of thread pools stay in the span that starts them (decision 0070).

`Thread.start` and `ThreadPoolExecutor.submit` are wrapped from the first span on; only our own context variable is
carried over, so that a program sees no other difference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chrono.record.session import HERE, NOWHERE, Here

_start: Callable[..., None] | None = None
_submit: Callable[..., Any] | None = None


def install() -> None:
    """Wrap both, once."""
    global _start, _submit
    if _start is None:
        _start, _submit = threading.Thread.start, ThreadPoolExecutor.submit
        threading.Thread.start = _started  # type: ignore[method-assign, assignment]
        ThreadPoolExecutor.submit = _submitted  # type: ignore[method-assign, assignment]


def uninstall() -> None:
    """Take the wrappers off, where nobody has wrapped them since."""
    global _start, _submit
    if _start is not None and _submit is not None and threading.Thread.start is _started:
        threading.Thread.start = _start  # type: ignore[method-assign]
        if ThreadPoolExecutor.submit is _submitted:
            ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]
            _start = _submit = None


def _started(thread: threading.Thread) -> None:
    here = HERE.get()
    if here.session is not None:
        run = thread.run

        def inside() -> None:
            del thread.run  # the instance holds its own function no longer than it must
            HERE.set(here)
            run()

        thread.run = inside  # type: ignore[method-assign]
    assert _start is not None
    _start(thread)


def _submitted(pool: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    assert _submit is not None
    # A worker that is started by this very call serves others later: it must not keep this span.
    here = HERE.get()
    if here.session is None:
        return _submit(pool, fn, *args, **kwargs)
    token = HERE.set(NOWHERE)
    try:
        return _submit(pool, _job, here, fn, args, kwargs)
    finally:
        HERE.reset(token)


def _job(here: Here, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = HERE.set(here)
    try:
        return fn(*args, **kwargs)
    finally:
        HERE.reset(token)
