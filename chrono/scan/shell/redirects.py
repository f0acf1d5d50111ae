"""Owns what redirections do: where output goes, what standard input holds, the values that are recorded.

Files' contents are kept by the interpreter.
"""

from __future__ import annotations

from chrono.scan.command import Redirect
from chrono.scan.shell import expand
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.syntax import Redir
from chrono.scan.shell.values import file_key, resolve, to_word
from chrono.tuples import NamedTuple

_TO_FILE = frozenset((">", ">|", ">>", "&>", "&>>", ">&", "<>"))
_NOWHERE = frozenset(("/dev/null", "/dev/stderr", "/dev/tty", "/dev/fd/2"))
_STDOUT = frozenset(("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))
_STDIN = frozenset(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


class Streams(NamedTuple):
    """The effect of the redirections of one command.

    `sink`: "keep", "drop" or "file" with `path` (absolute, None where unknown) and `append`. `opens`: files that are
    emptied or created whatever the command writes.
    """

    words: tuple[Redirect, ...]
    sink: str
    path: str | None
    append: bool
    opens: tuple[str, ...]
    has_stdin: bool
    stdin: str | None
    feeds: tuple[Argv, ...]


NO_STREAMS = Streams((), "keep", None, False, (), False, None, ())


def expand_redirects(m: Machine, redirs: tuple[Redir, ...], state: State) -> Streams:
    """Expands the targets and works out what they mean."""
    if not redirs:
        return NO_STREAMS
    words: list[Redirect] = []
    sink, path, append = "keep", None, False
    opens: list[str] = []
    has_stdin, stdin = False, None
    feeds: tuple[Argv, ...] = ()
    for redir in redirs:
        target = _target(m, redir, state)
        op = redir.op
        words.append(Redirect("<<" if op == "<<-" else op, redir.fd, to_word(target)))
        if op in ("<<", "<<-", "<<<"):
            if redir.fd in (None, 0):
                has_stdin, stdin = True, target
                feeds = ()
        elif op in ("<", "<&"):
            if redir.fd in (None, 0) and redir.variable is None:
                before = m.begin_sources()
                has_stdin, stdin = True, _input(m, op, target, state)
                feeds = m.end_sources(before)
        elif op in _TO_FILE and redir.variable is not None:
            # `{fd}>file`: a number from 10 on, which stays open after the command.
            number = str(10 + len(m.descriptors))
            m.descriptors[number] = file_key(state.cwds[0], target)
            state.set(redir.variable, number)
        elif op in _TO_FILE:
            both = op in ("&>", "&>>") or (op == ">&" and not _is_descriptor(target))
            if redir.fd in (None, 1) or both:
                sink, path = _output(m, op, target, state)
                append = op in (">>", "&>>", ">&")
            elif op != ">&":
                side = resolve(state.cwds[0], target)
                if side is not None and not side.startswith("/dev/"):
                    opens.append(side)
    return Streams(tuple(words), sink, path, append, tuple(opens), has_stdin, stdin, feeds)


def _target(m: Machine, redir: Redir, state: State) -> str:
    if redir.heredoc is not None:
        body = redir.heredoc.body
        return "" if body is None else expand.text(m, body, state)
    target = expand.text(m, redir.target, state)
    return target + "\n" if redir.op == "<<<" else target


def _is_descriptor(target: str) -> bool:
    return target == "-" or target.rstrip("-").isdecimal()


def _input(m: Machine, op: str, target: str, state: State) -> str | None:
    if op == "<&":
        return state.stdin if target == "0" else "" if target == "-" else None
    if target in _STDIN:
        return state.stdin
    if target == "/dev/null":
        return ""
    return m.read_file(target, state)


def keep_open(m: Machine, streams: Streams, state: State) -> None:
    """`exec 3>file`: what is written to the descriptor from here on goes into the file."""
    for op, fd, target in streams.words:
        if op in _TO_FILE and fd is not None and fd > 2 and isinstance(target, str) and not _is_descriptor(target):
            m.descriptors[str(fd)] = file_key(state.cwds[0], target)
            if op in (">", ">|"):
                m.write_file(target, "", state)


def _output(m: Machine, op: str, target: str, state: State) -> tuple[str, str | None]:
    if op == ">&" and target in m.descriptors:
        return "file", m.descriptors[target]
    if op == ">&" and _is_descriptor(target):
        return ("keep" if target in ("1", "1-") else "drop"), None
    if target in _STDOUT:
        return "keep", None
    if target in _NOWHERE:
        return "drop", None
    if target.startswith("/dev/fd/"):
        return "file", target
    return "file", file_key(state.cwds[0], target)
