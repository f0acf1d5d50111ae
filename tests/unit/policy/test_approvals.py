"""Claims about what an approval binds: every member of the subject, and the whole digest, not its shown beginning."""

from __future__ import annotations

from itertools import combinations

from chrono.policy.approvals import Grant, Member, Request, Subject, refusal
from chrono.policy.model import DEFAULTS
from chrono.signing import generate

SUBJECT = Subject("call", "Bash", "bash", ("a", "b"), "/p", "l" * 32, ("x",), "", (("/p/s", "1" * 64),))


def test_each_member_counts_and_none_runs_into_the_next() -> None:
    others = [
        SUBJECT,
        SUBJECT._replace(texts=("a\nb",)),
        SUBJECT._replace(texts=("ab",)),
        SUBJECT._replace(texts=("b", "a")),
        SUBJECT._replace(texts=("a", "b", "")),
        SUBJECT._replace(texts=("a", "b\0")),
        SUBJECT._replace(texts=("a", "\udc80")),
        SUBJECT._replace(texts=("a", "\\udc80")),
        SUBJECT._replace(cwd="/p/"),
        SUBJECT._replace(cwd="/\udc80"),
        SUBJECT._replace(cwd="/\\udc80"),
        SUBJECT._replace(paths=()),
        SUBJECT._replace(paths=("x", "")),
        SUBJECT._replace(given="0" * 64),
        SUBJECT._replace(files=()),
        SUBJECT._replace(files=(("/p/s", "2" * 64),)),
        SUBJECT._replace(kind="run"),
        SUBJECT._replace(tool="Shell"),
        SUBJECT._replace(shell="powershell"),
        SUBJECT._replace(log="m" * 32),
    ]
    for one, other in combinations(others, 2):
        assert one.digest != other.digest, (one, other)


def test_the_order_in_which_scripts_were_met_is_no_difference() -> None:
    two = (("/p/a", "1" * 64), ("/p/b", "2" * 64))
    assert SUBJECT._replace(files=two).digest == SUBJECT._replace(files=(*reversed(two), two[0])).digest


def test_an_equal_id_is_not_enough() -> None:
    """Somebody who finds two commands with one shown id has not found one approval for both."""
    key = generate()
    sara = Member("sara", "developer", key.public)
    digest = SUBJECT.digest
    collides = SUBJECT.id + "0" * (64 - len(SUBJECT.id))
    for asked in (digest, collides):
        request = Request(
            SUBJECT.id, "n", asked, 0, 10**12, "codex", "s", "Bash", "a", "/p", "/p", SUBJECT.log, (), (), ()
        )  # fmt: skip
        grant = Grant(SUBJECT.id, "n", asked, "approve", "sara", 0, 10**11)
        grant = grant._replace(kid=key.kid, signature=key.sign(grant.signed))
        why = refusal(grant, request, SUBJECT, sara, DEFAULTS, 1)
        assert why == (None if asked == digest else "the approval is for something else")


def test_a_signature_covers_every_word_of_the_answer() -> None:
    grant = Grant("i", "n", "d", "approve", "sara", 1, 2)
    members = grant._asdict()
    same = []
    for field, value in members.items():
        other = Grant(**{**members, field: value * 2 + type(value)(b"x" if isinstance(value, bytes) else "7")})
        same += [field] if other.signed == grant.signed else []
    assert same == ["kid", "signature"]
