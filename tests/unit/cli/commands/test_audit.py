"""Claims about `chrono audit`: what is shown, and the exit codes of the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_the_records_are_listed_oldest_first(project: Path, chrono: Any) -> None:
    assert [row.split()[3] for row in chrono("audit").out.splitlines()] == ["genesis", "savepoint"]
    assert [record["ev"] for record in chrono("audit", "--json").json["records"]] == ["genesis", "savepoint"]


def test_an_intact_log_is_0(project: Path, chrono: Any) -> None:
    ran = chrono("audit", "--verify")
    assert ran.code == 0 and ran.out.startswith("OK")
    assert chrono("audit", "--verify", "--full", "--json").json["exit_code"] == 0


def test_a_changed_record_is_20_and_named(project: Path, chrono: Any) -> None:
    log = project / ".chrono/audit.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"savepoint"', b'"scan"'))
    ran = chrono("audit", "--verify")
    assert ran.code == 20 and "record 1" in ran.out
    assert chrono("audit", "--verify", "--json").json["findings"]


def test_keys_shows_ids_and_never_a_key(project: Path, chrono: Any) -> None:
    value = chrono("audit", "--keys", "--json").json
    assert value["signing"] == value["pinned"] and len(value["signing"]) == 32
    pem = (Path(value["store"]) / "audit.pem").read_text().splitlines()[1]
    assert pem not in chrono("audit", "--keys").out and pem not in chrono("audit", "--keys", "--json").out


def test_a_key_that_is_none_is_said_with_what_one_looks_like(project: Path, chrono: Any) -> None:
    ran = chrono("audit", "--keys", CHRONO_AUDIT_KEY="no key at all")
    assert "CHRONO_AUDIT_KEY is no key" in ran.err
    assert "PKCS#8 PEM or base64 of a 32-byte seed" in ran.err
    assert "no key at all" not in ran.out + ran.err


def test_what_cannot_be_verified_is_said_with_what_to_do(folder: Path, chrono: Any) -> None:
    assert chrono("init", CHRONO_AUDIT_UNSIGNED="1").code == 0
    ran = chrono("audit", "--verify", CHRONO_AUDIT_REQUIRE_KEY="1")
    assert ran.code == 21
    assert ran.out.startswith("CANNOT VERIFY CHRONO_AUDIT_REQUIRE_KEY is set, and no key is pinned for this log; ")
    assert "unset CHRONO_AUDIT_UNSIGNED" in " ".join(ran.out.split())


def test_no_alarm_means_nothing_to_reset(project: Path, chrono: Any) -> None:
    ran = chrono("audit", "--reset-witness")
    assert ran.code == 0 and "no alarm" in ran.out


def test_a_truncated_log_alarms_until_a_person_resets_it(project: Path, chrono: Any) -> None:
    log = project / ".chrono/audit.jsonl"
    (project / "a.txt").write_text("two\n")
    chrono("snapshot", "-m", "second")
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert chrono("audit", "--verify").code == 20
    (project / "a.txt").write_text("three\n")
    chrono("snapshot", "-m", "third")
    assert chrono("audit", "--verify").code == 20
    assert chrono("audit", "--reset-witness", CLAUDECODE="1").code == 4
    ran = chrono("audit", "--reset-witness", "--reason", "restored from a backup")
    assert ran.code == 0 and "recorded" in ran.out
    assert chrono("audit", "--verify").code == 22
    assert chrono("audit", "--verify", "--strict").code == 20


def test_options_that_exclude_each_other_are_wrong_usage(project: Path, chrono: Any) -> None:
    for args in (("--verify", "--keys"), ("--full",), ("--reason", "x")):
        assert chrono("audit", *args).code == 2


def test_a_person_hands_the_log_over_and_revokes_the_old_key(project: Path, chrono: Any) -> None:
    old = chrono("audit", "--keys", "--json").json["signing"]
    assert chrono("audit", "--rotate-key", CLAUDECODE="1").code == 4
    ran = chrono("audit", "--rotate-key", "--reason", "a year has passed")
    assert ran.code == 0 and "signs this log" in ran.out
    value = chrono("audit", "--keys", "--json").json
    assert value["signing"] == value["pinned"] != old and value["began_with"] == old
    assert chrono("audit", "--revoke-key", value["signing"], "--trusted-until", "9").code == 21
    assert chrono("audit", "--revoke-key", old).code == 2
    assert chrono("audit", "--revoke-key", old, "--trusted-until", "5").code == 0
    assert chrono("audit", "--verify", "--full", "--strict").code == 0


def test_a_record_is_proved_without_the_log(project: Path, chrono: Any, tmp_path: Path) -> None:
    out = tmp_path / "p.tlog-proof"
    assert chrono("audit", "prove", "1", "--out", str(out)).code == 0
    assert chrono("audit", "prove", "1").out == out.read_text()
    assert chrono("audit", "prove", "99").code == 1
    value = chrono("audit", "verify-proof", str(out), "--json").json
    assert value["record"]["ev"] == "savepoint" and value["size"] == 2
    key = chrono("audit", "--keys", "--json").json["pinned_public"]
    elsewhere = {"CHRONO_HOME": str(tmp_path / "elsewhere")}
    assert chrono("audit", "verify-proof", str(out), **elsewhere).code == 21
    assert chrono("audit", "verify-proof", str(out), "--key", key, **elsewhere).code == 0
    out.write_text(out.read_text().replace("index 1", "index 0"))
    ran = chrono("audit", "verify-proof", str(out))
    assert ran.code == 20 and "proves nothing" in ran.err


def test_a_checkpoint_is_exported_for_other_tools(project: Path, chrono: Any, tmp_path: Path) -> None:
    out = tmp_path / "checkpoint"
    assert chrono("audit", "checkpoint", "--sshsig").code == 2
    ran = chrono("audit", "checkpoint", "--out", str(out), "--sshsig")
    assert ran.code == 0 and "ssh-ed25519" in ran.out
    assert out.read_text() == chrono("audit", "checkpoint").out and (tmp_path / "checkpoint.sig").exists()


def test_records_are_asked_for_by_what_they_are(project: Path, chrono: Any) -> None:
    def events(*args: str) -> list[str]:
        return [record["ev"] for record in chrono("audit", *args, "--json").json["records"]]

    chrono("audit", "--rotate-key", "--reason", "once a Year")
    assert events("--event", "key.") == ["key.rotate"] == events("--grep", "a year") == events("-n", "1")
    assert events("--since", "1h") == events("--since", "2020-01-01") == ["genesis", "savepoint", "key.rotate"]
    assert events("--until", "2020-01-01T10:00") == [] == events("--actor", "nobody")
    assert chrono("audit", "--grep", "zzz").code == 0
    for bad in ("yesterday", "2026-13-01", "3x", "", "2026-11-30T1"):
        assert chrono("audit", "--since", bad).code == 2


def test_an_exported_copy_is_held_against_the_log(project: Path, chrono: Any, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    assert chrono("audit", "--csv").code == 2
    assert chrono("audit", "--csv", "--out", str(out)).code == 0
    assert out.read_text().startswith("n,at,ev,")
    assert chrono("audit", "--verify", "--against", str(out)).code == 0
    for form in ("ocsf", "cef", "cloudevents", "otlp", "jsonl"):
        assert chrono("audit", "export", form, "--out", str(out), "--json").json["records"] == 2
        assert "2 records of the copy" in chrono("audit", "--verify", "--against", str(out)).out
    assert chrono("audit", "export", "jsonl").out == out.read_text()
    out.write_text(out.read_text().replace('"source":"cli"', '"source":"eve"'))
    ran = chrono("audit", "--verify", "--against", str(out))
    assert ran.code == 20 and "copy-differs" in ran.out
    for nothing in ("hello\n", ""):
        out.write_text(nothing)
        assert chrono("audit", "--verify", "--against", str(out)).code == 1
    assert chrono("audit", "export", "xml").code == 2


def test_a_copy_elsewhere_is_pushed_and_proved_in_one_call(project: Path, chrono: Any) -> None:
    from tests.unit.audit.endpoint import AppendOnlyStore

    store = AppendOnlyStore()
    try:
        assert chrono("audit", "--verify-remote").code == 1
        assert chrono("audit", "--push", store.url, CLAUDECODE="1").code == 4
        assert chrono("audit", "--push", store.url, "--json").json == {
            "pushed": {"url": store.url, "sent": 2, "size": 2}
        }  # fmt: skip
        (project / "a.txt").write_text("two\n")
        chrono("snapshot", "-m", "second")
        assert "of 3" in chrono("audit", "--verify").out
        ran = chrono("audit", "--push", store.url, "--verify-remote")
        assert ran.code == 0 and "1 record sent" in ran.out and "3 of 3" in ran.out
        assert chrono("audit", "--verify-remote", "--json").json["store_size"] == 3
        log = project / ".chrono/audit.jsonl"
        log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
        ran = chrono("audit", "--verify-remote")
        assert ran.code == 20 and store.url in ran.out
    finally:
        store.close()


def test_witnesses_are_asked_and_count_in_the_verdict(project: Path, chrono: Any) -> None:
    from tests.unit.audit.endpoint import WitnessServer

    assert chrono("audit", "--witness").code == 2
    server, other = WitnessServer("one.example"), WitnessServer("two.example")
    try:
        wanted = {"CHRONO_AUDIT_WITNESS": f"{server.url},{server.vkey} {other.url},{other.vkey}"}
        assert chrono("audit", "--verify", "--strict", **wanted).code == 20
        ran = chrono("audit", "--witness", **wanted)
        assert ran.code == 0 and "one.example" in ran.out
        ran = chrono("audit", "--verify", "--strict", **wanted)
        assert ran.code == 0 and "remote: W5" in ran.out
        other.lie = True
        value = chrono("audit", "--witness", "--json", **wanted)
        assert value.code == 1 and value.json["least"] == 2
    finally:
        server.close()
        other.close()


def test_the_files_of_a_log_are_shown_closed_and_packed(project: Path, chrono: Any) -> None:
    (alone,) = chrono("audit", "segments", "--json").json["segments"]
    assert (alone["first"], alone["records"], alone["closed"]) == (0, 2, False)
    assert "records are appended here" in chrono("audit", "segments").out
    closed, growing = chrono("audit", "segments", "--close", "--pack", "--json").json["segments"]
    assert (closed["form"], closed["records"], growing["first"]) == ("packed", 3, 3)
    assert [record["n"] for record in chrono("audit", "--json").json["records"]] == [0, 1, 2, 3]
    assert chrono("audit", "--verify", "--full").code == 0


def test_pruning_keeps_what_verifies_and_is_for_people(project: Path, chrono: Any) -> None:
    chrono("audit", "segments", "--close")
    assert chrono("audit", "prune", "--before", "2000-01-01").out.startswith("nothing to prune")
    dry = chrono("audit", "prune", "--before", "9000-01-01", "--dry-run", CLAUDECODE="1")
    assert dry.code == 0 and "records 0 to 2" in dry.out
    assert chrono("audit", "prune", "--before", "9000-01-01", CLAUDECODE="1").code == 4
    assert chrono("audit", "prune", "--before", "9000-01-01", "--yes", "--json").json["applied"]
    assert [one["form"] for one in chrono("audit", "segments", "--json").json["segments"]] == ["pruned", "plain"]
    assert chrono("audit", "--verify", "--full", "--strict").code == 0


def test_nothing_is_pruned_from_a_log_that_does_not_verify(project: Path, chrono: Any) -> None:
    chrono("audit", "segments", "--close")
    segment = project / ".chrono/audit-000000000000.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b'"savepoint"', b'"savepoinT"'))
    assert chrono("audit", "prune", "--before", "9000-01-01", "--yes").code == 20
    assert segment.exists()
