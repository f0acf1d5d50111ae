"""Claims about the first form of a new pack: it is sound as it stands, and nothing is overwritten."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from chrono.errors import UsageError
from chrono.rulepack.check import check
from chrono.rulepack.scaffold import plan_pack, write_pack
from chrono.rulepack.weaken import weaken


def test_a_new_pack_passes_all_its_tests(tmp_path: Path) -> None:
    plan = plan_pack("acme-db", str(tmp_path))
    write_pack(plan)
    folder = Path(plan.folder) / plan.package
    checked = check(str(folder), pack="acme-db")
    assert (checked.problems, checked.rules) == ((), 1)
    assert weaken(str(folder), pack="acme-db").survivors == ()


def test_the_distribution_registers_the_pack_under_its_name(tmp_path: Path) -> None:
    plan = plan_pack("acme-db", str(tmp_path))
    write_pack(plan)
    project = tomllib.loads((Path(plan.folder) / "pyproject.toml").read_text())
    assert project["project"]["name"] == "chrono-rules-acme-db"
    assert project["project"]["entry-points"]["chrono.rule_packs"] == {"acme-db": "chrono_rules_acme_db"}
    assert sorted(path for path, _ in plan.files) == sorted(
        str(path.relative_to(plan.folder)) for path in Path(plan.folder).rglob("*") if path.is_file()
    )


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    plan_pack("acme", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_never_written_into(tmp_path: Path) -> None:
    plan = plan_pack("acme", str(tmp_path))
    (tmp_path / "chrono-rules-acme").mkdir()
    with pytest.raises(UsageError, match="already"):
        plan_pack("acme", str(tmp_path))
    with pytest.raises(FileExistsError):
        write_pack(plan)


@pytest.mark.parametrize("name", ["", "Acme", "a b", "a/b", "../x", "a_b", "-a", "a--b", "9a", "x" * 41, "git", "é"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        plan_pack(name, str(tmp_path))
