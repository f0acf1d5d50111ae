"""Owns the values a scan answers with: targets, findings, the scan itself. Decisions are left to `policy`."""

from __future__ import annotations

from chrono.scan.command import Command, Refusal, Word
from chrono.tuples import NamedTuple


class Target(NamedTuple):
    """One thing a finding would touch.

    `path`: absolute and resolved where known, else None. `shown`: as to be shown to a person. `place`: its class by
    `scan.paths` ("root", "system", "home", "dotfile", "credential", "other-repo", "project", "git", "control",
    "regenerable", "temp", "outside", "unknown"). `whole`: a folder with all below it, or a glob over it.
    """

    path: str | None
    shown: str
    place: str
    whole: bool = False


class Finding(NamedTuple):
    """One rule hit.

    - `score` 0-100, `span` character offsets into the scanned text, `via` as in Command.
    - `reversible`: "files" (undone by a savepoint where it covers every target), "ask" (even then a person is asked;
      never blocked), "no".
    """

    rule: str
    title: str
    score: int
    why: str
    safer: str
    span: tuple[int, int]
    argv: tuple[Word, ...]
    via: tuple[str, ...]
    targets: tuple[Target, ...]
    reversible: str
    references: tuple[str, ...] = ()


class Scan(NamedTuple):
    """Everything known about one text before a policy looks at it.

    `read_only`: proved to change no file (no savepoint needed). `followed`: (absolute path, SHA-256 hex) of each file
    that was read because the text runs it.
    """

    text: str
    commands: tuple[Command, ...]
    findings: tuple[Finding, ...]
    refusals: tuple[Refusal, ...]
    read_only: bool
    followed: tuple[tuple[str, str], ...] = ()
