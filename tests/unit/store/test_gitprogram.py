"""Claims about addresses of remotes and about the git program: nothing of the project or the environment steers it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from chrono.errors import RemoteError, UsageError
from chrono.store.gitprogram import REMOTE, Git, address, write_config


@pytest.mark.parametrize(
    ("typed", "protocol"),
    [
        ("https://example.org/a/b.git", "https"),
        ("https://me@example.org:8443/a/b.git", "https"),
        ("ssh://git@example.org/a.git", "ssh"),
        ("ssh://[2001:db8::1]:22/a.git", "ssh"),
        ("git@example.org:a/b.git", "ssh"),
        ("example.org:a.git", "ssh"),
        ("file:///srv/a.git", "file"),
        ("/srv/with space/a.git", "file"),
        ("git://127.0.0.1/a.git", "git"),
        ("http://localhost:8000/a.git", "http"),
    ],
)
def test_ordinary_addresses_are_understood(typed: str, protocol: str) -> None:
    assert address(typed) == (typed, typed, protocol)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "-u/x",
        "--upload-pack=touch /tmp/x",
        "ext::sh -c touch% /tmp/x",
        "fd::17",
        "foo::https://example.org",
        "ssh://-oProxyCommand=touch/x",
        "-oProxyCommand=x:y",
        "me@-host:x",
        "http://example.org/a.git",
        "git://example.org/a.git",
        "http://127.0.0.1.example.org/a.git",
        "ftp://example.org/a",
        "https:///a",
        "https://example.org\n/a",
        "file://host/a",
        "relative/path",
        "ssh://me@example.org@evil/a",
    ],
)
def test_addresses_that_start_programs_or_go_in_clear_are_refused(typed: str) -> None:
    with pytest.raises(UsageError) as error:
        address(typed)
    assert error.value.hint


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("https://me:s3cret@example.org/a", "https://me:[redacted]@example.org/a"),
        ("https://:s3cret@example.org/a", "https://[redacted]@example.org/a"),
        ("https://x-access-token:s3cret@example.org/a", "https://[redacted]@example.org/a"),
        ("https://s3crets3crets3crets3cret@example.org/a", "https://[redacted]@example.org/a"),
        ("ssh://me@example.org/a", "ssh://me@example.org/a"),
    ],
)
def test_a_password_is_never_shown(typed: str, shown: str) -> None:
    assert address(typed).shown == shown and address(typed).text == typed


def bare(folder: Path, url: str) -> Path:
    for name in ("refs", "objects/info", "objects/pack"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "HEAD").write_text("ref: refs/heads/nowhere\n")
    (folder / "config").write_bytes(write_config(address(url)))
    return folder


def git(folder: Path, url: str, **environ: str) -> Git:
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), **environ}
    return Git(str(folder), address(url), given, lambda text: text.replace("hunter2", "***"), person=False)


def test_the_address_reaches_git_whole(tmp_path: Path) -> None:
    for url in ('/srv/we"ird\\ na me.git', "https://me:pa%20ss;#@example.org/a"):
        folder = bare(tmp_path / str(hash(url)), url)
        assert git(folder, url).run("config", f"remote.{REMOTE}.url").decode().rstrip("\n") == url


def test_variables_of_git_in_the_environment_do_not_count(tmp_path: Path) -> None:
    folder = bare(tmp_path / "x", "/srv/a")
    evil = {
        "GIT_SSH_COMMAND": "touch pwned",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.editor",
        "GIT_CONFIG_VALUE_0": "evil",
        "GIT_DIR": "/elsewhere",
        "GIT_TRACE": str(tmp_path / "trace"),
    }
    runner = git(folder, "/srv/a", **evil)
    assert runner.run("rev-parse", "--absolute-git-dir").decode().strip() == str(folder)
    assert runner.run("config", "core.editor", fine=(1,)) == b""
    assert not (tmp_path / "trace").exists()


def test_a_protocol_that_was_not_asked_for_is_not_spoken(tmp_path: Path) -> None:
    """The person's own `insteadOf` may rewrite an address, but not into another protocol."""
    folder = bare(tmp_path / "x", "https://example.org/a")
    (folder / ".gitconfig").write_text('[url "ext::touch pwned "]\n\tinsteadOf = https://example.org/\n')
    with pytest.raises(RemoteError, match="ext"):
        git(folder, "https://example.org/a").run("ls-remote", "--", REMOTE)
    assert not (folder / "pwned").exists()


def test_what_git_says_is_passed_on_without_the_password(tmp_path: Path) -> None:
    folder = bare(tmp_path / "x", "http://me:hunter2@127.0.0.1:9/a")
    with pytest.raises(RemoteError) as error:
        git(folder, "http://me:hunter2@127.0.0.1:9/a").run("ls-remote", "--", REMOTE)
    assert "hunter2" not in error.value.message and "127.0.0.1" in error.value.message and error.value.hint


def test_the_password_is_not_in_the_list_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    real = subprocess.run

    def watch(words: list[str], **given: object) -> object:
        seen.append(words)
        return real(words, **given)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", watch)
    folder = bare(tmp_path / "x", "http://me:hunter2@127.0.0.1:9/a")
    with pytest.raises(RemoteError):
        git(folder, "http://me:hunter2@127.0.0.1:9/a").run("ls-remote", "--", REMOTE)
    assert seen and all("hunter2" not in word for words in seen for word in words)


def test_without_git_it_says_what_to_install(tmp_path: Path) -> None:
    for path in ("", ".:bin", str(tmp_path)):
        with pytest.raises(RemoteError, match="no git program") as error:
            Git(str(tmp_path), address("/srv/a"), {"PATH": path}, str, person=False)
        assert error.value.hint and "install git" in error.value.hint
