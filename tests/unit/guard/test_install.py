"""Claims about installing, examining and taking out the guard: a hook that does not work is never left behind."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import UsageError
from chrono.guard import install as guard
from chrono.guard.selftest import Fired
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise


@pytest.fixture
def environ(tmp_path: Path, compiled_rules: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    shutil.copytree(compiled_rules, tmp_path / "state" / "cache")
    return {
        "HOME": str(tmp_path / "home"),
        "CHRONO_HOME": str(tmp_path / "state"),
        "PATH": os.environ["PATH"],
        "CHRONO_SERVICE": "off",
    }


@pytest.fixture
def project(tmp_path: Path, environ: dict[str, str]) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    initialise(str(folder), environ, actor(environ)).ws.close()
    return folder


@pytest.fixture
def by(environ: dict[str, str]) -> Actor:
    return actor(environ)


def kinds(project: Path) -> list[str]:
    return [json.loads(line)["ev"] for line in (project / ".chrono" / "audit.jsonl").read_text().splitlines()]


def test_a_hook_that_does_not_work_is_taken_back(
    project: Path, environ: dict[str, str], by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(b'{"model": "x"}\n')
    wrong = Fired("rm -rf --no-preserve-root /", "runs", "stops", "", 0.1)
    monkeypatch.setattr(guard, "self_test", lambda *_, **__: (wrong,))
    with pytest.raises(guard.SelfTestFailed, match="as it was before") as caught:
        guard.install(str(project), environ, by)
    assert caught.value.fired == (wrong,)
    assert settings.read_bytes() == b'{"model": "x"}\n'
    assert "guard.install" not in kinds(project)


def test_installing_twice_changes_nothing_and_says_so(project: Path, environ: dict[str, str], by: Actor) -> None:
    first = guard.install(str(project), environ, by)
    content = Path(first.path).read_bytes()
    again = guard.install(str(project), environ, by)
    assert first.changed and not again.changed
    assert Path(first.path).read_bytes() == content
    assert all(fired.holds for fired in again.fired)
    assert kinds(project).count("guard.install") == 2


def test_an_unknown_scope_is_a_usage_error(project: Path, environ: dict[str, str], by: Actor) -> None:
    with pytest.raises(UsageError, match="no scope"):
        guard.install(str(project), environ, by, scope="team")


def test_from_a_subfolder_the_hook_goes_to_the_project(project: Path, environ: dict[str, str], by: Actor) -> None:
    (project / "deep" / "er").mkdir(parents=True)
    done = guard.install(str(project / "deep" / "er"), environ, by)
    assert done.path == str(project / ".claude" / "settings.json")


def test_every_installed_hook_is_remembered_until_it_is_taken_out(
    project: Path, environ: dict[str, str], by: Actor
) -> None:
    guard.install(str(project), environ, by)
    guard.install(str(project), environ, by, scope="user")
    done = guard.uninstall_everywhere(environ, by)
    assert [one.changed for one in done] == [True, True]
    assert not (project / ".claude").exists()
    assert not (Path(environ["HOME"]) / ".claude" / "settings.json").exists()
    assert guard.uninstall_everywhere(environ, by) == ()


def test_a_hook_whose_program_is_gone_does_not_count_as_a_guard(
    project: Path, environ: dict[str, str], by: Actor
) -> None:
    done = guard.install(str(project), environ, by)
    assert guard.status(str(project), environ).guarded
    settings = Path(done.path)
    settings.write_text(settings.read_text().replace("/boot.py", "/gone/chrono/guard/boot.py"))
    found = guard.status(str(project), environ)
    assert not found.guarded
    assert any("does not hold" in problem for problem in found.reports[0].problems)


def test_clients_are_found_by_their_programs(tmp_path: Path, environ: dict[str, str]) -> None:
    assert guard.clients_here({**environ, "PATH": str(tmp_path / "nothing")}) == ()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "claude").write_text("#!/bin/sh\n")
    (tools / "claude").chmod(0o755)
    assert guard.clients_here({**environ, "PATH": str(tools)}) == ("claude-code",)


def test_only_clients_with_a_hook_of_ours_are_looked_at(project: Path, environ: dict[str, str], by: Actor) -> None:
    assert guard.hooked_clients(str(project), environ) == ()
    guard.install(str(project), environ, by)
    assert guard.hooked_clients(str(project), environ) == ("claude-code",)
