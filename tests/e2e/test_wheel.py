"""Claims about the wheel: installed outside the checkout it is whole, rule packs included."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from chrono import __version__
from chrono.rulepack.discover import BUILT_IN


def test_it_holds_the_package_and_the_packs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"chrono", "chrono_rules", f"chrono_toolkit-{__version__}.dist-info"}
    for pack in BUILT_IN:
        assert any(name.startswith("chrono_rules/") and name.endswith("pack.yaml") for name in names), pack
    assert "chrono/py.typed" in names
    assert not [name for name in names if name.startswith("chrono_rules/") and name.endswith(".py")]


def test_it_says_its_version(scratch: Any, tmp_path: Path) -> None:
    done = scratch.chrono("--version", cwd=tmp_path)
    assert (done.stdout, done.returncode) == (f"chrono {__version__}\n", 0)


def test_every_built_in_pack_is_seen(scratch: Any, tmp_path: Path) -> None:
    done = scratch.chrono("rules", "list", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert {pack["name"] for pack in found["packs"]} == set(BUILT_IN)
    assert {pack["distribution"] for pack in found["packs"]} == {"chrono-toolkit"}
    assert len(found["rules"]) >= 60


def test_it_blocks_and_allows(scratch: Any, tmp_path: Path) -> None:
    assert scratch.chrono("scan", "rm -rf /", cwd=tmp_path).returncode == 4
    assert scratch.chrono("scan", "ls -l", cwd=tmp_path).returncode == 0


def test_it_makes_a_project_and_brings_a_file_back(scratch: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    assert scratch.chrono("init", cwd=project).returncode == 0
    (project / "a.txt").unlink()
    assert scratch.chrono("rollback", cwd=project).returncode == 0
    assert (project / "a.txt").read_text() == "one\n"
    assert scratch.chrono("audit", "--verify", cwd=project).returncode == 0


def test_its_guard_works_without_the_checkout(scratch: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assert scratch.chrono("init", cwd=project).returncode == 0
    done = scratch.chrono("guard", "install", "--json", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    installed = json.loads(done.stdout)
    assert str(scratch.folder) in installed["command"]
    assert [fired["does"] for fired in installed["fired"]] == ["runs", "stops"]
