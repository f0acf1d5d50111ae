"""Owns the door for Perl: what a source does when it is run, as commands.

Reading the language is left to `perl_reader`, what functions do to `perl_library`.
"""

from __future__ import annotations

from chrono.scan.code.arguments import argument_values
from chrono.scan.code.effects import Effects
from chrono.scan.code.interpret import Machine
from chrono.scan.code.perl_library import PerlLibrary
from chrono.scan.code.perl_reader import read_perl
from chrono.scan.code.reading import read_and_run
from chrono.scan.command import Evaluation, Word
from chrono.scan.world import World

_TELLING = (
    "unlink",
    "rmdir",
    "tree",
    "system",
    "exec",
    "`",
    "qx",
    "eval",
    "open",
    "rename",
    "move",
    "Socket",
    "do",
)


def commands_of_perl(
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...] = (),
    cwd: Word | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] = (0, 0),
) -> Evaluation:
    """What Perl does when it is run as a program; as `languages.commands_of`."""
    effects = Effects(world, name=name, cwd=world.cwd if cwd is None else cwd, via=via, span=span)
    machine = Machine(PerlLibrary(), effects, argument_values(name, args))
    return read_and_run(source, read_perl, machine, telling=_TELLING)
