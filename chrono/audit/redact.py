"""Owns taking secrets out of text before it is recorded, and the salted commitment to what was taken out.

Best effort by shape: it knows how secrets usually look on a command line. What is signed is left to `audit.record`.
"""

from __future__ import annotations

import re
from functools import cache

from chrono.digest import sha256
from chrono.tuples import NamedTuple

MARK = "[redacted]"
COMMIT_PREFIX = b"chrono-commit/v1\0"
SALT_BYTES = 32

_NAME = r"[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
# A value: quoted, or up to white space and shell punctuation. `$NAME`, `$(…)` and `<file` are no secrets themselves.
_VALUE = r"""(?:"(?P<dq>[^"$`][^"]*)"|'(?P<sq>[^']+)'|(?P<bare>[^\s"'$`<>|&;()]+))"""

_TOKEN_BEGINNINGS = tuple(
    """sk- sk_ rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox akia asia aiza ya29. npm_ pypi- hf_ sg. dop_v1_ eyj
    shpat_ hvs. tskey- age-secret-key- lin_api_ ntn_ dckr_pat_""".split()
)

# (words of which one must be in the lower-cased text, pattern). The words are there for speed: a pattern is compiled
# only for a text that can match. What the named groups hold is replaced. Repeats are bounded: a hostile text of 64 KiB
# must not cost more than a blink.
_ISSUED: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("private key-----",),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<bare>.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    ),
    (
        _TOKEN_BEGINNINGS,
        r"(?<![A-Za-z0-9_-])(?P<bare>"
        r"sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}"
        r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}"
        r"|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
        r"|dop_v1_[a-f0-9]{40,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|shpat_[A-Fa-f0-9]{20,}"
        r"|hvs\.[A-Za-z0-9_-]{20,}|tskey-[A-Za-z0-9-]{16,}|AGE-SECRET-KEY-1[A-Z0-9]{40,}"
        r"|lin_api_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|dckr_pat_[A-Za-z0-9_-]{16,})",
    ),
    (("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows)/(?P<bare>[A-Za-z0-9/_-]+)"),
)
"""Those that are secrets wherever they stand: private keys, and tokens with their issuer's own mark."""

_SHAPES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("://",), r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/@:'\"]{0,256}:(?P<bare>[^\s/@'\"$][^\s/@'\"]{0,1024})@"),
    (("://",), r"\bhttps?://(?P<bare>[A-Za-z0-9_-]{20,})@"),
    *_ISSUED,
    (
        ("authorization",),
        r"\bauthorization['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?:(?:bearer|basic|token|digest)\s{1,8})?"
        r"(?P<bare>(?!(?:bearer|basic|token|digest)\b)[^\s'\"$]+)",
    ),
    (("bearer ",), r"\bbearer\s{1,8}(?P<bare>[A-Za-z0-9._~+/-]{8,}=*)"),
    (("cookie:",), r"\b(?:set-)?cookie:\s*(?P<bare>[^'\"\r\n]+)"),
    (
        ("pass", "secret", "token", "key", "credential"),
        rf"""(?<![\w.-])(?:--?)?{_NAME}s?["']?\s{{0,8}}[:=]\s{{0,8}}{_VALUE}""",
    ),
    (
        ("pass", "secret", "token", "key"),
        rf"(?<![\w.-])--{_NAME}\s{{1,8}}(?!-){_VALUE}",
    ),
    (("mysql", "mariadb"), r"\b(?:mysql|mariadb)[a-z]*\b[^|;&\n]{0,400}?\s-p(?P<bare>[^\s'\"$|;&]+)"),
    (("sshpass", "docker", "podman"), r"\b(?:sshpass|(?:docker|podman)\s+login\b[^|;&\n]{0,400}?)\s+-p\s*" + _VALUE),
    (("redis-cli",), r"\bredis-cli\b[^|;&\n]{0,400}?\s-a\s+" + _VALUE),
    (
        ("sqlcmd", "osql", "bcp", "tsql", "ipmitool", "zip"),
        r"\b(?:sqlcmd|osql|bcp|tsql|ipmitool|(?:un)?zip)\b[^|;&\n]{0,400}?\s(?-i:-P)\s{0,8}(?!-)" + _VALUE,
    ),
    (
        ("mongo", "cqlsh", "rabbitmqadmin", " login"),
        r"\b(?:mongo[a-z]{0,10}|cqlsh|rabbitmqadmin|(?:skopeo|buildah|nerdctl|oras|oc|cf|az|helm\s+registry)\s+login)"
        r"\b[^|;&\n]{0,400}?\s(?-i:-p)\s{0,8}(?!-)" + _VALUE,
    ),
    (("7z",), r"\b7z[ar]?\b[^|;&\n]{0,400}?\s-p(?P<bare>[^\s'\"$|;&]+)"),
    (("ldap",), r"\bldap[a-z]{3,10}\b[^|;&\n]{0,400}?\s(?-i:-w)\s{0,8}(?!-)" + _VALUE),
    (
        ("smbclient", "rpcclient"),
        r"\b(?:smb|rpc)client\b[^|;&\n]{0,400}?\s-U\s{0,8}['\"]?[^\s%'\"]{1,256}%(?P<bare>[^\s'\"$]+)",
    ),
    (("lftp",), r"\blftp\b[^|;&\n]{0,400}?\s-u\s{0,8}['\"]?[^\s,'\"]{1,256},(?P<bare>[^\s'\"$]+)"),
    (
        ("sqlplus", "sqlldr", "expdp", "impdp"),
        r"\b(?:sqlplus|sqlldr|expdp|impdp)\b[^|;&\n]{0,400}?\s['\"]?[\w.#]{1,128}/(?P<bare>[^\s@/'\"$]+)@",
    ),
    (("htpasswd",), r"\bhtpasswd\s+-\w{0,8}b[^|;&\n]{0,400}\s(?P<bare>[^\s'\"$|;&<>]+)(?=\s{0,8}(?:$|[|;&<>\n]))"),
    (("pass:",), r"(?<!\S)['\"]?pass:(?P<bare>[^\s'\"$]+)"),
    (("pass", "pwd"), r"(?<!\S)--?[a-z-]{0,20}(?:pass|pwd)(?:\s{1,8}|=)(?!-|pass:)" + _VALUE),
    (
        ("curl", "wget", "http"),
        r"(?<!\S)(?:-u|--user|--proxy-user)[\s=]+['\"]?[^\s:'\"]*:(?P<bare>[^\s'\"$]+)",
    ),
)


class Protected(NamedTuple):
    """Text fit to be recorded. Where something was taken out, `commitment` (hex) ties the record to the raw text,
    which whoever holds `salt` and the raw text can reveal; both are None where nothing was."""

    text: str
    commitment: str | None
    salt: bytes | None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL if "PRIVATE" in pattern else re.IGNORECASE)


def redact(text: str) -> tuple[str, bool]:
    """`text` with what looks like a secret replaced by `[redacted]`, and whether anything was.

    Kept as they are: names of variables (`$TOKEN`), flags, hosts, users.
    """
    lower = text.lower()
    spans: list[tuple[int, int]] = []
    for words, pattern in _SHAPES:
        if any(word in lower for word in words):
            spans.extend(_found(_compiled(pattern), text))
    if not spans:
        return text, False
    parts, at = [], 0
    for start, end in _merged(spans):
        parts += [text[at:start], MARK]
        at = end
    parts.append(text[at:])
    return "".join(parts), True


def issued(text: str) -> frozenset[str]:
    """The private keys and marked tokens in `text`: secrets whatever stands around them, also in source code."""
    lower = text.lower()
    return frozenset(
        text[start:end]
        for words, pattern in _ISSUED
        if any(word in lower for word in words)
        for start, end in _found(_compiled(pattern), text)
    )


def protect(text: str, salt: bytes) -> Protected:
    """`text` redacted, with the commitment to what it was under `salt` (32 random bytes, one a record)."""
    clean, changed = redact(text)
    return Protected(clean, commitment(text, salt), salt) if changed else Protected(text, None, None)


def commitment(raw: str, salt: bytes) -> str:
    """SHA-256("chrono-commit/v1" || 0x00 || salt || raw), hex (specs: audit section 7).

    Never without a salt: the hash of a command that holds a weak secret would give it away.
    """
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes")
    return sha256(COMMIT_PREFIX + salt + raw.encode("utf-8", "surrogateescape")).hexdigest()


def _found(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    found = []
    for match in pattern.finditer(text):
        for name in pattern.groupindex:
            start, end = match.span(name)
            if start >= 0 and text[start:end] != MARK:
                found.append((start, end))
    return found


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
