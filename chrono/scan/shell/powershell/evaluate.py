"""Owns the door of this room: PowerShell text in, the commands that it can run out. Never raises.

The tree is read by `parser`, walked by `interpret`. specs: scanner section 4.
"""

from __future__ import annotations

from chrono.scan.command import Evaluation, LimitReached, Refusal, Unparsed, Word
from chrono.scan.shell.powershell.calls import run_call
from chrono.scan.shell.powershell.cmdlets import Given
from chrono.scan.shell.powershell.interpret import run_block, run_body
from chrono.scan.shell.powershell.library import method
from chrono.scan.shell.powershell.machine import MAX_EVALS, Machine, Ports
from chrono.scan.shell.powershell.parser import parse
from chrono.scan.shell.powershell.syntax import Block, Params
from chrono.scan.shell.powershell.values import Unknown, Value, fed, feeds_of, text_of
from chrono.scan.shell.values import from_word
from chrono.scan.world import World


def _command(m: Machine, nodes: list[object], piped: tuple[Value, ...] | None) -> list[Value]:
    return run_call(m, nodes[0], piped)  # type: ignore[arg-type]


def _text(m: Machine, value: Value, label: str) -> list[Value]:
    """Runs a text that the text itself has made (`iex`)."""
    text = text_of(value)
    if not text.strip().strip("\0"):
        return [Unknown(feeds_of(value))]
    m.evals += 1
    via = m.via
    if m.evals > MAX_EVALS:
        m.evals -= 1
        raise LimitReached(f"text runs text more than {MAX_EVALS} deep")
    m.via = (*via, label)
    outer, m.outer = m.outer, m.outer or m.here
    try:
        body = parse(text)
        return run_body(m, body)
    except Unparsed as error:
        if "\0" not in text:
            m.refuse("unparsed", f"a text that it runs is not understood: {error.why}")
        return [Unknown(feeds_of(value))]
    finally:
        m.evals -= 1
        m.via, m.outer = via, outer


PORTS = Ports(run_body, run_block, _command, _text, method)


def evaluate_powershell(
    text: str,
    world: World,
    *,
    args: tuple[Word, ...] = (),
    cwd: str | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] | None = None,
) -> Evaluation:
    """The commands that a PowerShell text can run.

    `args` are the arguments of a script, `cwd` its folder (the world's where None), `via` the chain that every
    command's own chain continues, `span` the offsets to report for a text that is not the outermost one. What is not
    understood is a Refusal "unparsed", a limit that is reached a Refusal "limit".
    """
    whole = span or (0, len(text))
    folder = (cwd or world.cwd).replace("\\", "/")
    machine = Machine(world, PORTS, via, span, folder)
    try:
        body = parse(text)
        _set_arguments(machine, body, args)
        run_body(machine, body)
    except Unparsed as error:
        at = whole if span else (min(error.at, len(text)), min(error.at + 1, len(text)))
        machine.refusals.append(Refusal("unparsed", error.why, at))
    except LimitReached as error:
        machine.refusals.append(Refusal("limit", error.why, whole))
    except (RecursionError, MemoryError):
        machine.refusals.append(Refusal("limit", "it is nested too deeply to be checked", whole))
    except Exception as error:
        why = f"it could not be evaluated ({type(error).__name__})"
        machine.refusals.append(Refusal("unparsed", why, whole))
    commands = tuple(dict.fromkeys(machine.commands))
    return Evaluation(
        commands,
        tuple(dict.fromkeys(machine.refusals)),
        tuple(dict.fromkeys(machine.writes)),
        tuple(machine.files.items()),
    )


def _set_arguments(m: Machine, body: tuple[object, ...], args: tuple[Word, ...]) -> None:
    """What a script's own `param` block, or `$args`, gets."""
    given: list[Value | Given] = []
    for word in args:
        text = from_word(word)
        if text[:1] == "-" and text[1:2].isalpha():
            name, colon, value = text[1:].partition(":")
            given.append(Given(name, value or None, bool(colon), text))
        else:
            given.append(fed(text, ()))
    params = next((statement for statement in body if isinstance(statement, Params)), None)
    if params is None:
        m.variables["args"] = tuple(value for value in given if not isinstance(value, Given))
        return
    from chrono.scan.shell.powershell.interpret import set_parameters

    if given:
        set_parameters(m, Block((), params.params), tuple(given))
        for name, default in params.params:
            if default is not None and m.variables.get(name) is None:
                m.variables.pop(name, None)
