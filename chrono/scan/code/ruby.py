"""Owns the door for Ruby: what a source does when it is run, as commands.

Reading the language is left to `ruby_reader`, what methods do to `ruby_library`.
"""

from __future__ import annotations

from chrono.scan.code.arguments import argument_values
from chrono.scan.code.effects import Effects
from chrono.scan.code.interpret import Machine
from chrono.scan.code.modules import Modules
from chrono.scan.code.reading import read_and_run
from chrono.scan.code.ruby_library import RubyLibrary
from chrono.scan.code.ruby_reader import read_ruby
from chrono.scan.command import Evaluation, Word
from chrono.scan.world import World

_TELLING = tuple(
    ("rm delete unlink system exec spawn ` %x eval open write move mv Dir send Socket fork remove").split()
)


def commands_of_ruby(
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...] = (),
    cwd: Word | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] = (0, 0),
) -> Evaluation:
    """What Ruby does when it is run as a program; as `languages.commands_of`."""
    effects = Effects(world, name=name, cwd=world.cwd if cwd is None else cwd, via=via, span=span)
    machine = Machine(RubyLibrary(), effects, argument_values(name, args))
    machine.modules = Modules(read_ruby)
    return read_and_run(source, read_ruby, machine, telling=_TELLING)
