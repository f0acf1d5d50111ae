"""Claims about savepoints that leave the machine: they come out as they went in, and nothing hostile is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.store import parcel, tree
from chrono.store.parcel import BadParcel, Object, opened
from chrono.store.tree import object_id

Entry = tuple[bytes, int, bytes]

COMMIT = b"tree %s\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nm\n"


def blob(data: bytes) -> Object:
    return Object(b"blob", data)


def folder(*entries: tuple[bytes, int, Object]) -> Object:
    return Object(b"tree", tree.build([(name, mode, object_id(*one)) for name, mode, one in entries]))


def whole(root: Object, *more: Object) -> tuple[str, list[Object]]:
    commit = Object(b"commit", COMMIT % object_id(*root).hex().encode())
    return object_id(*commit).hex(), [commit, root, *more]


def holding(*entries: tuple[bytes, int, Object]) -> tuple[str, list[Object]]:
    return whole(folder(*entries), *(one for _, _, one in entries))


ONE = blob(b"one\n")


def test_files_links_and_folders_come_out(tmp_path: Path) -> None:
    below = folder((b"run", tree.EXECUTABLE, ONE))
    links = [blob(b"../a"), blob(b"below/run"), blob(b"/etc/passwd"), blob(b"../out"), blob(b"below/../../out")]
    inside = folder((b"up", tree.LINK, links[0]))
    root = folder(
        (b"a", tree.FILE, ONE), (b"below", tree.FOLDER, below), (b"in", tree.FOLDER, inside),
        (b"l1", tree.LINK, links[1]), (b"l2", tree.LINK, links[2]), (b"l3", tree.LINK, links[3]),
        (b"l4", tree.LINK, links[4]),
    )  # fmt: skip
    found = opened(*whole(root, below, inside, ONE, *links))
    assert sorted(found.left_out) == ["l2", "l3", "l4"]
    found.check_out(str(tmp_path))
    assert (tmp_path / "a").read_text() == (tmp_path / "in" / "up").read_text() == "one\n"
    assert os.access(tmp_path / "below" / "run", os.X_OK) and os.readlink(tmp_path / "l1") == "below/run"
    assert sorted(os.listdir(tmp_path)) == ["a", "below", "in", "l1"]


@pytest.mark.parametrize(
    "name", [b"..", b".", b"", b".git", b".GIT", b".chrono", b"a/b", b"../b", b"chrono-escaped-" + b"../b".hex().encode(),
             b"chrono-escaped-" + b".git".hex().encode(), b"chrono-escaped-" + b"l/b".hex().encode()],
)  # fmt: skip
@pytest.mark.parametrize("deep", [False, True])
def test_a_name_that_leads_elsewhere_is_refused(name: bytes, deep: bool) -> None:
    root = folder((name, tree.FILE, ONE))
    given = whole(folder((b"x", tree.FOLDER, root)), root, ONE) if deep else whole(root, ONE)
    with pytest.raises(BadParcel, match="no name for a file"):
        opened(*given)


def test_an_object_that_is_not_what_its_id_says_is_not_there() -> None:
    commit, objects = holding((b"a", tree.FILE, ONE))
    with pytest.raises(BadParcel, match="lack blob"):
        opened(commit, [*objects[:2], blob(b"two\n")])
    with pytest.raises(BadParcel, match="lack commit"):
        opened("0" * 40, objects)
    with pytest.raises(BadParcel, match="lack commit"):
        opened("not an id", objects)


def test_a_kind_that_is_none_and_a_name_twice_are_refused() -> None:
    for rows in (
        b"160000 sub\0" + object_id(*ONE),
        2 * (b"100644 a\0" + object_id(*ONE)),
        b"100666 a\0" + object_id(*ONE),
    ):
        root = Object(b"tree", rows)
        with pytest.raises(BadParcel, match="a name twice, or an entry of no known kind"):
            opened(*whole(root, ONE))
    unsorted = Object(b"tree", b"".join(b"100644 %s\0" % name + object_id(*ONE) for name in (b"b", b"a")))
    with pytest.raises(BadParcel, match="not written as git writes one"):
        opened(*whole(unsorted, ONE))
    cut = Object(b"tree", b"100644 a\0" + object_id(*ONE)[:7])
    with pytest.raises(BadParcel, match="malformed"):
        opened(*whole(cut, ONE))


def test_a_file_where_a_folder_is_said_to_be_is_refused() -> None:
    root = Object(b"tree", b"40000 a\0" + object_id(*ONE))
    with pytest.raises(BadParcel, match="lack tree"):
        opened(*whole(root, ONE))


def test_a_few_trees_that_would_be_billions_of_files_are_refused() -> None:
    at = folder(*((b"%d" % number, tree.FILE, ONE) for number in range(10)))
    objects = [ONE, at]
    for _ in range(10):
        at = folder(*((b"%d" % number, tree.FOLDER, at) for number in range(10)))
        objects.append(at)
    with pytest.raises(BadParcel, match="written out"):
        opened(*whole(at, *objects))


def test_too_many_levels_and_too_many_bytes_are_refused() -> None:
    at = folder((b"a", tree.FILE, ONE))
    objects = [ONE, at]
    for _ in range(parcel.MOST_LEVELS + 2):
        at = folder((b"d", tree.FOLDER, at))
        objects.append(at)
    with pytest.raises(BadParcel, match="levels"):
        opened(*whole(at, *objects))
    large = blob(b"x" * 3000)
    with pytest.raises(BadParcel, match="more than"):
        opened(*holding((b"a", tree.FILE, large)), most_bytes=2000)
    twice = holding((b"a", tree.FILE, large), (b"b", tree.FILE, large))
    with pytest.raises(BadParcel, match="written out"):
        opened(twice[0], twice[1][:3], most_bytes=5000)
