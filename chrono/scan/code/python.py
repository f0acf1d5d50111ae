"""Owns the door for Python: what a source does when it is run, as commands.

Reading the language is left to `python_reader`, what library calls do to `python_library`.
"""

from __future__ import annotations

from chrono.scan.code.arguments import argument_values
from chrono.scan.code.effects import Effects, TooMuch
from chrono.scan.code.interpret import Machine
from chrono.scan.code.modules import Modules
from chrono.scan.code.python_library import PythonLibrary
from chrono.scan.code.python_reader import read_python
from chrono.scan.command import Evaluation, Refusal, Word
from chrono.scan.world import World

# Larger sources are read only if they hold a word that every call with an effect needs: compiling costs 3 us a byte.
_SMALL = 60_000
_LARGEST = 300_000
_TELLING = (
    "rmtree", "remove", "unlink", "rmdir", "system", "popen", "subprocess", "exec", "spawn", "eval", "__import__",
    "getattr", "importlib", "shutil", "pathlib", "b64decode", "socket", "write", "open", "truncate", "chmod", "sql",
)  # fmt: skip


def commands_of_python(
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...] = (),
    cwd: Word | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] = (0, 0),
) -> Evaluation:
    """What Python source does when it is run as a program, as the commands that would do the same.

    `name` is what `via` calls the source ("cleanup.py"), `args` its `sys.argv[1:]`, `cwd` its folder. Functions that
    nothing calls are silent. Never raises; a limit that is reached is a Refusal. specs: scanner section 4.
    """
    effects = Effects(world, name=name, cwd=world.cwd if cwd is None else cwd, via=via, span=span)
    telling = any(word in source for word in _TELLING)
    if len(source) > _SMALL and not telling:
        return effects.evaluation()
    if len(source) > _LARGEST:
        effects.refusals.append(Refusal("limit", f"{name} is too long to be read as Python", span))
        return effects.evaluation()
    try:
        body = read_python(source)
        machine = Machine(PythonLibrary(), effects, argument_values(name, args))
        machine.modules = Modules(read_python)
        machine.run_program(body)
    except SyntaxError as error:
        # Python would not run it either, but the python that is meant may be another one (2, or newer than ours).
        if telling:
            where = f"{name}:{error.lineno or 0}"
            effects.refusals.append(Refusal("unparsed", f"{where} is not Python as this version reads it", span))
    except TooMuch as reached:
        effects.refusals.append(Refusal("limit", f"{name}: {reached}", span))
    except (RecursionError, MemoryError):
        effects.refusals.append(Refusal("limit", f"{name} is nested too deeply", span))
    except Exception as error:
        # A fault of ours must not let code pass unread.
        why = f"{name} could not be read to its end ({type(error).__name__})"
        effects.refusals.append(Refusal("unparsed", why, span))
    return effects.evaluation()
