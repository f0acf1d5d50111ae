"""Owns where the signing key comes from: the environment, a file it names, or CHRONO_HOME; and what is refused.

What a key does is left to `signing`; which key a log trusts to `audit.pin`.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping, MutableMapping
from typing import NamedTuple

from chrono.errors import KeyRefused, UsageError
from chrono.files import atomic_write, fsync_dir
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, Signer, generate, public_key_of_text, signer_of_pem, signer_of_seed

_MAX_KEY_BYTES = 16 * 1024
_KEY_HINT = "CHRONO_AUDIT_KEY is PKCS#8 PEM or base64 of a 32-byte seed (Ed25519)"


class KeySettings(NamedTuple):
    """What the environment says about signing. `key` and `key_file` at most one; never shown."""

    key: str | None = None
    key_file: str | None = None
    require: bool = False
    unsigned: bool = False
    trusted: tuple[PublicKey, ...] = ()

    def __repr__(self) -> str:
        given = "…" if self.key else None
        return f"KeySettings(key={given}, key_file={self.key_file!r}, require={self.require}, unsigned={self.unsigned})"


def settings(environ: Mapping[str, str]) -> KeySettings:
    """Reads CHRONO_AUDIT_KEY, _KEY_FILE, _REQUIRE_KEY, _UNSIGNED, _TRUSTED_KEYS. Raises UsageError, KeyRefused."""
    require, unsigned = (_flag(environ, f"CHRONO_AUDIT_{name}") for name in ("REQUIRE_KEY", "UNSIGNED"))
    if require and unsigned:
        raise UsageError(
            "CHRONO_AUDIT_REQUIRE_KEY=1 and CHRONO_AUDIT_UNSIGNED=1 contradict each other", "unset one of them"
        )
    trusted = tuple(
        public_key_of_text(text) for text in environ.get("CHRONO_AUDIT_TRUSTED_KEYS", "").replace(",", " ").split()
    )
    return KeySettings(
        environ.get("CHRONO_AUDIT_KEY") or None,
        environ.get("CHRONO_AUDIT_KEY_FILE") or None,
        require,
        unsigned,
        trusted,
    )


def take_settings(environ: MutableMapping[str, str] | None = None) -> KeySettings:
    """As `settings`, and removes the key itself from the environment, so that no child inherits it."""
    environ = os.environ if environ is None else environ
    found = settings(environ)
    environ.pop("CHRONO_AUDIT_KEY", None)
    return found


def _flag(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "")
    if text in ("", "0"):
        return False
    if text == "1":
        return True
    raise UsageError(f"{name}={text} is neither 0 nor 1")


def find_signer(home: HomeLayout, keys: KeySettings, *, create: bool = False) -> Signer | None:
    """The signing key; None only where signing is switched off.

    Order: CHRONO_AUDIT_KEY, CHRONO_AUDIT_KEY_FILE, `CHRONO_HOME/keys/audit.pem` (made where `create` and missing).
    A given key that is not valid is an error, never a silent fall back. Raises KeyRefused.
    """
    if keys.unsigned:
        return None
    if keys.key is not None:
        return signer_of_text(keys.key)
    if keys.key_file is not None:
        return read_key_file(keys.key_file)
    if os.path.lexists(home.audit_key):
        return read_key_file(home.audit_key)
    if not create:
        raise KeyRefused(
            f"there is no signing key at {home.audit_key}", "run chrono init, or give the key in CHRONO_AUDIT_KEY_FILE"
        )
    return _create_key(home)


def signer_of_text(text: str) -> Signer:
    """The key of CHRONO_AUDIT_KEY. Raises KeyRefused; the message never holds the key."""
    if text.lstrip().startswith("-----BEGIN "):
        return signer_of_pem(text.encode("utf-8", "surrogateescape"))
    try:
        seed = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise KeyRefused("CHRONO_AUDIT_KEY is no key", _KEY_HINT) from None
    if len(seed) != 32:
        raise KeyRefused(f"CHRONO_AUDIT_KEY holds {len(seed)} bytes, not 32", _KEY_HINT)
    return signer_of_seed(seed)


def read_key_file(path: str) -> Signer:
    """The key in `path`: a plain file of this user that nobody else can read. Raises KeyRefused with the reason."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        why = "it is a symbolic link" if os.path.islink(path) else error.strerror
        raise KeyRefused(f"the key file {path} cannot be used: {why}") from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise KeyRefused(f"the key file {path} is not a plain file")
        if hasattr(os, "getuid") and info.st_uid != os.getuid():
            raise KeyRefused(f"the key file {path} belongs to uid {info.st_uid}", "a key belongs to who signs with it")
        if os.name == "posix" and info.st_mode & 0o077:
            raise KeyRefused(f"others can read the key file {path}", f"run chmod 600 {path}, then rotate the key")
        data = os.read(fd, _MAX_KEY_BYTES + 1)
    finally:
        os.close(fd)
    if len(data) > _MAX_KEY_BYTES:
        raise KeyRefused(f"the key file {path} is too long for a key")
    return signer_of_pem(data)


def _create_key(home: HomeLayout) -> Signer:
    signer = generate()
    os.makedirs(home.keys, mode=0o700, exist_ok=True)
    atomic_write(home.audit_key, signer.pem(), mode=0o600)
    fsync_dir(home.keys)
    return signer
