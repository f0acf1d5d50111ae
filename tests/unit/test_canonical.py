"""Claims about the one form of hashed bytes."""

from __future__ import annotations

import base64
import json

import pytest

from chrono.canonical import (
    MAX_DEPTH,
    MAX_INT,
    Json,
    NotCanonical,
    base64_of,
    canonical_bytes,
    from_base64,
    parse,
    recordable,
    sha256_hex,
)


def test_keys_are_sorted_and_nothing_is_padded() -> None:
    assert canonical_bytes({"b": [1, True, None], "a": "é\n"}) == '{"a":"é\\n","b":[1,true,null]}'.encode()


def test_text_is_escaped_as_rfc_8785_wants_it() -> None:
    text = '"\\/\b\f\n\r\t\x01\x1f\x7f\u2028€😀'
    assert canonical_bytes(text) == b'"\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f' + "\u2028€😀".encode() + b'"'


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1.5, "float"),
        (float("nan"), "float"),
        (MAX_INT + 1, "2\\^53"),
        (-MAX_INT - 1, "2\\^53"),
        ("a\0", "NUL"),
        (["a\0"], "NUL"),
        ({"k": "a\0"}, "NUL"),
        ({"a": ["\\u0000", {"b": "\0"}]}, "NUL"),
        ({"\0": 1}, "ASCII"),
        ({"é": 1}, "ASCII"),
        ({"k": MAX_INT + 1}, "2\\^53"),
        ({"k": 1.5}, "float"),
        ({1: 1}, "ASCII"),
        ("\ud800", "surrogate"),
        ({"k": "\udcff"}, "surrogate"),
        ((1,), "tuple"),
        (b"x", "bytes"),
    ],
)
def test_what_has_no_one_form_is_refused(value: Json, why: str) -> None:
    with pytest.raises(NotCanonical, match=why):
        canonical_bytes(value)


def test_the_escape_of_a_nul_may_be_spelled_out_in_a_text() -> None:
    assert parse(canonical_bytes({"k": "\\u0000"})) == {"k": "\\u0000"}


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_bounded() -> None:
    canonical_bytes(nested(MAX_DEPTH))
    with pytest.raises(NotCanonical, match="deeper"):
        canonical_bytes(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1,"a":1}',
        b'{"a": 1}',
        b'{"b":1,"a":1}',
        b'{"a":"\\u0063"}',
        b'{"a":"\\/"}',
        b'{"a":1.0}',
        b'{"a":1e2}',
        b'{"a":-0}',
        b'{"a":01}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":1}\r',
        b' {"a":1}',
        b"",
        b"\0" * 4096,
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\u0000"}',
        b'{"a":9007199254740992}',
        b'{"a":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"a":1}x',
        b'{"a":1',
        b"'a'",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_a_line_in_any_other_form_is_refused(line: bytes) -> None:
    with pytest.raises(NotCanonical):
        parse(line)


def test_a_canonical_line_is_read_back() -> None:
    value: Json = {"a": [1, "é", None, {"b": False}], "z": -MAX_INT}
    assert parse(canonical_bytes(value)) == value


def test_the_same_text_in_another_unicode_form_is_other_bytes() -> None:
    assert canonical_bytes("é") != canonical_bytes("e\u0301")


def test_what_no_line_can_hold_is_made_visible() -> None:
    assert recordable("a\0b") == "a\u2400b"
    assert recordable("caf\udce9") == "caf\\udce9"
    assert recordable("ok é\x01") == "ok é\x01"
    assert json.loads(canonical_bytes(recordable("\ud83d\0\udc80"))) == "\\ud83d\u2400\\udc80"


def test_sha256_is_hex() -> None:
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("data", [b"", b"\0", b"ab", b"abc", bytes(range(64))])
def test_base64_has_one_form_and_comes_back(data: bytes) -> None:
    assert base64_of(data) == base64.b64encode(data).decode()
    assert from_base64(base64_of(data)) == data
    assert from_base64(base64_of(data).encode()) == data


@pytest.mark.parametrize("text", ["YQ", "YR==", "YQ==\n", " YQ==", "Y Q==", "YQ===", "YQ==YQ==", "=", "é", "-_8="])
def test_another_spelling_of_base64_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_base64(text)
