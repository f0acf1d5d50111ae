"""Claims for random changes of a log: none is accepted, none ends in a traceback."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from chrono.audit.keys import KeySettings
from chrono.audit.log import AuditLog, create
from chrono.audit.place import LogPlace, project_place
from chrono.audit.record import Act, Actor, Entry
from chrono.audit.verify import verify
from chrono.clock import SystemClock
from chrono.layout import HomeLayout, ProjectLayout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[LogPlace, HomeLayout, AuditLog]:
    root = tmp_path_factory.mktemp("log")
    layout, home = ProjectLayout(str(root / "project")), HomeLayout(str(root / "home"))
    os.makedirs(layout.dir)
    os.makedirs(home.root)
    place = project_place(layout)
    log = create(place, home, KeySettings(), SystemClock(), Actor(user="bob"))
    for number in range(12):
        cmd = f"echo é{number} | tee \"a b\" '\\' > /tmp/x"
        log.append(Entry("command", Actor(user="bob"), Act(tool="Bash", cmd=cmd, score=number)), timeout_s=5)
    return place, home, log


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One to three changes, of the kinds that a person, a program or a disk makes."""
    lines = data.split(b"\n")[:-1]
    for _ in range(chance.randint(1, 3)):
        kind = chance.randrange(9)
        if kind < 4:
            flat = bytearray(b"\n".join(lines) + b"\n")
            at = chance.randrange(len(flat) - 1)
            if kind == 0:
                flat[at] ^= 1 << chance.randrange(8)
            elif kind == 1:
                flat[at:at] = chance.choice([b" ", b"\0", b"\n", b"\xff", b'"', b"\\", b"0", b"\r\n", b'{"a":1}'])
            elif kind == 2:
                del flat[at : at + chance.randint(1, 200)]
            else:
                flat[at : at + 40] = chance.randbytes(40)
            lines = bytes(flat).split(b"\n")
            lines = lines[:-1] if not lines[-1] else lines
        elif kind == 4 and len(lines) > 1:
            del lines[chance.randrange(len(lines))]
        elif kind == 5:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
        elif kind == 6 and len(lines) > 1:
            first, second = chance.sample(range(len(lines)), 2)
            lines[first], lines[second] = lines[second], lines[first]
        elif kind == 7 and len(lines) > 1:
            del lines[chance.randrange(1, len(lines)) :]
        else:
            at = chance.randrange(len(lines))
            old, new = chance.choice(
                [(b"bob", b"eve"), (b'"score":', b'"score":1'), (b"echo", b"true"), (b'"n":', b'"n":1')]
            )
            lines[at] = lines[at].replace(old, new)
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("reader", ["line by line", "in columns"])
@pytest.mark.parametrize("seeds", [range(300), pytest.param(range(300, 5000), marks=pytest.mark.slow)], ids=len)
def test_no_random_change_is_accepted_and_none_ends_in_a_traceback(
    made: tuple[LogPlace, HomeLayout, AuditLog],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seeds: range,
    reader: str,
) -> None:
    place, home, _ = made
    if reader == "in columns":
        monkeypatch.setattr("chrono.audit.chain.QUICK_BYTES", 0)
    good = Path(place.log).read_bytes()
    shutil.copyfile(place.log, tmp_path / "good")
    accepted, wrong = [], []
    try:
        for seed in seeds:
            data = mutated(good, random.Random(seed))
            if data == good:
                continue
            Path(place.log).write_bytes(data)
            report = verify(place, home, full=seed % 3 == 0, strict=seed % 3 == 1)
            if report.exit_code not in (20, 21):
                accepted.append(seed)
            if any("could not go on" in finding.text for finding in report.findings):
                wrong.append(seed)
    finally:
        Path(place.log).write_bytes(good)
    assert accepted == []
    assert wrong == []
    assert verify(place, home, full=True, strict=True).exit_code == 0


def test_no_random_change_of_head_witness_or_pin_ends_in_a_traceback(
    made: tuple[LogPlace, HomeLayout, AuditLog],
) -> None:
    place, home, log = made
    for path in (place.head, home.witness_log(log.log_id), home.pin(log.log_id)):
        good = Path(path).read_bytes()
        try:
            for seed in range(100):
                chance = random.Random(seed)
                data = bytearray(good)
                for _ in range(chance.randint(1, 6)):
                    at = chance.randrange(len(data))
                    data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
                Path(path).write_bytes(bytes(data))
                report = verify(place, home)
                assert report.exit_code in (0, 20, 21), seed
                assert not any("could not go on" in finding.text for finding in report.findings), (path, seed)
        finally:
            Path(path).write_bytes(good)
    assert verify(place, home, full=True, strict=True).exit_code == 0
