"""Owns the path from a hook's payload to its answer: decode, scan, decide, savepoint, settle, record, encode.

The same for the resident service and for a hook that evaluates by itself. Whatever goes wrong on the way, the call is
blocked. What is written on the way is left to `effects`, sentences to `wording`.
"""

from __future__ import annotations

import os

from chrono.agents.protocol import Call, Decision, PayloadRefused, Reply
from chrono.guard import wording
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.agents.protocol import AgentAdapter
    from chrono.audit.append import Writing
    from chrono.guard.caller import Caller
    from chrono.guard.resources import Place, Resources
    from chrono.policy.approvals import Grant, Subject
    from chrono.policy.model import Policy, Provisional, Verdict
    from chrono.scan.finding import Scan
    from chrono.scan.rule import Ruleset
    from chrono.scan.world import World
    from chrono.workspace.savepoints import Saved


def answer(adapter_name: str, payload: bytes, caller: Caller, resources: Resources) -> Reply:
    """The client's reply to one payload. Never raises: what fails, blocks."""
    call = None
    try:
        adapter = resources.adapter(adapter_name)
    except BaseException as error:
        return _without_adapter(wording.failure(error))
    try:
        call = _placed(adapter.decode(payload), caller)
        decision = judge(call, caller, resources)
    except BaseException as error:
        decision = Decision("block", wording.failure(error))
    return _encoded(adapter, decision, call)


def _placed(call: Call, caller: Caller) -> Call:
    """`call` with a folder. Raises PayloadRefused where neither the payload nor the hook's own start tells one."""
    if call.cwd or call.event == "other":
        return call
    if not os.path.isabs(caller.cwd):
        raise PayloadRefused("nothing tells the folder that the call is meant for")
    return call._replace(cwd=os.path.normpath(caller.cwd))


def _encoded(adapter: AgentAdapter, decision: Decision, call: Call | None) -> Reply:
    try:
        return adapter.encode(decision, call)
    except BaseException as error:
        return _without_adapter(wording.failure(error))


def _without_adapter(reason: str) -> Reply:
    """A refusal for a client that nobody here knows: exit 2 with the reason on stderr blocks on most of them."""
    return Reply(b"", reason.encode("utf-8", "backslashreplace") + b"\n", 2)


def judge(call: Call, caller: Caller, resources: Resources) -> Decision:
    """The decision about one call, with all its effects. Raises whatever goes wrong; the caller blocks then."""
    if call.event == "other":
        return Decision("allow")
    from chrono.guard import effects

    with resources.holding(call.cwd):
        place = resources.place(call.cwd, caller.environ)
        if call.event == "pre":
            return _before(call, caller, place, resources)
        alarm = effects.after(call, caller, place)
        return Decision("allow") if alarm is None else Decision("block", alarm)


def _before(call: Call, caller: Caller, place: Place, resources: Resources) -> Decision:
    from chrono.policy.decide import decide
    from chrono.workspace.config import hold_adapter

    book = resources.rulebook(place)
    hold_adapter(book.policy, call.client)
    scan = scan_of(call, book.rules, resources.world(place, caller.environ))
    provisional = decide(scan, book.policy, project=place.root, writes=_written(call))
    waiting = _waiting(provisional.if_covered, call, scan, place, book.policy)
    case = _Case(call, caller, place, book.policy, scan, provisional, waiting)
    may_run = told(provisional.if_covered, call) != "block" or waiting.grant is not None
    if not (may_run and _needs_savepoint(call, scan, caller) and place.own):
        outcome = _conclude(case, None)
    else:
        leans = provisional.if_covered.findings or scan.findings or scan.refusals
        hinted = not leans and place.root is not None and resources.may_hint(place.root, caller.environ)
        outcome = _saved_first(case, hinted)
    commit = outcome.saved.commit if outcome.saved is not None else None
    if outcome.decision == "allow":
        return Decision(outcome.decision, "", commit)
    asked, verdict = outcome.asked, outcome.verdict
    word = _leave(asked, outcome.why, call, caller, place, verdict) if asked is not None else None
    return Decision(outcome.decision, wording.verdict(verdict, outcome.decision, call, word), commit)


class _Case(NamedTuple):
    """A call as far as it can be judged before there is a savepoint."""

    call: Call
    caller: Caller
    place: Place
    policy: Policy
    scan: Scan
    provisional: Provisional
    waiting: _Waiting


class _Outcome(NamedTuple):
    """What became of a call, as it is recorded. `asked`: what a person may still approve, or `why` nobody can."""

    decision: str
    verdict: Verdict
    saved: Saved | None
    asked: Subject | None
    why: str


def _saved_first(case: _Case, hinted: bool) -> _Outcome:
    """Takes the savepoint; the call is decided and recorded in the savepoint's own turn of the log, with one sync."""
    from chrono.guard import effects

    found: list[_Outcome] = []

    def conclude(saved: Saved, writing: Writing | None) -> None:
        found.append(_conclude(case, saved, writing))

    effects.savepoint(case.call, case.caller, case.place, hinted=hinted, also=conclude)
    return found[0]


def _conclude(case: _Case, saved: Saved | None, writing: Writing | None = None) -> _Outcome:
    """Decides, now that it is known what a savepoint covers, and records it."""
    from chrono.guard import effects
    from chrono.policy.decide import settle

    call, waiting = case.call, case.waiting
    verdict = settle(case.provisional, saved.cover if saved is not None else None)
    decision = told(verdict, call)
    if waiting.subject is None:
        waiting = _waiting(verdict, call, case.scan, case.place, case.policy)
    asks = verdict.decision == "ask"
    grant = waiting.grant if asks else None
    if grant is not None:
        decision = "allow"
    asked = waiting.subject if asks and decision == "block" else None
    request = asked.id if asked is not None else None
    judged = effects.Judged(case.scan, verdict, decision, case.policy.sha256, saved, grant, request)
    effects.record(call, case.caller, case.place, judged, writing)
    return _Outcome(decision, verdict, saved, asked, waiting.why)


class _Waiting(NamedTuple):
    """What a person who is not there is asked, and what they said so far: `grant` holds, or `why` it does not."""

    subject: Subject | None = None
    grant: Grant | None = None
    why: str = ""


def _waiting(verdict: Verdict, call: Call, scan: Scan, place: Place, policy: Policy) -> _Waiting:
    if verdict.decision != "ask" or call.can_ask:
        return _Waiting()
    from chrono.guard import asking

    subject = asking.subject_of(call, scan, place)
    answer = asking.answer_to(subject, place, policy)
    return _Waiting(subject, answer.grant, answer.why)


def _leave(asked: Subject, why: str, call: Call, caller: Caller, place: Place, verdict: Verdict) -> str:
    """Leaves the request; how a person answers it, or why nobody can."""
    from chrono.guard import asking

    return wording.request(asked.id, why, asking.leave_request(asked, call, caller, place, verdict))


def _written(call: Call) -> tuple[str, ...]:
    """The files that an editing tool itself changes, absolute."""
    if call.kind not in ("write", "edit", "mcp"):
        return ()
    return tuple(os.path.normpath(os.path.join(call.cwd, path)) for path in call.paths)


def told(verdict: Verdict, call: Call) -> str:
    """What the client hears: where nobody can be asked, an `ask` is a refusal."""
    return "block" if verdict.decision == "ask" and not call.can_ask else verdict.decision


def _needs_savepoint(call: Call, scan: Scan, caller: Caller) -> bool:
    if caller.environ.get("CHRONO_SAVEPOINTS") == "always":
        return True
    return call.changes and not scan.read_only


def scan_of(call: Call, rules: Ruleset, world: World) -> Scan:
    """What the call would do. A tool that nobody can look into is an empty scan that is not read-only."""
    from chrono.scan.finding import Scan
    from chrono.scan.scanner import scan, scan_edit

    scans = [scan(text, rules, world, shell=call.shell) for text in _texts(call)]
    written = _written(call)
    if written:
        scans.append(scan_edit(written, rules, world))
    if not scans:
        return Scan("", (), (), (), not call.changes)
    if len(scans) == 1:
        return scans[0] if call.kind != "mcp" else scans[0]._replace(read_only=False)
    return Scan(
        "\n".join(one.text for one in scans),
        tuple(command for one in scans for command in one.commands),
        tuple(finding for one in scans for finding in one.findings),
        tuple(refusal for one in scans for refusal in one.refusals),
        all(one.read_only for one in scans) and call.kind != "mcp",
        tuple(dict.fromkeys(file for one in scans for file in one.followed)),
    )


def _texts(call: Call) -> tuple[str, ...]:
    """The shell texts of a call. Reading a file by a tool is judged as `cat` of it would be."""
    if call.kind == "read" and call.paths:
        import shlex

        return ("cat -- " + shlex.join(call.paths),)
    return call.commands
