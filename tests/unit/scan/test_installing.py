"""Claims about files and folders that a command installs."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command
from chrono.scan.installing import install_folder, package_files


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("pip install ./x.whl", ("./x.whl",)),
        ("python3 -m pip install x.tar.gz", ("x.tar.gz",)),
        ("npm i -g p.tgz", ("p.tgz",)),
        ("uv pip install x.whl", ("x.whl",)),
        ("pip install pandas", ()),
        ("pip download x.whl", ()),
        ("npm install", ()),
    ],
)
def test_packages_that_lie_in_files_are_told_from_names(text: str, files: tuple[str, ...]) -> None:
    assert package_files(Command(tuple(text.split()))) == files


@pytest.mark.parametrize(
    ("text", "folder"),
    [("make install", "/p"), ("make -C x install", "/p/x"), ("make", None), ("npm install", None)],
)
def test_a_build_tool_installs_by_the_recipe_of_its_folder(text: str, folder: str | None) -> None:
    assert install_folder(Command(tuple(text.split()), cwd="/p")) == folder
