"""Owns one evaluation: what it has gathered, where it stands, how alternatives are tried.

Walking the text is left to `interpret`, single commands to `simple`, programs to `starting`; they are reached through
`Ports`, so that modules that need each other do not import each other.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import Command, LimitReached, Redirect, Refusal, Word
from chrono.scan.shell.ansi import from_bytes
from chrono.scan.shell.choices import Choices
from chrono.scan.shell.lexer import Budget
from chrono.scan.shell.origin import Origin
from chrono.scan.shell.parser import Parsed
from chrono.scan.shell.state import NONZERO_STATUS, Argv, State, Value, settle
from chrono.scan.shell.syntax import Assign, Body, Node, Process, Subst
from chrono.scan.shell.values import clean, file_key, to_word
from chrono.scan.world import Read, World
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_STEPS = 4000
MAX_ROUNDS = 300
"""Rounds that nested loops take together before the inner ones use one value for all."""
MAX_READ_BYTES = 256 * 1024
MAX_KEPT_CHARS = 3_000_000
MAX_COMMANDS = 8000
_FILE_OPS = frozenset(("<", ">", ">>", ">|", "&>", "&>>", "<>", ">&"))


class Inner(NamedTuple):
    """What a wrapper or sink starts.

    - `argv` (a program) or `text` (shell text run with `args` as `$0 $1 …`); exactly one of them is set.
    - `label`: the link it adds to `via`. `cwd`: the folder where the wrapper changes it, "\\0" where it is not known.
    - `assigns`: variables it sets. `inherits`: the environment is passed on.
    - `stdin`: its standard input where the wrapper uses its own up; None: it inherits.
    - `remote`: it runs on another machine or in another file system.
    """

    argv: Argv = ()
    text: str | None = None
    args: Argv = ()
    label: str = ""
    cwd: str | None = None
    assigns: tuple[tuple[str, str], ...] = ()
    stdin: str | None = None
    remote: bool = False
    inherits: bool = True


class Call(NamedTuple):
    """A running function: its arguments, and how deep in pipes and in the background it was called."""

    name: str
    args: Argv
    pipes: int
    background: int
    sites: set[tuple[int, int]]


class LoopFrame:
    """States that left the body of the innermost loop early."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


class Ports(NamedTuple):
    """Functions of modules further up."""

    node: Callable[[Machine, Node, State], None]
    body: Callable[[Machine, Body, State], None]
    condition: Callable[[Machine, Body, State], None]
    subshell: Callable[[Machine, State, Callable[[], None]], None]
    substitute: Callable[[Machine, Subst, State], str]
    process: Callable[[Machine, Process, State], str]
    run_text: Callable[[Machine, str, State, str | None, str, bool], None]
    call: Callable[[Machine, str, Argv, State], None]
    run_program: Callable[[Machine, Argv, State, bool, bool], None]
    run_inner: Callable[[Machine, Inner, State], None]


class Frame(NamedTuple):
    """What belongs to the command that runs now, and is put back after one inside it."""

    here: tuple[int, int]
    redirects: tuple[Redirect, ...]
    assigns: tuple[tuple[str, str], ...]
    after: str
    unset: list[str]
    processes: list[tuple[str, Process, State]]
    choices: Choices | None
    outside: bool


_new = tuple.__new__


class Aborted(Exception):
    """An expansion failed (`${name:?}` of a name that is not set), so the command around it does not run."""


_TELLING = frozenset(("history", "fc"))
_TELLING_ALONE = frozenset((("set",), ("export",), ("export", "-p"), ("declare",), ("typeset",), ("declare", "-x")))
"""Builtins whose output is worth knowing where it goes."""
_PASSING_ON = frozenset(("echo", "printf"))
"""Builtins that print their words: what those were made of feeds whoever reads it."""


class Machine:
    """One evaluation.

    - Gathered: `commands`, `refusals`, `writes`, `files` (path -> text, None where it is not known), `file_sources`
      (path -> argvs whose output it holds), `copies` (path -> file of the machine that it was copied from), `made`
      (folders that the text itself has surely made), `descriptors` (number -> file that `exec` keeps open).
    - Where it stands: `here` (offsets in the text that runs), `origin` (that text's file, None for the outermost),
      `via`, `dialect`, the running `calls` and `loops`. `homes`: for functions out of a file, it and its link.
    - Of the command that runs: `redirects`, `assigns`, `unset` names, `sources` (argvs whose output is in its words),
      `outside` (a value came from the environment), `last_status` (of its last substitution), `destroys` (what it
      loses cannot be told where a variable is not set).
    """

    # What begins alike is said once: there are too many for Python to keep the attributes of objects compact.
    kept_chars: int = 0
    steps: int = 0
    texts: int = 0
    source: str = ""
    here: tuple[int, int] = (0, 0)
    origin: Origin | None = None
    redirects: tuple[Redirect, ...] = ()
    assigns: tuple[tuple[str, str], ...] = ()
    after: str = "always"
    choices: Choices | None = None
    outside: bool = False
    destroys: bool = False
    last_status: int = 0
    recursions: int = 0
    conditions: int = 0
    pipes: int = 0
    background: int = 0

    def __init__(
        self,
        world: World,
        ports: Ports,
        dialect: str,
        shell_name: str,
        environment: Callable[[str], str | None],
        via: tuple[str, ...],
    ) -> None:
        self.world = world
        self.ports = ports
        self.dialect = dialect
        self.shell_name = shell_name
        self.environment = environment
        self.via = via
        self.outer_via = len(via)
        self.commands: list[Command] = []
        self.refusals: list[Refusal] = []
        self.writes: list[tuple[Redirect, tuple[int, int]]] = []
        self.files: dict[str, str | None] = {}
        self.file_sources: dict[str, tuple[Argv, ...]] = {}
        self.descriptors: dict[str, str | None] = {}
        self.copies: dict[str, str] = {}
        self.made: set[str] = set()
        self.fed: dict[str, str] = {}
        self.budget = Budget()
        self.parsed: dict[tuple[str, str, tuple[int, int] | None], Parsed] = {}
        self.homes: dict[str, tuple[Origin, str]] = {}
        self.declared: dict[str, Assign] = {}
        self.unset: list[str] = []
        self.sources: list[Argv] = []
        self.processes: list[tuple[str, Process, State]] = []
        self.traps: dict[str, str] = {}
        self.loops: list[LoopFrame] = []
        self.rounds: list[int] = []
        self.returns: list[list[State]] = []
        self.exits: list[list[State]] = [[]]
        self.calls: list[Call] = []

    # Ports, as methods.

    def node(self, node: Node, state: State) -> None:
        self.ports.node(self, node, state)

    def body(self, body: Body, state: State) -> None:
        self.ports.body(self, body, state)

    def condition(self, body: Body, state: State) -> None:
        """Runs a list whose status decides: success and failure stay apart at its end."""
        self.ports.condition(self, body, state)

    def subshell(self, state: State, run: Callable[[], None]) -> None:
        """Runs in a state of its own, which `exit` and `return` inside leave."""
        self.ports.subshell(self, state, run)

    def substitute(self, part: Subst, state: State) -> str:
        """What a command substitution yields, its line ends at the end removed."""
        return self.ports.substitute(self, part, state)

    def process(self, part: Process, state: State) -> str:
        """The name that stands for a process substitution."""
        return self.ports.process(self, part, state)

    def run_text(
        self, text: str, state: State, *, dialect: str | None = None, label: str = "", is_file: bool = False
    ) -> None:
        """Runs text in this state (`eval`, `trap`; `source`: the text `is_file` that `label` names)."""
        self.ports.run_text(self, text, state, dialect, label, is_file)

    def run_program(self, argv: Argv, state: State, *, functions: bool, builtins: bool) -> None:
        """Runs one command whose words are known."""
        self.ports.run_program(self, argv, state, functions, builtins)

    # Limits.

    def line_between(self, start: int, end: int) -> bool:
        """Whether a line of the outermost text ends between two places; for other texts it is taken to."""
        return not self.source or self.texts > 0 or "\n" in self.source[start:end]

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS or len(self.commands) > MAX_COMMANDS:
            raise LimitReached("the text takes more steps than are looked at")

    def allow_rounds(self, wanted: int) -> int:
        """How many of the wanted rounds a loop may take, given the loops around it; `free_rounds` ends it."""
        around = self.rounds[-1] if self.rounds else 1
        allowed = wanted if around * max(wanted, 1) <= MAX_ROUNDS else max(MAX_ROUNDS // around, 1)
        self.rounds.append(around * max(allowed, 1))
        return allowed

    def free_rounds(self) -> None:
        self.rounds.pop()

    # Alternatives.

    def pick(self, key: str, alternatives: tuple[Value, ...], state: State) -> Value:
        """One of the alternatives; the command around is run once for each. A variable keeps what was picked."""
        if len(alternatives) == 1:
            return alternatives[0]
        if self.choices is None:
            self.choices = Choices(state.copy())
        value = self.choices.pick(alternatives)
        if key in state.vars:
            state.own()
            state.vars[key] = (value,)
        elif key == "PWD":
            state.cwds = (str(value),)
        return value

    def each(self, run: Callable[[Machine, Any, State], None], node: Node, state: State) -> None:
        """Runs a node once for each combination of the alternatives that come up."""
        frame = self.save()
        self.choices = None
        try:
            run(self, node, state)
        except Aborted:
            state.status = NONZERO_STATUS
        # Read anew: running sets it.
        choices: Choices | None = self.choices
        if choices is not None:
            settle(state)
            while choices.advance():
                other = choices.snapshot.copy()
                try:
                    run(self, node, other)
                except Aborted:
                    other.status = NONZERO_STATUS
                settle(other)
                state.join(other)
        self.restore(frame)

    # What is remembered about words.

    def note_unset(self, name: str) -> None:
        if name not in self.unset:
            self.unset.append(name)

    def note_outside(self) -> None:
        self.outside = True

    def note_sources(self, argvs: tuple[Argv, ...]) -> None:
        self.sources.extend(argvs)

    def begin_sources(self) -> list[Argv]:
        """Starts to collect sources anew; yields those collected before, for `end_sources`."""
        before, self.sources = self.sources, []
        return before

    def end_sources(self, before: list[Argv]) -> tuple[Argv, ...]:
        """The sources since `begin_sources`; from here on they count together with those before."""
        found = tuple(dict.fromkeys(self.sources))
        self.sources = [*before, *found]
        return found

    def save(self) -> Frame:
        # Without the constructor of the class: every command is framed twice.
        return _new(Frame, (self.here, self.redirects, self.assigns, self.after, self.unset, self.processes,
                            self.choices, self.outside))  # fmt: skip

    def restore(self, frame: Frame) -> None:
        (self.here, self.redirects, self.assigns, self.after, self.unset, self.processes, self.choices,
         self.outside) = frame  # fmt: skip

    # What is reported.

    def emit(self, argv: Argv, state: State, *, builtin: bool = False, label: str = "") -> None:
        """Reports one command, once for each folder it can run in."""
        words: tuple[Word, ...] = argv
        if "\0" in "".join(argv):
            words = tuple([word if "\0" not in word else to_word(word) for word in argv])
        stdin = None
        if state.stdin is not None and state.stdin != "\0":
            stdin = to_word(state.stdin)
        assigns = tuple((name, to_word(value)) for name, value in self.assigns) if self.assigns else ()
        upstream = tuple(tuple(map(to_word, feed)) for feed in state.feeds) if state.feeds else ()
        env = self._exported(state) if state.exported else ()
        via, span = (self.via, self.here) if self.origin is None else (self.chain(), self.origin.span)
        if label:
            via = (*via, label)
        unset = tuple(self.unset) if self.unset else ()
        for cwd in state.cwds:
            folder = cwd if "\0" not in cwd else to_word(cwd)
            # Without the constructor of the class, as above.
            self.commands.append(
                _new(Command, (words, via, span, folder, self.redirects, stdin, upstream, assigns, self.after, env,
                               builtin, unset, False, state.outs is None))
            )  # fmt: skip

    def _exported(self, state: State) -> tuple[tuple[str, str], ...]:
        found = []
        for name in sorted(state.exported):
            values = state.vars.get(name, ())
            if len(values) == 1 and isinstance(values[0], str) and "\0" not in values[0]:
                found.append((name, values[0]))
        return tuple(found)

    def argvs_since(self, mark: int) -> tuple[Argv, ...]:
        """Argvs of the programs reported since, as this room's fields, the last few."""
        from chrono.scan.shell.values import from_word

        found: list[Argv] = []
        for command in self.commands[mark:]:
            if command.argv[0] in _PASSING_ON:
                found += (tuple(map(from_word, source)) for source in command.upstream)
            if not command.builtin or command.argv[0] in _TELLING or command.argv in _TELLING_ALONE:
                found.append(tuple(map(from_word, command.argv)))
        return tuple(dict.fromkeys(found[-8:]))

    def span(self) -> tuple[int, int]:
        """Where in the outermost text it stands."""
        return self.here if self.origin is None else self.origin.span

    def chain(self) -> tuple[str, ...]:
        """How it comes to run, with the line in the file that runs."""
        return self.via if self.origin is None else self.origin.via(self.via, self.here[0])

    def enter_file(self, origin: Origin, link: str) -> None:
        """What runs from here on stands in the file that the new link names."""
        self.via = (*self.chain(), link)
        self.origin = origin

    def note_function(self, function: str) -> None:
        """Remembers which file a function stands in."""
        if self.origin is None:
            self.homes.pop(function, None)
        else:
            self.homes[function] = (self.origin, self.via[self.origin.at])

    def go_home(self, function: str) -> None:
        """What runs from here on stands where the function was written."""
        origin, link = self.homes.get(function, (None, ""))
        if origin is self.origin:
            return
        if origin is None:
            self.via, self.origin = self.chain(), None
        else:
            self.enter_file(origin._replace(at=len(self.via), span=self.span()), link)

    def refuse(self, refusal: Refusal) -> None:
        if self.origin is not None:
            refusal = refusal._replace(span=self.origin.span)
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def record_writes(self, redirects: tuple[Redirect, ...]) -> None:
        for redirect in redirects:
            if redirect.op in _FILE_OPS:
                self.writes.append((redirect, self.span()))

    def guarded(self, label: str, run: Callable[[], None]) -> None:
        """Runs with one more link in the chain that explains how a command comes to run."""
        via = self.via
        self.via = (*via, label)
        run()
        self.via = via

    def leave(self, state: State) -> None:
        """Ends the shell or subshell that the state belongs to (`exit`, `exec`)."""
        settle(state)
        self.exits[-1].append(state.copy())
        state.dead = True

    # Files.

    def key_of(self, path: str, state: State) -> str | None:
        """The name under which a file is remembered."""
        return path if path.startswith("/dev/") else file_key(state.cwds[0], path)

    def read_file(self, path: str, state: State) -> str | None:
        """The text of a file where it is known: written by the text itself, else on the machine."""
        key = self.key_of(path, state)
        if key is None:
            return None
        sources = self.file_sources.get(key)
        if sources:
            self.note_sources(sources)
        if key in self.files:
            return self.files[key]
        if key.startswith(("/dev/", "/proc/", "/sys/")):
            return None
        answer = self.world.read(key, MAX_READ_BYTES)
        return clean(from_bytes(answer.data)) if isinstance(answer, Read) else None

    def write_file(self, path: str, text: str | None, state: State, *, append: bool = False) -> None:
        """Remembers what a file holds from now on; None: something unknown."""
        key = self.key_of(path, state)
        if key is None or key == "/dev/null":
            return
        if append:
            before = self.read_file(path, state) if key in self.files or text is not None else None
            absent = before is None and key not in self.files and self.world.lstat(key) is None
            before = "" if absent else before
            text = None if text is None or before is None else before + text
        self.kept_chars += len(text or "")
        self.files[key] = text if self.kept_chars <= MAX_KEPT_CHARS else None
        self.file_sources.pop(key, None)
