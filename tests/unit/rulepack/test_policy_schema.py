"""Claims about the schema of the policy file: it takes what the reader takes, refuses what it refuses, and is published."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from chrono.errors import PolicyError
from chrono.policy.load import KEYS, parse
from chrono.rulepack.policy_schema import policy_schema
from chrono.yamlfile import load

ROOT = Path(__file__).parents[3]
GOOD = [
    "",
    "thresholds: {block: 101, ask: 0}",
    "rules: [{id: git.push-force, decision: approve}]",
    "rules: [{id: own.x, title: t, decision: block, match: {program: x}}]",
    "approvers: [sara]",
    "approvers: {names: [sara], proof: listed}",
    "roles: {sara: release, release: [approve]}",
    "network: {allow: ['*.ok.example', ok.example.]}",
    "databases: {dev: {path: x}}",
    "allow:",
]
BAD = [
    "nope: 1",
    "thresholds: {block: 102}",
    "thresholds: {block: '7'}",
    "reversible: maybe",
    "rules: [{decision: block}]",
    "rules: [{id: x}]",
    "gates: {rollback: perhaps}",
    "gates: {other: allow}",
    "network: {allow: ['https://x']}",
    "network: {deny: [x]}",
    "databases: {dev: {adapter: x}}",
    "run: {on_failure: explode}",
    "pins: {git: abc}",
    "approvers: nobody",
    "read_only: x",
    "retention: {keep_auto: -1}",
]


def valid(text: str) -> bool:
    return bool(jsonschema.Draft202012Validator(policy_schema()).is_valid(load(text, name="p").value))


@pytest.mark.parametrize("text", GOOD)
def test_what_the_reader_takes_the_schema_takes(text: str) -> None:
    parse(text, "p", layer="user")
    assert valid(text)


@pytest.mark.parametrize("text", BAD)
def test_what_the_reader_refuses_the_schema_refuses(text: str) -> None:
    with pytest.raises(PolicyError):
        parse(text, "p", layer="user")
    assert not valid(text)


def test_it_knows_every_key_and_the_example() -> None:
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    assert set(policy_schema()["properties"]) == set(KEYS)
    assert valid((ROOT / "docs" / "examples" / "chrono-policy.yaml").read_text())


def test_the_published_copy_is_this_one() -> None:
    published = json.loads((ROOT / "docs" / "formats" / "policy.schema.json").read_text())
    assert published == policy_schema(), "chrono policy schema > docs/formats/policy.schema.json"
