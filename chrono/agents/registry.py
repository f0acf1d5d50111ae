"""Owns which adapters are installed and how one is loaded by name.

What an adapter must do is left to `protocol`.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from chrono.agents.protocol import API_VERSION, AgentAdapter
from chrono.digest import sha256
from chrono.errors import PluginError
from chrono.plugins import PluginGroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GROUP = PluginGroup("chrono.agents", API_VERSION)

BUILT_IN = {"claude-code": "chrono.agents.claude_code"}
"""Adapters of the core wheel. They are registered as entry points like a stranger's; this table only spares the hook
reading the metadata of every installed distribution (5 F), and keeps a stranger from taking the name over."""


def adapter(name: str) -> AgentAdapter:
    """The adapter called `name`. Raises PluginError where there is none, or it cannot be loaded."""
    module = BUILT_IN.get(name)
    if module is not None:
        __import__(module)
        built_in: AgentAdapter = sys.modules[module].ADAPTER
        return built_in
    loaded: Any = GROUP.load(name)
    if getattr(loaded, "name", None) != name:
        raise PluginError(f"chrono.agents '{name}' calls itself {getattr(loaded, 'name', None)!r}")
    found: AgentAdapter = loaded
    return found


def fingerprint(name: str) -> str:
    """The SHA-256 over the code of an adapter: its module and, where it has a package, the modules beside it.

    Raises PluginError where there is none, OSError where its files are gone.
    """
    digest = sha256()
    for path in _code_of(name):
        with open(path, "rb") as file:
            code = file.read()
        digest.update(f"{os.path.basename(path)}\0{len(code)}\0".encode("utf-8", "surrogateescape") + code)
    return digest.hexdigest()


@cache
def _code_of(name: str) -> tuple[str, ...]:
    adapter(name)  # refuses a doubtful one
    module = BUILT_IN.get(name) or next(one.value for one in GROUP.found() if one.name == name).partition(":")[0]
    path = sys.modules[module].__file__
    if path is None:
        raise PluginError(f"chrono.agents '{name}' has no file of its own")
    if "." not in module:
        return (path,)
    folder = os.path.dirname(path)
    return tuple(os.path.join(folder, one) for one in sorted(os.listdir(folder)) if one.endswith(".py"))


def names() -> tuple[str, ...]:
    """The names of all installed adapters, sorted. Nothing is imported."""
    return tuple(sorted({*BUILT_IN, *(found.name for found in GROUP.found())}))
