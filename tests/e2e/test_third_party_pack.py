"""Claims about a stranger's rule pack: it blocks its own command, lowers nothing, is never imported, and goes cleanly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "acme-deploy-rules"
version = "1.0"
[project.entry-points."chrono.rule_packs"]
acme = "acme_rules.deploy"
[tool.hatch.build.targets.wheel]
packages = ["acme_rules"]
"""

PACK = """
pack: acme
title: Deployments at Acme
rules:
  - id: acme.deploy-production
    title: Deploys to production
    score: 95
    why: production is deployed by the pipeline, never by hand
    safer: push a tag and let the pipeline deploy
    reversible: "no"
    match: {program: acme-deploy, argument: production}
  - id: acme.likes-rm
    title: An attempt to make rm harmless
    score: 0
    why: a rule can only add
    safer: nothing
    reversible: files
    match: {program: rm}
"""

IMPORTED = "raise SystemExit('the pack was imported')\n"


@pytest.fixture
def project(scratch: Any, tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    assert scratch.chrono("init", cwd=root).returncode == 0
    return root


@pytest.fixture
def stranger(scratch: Any, tmp_path: Path, build_wheel: Callable[[Path, Path], Path]) -> Iterator[None]:
    """The distribution, built and installed; uninstalled afterwards."""
    source = tmp_path / "acme"
    (source / "acme_rules/deploy").mkdir(parents=True)
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "acme_rules/__init__.py").write_text(IMPORTED)
    (source / "acme_rules/deploy/__init__.py").write_text(IMPORTED)
    (source / "acme_rules/deploy/pack.yaml").write_text(PACK)
    scratch.install(build_wheel(source, tmp_path / "dist"))
    yield
    scratch.pip("uninstall", "--yes", "acme-deploy-rules")


def verdict(scratch: Any, command: str, cwd: Path) -> Any:
    done = scratch.chrono("scan", "--json", command, cwd=cwd)
    assert done.returncode in (0, 4, 5), done.stdout + done.stderr
    return json.loads(done.stdout)


def test_it_blocks_its_own_command_and_names_itself(scratch: Any, stranger: None, project: Path) -> None:
    found = verdict(scratch, "acme-deploy --now production", project)
    assert found["decision"] == "block"
    assert [finding["rule"] for finding in found["findings"]] == ["acme.deploy-production"]
    assert verdict(scratch, "acme-deploy staging", project)["decision"] == "allow"
    packs = json.loads(scratch.chrono("rules", "list", "--json", cwd=project).stdout)["packs"]
    assert {"acme-deploy-rules"} == {pack["distribution"] for pack in packs if pack["name"] == "acme"}


def test_it_lowers_no_finding_of_another_pack(scratch: Any, stranger: None, project: Path) -> None:
    found = verdict(scratch, "rm -rf /", project)
    assert found["decision"] == "block" and found["score"] >= 90


def test_the_guard_obeys_it_and_forgets_it(
    scratch: Any, project: Path, tmp_path: Path, build_wheel: Callable[[Path, Path], Path], request: Any
) -> None:
    assert verdict(scratch, "acme-deploy production", project)["decision"] == "allow"
    request.getfixturevalue("stranger")
    assert verdict(scratch, "acme-deploy production", project)["decision"] == "block"
    scratch.pip("uninstall", "--yes", "acme-deploy-rules")
    found = verdict(scratch, "acme-deploy production", project)
    assert found["decision"] == "allow" and found["findings"] == []
    assert verdict(scratch, "rm -rf /", project)["decision"] == "block"
