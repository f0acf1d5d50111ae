"""Claims about the signed tree head."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest

from chrono.audit.checkpoint import Checkpoint, NotACheckpoint, key_hash, parse, sign, verified
from chrono.signing import generate, signer_of_seed

LOG = "ab" * 16
SIGNER = signer_of_seed(bytes(range(32)))
POINT = Checkpoint(LOG, 7, bytes(range(32)))


def test_a_checkpoint_is_a_signed_note() -> None:
    note = sign(POINT, SIGNER)
    text, _, signature = note.partition("\n\n")
    assert text.split("\n") == [f"chrono.local/{LOG}", "7", base64.b64encode(bytes(range(32))).decode()]
    dash, name, blob_text = signature.rstrip("\n").split(" ")
    blob = base64.b64decode(blob_text)
    assert (dash, name) == ("—", f"chrono.local/{LOG}")
    assert blob[:4] == sha256(f"chrono.local/{LOG}\n".encode() + b"\x01" + SIGNER.public.raw).digest()[:4]
    assert SIGNER.public.verifies(blob[4:], (text + "\n").encode())


def test_the_key_hash_is_the_one_of_a_published_key() -> None:
    """The verifier key of a public checksum database: `name+hash+key`."""
    name, wanted, key = "sum.golang.org", "033de0ae", "Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
    raw = base64.b64decode(key)
    assert raw[:1] == b"\x01"
    from chrono.signing import public_key

    assert key_hash(name, public_key(raw[1:])).hex() == wanted


def test_what_was_signed_is_read_back() -> None:
    assert verified(sign(POINT, SIGNER), log=LOG, key=SIGNER.public) == POINT


def test_an_unsigned_note_counts_only_where_no_key_is_due() -> None:
    assert verified(sign(POINT, None), log=LOG, key=None) == POINT
    with pytest.raises(NotACheckpoint, match="no signature"):
        verified(sign(POINT, None), log=LOG, key=SIGNER.public)
    with pytest.raises(NotACheckpoint, match="unsigned log"):
        verified(sign(POINT, SIGNER), log=LOG, key=None)


def test_another_key_another_log_and_a_changed_text_are_refused() -> None:
    note = sign(POINT, SIGNER)
    with pytest.raises(NotACheckpoint, match="no signature of key"):
        verified(note, log=LOG, key=generate().public)
    with pytest.raises(NotACheckpoint, match="foreign origin"):
        verified(note, log="cd" * 16, key=SIGNER.public)
    with pytest.raises(NotACheckpoint, match="does not hold"):
        verified(note.replace("\n7\n", "\n8\n"), log=LOG, key=SIGNER.public)


def test_signatures_of_others_are_passed_over() -> None:
    other = generate()
    mine = sign(POINT, SIGNER)
    note = mine + f"— witness.example {base64.b64encode(b'1234' + other.sign(b'x')).decode()}\n"
    assert verified(note, log=LOG, key=SIGNER.public) == POINT


@pytest.mark.parametrize(
    "note",
    [
        "",
        "\n\n",
        "a\nb\n",
        f"chrono.local/{LOG}\n7\nAAAA\n\n",
        f"chrono.local/{LOG}\n07\n{'A' * 43}=\n\n",
        f"chrono.local/{LOG}\n-7\n{'A' * 43}=\n\n",
        f"chrono.local/{LOG}\n٧\n{'A' * 43}=\n\n",
        f"chrono.local/{LOG}\n7\n{'A' * 43}=\nmore\n\n",
        f"chrono.local/{LOG}\n7\n{'A' * 42}B=\n\n",
        f"other.example/{LOG}\n7\n{'A' * 43}=\n\n",
        f"chrono.local/{LOG}\n7\n{'A' * 43}=\n\n- name AAAA\n",
        f"chrono.local/{LOG}\n7\n{'A' * 43}=\n\n— name\n",
        f"chrono.local/{LOG}\n7\n{'A' * 43}=\n\n— name !!!!\n",
        f"chrono.local/{LOG}\n7\n{'A' * 43}=\n\n— name AAAA",
        f"chrono.local/{LOG}\n{'9' * 5000}\n{'A' * 43}=\n\n",
    ],
)
def test_anything_else_is_no_checkpoint(note: str) -> None:
    with pytest.raises(NotACheckpoint):
        parse(note)
