"""Owns whether what a program prints gets to be seen: shown, or kept in variables, filters and clients of its issuer.

Which programs print a secret is left to the packs, whose a token is to `scan.issuers`, what is sent away to
`scan.secrets`.
"""

from __future__ import annotations

from collections.abc import Sequence

from chrono.scan.command import Command, Word
from chrono.scan.issuers import goes_home, is_client, issuer_of
from chrono.scan.options import program_names
from chrono.scan.secrets import is_sender, prints_environment

Argv = tuple[Word, ...]

_QUIET = frozenset(
    ("wc", "test", "[", "[[", "kubeseal", "sha256sum", "md5sum", "export", "declare", "local", "typeset", "read")
)
"""Programs that tell nothing of the text they are given."""

_CLUSTER = ("kubectl", "oc")
_EVALUATES = frozenset(("eval", "source", "."))
_ASSIGNMENTS = (("aws", "configure", "export-credentials"), ("op", "signin"))
"""Programs that print assignments for a shell to evaluate."""


def kept(commands: Sequence[Command]) -> frozenset[Argv]:
    """The programs whose output is taken, by nobody who shows it; none where the environment is printed as well."""
    taken = [command for command in commands if not command.seen or (command.redirects and _throws_away(command))]
    if not taken:
        return frozenset()
    unseen = {command.argv for command in taken if not command.redirects or not _into_file(command)}
    for command in commands:
        if command.seen and not (command.redirects and _throws_away(command)):
            unseen.discard(command.argv)
        for at, source in enumerate(command.upstream):
            if source not in unseen or _answered(commands, command.upstream[at + 1 :], source):
                continue  # what a client of the source answers is not what it was given
            if _shows(command, source):
                unseen.discard(source)
    if unseen and any(command.seen and prints_environment(command) for command in commands):
        return frozenset()
    return frozenset(unseen)


def _answered(commands: Sequence[Command], later: tuple[Argv, ...], source: Argv) -> bool:
    """Whether a client that was given what `source` printed stands between it and who reads on."""
    return bool(later) and any(
        command.argv in later and source in command.upstream and is_client(command) for command in commands
    )


def _shows(command: Command, source: Argv) -> bool:
    """Whether a program that is given what `source` printed lets somebody see it."""
    if is_sender(command) or is_client(command):
        return issuer_of(source) is not None and not goes_home(source, command)
    if not command.seen:
        return _into_file(command)
    names = program_names(command.argv[0])
    if any(name in _EVALUATES for name in names) and any(source[: len(words)] == words for words in _ASSIGNMENTS):
        return False
    puts = any(name in _CLUSTER for name in names) and command.argv[1:2] in (("apply",), ("create",), ("replace",))
    return not (puts or any(name in _QUIET for name in names))


def _into_file(command: Command) -> bool:
    return any(r.op[:1] in ">&" and r.fd != _ERRORS and r.target != _NOWHERE for r in command.redirects)


def _throws_away(command: Command) -> bool:
    return any(r.op[:1] in ">&" and r.fd != _ERRORS and r.target == _NOWHERE for r in command.redirects)


_ERRORS = 2
_NOWHERE = "/dev/null"
