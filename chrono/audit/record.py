"""Owns the record line: its values, its one encoding, its signature, its strict reading (audit format v2).

Appending is left to `audit.log`, judging a whole log to `audit.verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from chrono.canonical import (
    MAX_INT,
    Json,
    NotCanonical,
    base64_of,
    canonical_bytes,
    from_base64,
    parse,
    quoted,
    recordable,
    sha256_hex,
)
from chrono.clock import from_rfc3339
from chrono.signing import PublicKey, Signer
from chrono.tuples import NamedTuple

FORMAT = 2
MAX_LINE_BYTES = 64 * 1024
NO_PREV = "0" * 64
SIGNED_PREFIX = b"chrono-audit-record/v2\n"
ROTATE_PREFIX = "chrono-key-rotate/v2\n"
MAX_TEXT = 8 * 1024
"""Longest free text of one member, in characters; a longer `cmd` keeps its beginning, its length and its digest."""
MAX_NAME = 400
"""Longest member of `by`, in characters: an agent's words about itself must not crowd out the record."""

KINDS = frozenset(
    """genesis key.add command file savepoint restore merge branch prune decision approval policy.changed
    policy.pinned session.start session.end scan run.start run.end checkout undo redo guard.install guard.uninstall
    team.change policy.trusted git.commit alarm.denied_but_ran alarm.script_changed remote.push remote.fetch
    budget.halt db.add db.remove db.snapshot db.restore key.rotate key.revoke witness.reset audit.discontinuity
    audit.recovered audit.dropped audit.export audit.read heartbeat segment.open segment.close""".split()
)
"""The closed list of `ev`; a new kind is a change of the format."""

_KEYS = frozenset(("act", "anchor", "at", "by", "ev", "fmt", "kid", "log", "n", "prev", "sig"))
_SIG_BEGIN, _SIG_END = b',"sig":"', b'"}'
_SIG_SUFFIX_BYTES = len(_SIG_BEGIN) + 88 + len(_SIG_END)


class Actor(NamedTuple):
    """Who: members that are None or "" are left out. `source`: "env", "hook", "hook payload", "peercred", "claimed",
    "cli"; an agent's own word about itself (`agent`, `model`) is a claim and is labelled so."""

    user: str | None = None
    uid: int | None = None
    host: str | None = None
    agent: str | None = None
    agent_ver: str | None = None
    model: str | None = None
    session: str | None = None
    tool_use_id: str | None = None
    parent_session: str | None = None
    pid: int | None = None
    ppid: int | None = None
    exe: str | None = None
    source: str | None = None


class Act(NamedTuple):
    """What: members that are None are left out. `cmd` is redacted already; `cmd_c` its salted commitment.

    `files` are (path, SHA-256 hex); `more` are further members of the kind at hand, in their own words.
    """

    tool: str | None = None
    cmd: str | None = None
    cmd_c: str | None = None
    cwd: str | None = None
    decision: str | None = None
    rules: tuple[str, ...] = ()
    score: int | None = None
    policy_sha256: str | None = None
    exit: int | None = None
    dur_ms: int | None = None
    files: tuple[tuple[str, str], ...] = ()
    scan: str | None = None
    phase: str | None = None
    op: str | None = None
    message: str | None = None
    more: tuple[tuple[str, Json], ...] = ()


class Anchor(NamedTuple):
    """The tie to a commit: full id, SHA-256 of the raw commit object, tree, and the ref that moves from `old`."""

    commit: str
    sha256: str
    tree: str
    oid: str = "sha1"
    ref: str | None = None
    old: str | None = None
    op: str | None = None


class Entry(NamedTuple):
    """What a caller wants recorded; number, time, chain and signature are the log's business."""

    ev: str
    by: Actor
    act: Act | None = None
    anchor: Anchor | None = None


class Record(NamedTuple):
    """One line, read. `act`, `by` and `anchor` are the parsed members as they stand in the line."""

    n: int
    ev: str
    at: str
    log: str
    prev: str
    kid: str | None
    by: dict[str, Json]
    act: dict[str, Json]
    anchor: dict[str, Json] | None
    line: bytes


def encode(entry: Entry, *, n: int, at: str, log: str, prev: str, signer: Signer | None) -> bytes:
    """The line of `entry`, without LF, signed where there is a signer. Raises NotCanonical or ValueError."""
    if entry.ev not in KINDS:
        raise ValueError(f"{entry.ev!r} is not a kind of record")
    body = _plain_body(entry, n, at, log, prev, signer.kid if signer is not None else None)
    if body is not None:
        return _signed(body, signer)
    value: dict[str, Json] = {
        "at": at,
        "by": _members(entry.by._fields, entry.by, MAX_NAME),
        "ev": entry.ev,
        "fmt": FORMAT,
        "log": log,
        "n": n,
        "prev": prev,
    }
    if entry.act is not None:
        value["act"] = _act(entry.act)
    if entry.anchor is not None:
        value["anchor"] = _members(entry.anchor._fields, entry.anchor)
    line = _sealed(value, signer)
    if len(line) > MAX_LINE_BYTES:
        value["act"] = _digest_of(value.get("act"))
        line = _sealed(value, signer)
    if len(line) > MAX_LINE_BYTES:
        raise NotCanonical(f"a record of {len(line)} bytes; {MAX_LINE_BYTES} is the most")
    return line


def _sealed(value: dict[str, Json], signer: Signer | None) -> bytes:
    if signer is not None:
        value["kid"] = signer.kid
    return _signed(canonical_bytes(value), signer)


def _signed(body: bytes, signer: Signer | None) -> bytes:
    if signer is None:
        return body
    signature = base64_of(signer.sign(SIGNED_PREFIX + body))
    return body[:-1] + b',"sig":"' + signature.encode("ascii") + b'"}'


# Nearly every record holds nothing but short texts and numbers. Their line is put together here, at a fifth of the
# price of the general way, which takes over wherever anything is unusual; a property test holds the two together.


def _in_order(fields: tuple[str, ...]) -> tuple[tuple[str, ...], Callable[[tuple[object, ...]], tuple[object, ...]]]:
    """Member names in canonical order, as they begin a member, and what puts values into that order."""
    names = sorted(fields)
    return tuple(f'"{name}":' for name in names), itemgetter(*map(fields.index, names))


_BY = _in_order(Actor._fields)
_ACT = _in_order(Act._fields[:-1])
_ANCHOR = _in_order(Anchor._fields)


def _plain_body(entry: Entry, n: int, at: str, log: str, prev: str, kid: str | None) -> bytes | None:
    """The body of a record of plain members; None where the general way must decide."""
    by, act, anchor = _plain_members(_BY, entry.by, MAX_NAME), "", ""
    if by is None:
        return None
    if entry.anchor is not None:
        ties = _plain_members(_ANCHOR, entry.anchor, MAX_TEXT)
        if ties is None:
            return None
        anchor = f'"anchor":{{{",".join(ties)}}},'
    if entry.act is not None:
        members = _plain_members(_ACT, entry.act, MAX_TEXT)
        if members is not None and entry.act.more:
            members = _plain_more(members, entry.act.more)
        if members is None:
            return None
        act = f'"act":{{{",".join(members)}}},'
    signs = f'"kid":"{kid}",' if kid is not None else ""
    text = (
        f'{{{act}{anchor}"at":"{at}","by":{{{",".join(by)}}},"ev":"{entry.ev}","fmt":{FORMAT},{signs}"log":"{log}","n":{n},'
        f'"prev":"{prev}"}}'
    )
    if "\\u0000" in text:
        return None
    try:
        body = text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return body if len(body) <= MAX_LINE_BYTES - _SIG_SUFFIX_BYTES else None


def _plain_members(
    order: tuple[tuple[str, ...], Callable[[tuple[object, ...]], tuple[object, ...]]],
    values: tuple[object, ...],
    limit: int,
) -> list[str] | None:
    names, ordered = order
    try:
        members = [
            name + _FORMS[type(value)](value)
            for name, value in zip(names, ordered(values))  # noqa: B905 - one comes from the other
            if value or value == 0
        ]
    except (KeyError, TypeError, ValueError):
        return None
    if sum(map(len, members)) > limit and any(
        type(value) is tuple or (type(value) is str and len(value) > limit) for value in values if value
    ):
        return None
    return members


def _number(value: int) -> str:
    if not -MAX_INT <= value <= MAX_INT:
        raise ValueError("no number that every reader of JSON reads")
    return str(value)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _texts(values: Sequence[str]) -> str:
    return f"[{','.join([quoted(value) for value in values])}]"


def _texts_or_pairs(values: tuple[str | tuple[str, ...], ...]) -> str:
    """Of `rules` and `files`."""
    return f"[{','.join([quoted(value) if isinstance(value, str) else _texts(value) for value in values])}]"


_FORMS: dict[type, Callable[..., str]] = {str: quoted, int: _number, bool: _truth, tuple: _texts_or_pairs}
"""What a member of each type looks like in a line (TypeError for what is no text in a list)."""
_MORE_FORMS: dict[type, Callable[..., str]] = {str: quoted, int: _number, bool: _truth, list: _texts}


def _plain_more(members: list[str], more: tuple[tuple[str, Json], ...]) -> list[str] | None:
    try:
        added = [f'"{name}":{_MORE_FORMS[type(value)](value)}' for name, value in more]
    except (KeyError, TypeError, ValueError):
        return None
    names = {name for name, _ in more}
    plain = all(name.isascii() and name.isidentifier() for name in names) and names.isdisjoint(Act._fields)
    if not plain or len(names) != len(more) or max(map(len, added)) > MAX_TEXT:
        return None
    return sorted(members + added, key=_name_of)


def _name_of(member: str) -> str:
    return member[1 : member.index('"', 1)]


def _members(names: tuple[str, ...], values: tuple[object, ...], limit: int = MAX_TEXT) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for key, value in zip(names, values, strict=True):
        if value is None or value == "":
            continue
        if isinstance(value, str):
            plain = len(value) <= limit and value.isascii() and "\0" not in value
            members[key] = value if plain else _text(value, limit)
        elif isinstance(value, int):
            members[key] = value
    return members


def _act(act: Act) -> dict[str, Json]:
    members = _members(act._fields, act)
    if act.cmd is not None and len(act.cmd) > MAX_TEXT:
        members["cmd_chars"] = len(act.cmd)
        members["cmd_sha256"] = sha256_hex(recordable(act.cmd).encode("utf-8"))
    if act.rules:
        members["rules"] = [recordable(rule) for rule in act.rules]
    if act.files:
        members["files"] = [[_text(path), digest] for path, digest in act.files]
    for key, value in act.more:
        members[key] = _clean(value)
    return members


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value


def _text(text: str, limit: int = MAX_TEXT) -> str:
    text = recordable(text)
    return text if len(text) <= limit else text[:limit] + "…"


def _digest_of(act: Json) -> dict[str, Json]:
    data = canonical_bytes(act)
    kept: dict[str, Json] = {"bytes": len(data), "sha256": sha256_hex(data)}
    if isinstance(act, dict):
        for key in ("tool", "decision", "score", "policy_sha256", "scan", "op", "phase"):
            if key in act and not isinstance(act[key], list | dict):
                kept[key] = act[key]
    return kept


def signed_bytes(line: bytes) -> tuple[bytes, bytes] | None:
    """(bytes that were signed, 64-byte signature) of a signed line; None where the line carries no signature."""
    suffix = line[-_SIG_SUFFIX_BYTES:]
    if len(suffix) != _SIG_SUFFIX_BYTES or not suffix.startswith(_SIG_BEGIN) or not suffix.endswith(_SIG_END):
        return None
    try:
        signature = from_base64(suffix[len(_SIG_BEGIN) : -len(_SIG_END)])
    except ValueError:
        return None
    return (SIGNED_PREFIX + line[:-_SIG_SUFFIX_BYTES] + b"}", signature) if len(signature) == 64 else None


def signature_holds(line: bytes, key: PublicKey) -> bool:
    """Whether the line carries a signature of `key` over the rest of it."""
    parts = signed_bytes(line)
    return parts is not None and key.verifies(parts[1], parts[0])


def read(line: bytes) -> Record:
    """The record of a canonical line. Raises NotCanonical with the reason."""
    if len(line) > MAX_LINE_BYTES:
        raise NotCanonical(f"too long: {len(line)} bytes")
    value = parse(line)
    if not isinstance(value, dict):
        raise NotCanonical("not a record: no JSON object")
    unknown = set(value) - _KEYS
    if unknown:
        raise NotCanonical(f"not a record: unknown member {sorted(unknown)[0]!r}")
    _want(value.get("fmt") == FORMAT, f"format {value.get('fmt')!r}, not {FORMAT}")
    n, ev, at, log, prev = (value.get(key) for key in ("n", "ev", "at", "log", "prev"))
    kid, by, act, anchor = value.get("kid"), value.get("by"), value.get("act", {}), value.get("anchor")
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise NotCanonical("not a record: `n` is no record number")
    if not isinstance(ev, str) or ev not in KINDS:
        raise NotCanonical(f"not a record: {ev!r} is not a kind of record")
    if not isinstance(at, str) or not is_time(at):
        raise NotCanonical("not a record: `at` is no time stamp")
    if not isinstance(log, str) or not _is_hex(log, 32):
        raise NotCanonical("not a record: `log` is no log id")
    if not isinstance(prev, str) or not _is_hex(prev, 64):
        raise NotCanonical("not a record: `prev` is no hash")
    _want("anchor" not in value or anchor is not None, "`anchor` is an object")
    if not isinstance(by, dict) or not isinstance(act, dict) or not (anchor is None or isinstance(anchor, dict)):
        raise NotCanonical("not a record: `by`, `act` and `anchor` are objects")
    _want(("kid" in value) == ("sig" in value), "`kid` and `sig` come together")
    _want("kid" not in value or kid is not None, "`kid` is no key id")
    if kid is not None and (not isinstance(kid, str) or not _is_hex(kid, 32)):
        raise NotCanonical("not a record: `kid` is no key id")
    if "sig" in value:
        _want(signed_bytes(line) is not None, "`sig` is no signature")
    return Record(n, ev, at, log, prev, kid, by, act, anchor, line)


def is_time(text: str) -> bool:
    """Whether `text` has the one form of a time stamp, and there is such a time."""
    try:
        from_rfc3339(text)
    except ValueError:
        return False
    return True


def _is_hex(text: str, digits: int) -> bool:
    return len(text) == digits and not text.strip("0123456789abcdef")


def _want(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotCanonical(f"not a record: {otherwise}")
