"""Owns which addresses a text gives to git's remotes, and what a later push of the same text then names.

Whether an address may be pushed to is told by the rules; files of a work tree are left to `scan.gitwork`.
"""

from __future__ import annotations

from chrono.scan.command import Command, Word
from chrono.scan.options import parse
from chrono.scan.rule import Options

_REMOTE: Options = (
    "gnu",
    (("", frozenset(["-C", "-c", "--git-dir", "--work-tree"])), ("remote add", frozenset(["-t", "-m"]))),
)
_PUSH: Options = (
    "gnu",
    (
        ("", frozenset(["-C", "-c", "--git-dir", "--work-tree"])),
        ("push", frozenset(["-o", "--push-option", "--repo", "--receive-pack", "--exec"])),
    ),
)


def remote_added(command: Command) -> tuple[Word, Word] | None:
    """The name and the address of a remote that a git command adds."""
    words = parse(command.argv, _REMOTE).words
    return (words[2], words[3]) if words[:2] == ("remote", "add") and len(words) > 3 else None


def with_address(command: Command, remotes: dict[Word, Word]) -> Command:
    """A push with the address in the place of a name that the same text gave to it."""
    words = parse(command.argv, _PUSH).words
    if words[:1] != ("push",) or len(words) < 2 or words[1] not in remotes:
        return command
    at = command.argv.index(words[1], command.argv.index("push"))
    return command._replace(argv=(*command.argv[:at], remotes[words[1]], *command.argv[at + 1 :]))
