"""Owns walking cmd.exe text: lines in order, both branches of `if`, loops unrolled, labels called, programs started.

Splitting is left to `parser`, the shell's own commands to `internal`.
"""

from __future__ import annotations

import re

from chrono.scan.command import Redirect as Redirected
from chrono.scan.shell.cmdexe.expansion import percent
from chrono.scan.shell.cmdexe.internal import INTERNAL, run_internal
from chrono.scan.shell.cmdexe.machine import MAX_CALLS, Machine
from chrono.scan.shell.cmdexe.parser import (
    For,
    Group,
    If,
    Joined,
    Label,
    Parser,
    Redirect,
    Simple,
    TooMuch,
    logical_line,
    words_of,
)
from chrono.scan.shell.values import join_text, to_word
from chrono.scan.wintouch import below

MAX_UNROLLED = 24
_NAME = re.compile(r'\s*((?:"[^"]*"?|[^\s",;=/])+(?:/[^\s",;=/]+)*/?|/[^\s",;=]*)')
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
                m.write(redirect.target, _output(node, m), redirect.op == ">>")
    elif isinstance(node, If):
        _if(m, node, base)
    elif isinstance(node, For):
        _for(m, node, base)
    elif isinstance(node, Label):
        return


def _joined(m: Machine, node: Joined, base: int | None) -> None:
    if node.op == "|":
        before, stdin = m.upstream, m.stdin
        count = len(m.commands)
        run(m, node.left, base)
        m.stdin = _output(node.left, m)
        feeds = tuple(command.argv for command in m.commands[count:] if command.via == m.via)
        m.upstream = (*before, *feeds)
        run(m, node.right, base)
        m.upstream, m.stdin = before, stdin
        return
    run(m, node.left, base)
    after = m.after
    m.after = {"&&": "success", "||": "failure"}.get(node.op, after)
    run(m, node.right, base)
    m.after = after


def _output(node: object, m: Machine) -> str:
    """What the left of a pipe writes: the text of an `echo`, else unknown."""
    if isinstance(node, Simple):
        text = m.expand(node.text)
        if text[:5].lower() in ("echo ", "echo.", "echo("):
            return text[5:] + "\n"
    if isinstance(node, Group) and all(isinstance(inner, Simple) for inner in node.body):
        return "".join(_output(inner, m) for inner in node.body)
    return "\0"


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
    text = m.expand(node.text).strip()
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
    if "/" not in program and m.cwd and "\0" not in m.cwd:
        # cmd.exe looks into the folder first.
        for ending in ("", *_SCRIPTS) if base.endswith(_SCRIPTS) else _SCRIPTS:
            path = f"{m.cwd}/{program}{ending}"
            if path in m.files or m.world.lstat(path) is not None:
                program = f"./{program}{ending}"
                break
    words = _program_words(rest)
    if base == "subst" and len(words) > 1:
        m.link(words[0], words[1])
    m.emit([program, *words], builtin=False, redirects=redirects, via=via)


def _program_words(text: str) -> list[str]:
    """The arguments as a program's own start-up code splits them: `\\"` is a quote that holds nothing together."""
    words: list[str] = []
    word: list[str] = []
    quoted = had = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and text[at + 1 : at + 2] == '"':
            word.append('"')
            had = True
            at += 2
            continue
        if char == '"':
            quoted = not quoted
            had = True
        elif char in " \t\r\n" and not quoted:
            if word or had:
                words.append("".join(word))
            word, had = [], False
        else:
            word.append(char)
        at += 1
    if word or had:
        words.append("".join(word))
    return words


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
            raise TooMuch(f"labels call labels more than {MAX_CALLS} deep")
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
    kept = dict(m.loops)
    for value in _values(m, node)[:MAX_UNROLLED]:
        m.step()
        m.loops[node.variable] = value
        for at, letter in enumerate("jklmnop" if node.variable == "i" else _following(node.variable)):
            if node.mode == "f" and at < 4:
                m.loops.setdefault(letter, "\0")
        run(m, node.body, base)
        m.loops = dict(kept)


def _following(letter: str) -> str:
    return "".join(chr(ord(letter) + step) for step in range(1, 5)) if letter.isalpha() and letter < "w" else ""


def _values(m: Machine, node: For) -> list[str]:
    source = m.expand(node.source)
    if node.mode == "l":
        return _counted(source)
    if "f" in node.mode:
        return _lines(m, node, source)
    words = words_of(source, signs=",;=")
    if "r" in node.mode:
        folder = words_of(m.expand(node.options))[:1] or ["."]
        return [
            "".join("\0" if p is None else p for p in _pieces(below(folder[0].rstrip("\\/"), word))) for word in words
        ]
    if len(words) > MAX_UNROLLED:
        return [join_text(words[:64]) if len(words) <= 64 else "\0"]
    return words


def _pieces(word: object) -> tuple[str | None, ...]:
    return (word,) if isinstance(word, str) else tuple(getattr(word, "pieces", (None,)))


def _counted(source: str) -> list[str]:
    try:
        first, step, last = (int(part) for part in words_of(source, signs=",;="))
    except ValueError:
        return ["\0"]
    if step == 0:
        return ["\0"]
    found = range(first, last + (1 if step > 0 else -1), step)
    return [str(number) for number in found] if len(found) <= MAX_UNROLLED else ["\0"]


def _lines(m: Machine, node: For, source: str) -> list[str]:
    """What `for /f` goes through: the output of a command, a string, or lines of files."""
    back = "usebackq" in node.options.lower()
    quote = source[:1]
    if (quote == "'" and not back) or (quote == "`" and back):
        text = source[1:-1] if source[-1:] == quote and len(source) > 1 else source[1:]
        count = len(m.commands)
        for inner in Parser(percent(text, m.value, m.args)).line():
            run(m, inner)
        return _listed(m, count)
    if (quote == '"' and not back) or (quote == "'" and back):
        words = words_of(source.strip("\"'"))
        return ([source.strip("\"'")] if "delims=" in node.options.lower() else words[:1]) or [""]
    path = m.absolute(source)
    text_of_file = m.files.get(path) if path else None
    if text_of_file is not None:
        return [line for line in text_of_file.splitlines() if line.strip()][:MAX_UNROLLED]
    return ["\0"]


def _listed(m: Machine, count: int) -> list[str]:
    """The names that a listing command puts out, as a pattern."""
    for command in m.commands[count:]:
        argv = [word if isinstance(word, str) else "\0" for word in command.argv]
        if argv[0].lower() != "dir":
            continue
        options = "".join(word.lower() for word in argv[1:] if word.startswith("/"))
        words = [word for word in argv[1:] if not word.startswith("/")] or ["."]
        found: list[str] = []
        for word in words:
            plain = word.replace("\\", "/")
            above, sign, last = plain.rpartition("/")
            if "*" not in last and "?" not in last:
                above, sign, last = plain.rstrip("/"), "/", "*"
            if "/s" in options:
                found.append("".join("\0" if p is None else p for p in _pieces(below(above if sign else ".", last))))
            else:
                # `dir /b` puts out bare names.
                found.append(last)
        return found
    return ["\0"]
