"""Owns the programs that the points of crashes run in processes of their own, under either SDK:

python -m tests.peers.crashing SDK dies URL SIGKILL|SIGTERM|fork
python -m tests.peers.crashing SDK lives URL
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from typing import Any

TIMEOUT_S = 12.0
LONGEST_STALL_S = 10.0
FORKS = 4


def dies(chronicle: Any, url: str, end: str) -> None:
    """Records, and ends without a word."""
    chronicle.configure(control_plane_url=url, flush_interval=0.5, timeout=TIMEOUT_S)

    @chronicle.boundary("tool")
    def tool(number: int) -> None:
        pass

    with chronicle.record():
        for number in range(20):
            tool(number)
        print("recorded", flush=True)
        if end == "fork":
            chronicle.flush()  # the connection is open now
            for number in range(100, 100 + 10 * FORKS, 10):
                child = os.fork()
                began = time.monotonic()
                for more in range(5):
                    tool(number + more if child == 0 else number + 5 + more)
                chronicle.flush()
                if child == 0:
                    chronicle.shutdown()
                    os._exit(0 if time.monotonic() - began < LONGEST_STALL_S else 9)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child stalled"
            chronicle.shutdown()
            return
        os.kill(os.getpid(), getattr(signal, end))


def lives(chronicle: Any, url: str) -> None:
    """The next process of the same program."""
    chronicle.configure(control_plane_url=url, flush_interval=0.05)

    @chronicle.boundary("tool")
    def tool(number: int) -> None:
        pass

    with chronicle.record():
        tool(1000)
    chronicle.shutdown()


if __name__ == "__main__":
    program = {"dies": dies, "lives": lives}[sys.argv[2]]
    program(importlib.import_module(sys.argv[1]), *sys.argv[3:])
