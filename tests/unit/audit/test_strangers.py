"""Claims about strangers' tools and libraries: each accepts what we wrote, and refuses it where a byte was changed.

What is not on this machine is skipped and named; `scripts/strangers` installs it.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.audit import checkpoint
from chrono.audit.proof import newest_checkpoint, prove_in
from chrono.audit.record import signed_bytes
from chrono.signing import PublicKey, Signer

from .conftest import Ground

GO_PATH = Path("/usr/share/gocode")


@pytest.fixture
def log(ground: Ground) -> Ground:
    ground.begin(12)
    ground.savepoint('é \\ " \x01 \u2028 \U0001f600')
    return ground


def signer(ground: Ground) -> Signer:
    found = ground.log._signer
    assert found is not None
    return found


def public(ground: Ground) -> PublicKey:
    return signer(ground).public


def needs(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not on this machine (scripts/strangers installs it)")
    return found


def test_pynacl_verifies_records_and_checkpoints(log: Ground) -> None:
    signing = pytest.importorskip("nacl.signing")
    exceptions = pytest.importorskip("nacl.exceptions")
    key = signing.VerifyKey(public(log).raw)
    for line in log.lines():
        parts = signed_bytes(line)
        assert parts is not None
        key.verify(parts[0], parts[1])
        with pytest.raises(exceptions.BadSignatureError):
            key.verify(parts[0].replace(b'"bob"', b'"eve"'), parts[1])
    note = newest_checkpoint(log.place)
    ((_, blob),) = checkpoint.parse(note)[1]
    key.verify(note.partition("\n\n")[0].encode() + b"\n", blob[4:])


def test_rfc8785_writes_the_same_bytes(log: Ground) -> None:
    rfc8785 = pytest.importorskip("rfc8785")
    for line in log.lines():
        assert rfc8785.dumps(json.loads(line)) == line


def test_securesystemslib_verifies_records(log: Ground) -> None:
    module = pytest.importorskip("securesystemslib.signer")
    errors = pytest.importorskip("securesystemslib.exceptions")
    kid = public(log).kid
    key = module.SSlibKey(kid, "ed25519", "ed25519", {"public": public(log).raw.hex()})
    for line in log.lines():
        parts = signed_bytes(line)
        assert parts is not None
        key.verify_signature(module.Signature(kid, parts[1].hex()), parts[0])
        with pytest.raises(errors.UnverifiedSignatureError):
            key.verify_signature(module.Signature(kid, parts[1].hex()), parts[0] + b" ")


MERKLE = """
import sys
from pymerkle import InmemoryTree
tree = InmemoryTree(algorithm="sha256")
for line in open(sys.argv[1], "rb"):
    tree.append_entry(line[:-1])
print(tree.get_state().hex())
"""


def test_pymerkle_computes_the_same_root(log: Ground) -> None:
    """In a process of its own: its licence is another than ours."""

    def root() -> str:
        command = [sys.executable, "-c", MERKLE, log.place.log]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "No module named" in done.stderr:
            pytest.skip("pymerkle is not installed (scripts/strangers installs it)")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    wanted = log.verify().root
    assert root() == wanted
    lines = log.lines()
    log.write_lines([*lines[:3], lines[3].replace(b"echo", b"ECHO"), *lines[4:]])
    assert root() != wanted


def test_signify_verifies_a_checkpoint(log: Ground, tmp_path: Path) -> None:
    tool = needs("signify-openbsd")
    text, blob = _text_and_signature(log)
    hint = b"chronokn"
    (tmp_path / "key.pub").write_text(_commented("key", b"Ed" + hint + public(log).raw))
    (tmp_path / "sig").write_text(_commented("signature", b"Ed" + hint + blob))
    for data, good in ((text, True), (text.replace(b"\n14\n", b"\n15\n"), False)):
        (tmp_path / "data").write_bytes(data)
        command = [tool, "-V", "-q", "-p", "key.pub", "-x", "sig", "-m", "data"]
        assert (subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0) is good


def test_minisign_verifies_a_checkpoint(log: Ground, tmp_path: Path) -> None:
    tool = needs("minisign")
    text, blob = _text_and_signature(log)
    hint, comment = b"chronokn", "a checkpoint"
    whole = base64.b64encode(signer(log).sign(blob + comment.encode())).decode()
    key = base64.b64encode(b"Ed" + hint + public(log).raw).decode()
    (tmp_path / "sig").write_text(
        _commented("signature", b"Ed" + hint + blob) + f"trusted comment: {comment}\n{whole}\n"
    )
    for data, good in ((text, True), (text.replace(b"\n14\n", b"\n15\n"), False)):
        (tmp_path / "data").write_bytes(data)
        command = [tool, "-V", "-q", "-P", key, "-x", "sig", "-m", "data"]
        assert (subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0) is good


def _text_and_signature(ground: Ground) -> tuple[bytes, bytes]:
    note = newest_checkpoint(ground.place)
    ((_, blob),) = checkpoint.parse(note)[1]
    return note.partition("\n\n")[0].encode() + b"\n", blob[4:]


def _commented(what: str, data: bytes) -> str:
    return f"untrusted comment: {what}\n{base64.b64encode(data).decode()}\n"


GO = """
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must(err error) {
	if err != nil {
		fmt.Println("FAIL", err)
		os.Exit(20)
	}
}

func main() {
	verifier, err := note.NewVerifier(os.Args[1])
	must(err)
	data, err := os.ReadFile(os.Args[2])
	must(err)
	parts := bytes.SplitN(data, []byte("\\n\\n"), 2)
	head := strings.Split(string(parts[0]), "\\n")
	record, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(head[1], "extra "))
	must(err)
	index, err := strconv.ParseInt(strings.TrimPrefix(head[2], "index "), 10, 64)
	must(err)
	opened, err := note.Open(parts[1], note.VerifierList(verifier))
	must(err)
	lines := strings.Split(opened.Text, "\\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := tlog.ParseHash(lines[2])
	must(err)
	var proof tlog.RecordProof
	for _, text := range head[3:] {
		hash, err := tlog.ParseHash(text)
		must(err)
		proof = append(proof, hash)
	}
	must(tlog.CheckRecord(proof, size, root, index, tlog.RecordHash(record)))
	fmt.Println("OK", index)
}
"""


@pytest.mark.slow
def test_go_verifies_the_note_and_the_proof_of_each_record(log: Ground, tmp_path: Path) -> None:
    tool = needs("go")
    if not (GO_PATH / "src/golang.org/x/mod/sumdb/tlog").is_dir():
        pytest.skip("golang-golang-x-mod-dev is not on this machine (scripts/strangers installs it)")
    (tmp_path / "main.go").write_text(GO)
    environ = {**os.environ, "GO111MODULE": "off", "GOPATH": str(GO_PATH), "GOCACHE": str(tmp_path / "cache")}
    built = subprocess.run([tool, "build", "-o", "check", "main.go"], cwd=tmp_path, env=environ, capture_output=True)
    assert built.returncode == 0, built.stderr
    origin = f"chrono.local/{log.log.log_id}"
    key = public(log)
    typed = base64.b64encode(bytes((1,)) + key.raw).decode()
    vkey = f"{origin}+{checkpoint.key_hash(origin, key).hex()}+{typed}"
    path = tmp_path / "p.tlog-proof"
    for n in range(14):
        proof = prove_in(log.place, n)
        for tried, code in ((proof, 0), (proof._replace(n=(n + 1) % 14), 20), (proof._replace(line=b"{}"), 20)):
            path.write_text(tried.text)
            done = subprocess.run([tmp_path / "check", vkey, path], capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stdout + done.stderr
