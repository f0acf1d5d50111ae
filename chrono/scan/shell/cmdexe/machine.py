"""Owns what one reading of cmd.exe text knows and has found: variables, folder, commands, limits.

Walking the text is left to `interpret`, what the shell's own commands do to `internal`.
"""

from __future__ import annotations

import os

from chrono.scan.command import UNKNOWN, Command, LimitReached, Redirect, Refusal, Word
from chrono.scan.shell.cmdexe.expansion import late, usual_value, with_loop_variables
from chrono.scan.shell.values import to_word
from chrono.scan.shell.windows import started_by
from chrono.scan.shell.windows_host import file_text
from chrono.scan.world import World

MAX_STEPS = 4_000
MAX_COMMANDS = 400
MAX_WORDS = 1_000
MAX_CALLS = 8


class Machine:
    """One reading of one text."""

    def __init__(
        self, world: World, via: tuple[str, ...], span: tuple[int, int] | None, cwd: str, args: tuple[str, ...] | None
    ) -> None:
        self.world = world
        self.via = via
        self.outer = span
        self.here: tuple[int, int] = span or (0, 0)
        self.cwd = cwd
        self.args = args
        self.folders: list[str] = []
        self.variables: dict[str, str] = {}
        self.loops: dict[str, str] = {}
        self.delayed = False
        self.commands: list[Command] = []
        self.refusals: list[Refusal] = []
        self.writes: list[tuple[Redirect, tuple[int, int]]] = []
        self.files: dict[str, str] = {}
        self.labels: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.source = ""
        self.upstream: tuple[tuple[Word, ...], ...] = ()
        self.stdin: str | None = None
        self.piping = False
        self.after = "always"
        self.calls = 0
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise LimitReached("it does more steps than can be checked")

    def value(self, name: str) -> str | None:
        """A variable's value; None where nobody has set it."""
        found = self.variables.get(name.lower())
        return found if found is not None else usual_value(self.world, name, self.cwd)

    def expand(self, text: str, *, keep: bool = False) -> str:
        """A command's text as it runs: loop variables and late variables in place; `keep` as in `late`."""
        if self.loops:
            text = with_loop_variables(text, self.loops)
        return late(text, self.value, self.delayed, keep=keep and self.args is None)

    def link(self, name: str, target: str) -> None:
        """A link, or a drive of `subst`, that the text makes."""
        full, to = self.absolute(name), self.absolute(target)
        if full is not None and to is not None:
            self.links[full.lower().rstrip("/")] = to

    def behind(self, word: str) -> str:
        """A path with the links of the text in it followed."""
        full = self.absolute(word) if word[:1] != "/" else None
        for name, target in self.links.items():
            if full is not None and full.lower().startswith(name + "/"):
                return target + full[len(name) :]
        return word

    def absolute(self, path: str) -> str | None:
        """The absolute form of a path, with `/`; None where it is not known."""
        text = path.strip('"').replace("\\", "/")
        if not text or "\0" in text:
            return None
        if text.startswith("/") or text[1:2] == ":":
            return os.path.normpath(text)
        return None if "\0" in self.cwd else os.path.normpath(f"{self.cwd}/{text}")

    def emit(
        self, words: list[str], *, builtin: bool, redirects: tuple[Redirect, ...] = (), via: tuple[str, ...] = ()
    ) -> None:
        """Reports a command and what it starts for its arguments."""
        if "/?" in words:
            words, builtin = ["help", words[0]], True
        if len(words) > MAX_WORDS:
            raise LimitReached(f"it gives a program more than {MAX_WORDS} words")
        if self.links:
            words = [words[0], *(self.behind(word) for word in words[1:])]
        argv = tuple(to_word(word) for word in words)
        if len(self.commands) >= MAX_COMMANDS:
            raise LimitReached(f"it starts more than {MAX_COMMANDS} commands")
        folder: Word = UNKNOWN if "\0" in self.cwd else self.cwd
        stdin = None if self.stdin is None else to_word(self.stdin)
        chain = (*self.via, *via)
        self.commands.append(
            Command(
                argv, chain, self.here, folder, redirects, stdin, self.upstream, (), self.after, (), builtin, (), True
            )
        )
        if not builtin:
            for inner in started_by(argv, self.world, cwd=self.cwd, via=chain, span=self.here):
                self.commands.append(inner._replace(after=self.after))
        self.upstream = (*self.upstream, argv)

    def known_file(self, path: str) -> str | None:
        """The text of a file that the text has written itself or that is on the machine, where it is small."""
        full = self.absolute(path)
        return None if full is None else file_text(self.world, self.files, full)

    def write(self, path: str, text: str, append: bool) -> None:
        """Remembers what the text writes into a file, so that it can be followed."""
        full = self.absolute(path)
        if full is None:
            return
        if append and full in self.files:
            text = self.files[full] + text
        if "\0" in text:
            self.files.pop(full, None)
        else:
            self.files[full] = text
