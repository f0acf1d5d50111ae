"""Claims about clients that run and are not heard."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chrono.guard.sessions import Seen
from chrono.guard.unheard import SETTLES_S, Unheard, unheard
from tests.waiting import LONG_S

PROGRAMS = {"some-client": ("some-client",), "other": ("other-client",)}


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[Path]:
    """A folder in which a client runs, below one that is called like its beginning."""
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "project-2").mkdir()
    program = tmp_path / "some-client"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    process = subprocess.Popen([str(program), "1000"], cwd=root / "sub")
    try:
        yield root
    finally:
        process.kill()
        process.wait()


def look(root: Path, *known: Seen, after_s: float = SETTLES_S + 5) -> tuple[Unheard, ...]:
    return unheard(str(root), PROGRAMS, known, time.time() + after_s)


def heard(client: str, ago_s: float) -> Seen:
    at = datetime.fromtimestamp(time.time() - ago_s, UTC).isoformat()
    return Seen(client, at, None, None, (), 0, 0)


def test_a_client_that_never_reported_is_found(at_work: Path) -> None:
    (found,) = look(at_work)
    assert found.client == "some-client"
    assert os.readlink(f"/proc/{found.pid}/cwd") == str(at_work / "sub")
    assert abs(datetime.fromisoformat(found.since).timestamp() - time.time()) < LONG_S


def test_only_reports_since_it_started_count(at_work: Path) -> None:
    assert look(at_work, heard("some-client", 3600.0), heard("other", -5.0))
    assert not look(at_work, heard("some-client", -5.0))


def test_one_that_has_just_started_gets_time_to_report(at_work: Path) -> None:
    assert not look(at_work, after_s=-LONG_S)


def test_a_client_at_work_elsewhere_is_none_of_this_projects(at_work: Path) -> None:
    assert not look(at_work.parent / "project-2")
