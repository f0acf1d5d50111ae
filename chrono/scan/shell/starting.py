"""Owns starting one program: builtin, function, shell, wrapper or plain; each is reported and what it runs is run.

The way to it is left to `interpret`; which programs start which is told by `shells`, `wrappers` and `sinks`.
"""

from __future__ import annotations

from chrono.scan.command import Glob, LimitReached
from chrono.scan.expression import expression
from chrono.scan.shell import effects, sinks, wrappers
from chrono.scan.shell.builtins import BUILTINS, NOT_DASH, ZSH_ONLY
from chrono.scan.shell.globbing import matching_files
from chrono.scan.shell.machine import Inner, Machine
from chrono.scan.shell.shells import SHELLS, ShellCall, dialects_of, read_call
from chrono.scan.shell.state import UNKNOWN_STATUS, Argv, State, settle
from chrono.scan.shell.values import MANY_FIELDS, base_name

MAX_CHAIN = 30

# Programs that run what they are given as code: what feeds their words counts as feeding them.
_RUNNERS = frozenset(
    ("eval", "source", ".", "python", "python3", "perl", "ruby", "node", "php", "ssh", "su", "env", "sudo",
     "xargs", *SHELLS),
)  # fmt: skip

# Programs that send their words, or what a socket gets from them, to other machines; and those that end or delete
# what their words name, which is known by who found it.
_SENDERS = frozenset(
    ("curl", "wget", "http", "https", "xh", "nc", "ncat", "netcat", "telnet", "socat", "openssl", "dig", "nslookup",
     "host", "drill", "ping", "whois", "mail", "sendmail", "mailx", "mutt", "gh", "glab", "kill", "rm", "unlink",
     "shred", "truncate", "docker", "podman", "nerdctl", "git", "helm",
     "echo", "printf"),
)  # fmt: skip


def runs_here(m: Machine, name: str, state: State) -> bool:
    """Whether the shell itself runs it, so that assignments in front of it are seen by it."""
    return name in state.funcs or _builtin(m, name, state)


def _builtin(m: Machine, name: str, state: State) -> bool:
    if name not in BUILTINS:
        return False
    if m.dialect == "dash" and (name in NOT_DASH or name in ZSH_ONLY):
        return False
    if m.dialect == "bash" and name in ZSH_ONLY:
        return False
    return f"enable -n {name}" not in state.options


def run_program(m: Machine, argv: Argv, state: State, functions: bool, builtins: bool) -> None:
    """Runs one command whose words are known. Never with an empty `argv`."""
    name = argv[0]
    if m.dialect == "zsh" and any(word[:1] == "=" for word in argv):
        # `=rm` is the path of rm, wherever it stands.
        name = name[1:] if name[:1] == "=" and len(name) > 1 else name
        argv = (name, *("\0" if word[:1] == "=" and word[1:2].isalnum() else word for word in argv[1:]))
    if functions and name in state.funcs:
        m.ports.call(m, name, argv, state)
        return
    if builtins and _builtin(m, name, state):
        _emit(m, argv, state, builtin=True)
        BUILTINS[name](m, argv, state)
        return
    if isinstance(name, Glob):
        matched = matching_files(name, state.cwds[0], m.world)
        if matched:
            # As a command of its own the first is run with the others as arguments; in a loop each is run.
            for other in matched[1:]:
                _emit(m, (other, *argv[1:]), state)
            argv = (*matched, *argv[1:])
    _emit(m, argv, state)
    _start(m, argv, state)
    if name == MANY_FIELDS and len(argv) > 1 and argv[1][:1] not in ("\0", "-", ""):
        # The unknown words in front may be none, or a wrapper.
        run_program(m, argv[1:], state, False, False)


def _emit(m: Machine, argv: Argv, state: State, *, builtin: bool = False) -> None:
    """Reports a command. For one that runs code, what its words or its script were made of counts as feeding it."""
    if not m.sources and not m.file_sources:
        m.emit(argv, state, builtin=builtin)
        return
    name = base_name(argv[0])
    sources: list[Argv] = list(m.sources) if name in _RUNNERS or name in _SENDERS else []
    if m.file_sources and (name in _RUNNERS or "/" in argv[0]):
        for word in argv:
            sources += m.file_sources.get(m.key_of(word, state) or "", ())
    if not sources:
        m.emit(argv, state, builtin=builtin)
        return
    feeds = state.feeds
    state.feeds = tuple(dict.fromkeys((*feeds, *sources)))
    m.emit(argv, state, builtin=builtin)
    state.feeds = feeds


def _start(m: Machine, argv: Argv, state: State) -> None:
    name = base_name(argv[0])
    if m.assigns:
        for inner in sinks.of_variables(m.assigns):
            side = state.copy()
            side.outs = None
            run_inner(m, inner, side)
    if name in SHELLS:
        _shell(m, name, argv, state)
        return
    wrapped = False
    for inner in wrappers.peel(name, argv, state):
        run_inner(m, inner, state)
        wrapped = True
    for inner in sinks.hidden(name, argv, state) if name in sinks.HANDING_ON else ():
        side = state.copy()
        side.outs = None
        run_inner(m, inner, side)
    if m.files and "/" in argv[0] and "\0" not in argv[0]:
        _own_script(m, argv, state)
    if m.copies and "/" in argv[0] and "\0" not in argv[0]:
        original = m.copies.get(m.key_of(argv[0], state) or "", "")
        if "bin/" in original:  # `cp /bin/rm x; ./x …`: another name for an installed program
            run_inner(m, Inner(argv=(original, *argv[1:]), label=argv[0]), state)
    if state.outs is not None or name in _LEAVING_FILES:
        before = m.begin_sources()
        if state.outs is not None:
            if not wrapped:
                state.write(_output(m, argv, state))
        elif name in _WRITING_ON:
            _output(m, argv, state)
        effects.on_files(m, name, argv, state)
        m.sources = before
    state.status = UNKNOWN_STATUS


_WRITING_ON = frozenset(("tee", "sponge"))
_LEAVING_FILES = effects.PROGRAMS | _WRITING_ON


def _output(m: Machine, argv: Argv, state: State) -> str:
    from chrono.scan.shell.programs import output_of  # most commands' output goes nowhere that matters

    return output_of(m, base_name(argv[0]), argv[1:], state)


def _own_script(m: Machine, argv: Argv, state: State) -> None:
    """A file that the text itself has written and now runs by its path."""
    key = m.key_of(argv[0], state)
    text = m.files.get(key) if key is not None else None
    if text is None:
        return
    first = text.partition("\n")[0]
    words = first[2:].split() if first.startswith("#!") else ["sh"]
    name = base_name(words[0]) if words else ""
    if name == "env" and len(words) > 1:
        name = base_name(words[-1] if words[1].startswith("-") else words[1])
    if name in SHELLS:
        _run_child(m, text, SHELLS[name], argv, state, argv[0])


def _shell(m: Machine, name: str, argv: Argv, state: State) -> None:
    call = read_call(name, argv)
    state.status = UNKNOWN_STATUS
    if call is None:
        state.write("\0")
        return
    for path in call.startup:
        text = m.files.get(m.key_of(path, state) or "")
        if text:
            _run_child(m, text, call.dialect, (name,), state, f"{name} --rcfile")
    text, used = _text_of(m, call, state)
    if text is None or "n" in call.options:
        state.write("\0")
        return
    argv0 = call.args or (name,)
    if call.text is not None and not call.args:
        argv0 = (name,)
    _run_child(m, text, call.dialect, argv0, state, call.label, stdin_used=used)


def _text_of(m: Machine, call: ShellCall, state: State) -> tuple[str | None, bool]:
    """(the text a shell runs, whether it came from its standard input). Files on the machine are left to `follow`."""
    if call.text is not None:
        return call.text, False
    if call.stdin:
        return lines_apart(state.stdin), True
    key = m.key_of(call.file or "", state)
    if key is None:
        return None, False
    if key in m.file_sources:
        m.note_sources(m.file_sources[key])
    return m.files.get(key), False


_GLUED = expression("(^|\n)\0(?=[^\0\n ])")


def lines_apart(text: str | None) -> str | None:
    """What programs write ends with their lines: unknown output is not glued to what the next one writes."""
    return text if text is None or "\0" not in text else _GLUED.sub("\\1\0\n", text)


def _run_child(
    m: Machine, text: str, dialect: str, args: Argv, state: State, label: str, *, stdin_used: bool = False
) -> None:
    """Runs text in a new shell, under each dialect that may read it. `args` begin with `$0`."""
    child = _child(m, state)
    child.params = args[1:]
    if stdin_used:
        child.stdin = ""
    if m.sources:
        child.feeds = state.feeds
    frame = m.save()
    calls, loops, shell, traps = m.calls, m.loops, m.shell_name, m.traps
    m.calls, m.loops, m.shell_name, m.traps = [], [], args[0] if args else m.shell_name, {}
    m.assigns, m.redirects, m.choices, m.after = (), (), None, "always"
    before = m.begin_sources()
    result: State | None = None
    refusals = list(m.refusals)
    heard: list[int] = []
    for one in dialects_of(dialect, text):
        other = child.copy()
        count = len(m.refusals)
        m.subshell(other, lambda s=other, d=one: m.run_text(text, s, dialect=d, label=label))  # type: ignore[misc]
        run_traps(m, other)
        heard.append(len(m.refusals) - count)
        if result is None:
            result = other
        else:
            result.join(other)
    if 0 in heard:
        # One of the dialects understands it; the others would stop with an error.
        m.refusals = [r for r in m.refusals if r in refusals or r.kind != "unparsed"]
    m.end_sources(before)
    m.sources = before
    m.restore(frame)
    m.calls, m.loops, m.shell_name, m.traps = calls, loops, shell, traps
    assert result is not None
    state.outs = result.outs
    state.status = result.status
    if stdin_used and state.stdin is not None:
        state.stdin = ""


def run_traps(m: Machine, state: State) -> None:
    """What `trap` has left to run at the end or on a signal."""
    while m.traps:
        texts, m.traps = dict.fromkeys(m.traps.values()), {}
        for text in texts:
            m.step()
            m.subshell(state, lambda t=text: m.run_text(t, state, label="trap"))  # type: ignore[misc]


def _child(m: Machine, state: State) -> State:
    """The state of a shell started from this one: exported variables and functions, folder and input."""
    child = State(state.environment, state.cwds[0])
    child.cwds = state.cwds
    child.stdin, child.feeds, child.outs = state.stdin, state.feeds, state.outs
    for name in state.exported:
        if name in state.origins:
            child.came_from(name, state.origins[name])
        if name.endswith("()"):
            # Without a name of its own: narrowing the tree's recursive union costs the type checker minutes.
            if name[:-2] in state.funcs:
                child.funcs[name[:-2]] = state.funcs[name[:-2]]
        elif name in state.vars:
            child.vars[name] = state.vars[name]
    for name, values in state.vars.items():
        # What was in the environment stays there when it is assigned.
        if name not in child.vars and state.environment(name) is not None:
            child.vars[name] = values
    for name, value in m.assigns:
        child.vars[name] = (value,)
        child.came_from(name, state.origins.get(name, ()))
    child.exported = frozenset((*state.exported, *child.vars))
    return child


def run_inner(m: Machine, inner: Inner, state: State) -> None:
    """Runs what a wrapper starts."""
    m.step()
    cwds, stdin, via, assigns = state.cwds, state.stdin, m.via, m.assigns
    if inner.label:
        m.via = (*via, inner.label)
    if inner.cwd is not None or inner.remote:
        state.cwds = ("\0",) if inner.remote or inner.cwd is None else (m.key_of(inner.cwd, state) or "\0",)
    if inner.stdin is not None:
        state.stdin = inner.stdin
    m.assigns = (*assigns, *inner.assigns)
    if len(m.via) > m.outer_via + MAX_CHAIN:
        raise LimitReached(f"programs start programs more than {MAX_CHAIN} deep")
    if inner.text is not None:
        m.via = via
        _run_child(m, inner.text, "sh", inner.args or ("sh",), state, inner.label)
        m.via = via
    else:
        run_program(m, inner.argv, state, False, False)
    settle(state)
    m.via, m.assigns = via, assigns
    state.cwds, state.stdin = cwds, stdin
