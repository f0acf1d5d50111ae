"""Owns which other machines are known here: by ssh's settings, by the keys it has seen, by names of own networks.

What is sent to them is left to `scan.secrets`.
"""

from __future__ import annotations

from chrono.scan.command import Command, Pattern, Word
from chrono.scan.options import name_of, parse
from chrono.scan.paths import Ground, glob_match
from chrono.scan.rule import Options
from chrono.scan.world import Read, World

MAX_FILE_BYTES = 500_000
OWN_ENDS = (".internal", ".local", ".lan", ".corp", ".intra", ".svc", ".test", ".localhost", ".home.arpa")
"""Endings of names that only an own network answers for."""
_OWN_NUMBERS = ("10.", "127.", "192.168.", "169.254.", *(f"172.{second}." for second in range(16, 32)))


_COPYING: Options = (
    "gnu",
    (("", frozenset("-e --rsh -i -P -p -F -o -J -c -l -b -B -D -E -L -m -O -Q -R -S -W -w".split())),),
)


def host_part(word: Word) -> str | None:
    """The host of `user@host:path`, `host::module` and `ssh://host/…`; None where it is not told."""
    text = "".join(piece or "\0" for piece in word.pieces) if isinstance(word, Pattern) else word
    if not isinstance(text, str):
        return None
    scheme, marks, rest = text.partition("://")
    authority = rest.partition("/")[0] if marks else scheme.partition(":")[0]
    host = authority.rpartition("@")[2].partition(":")[0].lower()
    return None if not host or "\0" in host else host


def is_stranger(host: str, world: World) -> bool:
    """Whether nothing here says that the person has ever worked with that machine."""
    if "." not in host or host.endswith(OWN_ENDS) or host.startswith(_OWN_NUMBERS):
        return False
    return not (_in_settings(host, world) or _has_key(host, world))


def sends_to_stranger(command: Command, ground: Ground) -> bool:
    """Whether what another machine is given (`scp`, `rsync`, `ssh`) goes to a stranger, with nothing held back."""
    words = parse(command.argv, _COPYING).words
    if name_of(command) == "ssh":
        host = host_part(words[0]) if words else None
    elif any(isinstance(word, str) and word.startswith(("--exclude", "--filter", "-f")) for word in command.argv):
        return False
    else:
        host = host_part(words[-1]) if words else None
    return host is not None and is_stranger(host, ground.world)


def _lines(path: str, world: World) -> list[str]:
    answer = world.read(path, MAX_FILE_BYTES)
    return answer.data.decode("utf-8", "replace").splitlines() if isinstance(answer, Read) else []


def _in_settings(host: str, world: World) -> bool:
    for line in _lines(f"{world.home}/.ssh/config", world):
        word, *names = line.replace("=", " ").split() or [""]
        if word.lower() == "hostname" and host in map(str.lower, names):
            return True
        if word.lower() == "host" and any(name.strip("*?") and glob_match(name, host) for name in names):
            return True
    return False


def _has_key(host: str, world: World) -> bool:
    """Whether `known_hosts` names it, in plain or hashed (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT")."""
    for line in _lines(f"{world.home}/.ssh/known_hosts", world):
        name = line.partition(" ")[0]
        if name.startswith("|1|"):
            if _is_hash_of(name, host):
                return True
        elif host in (part.strip("[]").partition("]")[0] for part in name.lower().split(",")):
            return True
    return False


def _is_hash_of(name: str, host: str) -> bool:
    import binascii
    import hmac  # as rare as a whole project on its way to another machine

    try:
        salt, digest = (binascii.a2b_base64(part) for part in name.split("|")[2:4])
    except ValueError:
        return False
    return hmac.digest(salt, host.encode(), "sha1") == digest
