"""Claims about finding commits: a short id names whatever the list shows, and hardly a commit is read for it."""

from __future__ import annotations

import pytest

from chrono.errors import NoSuchSavepoint

from .conftest import Project


@pytest.fixture
def lived_in(project: Project) -> Project:
    """Two savepoints on the branch, twenty automatic ones, a rescue."""
    for number in range(22):
        project.write("a", str(number))
        project.save("manual" if number in (3, 9) else "auto", f"number {number}")
    with project.store.lock(5):
        newest = project.store.newest_refs("refs/chrono/auto/")
        project.store.move_ref("refs/chrono/rescue/1", None, next(newest)[1])
    return project


def test_each_savepoint_has_its_short_id(lived_in: Project) -> None:
    listed = [found.id for found in lived_in.store.history()]
    assert len(listed) == 22
    for commit in listed:
        assert lived_in.store.resolve(commit[:16]) == commit
    with pytest.raises(NoSuchSavepoint, match="no savepoint"):
        lived_in.store.resolve("0123456789abcdef")


def test_a_short_id_does_not_read_every_savepoint(lived_in: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    history = lived_in.store._history
    reads: list[str] = []
    raw = history.raw
    monkeypatch.setattr(history, "raw", lambda commit: (reads.append(commit), raw(commit))[1])
    oldest = lived_in.store.refs("refs/chrono/auto/")[0][1]
    assert lived_in.store.resolve(oldest[:16]) == oldest
    assert len(reads) <= 4  # the two of the branch, and the one that was asked for
