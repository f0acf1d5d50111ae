"""Claims about the shipped example: it is valid, it uses every key but the pins, and trusting it is what loosens."""

from __future__ import annotations

from pathlib import Path

from chrono.policy.layers import effective
from chrono.policy.load import KEYS, parse
from chrono.policy.model import DEFAULTS

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "chrono-policy.yaml"
FORMAT = ROOT / "docs" / "formats" / "policy.md"


def test_the_example_is_valid_and_whole() -> None:
    file = parse(EXAMPLE.read_text(), "chrono-policy.yaml", layer="project")
    assert {key for key, _ in file.lines} == set(KEYS) - {"pins"}


def test_the_example_marks_every_line_that_loosens() -> None:
    text = EXAMPLE.read_text()
    file = parse(text, "chrono-policy.yaml", layer="project")
    held = effective(DEFAULTS, None, file, project_trusted=False)
    lines = text.splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.rstrip().endswith("loosens")}
    for entry in held.ignored:
        start = entry.line
        while not lines[start - 1].endswith("loosens"):
            start -= 1
            assert start > 0, entry
        assert start in marked


def test_the_format_page_names_every_key() -> None:
    page = FORMAT.read_text()
    for key in KEYS:
        assert f"`{key}" in page, key
