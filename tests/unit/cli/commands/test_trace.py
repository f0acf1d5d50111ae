"""Claims about `chrono trace`: what was recorded is found, shown, taken elsewhere and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.record.fake_plane import FakePlane
from tests.unit.record.test_delivery import TRACE, envelope, sink_to
from tests.unit.record.test_reading import OTHER, two_traces
from tests.unit.record.test_resend import refusing


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "traces"
    two_traces(folder)
    monkeypatch.setenv("CHRONO_RECORD_STORE", str(folder))
    return folder


def test_traces_are_listed_and_narrowed(store: Path, chrono: Any) -> None:
    ran = chrono("trace")
    rows = ran.out.splitlines()
    assert ran.code == 0 and len(rows) == 2
    assert rows[0].split()[:2] == [OTHER[:12], "failure"] and "billing" in rows[0]
    assert rows[1].split()[:2] == [TRACE[:12], "success"] and rows[1].endswith("book a table")
    assert chrono("trace", "list", "book", "--label", "user_id=u1", "--json").json["traces"][0]["trace_id"] == TRACE
    assert chrono("trace", "list", "--status", "failure", "--service", "billing", "--json").json["count"] == 1
    assert chrono("trace", "list", "--since", "1h").err.endswith("is like that\n")


def test_a_list_is_paged(store: Path, chrono: Any) -> None:
    ran = chrono("trace", "list", "-n", "1")
    assert ran.out.startswith(OTHER[:12]) and "1 of 2 are shown; more: --skip 1" in ran.err
    assert chrono("trace", "list", "-n", "1", "--skip", "1").out.startswith(TRACE[:12])


def test_a_trace_is_shown_by_the_beginning_of_its_id(store: Path, chrono: Any) -> None:
    ran = chrono("trace", "show", TRACE[:6])
    assert ran.code == 0 and "user_id=u1" in ran.out
    assert 'given {"n": 1}' in ran.out and "gave 1" in ran.out
    shown = chrono("trace", "show", TRACE, "-n", "1", "--json").json
    assert (shown["envelope_count"], len(shown["envelopes"]), shown["damaged"]) == (2, 1, 0)


def test_text_that_a_terminal_would_obey_is_made_safe(store: Path, chrono: Any) -> None:
    sink = sink_to(None, store)
    sink.put_envelope(envelope(5, name="a\x1b[2Jb", output={"raw": "c\x1b]0;d\x07"}))
    sink.close()
    assert "\x1b" not in chrono("trace", "show", TRACE).out


def test_an_exported_trace_is_imported_elsewhere(store: Path, chrono: Any, tmp_path: Path) -> None:
    file, there = tmp_path / "incident.json", tmp_path / "there"
    there.mkdir()
    assert chrono("trace", "export", TRACE, "--out", str(file)).code == 0
    assert json.loads(file.read_text())["format"] == "chrono-trace/1"
    assert json.loads(chrono("trace", "export", TRACE).out) == json.loads(file.read_text())
    assert chrono("trace", "import", str(file), "--store", str(there), "--json").json["written"] == 4
    assert "0 records written, 4 were there" in chrono("trace", "import", str(file), "--store", str(there)).out
    here, elsewhere = (chrono("trace", "show", TRACE, "--json", *more).json for more in ((), ("--store", str(there))))
    assert here == elsewhere


def test_a_key_goes_only_to_the_plane_that_it_was_set_for(
    store: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chrono.record import plane as room

    keys: list[str | None] = []
    real = room.HttpPlane.__init__

    def seen(self: Any, url: str, api_key: str | None = None, **more: Any) -> None:
        keys.append(api_key)
        real(self, url, api_key, **more)

    monkeypatch.setattr(room.HttpPlane, "__init__", seen)
    monkeypatch.setenv("CHRONO_RECORD_API_KEY", "k")
    with FakePlane() as plane:
        for known in (plane.url, "http://127.0.0.1:1"):
            monkeypatch.setenv("CHRONO_RECORD_CONTROL_PLANE_URL", known)
            chrono("trace", "import", plane.url, TRACE)
    assert keys == ["k", None]


def test_what_a_plane_had_refused_is_sent_again(chrono: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakePlane() as plane:
        refusing(plane, tmp_path)
        for name, value in (("STORE", str(tmp_path)), ("CONTROL_PLANE_URL", plane.url)):
            monkeypatch.setenv(f"CHRONO_RECORD_{name}", value)
        plane.answers = lambda method, path, body: 422 if b"xxxx" in body else None
        ran = chrono("trace", "resend")
        assert ran.code == 1 and ran.out.count("422 told to say 422") == 2 and "1 record taken" in ran.out
        plane.answers = lambda method, path, body: None
        ran = chrono("trace", "resend", "--json")
        assert ran.code == 0 and ran.json == {"taken": 2, "gone": 0, "refused": [], "busy": []}
    monkeypatch.delenv("CHRONO_RECORD_CONTROL_PLANE_URL")
    ran = chrono("trace", "resend")
    assert ran.code == 2 and "no control plane is set" in ran.err


def test_two_traces_are_compared(store: Path, chrono: Any, tmp_path: Path) -> None:
    same = chrono("trace", "diff", TRACE, TRACE)
    assert (same.code, same.out) == (0, "no difference in 2 calls\n")
    file = tmp_path / "changed.json"
    file.write_text(chrono("trace", "export", TRACE).out.replace('"n": 1', '"n": 7'))
    ran = chrono("trace", "diff", TRACE, str(file))
    assert ran.code == 1 and "! tool tool-1" in ran.out and "/input/raw/n" in ran.out and "+ 7" in ran.out
    file.write_text(chrono("trace", "export", TRACE).out.replace('"raw": 1', '"ra": 1'))
    (one,) = chrono("trace", "diff", TRACE, str(file), "--json").json["differences"]
    assert one["changes"] == [{"path": "/output/raw", "left": 1}, {"path": "/output/ra", "right": 1}]
    found = chrono("trace", "diff", TRACE, OTHER, "--json").json["differences"]
    assert [(one["name"], one["right_id"] is None) for one in found] == [
        ("tool-0", True), ("tool-1", True), ("tool-2", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "00"), 1, "no trace 00"),
        (("list", "--status", "odd"), 2, "none of success"),
        (("list", "--label", "odd"), 2, "KEY=VALUE"),
        (("list", "--store", "/nowhere"), 1, "no folder"),
        (("import", "/nowhere"), 1, "cannot be read"),
        (("import", "http://127.0.0.1:1"), 2, "which trace"),
        (("import", "http://127.0.0.1:1", "aa"), 1, "cannot be reached"),
    ],
)
def test_what_cannot_be_is_said(store: Path, chrono: Any, words: tuple[str, ...], code: int, said: str) -> None:
    ran = chrono("trace", *words)
    assert ran.code == code and said in ran.err


def test_without_a_store_there_is_nothing_and_nothing_is_made(
    chrono: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHRONO_RECORD_STORE", str(tmp_path / "none"))
    ran = chrono("trace")
    assert (ran.code, ran.out) == (0, "") and "no trace in" in ran.err
    assert not (tmp_path / "none").exists()
