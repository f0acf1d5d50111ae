"""Claims about what `init` refuses and writes around the hidden repository, against real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from chrono.errors import ChronoError
from chrono.layout import HomeLayout, ProjectLayout
from chrono.workspace.ground import git_folder, keep_git_off, proposals, refuse_root, refuse_size, survey


def git(root: Path, *argv: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    names = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *names, *argv], cwd=root, env=environ, capture_output=True, text=True, check=True)
    return done.stdout


def lay_chrono(root: Path) -> ProjectLayout:
    layout = ProjectLayout(str(root))
    (root / ".chrono").mkdir()
    subprocess.run(["git", "init", "-q", "--bare", layout.repo], check=True)
    return layout


def test_git_clean_and_git_add_leave_chrono_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    layout = lay_chrono(tmp_path)
    added = keep_git_off(layout)
    assert added == str(tmp_path / ".git" / "info" / "exclude")
    (tmp_path / "junk").write_text("x")
    before = sorted(Path(layout.repo).iterdir())
    assert ".chrono" not in git(tmp_path, "status", "--porcelain", "--ignored=no")
    git(tmp_path, "clean", "-q", "-fdx")
    git(tmp_path, "add", "-A")
    assert not (tmp_path / "junk").exists()
    assert sorted(Path(layout.repo).iterdir()) == before
    assert git(tmp_path, "ls-files") == ""


def test_the_exclude_line_is_added_once_and_nothing_else_changes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    exclude = tmp_path / ".git" / "info" / "exclude"
    exclude.write_text("*.log")
    exclude.chmod(0o600)
    layout = lay_chrono(tmp_path)
    head = (tmp_path / ".git" / "HEAD").read_bytes()
    assert keep_git_off(layout) == str(exclude)
    assert keep_git_off(layout) is None
    assert exclude.read_text() == "*.log\n/.chrono/\n"
    assert exclude.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".git" / "HEAD").read_bytes() == head
    assert not (tmp_path / ".git" / "index").exists()


def test_a_linked_work_tree_gets_the_line_in_its_common_folder(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", str(linked))
    layout = lay_chrono(linked)
    assert keep_git_off(layout) == str(main / ".git" / "info" / "exclude")
    assert ".chrono" not in git(linked, "status", "--porcelain")


def test_without_a_repository_or_with_a_linked_exclude_nothing_is_added(tmp_path: Path) -> None:
    layout = lay_chrono(tmp_path)
    assert keep_git_off(layout) is None
    assert (tmp_path / ".chrono" / ".git").read_text() == "gitdir: repo.git\n"
    assert (tmp_path / ".chrono" / ".gitignore").read_text() == "*\n"
    git(tmp_path, "init", "-q")
    exclude = tmp_path / ".git" / "info" / "exclude"
    shared = tmp_path / "shared"
    shared.write_text("")
    exclude.unlink()
    exclude.symlink_to(shared)
    assert keep_git_off(layout) is None
    assert shared.read_text() == ""


@pytest.mark.parametrize("pointer", ["gitdir: /nowhere\n", "gitdir: \n", "nonsense", ""])
def test_a_broken_git_file_is_no_repository(tmp_path: Path, pointer: str) -> None:
    (tmp_path / ".git").write_text(pointer)
    assert git_folder(str(tmp_path)) is None


def test_what_must_not_be_a_project_is_refused_with_a_hint(tmp_path: Path) -> None:
    person = tmp_path / "person"
    home = HomeLayout(str(person / "state" / "chrono"))
    project = person / "code" / "proj"
    for folder in (project, Path(home.root) / "keys"):
        folder.mkdir(parents=True)
    refuse_root(str(project), home, str(person))
    for root in ("/", str(person), str(tmp_path), home.root, home.keys, str(person / "state")):
        with pytest.raises(ChronoError) as caught:
            refuse_root(root, home, str(person))
        assert caught.value.hint
    with pytest.raises(ChronoError, match="not a folder"):
        refuse_root(str(project / "missing"), home, str(person))


def test_a_huge_tree_is_refused_with_the_way_on(tmp_path: Path) -> None:
    for index in range(5):
        (tmp_path / f"{index}").write_text("")
    found = survey(str(tmp_path), max_files=3)
    with pytest.raises(ChronoError) as caught:
        refuse_size(str(tmp_path), found, 3)
    assert "--max-files" in (caught.value.hint or "")
    refuse_size(str(tmp_path), survey(str(tmp_path), max_files=5), 5)


def test_heavy_folders_are_not_counted_and_links_not_followed(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x").write_text("")
    (tmp_path / "loop").symlink_to(".")
    assert survey(str(tmp_path)).counted == 1


def test_build_folders_are_proposed_not_written(tmp_path: Path) -> None:
    for folder in ("dist/out", "web/build", "coverage", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".chronoignore").write_text("coverage/\n")
    layout = ProjectLayout(str(tmp_path))
    assert proposals(layout, survey(str(tmp_path))) == ("/dist/", "/web/build/")
    assert (tmp_path / ".chronoignore").read_text() == "coverage/\n"
