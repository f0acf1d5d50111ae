"""Claims about the journal: what is written is read back, older ones are understood, and nothing else is believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.errors import StoreError
from chrono.ids import CommitId, OpId
from chrono.store import journal
from chrono.store.disk import Disk
from chrono.store.journal import Journal

PRE, TARGET, OP = CommitId("1" * 40), CommitId("2" * 40), OpId("a" * 32)


def test_paths_and_notes_come_back_whatever_is_in_them(tmp_path: Path) -> None:
    note = (("verb", "checkout"), ("message", "line\nfeed ü %0A"), ("move", "refs/heads/x - " + "3" * 40))
    made = Journal(OP, PRE, TARGET, ("a b", "x\ny", os.fsdecode(b"raw\xff")), note)
    path = os.fsencode(tmp_path / "restore.journal")
    journal.write(path, made, Disk())
    assert journal.read(path) == made
    journal.remove(path, Disk())
    assert journal.read(path) is None


def test_a_journal_of_the_first_version_is_one_without_a_note(tmp_path: Path) -> None:
    path = tmp_path / "restore.journal"
    path.write_text(f'{{"op": "{OP}", "paths": ["src"], "pre": "{PRE}", "target": "{TARGET}", "version": 1}}\n')
    assert journal.read(os.fsencode(path)) == Journal(OP, PRE, TARGET, ("src",))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 3}',
        f'{{"op": "{OP}", "paths": [], "pre": "../x", "target": "{TARGET}", "version": 2}}',
        f'{{"note": [["only a key"]], "op": "{OP}", "paths": [], "pre": "{PRE}", "target": "{TARGET}", "version": 2}}',
        f'{{"note": 5, "op": "{OP}", "paths": [], "pre": "{PRE}", "target": "{TARGET}", "version": 2}}',
    ],
)
def test_what_is_no_journal_is_an_error_and_no_restore(tmp_path: Path, text: str) -> None:
    path = tmp_path / "restore.journal"
    path.write_text(text)
    with pytest.raises(StoreError):
        journal.read(os.fsencode(path))
