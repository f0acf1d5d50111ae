"""Claims about the record line."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.audit import record as record_room
from chrono.audit.record import (
    MAX_LINE_BYTES,
    MAX_NAME,
    MAX_TEXT,
    NO_PREV,
    SIGNED_PREFIX,
    Act,
    Actor,
    Anchor,
    Entry,
    encode,
    read,
    signature_holds,
    signed_bytes,
)
from chrono.canonical import NotCanonical, canonical_bytes, sha256_hex
from chrono.signing import Signer, generate, signer_of_seed

SIGNER = signer_of_seed(bytes(range(32)))
AT = "2026-11-30T02:15:22.123456Z"
LOG = "ab" * 16
BY = Actor(user="bob", uid=0, source="hook")


def line(entry: Entry, signer: Signer | None = SIGNER, n: int = 17) -> bytes:
    return encode(entry, n=n, at=AT, log=LOG, prev=NO_PREV, signer=signer)


def test_the_signature_is_over_the_line_without_it() -> None:
    data = line(Entry("command", BY, Act(cmd="ls")))
    parts = signed_bytes(data)
    assert parts is not None
    assert data.endswith(b',"sig":"' + base64.b64encode(parts[1]) + b'"}')
    value = json.loads(data)
    del value["sig"]
    assert parts[0] == SIGNED_PREFIX + canonical_bytes(value)
    assert SIGNER.public.verifies(parts[1], parts[0])
    assert signature_holds(data, SIGNER.public)
    assert not signature_holds(data.replace(b'"ls"', b'"rm"'), SIGNER.public)
    assert not signature_holds(data, generate().public)


def test_a_record_is_read_back() -> None:
    anchor = Anchor("c" * 40, "d" * 64, "e" * 40, ref="refs/heads/main", op="f" * 32)
    act = Act(
        tool="Bash",
        cmd="ls",
        decision="allow",
        rules=("a.b",),
        score=0,
        files=(("x.sh", "9" * 64),),
        more=(("k", [1]),),
    )
    record = read(line(Entry("savepoint", BY, act, anchor)))
    assert (record.n, record.ev, record.at, record.log, record.prev) == (17, "savepoint", AT, LOG, NO_PREV)
    assert record.kid == SIGNER.public.kid
    assert record.by == {"user": "bob", "uid": 0, "source": "hook"}
    assert record.act == {
        "tool": "Bash", "cmd": "ls", "decision": "allow", "rules": ["a.b"], "score": 0,
        "files": [["x.sh", "9" * 64]], "k": [1],
    }  # fmt: skip
    assert record.anchor == {
        "commit": "c" * 40, "oid": "sha1", "op": "f" * 32, "ref": "refs/heads/main", "sha256": "d" * 64, "tree": "e" * 40
    }  # fmt: skip


def test_an_unsigned_record_has_neither_key_nor_signature() -> None:
    data = line(Entry("command", BY), signer=None)
    assert b"kid" not in data
    assert b"sig" not in data
    assert read(data).kid is None
    assert not signature_holds(data, SIGNER.public)


def test_a_kind_that_is_not_in_the_list_is_refused() -> None:
    with pytest.raises(ValueError, match="not a kind"):
        line(Entry("commando", BY))


def test_text_that_no_line_can_hold_is_recorded_visibly() -> None:
    record = read(line(Entry("command", BY, Act(cmd="a\0b\udcffc\x1b[31m\u202e"))))
    assert record.act["cmd"] == "a\u2400b\\udcffc\x1b[31m\u202e"


def test_a_long_command_keeps_its_beginning_its_length_and_its_digest() -> None:
    cmd = "x" * (MAX_TEXT + 1)
    record = read(line(Entry("command", BY, Act(cmd=cmd))))
    assert record.act["cmd"] == "x" * MAX_TEXT + "…"
    assert record.act["cmd_chars"] == MAX_TEXT + 1
    assert record.act["cmd_sha256"] == sha256_hex(cmd.encode())


def test_a_payload_beyond_a_line_becomes_its_digest() -> None:
    act = Act(tool="Bash", decision="block", score=9, message="m", more=(("big", ["y" * 8000] * 20),))
    data = line(Entry("command", BY, act))
    assert len(data) <= MAX_LINE_BYTES
    kept = read(data).act
    assert kept["decision"] == "block"
    assert kept["tool"] == "Bash"
    assert kept["score"] == 9
    assert isinstance(kept["bytes"], int)
    assert kept["bytes"] > 160_000
    whole = canonical_bytes({"tool": "Bash", "decision": "block", "score": 9, "message": "m", "big": ["y" * 8000] * 20})
    assert kept["sha256"] == sha256_hex(whole)


def test_what_an_agent_says_of_itself_cannot_crowd_out_a_record() -> None:
    by = Actor(*["名" * 100_000 if field not in ("uid", "pid", "ppid") else 1 for field in Actor._fields])  # type: ignore[arg-type]
    record = read(line(Entry("command", by, Act(cmd="\x01" * MAX_TEXT))))
    assert record.by["model"] == "名" * MAX_NAME + "…"


def with_member(key: str, value: object) -> bytes:
    members = json.loads(line(Entry("command", BY, Act(cmd="ls"))))
    if value is None:
        del members[key]
    else:
        members[key] = value
    return canonical_bytes(members)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "no JSON object"),
        (b"1", "no JSON object"),
        (with_member("extra", 1), "unknown member 'extra'"),
        (with_member("fmt", 3), "format 3"),
        (with_member("fmt", None), "format None"),
        (with_member("n", -1), "record number"),
        (with_member("n", True), "record number"),
        (with_member("n", "1"), "record number"),
        (with_member("ev", "commando"), "not a kind"),
        (with_member("at", "2026-11-30 02:15:22"), "time stamp"),
        (with_member("at", "2026-02-30T02:15:22.000000Z"), "time stamp"),
        (with_member("at", "9999-99-99T99:99:99.999999Z"), "time stamp"),
        (with_member("log", "AB" * 16), "log id"),
        (with_member("prev", "0" * 63), "no hash"),
        (with_member("by", []), "are objects"),
        (with_member("by", None), "are objects"),
        (with_member("act", "x"), "are objects"),
        (with_member("anchor", []), "are objects"),
        (with_member("kid", None), "come together"),
        (with_member("sig", None), "come together"),
        (with_member("kid", "x"), "no key id"),
        (with_member("sig", "x" * 88), "no signature"),
        (with_member("sig", "A" * 85 + "B=="), "no signature"),
        (b'{"a":"' + b"x" * MAX_LINE_BYTES + b'"}', "too long"),
    ],
)
def test_what_is_no_record_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(NotCanonical, match=why):
        read(data)


def test_a_null_member_is_refused() -> None:
    members = json.loads(line(Entry("command", BY), signer=None))
    for key in ("anchor", "kid", "act"):
        with pytest.raises(NotCanonical):
            read(canonical_bytes({**members, key: None}))


@pytest.mark.parametrize("change", [(b"==", b"=A"), (b'"}', b'"} '), (b',"sig":"', b',"sig" :"')])
def test_only_one_form_of_a_signature_counts(change: tuple[bytes, bytes]) -> None:
    data = line(Entry("command", BY))
    start, end = data[:-100], data[-100:]
    assert signed_bytes(start + end.replace(*change)) is None


def test_stray_bits_in_the_last_character_of_a_signature_are_refused() -> None:
    data = line(Entry("command", BY))
    last = chr(data[-5])
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = alphabet[alphabet.index(last) + 1]
    assert signed_bytes(data[:-5] + other.encode() + data[-4:]) is None


TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["", "\0", "\\u0000", "\udc80", "\x7f\u2028", "é" * 500]
)
NUMBERS = st.integers(-(2**54), 2**54) | st.integers(0, 200)
MORE = st.lists(
    st.tuples(
        TEXTS | st.sampled_from(["count", "aaa", "cwd", "zz", "key"]),
        TEXTS | NUMBERS | st.booleans() | st.none() | st.lists(TEXTS) | st.dictionaries(TEXTS, TEXTS),
    ),
    max_size=3,
)


@given(
    st.builds(Actor, user=TEXTS | st.none(), uid=NUMBERS | st.none(), agent=TEXTS, session=TEXTS, source=TEXTS),
    st.builds(
        Act,
        tool=TEXTS,
        cmd=TEXTS | st.just("x" * 9000),
        score=NUMBERS | st.none(),
        exit=NUMBERS | st.none(),
        rules=st.lists(TEXTS, max_size=3).map(tuple),
        files=st.lists(st.tuples(TEXTS | st.just("y" * 9000), TEXTS), max_size=3).map(tuple),
        message=TEXTS,
        more=MORE.map(tuple),
    )
    | st.none(),
    st.builds(Anchor, commit=TEXTS, sha256=TEXTS, tree=TEXTS, ref=TEXTS | st.none(), op=TEXTS | st.none()) | st.none(),
    st.sampled_from([None, SIGNER]),
)
def test_a_plain_record_is_put_together_as_the_general_way_would(
    by: Actor, act: Act | None, anchor: Anchor | None, signer: Signer | None
) -> None:
    def made() -> bytes | type[Exception]:
        try:
            return line(Entry("command", by, act, anchor), signer=signer)
        except (NotCanonical, ValueError) as error:
            return type(error)

    quick = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_room, "_plain_body", lambda *_: None)
        general = made()
    assert quick == general


def test_what_a_hook_records_needs_no_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    act = Act(
        tool="Bash",
        cmd="make",
        rules=("git.clean", "fs.rm"),
        files=(("run.sh", "ab" * 32),),
        more=(("savepoint", "c" * 40), ("paths", ["a.py", "b.py"]), ("denied", True)),
    )
    monkeypatch.setattr(record_room, "_sealed", None)
    assert b'"paths":["a.py","b.py"]' in line(Entry("command", BY, act, Anchor("c" * 40, "d" * 64, "e" * 40)))
