"""Owns reading the public names of a module as data: `python signatures.py MODULE` prints them as JSON.

It runs under the real Chronicle as well as under ours, so it uses the standard library only.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from typing import Any


def parameters(function: Any) -> list[list[Any]] | None:
    """[name, kind, default] of each parameter but self; the default as a word where it is no plain value."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[one.name, one.kind.name, _default(one.default)] for one in found if one.name != "self"]


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return "(none)"
    if value is None or type(value) in (bool, int, float, str):
        return value
    return str(value) if isinstance(value, str) else f"({type(value).__name__})"


def names(module: Any) -> dict[str, Any]:
    """Public name -> what it is: {"call": parameters, "methods": {name: parameters}, "members": [enum values]}."""
    table: dict[str, Any] = {}
    for name in sorted(module.__all__):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        entry: dict[str, Any] = {}
        if isinstance(value, type) and hasattr(value, "__members__"):
            entry["members"] = sorted(str(one.value) for one in value)
        elif callable(value):
            entry["call"] = parameters(value)
        if isinstance(value, type):
            methods = {
                one: parameters(getattr(value, one))
                for base in value.__mro__
                if base.__module__.split(".")[0] == module.__name__.split(".")[0]
                for one, held in vars(base).items()
                if not one.startswith("_") and inspect.isfunction(held)
            }
            entry["methods"] = dict(sorted(methods.items()))
            entry["bases"] = [base.__name__ for base in value.__mro__[1:-1]]
        table[name] = entry
    return table


if __name__ == "__main__":
    print(json.dumps(names(importlib.import_module(sys.argv[1])), indent=1, sort_keys=True))
