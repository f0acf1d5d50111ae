"""Claims about going on from what was verified: new records are judged as ever, and only a signed note spares the old."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit import chain
from chrono.audit.keys import read_key_file
from chrono.audit.report import Report
from chrono.audit.resume import read_verified, write_verified
from chrono.audit.verify import Keep
from chrono.signing import generate

from .conftest import Ground, codes

MARK = "were verified on 2026-11-30T00:00:00Z and not read again"


@pytest.fixture(params=[1 << 18, 0], ids=["line by line", "in columns"])
def log(ground: Ground, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(chain, "QUICK_BYTES", request.param)
    ground.begin(2)
    ground.savepoint("one")
    ground.command()
    return ground


def keep(ground: Ground) -> Keep:
    return Keep(read_key_file(ground.home.audit_key), "2026-11-30T00:00:00.000000Z")


def judged(ground: Ground, **more: object) -> Report:
    return ground.verify(keep=keep(ground), resume=True, **more)


def test_what_is_new_is_read_and_what_is_old_is_not(log: Ground) -> None:
    first = judged(log)
    assert (first.exit_code, MARK in first.integrity) == (0, False)
    log.command()
    log.savepoint("two")
    again = judged(log)
    assert (again.exit_code, again.size, again.root) == (0, 7, log.verify().root)
    assert f"the first 5 records {MARK}" in again.integrity
    assert f"the first 7 records {MARK}" in judged(log).integrity
    assert judged(log).warnings == ()


@pytest.mark.parametrize("what", ["edit", "cut", "reorder", "drop"])
def test_an_attack_on_what_is_new_has_the_same_findings(log: Ground, what: str) -> None:
    judged(log)
    for _ in range(4):
        log.command()
    lines = log.lines()
    if what == "edit":
        lines[6] = lines[6].replace(b"make", b"fake")
    elif what == "cut":
        del lines[7:]
    elif what == "reorder":
        lines[6:8] = [lines[7], lines[6]]
    else:
        del lines[6]
    log.write_lines(lines)
    found = judged(log)
    assert found.exit_code == 20
    assert [*found.findings] == [*log.verify(full=True).findings]


def test_an_old_record_that_moved_or_a_last_one_that_changed_ends_it(log: Ground) -> None:
    judged(log)
    lines = log.lines()
    lines[1] = lines[1].replace(b'"echo 0"', b'"echo 0123"')
    log.write_lines(lines)
    assert "signature" in codes(judged(log))


def test_what_is_before_is_taken_on_trust_and_the_whole_verification_is_not(log: Ground) -> None:
    """The price, said in the verdict: an old record changed in place shows only when everything is read."""
    judged(log)
    lines = log.lines()
    lines[1] = lines[1].replace(b'"echo 0"', b'"echo 1"')
    log.write_lines(lines)
    assert judged(log).exit_code == 0
    assert MARK in judged(log).integrity
    assert "signature" in codes(log.verify())


def test_a_closer_look_reads_everything_once(log: Ground) -> None:
    judged(log)
    assert MARK not in judged(log, strict=True).integrity
    assert MARK in judged(log, strict=True).integrity
    assert MARK in judged(log).integrity
    assert MARK not in judged(log, full=True).integrity


def test_a_checkpoint_that_was_not_compared_before_has_everything_read(log: Ground) -> None:
    judged(log)
    log.savepoint("two")
    commit = next(reversed(log.commits.said))
    log.commits.said[commit] = log.commits.said[commit]._replace(size=2)
    report = judged(log)
    assert MARK not in report.integrity
    assert codes(report) == {"trailer-root"}


def test_only_the_logs_own_key_says_how_far(log: Ground) -> None:
    judged(log)
    key, name = keep(log).signer.public, log.log.log_id
    state = read_verified(log.home, name, key)
    assert state is not None
    assert read_verified(log.home, name, generate().public) is None
    write_verified(log.home, state, generate())
    assert MARK not in judged(log).integrity
    path = Path(log.home.verified(name))
    good = path.read_bytes()
    assert MARK in judged(log).integrity
    for damage in (b"", b"\n", good[:-9], good.replace(b'"size":5', b'"size":4'), b"\xff" * 99, good + b"x"):
        path.write_bytes(damage)
        assert read_verified(log.home, name, key) is None
    path.unlink()
    path.symlink_to("/dev/zero")
    assert read_verified(log.home, name, key) is None


def test_a_log_with_findings_is_not_kept(log: Ground) -> None:
    log.write_lines(log.lines()[:3])
    judged(log)
    assert not os.path.exists(log.home.verified(log.log.log_id))
