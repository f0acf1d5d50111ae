"""Claims about what the end of a log tells of agent clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.agents.protocol import SELF_TEST
from chrono.audit.place import project_place
from chrono.guard.commits import author, running
from chrono.guard.sessions import Seen, seen
from chrono.layout import ProjectLayout
from tests.unit.guard.test_engine import DANGEROUS, Guarded

RESULT = {"tool_response": {"stdout": "", "interrupted": False}}
NOBODY = {"nobody": ("no-such-program",)}


@pytest.fixture
def guarded(tmp_path: Path, compiled_rules: Path) -> Iterator[Guarded]:
    made = Guarded(tmp_path, compiled_rules)
    yield made
    made.resources.close()


def told(guarded: Guarded) -> Seen:
    (one,) = seen([project_place(ProjectLayout(str(guarded.project)))])
    return one


def post(guarded: Guarded, call_id: str, command: str = "ls") -> None:
    guarded.fire("PostToolUse", "Bash", {"command": command}, tool_use_id=call_id, **RESULT)


def test_tools_sessions_and_the_last_sign_of_life_are_told(guarded: Guarded) -> None:
    guarded.fire("SessionStart", source="startup")
    guarded.bash("ls", "c1")
    post(guarded, "c1")
    guarded.fire("PreToolUse", "Write", {"file_path": "x", "content": ""}, tool_use_id="c2")
    one = told(guarded)
    assert (one.client, one.session, dict(one.tools)) == ("claude-code", "s1", {"Bash": 1, "Write": 1})
    assert one.last == guarded.records()[-1]["at"]
    assert one.began is not None
    assert (one.unseen, one.denied_but_ran) == (0, 0)


def test_what_chrono_fired_itself_is_no_sign_of_a_client(guarded: Guarded) -> None:
    guarded.fire("PreToolUse", "Bash", {"command": "ls"}, tool_use_id="t", session_id=SELF_TEST)
    assert seen([project_place(ProjectLayout(str(guarded.project)))]) == ()
    guarded.bash("ls", "c1")
    guarded.fire("PreToolUse", "Bash", {"command": "ls"}, tool_use_id="t", session_id=SELF_TEST)
    assert (told(guarded).session, dict(told(guarded).tools)) == ("s1", {"Bash": 1})


def test_a_result_without_its_call_is_a_gap(guarded: Guarded) -> None:
    guarded.bash("ls", "c1")
    post(guarded, "c1")
    post(guarded, "never-seen")
    assert told(guarded).unseen == 1


def test_a_denied_call_that_ran_is_told(guarded: Guarded) -> None:
    guarded.bash(DANGEROUS, "c1")
    post(guarded, "c1", DANGEROUS)
    assert told(guarded).denied_but_ran == 1


def test_a_call_is_under_way_between_its_two_records(guarded: Guarded) -> None:
    place = project_place(ProjectLayout(str(guarded.project)))
    guarded.bash("sleep 9", "c1")
    guarded.bash("git commit -m x", "c2")
    guarded.bash(DANGEROUS, "c3")
    assert [one.call_id for one in running(place)] == ["c2", "c1"]
    call = author(place, marked=True, programs=NOBODY, pid=1)
    assert call is not None
    assert (call.call_id, call.session) == ("c2", "s1")
    assert author(place, marked=False, programs=NOBODY, pid=1) is None
    post(guarded, "c2")
    post(guarded, "c1")
    assert running(place) == ()


def test_calls_of_a_session_that_ended_are_over(guarded: Guarded) -> None:
    guarded.bash("sleep 9", "c1")
    guarded.fire("SessionEnd", reason="exit")
    assert running(project_place(ProjectLayout(str(guarded.project)))) == ()
