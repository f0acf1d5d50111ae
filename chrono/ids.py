"""Owns the identifier types; they are text at run time and distinct to the type checker."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType
else:

    def NewType(name, kind):
        return kind


CommitId = NewType("CommitId", str)
"""Full hex id of a commit in the hidden repository (40 characters for SHA-1)."""

TreeId = NewType("TreeId", str)
"""Full hex id of a tree."""

LogId = NewType("LogId", str)
"""128-bit random id of an audit log, 32 hex characters (specs: audit record `log`)."""

OpId = NewType("OpId", str)
"""128-bit random id of one operation, 32 hex characters; makes replay after a crash idempotent."""
