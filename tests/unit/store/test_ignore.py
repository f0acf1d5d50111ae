"""Claims about gitignore syntax; git itself is the judge."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from chrono.store.ignore import Patterns, ignored, parse

PIECES = [
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[^b-d]",
    "[[:alpha:]]",
    "[]a]",
    "\\*",
    "\\",
    "x.y",
    "[",
    "a*",
    "*b",
]
NAMES = ["a", "b", "ab", "ba", "aab", "x.y", "*", "]", "c", "abc"]


def git_ignored(root: Path, paths: list[bytes]) -> set[bytes]:
    done = subprocess.run(
        ["git", "check-ignore", "-z", "--stdin", "--no-index"],
        input=b"\0".join(paths) + b"\0",
        capture_output=True,
        cwd=root,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split(b"\0")) - {b""}


def all_paths(root: Path) -> list[tuple[bytes, bool]]:
    found = []
    for folder, folders, files in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*folders, *files]:
            path = os.path.relpath(os.path.join(folder, name), os.fsencode(root))
            found.append((path, name in folders))
    return found


def random_pattern(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.randrange(1, 4)):
        parts.append("".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 3))))
    text = "/".join(parts)
    text = chance.choice(["", "", "", "/"]) + text + chance.choice(["", "", "", "/", " ", "\\ ", "/**"])
    return chance.choice(["", "", "", "!"]) + text


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    chance = random.Random(1)
    for _ in range(120):
        parts = [chance.choice(NAMES) for _ in range(chance.randrange(1, 5))]
        path = root.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text("x")
        except (NotADirectoryError, FileExistsError):
            continue
    return root


@pytest.mark.parametrize("seed", range(60))
def test_random_patterns_ignore_what_git_ignores(tree: Path, seed: int) -> None:
    chance = random.Random(seed)
    patterns = {
        folder: "\n".join(random_pattern(chance) for _ in range(chance.randrange(1, 6))) + "\n"
        for folder in ["", chance.choice(["a", "b", "ab"])]
        if (tree / folder).is_dir()
    }
    for folder, text in patterns.items():
        (tree / folder / ".gitignore").write_text(text)
    paths = all_paths(tree)
    theirs = git_ignored(tree, [path for path, _ in paths])
    parsed = {folder.encode(): parse(text.encode()) for folder, text in patterns.items()}
    ours = {
        path
        for path, is_folder in paths
        if ignored(path, is_folder=is_folder, files=lambda folder: parsed.get(folder, Patterns(())))
    }
    for folder in patterns:
        (tree / folder / ".gitignore").unlink()
    assert ours == theirs, patterns


@pytest.mark.parametrize(
    ("text", "path", "is_folder", "expected"),
    [
        (b"*.log\n", b"a.log", False, True),
        (b"*.log\n!keep.log\n", b"keep.log", False, False),
        (b"build/\n", b"build", False, None),
        (b"build/\n", b"build", True, True),
        (b"/only\n", b"sub/only", False, None),
        (b"a/**/z\n", b"a/z", False, True),
        (b"a/**/z\n", b"a/b/c/z", False, True),
        (b"# comment\n\\#real\n", b"#real", False, True),
        (b"trail \n", b"trail", False, True),
        (b"trail\\ \n", b"trail ", False, True),
        (b"crlf\r\n", b"crlf", False, True),
        (b"\xef\xbb\xbfbom\n", b"bom", False, True),
        (b"raw\xff*\n", b"raw\xff\xfe", False, True),
    ],
)
def test_one_pattern(text: bytes, path: bytes, is_folder: bool, expected: bool | None) -> None:
    assert parse(text).decides(path, is_folder=is_folder) is expected


def test_what_lies_in_an_ignored_folder_cannot_be_taken_back() -> None:
    patterns = parse(b"out/\n!out/keep\n")
    assert ignored(b"out/keep", is_folder=False, files=lambda folder: patterns if not folder else Patterns(()))
