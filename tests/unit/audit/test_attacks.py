"""Claims about what the verification finds: one test an attack, each with the exact codes, and controls without one."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.audit import checkpoint, head
from chrono.audit.keys import KeySettings, read_key_file
from chrono.audit.log import create, reset_witness
from chrono.audit.merkle import CompactRange, leaf_hash
from chrono.audit.pin import Pin, read_pin, write_pin
from chrono.audit.place import project_place
from chrono.audit.record import NO_PREV, Act, Actor, Entry, encode
from chrono.audit.report import Report
from chrono.audit.verify import read_records, verify
from chrono.canonical import canonical_bytes
from chrono.clock import rfc3339
from chrono.errors import AuditTampered, AuditUnverifiable, KeyRefused
from chrono.layout import HomeLayout, ProjectLayout
from chrono.signing import Signer, generate

from .conftest import BOB, Ground, codes, command


@pytest.fixture
def log(ground: Ground) -> Ground:
    """A genesis record, five commands and two savepoints: records 0 to 7."""
    ground.begin(2)
    ground.savepoint("one")
    ground.command("echo 2")
    ground.savepoint("two")
    ground.command("echo 3")
    ground.command("echo 4")
    return ground


def signer(ground: Ground) -> Signer:
    return read_key_file(ground.home.audit_key)


def sealed(
    ground: Ground, entry: Entry, n: int, prev: bytes | None, key: Signer | None, *, log_id: str | None = None
) -> bytes:
    """A record as somebody with `key` would make it."""
    return encode(
        entry,
        n=n,
        at=rfc3339(ground.clock.now_ns()),
        log=log_id or ground.log.log_id,
        prev=leaf_hash(prev).hex() if prev is not None else NO_PREV,
        signer=key,
    )


def rewrite_head(ground: Ground, lines: list[bytes], key: Signer | None, *, log_id: str | None = None) -> None:
    tree = CompactRange()
    for line in lines:
        tree.add(leaf_hash(line))
    name = log_id or ground.log.log_id
    note = checkpoint.sign(checkpoint.Checkpoint(name, tree.size, tree.root()), key)
    offset = sum(len(line) + 1 for line in lines)
    leaf = leaf_hash(lines[-1]).hex()
    fd = os.open(ground.place.head, os.O_RDWR | os.O_TRUNC)
    head.write(fd, head.Head(name, tree.size, offset, leaf, tuple(tree.hashes), note))
    os.close(fd)


def found(report: Report, code: str) -> int | None:
    """The record number of the first finding with `code`."""
    assert code in codes(report), report
    return next(finding.record for finding in report.findings if finding.code == code)


def judged(ground: Ground, **more: object) -> Report:
    """The verdict; the fast and the full verification must agree on whether the log is intact."""
    fast, full = ground.verify(**more), ground.verify(full=True, **more)
    assert (fast.exit_code, codes(fast)) == (full.exit_code, codes(full))
    assert fast.exit_code != 20 or fast.integrity.startswith("FAIL")
    return fast


# -- control


def test_a_log_without_an_attack_is_intact(log: Ground) -> None:
    report = judged(log, strict=True)
    assert (report.exit_code, report.findings, report.warnings, report.size) == (0, (), (), 8)
    assert report.integrity == "OK local (W0,W1,W3); remote: not checked; last external checkpoint none"
    assert report.completeness == "nothing is missing that other records or savepoints name"


# -- edits


@pytest.mark.parametrize("n", range(8))
def test_an_edited_field_breaks_signature_chain_and_root(log: Ground, n: int) -> None:
    lines = log.lines()
    lines[n] = lines[n].replace(b'"user":"bob"', b'"user":"eve"')
    log.write_lines(lines)
    report = judged(log)
    assert report.exit_code == 20
    assert found(report, "signature") == n
    expected = {"signature", "root"} | ({"chain"} if n < 7 else {"forked"})
    if n <= 4:  # a savepoint taken afterwards names the root of what was before
        expected |= {"trailer-root"}
    assert codes(report) == expected
    assert report.findings[0].code == "trailer-root" or report.findings[0].record == n
    if n < 7:
        assert found(report, "chain") == n + 1


def test_an_edited_signature_breaks_the_chain(log: Ground) -> None:
    lines = log.lines()
    other = lines[4][-92:]
    lines[6] = lines[6][:-92] + other
    log.write_lines(lines)
    report = judged(log)
    assert codes(report) == {"signature", "chain", "root"}
    assert found(report, "signature") == 6


def test_two_records_in_other_order(log: Ground) -> None:
    lines = log.lines()
    lines[5:7] = [lines[6], lines[5]]
    log.write_lines(lines)
    report = judged(log)
    assert codes(report) == {"sequence", "chain", "root"}
    assert found(report, "sequence") == 5


def test_a_record_dropped_in_the_middle(log: Ground) -> None:
    lines = log.lines()
    del lines[6]
    log.write_lines(lines)
    report = judged(log)
    assert codes(report) == {"sequence", "chain", "truncated"}
    assert found(report, "sequence") == 6


def test_a_record_twice(log: Ground) -> None:
    lines = log.lines()
    lines.insert(6, lines[6])
    log.write_lines(lines)
    report = judged(log)
    assert codes(report) == {"sequence", "chain", "root", "forked"}
    assert found(report, "sequence") == 7


# -- truncation


def test_a_cut_tail_is_seen_by_head_and_witness(log: Ground) -> None:
    log.write_lines(log.lines()[:6])
    report = judged(log)
    assert codes(report) == {"truncated"}
    texts = [finding.text for finding in report.findings]
    assert "truncated: a signed checkpoint covers 8 records, the log has 6" in texts
    assert "witness: truncated: 2 acknowledged records are missing, the log ends at 6" in texts
    assert {finding.record for finding in report.findings} == {6}
    assert [level.state for level in report.levels] == ["failed", "failed", "checked"]


def test_a_cut_tail_and_head_is_seen_by_the_witness(log: Ground) -> None:
    log.write_lines(log.lines()[:6])
    rewrite_head(log, log.lines(), signer(log))
    report = judged(log)
    assert codes(report) == {"truncated"}
    assert [level.state for level in report.levels] == ["checked", "failed", "checked"]


def test_a_cut_tail_head_and_witness_is_seen_by_the_savepoints(log: Ground) -> None:
    log.write_lines(log.lines()[:4])
    rewrite_head(log, log.lines(), signer(log))
    os.unlink(log.home.witness_log(log.log.log_id))
    report = judged(log)
    assert codes(report) == {"witness-missing", "commit-without-record", "trailer-ahead"}
    assert report.completeness.startswith("INCOMPLETE savepoint")
    assert len(report.unanchored) == 1


def test_a_cut_inside_a_witnessed_record_is_no_crash(log: Ground) -> None:
    os.truncate(log.place.log, os.stat(log.place.log).st_size - 20)
    report = judged(log)
    assert codes(report) == {"truncated"}
    assert len(report.warnings) == 1
    with log.log.writing(5):
        pass
    assert codes(judged(log)) == {"alarm"}


# -- other logs, other keys


def test_a_spliced_record_of_another_log_under_the_same_key(log: Ground, tmp_path: Path) -> None:
    other = Ground(tmp_path / "other")
    shutil.copytree(log.home.keys, other.home.keys)
    other.begin(7)
    lines = log.lines()
    lines[6] = other.lines()[6]
    log.write_lines(lines)
    report = judged(log)
    assert codes(report) == {"foreign-log", "chain", "root"}
    assert found(report, "foreign-log") == 6


def test_a_log_made_anew_under_another_key(log: Ground, tmp_path: Path) -> None:
    other = Ground(tmp_path / "other")
    other.begin(7)
    for name in ("log", "head", "pub"):
        shutil.copyfile(getattr(other.place, name), getattr(log.place, name))
    report = judged(log)
    assert codes(report) == {
        "not-pinned",
        "key-not-active",
        "signature",
        "forked",
        "commit-without-record",
        "trailer-root",
        "foreign-log",
        "head-foreign",
    }
    assert report.findings[0].code == "not-pinned"


def test_a_log_made_anew_under_the_same_id_and_another_key(log: Ground) -> None:
    key, lines = generate(), []
    for n in range(8):
        act = Act(more=(("key", {"pub": key.public.text}),)) if n == 0 else Act(cmd="nothing happened")
        entry = Entry("genesis" if n == 0 else "command", BOB, act)
        lines.append(sealed(log, entry, n, lines[-1] if lines else None, key))
    log.write_lines(lines)
    rewrite_head(log, lines, key)
    report = judged(log)
    assert codes(report) == {
        "not-pinned",
        "key-not-active",
        "signature",
        "forked",
        "commit-without-record",
        "trailer-root",
    }
    assert found(report, "not-pinned") == 0


def test_an_old_state_put_back_keeps_its_alarm(log: Ground, tmp_path: Path) -> None:
    names = ("audit.jsonl", "audit.head", "audit.pub")
    for name in names:
        shutil.copyfile(os.path.join(log.layout.dir, name), tmp_path / name)
    commit = log.savepoint("three")
    log.command("the thing to hide")
    for name in names:
        shutil.copyfile(tmp_path / name, os.path.join(log.layout.dir, name))
    del log.commits.said[commit]
    assert codes(judged(log)) == {"truncated"}
    for _ in range(3):
        log.command("as if nothing was", log=log.again())
    report = judged(log)
    assert codes(report) == {"alarm"}
    alarm = log.witness().state().alarm
    assert alarm is not None
    assert (alarm.code, alarm.expected.size, alarm.found_size) == ("truncated", 10, 8)
    records = list(read_records(log.place))
    told = records[8]
    assert told is not None
    assert told.ev == "audit.discontinuity"
    assert (told.act["code"], told.act["expected_size"], told.act["found_size"]) == ("truncated", 10, 8)
    note = told.act["note"]
    assert isinstance(note, str)
    assert checkpoint.verified(note, log=log.log.log_id, key=signer(log).public).size == 10
    assert [record.ev for record in records[9:] if record] == ["command"] * 3


def test_an_alarm_ends_by_a_persons_word_only(log: Ground) -> None:
    log.write_lines(log.lines()[:4])
    log.command("x")
    before = judged(log)
    assert codes(before) == {"alarm", "commit-without-record", "trailer-root"}
    receipt = reset_witness(log.log, Actor(user="ann"), None, commits=before.unanchored)
    assert receipt is not None
    report = judged(log)
    assert (report.exit_code, report.findings, report.resets) == (22, (), 1)
    assert report.integrity.endswith("; 1 reset")
    assert codes(judged(log, strict=True)) == {"strict"}
    log.command("y")
    assert judged(log).exit_code == 22
    assert reset_witness(log.log, Actor(user="ann"), "again") is None
    last = list(read_records(log.place))[receipt.n]
    assert last is not None
    assert last.act["expected_size"] == 8


def test_many_commits_are_excused_by_one_reset(log: Ground) -> None:
    log.write_lines(log.lines()[:4])
    log.command("x")
    gone = [f"{number:040x}" for number in range(2500)]
    reset_witness(log.log, Actor(user="ann"), "why", commits=(*judged(log).unanchored, *gone))
    report = judged(log)
    assert (report.exit_code, report.resets) == (22, 1)


def test_a_deleted_log_is_missed(log: Ground) -> None:
    os.unlink(log.place.log)
    os.unlink(log.place.head)
    report = log.verify()
    assert (report.exit_code, codes(report)) == (20, {"log-missing"})
    os.unlink(log.home.witness_log(log.log.log_id))
    report = log.verify()
    assert (report.exit_code, codes(report)) == (20, {"log-missing"})
    with pytest.raises(AuditTampered):
        create(log.place, log.home, KeySettings(), log.clock, BOB)


def test_a_stolen_key_that_rewrites_the_project_is_caught_outside_it(log: Ground) -> None:
    lines = log.lines()[:2]
    for n in range(2, 8):
        lines.append(sealed(log, Entry("command", BOB, Act(cmd="nothing happened")), n, lines[-1], signer(log)))
    log.write_lines(lines)
    rewrite_head(log, lines, signer(log))
    report = judged(log)
    assert codes(report) == {"forked", "trailer-root", "commit-without-record"}


def test_a_stolen_key_cannot_undo_a_savepoints_root(log: Ground) -> None:
    lines = log.lines()
    lines[1] = sealed(log, Entry("command", BOB, Act(cmd="nothing happened")), 1, lines[0], signer(log))
    for n in range(2, 8):
        old = json.loads(lines[n])
        value = {key: item for key, item in old.items() if key != "sig"} | {"prev": leaf_hash(lines[n - 1]).hex()}
        body = canonical_bytes(value)
        sig = base64.b64encode(signer(log).sign(b"chrono-audit-record/v2\n" + body))
        lines[n] = body[:-1] + b',"sig":"' + sig + b'"}'
    log.write_lines(lines)
    rewrite_head(log, lines, signer(log))
    os.unlink(log.home.witness_log(log.log.log_id))
    assert codes(judged(log)) == {"witness-missing", "trailer-root"}


def test_a_log_rewritten_unsigned_is_a_downgrade(log: Ground) -> None:
    lines: list[bytes] = []
    for line in log.lines():
        value = json.loads(line)
        for key in ("kid", "sig"):
            del value[key]
        value["prev"] = leaf_hash(lines[-1]).hex() if lines else NO_PREV
        lines.append(canonical_bytes(value))
    log.write_lines(lines)
    rewrite_head(log, lines, None)
    os.unlink(log.home.witness_log(log.log.log_id))
    report = judged(log, commits=None)
    assert codes(report) == {"downgrade", "witness-missing"}
    assert found(report, "downgrade") == 0


def test_an_unsigned_record_in_a_signed_log_is_a_downgrade(log: Ground) -> None:
    lines = log.lines()
    lines.append(sealed(log, Entry("command", BOB, Act(cmd="x")), 8, lines[-1], None))
    log.write_lines(lines)
    report = judged(log)
    assert codes(report) == {"downgrade"} | {"signature"}
    assert found(report, "downgrade") == 8
    log.command("the writer does not adopt it")
    assert codes(judged(log)) == {"downgrade", "alarm"}
    alarm = log.witness().state().alarm
    assert alarm is not None
    assert alarm.code == "not-adopted"


def test_a_record_by_another_key_is_not_active(log: Ground) -> None:
    lines, stranger = log.lines(), generate()
    data = sealed(log, Entry("command", BOB, Act(cmd="x")), 8, lines[-1], stranger)
    log.write_lines([*lines, data])
    assert codes(judged(log)) == {"key-not-active", "signature"}
    swapped = data.replace(stranger.public.kid.encode(), signer(log).public.kid.encode())
    log.write_lines([*lines, swapped])
    report = judged(log)
    assert codes(report) == {"signature"}
    assert found(report, "signature") == 8
    log.command("the writer does not adopt it")
    assert codes(judged(log)) == {"signature", "alarm"}


def test_valid_records_that_were_not_witnessed_are_adopted(log: Ground) -> None:
    lines = log.lines()
    lines.append(sealed(log, command("x"), 8, lines[-1], signer(log)))
    log.write_lines(lines)
    report = judged(log)
    assert (report.exit_code, report.warnings) == (0, ("1 record is not witnessed yet; the next append adopts them",))
    log.command()
    assert judged(log, strict=True).exit_code == 0


def test_unsigned_records_fail_where_a_key_is_required(ground: Ground) -> None:
    ground.begin(1, keys=KeySettings(unsigned=True))
    report = ground.verify(require_key=True)
    assert report.exit_code == 21
    assert report.integrity.startswith(
        "CANNOT VERIFY CHRONO_AUDIT_REQUIRE_KEY is set, and no key is pinned for this log; "
    )
    assert report.completeness == "whether anything is missing cannot be told"
    ground.command(log=ground.again(keys=KeySettings()))
    assert ground.verify().exit_code == 0
    assert found(ground.verify(require_key=True), "downgrade") == 0


def test_a_signed_record_in_an_unsigned_log_brings_no_trust(ground: Ground) -> None:
    ground.begin(1, keys=KeySettings(unsigned=True))
    lines, key = ground.lines(), generate()
    act = Act(more=(("key", {"pub": key.public.text}),))
    ground.write_lines([*lines, sealed(ground, Entry("key.add", BOB, act), 2, lines[-1], key)])
    report = judged(ground)
    assert codes(report) == {"not-pinned"}


def test_an_unsigned_log_is_a_downgrade_for_an_auditor_who_trusts_keys(ground: Ground) -> None:
    ground.begin(1, keys=KeySettings(unsigned=True))
    report = verify(ground.place, ground.home, trusted=(generate().public,))
    assert codes(report) >= {"downgrade"}


def test_unsigned_records_slipped_in_before_the_first_signature(ground: Ground) -> None:
    """With the key in hand, the records before `key.add` could be more than there were."""
    log = ground.begin(1, keys=KeySettings(unsigned=True))
    ground.command(log=ground.again(keys=KeySettings()))
    lines = ground.lines()[:2]
    lines.append(sealed(ground, command("slipped in"), 2, lines[-1], None))
    act = Act(more=(("key", {"pub": signer(ground).public.text}),))
    lines.append(sealed(ground, Entry("key.add", BOB, act), 3, lines[-1], signer(ground)))
    ground.write_lines(lines)
    rewrite_head(ground, lines, signer(ground))
    os.unlink(ground.home.witness_log(log.log_id))
    report = judged(ground)
    assert codes(report) == {"downgrade", "not-pinned", "witness-missing"}
    assert found(report, "downgrade") == 2
    assert found(report, "not-pinned") == 3


# -- bytes that are not the one form

WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "duplicate key": lambda line: line.replace(b'"user":"bob"', b'"user":"bob","user":"bob"'),
    "white space": lambda line: line.replace(b'"user":"bob"', b'"user": "bob"'),
    "escape": lambda line: line.replace(b'"command"', b'"\\u0063ommand"'),
    "float": lambda line: line.replace(b'"fmt":2', b'"fmt":2.0'),
    "byte order mark": lambda line: b"\xef\xbb\xbf" + line,
    "CRLF": lambda line: line + b"\r",
    "blank line": lambda line: line + b"\n",
    "two lines in one": lambda line: line.replace(b',"by"', b',\n"by"'),
    "other normal form": lambda line: line.replace("é".encode(), "e\u0301".encode()),
    "invalid UTF-8": lambda line: line.replace("é".encode(), b"\xe9"),
    "too long": lambda line: line.replace(b'"bob"', b'"' + b"b" * 200_000 + b'"'),
    "zeros": lambda line: b"\0" * 4096,
    "deep nesting": lambda line: b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deeper than any stack": lambda line: b"[" * 60_000,
    "huge number": lambda line: line.replace(b'"fmt":2', b'"fmt":' + b"9" * 5000),
    "no object": lambda line: b"[]",
    "other members": lambda line: line.replace(b'"fmt":2', b'"fmt":2,"gmt":2'),
    "other format": lambda line: line.replace(b'"fmt":2', b'"fmt":3'),
}
EXPECTED = {
    "other normal form": "signature",
    "too long": "too-long",
    "duplicate key": "non-canonical",
    "white space": "non-canonical",
    "escape": "non-canonical",
    "CRLF": "non-canonical",
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("where", ["middle", "last"])
def test_bytes_in_any_other_form_are_named(ground: Ground, name: str, where: str) -> None:
    ground.begin(2)
    ground.command("echo é")
    if where == "middle":
        ground.command("after")
        ground.command("after")
    lines = ground.lines()
    assert WHOLE[name](lines[3]) != lines[3]
    lines[3] = WHOLE[name](lines[3])
    ground.write_lines(lines)
    report = judged(ground)
    assert report.exit_code == 20
    code = EXPECTED.get(name, "malformed")
    assert found(report, code) == (4 if name == "blank line" else 3)
    assert not any("could not go on" in finding.text for finding in report.findings)


def test_a_damaged_genesis_is_named_too(log: Ground) -> None:
    lines = log.lines()
    log.write_lines([b"{}", *lines[1:]])
    report = judged(log)
    assert found(report, "malformed") == 0
    log.write_lines([b"\xff" * 100_000, *lines[1:]])
    assert found(judged(log), "too-long") == 0
    with pytest.raises(AuditTampered):
        log.again()


@pytest.mark.parametrize("data", [b"", b'{"act', b"\0" * 9])
def test_a_log_without_a_record_is_never_intact(ground: Ground, tmp_path: Path, data: bytes) -> None:
    """Neither for this home, whose pin says that there was one, nor for an auditor, to whom nothing proves anything."""
    ground.begin(3)
    public = ground.log._signer.public if ground.log._signer is not None else None
    Path(ground.place.log).write_bytes(data)
    os.unlink(ground.place.head)
    os.unlink(ground.home.witness_log(ground.log.log_id))
    report = judged(ground)
    assert (report.exit_code, codes(report)) == (20, {"log-missing"})
    assert public is not None
    for full in (False, True):
        told = verify(ground.place, HomeLayout(str(tmp_path / "auditor")), trusted=(public,), full=full)
        assert (told.exit_code, told.findings) == (21, ())
        assert told.integrity.startswith("CANNOT VERIFY the audit log holds no record")


def test_an_empty_log_is_truncated(log: Ground) -> None:
    Path(log.place.log).write_bytes(b"")
    report = judged(log)
    assert codes(report) == {"truncated", "commit-without-record", "trailer-ahead"}
    with pytest.raises(AuditTampered):
        create(log.place, log.home, KeySettings(), log.clock, BOB)


# -- the file itself


@pytest.mark.parametrize("kind", ["symlink", "hard link", "directory", "fifo"])
def test_a_log_that_is_no_plain_file_is_neither_read_nor_written(log: Ground, tmp_path: Path, kind: str) -> None:
    path = Path(log.place.log)
    aside = path.rename(tmp_path / "aside")
    if kind == "symlink":
        path.symlink_to(aside)
    elif kind == "hard link":
        path.hardlink_to(aside)
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path, 0o600)
    before = aside.read_bytes()
    report = log.verify()  # opening a fifo without care, it would wait for ever
    assert (report.exit_code, report.findings) == (21, ())
    assert "neither read nor written" in report.integrity
    for writer in (log.log,):
        with pytest.raises(AuditUnverifiable, match="neither read nor written"):
            log.command(log=writer)
    with pytest.raises(AuditUnverifiable, match="neither read nor written"):
        log.again()
    assert aside.read_bytes() == before


def test_a_log_that_others_may_write_is_a_warning(log: Ground) -> None:
    os.chmod(log.place.log, 0o666)
    report = judged(log)
    assert (report.exit_code, report.warnings) == (0, (f"others may write {log.place.log} (mode 0666)",))
    assert codes(judged(log, strict=True)) == {"strict"}


def test_a_log_of_another_user_is_refused(log: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    report = log.verify()
    assert report.exit_code == 21
    assert "uid 0" in report.integrity


def test_a_clock_that_goes_back_is_a_warning(log: Ground) -> None:
    log.clock.at_ns -= 10**13  # type: ignore[attr-defined]
    log.command()
    report = log.verify(full=True)
    assert (report.exit_code, report.warnings) == (0, ("the clock went back at record 8",))


# -- savepoints


def test_a_deleted_ref_is_an_anchor_without_its_commit(log: Ground) -> None:
    commit = next(iter(log.commits.said))
    del log.commits.said[commit]
    report = judged(log)
    assert codes(report) == {"anchor-missing"}
    assert report.findings[0].text == f"savepoint {commit[:12]} of record 3 hangs on no ref"
    del log.commits.raw[commit]
    report = judged(log)
    assert report.findings[0].text == f"savepoint {commit[:12]} of record 3 is gone, and no prune record names it"
    assert report.findings[0].record == 3
    log.log.append(Entry("prune", BOB, Act(more=(("commits", [commit]),))), timeout_s=5)
    assert judged(log, strict=True).exit_code == 0


def test_an_altered_commit_is_not_the_one_that_was_recorded(log: Ground) -> None:
    commit = next(iter(log.commits.said))
    log.commits.raw[commit] += b"x"
    report = judged(log)
    assert codes(report) == {"anchor-altered"}
    assert found(report, "anchor-altered") == 3


def test_a_commit_that_no_record_names(log: Ground) -> None:
    from chrono.audit.report import Trailer

    for number, (log_id, size) in enumerate([("", 0), ("cd" * 16, 1), (log.log.log_id, 1)]):
        root = log.verify().root if size else ""
        log.commits.said = {"f" * 40: Trailer("f" * 40, log_id, size, root)}
        report = log.verify()
        assert "commit-without-record" in codes(report), number
        assert report.unanchored == ("f" * 40,)


def test_trailers_that_claim_another_time_or_log(log: Ground) -> None:
    commit, trailer = next(iter(log.commits.said.items()))
    report = judged(log)
    log.commits.said[commit] = trailer._replace(size=report.size, root=report.root)
    assert codes(judged(log)) == {"trailer-ahead"}
    log.commits.said[commit] = trailer._replace(size=99)
    assert codes(judged(log)) == {"trailer-ahead"}
    log.commits.said[commit] = trailer._replace(root="0" * 64)
    assert codes(judged(log)) == {"trailer-root"}
    log.commits.said[commit] = trailer._replace(log="cd" * 16)
    assert codes(judged(log)) == {"trailer-foreign"}


def test_a_savepoint_anchored_twice(log: Ground) -> None:
    from chrono.audit.record import Anchor

    commit = next(iter(log.commits.said))
    digest = log.commits.sha256(commit)
    assert digest is not None
    log.log.append(Entry("savepoint", BOB, None, Anchor(commit, digest, "0" * 40)), timeout_s=5)
    report = judged(log)
    assert codes(report) == {"anchor-twice"}
    assert found(report, "anchor-twice") == 8


def test_a_savepoint_made_while_the_verifier_reads_is_no_finding(log: Ground) -> None:
    before = log.commits.trailers()
    log.savepoint("meanwhile")
    answers = [before]
    log.commits.trailers = lambda: answers.pop() if answers else list(log.commits.said.values())  # type: ignore[method-assign]
    assert log.verify().findings == ()


# -- keys


def weak_keys() -> list[str]:
    return [
        base64.b64encode(raw).decode() for raw in (b"\x01" + bytes(31), bytes(32), b"\xed" + b"\xff" * 30 + b"\x7f")
    ]


@pytest.mark.parametrize("pub", weak_keys())
def test_a_weak_key_in_genesis_is_refused(log: Ground, pub: str) -> None:
    line = log.lines()[0]
    value = json.loads(line)
    value["act"]["key"]["pub"] = pub
    log.write_lines([canonical_bytes(value), *log.lines()[1:]])
    assert codes(judged(log)) == {"weak-key", "signature", "chain", "root", "trailer-root"}


@pytest.mark.parametrize("pub", weak_keys())
def test_a_weak_key_in_the_pin_is_refused(log: Ground, pub: str) -> None:
    path = log.home.pin(log.log.log_id)
    value = json.loads(Path(path).read_bytes())
    Path(path).write_bytes(canonical_bytes({**value, "pub": pub}))
    assert judged(log).exit_code == 21
    with pytest.raises(KeyRefused):
        log.command(log=log.again())


def rotated(ground: Ground, by: Signer, to: Signer, *, pop: bytes | None, pub: str | None = None) -> None:
    """Appends a rotation `by` the old key, one record by the old key's successor, and the head."""
    lines = ground.lines()
    n, prev = len(lines), leaf_hash(lines[-1]).hex()
    pub = pub or to.public.text
    text = f"chrono-key-rotate/v2\n{ground.log.log_id}\n{n}\n{prev}\n{signer(ground).public.kid}\n{pub}\n"
    proof = base64.b64encode(pop if pop is not None else to.sign(text.encode())).decode()
    key = {"pub": pub, "pop": proof}
    lines.append(sealed(ground, Entry("key.rotate", BOB, Act(more=(("key", key),))), n, lines[-1], by))  # type: ignore[arg-type]
    ground.write_lines(lines)


def knows(ground: Ground, active: Signer) -> None:
    """This home has been told of the rotation."""
    pin = read_pin(ground.home, ground.log.log_id)
    assert pin is not None
    write_pin(ground.home, pin._replace(rotated=active.public))


def test_a_good_rotation_hands_over(log: Ground) -> None:
    new = generate()
    rotated(log, signer(log), new, pop=None)
    knows(log, new)
    lines = log.lines()
    lines.append(sealed(log, command("under the new key"), 9, lines[-1], new))
    log.write_lines(lines)
    assert judged(log).findings == ()


def test_a_rotation_that_this_home_did_not_make_is_not_its_own(log: Ground) -> None:
    """A thief of the key hands over to his own; the pin does not follow."""
    rotated(log, signer(log), generate(), pop=None)
    report = judged(log)
    assert codes(report) == {"not-pinned"}
    assert found(report, "not-pinned") == 8


def test_a_rotation_that_was_cut_off_from_the_log_is_missed(log: Ground) -> None:
    knows(log, generate())
    assert codes(judged(log)) == {"not-pinned"}


def test_the_old_key_is_not_active_after_a_rotation(log: Ground) -> None:
    new = generate()
    rotated(log, signer(log), new, pop=None)
    knows(log, new)
    lines = log.lines()
    log.write_lines([*lines, sealed(log, command("by the old key"), 9, lines[-1], signer(log))])
    report = judged(log)
    assert codes(report) == {"key-not-active", "signature"}
    assert found(report, "key-not-active") == 9


def test_a_rotation_by_somebody_else_is_forged(log: Ground) -> None:
    thief = generate()
    rotated(log, thief, thief, pop=None)
    assert codes(judged(log)) == {"key-not-active", "signature"}


@pytest.mark.parametrize("pop", [b"", bytes(64), b"x" * 64])
def test_a_rotation_without_proof_of_possession(log: Ground, pop: bytes) -> None:
    rotated(log, signer(log), generate(), pop=pop)
    report = judged(log)
    assert codes(report) == {"rotation"}
    assert found(report, "rotation") == 8


@pytest.mark.parametrize("pub", weak_keys())
def test_a_rotation_to_a_weak_key_is_refused(log: Ground, pub: str) -> None:
    rotated(log, signer(log), generate(), pop=None, pub=pub)
    assert codes(judged(log)) == {"weak-key"}


def test_records_of_a_revoked_key_are_named(log: Ground) -> None:
    old, new = signer(log), generate()
    rotated(log, old, new, pop=None)
    knows(log, new)
    lines = log.lines()
    members = (("kid", old.public.kid), ("trusted_until", 9))
    revoke = sealed(log, Entry("key.revoke", BOB, Act(more=members)), 9, lines[-1], new)
    log.write_lines([*lines, revoke])
    assert judged(log).findings == ()
    members = (("kid", old.public.kid), ("trusted_until", 6))
    log.write_lines([*lines, sealed(log, Entry("key.revoke", BOB, Act(more=members)), 9, lines[-1], new)])
    report = judged(log)
    assert codes(report) == {"key-revoked"}
    assert found(report, "key-revoked") == 6


def test_a_malleated_signature_is_rejected(log: Ground) -> None:
    lines = log.lines()
    raw = base64.b64decode(lines[7][-90:-2])
    s = int.from_bytes(raw[32:], "little") + 2**252 + 27742317777372353535851937790883648493
    other = base64.b64encode(raw[:32] + s.to_bytes(32, "little"))
    log.write_lines([*lines[:7], lines[7][:-90] + other + b'"}'])
    report = judged(log)
    assert codes(report) == {"signature", "root", "forked"}
    assert found(report, "signature") == 7


def test_an_auditor_trusts_the_keys_that_were_given(log: Ground, tmp_path: Path) -> None:
    elsewhere = Ground(tmp_path / "elsewhere").home
    assert verify(log.place, elsewhere).exit_code == 21
    report = verify(log.place, elsewhere, trusted=(signer(log).public,), commits=log.commits, full=True)
    assert (report.exit_code, report.findings) == (22, ())
    assert [(level.name, level.state) for level in report.levels] == [
        ("W0", "checked"), ("W1", "not checked"), ("W3", "checked")
    ]  # fmt: skip
    assert codes(verify(log.place, elsewhere, trusted=(generate().public,))) >= {"not-pinned"}


# -- heads, copies


def test_the_head_of_another_log_is_foreign(log: Ground, tmp_path: Path) -> None:
    other = Ground(tmp_path / "other")
    other.begin(3)
    shutil.copyfile(other.place.head, log.place.head)
    report = judged(log)
    assert codes(report) == {"head-foreign"}
    assert "foreign origin" in report.findings[0].text
    log.command(log=log.again())
    assert judged(log, strict=True).exit_code == 0


def test_a_head_that_says_another_size_than_its_checkpoint_checks_nothing(log: Ground) -> None:
    """The note is signed, what stands around it is not: a level that was not compared must not count as one."""
    with open(log.place.head, "r+b") as file:
        true = head.read(file.fileno())
        assert true is not None
        tree = CompactRange()
        for line in log.lines()[:-1]:
            tree.add(leaf_hash(line))
        file.truncate(0)
        head.write(file.fileno(), true._replace(size=tree.size, hashes=tuple(tree.hashes)))
    report = judged(log)
    assert report.levels[0][:2] == ("W0", "not checked")
    assert any("its checkpoint is of" in warning for warning in report.warnings)


def test_a_copy_that_appends_is_a_fork(log: Ground) -> None:
    copied = ProjectLayout(str(log.root / "copy"))
    shutil.copytree(log.layout.root, copied.root)
    twin = Ground.__new__(Ground)
    twin.__dict__.update(log.__dict__)
    twin.layout, twin.place = copied, project_place(copied)
    log.command("in the original")
    assert judged(log, strict=True).exit_code == 0
    with pytest.raises(AuditTampered, match="fork alarm"):
        twin.command("in the copy", log=twin.again())
    assert codes(judged(twin)) == {"copied", "truncated"}
    adopted = create(twin.place, log.home, KeySettings(), log.clock, BOB, adopt=True)
    genesis = next(read_records(twin.place))
    assert genesis is not None
    forked = genesis.act["forked_from"]
    assert isinstance(forked, dict)
    assert (forked["log"], forked["size"]) == (log.log.log_id, 9)
    adopted.append(command("in the copy"), timeout_s=5)
    assert judged(twin, strict=True).exit_code == 0
    log.command("in the original")
    assert judged(log, strict=True).exit_code == 0


def test_a_pin_that_vanished_is_no_trust(log: Ground) -> None:
    os.unlink(log.home.pin(log.log.log_id))
    assert judged(log).exit_code == 21
    with pytest.raises(AuditUnverifiable):
        log.command(log=log.again())


def test_the_pin_of_another_key_is_named(log: Ground) -> None:
    pin = read_pin(log.home, log.log.log_id)
    assert pin is not None
    write_pin(log.home, Pin(pin.log, generate().public, pin.path, pin.inode))
    report = judged(log)
    assert {"not-pinned", "key-not-active"} <= codes(report)


# -- hostile sizes


def peak_mb(ground: Ground) -> tuple[Report, float]:
    tracemalloc.start()
    try:
        report = ground.verify()
        return report, tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_one_endless_line_is_read_in_bounded_memory(log: Ground) -> None:
    with open(log.place.log, "ab") as file:
        file.truncate(os.stat(log.place.log).st_size + (48 << 20))
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    report, peak = peak_mb(log)
    assert codes(report) == {"too-long"}
    assert found(report, "too-long") == 8
    assert peak < 8


def test_endless_lines_are_read_in_bounded_memory(log: Ground) -> None:
    with open(log.place.log, "ab") as file:
        file.write(b"\n" * 10_000)
    report, peak = peak_mb(log)
    assert len(report.findings) <= 110
    assert found(report, "malformed") == 8
    assert peak < 8


PEAK = """
import resource, sys
from chrono.audit.place import project_place
from chrono.audit.verify import verify
from chrono.layout import HomeLayout, ProjectLayout
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = verify(project_place(ProjectLayout(sys.argv[1])), HomeLayout(sys.argv[2]))
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(report.exit_code, len(report.findings), len(report.warnings), grown)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two gigabytes without an end", "a million lines"])
def test_hostile_files_are_read_in_bounded_memory(log: Ground, kind: str) -> None:
    if kind == "a million lines":
        with open(log.place.log, "ab") as file:
            file.write(b"\n" * 1_000_000)
    else:
        os.truncate(log.place.log, 2 << 30)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, log.layout.root, log.home.root], capture_output=True, text=True, check=True
    )
    exit_code, findings, warnings, grown_kb = map(int, done.stdout.split())
    assert exit_code == 20
    assert findings < 250
    assert warnings < 110
    assert grown_kb < 32 * 1024


def test_a_lookup_that_fails_is_no_traceback(log: Ground) -> None:
    def broken() -> list[object]:
        raise ValueError("bad object")

    log.commits.trailers = broken  # type: ignore[assignment, method-assign]
    report = log.verify()
    assert report.exit_code == 20
    assert report.findings[0].code == "malformed"
    assert "could not go on at record 0" in report.findings[0].text
