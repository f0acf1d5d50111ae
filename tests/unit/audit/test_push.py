"""Claims about a copy that is kept elsewhere: it grows by what is new, survives a busy store, and shows a log that was
cut or rewritten at home, even with head, witness and key in the thief's hands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from chrono.audit import push as module
from chrono.audit import web
from chrono.audit.checkpoint import NotACheckpoint
from chrono.audit.external import External, add_external, read_external
from chrono.audit.log import reset_witness
from chrono.audit.push import Kept, Store, auth_for, kept_at, push, signed_by, store_at
from chrono.errors import ChronoError
from chrono.signing import generate

from .conftest import BOB, Ground, codes
from .endpoint import AppendOnlyStore


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[AppendOnlyStore]:
    monkeypatch.setattr(web, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(module, "BATCH_RECORDS", 4)
    served = AppendOnlyStore()
    yield served
    served.close()


@pytest.fixture
def log(ground: Ground) -> Ground:
    ground.begin(10)
    return ground


def send(ground: Ground, store: AppendOnlyStore, auth: str | None = None) -> tuple[Kept, int]:
    return push(ground.place, store_at(store.url, auth), ground.log.log_id)


def seen(ground: Ground, store: AppendOnlyStore) -> External:
    pin = ground.log._pin
    assert pin is not None and pin.key is not None
    kept = kept_at(store_at(store.url, None), ground.log.log_id)
    point = signed_by(kept.note, ground.log.log_id, (pin.key,))
    return External("remote", store.url, point.size, point.root.hex(), "2026-11-30T00:00:00.000000Z", kept.note)


def test_a_store_is_sent_what_it_lacks_and_nothing_twice(log: Ground, store: AppendOnlyStore) -> None:
    assert send(log, store) == (Kept(11, store.notes[log.log.log_id]), 11)
    assert store.logs[log.log.log_id] == log.lines()
    assert [method for method, _ in store.requests] == ["GET", "POST", "POST", "POST", "PUT"]
    assert send(log, store)[1] == 0
    log.command("one more")
    assert send(log, store)[1] == 1
    report = log.verify(external=(seen(log, store),))
    assert report.exit_code == 0
    assert report.integrity == "OK local (W0,W1,W3); remote: remote; last external checkpoint 12 of 12"


def test_a_push_that_was_cut_off_goes_on_where_it_was(log: Ground, store: AppendOnlyStore) -> None:
    store.fail = [503, 429, 500]
    assert send(log, store)[1] == 11
    for _ in range(9):
        log.command()
    store.fail = [502] * 20  # away for longer than anybody waits
    with pytest.raises(ChronoError, match="does not answer"):
        send(log, store)
    store.fail = []
    assert send(log, store)[1] == 9
    assert store.logs[log.log.log_id] == log.lines()


def test_a_store_that_wants_a_header_gets_it_and_nobody_sees_it(log: Ground, store: AppendOnlyStore) -> None:
    store.auth = "Bearer sesame"
    with pytest.raises(ChronoError, match="who are you") as caught:
        send(log, store)
    assert "CHRONO_AUDIT_PUSH_AUTH" in (caught.value.hint or "")
    assert send(log, store, "Bearer sesame")[1] == 11
    assert "sesame" not in repr(Store(store.url, "Bearer sesame"))


def test_what_was_cut_or_rewritten_at_home_shows_elsewhere(log: Ground, store: AppendOnlyStore) -> None:
    send(log, store)
    point = seen(log, store)
    add_external(log.home, log.log.log_id, [point])
    lines = log.lines()
    log.write_lines(lines[:6])
    # the thief has the home, too
    log.log.close()
    log.again()
    log.witness().reset()
    for path in (log.place.head, log.home.witness_log(log.log.log_id)):
        open(path, "wb").close()
    report = log.verify()
    assert "truncated" in codes(report)
    assert any(store.url in finding.text for finding in report.findings)
    with pytest.raises(ChronoError, match="checkpoint is damaged"):
        send(log, store)
    log.write_lines([*lines[:6], *(line.replace(b"echo", b"ECHO") for line in lines[6:])])
    assert "external" in codes(log.verify(external=(point,)))


def test_what_a_store_says_counts_only_under_the_logs_own_key(log: Ground, store: AppendOnlyStore) -> None:
    send(log, store)
    store.notes[log.log.log_id] = store.notes[log.log.log_id].replace("\n11\n", "\n10\n")
    with pytest.raises(NotACheckpoint):
        seen(log, store)
    with pytest.raises(NotACheckpoint):
        signed_by(store.notes[log.log.log_id], log.log.log_id, (generate().public,))
    with pytest.raises(NotACheckpoint, match="no key"):
        signed_by("x", log.log.log_id, ())


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x",
        "ftp://example.com",
        "https://",
        "file:///etc/passwd",
        "https://bob:pw@example.com/x",
        "x",
    ],
)
def test_an_address_that_would_show_records_is_refused(url: str) -> None:
    with pytest.raises(ChronoError) as caught:
        store_at(url, None)
    assert "pw" not in caught.value.message.replace("password", "")


def test_of_each_holder_the_largest_is_kept(log: Ground) -> None:
    one = External("W5", "a", 5, "0" * 64, "t", "p")
    add_external(log.home, log.log.log_id, [one, one._replace(holder="b")])
    add_external(log.home, log.log.log_id, [one._replace(size=3), one._replace(holder="b", size=9)])
    assert [(entry.holder, entry.size) for entry in read_external(log.home, log.log.log_id)] == [("a", 5), ("b", 9)]
    with open(log.home.external(log.log.log_id), "ab") as file:
        file.write(b'x\n{"size":-1}\n')
    assert len(read_external(log.home, log.log.log_id)) == 2


def test_a_person_ends_what_others_saw_and_the_record_names_it(log: Ground) -> None:
    saw = External("W4", "origin", 99, "0" * 64, "2026-11-30T00:00:00.000000Z", "")
    fits = External("W5", "w", 3, log.verify().root, "2026-11-30T00:00:00.000000Z", "")
    add_external(log.home, log.log.log_id, [saw, fits._replace(size=11)])
    assert codes(log.verify()) == {"truncated"}
    receipt = reset_witness(log.log, BOB, "from a backup", external=[saw])
    assert receipt is not None
    report = log.verify()
    assert (report.exit_code, report.resets) == (22, 1)
    assert [entry.holder for entry in read_external(log.home, log.log.log_id)] == ["w"]
    assert b'"external":[["W4","origin",99,' in log.lines()[-1]


# -- who may send


def test_the_keyring_knows_the_header_of_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {("chrono-audit", "https://store.example/x"): "Bearer t"}
    ring = SimpleNamespace(get_password=lambda service, name: kept.get((service, name)))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert auth_for("https://store.example/x/", None) == "Bearer t"
    assert auth_for("https://store.example/x", "Bearer given") == "Bearer given"
    assert auth_for("https://elsewhere.example", None) is None


def test_no_keyring_is_no_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert auth_for("https://store.example", None) is None


def test_a_locked_keyring_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(service: str, name: str) -> str:
        raise RuntimeError("the collection is locked")

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=locked))
    with pytest.raises(ChronoError, match="the collection is locked"):
        auth_for("https://store.example", None)
