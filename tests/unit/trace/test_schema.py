"""Claims about the committed JSON Schemas."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from chrono.trace.entities import PUBLIC_MODELS
from chrono.trace.schema import schema_files
from tests.unit.trace.test_entities import envelope

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "formats" / "trace"


def test_the_committed_schemas_are_the_generated_ones_byte_for_byte() -> None:
    generated = schema_files(PUBLIC_MODELS)
    assert {path.name: path.read_text() for path in COMMITTED.glob("*.json")} == generated


def test_what_is_written_is_valid_under_the_schema() -> None:
    schema = json.loads((COMMITTED / "Envelope.json").read_text())
    jsonschema.validate(json.loads(envelope().to_wire()), schema)
