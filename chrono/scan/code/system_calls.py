"""Owns calls that do the same in several languages: where a program is, links, forks, a file cut off.

What they are called is left to each language's library.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.values import ANY, Items, Text, Wild

Handler = Callable[[Machine, Arguments], Value]


def cwd(run: Machine, args: Arguments) -> Value:
    return run.effects.cwd if isinstance(run.effects.cwd, str) else ANY


def entries(run: Machine, args: Arguments) -> Value:
    """The names in a folder."""
    run.effects.lists(args.at(0))
    return Items((), Text((Wild("*"),)))


def link(*flags: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        run.effects.command("ln", *flags, run.effects.word(args.at(0)), run.effects.word(args.at(1)))
        return ANY

    return call


def truncate(run: Machine, args: Arguments) -> Value:
    run.effects.write(args.at(0))
    return ANY


def fork(run: Machine, args: Arguments) -> Value:
    if run.endless and run.endless <= 2:
        run.effects.command("fork-bomb")
    return ANY
