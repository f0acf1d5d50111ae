"""Owns what one reading of a PowerShell text knows and has found: variables, folder, functions, commands, limits.

Statements and expressions are left to `interpret`, commands of PowerShell to `commands`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from chrono.scan.command import UNKNOWN as UNKNOWN_WORD
from chrono.scan.command import Command, LimitReached, Redirect, Refusal, Word
from chrono.scan.shell.powershell.syntax import Block, Span
from chrono.scan.shell.powershell.values import (
    Argv,
    Choice,
    Closure,
    Feeds,
    Value,
    either,
    fed,
    feeds_of,
    text_of,
    words_of,
)
from chrono.scan.shell.values import to_word
from chrono.scan.shell.windows_host import file_text
from chrono.scan.world import World
from chrono.tuples import NamedTuple

MAX_STEPS = 6_000
MAX_COMMANDS = 400
MAX_WORDS = 1_000
MAX_CALLS = 8
MAX_EVALS = 6
MAX_UNROLLED = 24
MAX_EMITTED_CHOICES = 6


class Ports(NamedTuple):
    """The doors to rooms that call back: running a body, a block, a command, a text; the value of an expression."""

    body: Callable[[Machine, tuple[object, ...]], list[Value]]
    block: Callable[[Machine, Block, tuple[Value, ...], tuple[Value, ...] | None], list[Value]]
    command: Callable[[Machine, list[object], tuple[Value, ...] | None], list[Value]]
    text: Callable[[Machine, Value, str], list[Value]]
    method: Callable[[Machine, Value, str, tuple[Value, ...]], Value]


class Machine:
    """One reading of one text."""

    def __init__(self, world: World, ports: Ports, via: tuple[str, ...], span: Span | None, cwd: str) -> None:
        self.world = world
        self.ports = ports
        self.via = via
        self.outer = span
        self.here: Span = span or (0, 0)
        self.cwd = cwd
        self.folders: list[str] = []
        self.variables: dict[str, Value] = {}
        self.functions: dict[str, Block] = {}
        self.aliases: dict[str, str] = {}
        self.drives: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.commands: list[Command] = []
        self.refusals: list[Refusal] = []
        self.writes: list[tuple[Redirect, Span]] = []
        self.files: dict[str, str] = {}
        self.sources: dict[str, Feeds] = {}
        self.upstream: tuple[Argv, ...] = ()
        self.after = "always"
        self.called: set[str] = set()
        self.calls = 0
        self.evals = 0
        self.steps = 0
        self.left: str | None = None

    def step(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise LimitReached("it does more steps than can be checked")

    def refuse(self, kind: str, why: str) -> None:
        self.refusals.append(Refusal(kind, why, self.here))

    def emit(
        self,
        words: list[Value],
        *,
        builtin: bool = False,
        feeds: Feeds = (),
        stdin: Word | None = None,
        redirects: tuple[Redirect, ...] = (),
        via: tuple[str, ...] = (),
        cwd: str | None = None,
    ) -> Argv:
        """Reports a command; where words have alternatives, one for each. Answers the first argv."""
        if any(isinstance(word, Choice) for word in words):
            choices = [word.options if isinstance(word, Choice) else (word,) for word in words]
            rows = [list(row) for _, row in zip(range(MAX_EMITTED_CHOICES + 1), product(*choices), strict=False)]
            if len(rows) > MAX_EMITTED_CHOICES:
                rows = [[text_of(word) if isinstance(word, Choice) else word for word in words]]
        else:
            rows = [words]
        first: Argv = ()
        for row in rows:
            argv = tuple(word for value in row for word in words_of(value))
            if not argv:
                continue
            if len(argv) > MAX_WORDS:
                raise LimitReached(f"it gives a program more than {MAX_WORDS} words")
            first = first or argv
            if len(self.commands) >= MAX_COMMANDS:
                raise LimitReached(f"it starts more than {MAX_COMMANDS} commands")
            folder = self.cwd if cwd is None else cwd
            self.commands.append(
                Command(
                    argv,
                    (*self.via, *via),
                    self.here,
                    UNKNOWN_WORD if "\0" in folder else folder,
                    redirects,
                    stdin,
                    tuple(dict.fromkeys((*feeds, *self.upstream))),
                    (),
                    self.after,
                    (),
                    builtin,
                    (),
                    True,
                )
            )
        return first

    def call_once(self, name: str) -> None:
        """Reports a method whose effect is not known, once for each name."""
        if name not in self.called and len(self.called) < 24:
            self.called.add(name)
            self.emit(["Invoke-Member", name], builtin=True)

    # --- variables and folders ----------------------------------------------------------------------------------------

    def set(self, name: str, value: Value) -> None:
        head, colon, rest = name.partition(":")
        if colon and head in ("global", "script", "local", "private", "using", "variable"):
            name = rest
        elif head == "function" and isinstance(value, Closure):
            self.functions[rest] = value.block
        elif head == "alias":
            self.aliases[rest] = text_of(value)
        self.variables[name] = value

    def snapshot(self) -> tuple[dict[str, Value], str, dict[str, str]]:
        return dict(self.variables), self.cwd, dict(self.aliases)

    def restore(self, state: tuple[dict[str, Value], str, dict[str, str]]) -> None:
        self.variables, self.cwd, self.aliases = dict(state[0]), state[1], dict(state[2])

    def join(self, state: tuple[dict[str, Value], str, dict[str, str]]) -> None:
        """What is known now, or was known in `state`."""
        variables, cwd, aliases = state
        for name in {*variables, *self.variables}:
            one, other = variables.get(name), self.variables.get(name)
            if one is not other:
                self.variables[name] = either(other, one)
        if cwd != self.cwd:
            self.cwd = "\0"
        for name, target in aliases.items():
            self.aliases.setdefault(name, target)

    def path(self, value: Value) -> str:
        """A path as the rules read it: slashes one way, drives of the text's own and `file:` resolved."""
        text = text_of(value)
        lower = text.lower()
        for prefix in ("microsoft.powershell.core\\filesystem::", "filesystem::", "file:///"):
            if lower.startswith(prefix):
                text = text[len(prefix) :]
                lower = text.lower()
        drive, colon, rest = text.partition(":")
        if colon and drive.lower() in self.drives:
            text = f"{self.drives[drive.lower()]}/{rest.lstrip('/').lstrip(chr(92))}"
        if self.links:
            full = self.absolute(text)
            for name, target in self.links.items():
                if full is not None and full.lower().startswith(name + "/"):
                    text = target + full[len(name) :]
        return text if text is value or not isinstance(value, str) else fed(text, getattr(value, "feeds", ()))

    def absolute(self, path: str) -> str | None:
        """The absolute form of a path, with `/`; None where it is not known."""
        import os

        text = path.replace("\\", "/")
        if "\0" in text or not text:
            return None
        if text == "~" or text.startswith("~/"):
            text = self.world.home + text[1:]
        if text.startswith("/") or text[1:2] == ":":
            return os.path.normpath(text)
        if "\0" in self.cwd:
            return None
        return os.path.normpath(f"{self.cwd}/{text}")

    def go(self, value: Value) -> None:
        """`Set-Location`."""
        path = self.path(value)
        self.cwd = self.absolute(path) or "\0"

    def known_file(self, path: str) -> str | None:
        """The text of a file that the text has written itself or that is on the machine, where it is small."""
        full = self.absolute(path)
        return None if full is None else file_text(self.world, self.files, full)

    def write(self, path: Value, text: Value, append: bool) -> None:
        """Remembers what the text writes into a file, so that it can be followed."""
        full = self.absolute(self.path(path))
        content = text_of(text)
        if full is None:
            return
        feeds = feeds_of(content)
        if feeds:
            self.sources[full] = feeds
        if append and full in self.files:
            content = self.files[full] + content
        if "\0" in content:
            self.files.pop(full, None)
        else:
            self.files[full] = content

    def sources_of(self, value: Value) -> Feeds:
        """The commands that the content of a file comes from, where the text itself has written it."""
        if not self.sources:
            return ()
        name = text_of(value).lstrip("@")
        full = self.absolute(self.path(name)) if "\0" not in name else None
        return self.sources.get(full or "", ())

    def redirect(self, op: str, stream: str, target: Value) -> Redirect | None:
        text = self.path(target)
        if text == "":
            return None
        return Redirect(op, int(stream) if stream.isdigit() else 1, to_word(text.replace("\\", "/")))
