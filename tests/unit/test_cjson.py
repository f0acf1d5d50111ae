"""Claims about JSON by the compiled half: values, texts and errors are those of `json` itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from chrono import cjson

TEXTS = [
    "{}",
    ' {"a": 1} \r\n\t',
    '{"a":[1,2.5,-0,1e9,"\\ud800\\u0000\\n",true,false,null],"a":{"b":{}}}',
    "[NaN, Infinity, -Infinity]",
    '"text"',
    "7",
    "",
    "   ",
    "{",
    '{"a":1}x',
    '{"a":1} {"b":2}',
    '{"a":1}\u00a0',
    "\ufeff{}",
    '{"a":"\n"}',
    "{'a':1}",
    "[1,]",
    "nul",
    "[" * 200_000,
    "9" * 5000,
]


def told(read: Callable[[str], object], text: str) -> str:
    try:
        return repr(read(text))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error if not isinstance(error, RecursionError) else ''}"


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_is_read_as_json_reads_it(text: str) -> None:
    assert told(cjson.read, text) == told(json.JSONDecoder().decode, text)


def test_whole_numbers_and_others_go_through_the_given_functions() -> None:
    def refuse(text: str) -> object:
        raise ValueError(f"no {text}")

    read = cjson.reader(parse_int=lambda text: f"i{text}", parse_float=refuse, parse_constant=refuse)
    assert read("[1,-2]") == ["i1", "i-2"]
    for text in ("1.5", "NaN"):
        with pytest.raises(ValueError, match=f"^no {text}$"):
            read(f"[{text}]")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_bytes_are_read_in_every_encoding_of_json(encoding: str) -> None:
    data = '{"a": "é"}'.encode(encoding)
    assert cjson.read_bytes(data) == json.loads(data) == {"a": "é"}


@pytest.mark.parametrize("data", [b'{"a":"\xed\xa0\x80"}', b'{"a":"\xff"}', b"{\0", b"", b"[1]", b"{"])
def test_odd_bytes_are_read_as_json_reads_them(data: bytes) -> None:
    assert told(cjson.read_bytes, data) == told(json.loads, data)  # type: ignore[arg-type]


VALUES = [
    {},
    {"b": [1, -2, True, None, "é\ud800\n\0\u2028</"], "a": {"d": 1, "c": []}},
    "text",
    3,
    None,
    1.5,
    float("nan"),
    {1, 2},
    [object],
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_value_is_written_as_json_writes_it(value: object) -> None:
    ours, theirs = (
        cjson.writer(),
        json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
    )
    found = []
    for write in (ours, theirs.encode):
        try:
            found.append(write(value))
        except (ValueError, TypeError) as error:
            found.append(type(error).__name__)
    assert found[0] == found[1]


@pytest.mark.parametrize("gone", ["_json", "make_scanner"])
def test_without_the_compiled_half_json_itself_answers(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = ModuleType("_json")
    if gone == "make_scanner":

        def fails(*_: object) -> None:
            raise TypeError("another signature")

        vars(empty).update(make_scanner=fails, make_encoder=fails, encode_basestring=fails)
    monkeypatch.setitem(sys.modules, "_json", empty)
    assert cjson.reader()(' {"a":[1.5]}') == {"a": [1.5]}
    assert cjson.writer()({"b": 1, "a": "é"}) == '{"a":"é","b":1}'


@pytest.mark.parametrize("text", ["{", "nul", '{"a":"\n"}', '{"a":1', "[1,]", '{"a" 1}', ""])
def test_an_error_is_jsons_own_where_json_was_not_loaded(text: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from chrono import cjson\n"
        "assert 'json' not in sys.modules\n"
        f"try: cjson.read({text!r})\n"
        "except ValueError as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    with pytest.raises(json.JSONDecodeError) as refused:
        json.loads(text)
    assert done.stdout == f"JSONDecodeError {refused.value}\n"


def test_reading_and_writing_load_nothing_of_json() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from chrono.canonical import canonical_bytes, parse\n"
        "from chrono.cjson import read_bytes\n"
        "read_bytes(canonical_bytes(parse(b'{\"a\":1}')) + b'\\n')\n"
        "print('json' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
