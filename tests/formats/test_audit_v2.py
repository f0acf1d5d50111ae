"""Claims about old bytes: format v2 of the audit log is frozen, and its description tells the same bytes.

The files in `audit_v2/` were written by the first version of the format. They never change; a new version gets files
of its own.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from chrono.audit import checkpoint, head
from chrono.audit.merkle import CompactRange, inclusion_spans, leaf_hash
from chrono.audit.pin import Pin, read_pin, write_pin
from chrono.audit.place import project_place
from chrono.audit.proof import Proof, parse, roots_of, verified
from chrono.audit.record import NO_PREV, Act, Actor, Anchor, Entry, encode
from chrono.audit.redact import commitment
from chrono.audit.sshsig import sshsig
from chrono.audit.verify import verify
from chrono.audit.witness import Alarm, Mark, Witness
from chrono.layout import HomeLayout, ProjectLayout
from chrono.signing import signer_of_seed

FROZEN = Path(__file__).parent / "audit_v2"
DOC = Path(__file__).parents[2] / "docs" / "formats" / "audit-v2.md"
SIGNER = signer_of_seed(bytes(range(32)))
LOG = "00112233445566778899aabbccddeeff"
BOOT = "01234567-89ab-cdef-0123-456789abcdef"
BOB = Actor(
    user="bob", uid=1000, host="box", agent="claude-code", agent_ver="2.1.0", model="m-1", session="s-1",
    tool_use_id="t-1", parent_session="s-0", pid=4242, ppid=4241, exe="/usr/bin/x", source="hook",
)  # fmt: skip
ENTRIES = [
    Entry("genesis", Actor(user="bob", uid=1000, source="cli"), Act(more=(("key", {"pub": SIGNER.public.text}),))),
    Entry(
        "command",
        BOB,
        Act(
            tool="Bash",
            cmd='TOKEN=[redacted] ./x.sh "é" \\ \u2028\x1b\x7f caf\udce9\0',
            cmd_c=commitment("TOKEN=hunter2", bytes(32)),
            cwd="/home/bob/project",
            decision="ask",
            rules=("net.upload", "files.delete"),
            score=60,
            policy_sha256="a" * 64,
            exit=1,
            dur_ms=12,
            files=(("x.sh", "b" * 64),),
            scan="full",
            phase="begin",
            op="c" * 32,
            message="why",
            more=(("recovered", {"bytes": 7, "sha256": "d" * 64}), ("list", [1, True, None, -(2**53) + 1])),
        ),
    ),
    Entry(
        "savepoint",
        Actor(source="cli"),
        None,
        Anchor("1" * 40, "2" * 64, "3" * 40, ref="refs/heads/main", old="4" * 40, op="5" * 32),
    ),
]


def lines() -> list[bytes]:
    made: list[bytes] = []
    for n, entry in enumerate(ENTRIES):
        prev = leaf_hash(made[-1]).hex() if made else NO_PREV
        at = f"2026-11-30T02:15:2{n}.123456Z"
        made.append(encode(entry, n=n, at=at, log=LOG, prev=prev, signer=SIGNER))
    return made


def tree() -> CompactRange:
    grown = CompactRange()
    for line in lines():
        grown.add(leaf_hash(line))
    return grown


def note() -> str:
    return checkpoint.sign(checkpoint.Checkpoint(LOG, 3, tree().root()), SIGNER)


def write_head(path: Path) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    leaf = leaf_hash(lines()[-1]).hex()
    head.write(fd, head.Head(LOG, 3, sum(len(line) + 1 for line in lines()), leaf, tuple(tree().hashes), note()))
    os.close(fd)


def write_witness(path: Path) -> None:
    witness = Witness(str(path), str(path) + ".lock")
    mark = Mark(3, leaf_hash(lines()[-1]).hex(), note(), BOOT)
    witness.appended(mark)
    witness.acknowledged(3)
    witness.latch(Alarm("truncated", mark, 1, "6" * 64, "2026-11-30T02:16:00.000000Z"))
    witness.reset()
    witness.appended(mark)
    witness.dropped()
    witness.counted(1)
    witness.acknowledged(3)
    witness.close()


def proof() -> Proof:
    leaves = [leaf_hash(line) for line in lines()]
    return Proof(1, roots_of(leaves, inclusion_spans(1, 3)), note(), lines()[1])


def write_all(folder: Path) -> None:
    (folder / "record-1.tlog-proof").write_text(proof().text, encoding="utf-8")
    (folder / "checkpoint.sig").write_text(sshsig(note().encode(), SIGNER))
    (folder / "audit.jsonl").write_bytes(b"".join(line + b"\n" for line in lines()))
    (folder / "checkpoint").write_text(note(), encoding="utf-8")
    write_head(folder / "audit.head")
    write_witness(folder / "witness")
    home = HomeLayout(str(folder))
    os.makedirs(home.trust)
    write_pin(home, Pin(LOG, SIGNER.public, "/home/b%b/caf\udce9", 42, 0))
    shutil.move(home.pin(LOG), folder / "pin")
    os.rmdir(home.trust)


NAMES = ["audit.jsonl", "checkpoint", "audit.head", "witness", "pin", "record-1.tlog-proof", "checkpoint.sig"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_are_written_today(tmp_path: Path, name: str) -> None:
    write_all(tmp_path)
    assert (tmp_path / name).read_bytes() == (FROZEN / name).read_bytes()


def test_the_old_bytes_are_accepted_today(tmp_path: Path) -> None:
    layout, home = ProjectLayout(str(tmp_path / "project")), HomeLayout(str(tmp_path / "home"))
    for folder in (layout.dir, home.trust, home.witness):
        os.makedirs(folder)
    place = project_place(layout)
    shutil.copyfile(FROZEN / "audit.jsonl", place.log)
    shutil.copyfile(FROZEN / "audit.head", place.head)
    shutil.copyfile(FROZEN / "witness", home.witness_log(LOG))
    shutil.copyfile(FROZEN / "pin", home.pin(LOG))
    for folder in (place.log, place.head, home.witness_log(LOG)):
        os.chmod(folder, 0o600)
    pin = read_pin(home, LOG)
    assert pin is not None
    assert (pin.path, pin.inode, pin.signed_from) == ("/home/b%b/caf\udce9", 42, 0)
    report = verify(place, home, full=True)
    assert report.findings == ()
    assert report.size == 3
    assert report.warnings == ("the log was moved here from /home/b%b/caf\udce9; the pin does not know yet",)
    state = Witness(home.witness_log(LOG), home.witness_lock(LOG)).state()
    assert (state.acknowledged, state.alarm, state.resets, state.dropped) == (3, None, 1, 0)
    assert state.mark == Mark(3, leaf_hash(lines()[-1]).hex(), note(), BOOT)


def test_the_old_proof_holds_today() -> None:
    text = (FROZEN / "record-1.tlog-proof").read_text(encoding="utf-8")
    assert verified(parse(text), (SIGNER.public,)).record.n == 1


def test_the_description_shows_the_frozen_bytes() -> None:
    text = DOC.read_text(encoding="utf-8")
    first = (FROZEN / "audit.jsonl").read_text(encoding="utf-8").split("\n")[0]
    assert first in text
    assert (FROZEN / "checkpoint").read_text(encoding="utf-8") in text
    assert leaf_hash(first.encode()).hex() in text
    assert SIGNER.public.text in text


def test_the_description_names_every_kind_of_record_and_every_code() -> None:
    import re

    from chrono.audit.record import KINDS

    text = DOC.read_text(encoding="utf-8")
    assert [kind for kind in sorted(KINDS) if f"`{kind}`" not in text] == []
    source = "".join(
        (Path(checkpoint.__file__).parent / f"{name}.py").read_text() for name in ("chain", "verify", "compare", "tail")
    )
    used = set(re.findall(r'(?:fail|Mismatch)\(\s*"([a-z-]+)"', source)) | {"too-long", "malformed", "non-canonical"}
    assert len(used) > 20
    assert [code for code in sorted(used) if f"`{code}`" not in text] == []
