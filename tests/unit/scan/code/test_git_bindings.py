"""Claims about git as libraries offer it: a call counts as the git command that does the same."""

from __future__ import annotations

import pytest

from chrono.scan.code.languages import commands_of
from tests.unit.scan.conftest import world


def _git(language: str, source: str) -> list[str]:
    found = commands_of(language, source, world=world(), name="x")
    assert not found.refusals
    return [" ".join(map(str, command.argv)) for command in found.commands]


@pytest.mark.parametrize(
    ("call", "command"),
    [
        ("Repo('.').git.reset('--hard')", "git reset --hard"),
        ("Repo('.').git.clean(f=True, d=True, x=True)", "git clean -f -d -x"),
        ("Repo('../lib').git.rev_parse('HEAD')", "git -C ../lib rev-parse HEAD"),
        ("Repo('.').git.log(max_count='3')", "git log --max-count=3"),
        ("Repo('.').git.execute(['git', 'push', '--force'])", "git push --force"),
        ("Git('.').stash('drop')", "git stash drop"),
        ("Repo('.').head.reset('HEAD~3', index=True, working_tree=True)", "git reset --hard HEAD~3"),
        ("Repo('.').head.reset('HEAD~3')", "git reset HEAD~3"),
        ("Repo('.').heads.main.checkout(force=True)", "git checkout -f HEAD -- ."),
        ("Repo('.').remotes.origin.push(force=True)", "git push --force origin"),
        ("Repo('.').remote('origin').push(refspec='+main:main')", "git push origin +main:main"),
        ("Repo('.').delete_head('old', force=True)", "git branch -d --force old"),
        ("Repo('.').index.remove(['a.py'], working_tree=True)", "git rm -rf a.py"),
    ],
)
def test_gitpython_counts_as_git(call: str, command: str) -> None:
    assert command in _git("python", f"from git import Git, Repo\n{call}\n")


def test_reading_a_repository_is_no_command() -> None:
    assert (
        _git("python", "import git\nr = git.Repo('.')\nprint(r.head.commit, r.is_dirty(), r.untracked_files)\n") == []
    )


def test_other_bindings_count_as_git_too() -> None:
    assert _git("python", "from dulwich import porcelain\nporcelain.reset('.', 'hard')\n") == ["git reset --hard"]
    source = "import pygit2\nr = pygit2.Repository('.')\nr.reset('abc', pygit2.GIT_RESET_HARD)\n"
    assert _git("python", source) == ["git reset --hard abc"]


@pytest.mark.parametrize(
    ("call", "command"),
    [
        ("git.reset(['--hard'])", "git reset --hard"),
        ("git.reset(ResetMode.HARD)", "git reset --hard"),
        ("git.clean('f', ['-d'])", "git clean -f -d"),
        ("git.raw('push', '--force')", "git push --force"),
        ("git.add('.').push('origin', 'main', {'--force': null})", "git push origin main --force"),
    ],
)
def test_simple_git_counts_as_git(call: str, command: str) -> None:
    assert command in _git(
        "javascript", f"const {{simpleGit, ResetMode}} = require('simple-git')\nconst git = simpleGit()\n{call}\n"
    )
