"""Claims about proofs that stand without the log."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.audit.proof import HEADER, NotAProof, Proof, newest_checkpoint, parse, prove_in, verified
from chrono.audit.rotation import rotate_key
from chrono.audit.sshagent import openssh_line
from chrono.audit.sshsig import NAMESPACE, sshsig
from chrono.signing import PublicKey, generate, public_key_of_text

from .conftest import BOB, Ground


@pytest.fixture
def log(ground: Ground) -> Ground:
    ground.begin(10)
    return ground


def public(ground: Ground) -> PublicKey:
    return public_key_of_text(Path(ground.place.pub).read_text().strip())


def test_every_record_is_proved_by_a_file_of_its_own(log: Ground) -> None:
    for n, line in enumerate(log.lines()):
        text = prove_in(log.place, n).text
        head, _, note = text.partition("\n\n")
        assert head.split("\n")[:3] == [HEADER, f"extra {base64.b64encode(line).decode()}", f"index {n}"]
        assert note == newest_checkpoint(log.place)
        proved = verified(parse(text), (generate().public, public(log)))
        assert (proved.record.n, proved.record.line, proved.checkpoint.size) == (n, line, 11)
        assert proved.key == public(log)
    with pytest.raises(NotAProof, match="covers records 0 to 10"):
        prove_in(log.place, 11)


def test_whatever_is_changed_in_a_proof_is_noticed(log: Ground) -> None:
    good = prove_in(log.place, 4)
    other = prove_in(log.place, 5)
    keys = (public(log),)
    for bad, why in (
        (good._replace(n=5), "another than the proof is about"),
        (good._replace(line=other.line), "another than the proof is about"),
        (good._replace(path=other.path), "not in the tree"),
        (good._replace(path=good.path[:-1]), "not in the tree"),
        (good._replace(line=good.line.replace(b"echo 3", b"echo 9")), "not in the tree"),
        (good._replace(line=b"{}"), "the record is none"),
        (good._replace(note=good.note.replace("\n11\n", "\n12\n")), "not in the tree|not signed"),
        (good._replace(note="x"), "the checkpoint is none"),
    ):
        with pytest.raises(NotAProof, match=why):
            verified(bad, keys)
    with pytest.raises(NotAProof, match="not signed by a trusted key"):
        verified(good, (generate().public,))
    with pytest.raises(NotAProof, match="no key"):
        verified(good, ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x\n\n",
        f"{HEADER}\nindex 1\n\nx",
        f"{HEADER}\nextra e30=\nindex 01\n\nx",
        f"{HEADER}\nextra e30\nindex 1\n\nx",
        f"{HEADER}\nextra e31=\nindex 1\n\nx",
        f"{HEADER}\nextra e30=\nindex 1\nAAAA\n\nx",
        f"{HEADER}\nextra e30=\nindex {'9' * 5000}\n\nx",
    ],
)
def test_text_that_is_no_proof_is_refused(text: str) -> None:
    with pytest.raises(NotAProof):
        parse(text)


def test_a_proof_from_before_a_rotation_holds_under_the_old_key(log: Ground) -> None:
    old = public(log)
    before = prove_in(log.place, 3)
    rotate_key(log.log, log.home, log.keys, BOB)
    assert verified(before, (old,)).key == old
    after = prove_in(log.place, 3)
    assert verified(after, (old, public(log))).key == public(log)
    with pytest.raises(NotAProof, match="not signed"):
        verified(after, (old,))


def test_a_proof_is_a_value_that_is_read_back() -> None:
    proof = Proof(7, (bytes(32), b"\xff" * 32), "note\n", b"{}")
    assert parse(proof.text) == proof


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
def test_ssh_keygen_verifies_an_exported_checkpoint_and_refuses_a_changed_one(log: Ground, tmp_path: Path) -> None:
    signer = log.log._signer
    assert signer is not None
    note = newest_checkpoint(log.place).encode()
    (tmp_path / "sig").write_text(sshsig(note, signer))
    (tmp_path / "allowed").write_text(f"chrono {openssh_line(signer.public)}\n")
    command = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "chrono", "-n", NAMESPACE, "-s", "sig"]
    for data, code in ((note, 0), (note.replace(b"\n11\n", b"\n12\n"), 255)):
        assert subprocess.run(command, cwd=tmp_path, input=data, capture_output=True).returncode == code


def test_a_log_that_is_not_its_checkpoints_gives_no_proof(log: Ground) -> None:
    """Evidence that proves nothing must not be found out by whoever gets it."""
    lines = log.lines()
    log.write_lines([*lines[:3], lines[4], lines[3], *lines[5:]])
    for n in (0, 3, 10):
        with pytest.raises(NotAProof, match="do not have the root"):
            prove_in(log.place, n)
