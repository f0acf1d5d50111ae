"""Claims about the published schemas of rule packs: they are what the code says, and they judge as the compiler does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chrono.rulepack.compile import _CONDITIONS, _PACK_KEYS, _RULE_KEYS, RulePackError, compile_pack
from chrono.rulepack.discover import PackSource, discover
from chrono.rulepack.schema import CONDITIONS, cases_schema, pack_schema
from chrono.yamlfile import load

DOCS = Path(__file__).resolve().parents[2] / "docs" / "formats"
PACK = Draft202012Validator(pack_schema())
CASES = Draft202012Validator(cases_schema())
RULE = {"id": "own.rule", "title": "t", "score": 50, "why": "w", "safer": "s", "reversible": "no"}


@pytest.mark.parametrize(("name", "schema"), [("rule-pack", pack_schema()), ("rule-cases", cases_schema())])
def test_the_published_schema_is_what_the_code_says(name: str, schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    published = json.loads((DOCS / f"{name}.schema.json").read_text())
    assert published == schema, f"chrono rules schema {name.split('-')[1]} > docs/formats/{name}.schema.json"


def test_every_condition_and_key_of_the_compiler_is_in_schema_and_document() -> None:
    assert set(CONDITIONS) == set(_CONDITIONS)
    schema = pack_schema()
    assert set(schema["properties"]) == set(_PACK_KEYS)
    assert set(schema["$defs"]["rule"]["properties"]) == set(_RULE_KEYS)
    text = (DOCS / "rule-pack.md").read_text()
    for name in (*CONDITIONS, *_PACK_KEYS, *_RULE_KEYS):
        assert f"`{name}`" in text or f"{name}:" in text, name


@pytest.mark.parametrize("source", discover(), ids=lambda source: source.name)
def test_every_pack_fits_the_schemas(source: PackSource) -> None:
    assert [error.message for error in PACK.iter_errors(load(source.data.decode(), name="p").value)] == []
    with open(source.cases_path, encoding="utf-8") as file:
        assert [error.message for error in CASES.iter_errors(load(file.read(), name="c").value)] == []


@pytest.mark.parametrize(
    ("change", "fine"),
    [
        ({"match": {"program": "x"}}, True),
        ({"match": [{"program": ["x", "mk*"]}, {"touches": {"how": "delete", "path": "/etc/*"}}]}, True),
        ({"match": {"program": "x", "unless": {"flag": ["-n", "/q"]}}}, True),
        ({"match": {"program": "x", "arguments": {"least": 1}}}, True),
        ({"match": {"program": "x", "fetched": True, "stdin": "known"}}, True),
        ({"match": {"program": "x", "url": {"in": ["a.example"]}}, "targets": "none"}, True),
        ({"match": {}}, False),
        ({"match": []}, False),
        ({"match": {"progam": "x"}}, False),
        ({"match": {"program": "*"}}, False),
        ({"match": {"program": "x*y"}}, False),
        ({"match": {"program": "x", "flag": "force"}}, False),
        ({"match": {"program": "x", "flag": {"value": "y"}}}, False),
        ({"match": {"touches": {"how": "eat"}}}, False),
        ({"match": {"touches": {"place": "root"}}}, False),
        ({"match": {"touches": {"how": "delete", "place": "mars"}}}, False),
        ({"match": {"program": "x", "arguments": -1}}, False),
        ({"match": {"program": "x", "argument": {"position": 0}}}, False),
        ({"match": {"program": "x", "stdin": ["known"]}}, False),
        ({"match": {"program": "x", "url": {"in": ["a"], "not_in": ["b"]}}}, False),
        ({"match": {"program": "x", "regex": {"argument": 1}}}, False),
        ({"match": {"program": "x", "any": []}}, False),
        ({"match": {"program": "x"}, "score": 101}, False),
        ({"match": {"program": "x"}, "reversible": "maybe"}, False),
        ({"match": {"program": "x"}, "colour": "red"}, False),
        ({"match": {"program": "x"}, "title": " "}, False),
        ({}, False),
    ],
)
def test_schema_and_compiler_agree_on_the_form(change: dict[str, Any], fine: bool) -> None:
    pack = {"pack": "own", "title": "Own", "rules": [{**RULE, **change}]}
    assert PACK.is_valid(pack) == fine
    if fine:
        compile_pack(json.dumps(pack), "p", pack="own")
    else:
        with pytest.raises(RulePackError):
            compile_pack(json.dumps(pack), "p", pack="own")


@pytest.mark.parametrize("key", ["format", "programs", "lists"])
def test_the_rest_of_a_pack_is_judged_alike(key: str) -> None:
    wrong = {"format": 2, "programs": {"x": {"style": "odd"}}, "lists": {"x": []}}[key]
    right = {"format": 1, "programs": {"x": {"values": "-m", "harmless": {"": "-n"}}}, "lists": {"x": ["a"]}}[key]
    pack = {"pack": "own", "title": "Own", "rules": [{**RULE, "match": {"program": "x"}}]}
    assert PACK.is_valid({**pack, key: right}) and not PACK.is_valid({**pack, key: wrong})
    compile_pack(json.dumps({**pack, key: right}), "p", pack="own")
    with pytest.raises(RulePackError):
        compile_pack(json.dumps({**pack, key: wrong}), "p", pack="own")
