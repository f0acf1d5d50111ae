"""Owns walking cmd.exe text: lines in order, both branches of `if`, loops unrolled, labels called, programs started.

Splitting is left to `parser`, the shell's own commands to `internal`.
"""

from __future__ import annotations

import re

from chrono.scan.command import LimitReached
from chrono.scan.command import Redirect as Redirected
from chrono.scan.shell.cmdexe.expansion import percent
from chrono.scan.shell.cmdexe.internal import INTERNAL, run_internal
from chrono.scan.shell.cmdexe.loops import MAX_UNROLLED, rows_of
from chrono.scan.shell.cmdexe.machine import MAX_CALLS, Machine
from chrono.scan.shell.cmdexe.output import output_of
from chrono.scan.shell.cmdexe.parser import (
    For,
    Group,
    If,
    Joined,
    Label,
    Parser,
    Redirect,
    Simple,
    logical_line,
)
from chrono.scan.shell.values import join_text, to_word
from chrono.scan.shell.windows_host import argv_of_line, words_of

_NAME = re.compile(r'\s*((?:"[^"]*"?|[^\s",;=/])+(?:/[^\s",;=/]+)*/?|/[^\s",;=]*)')
_ANOTHER = re.compile(r'[\s@("]*(?:[^\s"&|/]*\\)?cmd(?:\.exe)?"?\s*(?:/[a-z:]+\s*)*/[ckr]\b', re.I)
_SCRIPTS = (".bat", ".cmd")


def run_text(m: Machine, text: str, start: int = 0, *, called: bool = False) -> None:
    """Runs the logical lines of a text from an offset; `called`: a label was called, so `exit /b` comes back."""
    at = start
    while at < len(text):
        m.step()
        end = logical_line(text, at)
        line = text[at:end]
        if m.outer is None and not called:
            m.here = (at, end)
        stripped = line.strip()
        if called and re.match(r"@?\s*(?:exit\s+/b|goto\s*:eof)\b", stripped, re.I):
            return
        if stripped:
            base = at
            tree = Parser(percent(line, m.value, m.args)).line()
            for node in tree:
                run(m, node, base if "%" not in line else None)
        at = end


def run(m: Machine, node: object, base: int | None = None) -> None:
    """Runs one part of the tree."""
    m.step()
    if isinstance(node, Simple):
        if m.outer is None and base is not None and m.calls == 0:
            m.here = (base + node.span[0], base + node.span[1])
        _simple(m, node)
    elif isinstance(node, Joined):
        _joined(m, node, base)
    elif isinstance(node, Group):
        for inner in node.body:
            run(m, inner, base)
        for redirect in _redirects(m, node.redirects):
            m.writes.append((redirect, m.here))
            if redirect.op.startswith(">") and isinstance(redirect.target, str):
                m.write(redirect.target, output_of(m, node), redirect.op == ">>")
    elif isinstance(node, If):
        _if(m, node, base)
    elif isinstance(node, For):
        _for(m, node, base)
    elif isinstance(node, Label):
        return


def _joined(m: Machine, node: Joined, base: int | None) -> None:
    if node.op == "|":
        before, stdin, piping = m.upstream, m.stdin, m.piping
        m.piping = True
        count = len(m.commands)
        run(m, node.left, base)
        m.stdin = output_of(m, node.left)
        feeds = tuple(command.argv for command in m.commands[count:] if command.via == m.via)
        m.upstream = (*before, *feeds)
        run(m, node.right, base)
        m.upstream, m.stdin, m.piping = before, stdin, piping
        return
    run(m, node.left, base)
    after = m.after
    m.after = {"&&": "success", "||": "failure"}.get(node.op, after)
    run(m, node.right, base)
    m.after = after


def _redirects(m: Machine, redirects: tuple[Redirect, ...]) -> tuple[Redirected, ...]:
    found: list[Redirected] = []
    for redirect in redirects:
        target = m.expand(redirect.target).replace('"', "")
        if target.lower() in ("nul", "nul:", "con") or not target:
            continue
        found.append(Redirected(redirect.op, redirect.handle, to_word(target.replace("\\", "/"))))
    return tuple(found)


# --- commands


def _simple(m: Machine, node: Simple) -> None:
    # Another cmd.exe looks up itself what this one leaves.
    text = m.expand(node.text, keep=_ANOTHER.match(node.text) is not None).strip()
    redirects = _redirects(m, node.redirects)
    if not text:
        m.writes.extend((redirect, m.here) for redirect in redirects)
        return
    before = m.upstream
    run_command(m, text, redirects)
    m.upstream = before


def run_command(m: Machine, text: str, redirects: tuple[Redirected, ...] = (), via: tuple[str, ...] = ()) -> None:
    """Runs one command whose variables are in place."""
    m.step()
    text = text.lstrip(" \t,;=@(")
    found = _NAME.match(text)
    if found is None:
        return
    written = found.group(1)
    name, rest = written.replace('"', ""), text[found.end() :]
    lower = name.lower()
    if not written.startswith('"'):
        glued = re.match(r"([a-z]+)([/.\\:(\[+]|\\\\).*", lower)
        if (
            glued
            and glued.group(1) in INTERNAL
            and not (
                glued.group(2) == ":"
                or (glued.group(2) == "." and lower != "cd.." and glued.group(1) not in ("echo", "cd", "chdir"))
            )
        ):
            rest = name[len(glued.group(1)) :] + rest
            lower = name = glued.group(1)
    if lower in INTERNAL:
        run_internal(m, lower, rest, redirects, via)
        return
    if lower == "call":
        _call(m, rest.strip(), redirects)
    elif lower == "start":
        _start(m, rest.strip(), redirects)
    elif lower == "goto" or (len(name) == 2 and name[1] == ":"):
        if name[1:2] == ":" and len(name) == 2:
            m.cwd = f"{name}/"
    else:
        _program(m, name, rest, redirects, via)


def _program(m: Machine, name: str, rest: str, redirects: tuple[Redirected, ...], via: tuple[str, ...]) -> None:
    if name == "\0" and m.upstream:
        # A whole line that other commands have put out.
        m.emit(["run-code", "cmd", name], builtin=True, via=via)
    program = name.replace("\\", "/") if "\\" in name else name
    base = program.rpartition("/")[2].lower().removesuffix(".exe")
    glued = re.match(r"(.*?cmd(?:\.exe)?)(/[ckr]\b.*)\Z", program, re.I)
    if glued:
        program, rest, base = glued.group(1), glued.group(2) + rest, "cmd"
    if base == "cmd":
        found = re.match(r"(.*?)/([ckr])(.*)\Z", rest, re.I | re.S)
        if found:
            tail = found.group(3).strip()
            m.emit([program, f"/{found.group(2).lower()}", tail], builtin=False, redirects=redirects, via=via)
            return
    if m.args and (m.piping or "start" in via) and name.lower() == m.args[0].lower():
        m.emit(["fork-bomb"], builtin=True)
    if "/" not in program and m.cwd and "\0" not in m.cwd:
        # cmd.exe looks into the folder first.
        for ending in ("", *_SCRIPTS) if base.endswith(_SCRIPTS) else _SCRIPTS:
            path = f"{m.cwd}/{program}{ending}"
            if path in m.files or m.world.lstat(path) is not None:
                program = f"./{program}{ending}"
                break
    words = argv_of_line(rest)
    if base == "subst" and len(words) > 1:
        m.link(words[0], words[1])
    m.emit([program, *words], builtin=False, redirects=redirects, via=via)


def _call(m: Machine, rest: str, redirects: tuple[Redirected, ...]) -> None:
    if rest.startswith(":"):
        words = words_of(rest[1:])
        label = words[0].lower() if words else ""
        at = m.labels.get(label)
        if at is None or label == "eof":
            return
        m.calls += 1
        if m.calls > MAX_CALLS:
            m.calls -= 1
            raise LimitReached(f"labels call labels more than {MAX_CALLS} deep")
        args = m.args
        m.args = (label, *words[1:])
        try:
            run_text(m, m.source, at, called=True)
        finally:
            m.calls -= 1
            m.args = args
        return
    # `call` looks variables up once more.
    again = m.expand(percent(rest, m.value, m.args))
    run_command(m, again, redirects)


def _start(m: Machine, rest: str, redirects: tuple[Redirected, ...]) -> None:
    """`start ["title"] [/options] command`."""
    if rest.startswith('"'):
        close = rest.find('"', 1)
        rest = rest[close + 1 :].strip() if close > 0 else rest
    while rest.startswith("/"):
        option, _, after = rest.partition(" ")
        if "/" in option[1:]:
            break
        rest = after.strip()
        if option.lower() in ("/d", "/node", "/affinity"):
            words = words_of(rest)
            if option.lower() == "/d" and words:
                m.cwd = m.absolute(words[0]) or "\0"
            rest = re.sub(r'\A("[^"]*"|\S+)\s*', "", rest)
    if rest:
        run_command(m, rest, redirects, ("start",))


# --- branches and loops


def _if(m: Machine, node: If, base: int | None) -> None:
    variables, cwd = dict(m.variables), m.cwd
    run(m, node.yes, base)
    if node.no is None:
        _join(m, variables, cwd)
        return
    then, then_cwd = m.variables, m.cwd
    m.variables, m.cwd = variables, cwd
    run(m, node.no, base)
    _join(m, then, then_cwd)


def _join(m: Machine, variables: dict[str, str], cwd: str) -> None:
    for name in {*variables, *m.variables}:
        one, other = variables.get(name), m.variables.get(name)
        if one == other:
            continue
        if one is None or other is None:
            # Set in one branch only: the value is what matters.
            m.variables[name] = other if one is None and other is not None else (one or "")
        else:
            m.variables[name] = join_text((one, other))
    if cwd != m.cwd:
        m.cwd = "\0"


def _for(m: Machine, node: For, base: int | None) -> None:
    kept, upstream = dict(m.loops), m.upstream
    count = len(m.commands)
    rows = rows_of(m, node, run)
    if "f" in node.mode:
        # What the loop goes through feeds what it runs.
        m.upstream = (*upstream, *(command.argv for command in m.commands[count:]))
    feeds = m.upstream
    for row in rows[:MAX_UNROLLED]:
        m.step()
        m.upstream = feeds
        for at, value in enumerate(row):
            m.loops[_letter(node.variable, at)] = value
        run(m, node.body, base)
        m.loops = dict(kept)
    m.upstream = upstream


def _letter(first: str, step: int) -> str:
    """The variable that takes the token `step` places behind the first one."""
    return chr(ord(first) + step) if step else first
