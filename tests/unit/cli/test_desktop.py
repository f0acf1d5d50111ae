"""Claims about desktop notifications: an agent's words are arguments, and no desktop is no error."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.cli.desktop import notify


def program(folder: Path, name: str, code: int = 0) -> Path:
    """A program that notes its arguments, one a line."""
    said = folder / "said"
    path = folder / name
    path.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done > {said}\nexit {code}\n')
    path.chmod(0o755)
    return said


@pytest.mark.parametrize("name", ["notify-send", "osascript"])
def test_words_stay_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    said = program(tmp_path, name)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin" if name == "notify-send" else str(tmp_path))
    assert notify("codex asks", '--icon=/x "; do shell script "touch /tmp/x" <b>')
    rows = said.read_text().splitlines()
    assert "codex asks" in rows and any("do shell script" in row and "touch" in row for row in rows)
    if name == "notify-send":
        assert rows.index("--") < rows.index("codex asks") and "<b>" not in said.read_text()


def test_no_desktop_and_a_failing_one_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not notify("a", "b")
    program(tmp_path, "notify-send", code=1)
    assert not notify("a", "b")
    assert not notify("a", "b\0c")
