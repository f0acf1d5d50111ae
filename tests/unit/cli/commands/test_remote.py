"""Claims about remote, push, fetch and clone as a person or a script sees them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def there(project: Path, tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "there.git"], check=True)
    return tmp_path / "there.git"


def test_add_list_and_remove_say_what_they_did(there: Path, chrono: Any) -> None:
    assert "there is none" in chrono("remote").err
    ran = chrono("remote", "add", "origin", "../there.git")
    assert ran.code == 0 and str(there) in ran.out and "chrono push origin" in ran.err
    (one,) = chrono("remote", "list", "--json").json["remotes"]
    assert one == {"name": "origin", "url": str(there), "protocol": "file", "secrets": [], "keys": {}}
    assert chrono("remote", "remove", "origin").code == 0 and chrono("remote", "--json").json == {"remotes": []}


def test_a_password_is_not_shown(project: Path, chrono: Any) -> None:
    ran = chrono("remote", "add", "origin", "https://me:hunter2@example.org/a.git")
    for text in (ran.out, ran.err, chrono("remote").out, chrono("remote", "--json").out, chrono("audit", "--json").out):
        assert "hunter2" not in text
    assert "me:[redacted]@example.org" in ran.out


def test_a_purge_deletes_the_addresses_too(project: Path, chrono: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    chrono("init", "--adopt", CHRONO_HOME=str(home))
    chrono("remote", "add", "origin", "https://me:hunter2@example.org/a.git", CHRONO_HOME=str(home))
    assert list((home / "remotes").iterdir())
    assert chrono("uninstall", "--purge", "--yes", CHRONO_HOME=str(home)).code == 0
    assert not list((home / "remotes").iterdir()) and not (project / ".chrono").exists()


@pytest.mark.parametrize("damage", [lambda log: log.unlink(), lambda log: log.write_bytes(b"not a log\n")])
def test_a_purge_says_where_addresses_may_be_left(
    project: Path, chrono: Any, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    home = tmp_path / "home"
    chrono("init", "--adopt", CHRONO_HOME=str(home))
    chrono("remote", "add", "origin", "https://me:hunter2@example.org/a.git", CHRONO_HOME=str(home))
    damage(project / ".chrono/audit.jsonl")
    ran = chrono("uninstall", "--purge", "--yes", CHRONO_HOME=str(home))
    assert ran.code == 0 and f"{home}/remotes" in " ".join(ran.err.split())


def test_push_fetch_and_clone_go_round(
    there: Path, chrono: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chrono("remote", "add", "origin", str(there))
    value = chrono("push", "--json").json
    assert value["branches"] == [{"name": "main", "state": "new"}] and value["secrets"] == []
    assert "branch main: same" in chrono("push").out
    monkeypatch.chdir(tmp_path)
    done = chrono("clone", "there.git", "copy", "--json", CHRONO_HOME=str(tmp_path / "other-home")).json
    assert done["files"] == 2 and done["branch"] == "main" and done["key"] and done["verdict"].startswith("OK")
    assert (tmp_path / "copy" / "a.txt").read_text() == "one\n"
    ran = chrono("clone", str(there), "copy2", CHRONO_HOME=str(tmp_path / "other-home"))
    assert ran.code == 0 and f"signed by key {done['key']}" in ran.out and "guard install" in ran.err
    monkeypatch.chdir(tmp_path / "copy")
    (tmp_path / "copy" / "theirs").write_text("x")
    home = str(tmp_path / "other-home")
    assert chrono("snapshot", CHRONO_HOME=home).code == 0 and chrono("push", CHRONO_HOME=home).code == 0
    monkeypatch.chdir(tmp_path / "project")
    ran = chrono("fetch")
    assert "origin/main" in ran.out and "verified" in ran.out and "chrono merge origin/main" in ran.err
    value = chrono("fetch", "--json").json
    assert value["branches"][0]["state"] == "same" and value["logs"][0]["log"] == chrono_log(tmp_path / "copy")
    assert "theirs" in chrono("show", "origin/main").out


def chrono_log(root: Path) -> str:
    import json

    with open(root / ".chrono" / "audit.jsonl") as file:
        return str(json.loads(file.readline())["log"])


def test_a_branch_that_moved_there_is_a_conflict_with_a_way_out(
    there: Path, chrono: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chrono("remote", "add", "origin", str(there))
    chrono("push")
    home = str(tmp_path / "other-home")
    monkeypatch.chdir(tmp_path)
    chrono("clone", str(there), "copy", CHRONO_HOME=home)
    monkeypatch.chdir(tmp_path / "copy")
    (tmp_path / "copy" / "theirs").write_text("x")
    chrono("snapshot", CHRONO_HOME=home)
    chrono("push", CHRONO_HOME=home)
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / "project" / "mine").write_text("x")
    chrono("snapshot")
    ran = chrono("push")
    assert ran.code == 13 and "branch main moved" in ran.err and "chrono fetch origin" in ran.err
    assert chrono("push", "--json").json["exit_code"] == 13


def test_secrets_stay_until_a_person_agrees(there: Path, chrono: Any, project: Path) -> None:
    (project / ".env").write_text("KEY=1\n")
    chrono("snapshot")
    chrono("remote", "add", "origin", str(there))
    ran = chrono("push")
    assert ran.code == 4 and "  .env" in ran.err and "--include-secrets" in ran.err
    assert chrono("push", "--include-secrets", "--json").json["secrets"] == [".env"]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("push",), 2, "chrono remote add"),
        (("push", "elsewhere"), 2, "no remote"),
        (("remote", "add", "x", "ext::sh -c id"), 2, "starts a program"),
        (("remote", "add", "x", "http://example.org/a"), 2, "https://"),
        (("remote", "remove", "x"), 2, "no remote"),
        (("clone", "ext::sh -c id", "new"), 2, "starts a program"),
        (("clone", "/nowhere/at/all", "../new"), 1, "bare repository"),
        (("clone", "/nowhere/at/all", "inside"), 2, "inside another project"),
    ],
)
def test_what_cannot_be_is_said_with_a_hint(
    project: Path, chrono: Any, words: tuple[str, ...], code: int, text: str
) -> None:
    ran = chrono(*words)
    assert ran.code == code and text in ran.err and "hint:" in ran.err, ran
