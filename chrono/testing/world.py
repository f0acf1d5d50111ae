"""Owns the name under which tests and plugin authors get a World over a dict.

What it does is said by `scan.dictworld`.
"""

from __future__ import annotations

from chrono.scan.dictworld import DictWorld, Link, Node

__all__ = ["FakeWorld", "Link", "Node"]


class FakeWorld(DictWorld):
    """A machine made of a dict: `FakeWorld({"/home/dev/proj/a.py": "print(1)", "/home/dev/proj/src": None})`."""
