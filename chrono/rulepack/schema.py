"""Owns the JSON schemas of `pack.yaml` and `cases.yaml`, for editors and for authors.

They say the form; what goes beyond it (names of lists, the lint of patterns, ids) is said by `compile`, which stays the
judge. Both are built from its tables, so that they cannot drift apart. docs/formats holds a copy that a test compares.
"""

from __future__ import annotations

from typing import Any

from chrono.rulepack import compile as compiler
from chrono.scan.stage import STAGES
from chrono.scan.touch import KINDS

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

HOWS = (*KINDS, "delete-moved")


def object_of(properties: Schema, required: tuple[str, ...] = (), **more: Any) -> Schema:
    """The schema of a mapping with exactly these keys."""
    found: Schema = {"type": "object", "additionalProperties": False, "properties": properties, **more}
    if required:
        found["required"] = list(required)
    return found


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _one_or_more(item: Schema) -> Schema:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


def _number(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


_TEXT: Schema = {"type": "string", "pattern": r"\S"}
_TEXTS = _one_or_more({"anyOf": [_TEXT, {"type": "integer"}]})
_FLAGS = _one_or_more({"type": "string", "pattern": r"^[-/+][^ ]*$"})
_PROGRAMS = _one_or_more({"type": "string", "pattern": r"^[^*]*[^*\s][^*]*\*?$"})
_PLACE = _one_or_more({"enum": list(compiler.PLACES)})
_WORDS_BY_VERB: Schema = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": _TEXT},
        {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "array", "items": _TEXT}]}},
    ]
}
_HOSTS: Schema = {"oneOf": [object_of({"in": _TEXTS}, ("in",)), object_of({"not_in": _TEXTS}, ("not_in",))]}
_SEVERAL: Schema = _one_or_more(_ref("matcher"))

CONDITIONS: dict[str, tuple[str, Schema]] = {
    "program": ("The program's name, without folder; a trailing * stands for any rest.", _PROGRAMS),
    "subcommand": ("The first words that are not options.", _TEXTS),
    "arguments": (
        "How many words stand behind the subcommand.",
        {"anyOf": [_number(0, 99), object_of({"least": _number(0, 99), "most": _number(0, 9999)})]},
    ),
    "flag": (
        "An option, in any spelling the program takes for it; with `value`, one whose value fits.",
        {"anyOf": [_FLAGS, object_of({"names": _FLAGS, "value": _TEXTS}, ("names",))]},
    ),
    "word": ("Any argument as it stands, options too.", _TEXTS),
    "last_word": ("The last argument as it stands.", _TEXTS),
    "assigns": ("A variable that is set in front of the command.", _TEXTS),
    "stage": (
        "The environment of an application that the command names, by a variable, an option or a word.",
        _one_or_more({"enum": list(STAGES)}),
    ),
    "argument": (
        "A word behind the subcommand.",
        {
            "anyOf": [
                _TEXTS,
                object_of(
                    {
                        "text": _TEXTS,
                        "place": _PLACE,
                        "position": {"anyOf": [{"enum": list(compiler.POSITIONS)}, _number(1, 99)]},
                    }
                ),
            ]
        },
    ),
    "redirect": ("A redirection.", object_of({"op": _TEXTS, "text": _TEXTS, "place": _PLACE})),
    "touches": (
        "What the command does to a path, however it is written.",
        object_of(
            {
                "how": _one_or_more({"enum": list(HOWS)}),
                "place": _PLACE,
                "path": _TEXTS,
                "exists": {"type": "boolean"},
                "sweep": {"type": "boolean"},
                "committed": {"type": "boolean"},
            },
            ("how",),
        ),
    ),
    "upstream": (
        "A program that feeds its output into the command.",
        {"anyOf": [_TEXTS, object_of({"program": _TEXTS, "host": _HOSTS}, ("program",))]},
    ),
    "stdin": (
        "Whether the text that the command reads is known; with `text`, what stands in it.",
        {"anyOf": [{"enum": list(compiler.STATES)}, object_of({"text": _TEXTS}, ("text",))]},
    ),
    "url": ("The host of an argument that is a URL.", _HOSTS),
    "fetched": ("It runs what an earlier command of the same text fetched.", {"anyOf": [{"const": True}, _HOSTS]}),
    "unknown": ("A value that cannot be told.", {"enum": list(compiler.PARTS)}),
    "via": ("What started the command: sudo, xargs, sh -c, a script.", _TEXTS),
    "cwd": ("The folder that the command runs in.", _PLACE),
    "shown": (
        "Whether somebody sees what it prints: false where only a variable, a filter or its issuer gets it.",
        {"type": "boolean"},
    ),
    "regex": (
        "A regular expression on one argument; the last resort.",
        object_of(
            {
                "pattern": {"type": "string", "minLength": 1, "maxLength": 500},
                "argument": {"anyOf": [{"const": "any"}, _number(0, 99)]},
            },
            ("pattern",),
        ),
    ),
    "sql": (
        "Statements of a database's language, in options, words, files or on the standard input.",
        object_of(
            {
                "language": {"enum": list(compiler.LANGUAGES)},
                "effects": _one_or_more({"enum": list(compiler.SQL_EFFECTS)}),
                "flags": _FLAGS,
                "files": _FLAGS,
                "from": _number(0, 99),
            }
        ),
    ),
    "all": ("All of these hold.", _SEVERAL),
    "any": ("One of these holds.", _SEVERAL),
    "unless": ("None of these holds.", _SEVERAL),
}
"""Each condition: what it asks, in a sentence, and its form."""


def pack_schema() -> Schema:
    """The JSON schema (2020-12) of `pack.yaml`."""
    matcher = object_of(
        {name: {"description": text, **form} for name, (text, form) in CONDITIONS.items()},
        minProperties=1,
        description="Conditions that must all hold.",
    )
    rule = object_of(
        {
            "id": {"type": "string", "pattern": r"^[A-Za-z0-9._-]+$", "description": "PACK.NAME; it never changes."},
            "title": {**_TEXT, "description": "What the command does, after `it`: deletes a whole database."},
            "score": {**_number(0, 100), "description": "From 70 it is blocked, from 40 a person is asked."},
            "why": {**_TEXT, "description": "What would be lost, in a sentence."},
            "safer": {**_TEXT, "description": "Another way; commands in backticks must be allowed."},
            "reversible": {"enum": list(compiler.REVERSIBLE), "description": "Whether a savepoint undoes it."},
            "references": {**_TEXTS, "description": "CWE and MITRE ATT&CK ids, or addresses."},
            "match": {**_SEVERAL, "description": "One of these matchers holds."},
            "unless": {**_SEVERAL, "description": "The rule is silent where one of these holds, whatever matched."},
            "targets": {"enum": list(compiler.TARGETS), "description": "What a finding says it touches."},
        },
        ("id", "title", "score", "why", "safer", "reversible", "match"),
    )
    program = object_of(
        {"style": {"enum": list(compiler.STYLES)}, "values": _WORDS_BY_VERB, "harmless": _WORDS_BY_VERB}
    )
    return {
        "$schema": DIALECT,
        "title": "chrono rule pack",
        "$defs": {"matcher": matcher, "rule": rule},
        **object_of(
            {
                "format": {"const": compiler.FORMAT},
                "pack": {"type": "string", "pattern": r"\S", "description": "The entry point's name."},
                "title": _TEXT,
                "lists": {"type": "object", "additionalProperties": _TEXTS},
                "programs": {"type": "object", "additionalProperties": program},
                "rules": {"type": "array", "items": _ref("rule"), "minItems": 1},
            },
            ("pack", "title", "rules"),
        ),
    }


def cases_schema() -> Schema:
    """The JSON schema (2020-12) of `cases.yaml`."""
    texts: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
    case: Schema = {
        "anyOf": [
            {"type": "string"},
            object_of({"command": {"type": "string"}, "shell": {"type": "string"}}, ("command",)),
        ]
    }
    commands: Schema = {"type": "array", "items": case, "minItems": 2}
    return {
        "$schema": DIALECT,
        "title": "cases of a chrono rule pack",
        **object_of(
            {
                "world": object_of(
                    {
                        "cwd": {"type": "string"},
                        "home": {"type": "string"},
                        "project": {"type": "string"},
                        "chrono_home": {"type": "string"},
                        "files": texts,
                        "links": texts,
                        "environ": texts,
                        "folders": {"type": "array", "items": {"type": "string"}},
                    },
                    description="The little machine that the commands are judged in.",
                ),
                "cases": {
                    "type": "object",
                    "additionalProperties": object_of({"hits": commands, "misses": commands}, ("hits", "misses")),
                },
            },
            ("cases",),
        ),
    }
