"""Owns signing through an ssh-agent: the key never enters this process.

An agent's Ed25519 signature is a plain one over the bytes it is given (draft-miller-ssh-agent, RFC 8709), so a record
signed this way verifies like any other. Which key signs is left to `audit.keys`.
"""

from __future__ import annotations

import binascii
import socket
import struct

from chrono.errors import KeyRefused
from chrono.signing import PublicKey, Signer, public_key

_SIGN_REQUEST, _SIGN_RESPONSE = 13, 14
_KIND = b"ssh-ed25519"
_TIMEOUT_S = 10.0
_MAX_ANSWER = 4096
_HINT = "ssh-add the key, and keep SSH_AUTH_SOCK set"


class _AgentKey:
    """A key that the agent on `socket_path` holds."""

    def __init__(self, socket_path: str, public: PublicKey) -> None:
        self._socket = socket_path
        self._public = public

    def sign(self, data: bytes) -> bytes:
        """64 bytes over `data`, checked before they are believed. Raises KeyRefused."""
        blob = _string(_KIND) + _string(self._public.raw)
        request = bytes((_SIGN_REQUEST,)) + _string(blob) + _string(data) + struct.pack(">I", 0)
        answer = self._ask(_string(request))
        signature = b""
        if answer[:1] == bytes((_SIGN_RESPONSE,)):
            inner, _ = _take(answer[1:])
            kind, rest = _take(inner)
            signature, _ = _take(rest) if kind == _KIND else (b"", b"")
        if not self._public.verifies(signature, data):
            raise KeyRefused(f"the ssh-agent does not sign with key {self._public.kid}", _HINT)
        return signature

    def _ask(self, request: bytes) -> bytes:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
                agent.settimeout(_TIMEOUT_S)
                agent.connect(self._socket)
                agent.sendall(request)
                size = struct.unpack(">I", _exactly(agent, 4))[0]
                return _exactly(agent, min(size, _MAX_ANSWER))
        except OSError as error:
            why = error.strerror or str(error)
            raise KeyRefused(f"the ssh-agent at {self._socket} does not answer: {why.lower()}", _HINT) from None


def agent_signer(text: bytes, socket_path: str | None) -> Signer:
    """A signer for the OpenSSH public key `text` (one line of an `id_ed25519.pub`). Raises KeyRefused."""
    public = openssh_public(text)
    if not socket_path:
        raise KeyRefused("the key file holds a public key, and there is no ssh-agent (SSH_AUTH_SOCK)", _HINT)
    return Signer(_AgentKey(socket_path, public), public)


def openssh_public(text: bytes) -> PublicKey:
    """The key of one line `ssh-ed25519 BASE64 [comment]`. Raises KeyRefused."""
    words = text.split()
    if text.strip().count(b"\n") or len(words) < 2 or words[0] != _KIND:
        raise KeyRefused("the key is not one line of an OpenSSH Ed25519 public key")
    try:
        blob = binascii.a2b_base64(words[1], strict_mode=True)
    except binascii.Error:
        raise KeyRefused("the OpenSSH public key is malformed") from None
    kind, rest = _take(blob)
    raw, left = _take(rest)
    if kind != _KIND or left:
        raise KeyRefused("the OpenSSH public key is malformed")
    return public_key(raw)


def openssh_line(key: PublicKey) -> str:
    """`ssh-ed25519 BASE64`, as authorized_keys and allowed_signers want it."""
    blob = _string(_KIND) + _string(key.raw)
    return f"{_KIND.decode()} {binascii.b2a_base64(blob, newline=False).decode('ascii')}"


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take(data: bytes) -> tuple[bytes, bytes]:
    """The first string of `data` and the rest; empty where it is cut off."""
    if len(data) < 4:
        return b"", b""
    size = struct.unpack_from(">I", data)[0]
    return data[4 : 4 + size], data[4 + size :]


def _exactly(agent: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = agent.recv(size - len(data))
        if not part:
            raise OSError("it hung up")
        data += part
    return data
