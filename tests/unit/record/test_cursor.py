"""Cursors: one process at a time, and what is torn means the beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.record.cursor import Cursor, delivered_to


def test_a_file_is_leased_to_one_at_a_time(tmp_path: Path) -> None:
    first = Cursor.take(str(tmp_path / "sync"), "f")
    assert first is not None and first.offset == 0
    assert Cursor.take(str(tmp_path / "sync"), "f") is None
    first.advance(70_000)
    first.close()
    first.close()
    second = Cursor.take(str(tmp_path / "sync"), "f")
    assert second is not None and second.offset == 70_000
    second.close()
    assert delivered_to(str(tmp_path / "sync"), "f") == 70_000


@pytest.mark.parametrize(
    "line", [b"", b"0000000", b"000000011170 00000000\n", b"\xff" * 22, b"-00000000001 abcdefgh\n"]
)
def test_a_torn_cursor_means_the_beginning(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "f.cursor").write_bytes(line)
    assert delivered_to(str(tmp_path), "f") == 0
    lease = Cursor.take(str(tmp_path), "f")
    assert lease is not None and lease.offset == 0
    lease.close()


def test_a_link_in_place_of_a_cursor_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "f.cursor").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        Cursor.take(str(tmp_path), "f")
    assert not (tmp_path / "elsewhere").exists()
