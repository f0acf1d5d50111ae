"""Owns the pin: which public key, path and inode this CHRONO_HOME trusts a log under. The trust root.

`.chrono/audit.pub` is information only. Who writes a pin: genesis, adoption by a person, rotation.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import AuditUnverifiable
from chrono.files import atomic_write
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, public_key_of_text


class Pin(NamedTuple):
    """`key` None: the log is unsigned so far. `path` and `inode` of the folder that holds the log."""

    log: str
    key: PublicKey | None
    path: str
    inode: int


def read_pin(home: HomeLayout, log: str) -> Pin | None:
    """The pin of `log`, None where there is none. Raises AuditUnverifiable (damaged) or KeyRefused (weak key)."""
    path = home.pin(log)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, error.strerror or "unreadable") from None
    try:
        data = os.read(fd, 64 * 1024)
    finally:
        os.close(fd)
    try:
        value = parse(data.rstrip(b"\n"))
    except NotCanonical as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(value, dict) or value.get("log") != log:
        raise _damaged(path, "it is the pin of another log")
    pub, folder, inode = value.get("pub"), value.get("path"), value.get("ino")
    if not (pub is None or isinstance(pub, str)) or not isinstance(folder, str) or not isinstance(inode, int):
        raise _damaged(path, "members are missing")
    return Pin(log, public_key_of_text(pub) if pub is not None else None, os.fsdecode(folder.encode("utf-8")), inode)


def write_pin(home: HomeLayout, pin: Pin) -> None:
    """Pins a log, durable before the return."""
    value: dict[str, Json] = {
        "ino": pin.inode,
        "log": pin.log,
        "path": os.fsencode(pin.path).decode("utf-8", "backslashreplace"),
        "pub": pin.key.text if pin.key is not None else None,
    }
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
            except AuditUnverifiable:
                continue
            if pin is not None and pin.path == folder:
                return pin
    return None


def _damaged(path: str, why: str) -> AuditUnverifiable:
    return AuditUnverifiable(f"the pin {path} cannot be used: {why}", "see docs/formats/audit-v2.md, Pins")
