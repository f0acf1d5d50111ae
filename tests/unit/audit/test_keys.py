"""Claims about where the signing key comes from, which keys are refused, and the pin."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from chrono.audit.keys import KeySettings, find_signer, read_key_file, settings, without_secrets
from chrono.audit.pin import Pin, pin_of_path, read_pin, remove_pin, write_pin
from chrono.errors import AuditUnverifiable, KeyRefused, UsageError
from chrono.layout import HomeLayout
from chrono.signing import generate, signer_of_seed

SEED = bytes(range(32))


@pytest.fixture
def home(tmp_path: Path) -> HomeLayout:
    found = HomeLayout(str(tmp_path))
    os.makedirs(found.trust)
    return found


def key_file(path: Path, data: bytes, mode: int = 0o600) -> str:
    path.write_bytes(data)
    path.chmod(mode)
    return str(path)


def test_a_key_is_made_once_and_only_where_asked(home: HomeLayout) -> None:
    with pytest.raises(KeyRefused, match="no signing key"):
        find_signer(home, KeySettings())
    made = find_signer(home, KeySettings(), create=True)
    assert made is not None
    assert os.stat(home.audit_key).st_mode & 0o777 == 0o600
    found = find_signer(home, KeySettings(), create=True)
    assert found is not None
    assert found.public == made.public


def test_the_environment_names_the_key() -> None:
    home = HomeLayout("/nowhere")
    seed = base64.b64encode(SEED).decode()
    wanted = signer_of_seed(SEED).public
    pem = signer_of_seed(SEED).pem().decode()
    for text in (seed, f" {seed}\n", pem):
        found = find_signer(home, settings({"CHRONO_AUDIT_KEY": text}))
        assert found is not None
        assert found.public == wanted


def test_the_environment_names_a_key_file(home: HomeLayout, tmp_path: Path) -> None:
    path = key_file(tmp_path / "k", signer_of_seed(SEED).pem())
    found = find_signer(home, settings({"CHRONO_AUDIT_KEY_FILE": path}))
    assert found is not None
    assert found.public == signer_of_seed(SEED).public


@pytest.mark.parametrize("text", ["x", "AAAA", "-----BEGIN x", base64.b64encode(bytes(31)).decode(), "\udcff", "é"])
def test_an_invalid_key_in_the_environment_is_an_error_and_not_shown(home: HomeLayout, text: str) -> None:
    find_signer(home, KeySettings(), create=True)
    with pytest.raises(KeyRefused) as caught:
        find_signer(home, settings({"CHRONO_AUDIT_KEY": text}))
    assert len(text) < 5 or text not in str(caught.value)


def test_a_strangers_program_gets_neither_key_nor_passphrase() -> None:
    environ = {"CHRONO_AUDIT_KEY": "secret", "CHRONO_AUDIT_PASSPHRASE": "hunter2", "PATH": "x"}
    assert without_secrets(environ) == {"PATH": "x"}


def test_a_key_is_not_shown_by_its_settings() -> None:
    assert "hunter2" not in repr(settings({"CHRONO_AUDIT_KEY": "hunter2"}))


def test_requiring_and_forbidding_signatures_is_a_contradiction() -> None:
    with pytest.raises(UsageError, match="contradict"):
        settings({"CHRONO_AUDIT_REQUIRE_KEY": "1", "CHRONO_AUDIT_UNSIGNED": "1"})
    with pytest.raises(UsageError, match="neither 0 nor 1"):
        settings({"CHRONO_AUDIT_UNSIGNED": "yes"})


def test_trusted_keys_are_read_and_checked() -> None:
    one, two = generate().public, generate().public
    assert settings({"CHRONO_AUDIT_TRUSTED_KEYS": f"{one.text}, {two.text}"}).trusted == (one, two)
    with pytest.raises(KeyRefused, match="small order"):
        settings({"CHRONO_AUDIT_TRUSTED_KEYS": base64.b64encode(b"\x01" + bytes(31)).decode()})


def test_key_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    pem = generate().pem()
    good = key_file(tmp_path / "good", pem)
    rsa_pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "link").symlink_to(good)
    os.mkfifo(tmp_path / "fifo", 0o600)
    os.mkdir(tmp_path / "folder")
    refused = {
        str(tmp_path / "link"): "symbolic link",
        str(tmp_path / "fifo"): "not a plain file",
        str(tmp_path / "folder"): "not a plain file",
        str(tmp_path / "none"): "No such file",
        key_file(tmp_path / "group", pem, 0o640): "others can read",
        key_file(tmp_path / "world", pem, 0o604): "others can read",
        key_file(tmp_path / "trailing", pem + b"x"): "bytes after",
        key_file(tmp_path / "rsa", rsa_pem): "not an Ed25519",
        key_file(tmp_path / "long", pem + b"\n" * 20_000): "too long",
        key_file(tmp_path / "empty", b""): "exactly one PEM block",
    }
    read_key_file(good)
    for path, why in refused.items():
        with pytest.raises(KeyRefused, match=why):
            read_key_file(path)


def test_a_key_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = key_file(tmp_path / "k", generate().pem())
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.raises(KeyRefused, match="belongs to uid"):
        read_key_file(path)


@pytest.mark.parametrize("path", ["/home/bob/x", "/home/b%20b/é", "/home/caf\udce9/%", "/%25%ZZ"])
def test_a_pin_is_read_back_whatever_its_path(home: HomeLayout, path: str) -> None:
    pin = Pin("ab" * 16, generate().public, path, 42, 3)
    write_pin(home, pin)
    assert read_pin(home, pin.log) == pin
    assert pin_of_path(home, path) == pin
    assert pin_of_path(home, "/elsewhere") is None
    remove_pin(home, pin.log)
    assert read_pin(home, pin.log) is None
    remove_pin(home, pin.log)


def test_a_damaged_pin_is_no_pin_and_no_silence(home: HomeLayout) -> None:
    log = "ab" * 16
    write_pin(home, Pin(log, None, "/x", 1))
    good = Path(home.pin(log)).read_bytes()
    for data in (b"", b"{}", good[:-3], good.replace(log.encode(), b"cd" * 16), good.replace(b'"ino":1', b'"ino":"1"')):
        Path(home.pin(log)).write_bytes(data)
        with pytest.raises(AuditUnverifiable, match="cannot be used"):
            read_pin(home, log)
    os.unlink(home.pin(log))
    Path(home.pin(log)).symlink_to("/etc/passwd")
    with pytest.raises(AuditUnverifiable):
        read_pin(home, log)
    os.unlink(home.pin(log))
    os.mkdir(home.pin(log))
    with pytest.raises(AuditUnverifiable):
        read_pin(home, log)
    assert pin_of_path(home, "/x") is None


def test_a_pin_of_a_weak_key_is_refused(home: HomeLayout) -> None:
    log = "ab" * 16
    weak = base64.b64encode(b"\x01" + bytes(31)).decode()
    Path(home.pin(log)).write_text(f'{{"from":0,"ino":1,"log":"{log}","path":"/x","pub":"{weak}"}}\n')
    with pytest.raises(KeyRefused, match="small order"):
        read_pin(home, log)


def test_a_passphrase_locks_the_key_file(home: HomeLayout, tmp_path: Path) -> None:
    locked = settings({"CHRONO_AUDIT_PASSPHRASE": "höhle"})
    made = find_signer(home, locked, create=True)
    assert made is not None
    assert b"ENCRYPTED" in Path(home.audit_key).read_bytes()
    found = find_signer(home, locked)
    assert found is not None
    assert found.public == made.public
    for given, why in (({}, "needs a passphrase"), ({"CHRONO_AUDIT_PASSPHRASE": "x"}, "wrong passphrase")):
        with pytest.raises(KeyRefused, match=why) as caught:
            find_signer(home, settings(given))
        assert "CHRONO_AUDIT_PASSPHRASE" in (caught.value.hint or "")
    open_key = key_file(tmp_path / "open", signer_of_seed(SEED).pem())
    assert read_key_file(open_key, locked).public == signer_of_seed(SEED).public


def test_a_passphrase_is_not_shown_by_its_settings() -> None:
    assert "hunter2" not in repr(settings({"CHRONO_AUDIT_PASSPHRASE": "hunter2"}))
