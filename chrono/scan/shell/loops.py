"""Owns loops: constants are unrolled, everything else is run until it shows nothing new."""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.shell import expand
from chrono.scan.shell.arithmetic import Failed
from chrono.scan.shell.calculate import arithmetic
from chrono.scan.shell.machine import LoopFrame, Machine
from chrono.scan.shell.state import Argv, State, fork, merge, settle
from chrono.scan.shell.syntax import Body, For, ForArith, While, Word
from chrono.scan.shell.values import MANY_FIELDS, join_text

MAX_UNROLL = 24


Condition = Callable[[State], tuple[State | None, State | None]]
Step = Callable[[State], object]


def _round(m: Machine, frame: LoopFrame, body: Body, state: State) -> State | None:
    """One run of the body; None where it does not come back to the loop's head."""
    m.step()
    m.body(body, state)
    settle(state)
    after: State | None = None if state.dead else state
    for left in frame.continues:
        after = merge(after, left)
    frame.continues.clear()
    return after


def run_while(m: Machine, node: While, state: State) -> None:
    """`while` and `until`."""
    _repeat(m, state, node.body, lambda s: _condition(m, node, s), None)


def _condition(m: Machine, node: While, state: State) -> tuple[State | None, State | None]:
    m.condition(node.condition, state)
    yes, no = fork(state)
    return (no, yes) if node.until else (yes, no)


def run_for_arithmetic(m: Machine, node: ForArith, state: State) -> None:
    """`for ((…; …; …))`."""
    _evaluate(m, node.first, state)

    def condition(at: State) -> tuple[State | None, State | None]:
        value = _evaluate(m, node.condition, at) if node.condition.parts else 1
        if value is None:
            return at, at.copy()
        return (at, None) if value else (None, at)

    _repeat(m, state, node.body, condition, lambda s: _evaluate(m, node.step, s))


def _evaluate(m: Machine, word: Word, state: State) -> int | None:
    try:
        return arithmetic(m, expand.text(m, word, state), state)
    except (Failed, ValueError, OverflowError):
        return None


def _repeat(m: Machine, state: State, body: Body, condition: Condition, step: Step | None) -> None:
    """Runs body while the condition can hold.

    As long as it surely holds, rounds are taken one by one. Once it may or may not, the loop ends after a round that
    changed nothing; what still changes in the third round becomes unknown for one last round.
    """
    frame = LoopFrame()
    m.loops.append(frame)
    left: State | None = None
    current: State | None = state.copy()
    allowed = m.allow_rounds(MAX_UNROLL)
    sure = unsure = 0
    widened = False
    status = 0
    while current is not None:
        before = current.copy()
        again, done = condition(current)
        if done is not None:
            # The status is that of the last command of the body.
            done.status = status
            left = merge(left, done)
        if again is None:
            break
        certain = done is None
        current = _round(m, frame, body, again)
        if current is None:
            break
        status = current.status
        if step is not None:
            step(current)
        sure, unsure = (sure + 1, unsure) if certain else (sure, unsure + 1)
        if current.same(before) or widened:
            # A loop that never ends by itself may still be ended from outside.
            left = merge(left, current)
            break
        if sure >= allowed or unsure >= 2:
            current.widen(before)
            widened = True
    m.free_rounds()
    m.loops.pop()
    for ended in frame.breaks:
        left = merge(left, ended)
    _finish(state, left)


def _finish(state: State, left: State | None) -> None:
    if left is None:
        state.dead = True
        return
    state.become(left)


def run_for(m: Machine, node: For, state: State) -> None:
    """`for name in words` and `select`."""
    sources: tuple[Argv, ...] = ()
    if node.words is None:
        values = list(state.params)
    else:
        collected = m.begin_sources()
        values = [field for word in node.words for field in expand.fields(m, word, state)]
        sources = m.end_sources(collected)
    if node.select:
        values = _selected(m, values, state)
    optional = any(value == MANY_FIELDS for value in values)
    rounds = _rounds(m, ["\0" if value == MANY_FIELDS else value for value in values])
    frame = LoopFrame()
    m.loops.append(frame)
    left: State | None = state.copy() if optional else None
    current: State | None = state.copy()
    for value in rounds:
        if current is None:
            break
        before = current.copy() if value == "\0" else None
        current.set(node.name, value)
        if sources:
            current.origins[node.name] = sources
        current = _round(m, frame, node.body, current)
        if current is not None and before is not None and not current.same(before):
            current = _again(m, frame, node, current, before)
    m.free_rounds()
    m.loops.pop()
    left = merge(left, current)
    for ended in frame.breaks:
        left = merge(left, ended)
    if left is None:
        state.dead = True
    else:
        if not rounds:
            left.status = 0
        state.become(left)


def _again(m: Machine, frame: LoopFrame, node: For, current: State, before: State) -> State | None:
    """A round that stands for an unknown number of rounds: once more with what it changed unknown."""
    before.set(node.name, "\0")
    if current.same(before):
        return current
    once = current.copy()
    current.widen(before)
    current.set(node.name, "\0")
    return merge(once, _round(m, frame, node.body, current))


def _rounds(m: Machine, values: list[str]) -> list[str]:
    """The values to run the body with; more than can be unrolled end in one that stands for the rest."""
    allowed = m.allow_rounds(min(len(values), MAX_UNROLL))
    distinct = list(dict.fromkeys(values)) if len(values) > allowed else values
    if len(distinct) <= allowed:
        return distinct
    return [*distinct[: allowed - 1], join_text(distinct[allowed - 1 :])] if allowed else [join_text(distinct)]


def _selected(m: Machine, values: list[str], state: State) -> list[str]:
    """What `select` sets: the item whose number is read, where the input is known."""
    line = state.stdin.partition("\n")[0].strip() if state.stdin is not None else "\0"
    state.set("REPLY", line)
    if line.isdecimal() and len(line) < 6 and MANY_FIELDS not in values:
        return [values[int(line) - 1]] if 0 < int(line) <= len(values) else [""]
    return values if "\0" in line else []
