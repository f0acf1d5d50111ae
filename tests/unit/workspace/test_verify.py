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
