"""Claims about the files of a recorded span: the savepoints that held them are facts of the span."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chrono import record
from chrono.record import reset
from chrono.record.files import SOURCES, files_of
from chrono.record.runtime import use_sink
from chrono.record.sink import MemorySink
from chrono.workspace.project import Workspace
from chrono.workspace.recording import source


@pytest.fixture
def sink(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[MemorySink]:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    memory = MemorySink()
    use_sink(memory)
    yield memory
    use_sink(None)
    reset()


def metadata(sink: MemorySink) -> dict[str, Any]:
    """Of the closed span."""
    return next(one.metadata for one in sink.spans if one.status is not None)


def test_a_span_names_the_savepoints_around_it(
    ws: Workspace, root: Path, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "src")
    record.configure(record_files=True)
    (root / "README").write_text("before\n")
    with record.record() as session:
        (root / "README").write_text("after\n")
    facts = metadata(sink)
    files = files_of({"metadata": facts})
    assert files.savepoint_before is not None and files.savepoint_after is not None
    for moment, commit in (("before", files.savepoint_before), ("after", files.savepoint_after)):
        found = ws.store.savepoint(ws.store.resolve(commit))
        assert ws.store.read(found.id, "README") == f"{moment}\n".encode()
        assert facts[f"chrono.tree.{moment}"] == found.tree
        assert found.trailer("Chrono-Trace") == session.trace_id and found.trailer("Chrono-Span") == session.span_id


def test_where_nothing_changed_no_savepoint_is_added(
    ws: Workspace, root: Path, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    record.configure(record_files=True)
    before = len(list(ws.store.history()))
    for _ in range(3):
        with record.record():
            pass
    assert len(list(ws.store.history())) == before
    assert metadata(sink)["chrono.tree.before"] == metadata(sink)["chrono.tree.after"]


def test_nothing_is_saved_where_nobody_asked_or_there_is_no_project(
    ws: Workspace, root: Path, tmp_path: Path, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    with record.record():
        pass
    monkeypatch.chdir(tmp_path)
    record.configure(record_files=True)
    with record.record():
        pass
    assert [one.metadata for one in sink.spans if one.status is not None] == [{}, {}]


def test_what_cannot_be_saved_costs_the_program_nothing(
    ws: Workspace, root: Path, sink: MemorySink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (root / ".chrono" / "repo.git" / "HEAD").unlink()
    monkeypatch.chdir(root)
    record.configure(record_files=True)
    with caplog.at_level(logging.WARNING), record.record():
        pass
    assert metadata(sink) == {} and "could not be saved" in caplog.text


def test_the_source_is_registered_as_strangers_are() -> None:
    assert SOURCES.load("default") is source
