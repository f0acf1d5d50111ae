"""Owns the guarded way from a source to what it does: size, limits, and nothing that escapes.

Reading is left to each language's reader, running to `interpret`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import tree
from chrono.scan.code.effects import TooMuch
from chrono.scan.code.interpret import Machine
from chrono.scan.command import Evaluation, Refusal

_SMALL = 60_000


def read_and_run(
    source: str,
    read: Callable[[str], tuple[tree.Node, ...]],
    machine: Machine,
    *,
    telling: tuple[str, ...],
) -> Evaluation:
    """Reads a source and runs it on `machine`; a limit becomes a Refusal. Never raises.

    A source of more than 60 KB is read only if it holds one of the words `telling`.
    """
    effects = machine.effects
    if len(source) > _SMALL and not any(word in source for word in telling):
        return effects.evaluation()
    try:
        machine.run_program(read(source))
    except TooMuch as reached:
        effects.refusals.append(Refusal("limit", f"{effects.name}: {reached}", effects.span))
    except (RecursionError, MemoryError):
        effects.refusals.append(Refusal("limit", f"{effects.name} is nested too deeply", effects.span))
    except Exception as error:
        # A fault of ours must not let code pass unread.
        why = f"{effects.name} could not be read to its end ({type(error).__name__})"
        effects.refusals.append(Refusal("unparsed", why, effects.span))
    return effects.evaluation()
