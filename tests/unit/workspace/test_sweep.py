"""Claims about the files of a tree that can be run: which, and by what."""

from __future__ import annotations

from pathlib import Path

from chrono.workspace.sweep import runnables


def ways(root: Path) -> list[tuple[str, str]]:
    return [(one.path, one.command) for one in runnables(str(root))]


def test_each_kind_of_file_has_its_program(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "tool").write_text("#!/usr/bin/env python3\nprint(1)\n")
    (tmp_path / "a b.sh").write_text("true\n")
    (tmp_path / "x.ts").write_text("1\n")
    (tmp_path / "x.ps1").write_text("1\n")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "true", "a:b": "true"}}')
    (tmp_path / "justfile").write_text("x := '1'\ngo:\n  true\n")
    assert ways(tmp_path) == [
        ("a b.sh", "sh './a b.sh'"),
        ("justfile", "just go"),
        ("package.json", "npm run test"),
        ("package.json", "npm run a:b"),
        ("x.ps1", "pwsh -File ./x.ps1"),
        ("x.ts", "node ./x.ts"),
        ("deep/tool", "python ./tool"),
    ]


def test_data_links_and_foreign_folders_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("rm -rf /\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "package.json").write_text("{")
    for name in ("node_modules", ".git", "vendor"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.sh").write_text("true\n")
    (tmp_path / "link.sh").symlink_to(tmp_path / "vendor" / "x.sh")
    assert ways(tmp_path) == []


def test_one_file_is_a_tree_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("true\n")
    (one,) = runnables(str(tmp_path / "x.sh"))
    assert (one.path, one.command, one.file, one.folder) == (
        "x.sh",
        "sh ./x.sh",
        str(tmp_path / "x.sh"),
        str(tmp_path),
    )
