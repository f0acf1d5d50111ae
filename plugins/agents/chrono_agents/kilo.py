"""Owns the hook protocol of the Kilo CLI (runs of version 7.7.9): opencode's, from folders of its own.

It differs in a linked work tree: there it loads the plugins of the main one, too.
"""

from __future__ import annotations

from chrono_agents.opencode import adapter

ADAPTER = adapter("kilo", "Kilo CLI", ".kilo/plugin/chrono.js", ".config/kilo/plugin/chrono.js")
