"""Every failure of the hook blocks, in this process and through the resident service, and says what to do."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.hooked import Hooked, Said, kill_child
from tests.waiting import LONG_S

NEEDS_ROOM = 200_000


@pytest.fixture(params=["in process", "service"])
def hooked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hooked]:
    made = Hooked(tmp_path, service="off")
    made.chrono("init")
    if request.param == "service":
        made.environ["CHRONO_SERVICE"] = "auto"
        assert made.bash("ls").exit_code == 0
        made.service_pid()
    yield made
    made.end()


def served(hooked: Hooked) -> bool:
    return hooked.environ["CHRONO_SERVICE"] == "auto"


def refused(said: Said) -> str:
    """The reason; asserts that every client that knows the protocol would stop."""
    assert said.exit_code == 2, said
    assert said.stderr.strip(), said
    if said.stdout:
        answer = json.loads(said.stdout)["hookSpecificOutput"]
        assert answer["hookEventName"] == "PreToolUse"
        assert answer["permissionDecision"] == "deny"
    return said.stderr


def test_the_control_runs(hooked: Hooked) -> None:
    assert hooked.bash("touch x") == Said(0, "", "")


@pytest.mark.parametrize("payload", [b"", b"{", b"null", b"\xff\xfe", b"{}", b'{"hook_event_name": "PreToolUse"}'])
def test_bad_input(hooked: Hooked, payload: bytes) -> None:
    assert "could not check" in refused(hooked.fire(payload))


def test_input_that_is_cut(hooked: Hooked) -> None:
    assert "not JSON" in refused(hooked.fire(hooked.payload("Bash", {"command": "ls"})[:-9]))


def test_closed_input(hooked: Hooked) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", "exec <&-; " + hooked.hook_command()],
        cwd=hooked.project,
        env=hooked.environ,
        capture_output=True,
        text=True,
    )
    assert "standard input is closed" in refused(Said(done.returncode, done.stdout, done.stderr))


def test_closed_output(hooked: Hooked) -> None:
    for what in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            ["/bin/sh", "-c", f"({hooked.hook_command()}) {what}"],
            cwd=hooked.project,
            env=hooked.environ,
            capture_output=True,
            input=hooked.payload("Bash", {"command": "curl x | sh"}),
        )
        assert done.returncode == 2
    hooked.chrono("audit", "--verify")


def test_a_broken_policy(hooked: Hooked) -> None:
    (hooked.project / "chrono-policy.yaml").write_text("thresholds: {block: lots}\n")
    assert "policy" in refused(hooked.bash("ls"))
    (hooked.project / "chrono-policy.yaml").unlink()
    assert hooked.bash("ls").exit_code == 0


def test_an_unreadable_policy(hooked: Hooked) -> None:
    policy = hooked.project / "chrono-policy.yaml"
    for make in (lambda: os.mkfifo(policy), policy.mkdir, lambda: policy.symlink_to("/etc/passwd")):
        make()
        assert "policy" in refused(hooked.bash("ls"))
        policy.rmdir() if policy.is_dir() and not policy.is_symlink() else policy.unlink()


def test_a_missing_key(hooked: Hooked) -> None:
    key = hooked.chrono_home / "keys" / "audit.pem"
    if served(hooked):
        hooked.kill_service()
    key.rename(key.with_suffix(".away"))
    assert "key" in refused(hooked.bash("ls"))


def test_a_key_that_others_can_read(hooked: Hooked) -> None:
    if served(hooked):
        hooked.kill_service()
    (hooked.chrono_home / "keys" / "audit.pem").chmod(0o644)
    assert "chmod 600" in refused(hooked.bash("ls"))


def test_a_key_in_the_environment_that_is_none(hooked: Hooked) -> None:
    reason = refused(hooked.bash("ls", CHRONO_AUDIT_KEY="nonsense"))
    assert "CHRONO_AUDIT_KEY" in reason
    assert "nonsense" not in reason


def test_contradicting_settings(hooked: Hooked) -> None:
    refused(hooked.bash("ls", CHRONO_AUDIT_REQUIRE_KEY="1", CHRONO_AUDIT_UNSIGNED="1"))


def test_no_home(hooked: Hooked) -> None:
    assert "CHRONO_HOME" in refused(hooked.bash("ls", HOME="/proc/nowhere", XDG_STATE_HOME=""))
    assert "CHRONO_HOME" in refused(hooked.bash("ls", CHRONO_HOME="relative"))


def test_an_emptied_log(hooked: Hooked) -> None:
    assert hooked.bash("ls").exit_code == 0  # a service has it open now
    log = hooked.project / ".chrono" / "audit.jsonl"
    before = log.read_bytes()
    log.write_bytes(b"")
    assert "first record" in refused(hooked.bash("touch x"))
    assert log.read_bytes() == b""
    log.write_bytes(before)
    assert hooked.chrono("audit", "--verify", code=20).exit_code == 20  # that it was empty is not forgotten


def test_a_log_that_is_gone(hooked: Hooked) -> None:
    (hooked.project / ".chrono" / "audit.jsonl").unlink()
    refused(hooked.bash("touch x"))


def test_a_log_that_is_a_link_or_a_fifo(hooked: Hooked) -> None:
    log = hooked.project / ".chrono" / "audit.jsonl"
    log.rename(log.with_suffix(".away"))
    log.symlink_to(log.with_suffix(".away"))
    refused(hooked.bash("touch x"))
    log.unlink()
    os.mkfifo(log)
    refused(hooked.bash("touch x"))


def test_a_held_lock(hooked: Hooked) -> None:
    from chrono.files import file_lock

    with file_lock(str(hooked.project / ".chrono" / "audit.lock"), timeout_s=LONG_S):
        assert "locked" in refused(hooked.bash("ls"))
    with file_lock(str(hooked.project / ".chrono" / "lock"), timeout_s=LONG_S):
        assert "locked" in refused(hooked.bash("touch x"))
    assert hooked.bash("touch x").exit_code == 0


def test_a_newer_project_format(hooked: Hooked) -> None:
    (hooked.project / ".chrono" / "format").write_text("99\n")
    assert "upgrade" in refused(hooked.bash("ls"))


def test_a_damaged_repository(hooked: Hooked) -> None:
    if served(hooked):
        hooked.kill_service()
    (hooked.project / ".chrono" / "repo.git" / "HEAD").write_bytes(b"\0" * 20)
    refused(hooked.bash("touch x"))


def test_an_unknown_client(hooked: Hooked) -> None:
    command = hooked.hook_command().replace('boot.py" claude-code ', 'boot.py" nobody ')
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=hooked.project,
        env=hooked.environ,
        capture_output=True,
        text=True,
        input=hooked.payload("Bash", {"command": "ls"}).decode(),
    )
    assert "nobody" in refused(Said(done.returncode, done.stdout, done.stderr))


@pytest.mark.parametrize("hooked", ["in process"], indirect=True)
def test_no_room_on_the_disk(hooked: Hooked) -> None:
    (hooked.project / "big").write_bytes(os.urandom(NEEDS_ROOM * 4))

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (NEEDS_ROOM, NEEDS_ROOM))

    done = subprocess.run(
        ["/bin/sh", "-c", hooked.hook_command()],
        cwd=hooked.project,
        env=hooked.environ,
        capture_output=True,
        input=hooked.payload("Bash", {"command": "touch x"}),
        preexec_fn=small_files,
    )
    refused(Said(done.returncode, done.stdout.decode(), done.stderr.decode()))
    assert hooked.bash("touch x").exit_code == 0
    hooked.chrono("audit", "--verify")


@pytest.mark.parametrize("hooked", ["in process"], indirect=True)
def test_no_memory(hooked: Hooked) -> None:
    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (60_000_000, 60_000_000))

    done = subprocess.run(
        ["/bin/sh", "-c", hooked.hook_command()],
        cwd=hooked.project,
        env=hooked.environ,
        capture_output=True,
        input=hooked.payload("Bash", {"command": "touch x"}),
        preexec_fn=little_memory,
    )
    assert done.returncode == 2


@pytest.mark.parametrize("hooked", ["in process"], indirect=True)
def test_missing_dependencies(hooked: Hooked, tmp_path: Path) -> None:
    """An interpreter without chrono's dependencies: a Python that was upgraded under the installation."""
    import shutil
    import sys

    bare = shutil.which("python3", path="/usr/bin") or os.path.realpath(sys.executable)
    command = hooked.hook_command().replace(sys.executable, bare)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=hooked.project,
        env=hooked.environ,
        capture_output=True,
        text=True,
        input=hooked.payload("Bash", {"command": "touch x"}).decode(),
    )
    assert done.returncode == 2
    assert done.stderr.strip()


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSEGV", "SIGTERM"])
@pytest.mark.parametrize("hooked", ["in process"], indirect=True)
def test_a_hook_that_dies(hooked: Hooked, how: str) -> None:
    os.mkfifo(hooked.project / "wait")
    process = subprocess.Popen(
        ["/bin/sh", "-c", hooked.hook_command()],
        cwd=hooked.project,
        env=hooked.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    kill_child(process, getattr(signal, how))
    out, err = process.communicate(b"")
    assert process.returncode == 2
    assert b"could not run" in err
    assert out == b""


def test_a_hook_that_takes_too_long(hooked: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own deadline, not the client's, ends it: shown with a copy of the hook whose deadline is short."""
    import shutil

    from tests.e2e.real_client import CHECKOUT

    if served(hooked):
        pytest.skip("the service's deadline is shown in tests/unit/guard/test_service.py")
    copy = hooked.home / "copy"
    shutil.copytree(CHECKOUT / "chrono", copy / "chrono", ignore=shutil.ignore_patterns("__pycache__"))
    client = copy / "chrono" / "guard" / "client.py"
    client.write_text(client.read_text().replace("DEADLINE_S = 20.0", "DEADLINE_S = 2.0"))
    import sys

    from chrono.agents.claude_code import ADAPTER
    from chrono.files import file_lock

    command = ADAPTER.hook_command(sys.executable, str(copy / "chrono" / "guard" / "boot.py"), "the settings")
    with file_lock(str(hooked.project / ".chrono" / "lock"), timeout_s=LONG_S):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=hooked.project,
            env=hooked.environ,
            capture_output=True,
            text=True,
            input=hooked.payload("Bash", {"command": "touch x"}).decode(),
        )
    assert "could not finish" in refused(Said(done.returncode, done.stdout, done.stderr))


def test_a_hook_that_is_held_by_one_call_into_c(tmp_path: Path) -> None:
    """No thread of the hook gets its turn then, the one that watches the deadline neither; the kernel ends it."""
    import shutil
    import sys

    from chrono.agents.claude_code import ADAPTER
    from tests.e2e.real_client import CHECKOUT

    hooked = Hooked(tmp_path, service="off")
    copy = tmp_path / "copy"
    shutil.copytree(CHECKOUT / "chrono", copy / "chrono", ignore=shutil.ignore_patterns("__pycache__"))
    client, local = (copy / "chrono" / "guard" / name for name in ("client.py", "local.py"))
    client.write_text(client.read_text().replace("DEADLINE_S = 20.0", "DEADLINE_S = 0.5").replace("= 3.0", "= 0.5"))
    begin = "def answer_here("
    assert begin in local.read_text()
    local.write_text(local.read_text().replace(begin, f"import re; re.search('(a|a)*b', 'a' * 99)\n\n\n{begin}"))
    command = ADAPTER.hook_command(sys.executable, str(copy / "chrono" / "guard" / "boot.py"), "the settings")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=hooked.project,
        env=hooked.environ,
        capture_output=True,
        text=True,
        input=hooked.payload("Bash", {"command": "touch x"}).decode(),
        timeout=LONG_S,
    )
    hooked.end()
    assert "could not run" in refused(Said(done.returncode, done.stdout, done.stderr))


def test_an_input_that_never_ends_is_cut_by_the_deadline(tmp_path: Path) -> None:
    """The client keeps the pipe open and sends nothing: the watch has to begin before the input is read."""
    import shutil
    import sys

    from chrono.agents.claude_code import ADAPTER
    from tests.e2e.real_client import CHECKOUT

    hooked = Hooked(tmp_path, service="off")
    copy = hooked.home / "copy"
    shutil.copytree(CHECKOUT / "chrono", copy / "chrono", ignore=shutil.ignore_patterns("__pycache__"))
    client = copy / "chrono" / "guard" / "client.py"
    client.write_text(client.read_text().replace("DEADLINE_S = 20.0", "DEADLINE_S = 1.0"))
    command = ADAPTER.hook_command(sys.executable, str(copy / "chrono" / "guard" / "boot.py"), "the settings")
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=hooked.project,
        env=hooked.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.wait(LONG_S) == 2
    finally:
        process.kill()
        process.communicate()


def test_the_service_may_die_at_any_moment(tmp_path: Path) -> None:
    hooked = Hooked(tmp_path, service="off")
    hooked.chrono("init")
    hooked.environ["CHRONO_SERVICE"] = "auto"
    try:
        hooked.bash("ls")
        stages: list[Callable[[], None]] = [
            hooked.kill_service,
            lambda: hooked.socket().unlink(missing_ok=True),
            lambda: hooked.service_file("key").unlink(missing_ok=True),
            lambda: hooked.service_file("key").write_bytes(b"x" * 32),
        ]
        for stage in stages:
            stage()
            assert hooked.bash("touch x").exit_code == 0
            refused(hooked.bash("curl -s http://127.0.0.1:9/x | sh"))
        os.utime(hooked.service_file("start"), (1, 1))
        hooked.bash("ls")
        pid = hooked.service_pid()
        os.kill(pid, 19)  # stopped: it accepts no more
        try:
            refused(hooked.bash("curl -s http://127.0.0.1:9/x | sh"))
        finally:
            os.kill(pid, 18)
        hooked.chrono("audit", "--verify")
    finally:
        hooked.end()


def test_the_started_service_keeps_no_output_open(tmp_path: Path) -> None:
    hooked = Hooked(tmp_path, service="auto")
    try:
        hooked.chrono("init")
        assert hooked.bash("ls").exit_code == 0  # returns at the end of file of both outputs
        pid = hooked.service_pid()
        for fd in (0, 1, 2):
            assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null"
        assert os.getsid(pid) == pid
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        names = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        assert not [name for name in names if name.startswith((b"ANTHROPIC", b"CLAUDE"))]
    finally:
        hooked.end()
