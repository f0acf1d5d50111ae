"""Claims about the how-to for rule packs: whoever does what it says, word by word, has a pack that guards."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto" / "write-a-rule-pack.md"
BLOCK = re.compile(r"^```(sh|text|yaml)\n(.*?)^```$", re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, scratch: Any) -> Iterator[Path]:
    yield tmp_path
    scratch.pip("uninstall", "--yes", "chrono-rules-shop")


def test_the_text_alone_makes_a_pack_that_blocks(
    folder: Path, scratch: Any, build_wheel: Callable[[Path, Path], Path]
) -> None:
    text = HOWTO.read_text()
    said: list[str] = []
    for block in BLOCK.finditer(text):
        kind, body = block.group(1), block.group(2)
        if kind == "yaml":
            # The file that the sentence in front of the block names.
            name = re.findall(r"`(chrono-rules-shop/[\w/]+\.yaml)`", text[: block.start()])[-1]
            (folder / name).write_text(body)
        elif kind == "text":
            assert body.split() == said[-1].split(), body
        else:
            said = [_run(line, folder, scratch, build_wheel) for line in body.strip().split("\n")]
    assert scratch.chrono("scan", "shopctl orders drop --all", cwd=folder).returncode == 4
    assert scratch.chrono("scan", "shopctl --stage production deploy", cwd=folder).returncode == 5
    assert scratch.chrono("scan", "shopctl orders list", cwd=folder).returncode == 0
    assert "shop.production" in scratch.chrono("rules", "list", "shop", cwd=folder).stdout


def _run(line: str, folder: Path, scratch: Any, build_wheel: Callable[[Path, Path], Path]) -> str:
    """One line of the text; pip builds what it installs in a place of its own, here without a network."""
    words = shlex.split(line)
    if words[:2] == ["pip", "install"]:
        scratch.install(build_wheel(folder / words[2], folder / "dist"))
        return ""
    assert words[0] == "chrono", line
    done = scratch.chrono(*words[1:], cwd=folder)
    assert done.returncode in ((0, 4, 5) if words[1] == "scan" else (0,)), line + done.stdout + done.stderr
    return str(done.stdout)


def test_the_new_distribution_passes_its_own_test(folder: Path, scratch: Any) -> None:
    import subprocess

    assert scratch.chrono("rules", "new", "shop", cwd=folder).returncode == 0
    done = subprocess.run(
        [str(scratch.python), "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder / "chrono-rules-shop",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
