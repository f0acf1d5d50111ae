"""Owns what the hook's client and the resident service agree on: where they meet, and the bytes they exchange.

Builtins and C modules only: the client loads this file by itself, outside the package, and pays for every import. So
it spells again what `layout` says about CHRONO_HOME; a test holds the two together.
"""

import sys
from _blake2 import blake2s
from _operator import _compare_digest

PROTOCOL = b"chrono-hook/1"
MAX_BYTES = 256 * 1024 * 1024
MAC_BYTES = 32
KEY_BYTES = 32
NONCE_BYTES = 16
MAX_SOCKET_PATH = 100
"""Bytes; the kernel takes 108, other systems 104."""

ACCEPTED = b"A"
"""Said at once: the service lives, has understood the request and will answer."""

REFUSED = b"N"
"""Said instead: another mount namespace, another home, a service about to leave. Evaluate it yourself."""

FIELDS = ("protocol", "build", "adapter", "nonce", "cwd", "cwd_id", "namespace", "umask", "home", "environ", "payload")


class Malformed(Exception):
    """Bytes that are no message."""


def build_id(package: str) -> str:
    """12 hex digits over version, interpreter, package path and protocol: one service an installation.

    `package` is the absolute path of the `chrono` folder.
    """
    digest = blake2s(digest_size=6)
    for part in (_version(package), sys.executable or "", sys.version, package):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    digest.update(PROTOCOL)
    return digest.hexdigest()


def _version(package: str) -> str:
    with open(package + "/__init__.py", encoding="utf-8") as file:
        text = file.read(4096)
    return text.partition('__version__ = "')[2].partition('"')[0]


def chrono_home(environ: dict[bytes, bytes], platform: str) -> bytes | None:
    """CHRONO_HOME as `workspace.config` finds it, None where that takes more than the environment."""
    chosen = environ.get(b"CHRONO_HOME")
    if chosen:
        parts = chosen.split(b"/")
        plain = parts[0] == b"" and not any(part in (b"", b".", b"..") for part in parts[1:])
        return chosen if plain else None
    home = environ.get(b"HOME") or b""
    if not home.startswith(b"/"):
        return None
    if platform == "darwin":
        return home + b"/Library/Application Support/chrono"
    state = environ.get(b"XDG_STATE_HOME") or b""
    return (state if state.startswith(b"/") else home + b"/.local/state") + b"/chrono"


def run_file(home: bytes, build: str, end: str) -> bytes:
    """`CHRONO_HOME/run/<build>.<end>`: `key`, `lock`, `start`, `paths`."""
    return home + b"/run/" + build.encode("ascii") + b"." + end.encode("ascii")


def socket_path(home: bytes, build: str, uid: int) -> bytes:
    """Where the service listens; in /tmp where the home's path is too long for a socket.

    Its folder must be checked before it is used: 0700, own, no link.
    """
    path = run_file(home, build, "sock")
    if len(path) <= MAX_SOCKET_PATH:
        return path
    short = blake2s(path, digest_size=12).hexdigest().encode("ascii")
    return b"/tmp/chrono-%d/%s.sock" % (uid, short)


def pack(fields: tuple[bytes, ...]) -> bytes:
    """Each field with its length in front."""
    parts = []
    for field in fields:
        parts.append(len(field).to_bytes(4, "big"))
        parts.append(field)
    return b"".join(parts)


def unpack(data: bytes, count: int) -> list[bytes]:
    """The `count` fields that `data` is made of. Raises Malformed."""
    fields = []
    at = 0
    for _ in range(count):
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + size > len(data):
            raise Malformed("a field that is longer than the message")
        fields.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    if at != len(data):
        raise Malformed("bytes after the last field")
    return fields


def mac(key: bytes, *parts: bytes) -> bytes:
    """Keyed BLAKE2s over the parts, each with its length: no two sequences give the same bytes."""
    digest = blake2s(key=key, digest_size=MAC_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def sealed(key: bytes, body: bytes, *bound: bytes) -> bytes:
    """`body` behind its length and in front of its MAC over `bound` and itself."""
    return (len(body) + MAC_BYTES).to_bytes(4, "big") + body + mac(key, *bound, body)


def opened(key: bytes, data: bytes, *bound: bytes) -> bytes | None:
    """The body of a sealed message without its length; None where the MAC is another."""
    body, seal = data[:-MAC_BYTES], data[-MAC_BYTES:]
    return body if _compare_digest(seal, mac(key, *bound, body)) else None
