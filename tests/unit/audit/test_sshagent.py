"""Claims about keys that an ssh-agent holds, with the real agent."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.audit.keys import KeySettings, find_signer, read_key_file
from chrono.audit.sshagent import openssh_line, openssh_public
from chrono.errors import KeyRefused
from chrono.signing import generate
from tests.waiting import until

from .conftest import Ground

needs_ssh = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="no ssh-agent on this machine")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[KeySettings]:
    """An agent that holds one key, and the settings that name it."""
    sock, key = tmp_path / "s", tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key), "-C", "a key"], check=True)
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    try:
        add, environ = ["ssh-add", "-q", str(key)], {**os.environ, "SSH_AUTH_SOCK": str(sock)}
        until(lambda: subprocess.run(add, env=environ, capture_output=True).returncode == 0)
        yield KeySettings(key_file=f"{key}.pub", agent=str(sock))
    finally:
        process.kill()
        process.wait()


@needs_ssh
def test_an_agent_signs_a_log_that_verifies_like_any_other(ground: Ground, agent: KeySettings) -> None:
    ground.begin(3, keys=agent)
    assert ground.verify(full=True, strict=True).exit_code == 0
    assert not os.listdir(ground.home.keys)
    signer = find_signer(ground.home, agent)
    assert signer is not None
    with pytest.raises(KeyRefused, match="held by an agent"):
        signer.pem()


@needs_ssh
def test_a_key_that_the_agent_does_not_have_is_refused(ground: Ground, agent: KeySettings, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger.pub"
    stranger.write_text(openssh_line(generate().public) + " x\n")
    with pytest.raises(KeyRefused, match="does not sign with key"):
        ground.begin(keys=agent._replace(key_file=str(stranger)))
    with pytest.raises(KeyRefused, match="does not answer"):
        ground.begin(keys=agent._replace(agent=str(tmp_path / "nobody")))
    with pytest.raises(KeyRefused, match="no ssh-agent"):
        ground.begin(keys=agent._replace(agent=None))


def test_openssh_public_keys_are_read_and_checked(tmp_path: Path) -> None:
    key = generate().public
    line = openssh_line(key)
    assert openssh_public(f"{line} bob@box\n".encode()) == key
    weak = openssh_line(key._replace(raw=b"\x01" + bytes(31)))
    for bad in ("ssh-rsa AAAA", "ssh-ed25519", "ssh-ed25519 !!", "ssh-ed25519 AAAA", f"{line}\n{line}", weak):
        with pytest.raises(KeyRefused):
            openssh_public(bad.encode())
    path = tmp_path / "id.pub"
    path.write_text(line)
    with pytest.raises(KeyRefused, match="no ssh-agent"):
        read_key_file(str(path))
