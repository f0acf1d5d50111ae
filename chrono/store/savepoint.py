"""Owns the bytes of a savepoint's commit: its message, its trailers and how they are read back.

Writing objects is left to `store.objects`, refs to `store.refs`.
"""

from __future__ import annotations

from typing import NamedTuple

from chrono.ids import CommitId, TreeId


class Savepoint(NamedTuple):
    """One commit of the hidden repository, read back.

    `kind` is the value of `Chrono-Kind` ("manual", "auto", "rescue", "rollback", …; "commit" where there is none).
    `ref` is the ref through which it was found, or None. `meta` names the metadata blob.
    """

    id: CommitId
    kind: str
    ref: str | None
    at_ns: int
    message: str
    author: str
    tree: TreeId
    meta: str | None
    parents: tuple[CommitId, ...]
    trailers: tuple[tuple[str, str], ...]

    def trailer(self, key: str) -> str | None:
        """The first value of `key`, or None."""
        for name, value in self.trailers:
            if name == key:
                return value
        return None
