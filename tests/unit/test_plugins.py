"""Claims about the door for plugins, against real distributions on `sys.path`."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from chrono.errors import PluginError
from chrono.plugins import Found, PluginGroup

ROOT = Path(__file__).resolve().parents[2]
GROUP = PluginGroup("chrono.test_plugins", api_version=1)


def install(folder: Path, distribution: str, name: str, body: str) -> None:
    module = distribution.replace("-", "_")
    (folder / f"{module}.py").write_text(body)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP.group}]\n{name} = {module}:PLUGIN\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


GOOD = "class P:\n    api_version = 1\n    name = 'good'\nPLUGIN = P()\n"


def test_an_installed_plugin_is_found_without_being_imported(site: Path) -> None:
    install(site, "good-plugin", "good", "raise RuntimeError('imported')\n")
    (found,) = GROUP.found()
    assert (found.name, found.value, found.distribution) == ("good", "good_plugin:PLUGIN", "good-plugin")


def test_the_metadata_is_read_once_until_something_is_installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seventeen adapters, each asked for three times, made `chrono status` read it fifty times over."""
    install(site, "early-plugin", "early", GOOD)
    readings = []
    read = PluginGroup._read

    def counted(group: PluginGroup) -> tuple[Found, ...]:
        readings.append(group)
        return read(group)

    monkeypatch.setattr(PluginGroup, "_read", counted)
    assert [entry.name for entry in GROUP.found()] == [entry.name for entry in GROUP.found()] == ["early"]
    assert len(readings) == 1
    install(site, "late-plugin", "late", GOOD)
    os.utime(site, ns=(1, 2))  # a clock that ticks slowly could leave it as it was
    assert [entry.name for entry in GROUP.found()] == ["early", "late"]
    assert len(readings) == 2


def test_a_plugin_is_loaded_by_name(site: Path) -> None:
    install(site, "good-plugin-two", "good", GOOD)
    assert GROUP.load("good").name == "good"  # type: ignore[attr-defined]


def test_two_claims_of_one_name_are_refused(site: Path) -> None:
    install(site, "first-plugin", "good", GOOD)
    install(site, "second-plugin", "good", GOOD)
    with pytest.raises(PluginError, match=r"first-plugin and second-plugin|second-plugin and first-plugin"):
        GROUP.load("good")


def test_another_api_version_is_refused(site: Path) -> None:
    install(site, "old-plugin", "old", GOOD.replace("api_version = 1", "api_version = 7"))
    with pytest.raises(PluginError, match="api_version 7"):
        GROUP.load("old")


def test_a_broken_plugin_is_named(site: Path) -> None:
    install(site, "broken-plugin", "broken", "raise RuntimeError('boom')\n")
    with pytest.raises(PluginError, match=r"broken-plugin.*boom") as caught:
        GROUP.load("broken")
    assert caught.value.exit_code == 30


def test_a_missing_plugin_tells_what_there_is(site: Path) -> None:
    install(site, "good-plugin-three", "good", GOOD)
    with pytest.raises(PluginError, match="installed: good"):
        GROUP.load("absent")


def test_every_entry_point_of_ours_is_an_object_reference() -> None:
    """One that is not makes `importlib_metadata`, which many packages bring along, refuse all of the environment's."""
    reference = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)?")
    for file in (ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")):
        groups = tomllib.loads(file.read_text())["project"].get("entry-points", {})
        for values in groups.values():
            assert [value for value in values.values() if not reference.fullmatch(value)] == []
