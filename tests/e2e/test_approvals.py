"""Claims about approvals between real processes: the agent that asks cannot answer, however it starts the command; a
person beside it can, once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.agents.claude_code import ADAPTER
from chrono.guard.install import boot_path
from tests.e2e import other_clients
from tests.e2e.fake_models import FakeModel, Turn
from tests.e2e.hooked import Hooked, compiled_rules
from tests.e2e.other_clients import Client
from tests.e2e.real_client import CHECKOUT
from tests.waiting import LONG_S

CHRONO = [sys.executable, "-m", "chrono"]
RULE = (
    "rules:\n  - id: deploys\n    decision: ask\n    title: deploys\n    why: customers see it\n    safer: make check\n"
    "    match: {program: deploy}\n"
)
# Reads command lines, runs each through a shell as an agent's client does, and answers with exit code and output.
AGENT = """
import json, subprocess, sys
for line in sys.stdin:
    asked = json.loads(line)
    done = subprocess.run(["/bin/sh", "-c", asked["run"]], input=asked["stdin"], capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout + done.stderr]), flush=True)
"""


class Scene:
    """A project, a person with a key, and a client that is a process of its own."""

    def __init__(self, folder: Path, service: str) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        (folder / "home").mkdir()
        self.environ = {
            "HOME": str(folder / "home"),
            "CHRONO_HOME": str(folder / "state"),
            "CHRONO_SERVICE": service,
            "PATH": os.environ["PATH"],
        }
        rules = compiled_rules()
        if rules is not None:
            shutil.copytree(rules, folder / "state" / "cache")
        settings = str(self.root / ".claude" / "settings.json")
        self.installed = ADAPTER.hook_command(sys.executable, boot_path(), settings)
        self.chrono("init")
        (folder / "state" / "policy.yaml").write_text(RULE)
        self.key = str(folder / "id")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.chrono("team", "add", "sara", "--key", f"{self.key}.pub")
        self.agent = subprocess.Popen(
            [sys.executable, "-c", AGENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.root,
            env=self.environ,
        )

    def chrono(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the person runs."""
        return subprocess.run(
            [*CHRONO, *words], cwd=self.root, env=self.environ, capture_output=True, text=True, check=False
        )

    def as_agent(self, run: str, stdin: str = "") -> tuple[int, str]:
        assert self.agent.stdin is not None and self.agent.stdout is not None
        self.agent.stdin.write(json.dumps({"run": run, "stdin": stdin}) + "\n")
        self.agent.stdin.flush()
        code, said = json.loads(self.agent.stdout.readline())
        return code, said

    def hook(self, command: str) -> tuple[int, str]:
        """The client asks chrono before its shell tool runs `command`."""
        payload = {
            "session_id": "s1",
            "cwd": str(self.root),
            "permission_mode": "bypassPermissions",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": "t1",
        }
        return self.as_agent(self.installed, json.dumps(payload))

    def close(self) -> None:
        self.agent.communicate()
        self.chrono("service", "stop")


@pytest.fixture(params=["off", pytest.param("auto", marks=pytest.mark.slow)])
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(tmp_path, request.param)
    yield made
    made.close()


def test_a_person_answers_in_a_browser(scene: Scene) -> None:
    import urllib.request
    from http.cookiejar import CookieJar
    from urllib.parse import urlencode

    scene.hook("deploy now")
    words = [*CHRONO, "approvals", "watch", "--page", "--json", "--as", "sara", "--key", scene.key, "--no-notify"]
    watch = subprocess.Popen(words, cwd=scene.root, env=scene.environ, stdout=subprocess.PIPE, text=True)
    try:
        assert watch.stdout is not None
        first = watch.stdout.readline()
        if not first.startswith('{"event":"page"'):
            pytest.skip("this test itself is run by an agent")
        url = json.loads(first)["url"]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        page = browser.open(url, timeout=LONG_S).read().decode()
        assert "deploy now" in page
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)">', page))
        body = urlencode({**fields, "decision": "approve"}).encode()
        origin = url.partition("/?")[0]
        sent = urllib.request.Request(f"{origin}/", body, {"Origin": origin})
        assert "Nothing waits" in browser.open(sent, timeout=LONG_S).read().decode()
        assert [json.loads(watch.stdout.readline())["event"] for _ in range(2)] == ["asked", "approved"]
    finally:
        watch.terminate()
        watch.communicate()
    assert scene.hook("deploy now")[0] == 0


def test_the_agent_cannot_answer_itself_and_a_person_answers_once(scene: Scene) -> None:
    code, said = scene.hook("deploy now")
    found = re.search("chrono approvals approve ([0-9a-f]{12})", said)
    assert code == 2 and found is not None, said
    approve = f"{sys.executable} -m chrono approvals approve {found.group(1)} --as sara --key {scene.key} --yes"
    keep = f"CHRONO_HOME={scene.environ['CHRONO_HOME']} HOME={scene.environ['HOME']} PATH=$PATH"
    for attempt in (approve, f"env -i {keep} {approve}", f"setsid -w {approve}", f"sh -c '({approve})'"):
        code, said = scene.as_agent(attempt)
        assert code == 4 and "started by the agent that asks" in said, (attempt, said)
    assert scene.hook("deploy now")[0] == 2
    ran = scene.chrono(*approve.split()[3:])
    if "started by an agent" in ran.stderr:
        pytest.skip("this test itself is run by an agent")
    assert ran.returncode == 0, ran
    assert scene.hook("deploy now; true")[0] == 2
    assert scene.hook("deploy now")[0] == 0
    assert scene.hook("deploy now")[0] == 2
    verified = scene.chrono("audit", "--verify", "--json")
    assert verified.returncode == 0, verified


def _program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.client
@pytest.mark.parametrize("client", [other_clients.CLAUDE, other_clients.CODEX], ids=lambda client: client.name)
def test_a_real_client_gets_one_call_of_a_persons_approval_and_cannot_give_it(tmp_path: Path, client: Client) -> None:
    other_clients.program(client.name, client.program)
    hooked = Hooked(tmp_path, service="off")
    hooked.chrono("init")
    hooked.chrono("guard", "install", client.name)
    (hooked.chrono_home / "policy.yaml").write_text(RULE)
    key, tools = str(tmp_path / "id"), tmp_path / "bin"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    hooked.chrono("team", "add", "sara", "--key", f"{key}.pub")
    _program(tools, "deploy", "echo once >> deployed")
    answer = ["approvals", "approve", "ID", "--as", "sara", "--key", key, "--yes"]
    # Nobody can look into a compiled program: what refuses this one is the mark in its environment, or its descent.
    shutil.copy("/usr/bin/env", tools / "greet")
    deploy: Turn = [client.shell(f"{tools}/deploy now")]
    model = FakeModel([deploy, [], [], deploy, deploy])
    said: list[str] = []

    def asked() -> str:
        found = re.search("chrono approvals approve ([0-9a-f]{12})", model.heard)
        assert found is not None, model.heard[-2000:]
        return found.group(1)

    def by_its_own_command() -> None:
        model.turns[1] = [client.shell("chrono " + " ".join(answer).replace("ID", asked()))]

    def by_a_program_of_its_own() -> None:
        words = f"{tools}/greet {sys.executable} -P -m chrono {' '.join(answer)} > answered 2>&1"
        model.turns[2] = [client.shell(words.replace("ID", asked()))]

    def by_a_person() -> None:
        words = [asked() if word == "ID" else word for word in answer]
        said.append(hooked.chrono(*words, code=None).stderr)

    model.before.update({1: by_its_own_command, 2: by_a_program_of_its_own, 3: by_a_person})
    other_clients.run(client, model, home=hooked.home, project=hooked.project, PYTHONPATH=str(CHECKOUT))
    if "started by an agent" in said[0]:
        pytest.skip("this test itself is run by an agent")
    assert "self-protection" in model.heard
    answered = (hooked.project / "answered").read_text()
    assert "an agent cannot approve" in answered or "started by the agent that asks" in answered
    assert (hooked.project / "deployed").read_text() == "once\n"
    decisions = [
        record["act"]["decision"]
        for record in hooked.records()
        if record.get("act", {}).get("cmd") == f"{tools}/deploy now" and "decision" in record["act"]
    ]
    assert decisions == ["block", "allow", "block"]
    hooked.chrono("audit", "--verify")
