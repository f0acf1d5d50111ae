"""Owns the JSON schema of the policy file, for editors that check and complete it.

It says the form; `policy.load` stays the judge, and its tables are what the schema is built from. A rule of a policy
has the form of a pack's, so that part is `schema`'s. docs/formats holds a copy that a test compares.
"""

from __future__ import annotations

from typing import Any

from chrono.policy.load import DECISION_WORDS, GATES, PERMISSIONS, ROLE_NAMES
from chrono.policy.network import HOST
from chrono.rulepack.schema import DIALECT, Schema, object_of, pack_schema

_TEXT: Schema = {"type": "string", "pattern": r"\S"}
_DECISION: Schema = {"enum": list(DECISION_WORDS), "description": "approve is another word for ask."}
_HOST: Schema = {"type": "string", "pattern": f"^(?:{HOST.pattern})\\.?$"}


def _texts(description: str, item: Schema = _TEXT) -> Schema:
    return {"type": ["array", "null"], "items": item, "description": description}


def _mapping(properties: Schema, description: str) -> Schema:
    return _or_null({**object_of(properties), "description": description})


def _or_null(form: Schema) -> Schema:
    return {**form, "type": [form["type"], "null"]}


def _number(most: int, description: str) -> Schema:
    return {"type": "integer", "minimum": 0, "maximum": most, "description": description}


def policy_schema() -> Schema:
    """The JSON schema (2020-12) of `policy.yaml` and `chrono-policy.yaml`."""
    pack: dict[str, Any] = pack_schema()["$defs"]
    rule = object_of(
        {"decision": _DECISION, **pack["rule"]["properties"]},
        ("id",),
        anyOf=[{"required": ["decision"]}, {"required": ["match"]}],
    )
    return {
        "$schema": DIALECT,
        "title": "chrono policy",
        "$defs": {"matcher": pack["matcher"], "rule": rule},
        **object_of(_keys()),
        "type": ["object", "null"],
    }


def _keys() -> Schema:
    names = {"type": "array", "items": _TEXT}
    person = {"anyOf": [_TEXT, {"type": "array", "items": {"enum": list(PERMISSIONS)}}]}
    database = object_of(
        {"adapter": _TEXT, "path": _TEXT, "url": _TEXT, "url_env": _TEXT},
        anyOf=[{"required": ["path"]}, {"required": ["url"]}, {"required": ["url_env"]}],
    )
    return {
        "thresholds": _mapping(
            {
                "block": _number(101, "Findings of this score and above are blocked; 101: never."),
                "approve": _number(101, "From here on a person is asked."),
                "ask": _number(101, "Another word for approve."),
            },
            "Scores from which chrono acts.",
        ),
        "reversible": {**_DECISION, "description": "What becomes of a finding that a savepoint undoes."},
        "allow": _texts("Exact commands that run without a question; a word * stands for one argument."),
        "rules": _texts("Decisions about rules that exist, and rules of your own.", {"$ref": "#/$defs/rule"}),
        "protected": _texts("Paths that no agent may change; * as in a shell."),
        "read_only": _texts("Paths that an agent may change only after a person approved that change."),
        "network": _mapping(
            {"allow": {"type": "array", "items": _HOST, "description": "Hosts; *. in front for all names below."}},
            "Where data may be sent to.",
        ),
        "gates": _mapping(dict.fromkeys(GATES, _DECISION), "What chrono itself does on an agent's word."),
        "approvers": {
            "description": "Who may approve, and whether a key is needed.",
            "anyOf": [
                {"enum": ["signed", "listed", None]},
                names,
                object_of({"names": names, "proof": {"enum": ["signed", "listed"]}}),
            ],
        },
        "roles": {
            "type": ["object", "null"],
            "additionalProperties": person,
            "description": f"Person: role ({', '.join(ROLE_NAMES)}), or role: list of permissions.",
        },
        "retention": _mapping(
            {
                "keep_auto": _number(10_000_000, "So many automatic savepoints stay."),
                "older_than_days": _number(10_000_000, "Only what is older than so many days goes."),
                "budget_mib": _number(10_000_000, "What the store may take, in MiB."),
            },
            "When automatic savepoints may go by themselves.",
        ),
        "databases": {
            "type": ["object", "null"],
            "additionalProperties": database,
            "description": "Databases that savepoints take along, by name.",
        },
        "run": _mapping({"on_failure": {"enum": ["rollback", "keep"]}}, "What becomes of a chrono run that fails."),
        "pins": {
            "type": ["object", "null"],
            "additionalProperties": {"type": "string", "pattern": "^(?:sha256:)?[0-9a-f]{64}$"},
            "description": "Rule pack: SHA-256 of its rules; anything else blocks.",
        },
    }
