"""Claims about the pattern of the usual form: whatever fits it is canonical, and the usual records fit."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chrono.audit.form import signatures_in_form, usual_head
from chrono.audit.part import _time_of
from chrono.audit.record import NO_PREV, Act, Actor, Entry, encode, is_time, read
from chrono.canonical import NotCanonical, canonical_bytes, parse
from chrono.signing import signer_of_seed

SIGNER = signer_of_seed(bytes(range(32)))
AT = "2026-11-30T02:15:22.123456Z"
ACT = Act("Bash", "make\n\té\x7f \x1b", cwd="/x", decision="allow", rules=("a", "b"), score=20, scan="full")
BY = Actor(user="bob", uid=1000, host="box", agent="x", session="s", tool_use_id="t", pid=7, source="hook")


def line(act: Act | None = ACT) -> bytes:
    return encode(Entry("command", BY, act), n=17, at=AT, log="ab" * 16, prev=NO_PREV, signer=SIGNER)


END = len(
    b'","fmt":2,"kid":"","log":"","n":17,"prev":"","sig":""}'
) + sum((32, 32, 64, 88))  # fmt: skip


def fits(data: bytes, end: int = END) -> re.Match[bytes] | None:
    return usual_head()(data, 0, len(data) - end)


def utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    "data",
    [
        line(),
        line(None),
        line(Act()),
        line(Act(more=(("paths", ["a", "b"]), ("mode", "x")))),
        line(Act(cmd='\\" \\u0041 \x01\x0b\x1f\b\f\r')),
    ],
)
def test_the_records_of_every_day_fit(data: bytes) -> None:
    found = fits(data)
    assert found is not None
    assert found[1].decode() == AT


PIECES = [
    b",",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b" ",
    b"\\u0041",
    b"\\u0000",
    b"\\u001F",
    b"\\u001f",
    b"\\n",
    b"\\/",
]
PIECES += [
    b"\x00",
    b"\n",
    b"\xc3\xa9",
    b"\xe9",
    b"-0",
    b"01",
    b"1.0",
    b"9" * 16,
    b"9" * 15,
    b"null",
    b"true",
    b'"a":1,',
]
PIECES += [b'"user":"bob",', b',"uid":1', b"\xed\xa0\x80", b'"fmt":2,', b"\x7f", b""]


@settings(max_examples=600)
@given(st.data())
def test_whatever_fits_is_canonical(data: st.DataObject) -> None:
    """The pattern may miss what is canonical, but never lets through what is not."""
    text = bytearray(line(data.draw(st.sampled_from([ACT, Act(cmd="x"), Act(rules=("r",)), None]))))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - END))
        end = min(len(text), start + data.draw(st.sampled_from([0, 0, 1, 2, 8])))
        text[start:end] = data.draw(st.sampled_from(PIECES) | st.binary(max_size=3))
    changed = bytes(text)
    if changed.endswith(line()[-END:]) and utf8(changed) and fits(changed) is not None:
        assert canonical_bytes(parse(changed)) == changed
        assert json.loads(changed)["at"] == _time_of(changed)


def test_a_signature_has_one_form() -> None:
    good = line()
    assert signatures_in_form([good, good])
    for bad in (
        good[:-5] + b"B" + good[-4:],
        good[:-30] + b"-" + good[-29:],
        good[:-30] + b"=" + good[-29:],
        b"x" * 80,
    ):
        assert not signatures_in_form([good, bad])
        assert not signatures_in_form([bad, good])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"host":"box",', b'"host":"box","host":"box",'),
        (b'"host":"box","pid":7', b'"pid":7,"host":"box"'),
        (b'"pid":7', b'"pid":-0'),
        (b'"pid":7', b'"pid":07'),
        (b'"pid":7', b'"pid":7.0'),
        (b'"pid":7', b'"pid": 7'),
        (b'"user":"bob"}', b'"user":"bob",}'),
        (b'"cwd":"/x"', b'"cwd":"\\/x"'),
        (b'"cwd":"/x"', b'"cwd":"\\u0041"'),
        (b'"cwd":"/x"', b'"cwd":"\\u000a"'),
        (b'"cwd":"/x"', b'"cwd":"\\u001B"'),
        (b'"cwd":"/x"', b'"cwd":"\\u0000"'),
        (b'"cwd":"/x"', b'"cwd":"\x01"'),
        (b'"rules":["a","b"]', b'"rules":["a","b",]'),
        (b'"rules":["a","b"]', b'"rules":[,"a"]'),
    ],
)
def test_other_forms_do_not_fit(old: bytes, new: bytes) -> None:
    changed = line().replace(old, new)
    assert changed != line()
    assert fits(changed) is None
    with pytest.raises(NotCanonical):
        read(changed)


def test_the_times_that_fit_are_those_that_there_are() -> None:
    """Each day of two years, with days that are none; the leap day alone is left to the parser."""
    for year in ("2023", "2024", "0999"):
        for month in range(14):
            for day in range(33):
                at = f"{year}-{month:02}-{day:02}T23:59:59.999999Z"
                changed = line().replace(json.loads(line())["at"].encode(), at.encode())
                assert (fits(changed) is not None) == (is_time(at) and at[5:10] != "02-29"), at
    for time in ("24:00:00", "23:60:00", "23:59:60"):
        assert not is_time(f"2024-01-01T{time}.000000Z")
        assert fits(line().replace(json.loads(line())["at"][11:19].encode(), time.encode())) is None
