"""Owns asking a time stamp authority (RFC 3161) to date a checkpoint, so that a stolen key cannot write the past.

The request is built here, and an answer is held against it; the authority's own signature is checked by `openssl ts`,
since chrono writes no cryptography of its own.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256

from chrono.audit.web import ask, safe_address
from chrono.errors import AuditTampered, ChronoError

_SHA256 = bytes.fromhex("300d06096086480165030402010500")  # AlgorithmIdentifier, RFC 5754
_GRANTED = (0, 1)
_TYPES = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}


def stamp(note: str, url: str) -> bytes:
    """The authority's answer (a TimeStampResp, DER) over `note`. Raises ChronoError where it does not give one."""
    digest, nonce = sha256(note.encode("utf-8")).digest(), b"\x01" + os.urandom(8)
    answer = ask("POST", safe_address(url), request(digest, nonce), _TYPES)
    if answer.status != 200:
        raise ChronoError(f"{url} gives no time stamp: HTTP {answer.status}")
    status = _status(answer.body)
    if status not in _GRANTED:
        raise ChronoError(f"{url} gives no time stamp: status {status if status is not None else 'unreadable'}")
    if b"\x04\x20" + digest not in answer.body or b"\x02\x09" + nonce not in answer.body:
        raise ChronoError(f"{url} answered something else than what was asked")
    return answer.body


def request(digest: bytes, nonce: bytes) -> bytes:
    """A TimeStampReq over a SHA-256 (RFC 3161 section 2.4.1): version 1, nonce, the authority's certificate wanted."""
    imprint = _der(0x30, _SHA256 + _der(0x04, digest))
    return _der(0x30, b"\x02\x01\x01" + imprint + _der(0x02, nonce) + b"\x01\x01\xff")


def _der(tag: int, content: bytes) -> bytes:
    if len(content) > 127:
        raise ValueError("a request is shorter than this")
    return bytes((tag, len(content))) + content


def _status(answer: bytes) -> int | None:
    """`PKIStatus` at the beginning of a TimeStampResp, None where there is none."""
    rest = _inside(_inside(answer))
    return rest[2] if len(rest) >= 3 and rest[:2] == b"\x02\x01" else None


def _inside(data: bytes) -> bytes:
    """What is in the SEQUENCE that `data` begins with."""
    if len(data) < 2 or data[0] != 0x30:
        return b""
    return data[2:] if data[1] < 0x80 else data[2 + (data[1] & 0x7F) :]


def check(note: str, answer: bytes, ca_file: str) -> None:
    """Has `openssl ts` check a time stamp over `note` against the certificates in `ca_file`.

    Raises AuditTampered where it does not hold, ChronoError where there is no openssl.
    """
    import subprocess
    import tempfile

    tool = shutil.which("openssl")
    if tool is None:
        raise ChronoError("openssl is not here to check the time stamp", "install it, or check the file elsewhere")
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("note", note.encode("utf-8")), ("answer", answer)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        command = [tool, "ts", "-verify", "-data", "note", "-in", "answer", "-CAfile", os.path.abspath(ca_file)]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode != 0:
        raise AuditTampered("the time stamp does not hold", "ask another authority, or look at its certificates")
