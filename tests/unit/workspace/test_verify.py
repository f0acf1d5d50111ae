"""Claims about the tie between log and savepoints: what is taken away, added or altered on either side is named."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import parse_trailer, verify


def codes(ws: Workspace) -> list[str]:
    return [finding.code for finding in verify(Workspace(ws.layout, ws.home, ws.environ)).findings]


@pytest.fixture
def saved(ws: Workspace, root: Path, by: Actor) -> str:
    (root / "new").write_text("x")
    return save(ws, "auto", "x", by).commit


def test_an_untouched_project_passes(ws: Workspace, saved: str) -> None:
    report = verify(ws, full=True, strict=True)
    assert (report.findings, report.exit_code) == ((), 0)
    assert "W0,W1,W3" in report.integrity


def test_a_deleted_ref_is_named(ws: Workspace, saved: str) -> None:
    subprocess.run(["git", "--git-dir", ws.layout.repo, "update-ref", "-d", "refs/chrono/auto/1"], check=True)
    assert codes(ws) == ["anchor-missing"]


def test_a_deleted_commit_is_named(ws: Workspace, saved: str) -> None:
    subprocess.run(["git", "--git-dir", ws.layout.repo, "update-ref", "-d", "refs/chrono/auto/1"], check=True)
    subprocess.run(
        ["git", "--git-dir", ws.layout.repo, "-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now"], check=True
    )
    assert codes(ws) == ["anchor-missing"]


def test_a_commit_that_nobody_recorded_is_named(ws: Workspace, saved: str) -> None:
    environ = {"PATH": os.environ["PATH"], "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x"}
    environ |= {"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"}
    git = ["git", "--git-dir", ws.layout.repo]
    tree = subprocess.run([*git, "rev-parse", "HEAD^{tree}"], capture_output=True, text=True, check=True)
    made = subprocess.run(
        [*git, "commit-tree", "-m", "x", tree.stdout.strip()],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    subprocess.run([*git, "update-ref", "refs/heads/other", made.stdout.strip()], check=True)
    assert codes(ws) == ["commit-without-record"]


def test_a_log_cut_together_with_its_head_and_witness_shows_in_the_commits(ws: Workspace, saved: str) -> None:
    ws.close()
    lines = Path(ws.layout.audit_log).read_bytes().splitlines(keepends=True)
    Path(ws.layout.audit_log).write_bytes(b"".join(lines[:-1]))
    Path(ws.layout.audit_head).unlink()
    shutil.rmtree(ws.home.witness)
    Path(ws.home.witness).mkdir()
    assert "commit-without-record" in codes(ws)


def test_a_store_that_cannot_be_read_is_no_pass(ws: Workspace, saved: str) -> None:
    shutil.rmtree(os.path.join(ws.layout.repo, "objects"))
    report = verify(Workspace(ws.layout, ws.home, ws.environ))
    assert report.exit_code in (20, 21)


def test_only_a_whole_trailer_counts() -> None:
    assert parse_trailer("v2 ab 7 cd") == ("ab", 7, "cd")
    for text in ("", "v1 ab 7 cd", "v2 ab 7", "v2 ab -7 cd", "v2 ab ٣ cd", "v2 ab 7 cd x"):
        assert parse_trailer(text) == ("", 0, "")


def git(ws: Workspace, *args: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", "--git-dir", ws.layout.repo, *args], input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def loose(ws: Workspace, oid: str) -> Path:
    return Path(ws.layout.repo) / "objects" / oid[:2] / oid[2:]


def test_a_trailer_in_a_message_is_text(ws: Workspace, root: Path, by: Actor) -> None:
    """Only the last block counts, and that is chrono's own: nobody's message moves a savepoint to another log."""
    (root / "new").write_text("x")
    forged = f"x\n\nChrono-Audit: v2 {'0' * 32} 1 {'0' * 64}"
    commit = save(ws, "auto", forged, by).commit
    assert f"Chrono-Audit: v2 {'0' * 32}" in git(ws, "cat-file", "commit", commit)
    report = verify(ws, full=True, strict=True)
    assert (report.findings, report.exit_code) == ((), 0)


def test_a_commit_with_a_forged_trailer_is_foreign_and_recorded_nowhere(ws: Workspace, saved: str) -> None:
    raw = git(ws, "cat-file", "commit", saved).replace(ws.log.log_id, "0" * 32)
    forged = git(ws, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.encode())
    git(ws, "update-ref", "refs/heads/other", forged)
    assert codes(ws) == ["commit-without-record"]


def test_an_altered_loose_commit_is_not_the_one_that_was_recorded(ws: Workspace, saved: str) -> None:
    """Another commit's bytes under the savepoint's name: git itself would only notice when it checks the hash."""
    raw = git(ws, "cat-file", "commit", saved) + "\naltered\n"
    other = git(ws, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.encode())
    ws.close()
    loose(ws, saved).unlink()
    shutil.copyfile(loose(ws, other), loose(ws, saved))
    assert codes(ws) == ["anchor-altered"]
    loose(ws, saved).unlink()
    loose(ws, saved).write_bytes(b"no object")
    assert codes(ws) == ["anchor-altered"]
    loose(ws, saved).unlink()
    assert codes(ws) == ["anchor-missing"]


def test_a_ref_to_nothing_leaves_the_savepoints_unverified_not_intact(ws: Workspace, saved: str) -> None:
    (Path(ws.layout.repo) / "refs" / "heads" / "other").write_text("1" * 40 + "\n")
    report = verify(Workspace(ws.layout, ws.home, ws.environ))
    assert (report.exit_code, report.findings) == (21, ())
    assert report.integrity.startswith("CANNOT VERIFY the savepoints")
    assert report.completeness == "whether anything is missing cannot be told"


@pytest.mark.parametrize("trick", ["replace", "grafts", "alternates"])
def test_git_is_not_asked_which_object_stands_for_another(
    ws: Workspace, saved: str, tmp_path: Path, trick: str
) -> None:
    """What git would show for a savepoint is not what is hashed: the object of that name in this store is."""
    repo = Path(ws.layout.repo)
    first = git(ws, "rev-list", "--max-parents=0", "--all").split()[0]
    if trick == "replace":
        git(ws, "update-ref", f"refs/replace/{saved}", first)
        assert git(ws, "cat-file", "commit", saved) == git(ws, "cat-file", "commit", first)
    elif trick == "grafts":
        (repo / "info").mkdir(exist_ok=True)
        (repo / "info" / "grafts").write_text(f"{saved}\n")
    else:
        other = tmp_path / "other.git"
        shutil.copytree(repo, other)
        (repo / "objects" / "info").mkdir(exist_ok=True)
        (repo / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")
    assert codes(ws) == []
    loose(ws, saved).unlink()  # what lies only over there, or is named by another, is gone from here
    assert codes(ws) == ["anchor-missing"]
