"""Owns `protected` and `read_only`: which commands of a scan would change a path that the policy keeps. Pure.

The decision that follows (block, or a person is asked, savepoint or not) is taken by `policy.decide`.
"""

from __future__ import annotations

import os

from chrono.policy.cover import within
from chrono.scan.command import Command, Word
from chrono.scan.finding import Finding, Scan, Target

RULE = "policy.protected"
READ_ONLY = "policy.read-only"

_READERS = frozenset(
    """
    [ b2sum basename bat cat cd cksum cmp column comm cut diff dirname du echo egrep fgrep file grep head hexdump jq
    less ls md5sum more nl od printf readlink realpath rg sha1sum sha256sum sha512sum stat strings tail test tree wc xxd
    """.split()
)
_GIT_READERS = frozenset(["blame", "diff", "grep", "log", "ls-files", "rev-parse", "shortlog", "show", "status"])


def protected_findings(
    scan: Scan,
    protected: tuple[str, ...],
    project: str | None,
    writes: tuple[str, ...] = (),
    *,
    rule_id: str = RULE,
) -> tuple[Finding, ...]:
    """One finding for each command that would change a protected path, and for each of `writes` that is one.

    `protected` are paths or `*` patterns below the project (or absolute); a folder stands for all below it. `rule_id`:
    RULE, or READ_ONLY for the paths that only a person's word opens.
    """
    if not protected or (scan.read_only and not writes):
        return ()
    rules = tuple(_absolute(entry, project) for entry in protected if project or os.path.isabs(entry))
    found: dict[tuple[tuple[int, int], str], Finding] = {}
    for path in (os.path.normpath(os.path.join(project or "/", path)) for path in writes):
        if any(_matches(path, rule, whole=False) for rule in rules):
            found.setdefault(((0, 0), path), _finding(rule_id, path, (0, 0), (), ()))
    for command in scan.commands:
        for path in _changed(command, project):
            if any(_matches(path, rule, whole=False) for rule in rules):
                found.setdefault((command.span, path), _finding(rule_id, path, command.span, command.argv, command.via))
    for finding in scan.findings:
        for target in finding.targets:
            if target.path and any(_matches(target.path, rule, whole=target.whole) for rule in rules):
                key = (finding.span, target.path)
                found.setdefault(key, _finding(rule_id, target.path, finding.span, finding.argv, finding.via))
    return tuple(found.values())


def _absolute(entry: str, project: str | None) -> str:
    return os.path.normpath(os.path.join(project or "/", entry))


def _matches(path: str, rule: str, *, whole: bool) -> bool:
    if any(char in rule for char in "*?["):
        from fnmatch import fnmatchcase

        folder = path
        while True:
            if fnmatchcase(folder, rule):
                return True
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
        return whole and within(rule[: min(rule.index(char) for char in "*?[" if char in rule)], path)
    return within(path, rule) or (whole and within(rule, path))


def _changed(command: Command, project: str | None) -> tuple[str, ...]:
    """Paths that the command names where it may write: redirects, and arguments of programs that do not only read."""
    cwd = command.cwd if isinstance(command.cwd, str) else project
    if cwd is None:
        return ()
    named = [redirect.target for redirect in command.redirects if ">" in redirect.op]
    program = command.argv[0]
    name = os.path.basename(program) if isinstance(program, str) else ""
    verb = command.argv[1] if len(command.argv) > 1 else ""
    reads = name in _READERS or (name == "git" and verb in _GIT_READERS)
    if not reads:
        named.extend(command.argv[1:])
    paths = []
    for word in named:
        if not isinstance(word, str):
            continue
        text = word.partition("=")[2] if word.startswith(("-", "of=", "if=")) else word
        if text:
            paths.append(os.path.normpath(os.path.join(cwd, text)))
    return tuple(paths)


def _finding(rule_id: str, path: str, span: tuple[int, int], argv: tuple[Word, ...], via: tuple[str, ...]) -> Finding:
    protects = rule_id == RULE
    return Finding(
        rule=rule_id,
        title=f"changes a path that the policy {'protects' if protects else 'keeps read-only'}",
        score=100 if protects else 50,
        why=f"the policy lists this path under `{'protected' if protects else 'read_only'}`",
        safer="leave the file alone, or ask the person who owns the policy",
        span=span,
        argv=argv,
        via=via,
        targets=(Target(path, path, "project"),),
        reversible="no",
    )
