"""The resident service and a hook by itself give the same answers, word for word, over the corpus of commands."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.guard import client
from chrono.guard.caller import Caller
from chrono.guard.engine import answer
from chrono.guard.resources import Resources
from tests.e2e.test_soak import Served
from tests.waiting import LONG_S

CORPUS = Path(__file__).parents[1] / "conformance" / "commands.jsonl"
STEP = 120
"""The normal tier takes every 120th command, the slow tier all."""

DIFFERED = ("rm -rf /proc/self/cwd/src",)
"""Commands that once were answered otherwise by one of the two."""

PASSING = re.compile(rb"\b[0-9a-f]{7,64}\b")
"""Names of savepoints and approvals, which differ from call to call."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("ways"))
    pid = made.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "ACCEPT_S", LONG_S)  # a busy service is asked all the same
        yield made
    os.kill(pid, 15)


def differing(served: Served, step: int) -> list[str]:
    """The commands that are answered otherwise by the service than in process."""
    resources = Resources()
    found = []
    try:
        lines = CORPUS.read_text(encoding="utf-8").splitlines()[::step]
        for at, command in enumerate([*DIFFERED, *(json.loads(line)["text"] for line in lines)]):
            payload = served.payload(0, command, f"toolu_{at}")
            caller = Caller(dict(served.first.environ), os.getpid(), 1, None, time.monotonic() + LONG_S, os.getcwd())
            here = answer("claude-code", payload, caller, resources)
            there = client._ask(
                served._wire, served._posix, served.build, served.home, "claude-code", payload, time.monotonic()
            )
            assert there is not None, command
            ways = [(PASSING.sub(b"#", out), PASSING.sub(b"#", err), code) for out, err, code in (tuple(here), there)]
            if ways[0] != ways[1]:
                found.append(f"{command!r}: {ways}")
    finally:
        resources.close()
    return found


def test_both_ways_answer_alike(served: Served) -> None:
    assert differing(served, STEP) == []


@pytest.mark.slow
def test_both_ways_answer_the_whole_corpus_alike(served: Served) -> None:
    assert differing(served, 1) == []
