"""Claims about jq: documents that it changes by constant paths are known afterwards, anything else is unknown."""

from __future__ import annotations

import json

import pytest

from chrono.scan.shell.jq import jq, split

DOCUMENT = '{"name": "p", "scripts": {"test": "true"}}'


@pytest.mark.parametrize(
    ("program", "scripts"),
    [
        ('.scripts.test = "x"', {"test": "x"}),
        ('.scripts["test"] |= "x"', {"test": "x"}),
        ('.scripts.build="x" | .name = "q"', {"test": "true", "build": "x"}),
        ('.scripts += {"build": "a | b"}', {"test": "true", "build": "a | b"}),
        ('. * {scripts: {build: "x"}}', {"test": "true", "build": "x"}),
        ('. + {"scripts": {}}', {}),
        ("del(.scripts.test)", {}),
        (".scripts.test = $new", {"test": "y"}),
        (".", {"test": "true"}),
    ],
)
def test_a_changed_document_is_known(program: str, scripts: dict[str, str]) -> None:
    changed = jq(program, {"new": "y"}, DOCUMENT)
    assert changed is not None
    assert json.loads(changed)["scripts"] == scripts


@pytest.mark.parametrize(
    "program", [".scripts", ".scripts | keys", ".a[] | select(.b)", '.x = (.y + "z")', "", ". as $x"]
)
def test_a_question_is_unknown(program: str) -> None:
    assert jq(program, {}, DOCUMENT) is None


def test_what_is_no_document_is_unknown() -> None:
    assert jq(".", {}, "{") is None
    assert jq('.a.b = "x"', {}, '{"a": [1]}') is None


def test_options_are_told_from_the_filter() -> None:
    assert split(["--arg", "a", "x", "-r", "--indent", "4", ".a", "f.json"]) == (".a", {"a": "x"}, ["f.json"])
    assert split(["--slurp", "."]) is None
    assert split(["--argjson", "a", "{", "."]) is None
