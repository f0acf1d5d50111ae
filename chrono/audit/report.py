"""Owns the words of a verification: findings, levels, the report, and what the verifier asks about commits.

Finding out is left to `audit.chain` and `audit.verify`; showing it to `cli`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from chrono.tuples import NamedTuple

FAIL_LIMIT = 100
"""Findings after which the lines are no longer read for more; nobody reads so many, and a hostile log has millions."""


LOCAL_LEVELS = ("W0", "W1", "W3")
"""Levels that this machine holds itself; the others are elsewhere."""


class AuditFinding(NamedTuple):
    """One thing that is wrong: a stable `code`, the record number where there is one, and a sentence."""

    code: str
    record: int | None
    text: str


class Level(NamedTuple):
    """A witness level: `state` "checked", "failed" or "not checked", and why."""

    name: str
    state: str
    text: str


class Trailer(NamedTuple):
    """What a commit on a ref says of the log: `Chrono-Audit: v2 <log> <size> <root>`; `log` "" where nothing."""

    commit: str
    log: str
    size: int
    root: str


class CommitLookup(Protocol):
    """The commits of the hidden repository, as the verifier needs them."""

    def trailers(self) -> Iterable[Trailer]:
        """Every commit that a ref reaches, once. Only the last trailer block of a message counts."""
        ...

    def sha256(self, commit: str) -> str | None:
        """SHA-256 (hex) of the raw commit object, as its anchor names it; None where the object is missing."""
        ...


class Report(NamedTuple):
    """The verdict. `findings` empty: intact. `size` and `root` (hex) of the log as read.

    `integrity` and `completeness` are one sentence each; `exit_code`: 0 intact, 20 tampered, 21 cannot verify,
    22 intact with resets or degraded levels (specs: audit section 9). `unanchored`: commits that no record names.
    """

    findings: tuple[AuditFinding, ...]
    warnings: tuple[str, ...]
    levels: tuple[Level, ...]
    size: int
    root: str
    resets: int
    open_sessions: int
    exit_code: int
    integrity: str
    completeness: str
    unanchored: tuple[str, ...] = ()


class Notebook:
    """Findings and warnings of one verification, as many as a person can read."""

    def __init__(self) -> None:
        self.findings: list[AuditFinding] = []
        self.warnings: list[str] = []

    @property
    def full(self) -> bool:
        return len(self.findings) >= FAIL_LIMIT

    def fail(self, code: str, record: int | None, text: str) -> None:
        if len(self.findings) < 2 * FAIL_LIMIT:
            self.findings.append(AuditFinding(code, record, text))

    def warn(self, text: str) -> None:
        if len(self.warnings) < FAIL_LIMIT:
            self.warnings.append(text)


def integrity_of(
    notes: Notebook,
    levels: list[Level],
    unverifiable: str | None,
    resets: int,
    external: tuple[int, int],
    *,
    trusted_elsewhere: bool,
) -> tuple[int, str]:
    """The exit code and the sentence on integrity. `external`: how many of how many records others have seen."""
    if notes.findings:
        first = notes.findings[0]
        where = f"record {first.record}: " if first.record is not None else ""
        return 20, f"FAIL {where}{first.text}"
    if unverifiable is not None:
        return 21, f"CANNOT VERIFY {unverifiable}"
    passed = [level.name for level in levels if level.state == "checked"]
    local = ",".join(name for name in passed if name in LOCAL_LEVELS)
    remote = ",".join(name for name in passed if name not in LOCAL_LEVELS) or "not checked"
    seen = f"{external[0]:,} of {external[1]:,}" if external[0] else "none"
    text = f"OK local ({local}); remote: {remote}; last external checkpoint {seen}"
    if resets:
        text += f"; {resets} reset" + ("s" if resets > 1 else "")
    if trusted_elsewhere:
        text += "; under the keys given, not this home's pin"
    return 22 if resets or "W1" not in passed else 0, text


UNTOLD = "whether anything is missing cannot be told"


def completeness_of(notes: Notebook, open_sessions: int, exit_code: int) -> str:
    """The sentence on completeness, beside an integrity of `exit_code`."""
    lost = [f for f in notes.findings if f.code in ("commit-without-record", "truncated", "log-missing")]
    if lost:
        return f"INCOMPLETE {lost[0].text}"
    if exit_code == 21:
        return UNTOLD
    if open_sessions:
        return f"{open_sessions} session{'s have' if open_sessions > 1 else ' has'} no end yet"
    return "nothing is missing that other records or savepoints name"
