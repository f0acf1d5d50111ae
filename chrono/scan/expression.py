"""Owns regular expressions that are compiled when they are first asked: a cold hook pays only for what it reads.

Those that every text meets are compiled where they stand, by `re` itself.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Expression:
    """Stands for a compiled pattern; what is asked of it is kept, so that the second time costs nothing more."""

    def __init__(self, source: str, flags: int) -> None:
        self.source = source
        self.flags_given = flags

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there yet. `re` keeps the compiled pattern.
        found = getattr(re.compile(self.source, self.flags_given), name)
        setattr(self, name, found)
        return found


def expression(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is compiled on its first use."""
    stands_in: Any = Expression(source, flags)
    found: re.Pattern[str] = stands_in
    return found
