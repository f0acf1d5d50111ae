"""Claims about the cached ruleset: it is used when nothing changed, and never when anything is in doubt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.errors import PluginError
from chrono.layout import HomeLayout
from chrono.rulepack import discover as discovering
from chrono.rulepack import ruleset as compiling
from chrono.rulepack.ruleset import ruleset, warm


@pytest.fixture
def home(tmp_path: Path) -> HomeLayout:
    return HomeLayout(str(tmp_path / "state"))


def cache_file(home: HomeLayout) -> Path:
    (file,) = Path(home.cache).glob("rules-*.bin")
    return file


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time the packs were read anew."""
    calls: list[int] = []
    original = discovering.discover

    def counting() -> tuple[discovering.PackSource, ...]:
        calls.append(1)
        return original()

    monkeypatch.setattr(discovering, "discover", counting)
    return calls


def test_a_second_call_takes_the_cache(home: HomeLayout, counted: list[int]) -> None:
    first = ruleset(home)
    assert ruleset(home) == first
    assert len(counted) == 1


def test_cache_and_key_belong_to_the_owner_alone(home: HomeLayout) -> None:
    ruleset(home)
    for path in (cache_file(home), Path(home.cache) / "rules.key"):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("where", ["mac", "body", "key", "short", "open", "link"])
def test_a_cache_in_doubt_is_rebuilt(home: HomeLayout, counted: list[int], where: str, tmp_path: Path) -> None:
    wanted = ruleset(home)
    path = cache_file(home)
    data = bytearray(path.read_bytes())
    if where == "mac":
        data[0] ^= 1
    elif where == "body":
        data[-1] ^= 1
    elif where == "short":
        data = data[:40]
    path.write_bytes(bytes(data))
    if where == "key":
        (Path(home.cache) / "rules.key").write_bytes(b"x" * 32)
    elif where == "open":
        path.chmod(0o666)
    elif where == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    assert ruleset(home) == wanted
    assert len(counted) == 2


def test_warming_leaves_a_cache_that_the_next_call_takes(home: HomeLayout, counted: list[int]) -> None:
    warm(home)
    ruleset(home)
    assert len(counted) == 1


def test_warming_says_nothing_of_a_broken_pack(home: HomeLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovering, "BUILT_IN", (*discovering.BUILT_IN, "no-such-pack"))
    warm(home)


def test_a_changed_compiler_is_noticed(home: HomeLayout, counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    ruleset(home)
    stamp = compiling._stamp
    monkeypatch.setattr(compiling, "_stamp", lambda path: (path, 0, 0, 0) if "plainyaml" in path else stamp(path))
    ruleset(home)
    assert len(counted) == 2


def test_a_changed_folder_on_the_search_path_is_noticed(
    home: HomeLayout, counted: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    ruleset(home)
    (folder / "new_pack-1.0.dist-info").mkdir()
    ruleset(home)
    assert len(counted) == 2


def test_packs_that_stayed_the_same_are_not_compiled_anew(
    home: HomeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    wanted = ruleset(home)
    (folder / "something_else").mkdir()
    monkeypatch.setattr(discovering, "compile_packs", None)
    assert ruleset(home) == wanted


def test_a_pack_that_is_edited_is_compiled_anew(
    home: HomeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(tmp_path / "site", "extra", "extra_rules.inner", PACK)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    ruleset(home)
    (tmp_path / "site/extra_rules/inner/pack.yaml").write_text(PACK.replace("score: 50", "score: 60"))
    assert [rule.score for rule in ruleset(home).rules if rule.id == "extra.one"] == [60]


def test_a_home_that_cannot_be_written_costs_time_not_rules(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert len(ruleset(HomeLayout(str(blocked))).rules) >= 80


def test_a_warm_call_imports_neither_yaml_nor_metadata(home: HomeLayout) -> None:
    ruleset(home)
    code = (
        "import sys; from chrono.layout import HomeLayout; from chrono.rulepack.ruleset import ruleset\n"
        f"ruleset(HomeLayout({home.root!r}))\n"
        "bad = [m for m in ('ruamel.yaml', 'importlib.metadata', 'json', 'subprocess') if m in sys.modules]\n"
        "assert not bad, bad"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for _ in range(2):  # the first one has a search path of its own to compile for
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)
    assert result.returncode == 0, result.stderr


def _installed(folder: Path, name: str, value: str, text: str | None) -> None:
    """A distribution in `folder` that registers one pack."""
    info = folder / f"{name.replace('-', '_')}_dist-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[chrono.rule_packs]\n{name} = {value}\n")
    if text is not None:
        package = folder.joinpath(*value.split("."))
        package.mkdir(parents=True)
        (package / "pack.yaml").write_text(text)
        (folder / value.split(".")[0] / "__init__.py").write_text("raise SystemExit('imported')\n")


PACK = """
pack: extra
title: Extra
rules:
  - {id: extra.one, title: t, score: 50, why: w, safer: s, reversible: no, match: {program: extra-tool}}
"""


def test_a_third_party_pack_is_read_and_never_imported(
    home: HomeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(tmp_path / "site", "extra", "extra_rules.inner", PACK)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert any(rule.id == "extra.one" for rule in ruleset(home).rules)
    assert "extra_rules" not in sys.modules


@pytest.mark.parametrize(
    "text",
    [
        None,
        "not: a pack",
        "pack: other\ntitle: x\nrules: []",
        PACK.replace("extra.one", "git.push-force"),
        "\x00",
        "a: &x 1",
    ],
)
def test_a_broken_third_party_pack_fails_closed_and_is_named(
    home: HomeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    _installed(tmp_path / "site", "extra", "extra_rules.inner", text)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(PluginError, match="extra"):
        ruleset(home)


def test_nobody_else_may_bring_a_built_in_pack(
    home: HomeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(tmp_path / "site", "git", "evil_rules.git", PACK)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(PluginError, match="git"):
        ruleset(home)


def test_a_built_in_pack_in_two_places_is_refused(
    home: HomeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow = tmp_path / "site" / "chrono_rules" / "git"
    shadow.mkdir(parents=True)
    (shadow / "pack.yaml").write_text("pack: git\ntitle: nothing\nrules: []\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(PluginError, match="two places"):
        ruleset(home)


def test_a_missing_built_in_pack_fails_closed(home: HomeLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovering, "BUILT_IN", (*discovering.BUILT_IN, "no-such-pack"))
    with pytest.raises(PluginError, match="no-such-pack"):
        ruleset(home)
