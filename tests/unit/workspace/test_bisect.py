"""Claims about the search for the savepoint that broke something."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from chrono.audit.place import project_place
from chrono.audit.record import Actor
from chrono.audit.verify import read_records
from chrono.errors import ChronoError, NoSuchSavepoint, UsageError
from chrono.workspace import bisect, rollback, worktrees
from chrono.workspace.bisect import Broken, Run
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.timeline import State

from .session import Session


def works(folder: str, state: State) -> int:
    """The test: 1 where README says so."""
    return 1 if "broken" in (Path(folder) / "README").read_text() else 0


def search(ws: Workspace, run: Run = works, start: str | None = None, end: str | None = None) -> Broken:
    return bisect.find(ws, bisect.lineage(ws, start, end), run)


@pytest.fixture(autouse=True)
def temporary(environ: dict[str, str], tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    environ["TMPDIR"] = str(folder)
    return folder


def test_one_bad_edit_among_200_savepoints_is_found_in_9_runs(ws: Workspace, root: Path, temporary: Path) -> None:
    one, two = Session(ws, "s1"), Session(ws, "s2", "codex")
    calls = []
    for number in range(200):
        text = f"{number} {'broken' if number >= 137 else 'fine'}\n"
        session = one if number % 3 else two
        calls.append(session.write("README", text))
    broken = search(ws)
    assert broken.candidates >= 200 and len(broken.trials) <= 9
    assert broken.cause.call is not None and broken.cause.call.tool_use == calls[137]
    assert (broken.cause.call.session, broken.cause.call.agent) == ("s1", "claude-code")
    assert "+137 broken" in broken.patch and "-136 fine" in broken.patch
    assert list(temporary.iterdir()) == [] and worktrees.listed(ws) == ()


@pytest.mark.parametrize("bad_from", range(1, 14))
def test_wherever_it_broke_it_is_found_in_log2_runs(bad_from: int) -> None:
    count = 14
    ran = []

    def test(progress: bisect.Progress) -> int:
        ran.append(progress.state)
        return int(progress.state >= bad_from)  # type: ignore[operator]

    found = bisect._Search(list(range(count)), test).run()  # type: ignore[arg-type]
    assert found == (bad_from - 1, bad_from)
    assert len(ran) == len(set(ran)) <= 1 + math.ceil(math.log2(count))  # type: ignore[type-var]


def fill(ws: Workspace, root: Path, *texts: str) -> list[str]:
    one = Session(ws, "s1")
    return [one.write("README", text) for text in texts]


def test_a_savepoint_that_cannot_tell_is_stepped_over(ws: Workspace, root: Path) -> None:
    calls = fill(ws, root, "1", "2", "3 odd", "4 broken", "5 broken")

    def run(folder: str, state: State) -> int:
        return 125 if "odd" in (Path(folder) / "README").read_text() else works(folder, state)

    broken = search(ws, run)
    assert broken.suspects and len(broken.suspects) == 1
    assert broken.cause.call is not None and broken.cause.call.tool_use == calls[3]
    assert [other.tool_use for other in broken.cause.others] == [calls[2]]


def test_what_a_rollback_took_back_is_not_on_the_way(ws: Workspace, by: Actor, root: Path) -> None:
    fill(ws, root, "1", "2", *(f"{number} broken once" for number in range(3, 12)))
    head = ws.store.ref("refs/heads/main")
    assert head is not None
    rollback.apply(ws, rollback.plan(ws, head), by)
    calls = fill(ws, root, "12", "13 broken for good", "14 broken for good")
    broken = search(ws)
    assert broken.cause.call is not None and broken.cause.call.tool_use == calls[1]


def test_a_person_is_named_as_a_person(ws: Workspace, by: Actor, root: Path) -> None:
    fill(ws, root, "1", "2")
    save(ws, "manual", "x", by)
    (root / "README").write_text("broken by hand\n")
    save(ws, "manual", "y", by)
    assert search(ws).cause.kind == "person"


def test_it_searches_between_the_savepoints_that_were_named(ws: Workspace, root: Path) -> None:
    fill(ws, root, "1 broken", "2", "3", "4 broken", "5", "end")
    autos = [commit for _, commit in ws.store.refs("refs/chrono/auto/")]
    texts = [ws.store.read(commit, "README").decode() for commit in autos]
    start, end = autos[texts.index("2")], autos[texts.index("4 broken")]
    broken = search(ws, works, start, end)
    assert broken.bad.commit == end and broken.candidates == 3
    with pytest.raises(NoSuchSavepoint, match="not on the way"):
        bisect.lineage(ws, end, start)


@pytest.mark.parametrize(
    ("texts", "words"),
    [(("1", "2", "3"), "does not fail at the newest"), (("broken", "broken too"), "oldest savepoint already")],
)
def test_where_nothing_can_be_found_it_says_what_to_do(
    ws: Workspace, root: Path, texts: tuple[str, ...], words: str
) -> None:
    fill(ws, root, *texts, "end broken" if "broken" in texts else "end")
    autos = [commit for _, commit in ws.store.refs("refs/chrono/auto/")]
    with pytest.raises(ChronoError, match=words) as error:
        search(ws, works, autos[0] if "broken" in texts else None)
    assert error.value.hint


def test_a_shell_that_fails_ends_the_search(ws: Workspace, root: Path, temporary: Path) -> None:
    fill(ws, root, "1", "2 broken", "3 broken")
    with pytest.raises(ChronoError, match="ended with 137"):
        search(ws, lambda folder, state: 137)
    assert list(temporary.iterdir()) == []


def test_one_savepoint_is_nothing_to_search_in(ws: Workspace) -> None:
    with pytest.raises(UsageError, match="two different"):
        bisect.lineage(ws)


def test_an_interrupt_leaves_no_folder_behind(ws: Workspace, root: Path, temporary: Path) -> None:
    fill(ws, root, "1", "2 broken", "3 broken")

    def run(folder: str, state: State) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(ws, run)
    assert list(temporary.iterdir()) == [] and worktrees.listed(ws) == ()


def test_the_search_is_in_the_audit_log_without_the_secret(ws: Workspace, by: Actor, root: Path) -> None:
    fill(ws, root, "1", "2 broken", "3 broken")
    argv = ["test", "--token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"]
    bisect.note(ws, by, "begin", argv, op="0" * 32)
    broken = search(ws)
    bisect.note(ws, by, "end", argv, op="0" * 32, broken=broken)
    told = [one for one in read_records(project_place(ws.layout)) if one and one.ev in ("run.start", "run.end")]
    assert [one.ev for one in told] == ["run.start", "run.end"] and told[1].act["bad"] == broken.bad.commit
    assert all(b"ghp_" not in one.line for one in told)
