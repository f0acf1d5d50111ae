"""Claims about short hashes: they are those of `hashlib`, whatever the size, and OpenSSL is not loaded for them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.digest import LARGE_BYTES, sha1, sha256


@pytest.mark.parametrize("data", [b"", b"a", b"x" * 800, bytes(range(256)) * 9, b"y" * LARGE_BYTES, bytearray(70_000)])
def test_hashes_are_those_of_hashlib(data: bytes) -> None:
    assert sha256(data).digest() == hashlib.sha256(data).digest()
    assert sha1(data).hexdigest() == hashlib.sha1(data).hexdigest()


def test_a_hash_can_be_gone_on_with() -> None:
    digest = sha256(b"one")
    digest.update(b"two")
    assert digest.hexdigest() == hashlib.sha256(b"onetwo").hexdigest()


def test_openssl_is_not_loaded_for_a_short_text() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from chrono.digest import sha1, sha256\n"
        "sha256(b'x').digest(), sha1(b'x').digest()\n"
        "print('_hashlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
