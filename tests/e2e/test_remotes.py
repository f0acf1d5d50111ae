"""Claims about remotes over real transports: git's own daemon, ssh's way of starting programs, https's smart server."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from tests.loopback import Loopback, Quiet, held_port
from tests.waiting import LONG_S, until

ROOT = Path(__file__).resolve().parents[2]
GIT = shutil.which("git") or ""


def chrono(*words: str, cwd: Path, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "chrono", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CHRONO_HOME": str(home), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "big").write_bytes(os.urandom(1 << 20))
    assert chrono("init", cwd=root, home=tmp_path / "h1").returncode == 0
    return root


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "srv" / "there.git"
    folder.mkdir(parents=True)
    subprocess.run([GIT, "init", "-q", "--bare", folder], check=True)
    return folder


def round_trip(url: str, project: Path, tmp_path: Path, **more: str) -> None:
    """Pushes, clones on another machine, changes there, pushes, and fetches here."""
    one, two = tmp_path / "h1", tmp_path / "h2"
    ran = chrono("remote", "add", "origin", url, cwd=project, home=one, **more)
    assert ran.returncode == 0, ran.stderr
    ran = chrono("push", cwd=project, home=one, **more)
    assert ran.returncode == 0, ran.stderr
    ran = chrono("clone", url, "copy", cwd=tmp_path, home=two, **more)
    assert ran.returncode == 0, ran.stderr
    copy = tmp_path / "copy"
    assert (copy / "big").read_bytes() == (project / "big").read_bytes()
    (copy / "theirs").write_text("x")
    assert chrono("snapshot", cwd=copy, home=two).returncode == 0
    ran = chrono("push", cwd=copy, home=two, **more)
    assert ran.returncode == 0, ran.stderr
    ran = chrono("fetch", cwd=project, home=one, **more)
    assert ran.returncode == 0 and "verified" in ran.stdout, ran.stderr
    assert chrono("audit", "--verify", "--strict", cwd=project, home=one).returncode == 0
    assert chrono("audit", "--verify", "--strict", cwd=copy, home=two).returncode == 0


def test_a_file_url_goes_round(project: Path, there: Path, tmp_path: Path) -> None:
    round_trip(f"file://{there}", project, tmp_path)


@pytest.fixture
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


@pytest.fixture
def daemon(there: Path, port: int) -> Iterator[str]:
    process = subprocess.Popen(
        [
            GIT,
            "daemon",
            "--reuseaddr",
            "--listen=127.0.0.1",
            f"--port={port}",
            f"--base-path={there.parent}",
            "--export-all",
            "--enable=receive-pack",
            "--informative-errors",
        ],
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    until(answers)
    yield f"git://127.0.0.1:{port}"
    process.terminate()
    process.wait(LONG_S)


@pytest.mark.slow
def test_gits_own_daemon_goes_round(project: Path, daemon: str, tmp_path: Path) -> None:
    round_trip(f"{daemon}/there.git", project, tmp_path)
    ran = chrono("clone", f"{daemon}/nothing.git", "other", cwd=tmp_path, home=tmp_path / "h3")
    assert ran.returncode == 1 and "bare repository" in ran.stderr and not (tmp_path / "other").exists()


@pytest.mark.slow
def test_ssh_goes_round(project: Path, there: Path, tmp_path: Path) -> None:
    """A program called ssh runs what it is asked to, as a server would after the login."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    log = tmp_path / "ssh.log"
    (bin_folder / "ssh").write_text(
        '#!/bin/sh\nfor word; do last="$word"; done\n'
        f'echo "$*" >> {log}\ncase "$1" in -G) exit 1;; esac\nexec sh -c "$last"\n'
    )
    (bin_folder / "ssh").chmod(0o755)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    round_trip(f"git@backup.example:{there}", project, tmp_path, PATH=path, GIT_SSH_COMMAND="false", GIT_SSH="false")
    assert "git@backup.example" in log.read_text() and "git-receive-pack" in log.read_text()


class Smart(Quiet):
    """git's smart http, by git's own program."""

    root = ""
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        given = self.headers.get("Authorization", "")
        self.seen.append(given)
        if not given.startswith("Basic "):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            [GIT, "http-backend"],
            input=body,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": self.root,
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "me",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
            capture_output=True,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        rows = dict(row.split(": ", 1) for row in head.decode().split("\r\n"))
        self.send_response(int(rows.pop("Status", "200").split()[0]))
        for name, value in rows.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def web(there: Path) -> Iterator[str]:
    Smart.root, Smart.seen = str(there.parent), []
    with Loopback(Smart) as server:
        yield f"{server.host}/there.git"


@pytest.mark.slow
def test_a_web_server_with_a_password_goes_round(project: Path, web: str, tmp_path: Path) -> None:
    round_trip(f"http://me:hunter2-hunter2@{web}", project, tmp_path)
    assert any(given for given in Smart.seen)
    for root in (project, tmp_path / "copy"):
        for base, _, files in os.walk(root / ".chrono"):
            for name in files:
                assert b"hunter2" not in Path(base, name).read_bytes(), name


def test_without_the_password_it_says_so_and_does_not_wait(project: Path, web: str, tmp_path: Path) -> None:
    chrono("remote", "add", "origin", f"http://{web}", cwd=project, home=tmp_path / "h1")
    ran = chrono("push", cwd=project, home=tmp_path / "h1")  # waiting for an answer, it would wait for ever
    assert ran.returncode == 1 and "log in first" in ran.stderr
