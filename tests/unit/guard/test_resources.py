"""Claims about what a resident process keeps open: the same rules from call to call, and no more than a bounded table."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.guard import resources
from chrono.guard.resources import RACY_NS, Resources
from chrono.scan import ready
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise


@pytest.fixture
def environ(tmp_path: Path, compiled_rules: Path) -> dict[str, str]:
    shutil.copytree(compiled_rules, tmp_path / "state" / "cache")
    return {"HOME": str(tmp_path), "CHRONO_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def opened() -> Iterator[Resources]:
    made = Resources()
    yield made
    made.close()


def project(folder: Path, environ: dict[str, str]) -> str:
    folder.mkdir()
    initialise(str(folder), environ, actor(environ)).ws.close()
    return str(folder)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_rules_are_read_once_for_many_calls(tmp_path: Path, environ: dict[str, str], opened: Resources) -> None:
    root = project(tmp_path / "p", environ)
    time.sleep(2 * RACY_NS / 1e9)  # what was written just now could change again and look the same
    first = opened.rulebook(opened.place(root, environ))
    assert opened.rulebook(opened.place(root, environ)) is first
    other = opened.rulebook(opened.place(project(tmp_path / "q", environ), environ))
    assert other.rules is first.rules
    (tmp_path / "p" / "chrono-policy.yaml").write_text("thresholds: {block: 60}\n")
    changed = opened.rulebook(opened.place(root, environ))
    assert changed.policy.thresholds.block == 60
    assert changed.rules is first.rules


def test_rules_that_changed_are_read_again(tmp_path: Path, environ: dict[str, str], opened: Resources) -> None:
    root = project(tmp_path / "p", environ)
    first = opened.rulebook(opened.place(root, environ))
    (cache,) = (tmp_path / "state" / "cache").glob("rules-*.bin")
    cache.write_bytes(b"x" + cache.read_bytes()[1:])  # damaged: its MAC is wrong
    again = opened.rulebook(opened.place(root, environ))
    assert again is not first
    assert again.rules.digest == first.rules.digest


def test_a_fifo_in_the_place_of_the_rules_makes_nobody_wait(environ: dict[str, str], opened: Resources) -> None:
    (cache,) = (Path(environ["CHRONO_HOME"]) / "cache").glob("rules-*.bin")
    cache.unlink()
    os.mkfifo(cache)
    assert opened.rulebook(opened.place("/", environ)).rules.rules


def test_rulesets_of_the_past_are_let_go(environ: dict[str, str], opened: Resources) -> None:
    rules = opened.rulebook(opened.place("/", environ)).rules
    for at in range(20):
        ready.program(
            rules._replace(rules=(*rules.rules[: at + 1],), everywhere=(), by_program={}, by_prefix=()), ("ls",)
        )
    assert len(ready._KEPT) <= ready.MAX_RULESETS


def test_a_full_table_closes_what_was_unused_longest(
    tmp_path: Path, environ: dict[str, str], opened: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "MAX_PROJECTS", 3)
    roots = [project(tmp_path / f"p{at}", environ) for at in range(8)]
    used = []
    for root in [*roots, *roots]:
        with opened.holding(root):
            place = opened.place(root, environ)
            assert place.own
            assert place.ws is not None
            assert place.ws.store.head_ref()
        used.append(descriptors())
    assert len(opened._projects) == 3
    assert max(used[8:]) <= max(used[:8])


def test_a_busy_project_stays_open(
    tmp_path: Path, environ: dict[str, str], opened: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "MAX_PROJECTS", 1)
    first, second = (project(tmp_path / name, environ) for name in ("p", "q"))
    with opened.holding(first):
        ws = opened.place(first, environ).ws
        with opened.holding(second):
            assert opened.place(second, environ).own
        assert opened.place(first, environ).ws is ws
