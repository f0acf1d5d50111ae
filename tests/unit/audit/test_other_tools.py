"""Claims about strangers' tools: what openssl makes of a record and a checkpoint, by the rules of the format alone."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from chrono.audit import head

from .conftest import Ground

OPENSSL = shutil.which("openssl")


def openssl_accepts(folder: Path, raw_key: bytes, data: bytes, signature: bytes) -> bool:
    der = bytes.fromhex("302a300506032b6570032100") + raw_key  # SubjectPublicKeyInfo of RFC 8410
    (folder / "key.pem").write_bytes(
        b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(der) + b"\n-----END PUBLIC KEY-----\n"
    )
    (folder / "data").write_bytes(data)
    (folder / "sig").write_bytes(signature)
    command = [str(OPENSSL), "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "data"]
    done = subprocess.run([*command, "-sigfile", "sig"], cwd=folder, capture_output=True, check=False)
    assert b"Verified" in done.stdout or b"Failure" in done.stdout, done.stderr
    return done.returncode == 0


@pytest.mark.skipif(OPENSSL is None, reason="no openssl on this machine")
def test_openssl_verifies_a_record_and_refuses_a_changed_one(ground: Ground, tmp_path: Path) -> None:
    ground.begin(1)
    key = base64.b64decode(Path(ground.place.pub).read_text())
    for line in ground.lines():
        match = re.fullmatch(rb'(.*),"sig":"([A-Za-z0-9+/=]{88})"\}', line)
        assert match is not None
        data, signature = b"chrono-audit-record/v2\n" + match[1] + b"}", base64.b64decode(match[2])
        assert openssl_accepts(tmp_path, key, data, signature)
        assert not openssl_accepts(tmp_path, key, data.replace(b'"bob"', b'"eve"'), signature)
        assert not openssl_accepts(tmp_path, key, data, signature[::-1])


@pytest.mark.skipif(OPENSSL is None, reason="no openssl on this machine")
def test_openssl_verifies_a_checkpoint_and_refuses_a_changed_one(ground: Ground, tmp_path: Path) -> None:
    ground.begin(2)
    key = base64.b64decode(Path(ground.place.pub).read_text())
    with open(ground.place.head, "rb") as file:
        found = head.read(file.fileno())
    assert found is not None
    text, _, signature_line = found.note.partition("\n\n")
    signature = base64.b64decode(signature_line.rstrip("\n").split(" ")[2])[4:]
    data = text.encode() + b"\n"
    assert data.split(b"\n")[1] == b"3"
    assert openssl_accepts(tmp_path, key, data, signature)
    assert not openssl_accepts(tmp_path, key, data.replace(b"\n3\n", b"\n4\n"), signature)


def stranger_verifies(log: bytes, note: str, public: bytes) -> str:
    """A verifier written from the description of the format, which shares no code with the one under test."""
    key = Ed25519PublicKey.from_public_bytes(public)
    stack: list[tuple[int, bytes]] = []
    previous, log_id = "0" * 64, ""
    for n, line in enumerate(log.split(b"\n")[:-1]):
        record = json.loads(line)
        log_id = log_id or record["log"]
        if (record["n"], record["prev"], record["log"], record["fmt"]) != (n, previous, log_id, 2):
            return f"record {n} does not continue the log"
        signature = base64.b64decode(record.pop("sig"))
        body = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if body[:-1] + b',"sig":"' + base64.b64encode(signature) + b'"}' != line:
            return f"record {n} is not canonical"
        try:
            key.verify(signature, b"chrono-audit-record/v2\n" + body)
        except InvalidSignature:
            return f"the signature of record {n} does not hold"
        leaf = sha256(b"\0" + line).digest()
        previous = leaf.hex()
        stack.append((1, leaf))
        while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
            (count, right), (_, left) = stack.pop(), stack.pop()
            stack.append((2 * count, sha256(b"\1" + left + right).digest()))
    size, root = sum(count for count, _ in stack), stack[-1][1]
    for _, left in reversed(stack[:-1]):
        root = sha256(b"\1" + left + root).digest()
    text, _, last = note.partition("\n\n")
    if text.split("\n") != [f"chrono.local/{log_id}", str(size), base64.b64encode(root).decode()]:
        return "the checkpoint is of another tree"
    blob = base64.b64decode(last.split(" ")[2])
    name_hash = sha256(f"chrono.local/{log_id}\n\x01".encode() + public).digest()[:4]
    key.verify(blob[4:], (text + "\n").encode())
    return "ok" if blob[:4] == name_hash else "another key"


def test_a_verifier_written_from_the_description_agrees(ground: Ground) -> None:
    ground.begin(20)
    ground.savepoint('é \\ " \x01 \u2028')
    public = base64.b64decode(Path(ground.place.pub).read_text())
    with open(ground.place.head, "rb") as file:
        found = head.read(file.fileno())
    assert found is not None
    data = Path(ground.place.log).read_bytes()
    assert stranger_verifies(data, found.note, public) == "ok"
    assert (
        stranger_verifies(data.replace(b"echo 7", b"echo 9"), found.note, public)
        == "the signature of record 8 does not hold"
    )
    lines = data.split(b"\n")
    assert stranger_verifies(b"\n".join(lines[:-2]) + b"\n", found.note, public) == "the checkpoint is of another tree"
