"""Owns simple commands: words, assignments, redirections in force, aliases; and substitutions in their words.

Starting the program is left to `starting`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.shell import assignments, expand
from chrono.scan.shell.builtins import GLOBAL_ALIAS
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.redirects import NO_STREAMS, Streams, expand_redirects, keep_open
from chrono.scan.shell.starting import run_program, runs_here
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.syntax import Process, Redirected, Simple, Subst, Text, Word
from chrono.scan.shell.values import NUL_BYTE, base_name

# Programs of whose words an empty variable is not the only reading, and those that start them.
DESTROYERS = frozenset(
    ("rm", "shred", "truncate", "unlink", "srm", "dd", "find", "chmod", "chown", "chgrp", "mv", "rsync", "mkfs",
     "mkfs.ext4", "mkfs.xfs", "mkfs.ext3", "mkfs.btrfs", "wipefs", "kubectl", "git", "sudo", "doas", "env", "xargs",
     "timeout", "nice", "nohup", "command", "exec", "eval", "busybox", "bash", "sh", "zsh", "dash", "su", "ssh"),
)  # fmt: skip

_SILENT: tuple[str, ...] = ("",)
"""The output of a command before it has written anything."""


def run_simple(m: Machine, node: Simple, state: State) -> None:
    """One simple command under the choices made so far."""
    m.step()
    m.here = (node.start, node.end)
    m.unset, m.processes, m.sources = [], [], []
    m.outside = False
    m.last_status = 0
    if m.declared:
        m.declared = {}
    argv: list[str] = []
    for word in node.words:
        if word.plain is not None:
            argv.append(word.plain)
        else:
            # A name that is not known may be that of any program.
            m.destroys = base_name(argv[0]) in DESTROYERS if argv else len(node.words) > 1
            argv += expand.fields(m, word, state)
            m.destroys = False
    streams = expand_redirects(m, node.redirs, state) if node.redirs else NO_STREAMS
    if not argv:
        _only_assigns(m, node, state, streams)
    elif not (state.aliases and _alias(m, node, argv, state, streams)):
        if node.assigns or streams is not NO_STREAMS:
            _with_assigns(m, node, tuple(argv), state, streams)
        else:
            m.redirects = m.assigns = ()
            run_program(m, tuple(argv), state, True, True)
    if m.processes:
        _run_processes(m, argv, state)


def _only_assigns(m: Machine, node: Simple, state: State, streams: Streams) -> None:
    """No program: assignments stay, and files named behind `>` are emptied."""
    for assign in node.assigns:
        assignments.assign(m, assign, state)
    m.record_writes(streams.words)
    with_streams(m, streams, state, _nothing)
    state.status = m.last_status


def _nothing() -> None:
    return None


def _with_assigns(m: Machine, node: Simple, argv: Argv, state: State, streams: Streams) -> None:
    """A program with its assignments and redirections in force."""
    m.redirects = streams.words
    m.assigns = ()
    if not node.assigns:
        _run(m, argv, state, streams)
        return
    hidden = {assign.name: state.vars.get(assign.name) for assign in node.assigns}
    here = runs_here(m, argv[0], state)
    scratch = state if here else state.copy()
    collected = m.begin_sources()
    for assign in node.assigns:
        assignments.assign(m, assign, scratch)
    m.end_sources(collected)
    m.sources = collected  # the program's own words were not made of it
    for name in hidden if not here else ():
        if name in scratch.origins:
            state.came_from(name, scratch.origins[name])
    values = ((name, scratch.vars[name][0]) for name in hidden)
    m.assigns = tuple((name, value) for name, value in values if isinstance(value, str))
    _run(m, argv, state, streams)
    if here:
        state.own()
        for name, before in hidden.items():
            if before is None:
                state.vars.pop(name, None)
            else:
                state.vars[name] = before


def _run(m: Machine, argv: Argv, state: State, streams: Streams) -> None:
    if streams is NO_STREAMS:
        run_program(m, argv, state, True, True)
        return
    with_streams(m, streams, state, lambda: run_program(m, argv, state, True, True))
    if argv == ("exec",):
        # From here on.
        keep_open(m, streams, state)
        if streams.has_stdin:
            state.stdin, state.feeds = streams.stdin, streams.feeds
        if streams.sink != "keep" and state.outs is not None:
            state.outs = tuple(out + "\0" for out in state.outs)


def _alias(m: Machine, node: Simple, argv: list[str], state: State, streams: Streams) -> bool:
    """Aliases that the shell expands here: their text takes the word's place. False where there is none."""
    plain = [_unquoted(word) for word in node.words]
    if len(plain) != len(argv):
        plain = [plain[0], *("" for _ in argv[1:])]
    found = [
        name
        for at, name in enumerate(plain)
        if name in state.aliases and (at == 0 or GLOBAL_ALIAS + name in state.options)
    ]
    if not found:
        return False
    name = found[0]
    on = m.dialect != "bash" or "expand_aliases" in state.options
    # Bash reads a line whole before it runs it, so an alias counts from the next line on.
    later = m.line_between(state.aliases[name][1], node.start)
    if not (on and later) and m.pick(f"alias {name}", ("", "expanded"), state) == "":
        # A client may start the shell with aliases on, and hand it the text line by line.
        return False
    values = {other: state.aliases[other][0] for other in found}
    text = " ".join(values.get(word, "") or _as_word(argv[at]) for at, word in enumerate(plain))
    state.own()
    kept = {other: state.aliases.pop(other) for other in values}
    m.redirects = streams.words
    with_streams(m, streams, state, lambda: m.run_text(text, state, label=f"alias {name}"))
    state.own()
    state.aliases = {**kept, **state.aliases}
    return True


def _unquoted(word: Word) -> str:
    """A word that is written out without quotes; empty for others."""
    if len(word.parts) != 1 or not isinstance(word.parts[0], Text) or word.parts[0].quoted:
        return ""
    return word.parts[0].text


def _as_word(value: str) -> str:
    return value if "\0" in value else "'" + value.replace("'", "'\\''") + "'"


def run_redirected(m: Machine, node: Redirected, state: State) -> None:
    """A compound command with redirections of its own."""
    m.here = (node.start, node.end)
    m.processes = []
    streams = expand_redirects(m, node.redirs, state)
    m.record_writes(streams.words)
    with_streams(m, streams, state, lambda: m.node(node.node, state))
    if m.processes:
        _run_processes(m, [], state)


def with_streams(m: Machine, streams: Streams, state: State, run: Callable[[], None]) -> None:
    """Runs with redirections in force; what is written to a file is remembered."""
    if streams is NO_STREAMS:
        run()
        return
    stdin, outs, feeds = state.stdin, state.outs, state.feeds
    if streams.has_stdin:
        state.stdin, state.feeds = streams.stdin, streams.feeds
    if streams.sink != "keep":
        state.outs = ("",) if streams.sink == "file" else None
    mark = len(m.commands)
    for path in streams.opens:
        m.write_file(path, None, state)
    run()
    if streams.sink == "file" and streams.path is not None:
        written = state.outs[0] if state.outs is not None and len(state.outs) == 1 else "\0"
        if streams.path.startswith("/dev/fd/"):
            m.fed[streams.path] = written
        else:
            m.write_file(streams.path, written, state, append=streams.append)
            if "\0" in written:
                m.file_sources[streams.path] = m.argvs_since(mark)
    for after in (state, state.failed):
        if after is not None:
            if streams.sink != "keep":
                after.outs = outs
            if streams.has_stdin:
                after.stdin, after.feeds = stdin, feeds


def substitute(m: Machine, part: Subst, state: State) -> str:
    """`$(…)`: what it writes, alternatives picked from."""
    child = state if part.inline else state.copy()
    outs = state.outs
    child.outs = _SILENT
    child.feeds = ()
    mark = len(m.commands)
    frame = m.save()
    before = m.begin_sources()
    m.choices, m.after, m.redirects, m.assigns = None, "always", (), ()
    text = _file_of(m, part, child)
    if text is not None:
        child.outs = (text,)
    elif part.inline:
        m.body(part.body, child)
    else:
        m.subshell(child, lambda: m.body(part.body, child))
    outside = m.outside
    m.restore(frame)
    m.outside = outside or frame.outside
    m.end_sources(before)
    m.note_sources(m.argvs_since(mark))
    m.last_status = child.status
    written = child.outs or ("\0",)
    if part.inline:
        state.outs = outs
    results = tuple(dict.fromkeys(out.replace(NUL_BYTE, "").rstrip("\n") for out in written))
    return str(m.pick("$(", results, state))


def _file_of(m: Machine, part: Subst, state: State) -> str | None:
    """`$(< file)`."""
    if len(part.body) != 1 or not isinstance(part.body[0].node, Simple):
        return None
    node = part.body[0].node
    if node.words or node.assigns or len(node.redirs) != 1 or node.redirs[0].op != "<":
        return None
    streams = expand_redirects(m, node.redirs, state)
    m.record_writes(streams.words)
    text = streams.stdin
    return "\0" if text is None else text


def process(m: Machine, part: Process, state: State) -> str:
    """`<(…)` and `>(…)`: the name of a file that stands for it."""
    path = f"/dev/fd/{63 - len(m.processes)}"
    m.processes.append((path, part, state.copy()))
    if part.op == "<":
        child = state.copy()
        child.outs = _SILENT
        child.feeds = ()
        mark = len(m.commands)
        frame = m.save()
        before = m.begin_sources()
        m.choices, m.processes, m.after, m.redirects, m.assigns = None, [], "always", (), ()
        m.subshell(child, lambda: m.body(part.body, child))
        m.restore(frame)
        m.end_sources(before)
        m.sources = before
        outs = child.outs or ("\0",)
        m.files[path] = outs[0] if len(outs) == 1 else "\0"
        m.file_sources[path] = m.argvs_since(mark)
    return path


def _run_processes(m: Machine, argv: list[str], state: State) -> None:
    """Programs behind `>(…)`: they read what the command has written to them."""
    waiting, m.processes = m.processes, []
    for path, part, before in waiting:
        if part.op == ">":
            text = m.fed.pop(path, None)
            if text is None and argv[:1] == ["tee"]:
                text = state.stdin
            before.stdin, before.outs = text, None
            m.subshell(before, lambda p=part, s=before: m.body(p.body, s))  # type: ignore[misc]
