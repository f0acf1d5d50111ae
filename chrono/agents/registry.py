"""Owns which adapters are installed and how one is loaded by name.

What an adapter must do is left to `protocol`.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from chrono.agents.protocol import API_VERSION, AgentAdapter
from chrono.errors import PluginError
from chrono.plugins import PluginGroup

GROUP = PluginGroup("chrono.agents", API_VERSION)

BUILT_IN = {"claude-code": "chrono.agents.claude_code"}
"""Adapters of the core wheel. They are registered as entry points like a stranger's; this table only spares the hook
reading the metadata of every installed distribution (5 F), and keeps a stranger from taking the name over."""


def adapter(name: str) -> AgentAdapter:
    """The adapter called `name`. Raises PluginError where there is none, or it cannot be loaded."""
    module = BUILT_IN.get(name)
    if module is not None:
        return cast(AgentAdapter, import_module(module).ADAPTER)
    loaded = cast(AgentAdapter, GROUP.load(name))
    if getattr(loaded, "name", None) != name:
        raise PluginError(f"chrono.agents '{name}' calls itself {getattr(loaded, 'name', None)!r}")
    return loaded


def names() -> tuple[str, ...]:
    """The names of all installed adapters, sorted. Nothing is imported."""
    return tuple(sorted({*BUILT_IN, *(found.name for found in GROUP.found())}))
