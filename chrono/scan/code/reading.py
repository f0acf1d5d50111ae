"""Owns the way from a source to what it does, the same for every language: size, limits, and nothing that escapes.

What a language consists of (its Language) is left to its own file, reading to its reader, running to `interpret`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.code import tree
from chrono.scan.code.arguments import argument_values
from chrono.scan.code.effects import Effects
from chrono.scan.code.frames import Library
from chrono.scan.code.interpret import Machine
from chrono.scan.code.modules import MAX_MODULES, MAX_MODULES_BESIDE, Modules, Reader
from chrono.scan.command import Evaluation, LimitReached, Refusal, Word
from chrono.scan.world import World
from chrono.tuples import NamedTuple

_SMALL = 60_000
_SELECTS = re.compile(r"\b(?:cmdline|comm|status|stat|exe|environ|cwd)[\"'`]")
"""Signs that a program that lists the processes also looks at what each of them is."""


class Language(NamedTuple):
    """One language that is read: its words for effects, its reader, its library.

    `telling` are words of which every call with an effect needs one: a source of more than 60 KB without any is not
    read. `loads_modules`: files of the project that it imports are run too. One of more than `longest` characters is
    refused. `read_otherwise` reads what the reader calls a SyntaxError, where another version of the language would.
    """

    name: str
    read: Reader
    library: Callable[[], Library]
    telling: tuple[str, ...]
    loads_modules: bool = False
    longest: int | None = None
    read_otherwise: Callable[[str, Reader, tuple[str, ...]], tuple[tree.Node, ...]] | None = None


def run_source(
    language: Language,
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...],
    cwd: Word | None,
    via: tuple[str, ...],
    span: tuple[int, int],
    stdin: Word | None = None,
    files: tuple[tuple[str, str], ...] = (),
    called: bool = False,
    beside: bool = False,
    path: str | None = None,
) -> Evaluation:
    """Reads and runs a source, as `languages.commands_of`; a limit becomes a Refusal. Never raises."""
    effects = Effects(world, name=name, cwd=world.cwd if cwd is None else cwd, via=via, span=span)
    effects.stdin = stdin
    effects.given.update(files)
    if path is not None:
        effects.paths[name] = path
    effects.selects_processes = _SELECTS.search(source) is not None
    tells = any(word in source for word in language.telling)
    if len(source) > _SMALL and not tells:
        return effects.evaluation()
    if language.longest is not None and len(source) > language.longest:
        effects.refusals.append(Refusal("limit", f"{name} is too long to be read as {language.name}", span))
        return effects.evaluation()
    try:
        machine = Machine(language.library(), effects, argument_values(name, args))
        if language.loads_modules:
            machine.modules = Modules(language.read, MAX_MODULES_BESIDE if beside else MAX_MODULES)
        machine.run_program(_read(language, source), called=called)
    except SyntaxError as error:
        # The interpreter here would not run it either, but the one that is meant may be another (older, or newer).
        if tells:
            where = f"{name}:{error.lineno or 0}"
            why = f"{where} is not {language.name} as this version reads it"
            effects.refusals.append(Refusal("unparsed", why, span))
    except LimitReached as reached:
        effects.refusals.append(Refusal("limit", f"{name}: {reached}", span))
    except (RecursionError, MemoryError):
        effects.refusals.append(Refusal("limit", f"{name} is nested too deeply", span))
    except Exception as error:
        # A fault of ours must not let code pass unread.
        why = f"{name} could not be read to its end ({type(error).__name__})"
        effects.refusals.append(Refusal("unparsed", why, span))
    return effects.evaluation()


def _read(language: Language, source: str) -> tuple[tree.Node, ...]:
    try:
        return language.read(source)
    except SyntaxError as error:
        if language.read_otherwise is None:
            raise
        try:
            return language.read_otherwise(source, language.read, language.telling)
        except SyntaxError:
            raise error from None
