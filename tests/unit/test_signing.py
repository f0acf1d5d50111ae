"""Claims about keys and signatures: the test vectors of RFC 8032, and the keys that are refused."""

from __future__ import annotations

import base64
import copy
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from chrono import signing
from chrono.errors import KeyRefused
from chrono.signing import (
    PublicKey,
    generate,
    public_key,
    public_key_of_text,
    signer_of_pem,
    signer_of_seed,
)

L = 2**252 + 27742317777372353535851937790883648493
P = 2**255 - 19

# RFC 8032 section 7.1, tests 1 to 3
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("seed", "public", "message", "signature"), VECTORS)
def test_signatures_are_those_of_rfc_8032(seed: str, public: str, message: str, signature: str) -> None:
    signer = signer_of_seed(bytes.fromhex(seed))
    assert signer.public.raw.hex() == public
    assert signer.sign(bytes.fromhex(message)).hex() == signature
    assert signer.public.verifies(bytes.fromhex(signature), bytes.fromhex(message))
    assert not signer.public.verifies(bytes.fromhex(signature), b"other")


def test_a_signature_in_another_form_is_refused() -> None:
    signer = generate()
    good = signer.sign(b"x")
    s = int.from_bytes(good[32:], "little")
    malleated = good[:32] + (s + L).to_bytes(32, "little")
    assert signer.public.verifies(good, b"x")
    assert not signer.public.verifies(malleated, b"x")
    for bad in (b"", good[:-1], good + b"\0", bytes(64), good[:32] + bytes(32), b"\xff" * 64):
        assert not signer.public.verifies(bad, b"x")


def small_order_points() -> list[bytes]:
    """Every encoding of a point whose order divides 8, found by arithmetic and not from a list."""
    d = -121665 * pow(121666, -1, P) % P

    def x_of(y: int) -> int | None:
        square = (y * y - 1) * pow(d * y * y + 1, -1, P) % P
        x = pow(square, (P + 3) // 8, P)
        if (x * x - square) % P:
            x = x * pow(2, (P - 1) // 4, P) % P
        return None if (x * x - square) % P else x

    def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        common = d * a[0] * b[0] * a[1] * b[1] % P
        return (
            (a[0] * b[1] + b[0] * a[1]) * pow(1 + common, -1, P) % P,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - common, -1, P) % P,
        )

    def times(n: int, point: tuple[int, int]) -> tuple[int, int]:
        result = (0, 1)
        for bit in bin(n)[2:]:
            result = add(result, result)
            result = add(result, point) if bit == "1" else result
        return result

    found: set[tuple[int, int]] = set()
    y = 2
    while len(found) < 8:  # L times any point has an order that divides 8
        y += 1
        x = x_of(y)
        if x is not None:
            step = times(L, (x, y))
            found |= {times(n, step) for n in range(8)}
    return [(y | ((x & 1) << 255)).to_bytes(32, "little") for x, y in found]


def test_every_point_of_small_order_is_refused() -> None:
    points = small_order_points()
    assert len(points) == 8
    for raw in points:
        for sign in (0, 0x80):
            with pytest.raises(KeyRefused, match="small order"):
                public_key(raw[:31] + bytes((raw[31] & 0x7F | sign,)))


def test_a_small_order_key_would_pass_a_forgery() -> None:
    """Why the check is ours to make: the library takes a signature that nobody made."""
    raw = b"\x01" + bytes(31)
    forged = raw + bytes(32)
    Ed25519PublicKey.from_public_bytes(raw).verify(forged, b"any message")
    with pytest.raises(KeyRefused):
        public_key(raw)


@pytest.mark.parametrize("y", [P, P + 1, P + 5, 2**255 - 1])
def test_a_key_in_another_form_is_refused(y: int) -> None:
    for sign in (0, 1 << 255):
        with pytest.raises(KeyRefused, match="canonical"):
            public_key((y | sign).to_bytes(32, "little"))


@pytest.mark.parametrize("text", ["", "AAAA", "!", base64.b64encode(bytes(33)).decode()])
def test_a_public_key_is_base64_of_32_bytes(text: str) -> None:
    with pytest.raises(KeyRefused):
        public_key_of_text(text)


def test_a_public_key_comes_back_from_its_text() -> None:
    key = generate().public
    assert public_key_of_text(key.text) == key
    assert len(key.kid) == 32


def test_a_key_never_shows_itself_and_is_not_copied() -> None:
    signer = signer_of_seed(bytes(range(32)))
    assert bytes(range(32)).hex() not in repr(signer)
    assert signer.public.kid in repr(signer)
    with pytest.raises(TypeError):
        pickle.dumps(signer)
    with pytest.raises(TypeError):
        copy.copy(signer)


def test_a_key_comes_back_from_its_pem() -> None:
    signer = generate()
    assert signer_of_pem(signer.pem()).public == signer.public
    assert signer_of_pem(signer.pem(b"open"), b"open").public == signer.public


def test_pem_is_refused_with_the_reason_and_without_the_key() -> None:
    pem = generate().pem()
    other = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for data, why in [
        (b"", "exactly one PEM block"),
        (b"x" + pem, "exactly one PEM block"),
        (pem + pem, "exactly one PEM block"),
        (pem + b"trailing", "bytes after"),
        (pem.rstrip(b"\n") + b" trailing-----", "bytes after"),
        (other, "not an Ed25519 key"),
        (pem.replace(b"MC4C", b"MC4D"), "cannot be read"),
        (generate().pem(b"open"), "needs a passphrase"),
    ]:
        with pytest.raises(KeyRefused, match=why) as caught:
            signer_of_pem(data)
        secret = pem.split(b"\n")[1].decode()
        assert secret not in str(caught.value)
    with pytest.raises(KeyRefused, match="wrong passphrase"):
        signer_of_pem(generate().pem(b"open"), b"shut")
    with pytest.raises(KeyRefused, match="has no passphrase"):
        signer_of_pem(pem, b"shut")


def test_a_seed_has_32_bytes() -> None:
    with pytest.raises(KeyRefused, match="32 bytes"):
        signer_of_seed(b"short")


def test_importing_the_log_costs_neither_cryptography_nor_a_yaml_reader() -> None:
    code = (
        "import sys, chrono.audit.log, chrono.audit.verify, chrono.signing\n"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('cryptography', 'ruamel', 'pygit2', 'typer', 'pathlib', 'importlib.metadata', 'subprocess')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_keys_are_values() -> None:
    key = generate().public
    assert PublicKey(key.raw) == key
    assert len({key, PublicKey(key.raw)}) == 1


# RFC 8410 section 10.3
PLAIN = b"""-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
"""


def test_the_key_of_rfc_8410_is_read_however_its_lines_are_cut() -> None:
    public = base64.b64decode("Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=")
    assert signer_of_pem(PLAIN).public.raw == public
    assert signer_of_pem(PLAIN.replace(b"\n", b"\r\n")).public.raw == public
    assert signer_of_pem(PLAIN.replace(b"BCIE", b"BC\nIE")).public.raw == public
    assert signer_of_pem(PLAIN.replace(b"BCIE", b"BC  IE")).public.raw == public  # the general reader's business


def test_a_plain_key_is_read_without_the_general_reader() -> None:
    code = (
        "import sys; from chrono.signing import signer_of_pem;"
        f" signer_of_pem({PLAIN!r}).sign(b'x');"
        " print([name for name in sys.modules if name.endswith('.serialization')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_signing_and_verifying_load_the_compiled_half_only() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from chrono.signing import signer_of_pem\n"
        f"signer = signer_of_pem({PLAIN!r})\n"
        "signature = signer.sign(b'x')\n"
        "print(signer.public.verifies(signature, b'x'), 'typing' in sys.modules, 'cryptography.utils' in sys.modules)\n"
        "print(signer.public.verifies(signature, b'y'))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False False\nFalse\n"


def test_where_the_compiled_half_lies_elsewhere_the_public_classes_make_the_same_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = signer_of_pem(PLAIN)
    signing._makers.cache_clear()
    signing._loaded.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.bindings._rust", ModuleType("elsewhere"))
    try:
        slow = signer_of_pem(PLAIN)
        signature = slow.sign(b"x")
        assert signing._makers().private.__qualname__.startswith("Ed25519PrivateKey.")
        assert (slow.public, signature) == (quick.public, quick.sign(b"x"))
        assert slow.public.verifies(signature, b"x") and not slow.public.verifies(signature, b"y")
    finally:
        signing._makers.cache_clear()
        signing._loaded.cache_clear()
