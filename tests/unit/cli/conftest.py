"""Owns the runner of command lines inside this process, and a small project to run them in."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chrono.cli.main import main
from chrono.cli.render import Screen


class Ran(NamedTuple):
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


class CommandLine:
    """Runs `chrono …` as a pipe would see it: nobody is there to be asked."""

    def __call__(self, *args: str, stdin: bytes | None = None, **environ: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        source = io.TextIOWrapper(io.BytesIO(stdin)) if stdin is not None else None
        code = main(list(args), Screen(out, err, source, {**os.environ, **environ}))
        return Ran(code, out.getvalue(), err.getvalue())


@pytest.fixture
def chrono() -> CommandLine:
    return CommandLine()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files, which is the current one."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "src").mkdir()
    (root / "src" / "b.py").write_text("x = 1\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def project(folder: Path, chrono: CommandLine) -> Path:
    """The same, initialised."""
    ran = chrono("init")
    assert ran.code == 0, ran
    return folder
