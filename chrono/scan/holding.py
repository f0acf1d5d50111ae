"""Owns which files of a text hold secrets, or the whole project, because an earlier command of it put them there.

What counts as a secret is in `scan.secrets` and `scan.places`, what a command does to files in `scan.touch`.
"""

from __future__ import annotations

from collections.abc import Iterator

from chrono.scan.command import Command, Word
from chrono.scan.finding import Target
from chrono.scan.hosts import sends_to_stranger
from chrono.scan.options import name_of, parse, program_names
from chrono.scan.paths import Ground, Spot, Touch
from chrono.scan.rule import Options
from chrono.scan.secrets import COPIES, as_sent, words_sent

_ARCHIVE: Options = ("gnu", (("", frozenset("-f --file -o --output -out -in --recipient -r -e -C --directory -k "
                     "--passphrase -pass -T --files-from -X --exclude --exclude-from -x -b".split())),))  # fmt: skip
_PACK: Options = ("gnu", (("", frozenset(("-x", "-i", "-P", "-t", "-b"))),))
_TAR = frozenset(("tar", "gtar", "bsdtar", "cpio", "pax"))
_PACKS = frozenset(("zip", "7z", "7za", "7zz", "7zr", "rar", "jar"))
_WRAPS = frozenset(("gpg", "gpg2", "openssl", "age", "rage", "base64", "xxd", "split", "sqlite3", "cat", "cp", "mv",
                    "rsync", "install", "dd", "tee", "gcp", "ditto", "git", "scp"))  # fmt: skip
_ENDINGS = {"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lz4": ".lz4"}
_READS = ("read", "move", "send")


def put_aside(
    command: Command, touches: tuple[Touch, ...], held: dict[str, Spot], ground: Ground
) -> Iterator[tuple[str, Spot]]:
    """Files that now hold a secret or the project, each with what it is; `held` are those that did before."""
    exports = _exports_git(command)
    if not touches and not held and not exports:
        return
    secret = next(_secrets(touches, held, ground), None)
    if secret is None:
        secret = _REPOSITORY if exports else next(_project(command, touches), None)
    if secret is None:
        return
    for word in _written(command):
        for spot in ground.spots(word, command.cwd, windows=command.windows):
            path = spot.target.path
            if path is not None and spot.target.place not in ("null", "device"):
                yield path, secret


_REPOSITORY = Spot(Target(None, "the repository", "git", True), True)


def _exports_git(command: Command) -> bool:
    """`git archive`, `git bundle create`, also in front of a program that packs what it reads."""
    return any(
        argv[0] == "git" and ("archive" in argv[1:4] or "bundle" in argv[1:4])
        for argv in (command.argv, *command.upstream)
    )


def _project(command: Command, touches: tuple[Touch, ...]) -> Iterator[Spot]:
    """The project's own folder, or git's, where a program packs it."""
    if not any(name in _TAR or name in _PACKS for name in program_names(command.argv[0])):
        return
    for how, spot in touches:
        if how in _READS and spot.target.whole and spot.target.place in ("project-root", "git"):
            yield spot


def _secrets(touches: tuple[Touch, ...], held: dict[str, Spot], ground: Ground) -> Iterator[Spot]:
    for how, spot in touches:
        if how in _READS:
            yield from (touch.spot for touch in as_sent((spot,), ground))
            if spot.target.path in held:
                yield held[spot.target.path]


def _written(command: Command) -> Iterator[Word]:
    """The files that get what a command has read."""
    names = program_names(command.argv[0])
    parsed = parse(command.argv, _ARCHIVE)
    for redirect in command.redirects:
        if ">" in redirect.op:
            yield redirect.target
    if any(name in _TAR for name in names):
        yield from parsed.values("-f", "--file", "-F")
        first = command.argv[1] if len(command.argv) > 1 else ""
        if isinstance(first, str) and not first.startswith("-") and "f" in first and len(command.argv) > 2:
            yield command.argv[2]
    elif any(name in _PACKS for name in names):
        words = parse(command.argv, _PACK).words
        yield from words[:1] if "zip" in names else words[1:2]
    elif any(name in _WRAPS for name in names):
        yield from parsed.values("-o", "--output", "-out")
        yield from parsed.words[-1:]
    else:
        for name in names:
            if name in _ENDINGS:
                yield from (word + _ENDINGS[name] for word in parsed.words if isinstance(word, str))


def sent_later(command: Command, held: dict[str, Spot], ground: Ground) -> Iterator[Touch]:
    """What a command sends of the files that hold a secret."""
    for word in words_sent(command):
        for spot in ground.spots(word, command.cwd, windows=command.windows):
            if spot.target.path in held:
                kept = held[spot.target.path]
                project = kept.target.place in ("project-root", "git") and name_of(command) in (*COPIES, "ssh")
                if not project or sends_to_stranger(command, ground):
                    yield Touch("send", kept)
