"""Claims about handing a log over to another key, whatever stops it half-way, and about revoking one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.keys import KeySettings, find_signer, read_key_file
from chrono.audit.log import open_log
from chrono.audit.pin import read_pin
from chrono.audit.rotation import revoke_key, rotate_key
from chrono.errors import AuditUnverifiable, KeyRefused
from chrono.signing import generate

from .conftest import BOB, Ground, codes


@pytest.fixture
def log(ground: Ground) -> Ground:
    ground.begin(3)
    return ground


def active(ground: Ground) -> str:
    pin = read_pin(ground.home, ground.log.log_id)
    assert pin is not None
    assert pin.active is not None
    return pin.active.kid


def rotate(ground: Ground, **more: object) -> int:
    return rotate_key(ground.log, ground.home, ground.keys, BOB, **more).n  # type: ignore[arg-type]


def test_a_rotated_log_goes_on_under_the_new_key(log: Ground) -> None:
    old = active(log)
    assert rotate(log, reason="a year has passed") == 4
    assert log.verify(full=True, strict=True).findings == ()
    new = active(log)
    assert new != old
    assert read_key_file(log.home.audit_key).kid == new
    log.command()
    log.command(log=log.again())
    report = log.verify(full=True, strict=True)
    assert (report.exit_code, report.size) == (0, 7)
    assert Path(log.place.pub).read_text().strip() == read_key_file(log.home.audit_key).public.text
    rotate(log)
    log.command()
    assert log.verify(full=True, strict=True).exit_code == 0
    assert len(os.listdir(log.home.keys)) == 4  # the home's own, and each by its id


def test_a_log_that_was_not_rotated_keeps_its_key(log: Ground, tmp_path: Path) -> None:
    other = Ground(tmp_path / "other")
    other.home = log.home
    other.begin(1)
    old = active(other)
    rotate(log)
    other.command()
    other.command(log=other.again())
    assert active(other) == old
    assert other.verify(full=True, strict=True).exit_code == 0
    rotate(other)
    assert active(other) == active(log)
    assert other.verify(full=True, strict=True).exit_code == 0


@pytest.mark.parametrize("step", ["line", "head", "witness", "rotated", "unlocked", "synced"])
def test_a_crash_within_a_rotation_leaves_a_log_that_goes_on(log: Ground, step: str) -> None:
    class Crash(BaseException):
        pass

    def stop(at: str) -> None:
        if at == step:
            raise Crash

    log.log.close()
    log.log = log.again(at_step=stop)
    with pytest.raises(Crash):
        rotate(log)
    log.log.close()
    log.log = log.again()
    log.command()
    report = log.verify(full=True)
    assert report.findings == ()
    assert active(log) == (find_signer(log.home, log.keys, wanted=read_key_of(log)) or generate()).kid
    rotate(log)
    log.command()
    assert log.verify(full=True).findings == ()


def read_key_of(ground: Ground):  # type: ignore[no-untyped-def]
    pin = read_pin(ground.home, ground.log.log_id)
    assert pin is not None
    return pin.active


def test_keys_from_outside_hand_over_to_a_named_file(log: Ground, tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        paths.append(tmp_path / name)
        paths[-1].write_bytes(generate().pem())
        paths[-1].chmod(0o600)
    outside = Ground(tmp_path / "outside")
    outside.begin(1, keys=KeySettings(key_file=str(paths[0])))
    with pytest.raises(KeyRefused, match="the new one must, too"):
        rotate(outside)
    rotate(outside, new_key_file=str(paths[1]))
    with pytest.raises(KeyRefused, match="not the one this log is pinned to"):
        outside.command(log=outside.again())
    outside.keys = KeySettings(key_file=str(paths[1]))
    outside.command(log=outside.again())
    assert outside.verify(full=True, strict=True).exit_code == 0
    assert not os.listdir(outside.home.keys)
    with pytest.raises(KeyRefused, match="already"):
        rotate(outside, new_key_file=str(paths[1]))


def test_a_log_without_key_cannot_be_rotated(ground: Ground) -> None:
    ground.begin(1, keys=KeySettings(unsigned=True))
    with pytest.raises(KeyRefused, match="unsigned"):
        rotate(ground)
    ground.keys = KeySettings()
    with pytest.raises(KeyRefused, match="not signed yet"):
        rotate_key(open_log(ground.place, ground.home, ground.keys, ground.clock), ground.home, ground.keys, BOB)


def test_a_key_is_revoked_only_once_another_signs(log: Ground) -> None:
    old = active(log)
    with pytest.raises(KeyRefused, match="signs this log now"):
        revoke_key(log.log, BOB, old, 4)
    rotate(log)
    revoke_key(log.log, BOB, old, 5, reason="a laptop was stolen")
    assert log.verify(full=True).findings == ()
    revoke_key(log.log, BOB, old, 2)
    report = log.verify()
    assert codes(report) == {"key-revoked"}
    assert report.findings[0].record == 2


def test_a_key_is_due_where_it_is_required(ground: Ground) -> None:
    with pytest.raises(KeyRefused, match="no signing key"):
        ground.begin(keys=KeySettings(require=True))
    ground.begin(1, keys=KeySettings(unsigned=True))
    assert ground.verify().exit_code == 0
    required = ground.verify(require_key=True)
    assert required.exit_code == 21
    assert "REQUIRE_KEY" in required.integrity
    with pytest.raises((KeyRefused, AuditUnverifiable)):
        ground.command(log=ground.again(keys=KeySettings(require=True)))
