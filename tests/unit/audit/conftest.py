"""A log on a ground of its own, with a clock, a home and commits that tests can turn as they like."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.audit.keys import KeySettings
from chrono.audit.log import AuditLog, Receipt, create, open_log
from chrono.audit.place import LogPlace, project_place
from chrono.audit.record import Act, Actor, Anchor, Entry
from chrono.audit.report import Trailer
from chrono.audit.verify import Report, verify
from chrono.audit.witness import Witness
from chrono.clock import Clock
from chrono.layout import HomeLayout, ProjectLayout

BOB = Actor(user="bob", uid=1000, host="box", agent="claude-code", session="s-1", source="hook")


class FakeClock:
    """A second passes at each look."""

    def __init__(self) -> None:
        self.at_ns = 1_790_000_000_000_000_000

    def now_ns(self) -> int:
        self.at_ns += 1_000_000_000
        return self.at_ns


class FakeCommits:
    """Commits that hang on refs, with their raw bytes."""

    def __init__(self) -> None:
        self.raw: dict[str, bytes] = {}
        self.said: dict[str, Trailer] = {}

    def trailers(self) -> list[Trailer]:
        return list(self.said.values())

    def sha256(self, commit: str) -> str | None:
        raw = self.raw.get(commit)
        return None if raw is None else hashlib.sha256(raw).hexdigest()


class Ground:
    """One project folder and one CHRONO_HOME."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layout = ProjectLayout(str(root / "project"))
        self.home = HomeLayout(str(root / "home"))
        os.makedirs(self.layout.dir)
        os.makedirs(self.home.root)
        self.place: LogPlace = project_place(self.layout)
        self.clock: Clock = FakeClock()
        self.commits = FakeCommits()
        self.keys = KeySettings()
        self.log: AuditLog

    def begin(self, records: int = 0, *, keys: KeySettings | None = None) -> AuditLog:
        self.keys = keys or self.keys
        self.log = create(self.place, self.home, self.keys, self.clock, BOB)
        for number in range(records):
            self.command(f"echo {number}")
        return self.log

    def again(self, at_step: Callable[[str], None] | None = None, keys: KeySettings | None = None) -> AuditLog:
        """Another object on the same files, as another process has it."""
        extra = {} if at_step is None else {"at_step": at_step}
        return open_log(self.place, self.home, keys or self.keys, self.clock, **extra)

    def command(self, cmd: str = "make", log: AuditLog | None = None) -> Receipt:
        return (log or self.log).append(command(cmd), timeout_s=5)

    def savepoint(self, message: str = "x") -> str:
        """The ring of a savepoint, with a made-up commit."""
        with self.log.writing(5) as writing:
            raw = f"tree {'0' * 40}\n\n{message}\n\nChrono-Audit: v2 {writing.log_id} {writing.size} {writing.root}\n"
            commit = hashlib.sha1(raw.encode()).hexdigest()
            self.commits.raw[commit] = raw.encode()
            anchor = Anchor(commit, hashlib.sha256(raw.encode()).hexdigest(), "0" * 40, ref="refs/heads/main")
            trailer = Trailer(commit, writing.log_id, writing.size, writing.root)
            writing.append(Entry("savepoint", BOB, Act(message=message), anchor))
        self.commits.said[commit] = trailer
        return commit

    def verify(self, **more: object) -> Report:
        options: dict[str, object] = {"commits": self.commits, **more}
        return verify(self.place, self.home, **options)  # type: ignore[arg-type]

    def lines(self) -> list[bytes]:
        return Path(self.place.log).read_bytes().split(b"\n")[:-1]

    def write_lines(self, lines: list[bytes]) -> None:
        """Rewrites the log in place, as somebody with an editor would."""
        with open(self.place.log, "r+b") as file:
            file.write(b"".join(line + b"\n" for line in lines))
            file.truncate()

    def witness(self) -> Witness:
        return Witness(self.home.witness_log(self.log.log_id), self.home.witness_lock(self.log.log_id))


def command(cmd: str) -> Entry:
    return Entry("command", BOB, Act(tool="Bash", cmd=cmd, cwd="/home/bob/x", decision="allow", score=0))


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)
