"""Owns the machine that scanning is tested on: one project of a person, with a home around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chrono.policy.decide import decide, settle
from chrono.policy.model import DEFAULTS, Cover, Excluded
from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.finding import Scan
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from chrono.testing.world import FakeWorld, Link

PROJECT = "/home/dev/proj"
FILES: dict[str, str | bytes | Link | None] = {
    f"{PROJECT}/.git/HEAD": "ref: refs/heads/main\n",
    f"{PROJECT}/.git/index": b"DIRC\0\0\0\2" + b"\0" * 72 + b".claude/settings.json\0",
    f"{PROJECT}/.git/refs/heads/main": "0" * 40,
    f"{PROJECT}/.gitignore": "node_modules\ndist\n",
    f"{PROJECT}/README.md": "x\n",
    f"{PROJECT}/.env": "A=1\n",
    f"{PROJECT}/.env.example": "A=\n",
    f"{PROJECT}/notes.txt": "n\n",
    f"{PROJECT}/file": "",
    f"{PROJECT}/dev.db": "",
    f"{PROJECT}/src/app.py": "print(1)\n",
    f"{PROJECT}/docs/untracked.md": "y\n",
    f"{PROJECT}/dist/app.js": "",
    f"{PROJECT}/build": None,
    f"{PROJECT}/migrations": None,
    f"{PROJECT}/node_modules/.cache": None,
    f"{PROJECT}/__pycache__": None,
    f"{PROJECT}/link_home": Link("/home/dev"),
    f"{PROJECT}/package.json": '{"scripts": {"build": "mkdir -p dist", "clean": "rm -rf dist", "nuke": "rm -rf ~"}}',
    f"{PROJECT}/scripts/build.sh": "#!/bin/sh\nmkdir -p dist\necho built > dist/out\n",
    f"{PROJECT}/scripts/wipe.sh": '#!/bin/sh\nset -e\nrm -rf "$HOME"\n',
    f"{PROJECT}/scripts/maybe.sh": '#!/bin/sh\nrm -rf "$1"\n',
    f"{PROJECT}/Makefile": "all:\n\ttrue\nbuild:\n\tmkdir -p dist\nclean:\n\trm -rf dist\ntest:\n\ttrue\nnuke:\n\trm -rf $(HOME)\n",
    f"{PROJECT}/safe.py": "print('ok')\n",
    f"{PROJECT}/.claude/settings.json": "{}",
    "/home/dev/.claude/settings.json": "{}",
    "/home/dev/.ssh/id_ed25519": "k",
    "/home/dev/.ssh/id_ed25519.pub": "p",
    "/home/dev/.aws/credentials": "k",
    "/home/dev/.bashrc": "# rc\n",
    "/home/dev/.config/app/x": "x",
    "/home/dev/.local/share/x": "x",
    "/home/dev/.local/state/chrono/keys/audit.pem": "k",
    "/home/dev/Documents/a.txt": "a",
    "/home/dev/other/.git/HEAD": "ref: refs/heads/main\n",
    "/mnt/data/a": "a",
    "/srv/backup/a": "a",
    "/opt/app/a": "a",
    "/var/log/syslog": "",
    "/var/lib/postgresql/x": "",
    "/etc/passwd": "",
    "/etc/hosts": "",
    "/etc/ssh/sshd_config": "",
    "/usr/lib/libc.so.6": b"\x7fELF",
    "/tmp/x.txt": "",
}

COVER = Cover(
    PROJECT,
    tuple(
        Excluded(f"{PROJECT}/{name}", kind)
        for name, kind in ((".git", "git"), (".chrono", "chrono"), (".claude/settings.json", "control"))
    ),
    "0" * 40,
)


@pytest.fixture(scope="session")
def ruleset() -> Ruleset:
    return compile_packs(discover())


def world(**more: str | bytes | Link | None) -> FakeWorld:
    return FakeWorld({**FILES, **more})


def lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def verdict(text: str, ruleset: Ruleset, *, covered: bool, shell: str = "bash") -> str:
    """What the default policy decides, with or without a savepoint that holds the project."""
    return decision(scan(text, ruleset, world(), shell=shell), covered=covered)


def decision(found: Scan, *, covered: bool) -> str:
    return settle(decide(found, DEFAULTS, project=PROJECT), COVER if covered else None).decision
