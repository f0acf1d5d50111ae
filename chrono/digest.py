"""Owns SHA-256 and SHA-1 of short texts without OpenSSL: loading that costs a hook more than all it hashes.

Whoever hashes much at a time (the store, the check of a whole log) is left to `hashlib` itself. No cryptography of its
own: both are CPython's, and what they answer is the same.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import sha1 as _sha1
    from hashlib import sha256 as _sha256
else:
    try:
        from _sha1 import sha1 as _sha1

        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _sha256
        else:
            from _sha256 import sha256 as _sha256
    except ImportError:  # a build of Python without its own hashes
        from hashlib import sha1 as _sha1
        from hashlib import sha256 as _sha256

short_sha256 = _sha256
"""What `hashlib.sha256` gives, for what is known to be short: a tree of hashes is made of nothing else."""
LARGE_BYTES = 1 << 18
"""From here on OpenSSL, several times faster by the byte, is worth its start."""


def sha256(data: "bytes | bytearray | memoryview" = b"") -> "_Hash":
    """What `hashlib.sha256` gives."""
    if len(data) >= LARGE_BYTES:
        import hashlib

        return hashlib.sha256(data)
    return _sha256(data)


def sha1(data: "bytes | bytearray | memoryview") -> "_Hash":
    """What `hashlib.sha1` gives, for git's names of things; no promise of this house rests on it."""
    if len(data) >= LARGE_BYTES:
        import hashlib

        return hashlib.sha1(data, usedforsecurity=False)
    return _sha1(data, usedforsecurity=False)
