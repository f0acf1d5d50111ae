"""Claims about where things lie."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chrono.layout import HomeLayout, default_home, find_project


def test_the_nearest_project_above_wins(tmp_path: Path) -> None:
    (tmp_path / ".chrono/repo.git").mkdir(parents=True)
    inner = tmp_path / "a/b"
    (inner / ".chrono/repo.git").mkdir(parents=True)
    deep = inner / "c"
    deep.mkdir()
    found = find_project(str(deep))
    assert found is not None and found.root == str(inner)
    outer = find_project(str(tmp_path / "a"))
    assert outer is not None and outer.root == str(tmp_path)


def test_a_folder_without_a_repository_is_no_project(tmp_path: Path) -> None:
    (tmp_path / ".chrono").mkdir()
    assert find_project(str(tmp_path)) is None


def test_a_linked_control_folder_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "real/repo.git").mkdir(parents=True)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".chrono").symlink_to(tmp_path / "real")
    assert find_project(str(project)) is None


@contextmanager
def somebody_else() -> Iterator[None]:
    """Another user, where we are root; without such power a folder closed to its owner is as good."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="there are no such rights")
def test_a_project_that_this_user_may_not_look_into_is_still_one() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # pytest's own temporary folders are closed to others
        control = Path(folder, ".chrono")
        (control / "repo.git").mkdir(parents=True)
        control.chmod(0o000)
        (Path(folder) / "closed").mkdir(mode=0o000)
        try:
            with somebody_else():
                found = find_project(f"{folder}/below")
                inside = find_project(f"{folder}/closed/below")
        finally:
            control.chmod(0o700)
            (Path(folder) / "closed").chmod(0o700)
        assert found is not None
        assert found.root == folder
        assert inside == found, "what cannot be asked about a closed folder makes it no project"


def test_the_home_is_never_called_dot_chrono() -> None:
    for platform in ("linux", "darwin", "win32"):
        home = default_home(platform=platform, user_home="/h", xdg_state_home=None, local_app_data=None)
        assert home.startswith("/h/")
        assert not home.endswith(".chrono")


def test_a_relative_state_home_is_ignored() -> None:
    # XDG base directory specification: relative paths are invalid and must be ignored
    home = default_home(platform="linux", user_home="/h", xdg_state_home="state", local_app_data=None)
    assert home == "/h/.local/state/chrono"
    home = default_home(platform="linux", user_home="/h", xdg_state_home="/s", local_app_data=None)
    assert HomeLayout(home).audit_key == "/s/chrono/keys/audit.pem"
