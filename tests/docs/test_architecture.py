"""Claims about docs/architecture.md: its tables name each room and each module of `record`, and none that is gone."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()


def first_cells(heading: str) -> set[str]:
    """The names in the first column of the table whose first column has this heading."""
    table = TEXT[TEXT.index(f"| {heading} |") :].partition("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def names_in(folder: Path) -> set[str]:
    found = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return found - {"__init__"}


def test_each_room_has_a_line() -> None:
    assert first_cells("rooms") == names_in(ROOT / "chrono")


def test_rooms_stand_in_the_order_that_is_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    height = {room: at for at, layer in enumerate(layers) for room in re.findall(r"\w+", layer)}
    table = TEXT[TEXT.index("| rooms |") :].partition("\n\n")[0].splitlines()[2:]
    heights = [height[room] for row in table for room in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert heights == sorted(heights)


def test_each_module_of_record_has_a_line() -> None:
    assert first_cells("module of `record`") == names_in(ROOT / "chrono" / "record")
