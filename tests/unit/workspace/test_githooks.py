"""Hooks in the user's own repository: asked of a real git, which says in the end which file it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.errors import ChronoError, Conflict
from chrono.layout import HomeLayout
from chrono.workspace import githooks
from chrono.workspace.usergit import NoGit, UserRepo, configured_hooks, find

OWN = "#!/bin/sh\necho mine >>ran\n"


def git(folder: Path, *arguments: str, code: int = 0, **environ: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1", **environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done
    return done.stdout + done.stderr


@pytest.fixture
def repo(root: Path, environ: dict[str, str]) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.email", "a@example.org")
    git(root, "config", "user.name", "A")
    return root


def seen(repo: Path, environ: dict[str, str]) -> UserRepo:
    return find(str(repo), environ)


def plan(repo: Path, environ: dict[str, str], *, trailer: bool = False, force: bool = False) -> githooks.HooksPlan:
    return githooks.plan_install(seen(repo, environ), sys.executable, trailer=trailer, force=force)


def owners(repo: Path, environ: dict[str, str]) -> set[str]:
    return {one.owner for one in githooks.states(seen(repo, environ)) if one.name in githooks.HOOKS}


def test_a_folder_without_git_is_said_so(root: Path, environ: dict[str, str]) -> None:
    with pytest.raises(NoGit):
        find(str(root), environ)


def test_hooks_go_where_git_reads_them(repo: Path, environ: dict[str, str]) -> None:
    made = plan(repo, environ)
    assert not os.path.exists(made.files[0].path)  # a plan writes nothing
    githooks.apply(made)
    assert owners(repo, environ) == {"chrono"}
    for one in made.files:
        assert Path(one.path).stat().st_mode & 0o111 == 0o111
        assert b"\r" not in Path(one.path).read_bytes()
        subprocess.run(["/bin/sh", "-n", one.path], check=True)
    assert plan(repo, environ).changes == ()  # a second time changes nothing


def test_a_hook_that_was_there_runs_first_and_comes_back(repo: Path, environ: dict[str, str]) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(OWN)
    hook.chmod(0o755)
    githooks.apply(plan(repo, environ))
    assert hook.with_name("pre-commit.chrono-chained").read_text() == OWN
    githooks.apply(githooks.plan_uninstall(seen(repo, environ)))
    assert hook.read_text() == OWN
    assert hook.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in hook.parent.iterdir() if ".sample" not in path.name) == ["pre-commit"]
    assert githooks.plan_uninstall(seen(repo, environ)).changes == ()


def test_a_chained_hook_is_never_overwritten(repo: Path, environ: dict[str, str]) -> None:
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").write_text(OWN)
    (hooks / "pre-push.chrono-chained").write_text("another")
    with pytest.raises(Conflict):
        plan(repo, environ)


def test_a_file_that_changed_meanwhile_stays(repo: Path, environ: dict[str, str]) -> None:
    made = plan(repo, environ)
    hook = Path(made.files[0].path)
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(OWN)
    with pytest.raises(Conflict):
        githooks.apply(made)
    assert hook.read_text() == OWN


def test_a_linked_work_tree_shares_the_hooks(repo: Path, environ: dict[str, str], tmp_path: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = seen(tmp_path / "linked", environ)
    assert linked.linked
    assert linked.hooks == str(repo / ".git" / "hooks")


def test_husky_gets_a_line_and_loses_only_that(repo: Path, environ: dict[str, str]) -> None:
    (repo / ".husky" / "_").mkdir(parents=True)
    script = repo / ".husky" / "pre-commit"
    script.write_text("npm test")
    git(repo, "config", "core.hooksPath", ".husky/_")
    made = plan(repo, environ)
    assert made.manager == "husky"
    assert made.shared  # others get it: a person is asked
    githooks.apply(made)
    first, second = script.read_text().splitlines()
    assert first == "npm test"
    assert "chrono git hook pre-commit" in second
    assert owners(repo, environ) == {"chrono"}
    assert not (repo / ".husky" / "_" / "pre-commit").exists()
    githooks.apply(githooks.plan_uninstall(seen(repo, environ)))
    assert script.read_text() == "npm test\n"
    assert not (repo / ".husky" / "pre-push").exists()


@pytest.mark.parametrize("status,expected", [(0, 0), (43, 1), (70, 0), (127, 0)])
def test_the_shared_line_stops_on_a_refusal_only(tmp_path: Path, status: int, expected: int) -> None:
    """Run as husky does it, `sh -e`, with a chrono that leaves with `status` (127: there is none)."""
    script = tmp_path / "pre-commit"
    script.write_text(githooks._line_of("pre-commit") + "exit 0\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    if status != 127:
        (programs / "chrono").write_text(f"#!/bin/sh\nexit {status}\n")
        (programs / "chrono").chmod(0o755)
    done = subprocess.run(["/bin/sh", "-e", str(script)], env={"PATH": str(programs)})
    assert done.returncode == expected


@pytest.mark.parametrize("file,manager", [("lefthook.yml", "lefthook"), (".lefthook.toml", "lefthook")])
def test_another_manager_is_not_fought(repo: Path, environ: dict[str, str], file: str, manager: str) -> None:
    (repo / file).write_text("")
    made = plan(repo, environ)
    assert (made.manager, made.files) == (manager, ())
    assert made.snippet is not None
    assert made.snippet[0] == file
    assert all(name in made.snippet[1] for name in githooks.HOOKS)


def test_pre_commit_with_a_folder_of_its_own_gets_lines_to_add(repo: Path, environ: dict[str, str]) -> None:
    import io

    from ruamel.yaml import YAML

    (repo / ".pre-commit-config.yaml").write_text("repos: []\n")
    assert plan(repo, environ).manager == "git"  # its hook and ours run one after the other
    git(repo, "config", "core.hooksPath", ".githooks")
    made = plan(repo, environ, trailer=True)
    assert made.manager == "pre-commit"
    assert made.snippet is not None
    (entry,) = YAML(typ="safe").load(io.StringIO(made.snippet[1]))
    assert [hook["stages"][0] for hook in entry["hooks"]] == [*githooks.HOOKS, githooks.TRAILER_HOOK]


def test_a_folder_for_all_repositories_needs_force(repo: Path, environ: dict[str, str], tmp_path: Path) -> None:
    home = Path(environ["HOME"])
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {tmp_path / 'shared'}\n")
    with pytest.raises(ChronoError, match="every repository"):
        plan(repo, environ)
    assert plan(repo, environ, force=True).files[0].path == str(tmp_path / "shared" / "pre-commit")


def test_a_folder_of_the_project_is_shared(repo: Path, environ: dict[str, str]) -> None:
    git(repo, "config", "core.hooksPath", ".githooks")
    made = plan(repo, environ)
    assert made.manager == "folder"
    assert made.shared
    assert made.files[0].path == str(repo / ".githooks" / "pre-commit")


def test_hooks_of_gits_configuration_are_seen(repo: Path, environ: dict[str, str]) -> None:
    git(repo, "config", "hook.linter.command", "lint")
    git(repo, "config", "--add", "hook.linter.event", "pre-commit")
    git(repo, "config", "--add", "hook.linter.event", "pre-push")
    assert configured_hooks(seen(repo, environ), environ) == (("linter", "pre-commit"), ("linter", "pre-push"))


def test_repositories_are_remembered(repo: Path, environ: dict[str, str], tmp_path: Path) -> None:
    home = HomeLayout(str(tmp_path / "state"))
    os.makedirs(home.root)
    found = seen(repo, environ)
    githooks.remember(home, found)
    githooks.remember(home, found)
    assert githooks.remembered(home) == (str(repo),)
    githooks.forget(home, found)
    assert githooks.remembered(home) == ()


def run_hook(repo: Path, name: str, *, interpreter: str, given: str = "", strict: bool = False) -> tuple[int, str]:
    """Runs a hook as git would, with `interpreter` in the place of Python."""
    hook = repo / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(githooks._wrapper(name, interpreter))
    hook.chmod(0o755)
    if strict:
        git(repo, "config", "chrono.strict", "true")
    done = subprocess.run(
        [str(hook), "origin", "url"],
        cwd=repo,
        env={"PATH": "/usr/bin:/bin", "HOME": str(repo.parent)},
        input=given,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("status,strict,expected", [(0, False, 0), (43, False, 1), (70, False, 0), (70, True, 1)])
def test_a_broken_chrono_locks_nobody_out_unless_they_want(
    repo: Path, tmp_path: Path, status: int, strict: bool, expected: int
) -> None:
    fake = tmp_path / "it's python"
    fake.write_text(f"#!/bin/sh\nexit {status}\n")
    fake.chmod(0o755)
    code, said = run_hook(repo, "pre-commit", interpreter=str(fake), strict=strict)
    assert code == expected
    assert ("was not checked" in said) == (status == 70)


@pytest.mark.parametrize("strict,expected", [(False, 0), (True, 1)])
def test_a_missing_chrono_is_said(repo: Path, strict: bool, expected: int) -> None:
    code, said = run_hook(repo, "pre-commit", interpreter="/nowhere/python", strict=strict)
    assert code == expected
    assert "not there any more" in said


def test_both_hooks_get_the_input_of_a_push(repo: Path, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nshift 5\necho chrono $@; cat\n")
    fake.chmod(0o755)
    old = repo / ".git" / "hooks" / "pre-push.chrono-chained"
    old.parent.mkdir(exist_ok=True)
    old.write_text("#!/bin/sh\necho old $@; cat\n")
    old.chmod(0o755)
    lines = "refs/heads/a 1 refs/heads/a 2\nrefs/heads/b 1 refs/heads/b 2\n"
    code, said = run_hook(repo, "pre-push", interpreter=str(fake), given=lines)
    assert code == 0
    assert said == f"old origin url\n{lines}chrono pre-push origin url\n{lines}"
    old.write_text("#!/bin/sh\nexit 7\n")
    assert run_hook(repo, "pre-push", interpreter=str(fake), given=lines) == (7, "")
