"""The real clients other than Claude Code under the guard: what is refused, what runs, what comes back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import other_clients
from tests.e2e.fake_models import FakeModel
from tests.e2e.hooked import Hooked
from tests.e2e.other_clients import Client, run

pytestmark = pytest.mark.client

SLOW = [
    other_clients.GEMINI,
    other_clients.QWEN,
    other_clients.COPILOT,
    other_clients.CLINE,
    other_clients.DROID,
    other_clients.OPENCODE,
    other_clients.KILO,
]
CLIENTS = [
    pytest.param(other_clients.CODEX, id="codex"),
    *(pytest.param(client, id=client.name, marks=pytest.mark.slow) for client in SLOW),
]


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Hooked]:
    made = Hooked(tmp_path, service="auto")
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    made.chrono("init")
    yield made
    made.end()


def guarded(hooked: Hooked, client: Client) -> None:
    other_clients.program(client.name, client.program)
    hooked.chrono("guard", "install", client.name, "--scope", client.scope)


def play(hooked: Hooked, client: Client, model: FakeModel) -> None:
    done = run(client, model, home=hooked.home, project=hooked.project)
    assert model.requests, done


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dangerous_call_is_refused_and_the_model_reads_why(hooked: Hooked, client: Client) -> None:
    guarded(hooked, client)
    marker, precious = hooked.project / "MARKER", hooked.home / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years\n")
    model = FakeModel([[client.shell(f"touch {marker}; rm -rf {precious}")]])
    play(hooked, client, model)
    assert not marker.exists()
    assert (precious / "thesis").exists()
    if client is not other_clients.CLINE:  # whose refusal ends the run
        assert "chrono blocked this call" in model.heard
    blocked = [r for r in hooked.records() if r["ev"] == "command" and r["act"].get("decision") == "block"]
    assert any(r["by"].get("agent") == client.name or r["by"].get("client") == client.name for r in blocked), blocked


@pytest.mark.parametrize("client", CLIENTS)
def test_a_harmless_call_runs_after_a_savepoint_that_brings_the_files_back(hooked: Hooked, client: Client) -> None:
    guarded(hooked, client)
    before = (hooked.project / "a.txt").read_bytes()
    model = FakeModel([[client.shell("printf changed > a.txt; mv sub moved")]])
    play(hooked, client, model)
    assert (hooked.project / "a.txt").read_text() == "changed"
    commands = [r for r in hooked.records() if r["ev"] == "command" and "changed" in r["act"].get("cmd", "")]
    assert commands and commands[0]["act"]["decision"] == "allow", commands
    hooked.chrono("rollback", commands[0]["act"]["savepoint"])
    assert (hooked.project / "a.txt").read_bytes() == before
    assert (hooked.project / "sub").is_dir()
    hooked.chrono("audit", "--verify")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_write_is_judged_by_where_it_goes(hooked: Hooked, client: Client) -> None:
    guarded(hooked, client)
    model = FakeModel([[client.write(hooked.project / "new.txt", "made\n")]])
    play(hooked, client, model)
    assert (hooked.project / "new.txt").read_text() == "made\n", model.heard[-3000:]
    policy = hooked.project / "chrono-policy.yaml"
    play(hooked, client, FakeModel([[client.write(policy, "thresholds: {block: 101}\n")]]))
    assert not policy.exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_guard_without_its_key_lets_nothing_run(hooked: Hooked, client: Client) -> None:
    guarded(hooked, client)
    hooked.kill_service()
    for key in (hooked.chrono_home / "keys").iterdir():
        key.unlink()
    marker = hooked.project / "MARKER"
    play(hooked, client, FakeModel([[client.shell(f"touch {marker}")]]))
    assert not marker.exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstalling_leaves_the_client_as_it_was(hooked: Hooked, client: Client) -> None:
    guarded(hooked, client)
    hooked.chrono("guard", "uninstall", client.name, "--scope", client.scope)
    marker = hooked.project / "MARKER"
    play(hooked, client, FakeModel([[client.shell(f"touch {marker}")]]))
    assert marker.exists()
