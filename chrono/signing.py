"""Owns the door to `cryptography`: Ed25519 keys, signatures, and the public keys that are refused.

Where a key is kept is left to `audit.keys`; what is signed to `audit.record` and `audit.checkpoint`.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from functools import cache, lru_cache

from chrono.canonical import base64_of, from_base64
from chrono.digest import sha256
from chrono.errors import KeyRefused
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
else:
    Protocol = object

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
# y coordinates of the eight points of small order (RFC 8032 arithmetic; the sign bit aside). Under such a key a
# forged signature verifies for every message, and `cryptography` accepts it.
_Y8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER_Y = frozenset(
    (
        0,
        1,
        _P - 1,
        _Y8,
        _P - _Y8,
    )
)


class PublicKey(NamedTuple):
    """A checked Ed25519 public key: 32 raw bytes."""

    raw: bytes

    @property
    def kid(self) -> str:
        """First 16 bytes of SHA-256(raw), hex: a hint in records, never a trust root."""
        return sha256(self.raw).hexdigest()[:32]

    @property
    def text(self) -> str:
        """Base64 of the raw bytes."""
        return base64_of(self.raw)

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether `signature` over `data` is this key's, in its only form (RFC 8032 section 5.1.7: S < L)."""
        if len(signature) != 64 or int.from_bytes(signature[32:], "little") >= _L:
            return False
        try:
            _loaded(self.raw).verify(signature, data)
        except Exception as error:
            from cryptography.exceptions import InvalidSignature

            if isinstance(error, InvalidSignature):
                return False
            raise
        return True


@lru_cache(maxsize=16)
def _loaded(raw: bytes) -> Ed25519PublicKey:
    return _makers().public(raw)


class _Makers(NamedTuple):
    """What makes a key of 32 bytes."""

    public: Callable[[bytes], Ed25519PublicKey]
    private: Callable[[bytes], Ed25519PrivateKey]


@cache
def _makers() -> _Makers:
    """The functions to which `Ed25519PublicKey.from_public_bytes` and its twin hand on, where they can be reached.

    The classes around them load `typing` and much of `cryptography`: for a hook, half a bare start of Python.
    """
    try:
        from cryptography.hazmat.bindings._rust import openssl

        return _Makers(openssl.ed25519.from_public_bytes, openssl.ed25519.from_private_bytes)
    except (ImportError, AttributeError):  # another version keeps them elsewhere
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

        return _Makers(Ed25519PublicKey.from_public_bytes, Ed25519PrivateKey.from_private_bytes)


def public_key(raw: bytes) -> PublicKey:
    """A public key after the checks that `cryptography` does not make. Raises KeyRefused."""
    if len(raw) != 32:
        raise KeyRefused(f"an Ed25519 public key has 32 bytes, not {len(raw)}")
    y = int.from_bytes(raw, "little") & ((1 << 255) - 1)
    if y >= _P:
        raise KeyRefused("the public key is not in canonical form")
    if y in _SMALL_ORDER_Y:
        raise KeyRefused("the public key is a point of small order: anybody can forge signatures under it")
    return PublicKey(raw)


def public_key_of_text(text: str) -> PublicKey:
    """A public key from base64 of its 32 raw bytes. Raises KeyRefused."""
    try:
        raw = from_base64(text)
    except ValueError:
        raise KeyRefused("a public key is base64 of 32 bytes") from None
    return public_key(raw)


class Remote(Protocol):
    """A private key that somebody else holds, such as an ssh-agent."""

    def sign(self, data: bytes) -> bytes:
        """64 bytes over `data`. Raises KeyRefused where the holder does not sign."""


class Signer:
    """A private Ed25519 key that signs. It never shows itself: `repr` names the key id only."""

    __slots__ = ("_key", "kid", "public")

    def __init__(self, key: Ed25519PrivateKey | Remote, public: PublicKey) -> None:
        self._key = key
        self.public = public
        self.kid = public.kid

    def sign(self, data: bytes) -> bytes:
        """64 bytes over `data` (RFC 8032, pure Ed25519)."""
        return self._key.sign(data)

    def pem(self, passphrase: bytes | None = None) -> bytes:
        """PKCS#8 PEM, for the key file only. Raises KeyRefused where somebody else holds the key."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not isinstance(self._key, Ed25519PrivateKey):
            raise KeyRefused(f"key {self.kid} is held by an agent and cannot be written to a file")
        locked: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if passphrase:
            locked = serialization.BestAvailableEncryption(passphrase)
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)

    def __repr__(self) -> str:
        return f"Signer(kid={self.public.kid})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a signing key is not to be copied out of its process")


def generate() -> Signer:
    """A new key from the system's own random source."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return _signer(Ed25519PrivateKey.generate())


def signer_of_seed(seed: bytes) -> Signer:
    """The key of a 32-byte seed (RFC 8032 section 5.1.5). Raises KeyRefused."""
    if len(seed) != 32:
        raise KeyRefused(f"an Ed25519 seed has 32 bytes, not {len(seed)}")
    return _signer(_makers().private(seed))


def _signer(key: Ed25519PrivateKey) -> Signer:
    return Signer(key, public_key(key.public_key().public_bytes_raw()))


# A plain Ed25519 key (RFC 8410 section 7) is these bytes and the seed. A hook reads its key this way, because the
# general reader of PEM costs it more than everything else it does.
_PLAIN_DER = bytes.fromhex("302e020100300506032b657004220420")
_PEM_LABELS = (b"PRIVATE KEY", b"ENCRYPTED PRIVATE KEY")
_OPENSSH_LABEL = b"OPENSSH PRIVATE KEY"


def signer_of_pem(data: bytes, passphrase: bytes | None = None) -> Signer:
    """The key of one PEM block and nothing else: PKCS#8, or OpenSSH's own form where it is not locked.

    Raises KeyRefused with the reason, never with key bytes.
    """
    body = data.strip()
    lines = body.splitlines()
    if not lines or not lines[0].startswith(b"-----BEGIN ") or body.count(b"-----BEGIN ") != 1:
        raise KeyRefused("the key is not exactly one PEM block")
    label = lines[0].removeprefix(b"-----BEGIN ").removesuffix(b"-----")
    if lines[-1] != b"-----END " + label + b"-----" or body.count(b"-----END ") != 1:
        raise KeyRefused("there are bytes after the key's PEM block")
    if label == _OPENSSH_LABEL:
        return _signer_of_openssh(body)
    if label not in _PEM_LABELS:
        raise KeyRefused("the key is not PKCS#8")
    seed = _plain_seed(lines) if passphrase is None else None
    if seed is not None:
        return signer_of_seed(seed)
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(body, passphrase)
    except TypeError:
        need = "needs a passphrase" if passphrase is None else "has no passphrase, but one was given"
        raise KeyRefused(f"the key {need}") from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyRefused("the key cannot be read: wrong passphrase or damaged PEM") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyRefused("the key is not an Ed25519 key")
    return _signer(key)


def _signer_of_openssh(body: bytes) -> Signer:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(body, None)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise KeyRefused("the OpenSSH key is locked or damaged", "ssh-add it, and give its .pub file") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyRefused("the key is not an Ed25519 key")
    return _signer(key)


def _plain_seed(lines: list[bytes]) -> bytes | None:
    """The seed of a plain Ed25519 key in PKCS#8, None for whatever else the block holds."""
    if lines[0] != b"-----BEGIN PRIVATE KEY-----":
        return None
    try:
        der = binascii.a2b_base64(b"".join(lines[1:-1]), strict_mode=True)
    except binascii.Error:
        return None
    return der[16:] if len(der) == 48 and der.startswith(_PLAIN_DER) else None
