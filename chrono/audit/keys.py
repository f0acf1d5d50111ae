"""Owns where the signing key comes from: the environment, a file it names, or CHRONO_HOME; and what is refused.

What a key does is left to `signing`; which key a log trusts to `audit.pin`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from chrono.canonical import from_base64
from chrono.errors import KeyRefused, UsageError
from chrono.files import atomic_write, own_folder
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, Signer, generate, public_key_of_text, signer_of_pem, signer_of_seed
from chrono.tuples import NamedTuple

_MAX_KEY_BYTES = 16 * 1024
_KEY_HINT = "CHRONO_AUDIT_KEY is PKCS#8 PEM or base64 of a 32-byte seed (Ed25519)"


class KeySettings(NamedTuple):
    """What the environment says about signing; keys and passphrase are never shown.

    `agent`: the socket of an ssh-agent, which holds the key where `key_file` is an OpenSSH public key. `overseer`: the
    socket of a witness daemon that each append is told to.
    """

    key: str | None = None
    key_file: str | None = None
    require: bool = False
    unsigned: bool = False
    trusted: tuple[PublicKey, ...] = ()
    passphrase: str | None = None
    agent: str | None = None
    overseer: str | None = None

    def __repr__(self) -> str:
        given = "…" if self.key else None
        return f"KeySettings(key={given}, key_file={self.key_file!r}, require={self.require}, unsigned={self.unsigned})"


def settings(environ: Mapping[str, str]) -> KeySettings:
    """Reads CHRONO_AUDIT_KEY, _KEY_FILE, _PASSPHRASE, _REQUIRE_KEY, _UNSIGNED, _TRUSTED_KEYS, _WITNESS_SOCKET and
    SSH_AUTH_SOCK.

    Raises UsageError, KeyRefused.
    """
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
        environ.get("CHRONO_AUDIT_PASSPHRASE") or None,
        environ.get("SSH_AUTH_SOCK") or None,
        environ.get("CHRONO_AUDIT_WITNESS_SOCKET") or None,
    )


_SECRETS = ("CHRONO_AUDIT_KEY", "CHRONO_AUDIT_PASSPHRASE")


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` for a program that is somebody else's: whoever has the key can sign another history."""
    return {name: value for name, value in environ.items() if name not in _SECRETS}


def _flag(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "")
    if text in ("", "0"):
        return False
    if text == "1":
        return True
    raise UsageError(f"{name}={text} is neither 0 nor 1")


def find_signer(
    home: HomeLayout, keys: KeySettings, *, create: bool = False, wanted: PublicKey | None = None
) -> Signer | None:
    """The signing key; None only where signing is switched off.

    Order: CHRONO_AUDIT_KEY, CHRONO_AUDIT_KEY_FILE, `CHRONO_HOME/keys/audit.pem` (made where `create` and missing, but
    not under CHRONO_AUDIT_REQUIRE_KEY). `wanted`: the key a log is pinned to; where the home's own key has been rotated
    since, the kept one is taken. A given key that is not valid is an error, never a silent fall back.
    Raises KeyRefused.
    """
    if keys.unsigned:
        return None
    if keys.key is not None:
        return signer_of_text(keys.key, keys.passphrase)
    if keys.key_file is not None:
        return read_key_file(keys.key_file, keys)
    kept = home.audit_key_of(wanted.kid) if wanted is not None else ""
    if os.path.lexists(home.audit_key):
        found = read_key_file(home.audit_key, keys)
        if wanted is None or found.public == wanted or not os.path.lexists(kept):
            return found
    if kept and os.path.lexists(kept):
        return read_key_file(kept, keys)
    if not create or keys.require:
        raise KeyRefused(
            f"there is no signing key at {home.audit_key}",
            "give the key in CHRONO_AUDIT_KEY_FILE, or unset CHRONO_AUDIT_REQUIRE_KEY and run chrono init"
            if keys.require
            else "run chrono init, or give the key in CHRONO_AUDIT_KEY_FILE",
        )
    return _create_key(home, keys)


def signer_of_text(text: str, passphrase: str | None = None) -> Signer:
    """The key of CHRONO_AUDIT_KEY. Raises KeyRefused; the message never holds the key."""
    if text.lstrip().startswith("-----BEGIN "):
        return _signer_of_pem(text.encode("utf-8", "surrogateescape"), passphrase)
    try:
        seed = from_base64(text.strip())
    except ValueError:
        raise KeyRefused("CHRONO_AUDIT_KEY is no key", _KEY_HINT) from None
    if len(seed) != 32:
        raise KeyRefused(f"CHRONO_AUDIT_KEY holds {len(seed)} bytes, not 32", _KEY_HINT)
    return signer_of_seed(seed)


def _signer_of_pem(data: bytes, passphrase: str | None) -> Signer:
    if passphrase is None or not data.lstrip().startswith(b"-----BEGIN ENCRYPTED"):
        return signer_of_pem(data)
    return signer_of_pem(data, passphrase.encode("utf-8", "surrogateescape"))


def read_key_file(path: str, keys: KeySettings | None = None) -> Signer:
    """The key in `path`: a plain file of this user that nobody else can read. Raises KeyRefused with the reason.

    An OpenSSH public key (`ssh-ed25519 …`) stands for the private one that the ssh-agent holds; others may read it.
    """
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
        data = os.read(fd, _MAX_KEY_BYTES + 1)
    finally:
        os.close(fd)
    if len(data) > _MAX_KEY_BYTES:
        raise KeyRefused(f"the key file {path} is too long for a key")
    if data.startswith(b"ssh-"):
        from chrono.audit.sshagent import agent_signer

        return agent_signer(data, keys.agent if keys is not None else None)
    if os.name == "posix" and info.st_mode & 0o077:
        raise KeyRefused(f"others can read the key file {path}", f"run chmod 600 {path}, then rotate the key")
    try:
        return _signer_of_pem(data, keys.passphrase if keys is not None else None)
    except KeyRefused as error:
        if "passphrase" in error.message and not error.hint:
            raise KeyRefused(f"{path}: {error.message}", _LOCKED_HINT) from None
        raise


_LOCKED_HINT = "give the passphrase in CHRONO_AUDIT_PASSPHRASE, or let an ssh-agent hold the key"


def store_key(home: HomeLayout, signer: Signer, keys: KeySettings, *, kept: bool) -> str:
    """Writes a key to the key store, locked with the passphrase where one is set; the path.

    `kept`: beside the home's own key, under its key id. Raises KeyRefused where an agent holds the key, OSError.
    """
    path = home.audit_key_of(signer.kid) if kept else home.audit_key
    secret = keys.passphrase.encode("utf-8", "surrogateescape") if keys.passphrase else None
    own_folder(home.keys)
    atomic_write(path, signer.pem(secret), mode=0o600)
    return path


def _create_key(home: HomeLayout, keys: KeySettings) -> Signer:
    signer = generate()
    store_key(home, signer, keys, kept=False)
    return signer
