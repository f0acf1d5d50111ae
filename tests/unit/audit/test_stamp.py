"""Claims about time stamps, with an authority that openssl makes on the spot."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.audit import stamp, web
from chrono.errors import AuditTampered, ChronoError
from tests.loopback import Loopback, Quiet

NOTE = "chrono.local/ab\n3\nroot\n\n"
CONFIG = """
[tsa]
default_tsa = one
[one]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
[usage]
extendedKeyUsage = critical,timeStamping
[own]
basicConstraints = critical,CA:TRUE
[req]
distinguished_name = name
[name]
"""
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")


def openssl(folder: Path, *words: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["openssl", *words], cwd=folder, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Authority:
    """An RFC 3161 authority on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.spoil = False
        (folder / "config").write_text(CONFIG)
        (folder / "serial").write_text("01\n")
        made = ("-newkey", "rsa:2048", "-nodes", "-config", "config")
        openssl(
            folder,
            "req",
            "-x509",
            *made,
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=ca",
            "-extensions",
            "own",
        )
        openssl(folder, "req", *made, "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=tsa")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "2", "-extfile", "config", "-extensions", "usage")
        openssl(folder, "x509", "-req", "-in", "tsa.csr", *signed, "-out", "tsa.pem")
        authority = self

        class Handler(Quiet):
            def do_POST(self) -> None:
                (folder / "query").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
                openssl(folder, "ts", "-reply", "-config", "config", "-queryfile", "query", "-out", "reply")
                data = b"0" if authority.spoil else (folder / "reply").read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = Loopback(Handler)
        self.url = self._server.url
        self.ca = str(folder / "ca.pem")

    def close(self) -> None:
        self._server.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    served = Authority(tmp_path_factory.mktemp("tsa"))
    yield served
    served.close()


def test_openssl_reads_the_request_and_verifies_the_stamp(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "query").write_bytes(stamp.request(bytes(range(32)), b"\x01" + bytes(8)))
    text = openssl(tmp_path, "ts", "-query", "-in", "query", "-text").decode()
    assert "Hash Algorithm: sha256" in text and "Certificate required: yes" in text
    answer = stamp.stamp(NOTE, authority.url)
    stamp.check(NOTE, answer, authority.ca)
    with pytest.raises(AuditTampered):
        stamp.check(NOTE.replace("3", "4"), answer, authority.ca)
    with pytest.raises(AuditTampered):
        stamp.check(NOTE, answer[:-9] + bytes(9), authority.ca)


def test_another_answer_than_what_was_asked_is_no_stamp(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    other = stamp.stamp(NOTE.replace("3", "4"), authority.url)
    with monkeypatch.context() as patched:
        patched.setattr(stamp, "ask", lambda *_: web.Asked(200, other))
        with pytest.raises(ChronoError, match="something else"):
            stamp.stamp(NOTE, authority.url)
        patched.setattr(stamp, "ask", lambda *_: web.Asked(200, b"\x30\x05\x30\x03\x02\x01\x02"))
        with pytest.raises(ChronoError, match="status 2"):
            stamp.stamp(NOTE, authority.url)
    authority.spoil = True
    with pytest.raises(ChronoError, match="unreadable"):
        stamp.stamp(NOTE, authority.url)
    authority.spoil = False


def test_a_strangers_reader_of_time_stamps_agrees(authority: Authority) -> None:
    client = pytest.importorskip("rfc3161_client")
    answer = stamp.stamp(NOTE, authority.url)
    read = client.decode_timestamp_response(answer)
    import hashlib

    assert read.tst_info.message_imprint.message == hashlib.sha256(NOTE.encode()).digest()
