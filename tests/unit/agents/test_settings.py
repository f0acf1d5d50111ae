"""Claims about writing a client's settings file."""

import json
import os
from pathlib import Path

import pytest

from chrono.agents import settings
from chrono.agents.claude_code import ADAPTER
from chrono.agents.protocol import SettingsRefused
from chrono.errors import Conflict
from chrono.layout import HomeLayout

COMMAND = ADAPTER.hook_command("/py", "/site/chrono/guard/boot.py", "/s")
NEWER = ADAPTER.hook_command("/py3", "/site/chrono/guard/boot.py", "/s")


def install(path: Path, home: HomeLayout, command: str = COMMAND) -> settings.SettingsPlan:
    plan = settings.plan_install(ADAPTER, str(path), command)
    settings.remember(home, ADAPTER, plan)
    settings.apply(plan)
    return plan


def uninstall(path: Path, home: HomeLayout) -> None:
    settings.apply(settings.plan_uninstall(ADAPTER, str(path), home))
    settings.forget(home, str(path))


@pytest.fixture
def home(tmp_path: Path) -> HomeLayout:
    return HomeLayout(str(tmp_path / "home"))


@pytest.mark.parametrize(
    "original", [b"{}", b"{ }\n", b'{"hooks": {}}', b'{"hooks":{ "PreToolUse":[ ] } , "b":[1,\n2]}\n\n', b"", b" \n"]
)
def test_the_old_bytes_come_back_whatever_their_form(tmp_path: Path, home: HomeLayout, original: bytes) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(original)
    path.chmod(0o600)
    install(path, home)
    assert path.read_bytes() != original
    assert path.stat().st_mode & 0o777 == 0o600
    install(path, home, NEWER)
    uninstall(path, home)
    assert path.read_bytes() == original
    assert settings.remembered(home) == ()


def test_a_file_that_was_not_there_goes_again(tmp_path: Path, home: HomeLayout) -> None:
    path = tmp_path / ".claude" / "settings.json"
    install(path, home)
    assert [memory.path for memory in settings.remembered(home)] == [str(path)]
    uninstall(path, home)
    assert not path.parent.exists()


def test_what_a_person_added_since_stays(tmp_path: Path, home: HomeLayout) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{\n  "a": 1\n}\n')
    install(path, home)
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    uninstall(path, home)
    assert path.read_text() == '{\n  "a": 2\n}\n'


def test_a_plan_writes_nothing_and_a_changed_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    plan = settings.plan_install(ADAPTER, str(path), COMMAND)
    assert path.read_text() == "{}"
    path.write_text('{"mine": 1}')
    with pytest.raises(Conflict):
        settings.apply(plan)
    assert path.read_text() == '{"mine": 1}'


def test_an_undone_plan_leads_back(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    plan = settings.plan_install(ADAPTER, str(path), COMMAND)
    settings.apply(plan)
    settings.apply(settings.undone(plan))
    assert not path.exists()


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_is_never_followed(tmp_path: Path, linked: str) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    (real / "settings.json").write_text("{}")
    folder = tmp_path / ".claude"
    if linked == "folder":
        folder.symlink_to(real)
    else:
        folder.mkdir()
        (folder / "settings.json").symlink_to(real / "settings.json")
    with pytest.raises(SettingsRefused, match="is a link"):
        settings.plan_install(ADAPTER, str(folder / "settings.json"), COMMAND)
    assert (real / "settings.json").read_text() == "{}"


def test_a_fifo_or_a_folder_in_its_place_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dir").mkdir()
    for name in ("fifo", "dir"):
        with pytest.raises(SettingsRefused):
            settings.plan_install(ADAPTER, str(tmp_path / name), COMMAND)


def test_a_broken_memory_is_no_memory(tmp_path: Path, home: HomeLayout) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    install(path, home)
    for name in os.listdir(home.installs):
        (Path(home.installs) / name).write_bytes(b'{"fmt":1}')
    uninstall(path, home)
    assert path.read_text() == '{"a": 1}'


def test_the_raw_shell_is_taken_away_and_given_back_exactly(tmp_path: Path) -> None:
    home = HomeLayout(str(tmp_path / "home"))
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    before = b'{\n  "permissions": {"deny": ["Bash", "Read(./.env)"]}\n}\n'
    path.write_bytes(before)
    command = ADAPTER.hook_command("/py", "/x/chrono/guard/boot.py", str(path))
    plan, denied = settings.deny_shells(ADAPTER, settings.plan_install(ADAPTER, str(path), command))
    assert denied == ("PowerShell",)  # the other one is the person's own
    settings.remember(home, ADAPTER, plan, denied)
    settings.apply(plan)
    assert json.loads(path.read_bytes())["permissions"]["deny"] == ["Bash", "Read(./.env)", "PowerShell"]
    assert settings.plan_uninstall(ADAPTER, str(path), home).after == before
    path.write_bytes(path.read_bytes().replace(b"{\n", b'{\n  "model": "m",\n', 1))  # edited since
    after = settings.plan_uninstall(ADAPTER, str(path), home).after
    assert after is not None
    assert json.loads(after) == {"model": "m", "permissions": {"deny": ["Bash", "Read(./.env)"]}}


def test_a_file_that_held_only_the_denied_shells_goes(tmp_path: Path) -> None:
    made, added = ADAPTER.without_shells(b"{}")
    assert json.loads(made) == {"permissions": {"deny": ["Bash", "PowerShell"]}}
    assert ADAPTER.without_shells(made) == (made, ())
    assert ADAPTER.with_shells(made, added) is None
