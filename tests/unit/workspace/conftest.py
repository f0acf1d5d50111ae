"""Owns the projects that the tests of this room work in: real folders, a real store, a real log, nobody's home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "person").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "GIT_CEILING_DIRECTORIES")}
    return {"HOME": str(tmp_path / "person"), "CHRONO_HOME": str(tmp_path / "state"), **kept}


@pytest.fixture
def by(environ: dict[str, str]) -> Actor:
    return actor(environ)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("one\n")
    (folder / "README").write_text("read\n")
    return folder


@pytest.fixture
def ws(root: Path, environ: dict[str, str], by: Actor) -> Iterator[Workspace]:
    opened = initialise(str(root), environ, by).ws
    yield opened
    opened.close()
