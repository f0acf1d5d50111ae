"""Claims about the JavaScript verifier beside the description of the format: it agrees with ours, on good and on bad."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.audit import segment
from chrono.audit.place import segment_path
from chrono.audit.proof import newest_checkpoint, prove_in
from chrono.audit.record import Act, Entry
from chrono.audit.rotation import rotate_key
from chrono.audit.text import PRUNED, pack
from chrono.signing import generate

from .conftest import BOB, Ground

NODE = shutil.which("node")
SCRIPT = Path(__file__).parents[3] / "docs" / "formats" / "audit-v2-verify.mjs"
FROZEN = Path(__file__).parents[2] / "formats" / "audit_v2"
pytestmark = pytest.mark.skipif(NODE is None, reason="no node on this machine")


def run(*args: object) -> tuple[int, str]:
    done = subprocess.run([str(NODE), str(SCRIPT), *map(str, args)], capture_output=True, text=True, check=False)
    assert "    at " not in done.stderr, done.stderr
    return done.returncode, done.stdout.strip()


@pytest.fixture
def log(ground: Ground) -> Ground:
    ground.begin(3)
    ground.savepoint('é \\ " \x01 \x7f \u2028 \U0001f600')
    ground.log.append(Entry("scan", BOB, Act(more=(("deep", [[[[[1, -5, True, None]]]]]),))), timeout_s=5)
    return ground


def key_of(ground: Ground) -> str:
    return Path(ground.place.pub).read_text().strip()


def test_it_is_shorter_than_two_hundred_lines() -> None:
    assert len(SCRIPT.read_text().splitlines()) < 200
    assert "require(" not in SCRIPT.read_text()


def test_it_accepts_our_log_also_after_a_rotation(log: Ground, tmp_path: Path) -> None:
    first, kept = key_of(log), tmp_path / "checkpoint"
    kept.write_text(newest_checkpoint(log.place))
    code, said = run(log.place.log, first, kept)
    assert (code, said) == (0, f"OK log {log.log.log_id}: 6 records, root {log.verify().root}")
    rotate_key(log.log, log.home, log.keys, BOB)
    log.command("under the new key")
    assert run(log.place.log, first, kept)[0] == 0
    kept.write_text(newest_checkpoint(log.place))
    assert run(log.place.log, first, kept)[0] == 0
    assert run(log.place.log, key_of(log))[0] == 20


def test_it_accepts_the_frozen_log() -> None:
    key = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
    assert run(FROZEN / "audit.jsonl", key, FROZEN / "checkpoint")[0] == 0


def test_it_refuses_what_we_refuse(log: Ground, tmp_path: Path) -> None:
    key, good = key_of(log), log.lines()
    kept = tmp_path / "checkpoint"
    kept.write_text(newest_checkpoint(log.place))
    middle = good[2]
    for bad, why in (
        (middle.replace(b'"bob"', b'"eve"'), "record 2: the signature"),
        (middle.replace(b'"uid":1000', b'"uid":1000.0'), "record 2: not in canonical"),
        (middle.replace(b'"fmt":2', b'"fmt":2,"fmt":2'), "record 2: not in canonical"),
        (middle + b"\r", "record 2: not in canonical"),
        (b"\xef\xbb\xbf" + middle, "record 2"),
        (middle.replace(b"echo", b"\xff"), "record 2"),
        (b"x" * 200_000, "too long"),
        (b"", "record 2"),
        (good[3], "record 2: does not follow"),
    ):
        log.write_lines([*good[:2], bad, *good[3:]])
        code, said = run(log.place.log, key)
        assert code == 20
        assert why in said
    log.write_lines(good[:-1])
    assert run(log.place.log, key)[0] == 0
    assert run(log.place.log, key, kept) == (
        20, "FAIL truncated: the checkpoint covers 6 records, the log has 5"
    )  # fmt: skip
    log.write_lines(good)
    kept.write_text(kept.read_text().replace("\n6\n", "\n5\n"))
    assert run(log.place.log, key, kept)[0] == 20
    assert run(log.place.log, generate().public.text)[0] == 20
    assert run(log.place.log, "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") == (
        20, "FAIL a public key that proves nothing"
    )  # fmt: skip


def test_it_checks_a_proof(log: Ground, tmp_path: Path) -> None:
    path = tmp_path / "p.tlog-proof"
    for n in (0, 3, 5):
        proof = prove_in(log.place, n)
        path.write_text(proof.text)
        code, said = run("--proof", path, f"{generate().public.text},{key_of(log)}")
        assert code == 0, said
        assert said.startswith(f"OK record {n} of log {log.log.log_id}")
        path.write_text(proof._replace(n=(n + 1) % 6).text)
        assert run("--proof", path, key_of(log))[0] == 20
    path.write_text(proof._replace(path=proof.path[::-1]).text)
    assert run("--proof", path, key_of(log))[0] == 20
    assert run("--proof", path, generate().public.text)[0] == 20


def piped(ground: Ground) -> tuple[int, str]:
    text = 'zcat -f audit-[0-9]* audit.jsonl | "$0" "$1" - "$2"'
    done = subprocess.run(
        ["sh", "-c", text, str(NODE), str(SCRIPT), key_of(ground)],
        cwd=ground.place.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip()


def test_it_reads_a_log_in_several_files_also_a_pruned_one(log: Ground) -> None:
    segment.close(log.log, BOB, timeout_s=5)
    log.command("in the second file")
    segment.close(log.log, BOB, timeout_s=5)
    segment.pack_closed(log.place)
    assert piped(log) == (0, f"OK log {log.log.log_id}: 11 records, root {log.verify().root}")
    plan = segment.plan_prune(log.place, "9999-01-01T00:00:00.000000Z")
    segment.prune(log.log, plan, BOB, timeout_s=5)
    assert piped(log) == (0, f"OK log {log.log.log_id}: 13 records, root {log.verify().root}")
    path = Path(segment_path(log.place, 0, PRUNED))
    rows = gzip.decompress(path.read_bytes()).split(b"\n")
    hidden = next(at for at, row in enumerate(rows) if b'"anchor"' in row)
    rows[hidden] = hashlib.sha256(b"\0" + rows[hidden]).hexdigest().encode()
    path.write_bytes(pack(b"\n".join(rows)))
    assert piped(log) == (20, "FAIL 0: pruned, and no record says so")
