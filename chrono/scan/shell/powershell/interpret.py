"""Owns walking PowerShell statements: branches are joined, loops unrolled, functions called, pipelines fed.

Values of expressions are left to `evaluation`, what a single command does to `commands`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import LimitReached
from chrono.scan.shell.powershell import operators
from chrono.scan.shell.powershell.evaluation import assign, evaluate
from chrono.scan.shell.powershell.machine import MAX_CALLS, MAX_UNROLLED, Machine
from chrono.scan.shell.powershell.syntax import (
    Assign,
    Block,
    Body,
    Call,
    Foreach,
    Function,
    If,
    Leave,
    Loop,
    Params,
    Pipeline,
    Redirection,
    Switch,
    Try,
)
from chrono.scan.shell.powershell.syntax import (
    Value as ValueElement,
)
from chrono.scan.shell.powershell.values import (
    MAX_ITEMS,
    Choice,
    Thing,
    Unknown,
    Value,
    array_of,
    concat,
    either,
    elements_of,
    feeds_of,
    options_of,
    text_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TURNS = 2_000
MAX_LOOPED = 60
"""Commands after which a loop that goes on is left."""


def run_body(m: Machine, body: tuple[object, ...]) -> list[Value]:
    """Runs statements; answers what they put out."""
    out: list[Value] = []
    for statement in body:
        m.step()
        out.extend(
            _STATEMENTS[type(statement)](m, statement) if type(statement) in _STATEMENTS else _value(m, statement)
        )
        if m.left is not None:
            break
        if len(out) > MAX_ITEMS:
            del out[MAX_ITEMS:]
    return out


def _value(m: Machine, node: object) -> list[Value]:
    found = evaluate(m, node)
    return list(elements_of(found))


def run_block(
    m: Machine, block: Block, args: tuple[Value, ...] = (), piped: tuple[Value, ...] | None = None
) -> list[Value]:
    """Runs a block with `$args`, or with its parameters set, and `$_` for each value of a pipe."""
    m.calls += 1
    if m.calls > MAX_CALLS:
        m.calls -= 1
        raise LimitReached(f"functions call functions more than {MAX_CALLS} deep")
    before = {name: m.variables.get(name) for name, _ in block.params}
    had = {name for name in before if name in m.variables}
    names = ("_", "psitem", "args", "input")
    kept = {name: m.variables[name] for name in names if name in m.variables}
    try:
        set_parameters(m, block, args)
        out: list[Value] = []
        if piped is None:
            out = run_body(m, block.body)
        else:
            m.variables["input"] = piped
            given = _parameter_of_pipe(m, block)
            for item in _turns(piped):
                m.variables["_"] = m.variables["psitem"] = item
                if given is not None:
                    m.variables[given] = item
                out.extend(run_body(m, block.body))
                if m.left in ("break", "return", "continue"):
                    m.left = None
                if m.left is not None:
                    break
        if m.left == "return":
            m.left = None
        return out
    finally:
        m.calls -= 1
        for name, value in before.items():
            if name in had:
                m.variables[name] = value
            else:
                m.variables.pop(name, None)
        for name in names:
            if name in kept:
                m.variables[name] = kept[name]
            else:
                m.variables.pop(name, None)


def _parameter_of_pipe(m: Machine, block: Block) -> str | None:
    """The parameter that takes what comes over a pipe: the first that nothing else gives a value."""
    for name, default in block.params:
        if default is None and m.variables.get(name) is None:
            return name
    return None


def set_parameters(m: Machine, block: Block, args: tuple[Value, ...]) -> None:
    from chrono.scan.shell.powershell.cmdlets import Cmdlet, Given, bind

    if not block.params:
        m.variables["args"] = tuple(a for a in args if not isinstance(a, Given))
        return
    table = Cmdlet("", tuple(name for name, _ in block.params), (), ())
    bound = bind(table, _with_switches(block, list(args)))
    for at, (name, default) in enumerate(block.params):
        if name in bound.values:
            value = bound.values[name]
            if bound.rest and at == len(block.params) - 1:
                value = (value, *bound.rest)
            m.variables[name] = value
        else:
            m.variables[name] = evaluate(m, default) if default is not None else None
    m.variables["args"] = bound.rest


def _with_switches(block: Block, args: list[Value]) -> list[Value]:
    from chrono.scan.shell.powershell.cmdlets import Given

    last = len(args) - 1
    return [
        arg._replace(value=True, attached=True)
        if isinstance(arg, Given) and not arg.attached and (at == last or isinstance(args[at + 1], Given))
        else arg
        for at, arg in enumerate(args)
    ]


def _turns(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values that a loop sees, at most MAX_UNROLLED one by one; more are one value that stands for all."""
    if len(values) <= MAX_UNROLLED or (len(values) <= MAX_TURNS and all(isinstance(v, int | str) for v in values)):
        return values
    joined: Value = values[0]
    for value in values[1:64]:
        joined = either(joined, value)
    return (joined if len(values) <= 64 else Unknown(feeds_of(tuple(values[:64]))),)


# --- statements


def _pipeline(m: Machine, node: Pipeline) -> list[Value]:
    before, after = m.upstream, m.after
    m.after = node.after
    piped: tuple[Value, ...] | None = None
    try:
        for element in node.elements:
            if m.outer is None:
                m.here = element.span  # type: ignore[attr-defined]
            if isinstance(element, ValueElement):
                found = list(elements_of(evaluate(m, element.inner)))
                _redirects(m, element.redirects, found)
            else:
                found = _call(m, element, piped)  # type: ignore[arg-type]
            if element is not node.elements[-1]:
                piped = tuple(found)
                feeds = tuple(f for value in found[:64] for f in feeds_of(value))
                m.upstream = tuple(dict.fromkeys((*m.upstream, *feeds)))
        return found
    finally:
        m.upstream, m.after = before, after


def _redirects(m: Machine, redirects: tuple[Redirection, ...], found: list[Value]) -> None:
    for redirection in redirects:
        target = evaluate(m, redirection.target)
        redirect = m.redirect(redirection.op, redirection.stream, target)
        if redirect is not None:
            m.writes.append((redirect, m.here))
            if redirection.stream in ("1", "*"):
                lines = [piece for value in found[:400] for piece in ("\n", text_of(value))]
                m.write(target, concat(lines[1:]), redirection.op == ">>")


def _call(m: Machine, node: Call, piped: tuple[Value, ...] | None) -> list[Value]:
    m.step()
    return m.ports.command(m, [node], piped)


def _assign(m: Machine, node: Assign) -> list[Value]:
    found = run_body(m, (node.value,))
    value = array_of(found)
    if type(node.value) is Pipeline and len(node.value.elements) == 1:
        element = node.value.elements[0]
        if isinstance(element, ValueElement) and len(found) < 2:
            # `$a = ,1` and `$a = @(1)` stay arrays.
            from chrono.scan.shell.powershell.syntax import Array, Substitution

            inner = element.inner
            if isinstance(inner, Array) or (isinstance(inner, Substitution) and inner.array):
                value = tuple(found)
    if node.op != "=":
        before = evaluate(m, node.target)
        if node.op == "??=":
            value = value if before is None else either(before, value)
        else:
            value = operators.binary(node.op[0], before, value)
    assign(m, node.target, value)
    return []


def _if(m: Machine, node: If) -> list[Value]:
    out: list[Value] = []
    states = []
    open_end = True
    for test, body in node.clauses:
        known = truth(evaluate(m, test))
        if known is False:
            continue
        before = m.snapshot()
        out.extend(_branch(m, body))
        states.append(m.snapshot())
        m.restore(before)
        if known is True:
            open_end = False
            break
    if open_end:
        out.extend(_branch(m, node.otherwise))
    else:
        m.restore(states.pop())
    for state in states:
        m.join(state)
    return out


def _branch(m: Machine, body: tuple[object, ...]) -> list[Value]:
    """Runs a body that may or may not run: leaving it early leaves nothing else."""
    out = run_body(m, body)
    m.left = None
    return out


def _loop(m: Machine, node: Loop) -> list[Value]:
    out: list[Value] = []
    if node.first is not None:
        run_body(m, (node.first,))
    checks_first = node.kind in ("while", "for")
    wants = node.kind != "do until"
    first = len(m.commands)
    for _ in range(MAX_TURNS):
        m.step()
        if checks_first and node.test is not None:
            known = truth(evaluate(m, node.test))
            if known is False:
                return out
            if known is None:
                return out + _once(m, node)
        elif checks_first:
            return out + _once(m, node)
        out.extend(run_body(m, node.body))
        if m.left == "break":
            m.left = None
            return out
        if m.left == "continue":
            m.left = None
        if m.left is not None:
            return out
        if node.step is not None:
            run_body(m, (node.step,))
        if not checks_first:
            known = truth(evaluate(m, node.test))
            if known is None or known != wants:
                return out
        elif len(m.commands) - first > MAX_LOOPED:
            if _starts_without_end(m, first):
                m.emit(["fork-bomb"], builtin=True)
            return out
    return out


_ASIDE = frozenset(("start-process", "start-job", "start-threadjob"))


def _starts_without_end(m: Machine, first: int) -> bool:
    """Whether a loop whose test stays true starts programs beside itself and waits for nothing."""
    names = [command.argv[0].lower() for command in m.commands[first:] if isinstance(command.argv[0], str)]
    waits = "start-sleep" in names or any("-Wait" in command.argv for command in m.commands[first:])
    return not waits and not _ASIDE.isdisjoint(names)


def _once(m: Machine, node: Loop) -> list[Value]:
    """A loop whose number of turns is not known: twice, so that what the first turn sets is seen by the second."""
    before = m.snapshot()
    out = _branch(m, node.body)
    if node.step is not None:
        run_body(m, (node.step,))
    m.join(before)
    count = len(m.commands)
    more = _branch(m, node.body)
    m.join(before)
    if m.commands[count:] == m.commands[max(0, count - (len(m.commands) - count)) : count]:
        del m.commands[count:]
    return out + more[:8]


def _foreach(m: Machine, node: Foreach) -> list[Value]:
    source = array_of(run_body(m, (node.source,)))
    out: list[Value] = []
    before = m.snapshot()
    values: list[Value] = []
    for option in options_of(source):
        values.extend(elements_of(option))
    for item in _turns(tuple(values)):
        m.step()
        m.set(node.name, item)
        out.extend(run_body(m, node.body))
        if m.left == "break":
            m.left = None
            break
        if m.left == "continue":
            m.left = None
        if m.left is not None:
            return out
    if any(isinstance(value, Unknown | Thing | Choice) for value in values):
        m.join(before)
    return out


def _switch(m: Machine, node: Switch) -> list[Value]:
    source = evaluate(m, node.source) if node.source is not None else None
    out: list[Value] = []
    before = m.snapshot()
    hit = False
    kept = m.variables.get("_")
    for value in _turns(elements_of(source)) or (None,):
        m.variables["_"] = value
        for pattern, body in node.clauses:
            known: bool | None = None
            if pattern is None:
                known = False if hit else None
            elif not isinstance(pattern, Block):
                op = {"r": "match", "w": "like"}.get(node.mode[:1], "eq")
                known = truth(operators.binary(op, value, evaluate(m, pattern)))
            if known is False:
                continue
            hit = hit or known is True
            out.extend(_branch(m, body))
    m.variables["_"] = kept
    m.join(before)
    return out


def _try(m: Machine, node: Try) -> list[Value]:
    before = m.snapshot()
    out = run_body(m, node.body)
    left, m.left = m.left, None
    for body in node.catches:
        state = m.snapshot()
        m.join(before)
        out.extend(_branch(m, body))
        m.join(state)
    out.extend(run_body(m, node.last))
    m.left = m.left or (left if left in ("return", "exit") else None)
    return out


def _leave(m: Machine, node: Leave) -> list[Value]:
    out = run_body(m, (node.value,)) if node.value is not None else []
    m.left = "return" if node.kind == "throw" else node.kind
    return out if node.kind == "return" else []


def _function(m: Machine, node: Function) -> list[Value]:
    m.functions[node.name] = node.block
    return []


def _params(m: Machine, node: Params) -> list[Value]:
    for name, default in node.params:
        if name not in m.variables:
            m.variables[name] = evaluate(m, default) if default is not None else Unknown()
    return []


def _named(m: Machine, node: Body) -> list[Value]:
    return _branch(m, node.body) if node.kind == "trap" else run_body(m, node.body)


_STATEMENTS: dict[type, Callable[[Machine, Any], list[Value]]] = {
    Pipeline: _pipeline,
    Assign: _assign,
    If: _if,
    Loop: _loop,
    Foreach: _foreach,
    Switch: _switch,
    Try: _try,
    Leave: _leave,
    Function: _function,
    Params: _params,
    Body: _named,
}
