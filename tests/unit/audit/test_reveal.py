"""Claims about what was taken out of a command: kept only where asked, privately, for so long, and only the truth."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.redact import commitment
from chrono.audit.reveal import Kept, days_of, erase, find, keep, sweep
from chrono.errors import UsageError
from chrono.layout import HomeLayout

NOW, DAY = 1_790_000_000 * 10**9, 86_400 * 10**9
RAW = Kept("TOKEN=hunter2 ./x caf\udce9\n\0", bytes(range(32)))
COMMITTED = commitment(RAW.raw, RAW.salt)


@pytest.fixture
def home(tmp_path: Path) -> HomeLayout:
    return HomeLayout(str(tmp_path))


def test_what_was_kept_is_shown_until_it_is_too_old(home: HomeLayout) -> None:
    keep(home, COMMITTED, RAW, now_ns=NOW, days=3)
    assert os.stat(home.reveal).st_mode & 0o777 == 0o700
    assert os.stat(home.revealed(COMMITTED)).st_mode & 0o777 == 0o600
    assert find(home, COMMITTED, now_ns=NOW + 2 * DAY) == RAW
    assert find(home, COMMITTED, now_ns=NOW + 4 * DAY) is None
    assert not os.path.exists(home.revealed(COMMITTED))


def test_what_was_erased_is_gone(home: HomeLayout) -> None:
    assert not erase(home, COMMITTED)
    keep(home, COMMITTED, RAW, now_ns=NOW, days=3)
    assert erase(home, COMMITTED)
    assert find(home, COMMITTED, now_ns=NOW) is None


def test_only_what_the_record_is_committed_to_is_shown(home: HomeLayout) -> None:
    other = commitment("other", RAW.salt)
    keep(home, other, RAW, now_ns=NOW, days=3)
    assert find(home, other, now_ns=NOW) is None
    for damage in ("", "{}", "x", '{"raw":"zz","salt":"00","until_s":99999999999}'):
        Path(home.revealed(other)).write_text(damage)
        assert find(home, other, now_ns=NOW) is None
    os.unlink(home.revealed(other))
    Path(home.revealed(other)).symlink_to("/etc/passwd")
    assert find(home, other, now_ns=NOW) is None


def test_what_is_too_old_is_swept_away(home: HomeLayout) -> None:
    for number in range(5):
        raw = Kept(f"secret {number}", RAW.salt)
        keep(home, commitment(raw.raw, raw.salt), raw, now_ns=NOW, days=number)
    assert sweep(home, NOW + 2 * DAY + 10**9) == 3
    assert len(os.listdir(home.reveal)) == 2


def test_days_are_a_number() -> None:
    assert (days_of(None), days_of(""), days_of("30")) == (0, 0, 30)
    for text in ("x", "-1", "9999999", "1.5"):
        with pytest.raises(UsageError):
            days_of(text)


@pytest.mark.parametrize("name", ["../keys/audit.pem", "{root}/keys/audit.pem", "", ".", "A" * 64, "../" * 20 + "etc"])
def test_a_record_names_no_file_elsewhere(home: HomeLayout, name: str) -> None:
    """A pruned record says which file to erase, and whoever forged it must not choose one outside the folder."""
    keep(home, COMMITTED, RAW, now_ns=NOW, days=3)
    os.makedirs(os.path.dirname(home.audit_key))
    Path(home.audit_key).write_text("key")
    assert not erase(home, name.format(root=home.root))
    assert find(home, name.format(root=home.root), now_ns=NOW + 9 * DAY) is None
    assert Path(home.audit_key).read_text() == "key"
