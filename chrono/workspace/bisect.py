"""Owns the search for the savepoint that broke something: which ones are tried, and what is concluded.

Running the command is handed in by the caller, scratch folders are `workspace.worktrees`'s, whose a change is
`workspace.timeline`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from chrono.errors import ChronoError, NoSuchSavepoint, UsageError
from chrono.ids import CommitId
from chrono.tuples import NamedTuple
from chrono.workspace import timeline, worktrees
from chrono.workspace.history import branch_name
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.timeline import Cause, State, Step, Timeline

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.diff import Change
    from chrono.workspace.project import Workspace

SKIP = 125
"""The exit code with which a test says that it cannot tell (git bisect run has the same)."""
ABORT_FROM = 128
"""From this exit code on the search itself is given up, as with git: the shell, not the test, failed."""

_LEFT_OUT = frozenset({"rescue", "crash"})

Run = Callable[[str, State], int]
"""Runs the test in a folder that holds the state; its exit code."""


class Trial(NamedTuple):
    """One run of the test. `word`: "good", "bad" or "skip"."""

    state: State
    exit_code: int
    word: str


class Progress(NamedTuple):
    """Before a run: which one it is, how many may follow it, and what will be tried."""

    number: int
    left: int
    state: State


class Broken(NamedTuple):
    """The answer.

    `bad` is the first savepoint where the test fails, `good` the one before it; `suspects` are skipped ones between
    them, any of which may be the first. `changes` and `patch` are what differs, `cause` whose it is, `causes` the
    cause of each changed path.
    """

    good: State
    bad: State
    suspects: tuple[State, ...]
    changes: tuple[Change, ...]
    patch: str
    cause: Cause
    causes: tuple[tuple[str, Cause], ...]
    trials: tuple[Trial, ...]
    candidates: int


class Lineage(NamedTuple):
    """The savepoints to search, oldest first, each of another content than the one before."""

    line: Timeline
    states: tuple[State, ...]


def lineage(ws: Workspace, start: str | None = None, end: str | None = None) -> Lineage:
    """The savepoints that led to `end` (default: the newest of the current branch) from `start` (the oldest) on.

    What a rollback took back is not on the way. Raises NoSuchSavepoint, UsageError.
    """
    line = timeline.read(ws)
    first = ws.store.resolve(start) if start is not None else None
    last = ws.store.resolve(end) if end is not None else None
    states = _until(line, last)
    branch = _branch(ws, states[-1]) if last is not None and states else branch_name(ws.store.head_ref())
    states = [state for state in states if _branch(ws, state) == branch]
    states = _distinct(ws, _without_taken_back(ws, states))
    if first is not None:
        at = _index(ws, states, first)
        if at is None:
            raise NoSuchSavepoint(
                f"savepoint {first[:12]} is not on the way to {states[-1].commit[:12] if states else 'now'}",
                "chrono log lists the savepoints; --from comes before --to, on the same branch",
            )
        states = states[at:]
    if len(states) < 2:
        raise UsageError("there are no two different savepoints to search between", "run chrono log")
    return Lineage(line, tuple(states))


def _until(line: Timeline, last: CommitId | None) -> list[State]:
    if last is None:
        return [state for state in line.states if state.savepoint.kind not in _LEFT_OUT]
    ends = [index for index, state in enumerate(line.states) if state.commit == last]
    if not ends:
        raise NoSuchSavepoint(f"savepoint {last[:12]} is not in the history of this folder", "run chrono log")
    states = line.states[: ends[-1] + 1]
    return [state for state in states if state.savepoint.kind not in _LEFT_OUT or state.commit == last]


def _branch(ws: Workspace, state: State) -> str:
    return state.savepoint.trailer("Chrono-Branch") or branch_name(ws.store.head_ref())


def _without_taken_back(ws: Workspace, states: Sequence[State]) -> list[State]:
    """A rollback of everything ends the line that it left, back to the state that it went to."""
    kept: list[State] = []
    for state in states:
        target = state.savepoint.trailer("Chrono-Target")
        if state.verb == "rollback" and target is not None:
            at = _index(ws, kept, CommitId(target))
            if at is not None and ws.store.content(kept[at].commit) == ws.store.content(state.commit):
                del kept[at + 1 :]
        kept.append(state)
    return kept


def _distinct(ws: Workspace, states: Sequence[State]) -> list[State]:
    """Of neighbours with the same content the last."""
    kept: list[State] = []
    for state in states:
        if kept and ws.store.content(kept[-1].commit) == ws.store.content(state.commit):
            kept[-1] = state
        else:
            kept.append(state)
    return kept


def _index(ws: Workspace, states: Sequence[State], commit: CommitId) -> int | None:
    for index in range(len(states) - 1, -1, -1):
        if states[index].commit == commit:
            return index
    content = ws.store.content(commit)
    for index in range(len(states) - 1, -1, -1):
        if ws.store.content(states[index].commit) == content:
            return index
    return None


class _Search:
    """One search: what is known of each state so far."""

    def __init__(self, states: Sequence[State], test: Callable[[Progress], int]) -> None:
        self._states = states
        self._test = test
        self._words: dict[int, str] = {}
        self.trials: list[Trial] = []

    def word(self, index: int, left: int) -> str:
        found = self._words.get(index)
        if found is None:
            state = self._states[index]
            code = self._test(Progress(len(self.trials) + 1, left, state))
            if code < 0 or code >= ABORT_FROM:
                raise ChronoError(
                    f"the command ended with {code} at savepoint {state.commit[:12]}: nothing can be concluded from it",
                    "let it end with 0 (good), 1 to 124 (bad) or 125 (cannot tell)",
                )
            found = "good" if code == 0 else "skip" if code == SKIP else "bad"
            self._words[index] = found
            self.trials.append(Trial(state, code, found))
        return found

    def run(self) -> tuple[int, int]:
        """(the last good index or -1, the first bad one). Raises ChronoError where the last state is not bad."""
        last = len(self._states) - 1
        bad = self._last_bad(last)
        good = -1
        while True:
            open_ones = [index for index in range(good + 1, bad) if self._words.get(index) != "skip"]
            if not open_ones:
                return good, bad
            middle = good + (bad - good) // 2
            index = min(open_ones, key=lambda one: (abs(one - middle), one))
            word = self.word(index, len(open_ones).bit_length() - 1)
            if word == "good":
                good = index
            elif word == "bad":
                bad = index

    def _last_bad(self, last: int) -> int:
        word = self.word(last, last.bit_length())
        if word == "bad":
            return last
        state = self._states[last]
        if word == "good":
            raise ChronoError(
                f"the command does not fail at the newest savepoint, {state.commit[:12]}",
                "nothing to search for; take a savepoint of the broken state (chrono snapshot), or name it: --to ID",
            )
        raise ChronoError(
            f"the command cannot tell (exit code {SKIP}) at the newest savepoint, {state.commit[:12]}",
            "name a savepoint where it fails: --to ID",
        )


def find(
    ws: Workspace, found: Lineage, run: Run, *, say: Callable[[Progress], None] | None = None, purpose: str = "bisect"
) -> Broken:
    """Searches `found.states`; about log2 of them are tried, each in a folder of its own.

    Raises ChronoError where nothing can be concluded: the newest does not fail, or the oldest already does.
    """
    worktrees.sweep(ws)

    def test(progress: Progress) -> int:
        if say is not None:
            say(progress)
        with worktrees.scratch(ws, purpose, progress.state.commit) as folder:
            return run(folder, progress.state)

    search = _Search(found.states, test)
    good, bad = search.run()
    if good < 0:
        oldest = found.states[bad].commit[:12]
        if bad:
            raise ChronoError(
                f"the command fails at savepoint {oldest} and cannot tell (exit code {SKIP}) at any before it",
                "name an older one where it works: --from ID",
            )
        raise ChronoError(
            f"the command fails at the oldest savepoint already, {oldest}",
            "name an older one where it works: --from ID; if it never worked, there is nothing to find",
        )
    return _broken(ws, found, good, bad, tuple(search.trials))


def _broken(ws: Workspace, found: Lineage, good: int, bad: int, trials: tuple[Trial, ...]) -> Broken:
    first, last = found.states[good], found.states[bad]
    changes = ws.store.changes(first.commit, last.commit)
    step = _step(ws, found.line, first, last)
    causes = tuple((change.path, timeline.cause(step, change.path)) for change in changes)
    return Broken(
        good=first,
        bad=last,
        suspects=found.states[good + 1 : bad],
        changes=changes,
        patch=ws.store.patch(first.commit, last.commit),
        cause=_main_cause(step, causes),
        causes=causes,
        trials=trials,
        candidates=len(found.states),
    )


def _step(ws: Workspace, line: Timeline, first: State, last: State) -> Step:
    """All that happened from `first` until the content of `last` was there, as one step."""
    start = next(index for index, state in enumerate(line.states) if state is first)
    wanted = ws.store.content(last.commit)
    end = start + 1
    while line.states[end] is not last and ws.store.content(line.states[end].commit) != wanted:
        end += 1
    between = line.steps[start + 1 : end + 1]
    if len(between) == 1:
        return between[0]
    calls = dict.fromkeys(call for step in reversed(between) for call in step.calls)
    only_verbs = not calls and all(step.after is not None and step.after.verb for step in between)
    # When a file was written last says nothing of what wrote it before that.
    return Step(first, line.states[end] if only_verbs else last._replace(verb="", written={}), tuple(calls))


def _main_cause(step: Step, causes: Sequence[tuple[str, Cause]]) -> Cause:
    """The cause of the changed paths where it is one; else that of a call among them, the others beside it."""
    if not causes:
        return timeline.cause(step, None)
    calls = dict.fromkeys(cause.call for _, cause in causes if cause.call is not None)
    others = dict.fromkeys(call for _, cause in causes for call in cause.others)
    if not calls:
        return causes[0][1]
    first, *rest = calls
    return Cause("call", step, first, tuple(dict.fromkeys((*rest, *(call for call in others if call != first)))))


def note(
    ws: Workspace,
    by: Actor,
    phase: str,
    argv: Sequence[str],
    *,
    op: str,
    broken: Broken | None = None,
    timeout_s: float = CLI_WAIT_S,
) -> None:
    """Records that a search began or ended, and what it found. The command is redacted."""
    import os
    import shlex

    from chrono.audit.record import Act, Entry
    from chrono.audit.redact import SALT_BYTES, protect

    said = protect(shlex.join(argv), os.urandom(SALT_BYTES))
    more: tuple[tuple[str, Json], ...] = (("bisect", True),)
    if broken is not None:
        more = (*more, ("bad", broken.bad.commit), ("good", broken.good.commit), ("runs", len(broken.trials)))
    act = Act(tool="bisect", cmd=said.text, cmd_c=said.commitment, phase=phase, op=op, more=more)
    ws.log.append(Entry("run.start" if phase == "begin" else "run.end", by, act), timeout_s=timeout_s)
