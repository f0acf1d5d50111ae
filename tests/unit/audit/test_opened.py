"""Claims about the files that a writer keeps open: they are those that are there, or they are opened anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.opened import Opened
from chrono.audit.segment import close
from chrono.errors import AuditTampered

from .conftest import BOB, Ground


@pytest.fixture
def opened(ground: Ground) -> Opened:
    ground.begin(2)
    found = Opened(ground.place)
    assert found.look()[1] is False
    return found


def test_files_that_are_still_there_stay_open(ground: Ground, opened: Opened) -> None:
    before = opened.live
    ground.command()
    stamp, same = opened.look()
    assert same and opened.live is before
    assert stamp == opened.stamp == (os.stat(ground.place.log).st_size, os.stat(ground.place.log).st_mtime_ns)


def test_a_log_that_was_replaced_is_opened_anew(ground: Ground, opened: Opened) -> None:
    copy = Path(ground.place.log + ".copy")
    copy.write_bytes(Path(ground.place.log).read_bytes())
    os.rename(copy, ground.place.log)
    assert opened.look()[1] is False
    assert os.path.samestat(os.fstat(opened.live.fd), os.stat(ground.place.log))


def test_the_next_segment_begins_where_the_last_one_ended(ground: Ground, opened: Opened) -> None:
    size = os.stat(ground.place.log).st_size
    close(ground.log, BOB, timeout_s=5)
    assert opened.look()[1] is False
    assert opened.live.base > size and opened.first == 4


def test_a_log_that_is_gone_is_said_to_be(ground: Ground, opened: Opened) -> None:
    os.unlink(ground.place.log)
    with pytest.raises(AuditTampered, match="is gone"):
        opened.look()
    assert not opened


def test_a_beginning_that_changed_in_the_open_file_is_noticed(ground: Ground, opened: Opened) -> None:
    assert opened.has_its_beginning(ground.log.log_id) and opened.has_its_beginning(ground.log.log_id)
    ground.write_lines(ground.lines()[1:])
    assert opened.look()[1] is True
    ground.write_lines([line.replace(ground.log.log_id.encode(), b"0" * 32) for line in ground.lines()])
    assert not opened.has_its_beginning(ground.log.log_id)
