"""Claims about commits: what goes in comes out, and no message or value can forge a trailer."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.errors import StoreError
from chrono.ids import CommitId, TreeId
from chrono.store.savepoint import decode, encode

from .conftest import Project

TREE = TreeId("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
ID = CommitId("0" * 40)
KIND = ("Chrono-Kind", "auto")
AUDIT = ("Chrono-Audit", f"v2 {'a' * 32} 7 {'b' * 64}")


def round_trip(message: str, trailers: tuple[tuple[str, str], ...], author: str = "someone") -> bytes:
    return encode(TREE, None, (), author, 1_700_000_000_123_456_000, message, trailers)


@given(
    message=st.text(),
    command=st.text(st.characters(codec=None)),
    author=st.text(st.characters(codec=None)),
)
def test_any_text_comes_back_and_forges_nothing(message: str, command: str, author: str) -> None:
    raw = round_trip(message, (KIND, AUDIT, ("Chrono-Command", command)), author)
    found = decode(ID, raw)
    assert found.kind == "auto"
    assert found.trailers[:3] == (KIND, AUDIT, ("Chrono-Command", command))
    assert len([key for key, _ in found.trailers if key == "Chrono-Audit"]) == 1
    assert found.at_ns == 1_700_000_000_123_456_000
    raw.decode("utf-8")
    assert b"\0" not in raw


@pytest.mark.parametrize(
    "message",
    [
        "Chrono-Kind: manual",
        "x\n\nChrono-Kind: manual\nChrono-Audit: v2 evil",
        "x\n\nChrono-Audit: v2 evil\n\n",
        "x\r\rChrono-Audit: v2 evil",
        "x\n\n chrono-audit: v2 evil",
        "x\u2028Chrono-Audit: v2 evil",
        "",
    ],
)
def test_a_message_cannot_bring_trailers_of_its_own(project: Project, message: str) -> None:
    raw = round_trip(message, (KIND, AUDIT))
    found = decode(ID, raw)
    assert [key for key, _ in found.trailers] == ["Chrono-Kind", "Chrono-Audit", "Chrono-Time"]
    body = raw.partition(b"\n\n")[2]
    shown = subprocess.run(["git", "interpret-trailers", "--parse"], input=body, capture_output=True, check=True)
    assert shown.stdout.splitlines()[0] == b"Chrono-Kind: auto"
    lines = [line for line in body.decode().splitlines() if line.startswith("Chrono-")]
    assert len(lines) == 3


@pytest.mark.parametrize("value", ["two\nlines", "back\\slash \\n", "tab\t", "\udcff raw", "nul\0", "\x85next", ""])
def test_values_of_one_line_or_many_come_back(value: str) -> None:
    assert decode(ID, round_trip("m", (KIND, ("Chrono-Command", value)))).trailer("Chrono-Command") == value


@pytest.mark.parametrize("key", ["", "a b", "a:", "a\n", "Chrono-Meta", "chrono-time", "-x", "é"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="not a trailer key"):
        round_trip("m", (KIND, (key, "v")))


def test_a_savepoint_has_a_kind() -> None:
    with pytest.raises(ValueError, match="Chrono-Kind"):
        round_trip("m", (AUDIT,))


@pytest.mark.parametrize("author", ["", "<>", "a <evil@x> 1 +0000\nparent 0", "\n", "..."])
def test_an_author_cannot_break_the_header(author: str) -> None:
    raw = round_trip("m", (KIND,), author)
    assert raw.split(b"\n\n")[0].count(b"\n") == 2
    assert decode(ID, raw).at_ns == 1_700_000_000_123_456_000


def test_a_commit_of_git_is_read_as_one_without_trailers(project: Project) -> None:
    raw = (
        b"tree %s\nauthor A <a@b> 5 +0100\ncommitter A <a@b> 5 +0100\n\nsubject\n\nbody: not\nall trailers\n"
        % TREE.encode()
    )
    found = decode(ID, raw)
    assert (found.kind, found.trailers, found.at_ns) == ("commit", (), 5_000_000_000)
    assert found.message == "subject\n\nbody: not\nall trailers"


@pytest.mark.parametrize("raw", [b"", b"tree x\n\n", b"author a\n\nx", b"\xff\xfe"])
def test_what_is_no_commit_is_an_error(raw: bytes) -> None:
    with pytest.raises(StoreError):
        decode(ID, raw)
