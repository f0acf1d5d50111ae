"""Claims about names: escaping is exact, git's fsck finds nothing, and what is not ours is recognised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.store import names as room
from chrono.store.names import (
    control_names,
    file_name,
    has_suspects,
    is_file_name,
    is_ours_to_leave,
    quote,
    tree_name,
    unquote,
)

names = st.binary(min_size=1, max_size=40).filter(is_file_name)
tricky = st.sampled_from(
    [b".git", b".GIT", b"git~1", b"GIT~1", b".git ", b".git.", b".git::$INDEX_ALLOCATION", b"a\\.git", b"a\\git~1",
     ".g\u200cit".encode(), "\ufeff.git".encode(), b"chrono-escaped-", b"chrono-escaped-00", b"chrono-escaped-2e676974",
     b"chrono-escaped-zz", b".gitx", b"a.git", b".gitmodules", b"gitmod~1"]
)  # fmt: skip


@given(name=names | tricky, is_link=st.booleans(), forced=st.booleans())
def test_a_tree_name_leads_back_to_its_file(name: bytes, is_link: bool, forced: bool) -> None:
    entry = tree_name(name, is_link=is_link, forced=forced)
    assert file_name(entry) == name
    assert b"/" not in entry and b"\0" not in entry


@given(one=names | tricky, two=names | tricky)
def test_two_files_never_share_a_tree_name(one: bytes, two: bytes) -> None:
    assert (tree_name(one) == tree_name(two)) == (one == two)


@given(found=st.lists(names | tricky), is_link=st.booleans())
def test_where_no_name_is_suspect_each_stays(found: list[bytes], is_link: bool) -> None:
    stay = [tree_name(name, is_link=is_link) == name for name in found]
    assert has_suspects(found) or all(stay)


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/etc/x", b"..\0", b"../x"])
def test_an_escape_of_what_no_file_is_called_is_an_ordinary_name(name: bytes) -> None:
    entry = b"chrono-escaped-" + name.hex().encode()
    assert file_name(entry) == entry


def test_usual_names_are_not_suspect() -> None:
    assert not has_suspects([b"README.md", b"__init__.py", b"a.git", b"no", b"-", b"src"])


@pytest.mark.parametrize("name", [b".git", b".GiT", b"git~1", b".git. .", b"x\\.git", "\u200d.git".encode()])
def test_what_fsck_takes_for_git_data_is_escaped(name: bytes) -> None:
    assert tree_name(name).startswith(b"chrono-escaped-")


@pytest.mark.parametrize("name", [b"a.py", b".gitignore", b"git", b"~x", b".gitattributes", b"caf\xe9", b"grep"])
def test_ordinary_names_stay(name: bytes) -> None:
    assert tree_name(name) == name


@given(path=st.binary(max_size=60).filter(lambda path: b"\0" not in path))
def test_quoted_paths_are_one_line_of_utf_8_and_come_back(path: bytes) -> None:
    text = quote(path)
    assert b"\n" not in text
    text.decode("utf-8")
    assert unquote(text) == path


@pytest.mark.parametrize(
    "path",
    [b".git", b".git/config", b"a/.GIT/x", b".chrono/repo.git", b"a/.Chrono", b"../x", b"a/../x", b"", b"a//b", b"/a",
     b"a/", b"a/.", b"a\0b", b"chrono-policy.yaml", b".claude/settings.json", b"sub/.claude/settings.local.json",
     b".github/hooks/x.json", b".cline/hooks/PreToolUse", b"x/.chrono-stage-1", b"crush.json", b".kiro/hooks"],
)  # fmt: skip
def test_what_is_not_ours_is_recognised(path: bytes) -> None:
    assert is_ours_to_leave(path)


@pytest.mark.parametrize(
    "path",
    [b"a", b"a/b.c", b".claude/commands/x", b"sub/chrono-policy.yaml", b".github/workflows/x.json", b"..a", b"a..b",
     b".gitignore", b"hooks/x.json", b"sub/crush.json"],
)  # fmt: skip
def test_everything_else_is_ours(path: bytes) -> None:
    assert not is_ours_to_leave(path)


def test_settings_count_at_every_depth() -> None:
    for folder in (b".claude", b"a/b/.claude"):
        control = control_names(folder)
        assert control is not None and control.fullmatch(b"settings.json")
    assert control_names(b"x.claude") is None


@pytest.mark.parametrize(
    "name",
    [".git\u200c", "git~1", ".GIT.", ".git ", ".git::$INDEX_ALLOCATION", ".chrono\u200d", "CHRONO~1", ".chrono."],
)
def test_a_name_that_folds_into_ours_is_left_where_names_fold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "FOLDS", True)
    assert is_ours_to_leave(f"a/{name}/hooks/x".encode())
    assert not is_ours_to_leave(b"a/git/chrono/.gitignore")
    monkeypatch.setattr(room, "FOLDS", False)
    assert not is_ours_to_leave(f"a/{name}/hooks/x".encode()), "an ordinary name, which must not be lost"
