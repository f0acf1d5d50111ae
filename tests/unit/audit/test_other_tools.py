"""Claims about strangers' tools: what openssl makes of a record and a checkpoint, by the rules of the format alone."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path

import pytest

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
