"""Owns the way from an error to text and exit code (design section 6.12); the verbs only raise.

Printing is left to `cli.render`, the table of verbs to `cli.app`.
"""

from __future__ import annotations

import os

from chrono.cli.render import Screen
from chrono.errors import (
    AuditUnverifiable,
    ChronoError,
    KeyRefused,
    NoSuchSavepoint,
    PluginError,
    StoreError,
    UsageError,
)

USAGE = 2
BUG = 70
INTERRUPTED = 130

_OS_HINTS = {
    "ENOENT": "look at how it is spelled, and from which folder",
    "EISDIR": "give a file in it",
    "ENOTDIR": "a file stands where a folder must be",
    "ENOSPC": "free some space on that disk, then run it again",
    "EROFS": "that file system is read-only; set CHRONO_HOME= to a folder you can write",
    "ENOLCK": "that file system keeps no locks; keep the project and CHRONO_HOME on a local one",
    "EACCES": "look at who owns that path and may write it",
}

_HINTS = {
    StoreError: "run chrono doctor; where objects are lost or damaged, chrono clone brings them back from a remote",
    KeyRefused: "look at chrono audit --keys",
    AuditUnverifiable: "look at chrono audit --verify",
    NoSuchSavepoint: "run chrono log to see what there is",
    PluginError: "upgrade or take out the package that it comes from",
}


def main(args: list[str], screen: Screen | None = None) -> int:
    """Runs one command line and returns its exit code; never raises for what a verb raises."""
    if screen is None:
        screen = Screen.of_process()
    try:
        code = _run(args, screen)
        screen.flush()
        return code
    except BrokenPipeError:
        return _broken_pipe()
    except KeyboardInterrupt:
        return _interrupted(screen)


def _run(args: list[str], screen: Screen) -> int:
    from typer import Exit
    from typer._click.exceptions import ClickException, NoArgsIsHelpError

    from chrono.cli.app import build

    given = tuple(args)  # the parser takes words out of `args`
    try:
        group = build()
        # Not its `main`: that one also completes words for shells and swallows interrupts and broken pipes.
        with group.make_context("chrono", args, obj=screen) as ctx:
            result = group.invoke(ctx)
        return result if isinstance(result, int) else 0
    except Exit as leave:
        return leave.exit_code
    except NoArgsIsHelpError as error:
        screen.block(error.format_message())
        return USAGE
    except ClickException as error:
        screen.json = screen.json or _wants_json(given)
        screen.error(_our_way(error.format_message()), _usage_hint(given), error.exit_code)
        return error.exit_code
    except ChronoError as error:
        if isinstance(error, UsageError):
            screen.json = screen.json or _wants_json(given)
        screen.error(error.message, error.hint or _next_step(error, given), error.exit_code)
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        _trace(screen)
        screen.error(_os_message(error), _os_hint(error), 1)
        return 1
    except Exception as error:
        return _bug(screen, error)


def _wants_json(given: tuple[str, ...]) -> bool:
    """Whether --json stands among chrono's own words: what follows `--` belongs to another program."""
    return "--json" in (given[: given.index("--")] if "--" in given else given)


def _usage_hint(given: tuple[str, ...]) -> str:
    """Where to read on: the help of the command that was named, as far as one was."""
    from chrono.cli.app import VERBS

    if given[:1] == ("--json",):
        return "--json comes after the command: chrono status --json"
    named = ["chrono"]
    verb = VERBS.get(given[0]) if given else None
    if verb is not None:
        named.append(verb.name)
        named.extend(word for word in given[1:2] if word in dict(verb.subs))
    return f"see {' '.join(named)} --help"


def _next_step(error: ChronoError, given: tuple[str, ...]) -> str | None:
    """What to do about an error that was raised without saying so: by its kind, or by the fault of the system in it."""
    if isinstance(error, UsageError):
        return _usage_hint(given)
    fault = error.__context__
    known = _os_hint(fault) if isinstance(fault, OSError) else None
    return known or next((hint for kind, hint in _HINTS.items() if isinstance(error, kind)), None)


def _our_way(message: str) -> str:
    """A message of the parser as all others here begin and end: `error: missing argument 'ID'`."""
    return message[:1].lower() + message[1:].removesuffix(".")


def _os_message(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename is not None else ""
    return where + (error.strerror or repr(error))


def _os_hint(error: OSError) -> str | None:
    import errno

    return _OS_HINTS.get(errno.errorcode.get(error.errno or 0, ""))


def _bug(screen: Screen, error: Exception) -> int:
    import traceback

    _trace(screen)
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if "chrono" in frame.filename), frames[-1])
    where = f"{os.path.basename(os.path.dirname(last.filename))}/{os.path.basename(last.filename)}:{last.lineno}"
    hint = "this is a bug in chrono; `chrono --debug …` prints the traceback for a report"
    screen.error(f"chrono failed at {where}: {type(error).__name__}: {error}", hint, BUG)
    return BUG


def _trace(screen: Screen) -> None:
    if screen.traceback:
        import traceback

        screen.trace(traceback.format_exc())


def _interrupted(screen: Screen) -> int:
    screen.error("interrupted", None, INTERRUPTED)
    return INTERRUPTED


def _broken_pipe() -> int:
    """Whoever read our output has gone (`chrono log | head`): nothing is left to say, and no error to show."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    return 0
