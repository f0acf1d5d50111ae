"""Owns which addresses a text gives to git's remotes, and what a later push of the same text then names.

Whether an address may be pushed to is told by the rules; files of a work tree are left to `scan.gitwork`.
"""

from __future__ import annotations

from chrono.scan.command import Command, Word
from chrono.scan.expression import expression
from chrono.scan.options import parse
from chrono.scan.paths import Ground
from chrono.scan.rule import Options
from chrono.scan.world import Read

MAX_CONFIG_BYTES = 200_000
_CODE_HOSTS = frozenset(("github.com", "gitlab.com", "bitbucket.org", "codeberg.org"))

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


def without_same_place(command: Command, ground: Ground) -> Command:
    """A `remote set-url` that stays with the host and the owner is only a question for the address: the same command
    as `remote get-url`. So is one to a code host that many use, where the project has no such remote at all.
    """
    words = parse(command.argv, _REMOTE).words
    if words[:2] != ("remote", "set-url") or len(words) not in (4, 5) or not isinstance(words[2], str):
        return command
    new = _place_of(words[3])
    if new is None:
        return command
    answer = ground.world.read(f"{ground.root}/.git/config", MAX_CONFIG_BYTES) if ground.root is not None else None
    if not isinstance(answer, Read):
        return command
    olds = _addresses(answer.data.decode("utf-8", "surrogateescape"), words[2])
    same = all(_place_of(old) == new for old in olds) if olds else new[0] in _CODE_HOSTS
    return command._replace(argv=("git", "remote", "get-url", words[2])) if same else command


_SECTION = expression(r"(?m)^\s*\[")
_ADDRESS = expression(r"(?mi)^\s*(?:push)?url\s*=\s*(\S+)\s*$")


def _addresses(config: str, remote: str) -> list[str]:
    """The addresses of a remote in the text of `.git/config`."""
    at = config.find(f'[remote "{remote}"]')
    if at < 0:
        return []
    end = next((match for match in _SECTION.finditer(config) if match.start() > at), None)
    section = config[at : end.start() if end else len(config)]
    return [match[1] for match in _ADDRESS.finditer(section)]


_PLACE = expression(
    r"(?:(?:https?|ssh|git)://(?:[^/@\s]+@)?([\w.-]+)(?::\d+)?/|(?:[\w-]+@)([\w.-]+):)/?([\w.~-]+)/[\w./~-]+\Z"
)


def _place_of(address: Word) -> tuple[str, str] | None:
    """(host, owner) of `https://host/owner/project`, `git@host:owner/project`."""
    match = _PLACE.match(address) if isinstance(address, str) else None
    return ((match[1] or match[2]).lower(), match[3].lower()) if match else None
