"""Owns the question what one command starts, and how deep it may be asked.

Which file an interpreter's arguments name is left to `scripts`, consoles of frameworks to `consoles`, what its
environment names to `preloads`, package managers to `packages`, make and just to `make` and `justfile`, services to
`compose`, tasks of other tools to `sessions`; evaluating the text is left to the scanner.
"""

from __future__ import annotations

from chrono.scan.command import Command, Refusal
from chrono.scan.follow.programs import is_followed
from chrono.scan.follow.scene import Scene, Started
from chrono.scan.follow.scripts import from_interpreter
from chrono.scan.world import World

__all__ = ["MAX_DEPTH", "Started", "started"]

MAX_DEPTH = 12
"""Deeper than anybody writes by hand; what is followed is bounded by its number and its size before (decision 120)."""


def started(
    command: Command,
    world: World,
    *,
    depth: int,
    files: tuple[tuple[str, str], ...] = (),
    copies: tuple[tuple[str, str], ...] = (),
) -> tuple[Started | Refusal, ...]:
    """What `command` starts that can be read: script files, inline code, package scripts, make and just recipes.

    `depth` counts the scripts that already lie around this command; below MAX_DEPTH nothing is followed and anything
    that would be is a Refusal "limit". `files` are (absolute path, text) that the same command line has written;
    they count before the disk, the last one first; `copies` are (absolute path, the file it was copied from). A file
    that is missing, or compiled, is no answer at all. Never raises. specs: scanner section 4.
    """
    if not is_followed(command.argv):
        return ()
    from chrono.scan.follow.consoles import from_console
    from chrono.scan.follow.make import from_make
    from chrono.scan.follow.packages import from_package_manager
    from chrono.scan.follow.preloads import from_preloads
    from chrono.scan.follow.sessions import from_session

    try:
        scene = Scene.of(command, world, files, copies)
        answers: list[Started | Refusal] = []
        for source in (from_preloads, from_interpreter, from_console, from_package_manager, from_make, from_session):
            answers.extend(source(scene))
        answers.extend(_by_the_tool(scene))
        if "compose" in scene.program or scene.args[:1] == ("compose",):
            from chrono.scan.follow.compose import from_compose

            answers.extend(from_compose(scene))
    except RecursionError:
        return (Refusal("limit", "what it starts is nested too deeply", command.span),)
    except Exception as error:
        # A fault of ours must not let a script pass unread.
        why = f"what it starts could not be told ({type(error).__name__})"
        return (Refusal("unparsed", why, command.span),)
    if depth >= MAX_DEPTH and answers:
        if all(isinstance(answer, Started) and answer.beside for answer in answers):
            return ()
        return (Refusal("limit", f"scripts start scripts more than {MAX_DEPTH} deep", command.span),)
    return tuple(answers)


def _by_the_tool(scene: Scene) -> list[Started | Refusal]:
    """What a tool loads or runs without being told to; each reader is loaded for the tools it knows."""
    if scene.program == "git":
        from chrono.scan.follow.githooks import from_git

        return from_git(scene)
    from chrono.scan.follow import foreign_scripts, listed, loaded, notebooks

    return [
        *loaded.from_loaded(scene),
        *listed.from_listed(scene),
        *foreign_scripts.from_foreign_script(scene),
        *notebooks.from_notebook(scene),
    ]
