"""Owns the pin: which public key, path and inode this CHRONO_HOME trusts a log under. The trust root.

`.chrono/audit.pub` is information only. Who writes a pin: genesis, adoption by a person, rotation.
"""

from __future__ import annotations

import os

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import AuditUnverifiable, KeyRefused
from chrono.files import atomic_write, fsync_dir, read_own
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, public_key_of_text
from chrono.tuples import NamedTuple

_MAX_PIN_BYTES = 64 * 1024


class Turn(NamedTuple):
    """A rotation that was begun: record `n` hands over to `key`. Whether it got there, the log says."""

    n: int
    key: PublicKey


class Pin(NamedTuple):
    """`key` None: the log is unsigned so far. `path` and `inode` of the folder that holds the log.

    `signed_from`: the number of the first signed record; what comes before it was written in unsigned mode. `key`
    signed that one; `rotated` is the key that signs now, where it is another.
    """

    log: str
    key: PublicKey | None
    path: str
    inode: int
    signed_from: int = 0
    rotated: PublicKey | None = None
    turn: Turn | None = None

    @property
    def active(self) -> PublicKey | None:
        """The key that signs the next record."""
        return self.rotated or self.key


def read_pin(home: HomeLayout, log: str) -> Pin | None:
    """The pin of `log`, None where there is none. Raises AuditUnverifiable (damaged) or KeyRefused (weak key)."""
    path = home.pin(log)
    try:
        data = read_own(path, _MAX_PIN_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, error.strerror or "unreadable") from None
    try:
        value = parse(data.removesuffix(b"\n"))
    except NotCanonical as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(value, dict) or value.get("log") != log:
        raise _damaged(path, "it is the pin of another log")
    pub, folder, inode, first = (value.get(name) for name in ("pub", "path", "ino", "from"))
    if not (pub is None or isinstance(pub, str)) or not isinstance(folder, str):
        raise _damaged(path, "members are missing")
    if not isinstance(inode, int) or not isinstance(first, int):
        raise _damaged(path, "members are missing")
    pin = Pin(log, public_key_of_text(pub) if pub is not None else None, _path_of(folder), inode, first)
    rotated, turn = value.get("active"), value.get("turn")
    if isinstance(rotated, str):
        pin = pin._replace(rotated=public_key_of_text(rotated))
    if isinstance(turn, dict):
        n, then = turn.get("n"), turn.get("pub")
        if not isinstance(n, int) or not isinstance(then, str):
            raise _damaged(path, "members are missing")
        pin = pin._replace(turn=Turn(n, public_key_of_text(then)))
    return pin


def write_pin(home: HomeLayout, pin: Pin) -> None:
    """Pins a log, durable before the return."""
    value: dict[str, Json] = {
        "from": pin.signed_from,
        "ino": pin.inode,
        "log": pin.log,
        "path": _text_of(pin.path),
        "pub": pin.key.text if pin.key is not None else None,
    }
    if pin.rotated is not None:
        value["active"] = pin.rotated.text
    if pin.turn is not None:
        value["turn"] = {"n": pin.turn.n, "pub": pin.turn.key.text}
    atomic_write(home.pin(pin.log), canonical_bytes(value) + b"\n")


def pin_of_path(home: HomeLayout, folder: str) -> Pin | None:
    """The pin that names `folder`, so that a log that vanished is noticed. Damaged pins of other logs are passed."""
    try:
        names = os.listdir(home.trust)
    except FileNotFoundError:
        return None
    for name in names:
        if len(name) == 32:
            try:
                pin = read_pin(home, name)
            except (AuditUnverifiable, KeyRefused):
                continue
            if pin is not None and pin.path == folder:
                return pin
    return None


def remove_pin(home: HomeLayout, log: str) -> None:
    """Ends the trust in a log. Only a person's word leads here."""
    try:
        os.unlink(home.pin(log))
    except FileNotFoundError:
        return
    fsync_dir(home.trust)


def _text_of(path: str) -> str:
    """`path` with bytes that are not UTF-8 as %XX, and `%` as %25."""
    text = path.replace("%", "%25")
    return "".join(f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char for char in text)


def _path_of(text: str) -> str:
    first, *rest = text.encode("utf-8").split(b"%")
    try:
        return os.fsdecode(first + b"".join(bytes((int(part[:2], 16),)) + part[2:] for part in rest))
    except ValueError:
        return ""


def _damaged(path: str, why: str) -> AuditUnverifiable:
    return AuditUnverifiable(f"the pin {path} cannot be used: {why}", "see docs/formats/audit-v2.md, Pins")
