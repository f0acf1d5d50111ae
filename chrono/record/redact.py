"""Owns what counts as a secret: shapes of texts, names of keys, and the redactors made of them.

Where they are applied is `record.serialise`: on its way to JSON every text and key passes them once; the live value is
never touched, so a mask cannot come back as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from chrono.record.plain import has_utf8
from chrono.tuples import NamedTuple

MASK: Final = "[REDACTED]"

Redactor = Callable[[str], str]


class Shape(NamedTuple):
    """One kind of secret. A text with none of the characters of `gate`, or with none of `hints`, holds none of them,
    which is told in a fraction of the expression's time. Group "secret", where there is one, is what is masked."""

    name: str
    gate: str
    hints: tuple[str, ...]
    folded: bool  # the case does not matter: hints are in lower case
    pattern: re.Pattern[str]


def _shape(name: str, gate: str, hints: str, pattern: str, flags: int = 0) -> Shape:
    return Shape(name, gate, tuple(hints.split("|")), bool(flags & re.I), re.compile(pattern, flags))


_WORD = r"(?<![A-Za-z0-9])"
_NAMED = (
    r"pass(?:word|wd|phrase)|pwd|(?:client|app|aws|api|secret|shared)?[_-]?secret(?:[_-]?(?:access)?[_-]?key)?"
    r"|(?:access|auth|api|refresh|session|bearer|id|bot|secret)[_-]?token|(?:api|access|private|account|master)[_-]?key"
)
_PEM = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_IN_QUERY = (
    r"[?&;](?:key|token|sig|signature|code|x-(?:amz|goog)-(?:signature|credential|security-token)|"
    + _NAMED
    + r")=(?P<secret>[^&\s#\"'<>]{4,})"
)
_ASSIGNED = (
    r"(?<![A-Za-z0-9_.-])(?:[A-Za-z0-9]{1,40}[_.-]){0,8}(?:"
    + _NAMED
    + r")[\"']?\s{0,8}(?:=>|:=|[=:])\s{0,8}"
    + r"(?P<secret>\"(?:[^\"\\]|\\.){3,}\"|'(?:[^'\\]|\\.){3,}'|[^\s,;&\"'(){}\[\]]{4,})"
)

_BASIC = r"\bbasic[ \t]+(?P<secret>(?=[A-Za-z+/]*[0-9=])[A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9+/])"

SHAPES: Final = (
    _shape("private key", "-", "-----BEGIN", f"-----BEGIN {_PEM}.*?(?:-----END {_PEM}|\\Z)", re.S),
    _shape("openai, anthropic and alike", "-", "sk-", _WORD + r"sk-[A-Za-z0-9_-]{16,}"),
    _shape("slack token", "-", "xox|xapp-", _WORD + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
    _shape("slack webhook", ".", "hooks.slack.com", r"hooks\.slack\.com/\w+/(?P<secret>[A-Za-z0-9_/-]{10,})"),
    _shape("discord webhook", "/", "/api/webhooks/", r"/api/webhooks/\d+/(?P<secret>[A-Za-z0-9_-]{20,})"),
    _shape("github token", "_", "ghp_|gho_|ghu_|ghs_|ghr_", _WORD + r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _shape("github fine-grained token", "_", "github_pat_", _WORD + r"github_pat_[A-Za-z0-9_]{20,}"),
    _shape("gitlab token", "-", "glpat-|glrt-|gldt-|glptt-", _WORD + r"gl(?:pat|rt|dt|ptt)-[A-Za-z0-9_.-]{16,}"),
    _shape("aws access key", "", "AKIA|ASIA", _WORD + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("google api key", "", "AIza", _WORD + r"AIza[A-Za-z0-9_-]{35}"),
    _shape("google oauth token", ".", "ya29.", _WORD + r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape("google oauth secret", "-", "GOCSPX-", _WORD + r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _shape("stripe key", "_", "_live_|_test_|whsec_", _WORD + r"(?:[srp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}"),
    _shape("sendgrid key", ".", "SG.", _WORD + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("twilio key", "", "SK", _WORD + r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _shape("npm token", "_", "npm_", _WORD + r"npm_[A-Za-z0-9]{30,}"),
    _shape("pypi token", "-", "pypi-", _WORD + r"pypi-[A-Za-z0-9_-]{40,}"),
    _shape("hugging face token", "_", "hf_", _WORD + r"hf_[A-Za-z0-9]{30,}"),
    _shape("groq key", "_", "gsk_", _WORD + r"gsk_[A-Za-z0-9]{30,}"),
    _shape("xai, perplexity, tavily key", "-", "xai-|pplx-|tvly-", _WORD + r"(?:xai|pplx|tvly)-[A-Za-z0-9_-]{20,}"),
    _shape("replicate token", "_", "r8_", _WORD + r"r8_[A-Za-z0-9]{30,}"),
    _shape("databricks token", "", "dapi", _WORD + r"dapi[0-9a-f]{32}(?:-\d)?"),
    _shape("digitalocean token", "_", "_v1_", _WORD + r"do[opr]_v1_[0-9a-f]{40,}"),
    _shape("shopify token", "_", "shpat_|shpss_|shpca_|shppa_", _WORD + r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"),
    _shape("vault token", ".", "hvs.|hvb.", _WORD + r"hv[sb]\.[A-Za-z0-9_-]{20,}"),
    _shape("linear key", "_", "lin_api_", _WORD + r"lin_api_[A-Za-z0-9]{30,}"),
    _shape("notion token", "_", "ntn_", _WORD + r"ntn_[A-Za-z0-9]{30,}"),
    _shape("postman key", "-", "PMAK-", _WORD + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _shape("age key", "-", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    _shape("telegram bot token", ":", ":AA", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    _shape("jwt", ".", "eyJ", _WORD + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    _shape("bearer", " ", "bearer", r"\bbearer[ \t]+(?P<secret>(?=[^\s]*\d|\S{24})[A-Za-z0-9._~+/=-]{8,})", re.I),
    _shape("basic", " ", "basic", _BASIC, re.I),
    _shape("password in a url", ":", "://", r"://[^\s/:@?#]*:(?P<secret>[^\s/@]+)@"),
    _shape("secret in a query", "=", "?|&|;", _IN_QUERY, re.I),
    _shape("named secret", "=:", "pass|pwd|secret|token|key", _ASSIGNED, re.I),
)  # fmt: skip

_NAMED_SECRET: Final = SHAPES[-1]
_NAME_ENDS: Final = re.compile(r"(?:passw(?:or)?d|passphrase|pwd|secret|token|key)[\"']?\s{0,8}[=:]")
"""What the name of every named secret ends with, in lower case. Any word may be the beginning of such a name, but few
are the end of one."""
_IN_NAME: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-\u0130\u0131\u017f\u212a"
"""With the four letters that are ASCII ones where the case does not matter."""
_LONGEST_NAME: Final = 400  # characters: eight words of 40, what stands between them, and the name itself

_GATED: Final = tuple(
    (gate, tuple(one for one in SHAPES if one.gate == gate)) for gate in dict.fromkeys(one.gate for one in SHAPES)
)

_KEY_ENDS: Final = (
    "password", "passwd", "passphrase", "apikey", "apitoken", "accesstoken", "refreshtoken", "authtoken",
    "sessiontoken", "securitytoken", "idtoken", "bearertoken", "clientsecret", "secretkey", "secretaccesskey",
    "privatekey", "authorization", "setcookie", "accountkey", "connectionstring",
)  # fmt: skip
_KEY_NAMES: Final = frozenset({"secret", "pwd", "cookie", "pass", "accesskey"})

_SHORTEST: Final = 8
_LONGEST_REMEMBERED: Final = 8192
_MOST_REMEMBERED: Final = 2 << 20
clean_texts: Final[set[str]] = set()
"""Texts without a secret that have a UTF-8 form: names come again in every call, a conversation with every turn."""
_clean_size = 0  # characters in them
_OVERHEAD: Final = 64
_LONGEST_KEY: Final = 128
_MOST_KEYS: Final = 4096
_key_memo: dict[str, bool] = {}


def redact_default(text: str) -> str:
    """`text` with every secret of a known shape masked."""
    if text in clean_texts:
        return text
    found = _masked_text(text) if len(text) >= _SHORTEST else text
    if found is text or found == text:
        if len(text) <= _LONGEST_REMEMBERED and has_utf8(text):
            _remember(text)
        return text
    return found


def _masked_text(text: str) -> str:
    found = text
    lowered = ""
    for gate, shapes in _GATED:
        for character in gate:
            if character in text:
                break
        else:
            if gate:
                continue
        for shape in shapes:
            where = text
            if shape.folded:
                where = lowered = lowered or text.lower()
            for hint in shape.hints:
                if hint in where:
                    found = _without_named(found) if shape is _NAMED_SECRET else shape.pattern.sub(_masked, found)
                    break
    return found


def _without_named(text: str) -> str:
    """As substitution by the named secrets' own expression, which is asked only where a name ends."""
    lowered = text.lower()
    if len(lowered) != len(text):  # places are not the same then: some letters have two for one
        return _NAMED_SECRET.pattern.sub(_masked, text)
    parts: list[str] = []
    done = 0
    for end in _NAME_ENDS.finditer(lowered):
        before = text[max(end.start() - _LONGEST_NAME, 0) : end.start()]
        begin = end.start() - len(before) + len(before.rstrip(_IN_NAME))
        match = _NAMED_SECRET.pattern.match(text, begin) if begin >= done else None
        if match is not None:
            parts += text[done:begin], _masked(match)
            done = match.end()
    return "".join((*parts, text[done:])) if parts else text


def _remember(text: str) -> None:
    global _clean_size
    _clean_size += len(text) + _OVERHEAD
    if _clean_size > _MOST_REMEMBERED:
        clean_texts.clear()
        _clean_size = len(text) + _OVERHEAD
    clean_texts.add(text)


def default_redactors() -> list[Redactor]:
    """The redactors that are on unless `default_redactors=False`."""
    return [redact_default]


def redact_secrets(patterns: tuple[re.Pattern[str], ...] | None = None) -> Redactor:
    """A redactor that masks every match of `patterns`; without them the default one."""
    if patterns is None:
        return redact_default

    def redact(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub(MASK, text)
        return text

    return redact


def is_secret_key(key: str) -> bool:
    """Whether what stands under this name is a secret whatever it looks like: `api_key`, `Set-Cookie`, `dbPassword`."""
    known = _key_memo.get(key)
    if known is None:
        squeezed = key.replace("_", "").replace("-", "").replace(".", "").replace(" ", "").lower()
        known = squeezed in _KEY_NAMES or squeezed.endswith(_KEY_ENDS)
        if len(key) <= _LONGEST_KEY:
            if len(_key_memo) >= _MOST_KEYS:
                _key_memo.clear()
            _key_memo[key] = known
    return known


def _masked(match: re.Match[str]) -> str:
    try:
        start, end = match.span("secret")
    except IndexError:
        return MASK
    whole, offset = match.group(), match.start()
    if whole[start - offset : end - offset].strip("\"'") == MASK:
        return whole
    secret = whole[start - offset : end - offset]
    quote = secret[0] if secret[0] in "\"'" and secret[-1] == secret[0] and len(secret) > 1 else ""
    return whole[: start - offset] + quote + MASK + quote + whole[end - offset :]
