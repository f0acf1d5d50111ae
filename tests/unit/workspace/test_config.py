"""Claims about where chrono keeps things and which policy holds: nothing is guessed, nothing is loosened silently."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.errors import ChronoError, PolicyError
from chrono.layout import HomeLayout, ProjectLayout
from chrono.policy.pin import trust
from chrono.workspace.config import effective_policy, ensure_home, home_layout, project_policy, user_home


def test_chrono_home_comes_from_the_mapping_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHRONO_HOME", "/ours")
    assert home_layout({"CHRONO_HOME": str(tmp_path)}).root == str(tmp_path)
    assert home_layout({"HOME": "/home/dev", "XDG_STATE_HOME": "/state"}).root == "/state/chrono"
    assert home_layout({"HOME": "/home/dev", "XDG_STATE_HOME": "state"}).root == "/home/dev/.local/state/chrono"


def test_a_home_that_cannot_be_told_names_the_variable() -> None:
    for environ in ({"CHRONO_HOME": "relative"}, {"HOME": "relative"}):
        with pytest.raises(ChronoError) as caught:
            home_layout(environ)
        assert "CHRONO_HOME=" in (caught.value.hint or "")
    assert os.path.isabs(user_home({}))  # the account's own entry


def test_the_home_is_private_and_made_once(tmp_path: Path) -> None:
    home = HomeLayout(str(tmp_path / "a" / "chrono"))
    ensure_home(home)
    ensure_home(home)
    for folder in (home.root, home.keys, home.witness, home.trust, home.cache, home.run, home.machine):
        assert os.stat(folder).st_mode & 0o777 == 0o700, folder


def test_a_home_that_cannot_be_written_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ChronoError) as caught:
        ensure_home(HomeLayout(str(tmp_path / "file" / "chrono")))
    assert "CHRONO_HOME=" in (caught.value.hint or "")


def lay(tmp_path: Path) -> tuple[ProjectLayout, HomeLayout]:
    (tmp_path / "proj").mkdir()
    home = HomeLayout(str(tmp_path / "home"))
    ensure_home(home)
    return ProjectLayout(str(tmp_path / "proj")), home


def test_the_trust_of_a_project_belongs_to_its_bytes(tmp_path: Path) -> None:
    layout, home = lay(tmp_path)
    Path(layout.policy).write_text("allow: [make deploy]\n")
    held = effective_policy(layout, home)
    assert held.allow == ()
    assert [entry.value for entry in held.ignored] == ["make deploy"]
    file = project_policy(layout, home).file
    assert file is not None
    trust(home, file.sha256, source=layout.policy, at_ns=0)
    assert [entry.text for entry in effective_policy(layout, home).allow] == ["make deploy"]
    Path(layout.policy).write_text("allow: [make deploy]\n# more\n")
    assert effective_policy(layout, home).allow == ()


def test_the_users_file_holds_everywhere(tmp_path: Path) -> None:
    layout, home = lay(tmp_path)
    Path(home.policy).write_text("thresholds: {block: 90}\n")
    assert effective_policy(None, home).thresholds.block == 90
    assert effective_policy(layout, home).thresholds.block == 90


@pytest.mark.parametrize(
    ("data", "line"), [(b"thresholds: {blok: 1}\n", 1), (b"a: 1\nb: \xff\n", 2), (b"x" * 1_000_001, None)]
)
def test_a_broken_policy_is_an_error_with_its_line(tmp_path: Path, data: bytes, line: int | None) -> None:
    layout, home = lay(tmp_path)
    Path(layout.policy).write_bytes(data)
    with pytest.raises(PolicyError) as caught:
        effective_policy(layout, home)
    assert caught.value.line == line


def test_a_policy_that_is_not_a_file_is_refused_not_waited_for(tmp_path: Path) -> None:
    layout, home = lay(tmp_path)
    policy = Path(layout.policy)
    os.mkfifo(policy)
    with pytest.raises(PolicyError):
        effective_policy(layout, home)
    policy.unlink()
    policy.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PolicyError):
        effective_policy(layout, home)
    policy.unlink()
    policy.mkdir()
    with pytest.raises(PolicyError):
        effective_policy(layout, home)
