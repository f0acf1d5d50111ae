"""Owns the door for PHP: what a source does when it is run, as commands.

Reading the language is left to `php_reader`, what functions do to `php_library`.
"""

from __future__ import annotations

from chrono.scan.code.arguments import argument_values
from chrono.scan.code.effects import Effects
from chrono.scan.code.interpret import Machine
from chrono.scan.code.php_library import PhpLibrary
from chrono.scan.code.php_reader import read_php
from chrono.scan.code.reading import read_and_run
from chrono.scan.command import Evaluation, Word
from chrono.scan.world import World

_TELLING = ("unlink", "rmdir", "exec", "system", "`", "eval", "popen", "proc_open", "rename", "put", "open", "delete",
            "assert", "query", "passthru", "Artisan", "call_user_func")  # fmt: skip


def commands_of_php(
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...] = (),
    cwd: Word | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] = (0, 0),
) -> Evaluation:
    """What a PHP file does when it is run as a program; as `languages.commands_of`."""
    effects = Effects(world, name=name, cwd=world.cwd if cwd is None else cwd, via=via, span=span)
    machine = Machine(PhpLibrary(), effects, argument_values(name, args))
    return read_and_run(source, read_php, machine, telling=_TELLING)
