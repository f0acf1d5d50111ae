"""Claims about `chrono approvals` and `chrono team`: a person reads, signs, and what an agent starts is refused."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from chrono.cli import approving
from chrono.layout import HomeLayout
from chrono.policy.approvals import Request, Subject
from chrono.workspace import approvals
from chrono.workspace.approvals import Asking
from chrono.workspace.lineage import Process, ancestors
from chrono.workspace.project import Workspace


@pytest.fixture(autouse=True)
def no_marks_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests themselves may be run by an agent."""
    monkeypatch.setattr(approving, "AGENT_MARKS", ())


@pytest.fixture
def key(project: Path, chrono: Any, tmp_path: Path) -> str:
    """sara's ssh key, enrolled."""
    path = str(tmp_path / "id")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    assert chrono("team", "add", "sara", "--role", "developer", "--key", f"{path}.pub").code == 0
    return path


def ask(project: Path, *agents: Process, text: str = "make deploy") -> Request:
    ws = Workspace.open(str(project), dict(os.environ))
    subject = Subject("call", "Bash", "bash", (text,), str(project), ws.log.log_id)
    asking = Asking("codex", "s1", str(project), ("it deploys",), tuple((a.pid, a.start, a.name) for a in agents))
    try:
        return approvals.ask(ws.home, subject, asking, time.time_ns())
    finally:
        ws.close()


def test_what_waits_is_listed_and_shown_in_full(project: Path, chrono: Any) -> None:
    assert "nothing waits" in chrono("approvals").out
    request = ask(project)
    assert request.id in chrono("approvals").out and "make deploy" in chrono("approvals").out
    shown = chrono("approvals", "list", request.id[:6]).out
    assert all(part in shown for part in ("make deploy", str(project), "it deploys", "codex"))
    (value,) = chrono("approvals", "list", "--json").json["requests"]
    assert value["state"] == "waits" and value["text"] == "make deploy" and value["answer"] is None


def test_the_status_says_that_somebody_waits(project: Path, chrono: Any, key: str) -> None:
    assert chrono("status", "--json").json["approvals_waiting"] == 0
    request = ask(project)
    assert chrono("status", "--json").json["approvals_waiting"] == 1
    assert "chrono approvals" in chrono("status").out
    chrono("approvals", "deny", request.id)
    assert chrono("status", "--json").json["approvals_waiting"] == 0


def test_an_approval_is_signed_with_the_persons_own_key_and_recorded(project: Path, chrono: Any, key: str) -> None:
    request = ask(project)
    ran = chrono("approvals", "approve", request.id, "--as", "sara", "--key", key, "--yes")
    assert ran.code == 0 and "approved" in ran.out
    value = chrono("approvals", "list", "--json").json["requests"][0]
    assert value["state"] == "approved"
    assert value["answer"]["name"] == "sara" and value["answer"]["signed"] is True
    row = next(line for line in chrono("audit").out.splitlines() if " approval " in line)
    assert "sara (developer) key " in row and row.endswith(f"request {request.id}")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ffffffff", "--yes"), "no request"),
        (("ID", "--as", "nobody", "--yes"), "not in the team"),
        (("ID", "--as", "kim", "--yes"), "no key"),
        (("ID", "--as", "lee", "--yes"), "may not approve"),
        (("ID", "--as", "sara"), "nobody is there"),
        (("ID", "--as", "sara", "--key", "OTHER", "--yes"), "not the key"),
    ],
    ids=["unknown", "stranger", "keyless", "viewer", "unread", "strange-key"],
)
def test_who_may_not_is_told_why(
    project: Path, chrono: Any, key: str, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    other = str(tmp_path / "other")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    viewer = str(tmp_path / "viewer")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", viewer], check=True)
    chrono("team", "add", "kim", "--role", "developer")
    chrono("team", "add", "lee", "--role", "viewer", "--key", f"{viewer}.pub")
    request = ask(project)
    typed = [request.id if word == "ID" else other if word == "OTHER" else word for word in words]
    typed += ["--key", viewer] if "lee" in typed else []
    ran = chrono("approvals", "approve", *typed)
    assert ran.code != 0 and why in ran.err, ran
    assert chrono("approvals", "list", "--json").json["requests"][0]["state"] == "waits"


def test_what_the_asking_agent_starts_is_refused_without_any_mark(project: Path, chrono: Any, key: str) -> None:
    request = ask(project, ancestors(os.getpid())[0])
    for words in (("approve", request.id, "--key", key, "--yes"), ("deny", request.id), ("watch", "--seconds", "0")):
        ran = chrono("approvals", *words)
        assert ran.code == 4 and "started by the agent that asks" in ran.err


def test_a_no_needs_no_key(project: Path, chrono: Any, key: str) -> None:
    request = ask(project)
    assert chrono("approvals", "deny", request.id, "--as", "sara").code == 0
    assert chrono("approvals", "list", "--json").json["requests"][0]["state"] == "denied"


def test_the_first_to_enrol_is_the_maintainer_and_others_are_added_first(
    project: Path, chrono: Any, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    assert chrono("approvals", "enroll", "sara").code == 4, "nobody can choose a passphrase here"
    value = chrono("approvals", "enroll", "sara", "--key", str(tmp_path / "one.pub"), "--json").json
    assert value["role"] == "maintainer"
    assert chrono("approvals", "enroll", "kim", "--key", str(tmp_path / "two.pub")).code == 4
    chrono("team", "add", "kim", "--role", "developer")
    assert (
        chrono("approvals", "enroll", "kim", "--key", str(tmp_path / "two.pub"), "--json").json["role"] == "developer"
    )
    team = chrono("team", "--json").json["team"]
    assert [(one["name"], bool(one["kid"])) for one in team] == [("kim", True), ("sara", True)]
    assert chrono("team", "remove", "kim").code == 0 and "kim" not in chrono("team").out
    assert "team.change" in chrono("audit").out


def test_watching_tells_each_event_on_a_line(project: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    told: list[tuple[str, str]] = []
    monkeypatch.setattr("chrono.cli.desktop.notify", lambda title, text: told.append((title, text)))
    request = ask(project)
    ran = chrono("approvals", "watch", "--json", "--seconds", "0.1")
    (event,) = [json.loads(line) for line in ran.out.splitlines()]
    assert (event["event"], event["id"]) == ("asked", request.id)
    assert told == [("codex asks", "make deploy")]


def test_ctrl_c_is_how_watching_ends(project: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("chrono.cli.watching.time.sleep", pressed)
    ran = chrono("approvals", "watch", "--no-notify")
    assert ran.code == 0 and "error" not in ran.out + ran.err


def test_outside_every_project_the_machines_log_records(folder: Path, chrono: Any) -> None:
    assert chrono("team", "add", "sara").code == 0
    home = HomeLayout(os.environ["CHRONO_HOME"])
    assert b"team.change" in (Path(home.machine) / "audit.jsonl").read_bytes()
