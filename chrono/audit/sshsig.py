"""Owns a signature in OpenSSH's form (PROTOCOL.sshsig), so that `ssh-keygen -Y verify` checks an exported checkpoint.

It signs other bytes than a record or a note does: a second signature of the same key.
"""

from __future__ import annotations

import base64
import struct
from hashlib import sha512

from chrono.signing import Signer

NAMESPACE = "chrono-audit"
_MAGIC, _VERSION, _KIND, _HASH = b"SSHSIG", 1, b"ssh-ed25519", b"sha512"


def sshsig(data: bytes, signer: Signer) -> str:
    """The armoured signature of `data` in namespace `chrono-audit`."""
    names = _string(NAMESPACE.encode()) + _string(b"") + _string(_HASH)
    signed = signer.sign(_MAGIC + names + _string(sha512(data).digest()))
    public = _string(_string(_KIND) + _string(signer.public.raw))
    blob = _MAGIC + struct.pack(">I", _VERSION) + public + names + _string(_string(_KIND) + _string(signed))
    text = base64.b64encode(blob).decode("ascii")
    lines = "".join(f"{text[at : at + 70]}\n" for at in range(0, len(text), 70))
    return f"-----BEGIN SSH SIGNATURE-----\n{lines}-----END SSH SIGNATURE-----\n"


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
