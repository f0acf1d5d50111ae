"""Claims about what a look for an interrupted savepoint costs where the log is not what it should be."""

from __future__ import annotations

import os
import tracemalloc

from chrono.workspace.project import Workspace
from chrono.workspace.recover import last_anchor


def test_the_newest_anchor_is_looked_for_in_bounded_memory(ws: Workspace) -> None:
    """A hole of a terabyte behind the records: the look ends where no log that chrono writes goes on."""
    assert last_anchor(ws) is not None
    os.truncate(ws.layout.audit_log, 1 << 40)
    tracemalloc.start()
    try:
        assert last_anchor(ws) is None
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()
