"""Claims about records that a control plane had refused: sent again once it takes them, kept as long as it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.record.cursor import Cursor
from chrono.record.errors import ControlPlaneError
from chrono.record.plane import HttpPlane
from chrono.record.pruning import sync_folder
from chrono.record.resend import Resent, resend
from chrono.record.storefile import file_names
from chrono.record.storesink import plane_name
from tests.unit.record.fake_plane import FakePlane
from tests.unit.record.test_delivery import envelope, numbers, sink_to, span, until
from tests.waiting import LONG_S


def refusing(plane: FakePlane, store: Path) -> None:
    """Twenty records, of which a plane that has no room for large ones refuses two, and a span."""
    plane.answers = lambda method, path, body: 413 if b"xxxx" in body else 422 if method == "PUT" else None
    sink = sink_to(plane, store, fail_open=True)
    for number in range(20):
        sink.put_envelope(envelope(number, output={"raw": "xxxx" * (number in (3, 7))}))
    sink.put_span(span())
    sink.flush()
    assert until(lambda: len(plane.envelopes) == 18 and len(list(store.rglob("*.refused"))) == 1)
    sink.close()


def again(plane: FakePlane, store: Path) -> Resent:
    target = HttpPlane(plane.url, timeout_s=LONG_S)
    try:
        return resend(str(store), plane_name(plane.url), target)
    finally:
        target.close()


def test_what_a_plane_takes_now_is_sent_once(tmp_path: Path) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        plane.answers = lambda method, path, body: None
        assert again(plane, tmp_path) == Resent(3, 0, (), ())
        assert numbers(plane) == list(range(20)) and len(plane.spans) == 1
        assert not list(tmp_path.rglob("*.refused"))
        assert again(plane, tmp_path) == Resent(0, 0, (), ())


def test_what_it_still_refuses_is_kept_with_what_it_says_now(tmp_path: Path) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        plane.answers = lambda method, path, body: 400 if b"xxxx" in body else None
        done = again(plane, tmp_path)
        assert (done.taken, [note.status for _, note in done.refused]) == (1, [400, 400])
        plane.answers = lambda method, path, body: None
        assert again(plane, tmp_path).taken == 2 and numbers(plane) == list(range(20))


def test_a_plane_that_takes_nothing_now_costs_no_note(tmp_path: Path) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        plane.answers = lambda method, path, body: 503 if method == "PUT" else None
        with pytest.raises(ControlPlaneError, match="503"):
            again(plane, tmp_path)
        plane.answers = lambda method, path, body: None
        assert again(plane, tmp_path).taken == 1, "the other two were taken before"


def test_a_file_that_is_being_delivered_is_left_alone(tmp_path: Path) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        (name,) = file_names(str(tmp_path))
        lease = Cursor.take(sync_folder(str(tmp_path), plane_name(plane.url)), name)
        assert lease is not None and again(plane, tmp_path) == Resent(0, 0, (), (name,))
        lease.close()


def test_a_record_that_the_store_has_no_more_is_not_kept(tmp_path: Path) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        (name,) = file_names(str(tmp_path))
        os.unlink(tmp_path / name)
        plane.answers = lambda method, path, body: None
        assert again(plane, tmp_path).gone == 3 and not list(tmp_path.rglob("*.refused"))


def test_a_torn_note_hides_no_other(tmp_path: Path) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        (notes,) = tmp_path.rglob("*.refused")
        notes.write_bytes(b"\xff{\n[]\n" + notes.read_bytes() + b'{"at": 1')
        plane.answers = lambda method, path, body: None
        assert again(plane, tmp_path).taken == 3


def test_a_system_without_pread_reads_and_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    monkeypatch.delattr(os, "pwrite")
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        plane.answers = lambda method, path, body: None
        assert again(plane, tmp_path) == Resent(3, 0, (), ())
        assert numbers(plane) == list(range(20))
