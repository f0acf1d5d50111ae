"""Owns the recorder of a test: entries land in memory, and nothing of a test's settings or hooks is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from chrono.record import default_hooks, reset
from chrono.record.runtime import use_sink
from chrono.record.sink import MemorySink


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemorySink]:
    """Where the test's calls are recorded."""
    for name in list(os.environ):
        if name.startswith(("CHRONO_RECORD_", "CHRONICLE_")):
            monkeypatch.delenv(name)
    memory = MemorySink()
    use_sink(memory)
    yield memory
    default_hooks.clear()
    use_sink(None)
    reset()
