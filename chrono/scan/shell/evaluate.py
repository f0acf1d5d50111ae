"""Owns the door of this room: shell text in, the commands it can run out.

The tree is read by `parser`, walked by `interpret`. specs: scanner sections 2 and 3.
"""

from __future__ import annotations

from chrono.scan.command import Evaluation, LimitReached, Refusal, Word
from chrono.scan.shell.builtins import BUILTINS
from chrono.scan.shell.interpret import PORTS
from chrono.scan.shell.lexer import MAX_TEXT_CHARS
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.origin import origin_of
from chrono.scan.shell.parser import parse
from chrono.scan.shell.plain import plain_command
from chrono.scan.shell.shells import dialects_of
from chrono.scan.shell.starting import run_program, run_traps
from chrono.scan.shell.state import State
from chrono.scan.shell.values import clean, from_word
from chrono.scan.world import World


def evaluate(
    text: str,
    world: World,
    *,
    dialect: str = "bash",
    args: tuple[Word, ...] = (),
    argv0: str = "bash",
    env: tuple[tuple[str, str], ...] = (),
    cwd: str | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] | None = None,
    lines: bool = False,
    stdin: Word | None = None,
    feeds: tuple[tuple[Word, ...], ...] = (),
) -> Evaluation:
    """The commands that a shell text can run, with the words they get.

    - `dialect`: "bash", "sh" (dash or bash: both are looked at where they differ) or "zsh" (zsh and bash).
    - `args`, `argv0`: `$1…` and `$0`. `env`: variables set besides the world's environment; both are exported.
    - `stdin`, `feeds`: the text on its standard input where known, and the programs that it comes from.
    - `cwd`: absolute, the world's where None. `via`: the chain that every command's own chain continues.
    - `span`: offsets to report for everything, for a text that is not the outermost one. `lines`: it is a file that
      the last link of `via` names; the line is added there.

    Never raises: what is not understood is a Refusal "unparsed", a limit "limit", a NUL "nul", an error of its own
    "error".
    """
    whole = span or (0, len(text))
    if "\0" in text:
        return Evaluation((), (Refusal("nul", "the text holds a NUL character", whole),))
    if len(text) > MAX_TEXT_CHARS:
        return Evaluation((), (Refusal("limit", "the text is longer than 1 MB", whole),))
    text = clean(text)
    environment = world.env
    if env:
        variables = dict(env)

        def environment(name: str) -> str | None:
            found = variables.get(name)
            return found if found is not None else world.env(name)

    runs = []
    for one in dialects_of(dialect, text):
        machine = Machine(world, PORTS, one, argv0, environment, via)
        state = State(environment, cwd or world.cwd)
        state.params = tuple(map(from_word, args))
        state.stdin = None if stdin is None else from_word(stdin)
        if feeds:
            state.feeds = tuple([tuple(map(from_word, feed)) for feed in feeds])
        if env:
            state.vars = {name: (value,) for name, value in env}
            state.exported = frozenset(state.vars)
        if lines and span is not None and via:
            machine.origin = origin_of(text, len(via) - 1, span)
        runs.append(_run(machine, state, text, span, whole))
    return runs[0] if len(runs) == 1 else _union(runs)


def _run(m: Machine, state: State, text: str, span: tuple[int, int] | None, whole: tuple[int, int]) -> Evaluation:
    try:
        m.source = text if span is None else ""
        fixed = span if m.origin is None else None
        plain = plain_command(text, m.dialect)
        if plain is not None and plain.argv[0] not in BUILTINS:
            # What the way through the grammar comes to; a test compares the two.
            m.step()
            m.here = fixed or (plain.start, plain.end)
            run_program(m, plain.argv, state, False, False)
        else:
            _run_grammar(m, state, text, span, fixed, whole)
    except LimitReached as reached:
        m.refuse(Refusal("limit", reached.why, whole))
    except (RecursionError, MemoryError):
        m.refuse(Refusal("limit", "the text is nested too deeply", whole))
    except Exception as failure:
        m.refuse(Refusal("error", f"it could not be evaluated ({type(failure).__name__}: {failure})", whole))
    commands = tuple(dict.fromkeys(m.commands)) if len(m.commands) > 1 else tuple(m.commands)
    writes = tuple(dict.fromkeys(m.writes)) if m.writes else ()
    files = _known_files(m) if m.files else ()
    return Evaluation(commands, tuple(m.refusals), writes, files, tuple(m.copies.items()))


def _run_grammar(
    m: Machine,
    state: State,
    text: str,
    span: tuple[int, int] | None,
    fixed: tuple[int, int] | None,
    whole: tuple[int, int],
) -> None:
    parsed = parse(text, m.dialect, m.budget, fixed)
    m.here = whole
    m.subshell(state, lambda: m.body(parsed.body, state))
    m.here = whole
    run_traps(m, state)
    if parsed.fault is not None:
        at = (parsed.fault.at, parsed.fault.at) if span is None else span
        m.refuse(Refusal("unparsed", parsed.fault.why, at))


def _known_files(m: Machine) -> tuple[tuple[str, str], ...]:
    """The files that the text has written, those whose names and contents are known."""
    return tuple(
        (path, content)
        for path, content in m.files.items()
        if content is not None and "\0" not in content and "\0" not in path and _is_file(path)
    )


def _is_file(path: str) -> bool:
    """Whether a file of this name, or a substitution (`<(…)`) that stands for one, can be read again."""
    return not path.startswith("/dev/") or path.startswith("/dev/fd/")


def _union(runs: list[Evaluation]) -> Evaluation:
    """All commands of all dialects; a text that one of them understands is understood."""
    commands = dict.fromkeys(command for run in runs for command in run.commands)
    writes = dict.fromkeys(write for run in runs for write in run.writes)
    files = dict.fromkeys(file for run in runs for file in run.files)
    understood = any(all(refusal.kind != "unparsed" for refusal in run.refusals) for run in runs)
    refusals = dict.fromkeys(
        refusal for run in runs for refusal in run.refusals if not understood or refusal.kind != "unparsed"
    )
    copies = dict.fromkeys(copy for run in runs for copy in run.copies)
    return Evaluation(tuple(commands), tuple(refusals), tuple(writes), tuple(files), tuple(copies))
