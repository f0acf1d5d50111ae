"""Owns the JSON Schemas of the entities; the generated files are committed under docs/formats/trace."""

from __future__ import annotations

import json
from collections.abc import Iterable

from chrono.trace.fields import Entity


def schema_files(models: Iterable[type[Entity]]) -> dict[str, str]:
    """File name -> JSON Schema of each model: sorted keys, indent 2, final newline."""
    return {
        f"{model.__name__}.json": json.dumps(model.model_json_schema(), indent=2, sort_keys=True) + "\n"
        for model in models
    }
