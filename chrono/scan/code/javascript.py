"""Owns the door for JavaScript and TypeScript: what a source does when it is run, as commands.

Reading the language is left to `javascript_reader`, what library calls do to `javascript_library`.
"""

from __future__ import annotations

from chrono.scan.code.arguments import argument_values
from chrono.scan.code.effects import Effects
from chrono.scan.code.interpret import Machine
from chrono.scan.code.javascript_library import JavaScriptLibrary
from chrono.scan.code.javascript_reader import read_javascript
from chrono.scan.code.modules import Modules
from chrono.scan.code.reading import read_and_run
from chrono.scan.command import Evaluation, Word
from chrono.scan.world import World

# Every effect needs one of these; a large bundle without them is not read.
_TELLING = tuple(
    (
        "child_process fs exec spawn eval Function require rimraf Deno Bun shelljs zx del fetch net sql query import"
    ).split()
)


def commands_of_javascript(
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...] = (),
    cwd: Word | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] = (0, 0),
) -> Evaluation:
    """What JavaScript or TypeScript does when it is run as a program; as `languages.commands_of`."""
    effects = Effects(world, name=name, cwd=world.cwd if cwd is None else cwd, via=via, span=span)
    machine = Machine(JavaScriptLibrary(), effects, argument_values(name, args))
    machine.modules = Modules(read_javascript)
    return read_and_run(source, read_javascript, machine, telling=_TELLING)
