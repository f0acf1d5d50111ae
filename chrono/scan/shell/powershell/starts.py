"""Owns starting programs that are not PowerShell's own: what they get, what they start in turn.

Script files and inline code for interpreters are left to the followers, Windows' own launchers to `shell.windows`.
"""

from __future__ import annotations

import re

from chrono.scan.command import Redirect, Word
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.values import Closure, Thing, Unknown, Value, concat, fed, feeds_of, text_of
from chrono.scan.shell.values import to_word
from chrono.scan.shell.windows import program_of, started_by
from chrono.scan.shell.windows_host import argv_of_line

OWN_PROCESS = "started"
"""Stands for the number of a process that the text itself has started."""


def script_text(m: Machine, name: str) -> str | None:
    """The text of a PowerShell script that a command names by its path, None where it is not to be had."""
    lower = name.lower()
    if not lower.endswith((".ps1", ".psm1")):
        return None
    return m.known_file(m.path(name))


def run_native(
    m: Machine,
    name: str,
    words: list[Value],
    piped: tuple[Value, ...] | None,
    redirects: tuple[Redirect, ...] = (),
    *,
    via: tuple[str, ...] = (),
) -> list[Value]:
    """Reports a program and what it starts."""
    program = name.replace("\\", "/")
    if "/?" in words:
        m.emit(["help", program], builtin=True)
        return [Unknown()]
    if program_of(program) == "cmd":
        words = [_with_environment(m, word) for word in words]
    stdin = _stdin(piped)
    feeds = tuple(f for value in words for f in (*feeds_of(value), *m.sources_of(value)))
    made = m.sources_of(program)
    if made:
        # A file that holds what came from outside: running it is running that.
        m.emit(["Invoke-Expression", "\0"], builtin=True, feeds=made)
    argv = m.emit([program, *map(_path_word, words)], stdin=stdin, redirects=redirects, feeds=feeds, via=via)
    for inner in started_by(argv, m.world, cwd=m.cwd, via=(*m.via, *via), span=m.here):
        m.commands.append(inner._replace(upstream=tuple(dict.fromkeys((*inner.upstream, *m.upstream))), after=m.after))
    if words[:1] == ["ls-files"] and program == "git":
        # Files of the work tree, whichever they are.
        return [fed("./\0", (argv,))]
    return [Unknown((argv,))]


def run_given(m: Machine, values: tuple[Value, ...]) -> None:
    """Blocks that are given to a command which is not known to leave them alone: it may run them."""
    for value in values:
        for item in value if type(value) is tuple else (value,):
            if isinstance(item, Closure):
                m.ports.block(m, item.block, (Unknown(),), (Unknown(),))


def _with_environment(m: Machine, word: Value) -> Value:
    """`%NAME%` in what cmd.exe gets, where the text itself has set the variable."""
    if not isinstance(word, str) or "%" not in word:
        return word
    for name, value in m.variables.items():
        if name.startswith("env:"):
            parts = re.split(f"%{re.escape(name[4:])}%", word, flags=re.I)
            if len(parts) > 1:
                word = concat([piece for part in parts for piece in (text_of(value), part)][1:])
    return word


def _path_word(value: Value) -> Value:
    return value.name if isinstance(value, Thing) and value.kind == "item" else value


def _stdin(piped: tuple[Value, ...] | None) -> Word | None:
    if piped is None:
        return None
    text = concat([text_of(piped[0]), *(f"\n{text_of(v)}" for v in piped[1:200])]) if piped else ""
    return to_word(text)


def run_line(m: Machine, program: Value, arguments: Value, via: str, cwd: str | None = None) -> list[Value]:
    """Starts a program with its arguments in one text or in a list, as `Start-Process` and .NET do."""
    words: list[Value] = []
    if type(arguments) is tuple:
        for item in arguments:
            words.extend(argv_of_line(text_of(item)) if " " in text_of(item) and text_of(item)[:1] in "-/" else [item])
    elif arguments is not None:
        words.extend(argv_of_line(text_of(arguments)))
    name = text_of(program)
    folder = m.cwd
    if cwd is not None:
        m.cwd = m.absolute(cwd) or "\0"
    try:
        if "\0" in name:
            argv = m.emit([program, *words], via=(via,))
            return [Unknown((argv,))]
        if name.lower().endswith((".lnk", ".url")):
            return []
        return run_native(m, name, words, None, via=(via,))
    finally:
        m.cwd = folder
