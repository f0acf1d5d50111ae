"""Owns scratch environments: a virtual environment of its own, without a network, and what is built into it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Scratch:
    """A virtual environment that has chrono's dependencies and nothing else of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        packages = next((folder / "lib").glob("python*")) / "site-packages"
        shared = folder / "shared"
        shared.mkdir()
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if not entry.name.lower().startswith(("chrono", "__editable__", "_chrono")) and entry.suffix != ".pth":
                (shared / entry.name).symlink_to(entry)
        (packages / "shared.pth").write_text(f"{shared}\n")

    def pip(self, *args: str) -> None:
        """Runs the outer pip on this environment; nothing is downloaded."""
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "--quiet", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr

    def install(self, wheel: Path) -> None:
        self.pip("install", "--no-index", "--no-deps", str(wheel))

    def chrono(self, *args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin" / "chrono"), *args],
            cwd=cwd,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )


def build(source: Path, into: Path, what: str) -> Path:
    """Builds a distribution with hatchling; `what` is "wheel" or "sdist"."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", what, "-d", str(into)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = [path for path in into.iterdir() if path.suffix == (".whl" if what == "wheel" else ".gz")]
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """chrono's own wheel, built through its sdist as `pip install` of a source archive does."""
    import tarfile

    folder = tmp_path_factory.mktemp("build")
    sdist = build(ROOT, folder / "sdist", "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return build(source, folder / "wheel", "wheel")


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Scratch:
    """A scratch environment with the wheel in it."""
    made = Scratch(tmp_path_factory.mktemp("scratch") / "venv")
    made.install(wheel)
    return made


@pytest.fixture(scope="session")
def build_wheel() -> Callable[[Path, Path], Path]:
    return lambda source, into: build(source, into, "wheel")
