"""Owns the sentences that the model and the person read when a call does not simply run.

What was decided, and why, comes from `policy`; how a client shows it is left to its adapter.
"""

from __future__ import annotations

import errno

from chrono.errors import ChronoError, Locked, PolicyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.agents.protocol import Call
    from chrono.policy.model import Verdict

MAX_REASONS = 6

STILL_SAVING = (
    "chrono is still saving the project, so this call is denied for now. Try again in a moment. "
    "Name folders that need no savepoint in .chronoignore."
)


def verdict(verdict: Verdict, decision: str, call: Call, word: str | None = None) -> str:
    """Why the call is blocked or a person is asked: each reason with the safer way, strongest first.

    `word`: how a person can allow it from elsewhere; it stands before the reasons, which may be cut.
    """
    head = "chrono asks before this runs" if decision == "ask" else "chrono blocked this call"
    lines = [f"{head} ({call.tool}, score {verdict.score} of 100)."]
    if decision == "block" and verdict.decision == "ask":
        lines.append(
            "A person has to decide this, and nobody can be asked in this mode: "
            "tell the user what you wanted to run and why, and go on with something else."
        )
    if word is not None:
        lines.append(word)
    reasons = verdict.reasons[:MAX_REASONS]
    lines += [f"- {_sentence(reason)}" for reason in reasons]
    if len(verdict.reasons) > len(reasons):
        lines.append(f"- and {len(verdict.reasons) - len(reasons)} more reasons")
    if decision == "block" and verdict.decision != "ask":
        lines.append("Do not try to get around it: take the safer way, or tell the user what you need.")
    return "\n".join(lines)


def request(request_id: str, earlier: str, impossible: str | None) -> str:
    """How a person can allow the call once. `earlier`: why their last answer does not hold; `impossible`: why none is
    waited for."""
    before = f"The last answer does not count: {_sentence(earlier)} " if earlier else ""
    if impossible is not None:
        return f"{before}It cannot be approved from elsewhere: {_sentence(impossible)}"
    return (
        f"{before}In a terminal of their own they can allow exactly this call, once: "
        f"`chrono approvals approve {request_id}`. Then make the same call again, unchanged, in the same folder."
    )


def failure(error: BaseException) -> str:
    """Why a call is blocked about which nothing could be found out, and what to do."""
    message, hint = _named(error)
    text = f"chrono could not check this call, so it is denied: {_sentence(message)}"
    return f"{text} What to do: {_sentence(hint)}"


def denied_but_ran(tool: str) -> str:
    """A call that was refused has reported a result."""
    return (
        f"chrono denied this {tool} call, but the client ran it all the same. Stop and tell the user: the guard does "
        "not hold with this client version. They can look at it with `chrono audit` and take files back with "
        "`chrono rollback`."
    )


def _named(error: BaseException) -> tuple[str, str]:
    if isinstance(error, PolicyError):
        where = f" (line {error.line})" if error.line is not None and f":{error.line}" not in error.message else ""
        return (
            f"the policy cannot be used: {error.message}{where}",
            error.hint or "correct the policy file; `chrono policy` shows what is wrong",
        )
    if isinstance(error, Locked):
        return error.message, error.hint or "try again in a moment"
    if isinstance(error, ChronoError):
        return error.message, error.hint or "run `chrono doctor`"
    if isinstance(error, OSError):
        where = f" ({error.filename!s})" if error.filename else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full{where}", "free some space; chrono cannot save or record anything"
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return (
                f"{error.strerror}{where}",
                "make it writable for this user, or set CHRONO_HOME= to a folder you can write",
            )
        if error.errno == errno.ENOLCK:
            return f"{error.strerror}{where}", "keep the project and CHRONO_HOME on a file system that has locks"
        return f"{error.strerror or error}{where}", "run `chrono doctor`"
    if isinstance(error, ModuleNotFoundError):
        return (
            f"{error.name} cannot be imported by the guard",
            "run `chrono guard install` again with the Python that has chrono-toolkit",
        )
    if isinstance(error, MemoryError):
        return "there was not enough memory to check it", "try a smaller command"
    return f"{type(error).__name__}: {error}", "run `chrono doctor`; please report this with the command"


def _sentence(text: str) -> str:
    text = text.strip() or "no reason is known"
    return text if text.endswith((".", "!", "?")) else text + "."


def user_scope(client: str) -> str:
    """The command that guards `client` in every folder."""
    named = "" if client == "claude-code" else f" {client}"
    return f"chrono guard install{named} --scope user"
