"""Owns what an answer says that a savepoint covers, and, plainly, what it does not (product.md, `covers`)."""

from __future__ import annotations

from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.policy.model import Policy
    from chrono.store.snapshot import Skip

FILES = "tracked files in the project folder"
NOT = (
    "system changes: registry, services, scheduled tasks, shadow copies, boot, firewall, installed software",
    "files outside the project or in ignored folders",
    "network calls, messages, payments, cloud resources",
    "databases not registered",
)


class CoveredDatabase(NamedTuple):
    """A registered database; `last_snapshot` is the id of its newest snapshot, None where it has none."""

    name: str
    last_snapshot: str | None


class Covers(NamedTuple):
    """The member `covers` of every answer about files, in the order in which it is shown."""

    files: str
    skipped: tuple[Skip, ...]
    databases: tuple[CoveredDatabase, ...]
    not_covered: tuple[str, ...] = NOT


def covers(skips: tuple[Skip, ...], policy: Policy | None) -> Covers:
    """What a savepoint with these skips covers. `policy` None: it cannot be read, so no database is named."""
    names = [entry.name for entry in policy.databases] if policy is not None else []
    return Covers(FILES, skips, tuple(CoveredDatabase(name, None) for name in names))
