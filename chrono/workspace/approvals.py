"""Owns what waits for a person's word in this home, the words given, and that each is used once.

What an approval binds and when it holds is said by `policy.approvals`, who is in the team by `team`. Both files of an
action lie in CHRONO_HOME/approvals; that one was used is in the signed log, which nobody can take back.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping, Sequence

from chrono.audit.place import LogPlace, open_text
from chrono.canonical import Json, NotCanonical, canonical_bytes, parse, recordable
from chrono.errors import ChronoError, Denied
from chrono.files import atomic_write, own_folder, read_own
from chrono.layout import HomeLayout
from chrono.policy.approvals import (
    DEFAULT_GRANT_S,
    FORMAT,
    MOST_GRANT_S,
    REQUEST_S,
    Grant,
    Request,
    Subject,
    refusal,
    unfit,
)
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.audit.log import AuditLog
    from chrono.audit.record import Actor
    from chrono.policy.approvals import Member
    from chrono.policy.model import Policy
    from chrono.signing import Signer

MOST_PENDING = 200
MAX_TEXT = 64 * 1024

_SECOND_NS = 1_000_000_000
_MAX_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 20
_REQUEST, _GRANT = ".request", ".grant"
_ID = re.compile(r"[0-9a-f]{4,64}")
_WAIT_S = 10.0


class Asking(NamedTuple):
    """Who asks, and why it was stopped: `agents` are (pid, start, name) of the client's processes."""

    client: str
    session: str
    root: str
    reasons: tuple[str, ...]
    agents: tuple[tuple[int, str, str], ...]


class Answer(NamedTuple):
    """What became of a request so far: `grant` where it holds now, else why not ("" where nobody answered)."""

    grant: Grant | None
    why: str = ""


def ask(home: HomeLayout, subject: Subject, asking: Asking, now_ns: int) -> Request:
    """The request for `subject`: the one that waits already, else a new one.

    Raises Denied (too many wait, or nobody could read all of it), OSError.
    """
    length = len(subject.shown)
    if length > MAX_TEXT:
        raise Denied(f"{length:,} characters are too long to be approved", "ask for smaller steps")
    already = pending(home, now_ns, sweep=True)
    for request in already:
        if request.digest == subject.digest:
            return request
    if len(already) >= MOST_PENDING:
        raise Denied(f"{MOST_PENDING} requests wait for a person already", "chrono approvals list")
    request = _request(subject, asking, os.urandom(16).hex(), now_ns, now_ns + REQUEST_S * _SECOND_NS)
    own_folder(home.approvals)
    _unlink(home.approval_grant(request.id))  # whatever it answered, it was not this request
    atomic_write(home.approval_request(request.id), _request_bytes(request, subject), durable=False)
    return request


def _request(subject: Subject, asking: Asking, nonce: str, at_ns: int, expires_ns: int) -> Request:
    return Request(
        id=subject.id,
        nonce=nonce,
        digest=subject.digest,
        at_ns=at_ns,
        expires_ns=expires_ns,
        client=asking.client,
        session=asking.session,
        tool=subject.tool,
        text=subject.shown,
        cwd=subject.cwd,
        root=asking.root,
        log=subject.log,
        reasons=asking.reasons,
        files=subject.files,
        agents=asking.agents,
    )


def waiting(home: HomeLayout, root: str, now_ns: int) -> int:
    """How many requests of the project at `root` nobody has answered."""
    return sum(one.root == root and answer_of(home, one) is None for one in pending(home, now_ns))


def pending(home: HomeLayout, now_ns: int, *, sweep: bool = False) -> tuple[Request, ...]:
    """What waits for a person, oldest first. `sweep`: what has expired is removed on the way."""
    try:
        names = [name for name in os.listdir(home.approvals) if name.endswith(_REQUEST)]
    except FileNotFoundError:
        return ()
    found = []
    for name in names:
        request = _read_request(home, name.removesuffix(_REQUEST))
        if request is None:
            continue
        grant = _read_grant(home, request.id)
        ends = max(request.expires_ns, grant.expires_ns if grant is not None else 0)
        if now_ns >= ends or request.at_ns > now_ns + REQUEST_S * _SECOND_NS:
            if sweep:
                forget(home, request.id)
        else:
            found.append(request)
    return tuple(sorted(found, key=lambda request: (request.at_ns, request.id)))


def find(home: HomeLayout, typed: str, now_ns: int) -> Request:
    """The request whose id begins with `typed`. Raises ChronoError where none waits, or more than one."""
    hint = "chrono approvals list"
    if not _ID.fullmatch(typed):
        raise ChronoError(f"{typed!r} is no id of a request", hint)
    found = [request for request in pending(home, now_ns) if request.id.startswith(typed)]
    if not found:
        raise ChronoError(f"no request {typed!r} waits: it was used, has expired or never was", hint)
    if len(found) > 1:
        raise ChronoError(f"{typed!r} is the beginning of {len(found)} requests", hint)
    return found[0]


def answer_of(home: HomeLayout, request: Request) -> Grant | None:
    """What a person answered to exactly this request, None where nobody did."""
    grant = _read_grant(home, request.id)
    return grant if grant is not None and grant.nonce == request.nonce else None


def decide(
    home: HomeLayout,
    log: AuditLog,
    by: Actor,
    request: Request,
    who: Member,
    policy: Policy,
    signer: Signer | None,
    now_ns: int,
    *,
    decision: str = "approve",
    valid_s: int = DEFAULT_GRANT_S,
) -> Grant:
    """A person's answer to `request`; the record comes first. `signer` None: nobody signs.

    Raises Denied (a role, a key or the list of approvers stands against it), Locked, OSError.
    """
    from chrono.audit.record import Act, Entry

    expires_ns = now_ns + min(valid_s, MOST_GRANT_S) * _SECOND_NS
    grant = Grant(request.id, request.nonce, request.digest, decision, who.name, now_ns, expires_ns)
    if decision == "approve":
        why = unfit(who, who.name, policy)
        if why is None and signer is None and policy.approvers.proof == "signed":
            why = "the policy wants approvals signed"
        if why is not None:
            raise Denied(f"this cannot be approved: {why}", "chrono team list shows roles and keys")
    if signer is not None:
        grant = grant._replace(kid=signer.kid, signature=signer.sign(grant.signed))
    more: list[tuple[str, Json]] = [("request", request.id), ("digest", request.digest), ("name", who.name)]
    more += [("role", who.role), ("expires", str(expires_ns))]
    if signer is not None:
        signature = base64.b64encode(grant.signature).decode("ascii")
        more += [("kid", grant.kid), ("pub", signer.public.text), ("signature", signature)]
    log.append(Entry("approval", by, Act(tool=request.tool, decision=decision, more=tuple(more))), timeout_s=_WAIT_S)
    atomic_write(home.approval_grant(request.id), _grant_bytes(grant))
    return grant


def answered(home: HomeLayout, subject: Subject, policy: Policy, now_ns: int) -> Answer:
    """What a person said to `subject`, checked anew: signature, role, expiry and binding. Raises PolicyError."""
    grant = _read_grant(home, subject.id)
    request = _read_request(home, subject.id) if grant is not None else None
    if grant is None or request is None:
        return Answer(None)
    from chrono.workspace.team import member

    why = refusal(grant, request, subject, member(home, grant.name), policy, now_ns)
    return Answer(grant) if why is None else Answer(None, why)


def spend(home: HomeLayout, place: LogPlace, grant: Grant) -> None:
    """Ends an approval as it is used. To be called while the log at `place` is held, before `used_members` is written
    there. Raises Denied where the log says that it was used before."""
    if _used(place, grant):
        raise Denied(f"approval {grant.id} has been used already", "each approval is good for one call")
    forget(home, grant.id)


def used_members(grant: Grant) -> tuple[tuple[str, Json], ...]:
    """What the record of the approved action says: who approved, with which key, and the nonce for `spend`."""
    told: dict[str, Json] = {"id": grant.id, "name": recordable(grant.name), "nonce": grant.nonce}
    if grant.kid:
        told["kid"] = grant.kid
    return (("approved", told),)


def forget(home: HomeLayout, request_id: str) -> None:
    """Removes a request and its answer."""
    _unlink(home.approval_request(request_id))
    _unlink(home.approval_grant(request_id))


def refuse_relatives(requests: Sequence[Request], pid: int, marks: Sequence[str]) -> None:
    """Raises Denied where process `pid` was started by an agent: by one that asks here, or by any that says so in the
    environment of an ancestor. The threat model says how far this goes."""
    from chrono.workspace.lineage import Process, marked, started_by

    hint = "a person answers in a terminal of their own, outside the agent's"
    for request in requests:
        process = started_by([Process(*one) for one in request.agents], pid)
        if process is not None:
            raise Denied(f"this was started by the agent that asks ({process.name}, pid {process.pid})", hint)
    mark = marked(pid, marks)
    if mark is not None:
        raise Denied(f"this was started by an agent ({mark} is set)", hint)


def log_of(request: Request, home: HomeLayout, environ: Mapping[str, str]) -> AuditLog:
    """The log that records `request`: of its project, or of the machine. Raises ChronoError where it is gone."""
    from chrono.audit.keys import settings
    from chrono.audit.log import open_log
    from chrono.audit.place import machine_place, project_place
    from chrono.clock import SystemClock
    from chrono.layout import ProjectLayout

    place = project_place(ProjectLayout(request.root)) if request.root else machine_place(home)
    log = open_log(place, home, settings(environ), SystemClock())
    if log.log_id != request.log:
        log.close()
        raise ChronoError(f"the project that request {request.id} belongs to is no longer in {request.root}")
    return log


def _used(place: LogPlace, grant: Grant) -> bool:
    """Whether the log holds the use of `grant`: looked for from its end back to when it was given."""
    needle = b'"nonce":' + canonical_bytes(grant.nonce)
    with open_text(place) as text:
        end = text.end
        while end > 0:
            start = max(0, end - _CHUNK_BYTES)
            data = text.pread(end - start + len(needle), start)
            if needle in data:
                return True
            first = _first_time(data)
            if first is not None and first + 60 * _SECOND_NS < grant.at_ns:
                return False
            end = start
        return False


def _first_time(data: bytes) -> int | None:
    from chrono.audit.record import read
    from chrono.clock import from_rfc3339

    begin = data.find(b"\n") + 1
    stop = data.find(b"\n", begin)
    try:
        return from_rfc3339(read(data[begin:stop]).at) if 0 < begin < stop else None
    except (NotCanonical, ValueError):
        return None


def _request_bytes(request: Request, subject: Subject) -> bytes:
    import json

    agents: list[Json] = [[pid, recordable(start), recordable(name)] for pid, start, name in request.agents]
    value: dict[str, Json] = {
        "agents": agents,
        "at": str(request.at_ns),
        "client": recordable(request.client),
        "expires": str(request.expires_ns),
        "fmt": FORMAT,
        "nonce": request.nonce,
        "reasons": [recordable(reason) for reason in request.reasons],
        "root": recordable(request.root),
        "session": recordable(request.session),
        # A text of its own, in ASCII: it keeps what no canonical line can hold, lone surrogates and NUL.
        "subject": json.dumps(subject._asdict()),
    }
    return canonical_bytes(value) + b"\n"


def _grant_bytes(grant: Grant) -> bytes:
    value: dict[str, Json] = {
        "at": str(grant.at_ns),
        "decision": grant.decision,
        "digest": grant.digest,
        "expires": str(grant.expires_ns),
        "fmt": FORMAT,
        "id": grant.id,
        "kid": grant.kid,
        "name": recordable(grant.name),
        "nonce": grant.nonce,
        "sig": base64.b64encode(grant.signature).decode("ascii"),
    }
    return canonical_bytes(value) + b"\n"


def _read_request(home: HomeLayout, request_id: str) -> Request | None:
    """None where there is none, or what is there is damaged: then nobody can answer it.

    What is shown comes from the subject alone, and its digest, which the answer signs, is made anew: a file that says
    one thing and means another cannot be written.
    """
    value = _read(home.approval_request(request_id))
    try:
        agents = tuple((int(str(one[0])), str(one[1]), str(one[2])) for one in map(_list, _list(value["agents"])))
        reasons = tuple(str(reason) for reason in _list(value["reasons"]))
        asking = Asking(str(value["client"]), str(value["session"]), str(value["root"]), reasons, agents)
        times = int(str(value["at"])), int(str(value["expires"]))
        request = _request(_read_subject(str(value["subject"])), asking, str(value["nonce"]), *times)
    except (KeyError, ValueError, IndexError, TypeError, RecursionError):
        return None
    return request if request.id == request_id else None


def _read_subject(text: str) -> Subject:
    """Raises KeyError, ValueError, TypeError, RecursionError."""
    import json

    given = json.loads(text)
    one = {name: _word(given[name]) for name in ("kind", "tool", "shell", "cwd", "log", "given")}
    texts, paths = (tuple(map(_word, _list(given[name]))) for name in ("texts", "paths"))
    files = tuple((_word(path), _word(digest)) for path, digest in map(_list, _list(given["files"])))
    return Subject(**one, texts=texts, paths=paths, files=files)


def _word(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _read_grant(home: HomeLayout, request_id: str) -> Grant | None:
    value = _read(home.approval_grant(request_id))
    try:
        return Grant(
            id=str(value["id"]),
            nonce=str(value["nonce"]),
            digest=str(value["digest"]),
            decision=str(value["decision"]),
            name=str(value["name"]),
            at_ns=int(str(value["at"])),
            expires_ns=int(str(value["expires"])),
            kid=str(value["kid"]),
            signature=base64.b64decode(str(value["sig"]), validate=True),
        )
    except (KeyError, ValueError, binascii.Error):
        return None


def _read(path: str) -> dict[str, Json]:
    """The members of the file; none where it is missing, no plain file, too long or damaged."""
    try:
        value = parse(read_own(path, _MAX_BYTES).removesuffix(b"\n"))
    except (OSError, NotCanonical):
        return {}
    return value if isinstance(value, dict) and value.get("fmt") == FORMAT else {}


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
