"""Claims about C2SP witnesses: they sign what continues, notice what does not, and are believed by their own key only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chrono.audit import web
from chrono.audit.cosign import Answer, Quorum, cosign, quorum_of, still_signed
from chrono.audit.external import External, add_external, read_external
from chrono.errors import AuditTampered, ChronoError, KeyRefused, UsageError

from .conftest import Ground
from .endpoint import WitnessServer


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[WitnessServer]]:
    monkeypatch.setattr(web, "FIRST_PAUSE_S", 0.001)
    served = [WitnessServer(f"w{number}.example") for number in range(3)]
    yield served
    for server in served:
        server.close()


@pytest.fixture
def log(ground: Ground) -> Ground:
    ground.begin(10)
    return ground


def quorum(servers: list[WitnessServer]) -> Quorum:
    return quorum_of(f"{min(2, len(servers))} " + " ".join(f"{server.url},{server.vkey}" for server in servers))


def asked(ground: Ground, servers: list[WitnessServer]) -> tuple[Answer, ...]:
    log = ground.log.log_id
    answers = cosign(ground.place, quorum(servers), read_external(ground.home, log))
    add_external(ground.home, log, [answer.seen for answer in answers if answer.seen is not None])
    return answers


def test_witnesses_sign_a_log_as_it_grows(log: Ground, servers: list[WitnessServer]) -> None:
    for size in (11, 11, 14, 31):
        while len(log.lines()) < size:
            log.command()
        answers = asked(log, servers)
        assert [answer.seen.size for answer in answers if answer.seen] == [size] * 3
    entries = read_external(log.home, log.log.log_id)
    assert all(still_signed(entry, quorum(servers)) for entry in entries)
    report = log.verify()
    assert report.integrity == "OK local (W0,W1,W3); remote: W5; last external checkpoint 31 of 31"
    assert "by 3 holders" in report.levels[-1].text


def test_a_witness_that_forgot_or_is_ahead_is_asked_again_with_its_own_size(
    log: Ground, servers: list[WitnessServer]
) -> None:
    asked(log, servers)
    log.command()
    assert all(answer.seen for answer in cosign(log.place, quorum(servers), ()))
    servers[0].seen.clear()
    log.command()
    assert all(answer.seen for answer in asked(log, servers))


def test_one_that_is_away_is_said_and_the_others_sign(log: Ground, servers: list[WitnessServer]) -> None:
    servers[1].close()
    answers = asked(log, servers)
    assert [bool(answer.seen) for answer in answers] == [True, False, True]
    assert "does not answer" in answers[1].why
    servers[1] = WitnessServer("w1.example")


def test_a_log_that_was_rewritten_is_noticed_by_a_witness(log: Ground, servers: list[WitnessServer]) -> None:
    asked(log, servers[:1])
    origin = f"chrono.local/{log.log.log_id}"
    size, _ = servers[0].seen[origin]
    servers[0].seen[origin] = (size, b"\xff" * 32)
    with pytest.raises(AuditTampered, match="saw another log"):
        asked(log, servers[:1])
    log.command()
    with pytest.raises(AuditTampered, match="saw another log"):
        asked(log, servers[:1])
    servers[0].seen[origin] = (99, bytes(32))
    with pytest.raises(AuditTampered, match=r"truncated: witness w0\.example saw 99"):
        asked(log, servers[:1])


def test_only_its_own_signature_on_this_checkpoint_counts(log: Ground, servers: list[WitnessServer]) -> None:
    servers[0].lie = True
    servers[1].hint = b"abcd"
    answers = asked(log, servers)
    assert [bool(answer.seen) for answer in answers] == [False, False, True]
    assert "not its signature" in answers[0].why
    (entry,) = read_external(log.home, log.log.log_id)
    assert still_signed(entry, quorum(servers))
    assert not still_signed(entry._replace(size=10), quorum(servers))
    assert not still_signed(entry._replace(holder="w0.example"), quorum(servers))
    assert not still_signed(entry, quorum(servers[:2]))
    assert not still_signed(External("W5", "x", 1, "", "", "x"), quorum(servers))


def test_malformed_witnesses_are_refused(servers: list[WitnessServer]) -> None:
    good = f"{servers[0].url},{servers[0].vkey}"
    name, hint, key = servers[0].vkey.split("+", 2)
    for text in ("", "2", "x", f"2 {good}", f"{good} {good}", servers[0].vkey, f"{servers[0].url},{name}+{hint}"):
        with pytest.raises(UsageError):
            quorum_of(text)
    with pytest.raises(KeyRefused, match="own hash"):
        quorum_of(f"{servers[0].url},{name}+00000000+{key}")
    with pytest.raises(ChronoError, match="not encrypted"):
        quorum_of(f"http://example.com,{servers[0].vkey}")
    assert quorum_of(good).least == 1
