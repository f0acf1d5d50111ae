"""Owns what an approval says and whether it holds: bound to one action, by one person, once, for minutes. Pure.

Files, keys and the log are left to `workspace.approvals`; who asks to `guard`, `cli` and `mcp`.
"""

from __future__ import annotations

from chrono.canonical import Json, canonical_bytes, recordable, sha256_hex
from chrono.policy.model import Policy
from chrono.policy.roles import may_as
from chrono.signing import PublicKey
from chrono.tuples import NamedTuple

FORMAT = 1
SIGNED_PREFIX = b"chrono-approval/v1\n"
REQUEST_S = 3600
"""How long a request waits for a person; the agent that asks again makes a new one."""
DEFAULT_GRANT_S = 15 * 60
MOST_GRANT_S = 3600
SKEW_S = 60
ID_DIGITS = 12

_SECOND_NS = 1_000_000_000


class Subject(NamedTuple):
    """One action that needs a person's word: everything that decides what it does.

    `kind` is "call" (an agent's tool), "run" (`chrono run` and its MCP tool) or "verb" (a command of chrono itself).
    `tool` the client's name for it, `shell` how `texts` are read, `paths` the files it names, `given` the SHA-256 of
    an input that is no command. `cwd` is resolved, `files` are (path, SHA-256) of what it runs from files. `log` is
    the project's.
    """

    kind: str
    tool: str
    shell: str
    texts: tuple[str, ...]
    cwd: str
    log: str
    paths: tuple[str, ...] = ()
    given: str = ""
    files: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over all of it: one changed byte of command, folder or script is another action."""
        files: list[Json] = [[_exact(path), digest] for path, digest in sorted(set(self.files))]
        value: dict[str, Json] = {
            "cwd": _exact(self.cwd),
            "files": files,
            "given": self.given,
            "kind": self.kind,
            "log": self.log,
            "paths": [_exact(path) for path in self.paths],
            "shell": self.shell,
            "texts": [_exact(text) for text in self.texts],
            "tool": _exact(self.tool),
        }
        return sha256_hex(b"chrono-approval-subject/v1\n" + canonical_bytes(value))

    @property
    def id(self) -> str:
        """What people type: the beginning of the digest, so that the same action has the same id."""
        return self.digest[:ID_DIGITS]

    @property
    def shown(self) -> str:
        """What a person reads of it: made of what the digest binds, so that nothing else can be put before them."""
        import shlex

        if self.kind != "call":
            return shlex.join(("chrono", *self.texts) if self.kind == "verb" else self.texts)
        if not self.given:
            return "\n".join(self.texts)
        return "\n".join((*self.texts, *(self.paths or (self.tool,)), f"# all that it is given: sha256 {self.given}"))


def _exact(text: str) -> str:
    """A text that may hold what no canonical line can, as its digest."""
    return sha256_hex(text.encode("utf-8", "surrogatepass"))


class Request(NamedTuple):
    """An action that waits for a person, as they are shown it (`Subject.shown`).

    `nonce` makes an approval good for this request only; times in nanoseconds. `agents` are (pid, start, name) of the
    processes that the asking agent consists of.
    """

    id: str
    nonce: str
    digest: str
    at_ns: int
    expires_ns: int
    client: str
    session: str
    tool: str
    text: str
    cwd: str
    root: str
    log: str
    reasons: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    agents: tuple[tuple[int, str, str], ...]


class Grant(NamedTuple):
    """A person's answer. `decision` is "approve" or "deny"; `signature` empty where nobody signed."""

    id: str
    nonce: str
    digest: str
    decision: str
    name: str
    at_ns: int
    expires_ns: int
    kid: str = ""
    signature: bytes = b""

    @property
    def signed(self) -> bytes:
        """The bytes that the approver's key signs."""
        value: dict[str, Json] = {
            "at": str(self.at_ns),
            "decision": self.decision,
            "digest": self.digest,
            "expires": str(self.expires_ns),
            "fmt": FORMAT,
            "id": self.id,
            "name": recordable(self.name),
            "nonce": self.nonce,
        }
        return SIGNED_PREFIX + canonical_bytes(value)


class Member(NamedTuple):
    """One person of the team: `role` a role's name; `key` None until one is enrolled."""

    name: str
    role: str
    key: PublicKey | None = None


def refusal(
    grant: Grant, request: Request, subject: Subject, member: Member | None, policy: Policy, now_ns: int
) -> str | None:
    """Why `grant` does not let `subject` happen now; None where it does."""
    same = (grant.id, grant.nonce, grant.digest) == (request.id, request.nonce, request.digest)
    if not same or subject.digest != request.digest:
        return "the approval is for something else"
    if now_ns >= grant.expires_ns or now_ns + SKEW_S * _SECOND_NS < grant.at_ns:
        return "the approval has expired"
    if grant.decision != "approve":
        return f"{grant.name} denied it"
    if grant.expires_ns - grant.at_ns > MOST_GRANT_S * _SECOND_NS:
        return f"an approval holds for at most {MOST_GRANT_S // 60} minutes"
    why = unfit(member, grant.name, policy)
    if why is not None or member is None:
        return why
    if not grant.signature:
        return f"the approval of {grant.name} is not signed" if policy.approvers.proof == "signed" else None
    if member.key is None or not member.key.verifies(grant.signature, grant.signed):
        return f"the approval does not bear the signature of {grant.name}"
    return None


def unfit(member: Member | None, name: str, policy: Policy) -> str | None:
    """Why the policy does not let this person approve; None where it does."""
    if member is None:
        return f"{name} is not in the team"
    if policy.approvers.names and name not in policy.approvers.names:
        return f"the policy does not name {name} as an approver"
    if not may_as(policy, name, member.role, "approve"):
        return f"{name} has a role that may not approve"
    if policy.approvers.proof == "signed" and member.key is None:
        return f"{name} has no key, and the policy wants approvals signed"
    return None
