"""Claims about approvals: one action, one person, one key, one use, some minutes; and whose they are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chrono.audit.record import Actor
from chrono.canonical import canonical_bytes, parse
from chrono.errors import ChronoError, Denied, KeyRefused, UsageError
from chrono.policy.approvals import REQUEST_S, Grant, Member, Request, Subject
from chrono.policy.model import DEFAULTS, Approvers, Policy, Role
from chrono.signing import Signer, generate
from chrono.workspace import approvals, team
from chrono.workspace.approvals import Asking
from chrono.workspace.lineage import agents_behind, ancestors, marked
from chrono.workspace.project import Workspace

NOW = 1_800_000_000_000_000_000
MINUTE = 60_000_000_000


class Desk:
    """A project, a team of one, and what an agent asks there."""

    def __init__(self, ws: Workspace, by: Actor) -> None:
        self.ws, self.by = ws, by
        self.key: Signer = generate()
        self.sara = Member("sara", "developer", self.key.public)
        team.add(ws.home, ws.log, by, self.sara)

    def subject(self, **changes: object) -> Subject:
        made = Subject("call", "Bash", "bash", ("make deploy",), self.ws.root, self.ws.log.log_id)
        return made._replace(**changes)  # type: ignore[arg-type]

    def ask(self, subject: Subject, now_ns: int = NOW, agents: tuple[tuple[int, str, str], ...] = ()) -> Request:
        asking = Asking("codex", "s1", self.ws.root, ("deploys",), agents)
        return approvals.ask(self.ws.home, subject, asking, now_ns)

    def approve(self, request: Request, policy: Policy = DEFAULTS, signer: Signer | None = None) -> Grant:
        who = self.sara
        return approvals.decide(self.ws.home, self.ws.log, self.by, request, who, policy, signer or self.key, NOW)

    def why(self, subject: Subject, policy: Policy = DEFAULTS, now_ns: int = NOW) -> str | None:
        """Why `subject` may not happen; None where it may."""
        found = approvals.answered(self.ws.home, subject, policy, now_ns)
        return None if found.grant is not None else found.why

    def use(self, grant: Grant) -> None:
        from chrono.audit.record import Act, Entry

        with self.ws.log.writing(5) as writing:
            approvals.spend(self.ws.home, self.ws.log.place, grant)
            writing.append(Entry("command", self.by, Act(decision="allow", more=approvals.used_members(grant))))


@pytest.fixture
def desk(ws: Workspace, by: Actor) -> Desk:
    return Desk(ws, by)


def test_a_signed_approval_lets_the_action_happen(desk: Desk) -> None:
    subject = desk.subject()
    request = desk.ask(subject)
    assert desk.why(subject) == ""
    grant = desk.approve(request)
    assert desk.why(subject) is None
    record = next(r for r in reversed(_records(desk)) if r["ev"] == "approval")
    assert record["act"]["name"] == "sara" and record["act"]["kid"] == desk.key.kid == grant.kid


def test_asking_again_is_the_same_request(desk: Desk) -> None:
    assert desk.ask(desk.subject()) == desk.ask(desk.subject(), NOW + MINUTE)


@pytest.mark.parametrize(
    "change",
    [
        {"texts": ("make deploy ",)},
        {"cwd": "/elsewhere"},
        {"files": (("/p/deploy.sh", "b" * 64),)},
        {"log": "f" * 32},
        {"tool": "Shell"},
        {"shell": "powershell"},
        {"kind": "run"},
        {"given": "a" * 64},
        {"paths": ("x",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_approval_is_for_exactly_one_action(desk: Desk, change: dict[str, object]) -> None:
    approved = desk.subject(files=(("/p/deploy.sh", "a" * 64),))
    desk.approve(desk.ask(approved))
    assert desk.why(approved) is None
    assert desk.why(approved._replace(**change)) == ""  # type: ignore[arg-type]


def test_a_grant_moved_to_another_action_is_refused(desk: Desk) -> None:
    desk.approve(desk.ask(desk.subject()))
    other = desk.subject(texts=("rm -rf build",))
    desk.ask(other)
    home = desk.ws.home
    os.replace(home.approval_grant(desk.subject().id), home.approval_grant(other.id))
    assert desk.why(other) == "the approval is for something else"


def test_an_approval_is_used_once_even_if_its_files_come_back(desk: Desk) -> None:
    subject, home = desk.subject(), desk.ws.home
    grant = desk.approve(desk.ask(subject))
    kept = {path: Path(path).read_bytes() for path in (home.approval_request(grant.id), home.approval_grant(grant.id))}
    desk.use(grant)
    assert desk.why(subject) == ""
    for path, data in kept.items():
        Path(path).write_bytes(data)
    with pytest.raises(Denied, match="used already"):
        desk.use(grant)
    os.unlink(home.approval_request(grant.id))
    desk.ask(subject)  # another nonce
    Path(home.approval_grant(grant.id)).write_bytes(kept[home.approval_grant(grant.id)])
    assert desk.why(subject) == "the approval is for something else"


def test_an_approval_expires_and_so_does_a_request(desk: Desk) -> None:
    subject = desk.subject()
    desk.approve(desk.ask(subject))
    assert desk.why(subject, now_ns=NOW + 14 * MINUTE) is None
    assert desk.why(subject, now_ns=NOW + 15 * MINUTE) == "the approval has expired"
    assert desk.why(subject, now_ns=NOW - 2 * MINUTE) == "the approval has expired"
    late = NOW + REQUEST_S * 1_000_000_000
    assert approvals.pending(desk.ws.home, late) == ()
    with pytest.raises(ChronoError, match="expired"):
        approvals.find(desk.ws.home, subject.id, late)
    desk.ask(desk.subject(texts=("other",)), late)
    assert not os.path.exists(desk.ws.home.approval_grant(subject.id)), "what has expired is swept"


@pytest.mark.parametrize(
    ("member", "policy", "why"),
    [
        (Member("sara", "viewer"), DEFAULTS, "a role that may not approve"),
        (Member("sara", "developer"), DEFAULTS, "has no key"),
        (Member("sara", "developer"), DEFAULTS._replace(approvers=Approvers("signed", ("kim",))), "does not name sara"),
        (Member("sara", "maintainer"), DEFAULTS._replace(roles=(Role("sara", ("viewer",)),)), "may not approve"),
    ],
)
def test_who_may_not_approve_cannot(desk: Desk, member: Member, policy: Policy, why: str) -> None:
    request = desk.ask(desk.subject())
    if "key" not in why:
        member = member._replace(key=desk.key.public)
    with pytest.raises(Denied, match=why):
        approvals.decide(desk.ws.home, desk.ws.log, desk.by, request, member, policy, desk.key, NOW)


def test_a_role_taken_away_takes_the_approval_along(desk: Desk) -> None:
    subject = desk.subject()
    desk.approve(desk.ask(subject))
    team.add(desk.ws.home, desk.ws.log, desk.by, Member("sara", "viewer"), replace=True)
    assert desk.why(subject) == "sara has a role that may not approve"
    team.remove(desk.ws.home, desk.ws.log, desk.by, "sara")
    assert desk.why(subject) == "sara is not in the team"


def test_a_signature_by_another_key_or_over_other_words_is_refused(desk: Desk) -> None:
    subject = desk.subject()
    request = desk.ask(subject)
    desk.approve(request, signer=generate())
    assert desk.why(subject) == "the approval does not bear the signature of sara"
    grant = desk.approve(request)
    longer = grant._replace(expires_ns=grant.expires_ns + MINUTE)
    Path(desk.ws.home.approval_grant(grant.id)).write_bytes(approvals._grant_bytes(longer))
    assert desk.why(subject) == "the approval does not bear the signature of sara"
    bare = grant._replace(signature=b"", kid="")
    Path(desk.ws.home.approval_grant(grant.id)).write_bytes(approvals._grant_bytes(bare))
    assert desk.why(subject) == "the approval of sara is not signed"


def test_without_a_key_one_can_approve_only_where_the_policy_says_listed(desk: Desk) -> None:
    kim, subject = Member("kim", "developer"), desk.subject()
    team.add(desk.ws.home, desk.ws.log, desk.by, kim)
    request = desk.ask(subject)
    listed = DEFAULTS._replace(approvers=Approvers("listed", ("kim",)))
    approvals.decide(desk.ws.home, desk.ws.log, desk.by, request, kim, listed, None, NOW)
    assert desk.why(subject, listed) is None
    assert desk.why(subject) == "kim has no key, and the policy wants approvals signed"


def test_a_no_is_told(desk: Desk) -> None:
    subject = desk.subject()
    request = desk.ask(subject)
    approvals.decide(desk.ws.home, desk.ws.log, desk.by, request, desk.sara, DEFAULTS, None, NOW, decision="deny")
    assert desk.why(subject) == "sara denied it"


def test_a_damaged_file_answers_nothing(desk: Desk) -> None:
    subject = desk.subject()
    grant = desk.approve(desk.ask(subject))
    path = Path(desk.ws.home.approval_grant(grant.id))
    data = path.read_bytes()
    for broken in (b"", b"{}", data[:-9], data.replace(b'"fmt":1', b'"fmt":2'), b"[" * 5000):
        path.write_bytes(broken)
        assert desk.why(subject) == ""
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert desk.why(subject) == ""


def test_a_request_shows_what_its_answer_signs_and_nothing_else(desk: Desk) -> None:
    """Whoever can write the folder cannot have a person sign something else than what they read."""
    request = desk.ask(desk.subject(texts=("rm -rf /srv/\udc80",), paths=("a\0b",), files=(("/s/\udcff", "1" * 64),)))
    assert approvals.find(desk.ws.home, request.id, NOW) == request
    path = Path(desk.ws.home.approval_request(request.id))
    data = path.read_bytes()
    for old, new in (
        (b"rm -rf /srv", b"ls -la /srv"),
        (b"/s/", b"/t/"),
        (desk.ws.root.encode(), b"/tmp"),
        (b"Bash", b"Edit"),
    ):
        assert old in data
        path.write_bytes(data.replace(old, new))
        assert approvals.pending(desk.ws.home, NOW) == ()
    value = parse(data.strip())
    assert isinstance(value, dict)
    for subject in ("[]", "5", "{", "[" * 100_000, json.dumps({**json.loads(str(value["subject"])), "texts": "ls"})):
        path.write_bytes(canonical_bytes({**value, "subject": subject}))
        assert approvals.pending(desk.ws.home, NOW) == ()


def test_what_a_person_reads_is_the_action() -> None:
    call = Subject("call", "Edit", "bash", (), "/p", "l", ("a.txt",), "d" * 64)
    assert call.shown == f"a.txt\n# all that it is given: sha256 {'d' * 64}"
    assert call._replace(paths=()).shown.startswith("Edit\n")
    assert Subject("run", "chrono run", "argv", ("a", "b c"), "/p", "l").shown == "a 'b c'"
    assert Subject("verb", "chrono", "argv", ("rollback", "x"), "/p", "l").shown == "chrono rollback x"


def test_a_flood_of_requests_is_bounded_and_a_text_must_be_readable(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "MOST_PENDING", 2)
    desk.ask(desk.subject(texts=("a",)))
    desk.ask(desk.subject(texts=("b",)))
    with pytest.raises(Denied, match="wait for a person already"):
        desk.ask(desk.subject(texts=("c",)))
    with pytest.raises(Denied, match="too long"):
        desk.ask(desk.subject(texts=("x" * 70_000,)))


def test_the_agent_that_asks_is_told_from_the_person_in_another_terminal(desk: Desk) -> None:
    """The asking client is this process; what it starts is refused, what its parent starts is not."""
    me = ancestors(os.getpid())[0]
    request = desk.ask(desk.subject(), agents=((me.pid, me.start, me.name),))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with pytest.raises(Denied, match="started by the agent that asks"):
            approvals.refuse_relatives([request], child.pid, ())
        approvals.refuse_relatives([request], os.getppid(), ())
        reused = request._replace(agents=((me.pid, "0", me.name),))
        approvals.refuse_relatives([reused], child.pid, ())
    finally:
        child.communicate(b"\n")


def test_a_mark_in_the_environment_of_an_ancestor_is_seen_though_it_was_unset(desk: Desk) -> None:
    script = "import subprocess,sys; p=subprocess.Popen([sys.executable,'-c','input()'],env={}); print(p.pid,flush=True); p.wait()"
    agent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"AN_AGENT": "1"}
    )
    assert agent.stdout is not None
    pid = int(agent.stdout.readline())
    try:
        assert marked(pid, ("AN_AGENT", "OTHER")) == "AN_AGENT"
        with pytest.raises(Denied, match="AN_AGENT is set"):
            approvals.refuse_relatives([], pid, ("AN_AGENT",))
    finally:
        agent.communicate(b"\n")


def test_the_client_is_found_behind_the_shell_that_starts_the_hook() -> None:
    hook = subprocess.Popen(["/bin/sh", "-c", "read x; :"], stdin=subprocess.PIPE)
    try:
        assert [process.pid for process in agents_behind(hook.pid)][-1] == os.getpid()
    finally:
        hook.communicate(b"\n")


def test_a_team_has_names_roles_and_keys_of_their_own(desk: Desk, tmp_path: Path) -> None:
    home, log, by = desk.ws.home, desk.ws.log, desk.by
    for bad in (Member("../x", "viewer"), Member("", "viewer"), Member("kim", "king"), Member("sara", "viewer")):
        with pytest.raises(UsageError):
            team.add(home, log, by, bad)
    with pytest.raises(UsageError, match="enrolled for sara"):
        team.add(home, log, by, Member("kim", "viewer", desk.key.public))
    team.add(home, log, by, Member("sara", "maintainer"), replace=True)
    assert team.member(home, "sara") == Member("sara", "maintainer", desk.key.public)
    changes = [record["act"]["op"] for record in _records(desk) if record["ev"] == "team.change"]
    assert changes == ["add", "change"]


def test_an_ssh_key_signs(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    kim = Member("kim", "developer", team.public_key_in(f"{path}.pub"))
    team.add(desk.ws.home, desk.ws.log, desk.by, kim)
    signer = team.signer_of(desk.ws.home, kim, None, lambda question: None, key_file=str(path))
    subject = desk.subject()
    approvals.decide(desk.ws.home, desk.ws.log, desk.by, desk.ask(subject), kim, DEFAULTS, signer, NOW)
    assert desk.why(subject) is None
    with pytest.raises(KeyRefused, match="private key"):
        team.public_key_in(str(path))


def test_a_key_kept_here_is_locked(desk: Desk) -> None:
    home = desk.ws.home
    with pytest.raises(UsageError, match="passphrase"):
        team.new_key(home, "kim", "")
    kim = Member("kim", "developer", team.new_key(home, "kim", "open sesame"))
    assert b"ENCRYPTED" in Path(home.approver_key("kim")).read_bytes()
    assert team.signer_of(home, kim, None, lambda question: "open sesame").public == kim.key
    answers = iter(("wrong", None, ""))
    for _ in range(3):
        with pytest.raises(KeyRefused):
            team.signer_of(home, kim, None, lambda question: next(answers))


def _records(desk: Desk) -> list[dict[str, Any]]:

    return [json.loads(line) for line in Path(desk.ws.layout.audit_log).read_text().splitlines()]
