"""Owns walking a parsed text along every way that cannot be excluded: lists, pipelines, branches, functions.

Simple commands are left to `simple`, loops to `loops`. States join where ways meet.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import LimitReached, Refusal
from chrono.scan.shell import expand, globs, loops
from chrono.scan.shell.arithmetic import Failed
from chrono.scan.shell.calculate import arithmetic
from chrono.scan.shell.conditions import decide_conditional
from chrono.scan.shell.machine import Call, Machine, Ports
from chrono.scan.shell.origin import origin_of
from chrono.scan.shell.parser import parse
from chrono.scan.shell.simple import process, run_redirected, run_simple, substitute
from chrono.scan.shell.starting import run_inner, run_program
from chrono.scan.shell.state import UNKNOWN_STATUS, Argv, State, fork, merge, settle
from chrono.scan.shell.syntax import (
    AndOr,
    ArithCommand,
    Body,
    Branch,
    Case,
    Conditional,
    Coproc,
    For,
    ForArith,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    Redirected,
    Simple,
    Subshell,
    While,
)
from chrono.scan.shell.values import MANY_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TEXTS = 20
MAX_FEEDS = 8
MAX_CALLS = 24
MAX_RECURSION = 5
MAX_RECURSIONS = 100


def run_node(m: Machine, node: Node, state: State) -> None:
    kind = type(node)
    if kind is Simple:
        m.each(run_simple, node, state)
        return
    run = _WALK[kind]
    if kind in _EXPANDING:
        m.each(run, node, state)
    else:
        run(m, node, state)


def run_body(m: Machine, body: Body, state: State) -> None:
    for node, background in body:
        if background:
            _background(m, node, state)
        else:
            run_node(m, node, state)
            if state.failed is not None:
                # After a failure the shell goes on, unless `set -e` ends it.
                if ("e" in state.options and not m.conditions) or _went_into_new(m, node, state):
                    state.failed = None
                settle(state)
        if state.dead:
            return


def _went_into_new(m: Machine, node: Node, state: State) -> bool:
    """`mkdir x && cd x`: a list that ends in a folder the text has just made is taken to succeed."""
    joined = isinstance(node, AndOr) and all(op == "&&" for op, _ in node.items[1:])
    return joined and len(state.cwds) == 1 and state.cwds[0] in m.made


def run_condition(m: Machine, body: Body, state: State) -> None:
    m.conditions += 1
    if len(body) > 1:
        run_body(m, body[:-1], state)
    if body and not state.dead:
        settle(state)
        if body[-1].background:
            _background(m, body[-1].node, state)
        else:
            run_node(m, body[-1].node, state)
    m.conditions -= 1


def _background(m: Machine, node: Node, state: State) -> None:
    child = state.copy()
    child.stdin = ""
    m.background += 1
    run_subshell(m, child, lambda: run_node(m, node, child))
    m.background -= 1
    state.status = 0
    if state.outs is not None and child.outs is not None:
        state.outs = child.outs


def _and_or(m: Machine, node: AndOr, state: State) -> None:
    after = m.after
    m.conditions += 1
    run_node(m, node.items[0][1], state)
    yes, no = fork(state)
    for op, command in node.items[1:]:
        current = yes if op == "&&" else no
        if current is None:
            continue
        m.after = "success" if op == "&&" else "failure"
        run_node(m, command, current)
        again_yes, again_no = fork(current)
        if op == "&&":
            yes, no = again_yes, merge(no, again_no)
        else:
            yes, no = merge(yes, again_yes), again_no
    m.after = after
    m.conditions -= 1
    _rejoin(state, yes, no)


def _rejoin(state: State, yes: State | None, no: State | None) -> None:
    """The state after a list: success, with failure apart where both can be."""
    if yes is not None and yes.dead:
        yes = None
    if no is not None and no.dead:
        no = None
    if yes is None and no is None:
        state.dead = True
    elif yes is None:
        assert no is not None
        state.become(no)
    else:
        failed = no.copy() if no is state else no
        state.become(yes)
        state.failed = failed


def _pipeline(m: Machine, node: Pipeline, state: State) -> None:
    if len(node.commands) == 1:
        run_node(m, node.commands[0], state)
    elif node.commands:
        _pipe(m, node.commands, state)
    else:
        state.status = 0
    if node.negated:
        yes, no = fork(state)
        if yes is not None:
            yes = yes.copy()
            yes.status = 1
        if no is not None:
            no.status = 0
        _rejoin(state, no, yes)


def _pipe(m: Machine, commands: tuple[Node, ...], state: State) -> None:
    """Each command in a subshell of its own, fed with what the one before writes."""
    inputs: tuple[str | None, ...] = (state.stdin,)
    feeds = state.feeds
    m.pipes += 1
    last = state
    for at, command in enumerate(commands):
        final = at == len(commands) - 1
        mark = len(m.commands)
        joined: State | None = None
        for text in inputs:
            child = state.copy()
            child.stdin = text
            child.feeds = feeds
            child.outs = state.outs if final else ("",)
            run_subshell(m, child, lambda c=command, s=child: run_node(m, c, s))  # type: ignore[misc]
            joined = merge(joined, child)
        assert joined is not None
        feeds = (*feeds, *m.argvs_since(mark))[-MAX_FEEDS:]
        inputs = joined.outs if joined.outs is not None else (None,)
        last = joined
    m.pipes -= 1
    if m.dialect == "zsh" or "lastpipe" in state.options:
        feeds, stdin = state.feeds, state.stdin
        state.become(last)
        state.feeds, state.stdin = feeds, stdin
        return
    state.outs = last.outs
    state.status = UNKNOWN_STATUS if "pipefail" in state.options else last.status


def run_subshell(m: Machine, state: State, run: Callable[[], None]) -> None:
    around_loops, m.loops = m.loops, []
    around_returns, m.returns = m.returns, [[]]
    m.exits.append([])
    run()
    settle(state)
    for left in (*m.exits.pop(), *m.returns[0]):
        left.dead = False
        state.join(left)
    state.dead = False
    m.loops = around_loops
    m.returns = around_returns


def _subshell(m: Machine, node: Subshell, state: State) -> None:
    child = state.copy()
    run_subshell(m, child, lambda: run_body(m, node.body, child))
    state.outs, state.stdin, state.status = child.outs, child.stdin, child.status


def _group(m: Machine, node: Group, state: State) -> None:
    run_body(m, node.body, state)


def _if(m: Machine, node: If, state: State) -> None:
    left: State | None = None
    current: State | None = state.copy()
    for condition, body in node.clauses:
        assert current is not None
        run_condition(m, condition, current)
        yes, current = fork(current)
        if yes is not None:
            run_body(m, body, yes)
            settle(yes)
            left = merge(left, yes)
        if current is None:
            break
    if current is not None:
        if node.otherwise is not None:
            run_body(m, node.otherwise, current)
            settle(current)
        else:
            current.status = 0
    _finish(state, merge(left, current))


def _finish(state: State, left: State | None) -> None:
    if left is None:
        state.dead = True
    else:
        state.become(left)


def _case(m: Machine, node: Case, state: State) -> None:
    m.outside = False
    value = expand.text(m, node.word, state)
    sure = not m.outside
    left: State | None = None
    falling: State | None = None
    current: State | None = state.copy()
    for branch in node.branches:
        enter, falling = falling, None
        if current is not None:
            matched = _matches(m, branch, value, current) if sure else None
            if matched:
                enter, current = merge(enter, current), None
            elif matched is None:
                enter = merge(enter, current.copy())
        if enter is None:
            continue
        run_body(m, branch.body, enter)
        settle(enter)
        if branch.end == ";&":
            falling = enter
        elif branch.end in (";;&", ";|"):
            current = merge(current, enter)
        else:
            left = merge(left, enter)
    if current is not None:
        current.status = 0
    _finish(state, merge(merge(left, falling), current))


def _matches(m: Machine, branch: Branch, value: str, state: State) -> bool | None:
    answer: bool | None = False
    for pattern in branch.patterns:
        matched = globs.matches(expand.pattern(m, pattern, state), value)
        if matched:
            return True
        answer = None if matched is None else answer
    return answer


def _arith(m: Machine, node: ArithCommand, state: State) -> None:
    m.outside = False
    try:
        value = arithmetic(m, expand.text(m, node.expression, state), state)
    except (Failed, ValueError, OverflowError):
        value = 0
    state.status = UNKNOWN_STATUS if value is None or m.outside else int(value == 0)


def _conditional(m: Machine, node: Conditional, state: State) -> None:
    m.outside = False
    m.here = (node.start, node.end)
    decided = decide_conditional(m, node.test, state)
    state.status = UNKNOWN_STATUS if decided is None or m.outside else int(not decided)


_CALLED_BY_ZSH = frozenset(
    ("precmd", "preexec", "chpwd", "periodic", "zshexit", "zshaddhistory", "command_not_found_handler")
)
"""Functions that zsh calls by itself."""


def _function(m: Machine, node: Function, state: State) -> None:
    state.own()
    state.funcs[node.name] = node.body
    m.note_function(node.name)
    called = node.name == "command_not_found_handle" or (
        m.dialect == "zsh" and (node.name in _CALLED_BY_ZSH or node.name.startswith("TRAP"))
    )
    if called:
        side = state.copy()
        side.outs = None
        run_subshell(m, side, lambda: run_node(m, node.body, side))
    state.status = 0


def _coproc(m: Machine, node: Coproc, state: State) -> None:
    child = state.copy()
    child.stdin, child.outs = None, None
    run_subshell(m, child, lambda: run_node(m, node.body, child))
    state.status = 0


_EXPANDING = frozenset((Case, For, ForArith, ArithCommand, Conditional, Redirected))
_WALK: dict[type, Callable[[Machine, Any, State], None]] = {
    AndOr: _and_or,
    Pipeline: _pipeline,
    If: _if,
    While: loops.run_while,
    For: loops.run_for,
    ForArith: loops.run_for_arithmetic,
    Case: _case,
    Group: _group,
    Subshell: _subshell,
    ArithCommand: _arith,
    Conditional: _conditional,
    Function: _function,
    Coproc: _coproc,
    Redirected: run_redirected,
}


def run_text(m: Machine, text: str, state: State, dialect: str | None, label: str, is_file: bool) -> None:
    """Runs text in this state; what is wholly unknown is left alone."""
    if not text.strip("\0 \t\n"):
        if "\0" in text:
            state.status = UNKNOWN_STATUS
            state.write("\0")
        return
    if m.texts >= MAX_TEXTS:
        raise LimitReached(f"texts run texts more than {MAX_TEXTS} deep")
    fixed = None if is_file else m.here
    key = (text, dialect or m.dialect, fixed)
    parsed = m.parsed.get(key)
    if parsed is None:
        parsed = m.parsed[key] = parse(text, key[1], m.budget, fixed)
    frame = m.save()
    via, around, origin = m.via, m.dialect, m.origin
    if is_file:
        m.enter_file(origin_of(text, len(via), m.span()), label)
    else:
        m.via = (*via, label) if label else via
    m.dialect = key[1]
    m.texts += 1
    run_body(m, parsed.body, state)
    if parsed.fault is not None:
        m.refuse(Refusal("unparsed", f"{label or 'a text'}: {parsed.fault.why}", m.here))
    m.texts -= 1
    m.via, m.dialect, m.origin = via, around, origin
    choices = m.choices
    m.restore(frame)
    m.choices = choices


def call(m: Machine, name: str, argv: Argv, state: State) -> None:
    """Runs a function. Recursion ends where the arguments repeat; deep recursion goes on with unknown ones."""
    args = argv[1:]
    around = [entry for entry in m.calls if entry.name == name]
    if len(around) >= MAX_RECURSION or len(m.calls) >= MAX_CALLS or (around and m.recursions > MAX_RECURSIONS):
        args = (MANY_FIELDS,)
    for entry in around:
        if entry.args == args:
            _note_recursion(m, entry, state)
            state.status = UNKNOWN_STATUS
            state.write("\0")
            return
    if len(m.calls) > 2 * MAX_CALLS:
        raise LimitReached("functions call functions too deeply")
    m.recursions += bool(around)
    m.calls.append(Call(name, args, m.pipes, m.background, set()))
    around_loops, m.loops = m.loops, []
    params, saved, given = state.params, state.saved, state.origins.get("@", ())
    state.params, state.saved = args, {}
    state.came_from("@", tuple(m.sources))
    m.returns.append([])
    frame = m.save()
    m.redirects, m.assigns = (), ()
    via, origin = m.via, m.origin
    m.go_home(name)
    run_node(m, state.funcs[name], state)
    choices = m.choices
    m.restore(frame)
    m.via, m.origin = via, origin
    m.choices = choices
    settle(state)
    for left in m.returns.pop():
        left.dead = False
        state.join(left)
    m.loops = around_loops
    m.calls.pop()
    for variable, before in (state.saved or {}).items():
        state.own()
        if before == ():
            state.vars.pop(variable, None)
        else:
            state.vars[variable] = before
    state.params, state.saved = params, saved
    state.came_from("@", given)


def _note_recursion(m: Machine, entry: Call, state: State) -> None:
    """A function that starts itself in the background, or twice in a pipe, fills the machine."""
    if m.background > entry.background or m.pipes > entry.pipes:
        entry.sites.add(m.here)
    if len(entry.sites) > 1 or m.background > entry.background:
        m.emit(("fork-bomb",), state, builtin=True, label=f"{entry.name}()")


PORTS = Ports(
    node=run_node,
    body=run_body,
    condition=run_condition,
    subshell=run_subshell,
    substitute=substitute,
    process=process,
    run_text=run_text,
    call=call,
    run_program=run_program,
    run_inner=run_inner,
)
