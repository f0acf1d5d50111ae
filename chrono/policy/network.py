"""Owns the network list: whether all that a command sends goes to hosts that the policy names. Pure.

It answers only where every destination stands in the words of the command; whatever else could send the data
elsewhere (a proxy, a configuration file, an unknown word) is no proof, and the finding counts as without a list.
"""

from __future__ import annotations

import re

from chrono.policy.model import AllowEntry
from chrono.scan.command import Word
from chrono.scan.finding import Finding, Scan

PACK = "exfiltration."
NEVER = frozenset(("exfiltration.secret", "exfiltration.environment", "exfiltration.secret-piped"))
"""Secrets and the environment are not sent anywhere by a list of hosts."""

HOST = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")

_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?([^/:?#\s\[\]@\\]+)(?::\d+)?(?:[/?#].*)?", re.I | re.S)
_BARE = re.compile(r"([a-z0-9.-]+)(?::\d+)?(?:[/?#].*)?", re.I | re.S)
_REMOTE_PATH = re.compile(r"(?:[^@/:\s]+@)?([a-z0-9.-]+):(?!:).*", re.I | re.S)

# Options whose value names no host; the value of any other is taken for a host, which then is not listed.
_VALUES = {
    "curl": frozenset(
        """-d -F -T -H -o -X -u -b -c -A -m -w -C -E -r -z -y -Y --data --data-raw --data-binary --data-ascii
        --data-urlencode --form --form-string --upload-file --header --output --request --user --cookie --cookie-jar
        --user-agent --max-time --connect-timeout --retry --retry-delay --write-out --json --cacert --cert --key
        --range --limit-rate --oauth2-bearer""".split()
    ),
    "wget": frozenset("-O -o --output-document --post-data --post-file --body-data --body-file --header -T -t".split()),
}
_DIVERTS = {
    "curl": ("-x", "-K", "--proxy", "--preproxy", "--socks", "--resolve", "--connect-to", "--config", "--doh",
             "--unix-socket", "--abstract-unix-socket", "--haproxy", "--variable", "--expand"),
    "wget": ("-e", "-i", "--execute", "--input-file", "--config", "--use-askpass"),
    "scp": ("-F", "-J", "-o", "-S", "-D"),
    "rsync": ("-e", "-M", "--rsh", "--rsync-path", "--files-from", "--password-file"),
}  # fmt: skip
_CLUSTER = {"curl": "xK", "wget": "ei", "scp": "FJoSD", "rsync": "eM"}


def allowed_hosts(finding: Finding, scan: Scan, allow: tuple[AllowEntry, ...]) -> tuple[str, ...]:
    """The hosts that a finding of the exfiltration rules sends to, where all of them are on the list; else none."""
    if not allow or not finding.rule.startswith(PACK) or finding.rule in NEVER:
        return ()
    for command in scan.commands:
        if command.argv == finding.argv and any("proxy" in name.lower() for name, _ in command.assigns):
            return ()
    hosts = destinations(finding.argv)
    return hosts if all(any(listed(host, entry.text) for entry in allow) for host in hosts) else ()


def listed(host: str, entry: str) -> bool:
    """Whether `entry` names `host`: itself, or any name below it where it begins with `*.`."""
    if entry.startswith("*."):
        return host.endswith(entry[1:]) and len(host) > len(entry) - 1
    return host == entry


def destinations(argv: tuple[Word, ...]) -> tuple[str, ...]:
    """Every host that the command sends to, in lower case; none where its words do not tell all of them."""
    words = [word for word in argv if isinstance(word, str)]
    program = words[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe") if words else ""
    if len(words) != len(argv) or program not in _DIVERTS or _diverts(program, words[1:]):
        return ()
    hosts = []
    for word in _operands(program, words[1:]):
        host = _host(program, word)
        if host is None:
            return ()
        if host:
            hosts.append(host.lower().rstrip("."))
    return tuple(hosts)


def _diverts(program: str, words: list[str]) -> bool:
    for word in words:
        if word.startswith("--"):
            if word.startswith(tuple(one for one in _DIVERTS[program] if one.startswith("--"))):
                return True
        elif word.startswith("-") and (word[:2] in _DIVERTS[program] or set(word[1:]) & set(_CLUSTER[program])):
            return True
    return False


def _operands(program: str, words: list[str]) -> list[str]:
    """The words that are neither options nor values of options; `--url` names a host like any operand."""
    values, found, skip = _VALUES.get(program, frozenset()), [], False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("--url="):
            found.append(word[6:])
        elif word in ("-", "--", "--url"):
            continue
        elif word.startswith("-"):
            skip = word in values or (not word.startswith("--") and len(word) > 2 and f"-{word[-1]}" in values)
        else:
            found.append(word)
    return found


def _host(program: str, word: str) -> str | None:
    """The host of one operand, "" for a local file, None where it cannot be told."""
    found = _URL.fullmatch(word)
    if found is None and program in ("scp", "rsync"):
        if ":" not in word.partition("/")[0]:
            return ""
        found = _REMOTE_PATH.fullmatch(word)
    elif found is None:
        found = _BARE.fullmatch(word)
    if found is None or not HOST.fullmatch(found.group(1).lower().rstrip(".")):
        return None
    return found.group(1)
