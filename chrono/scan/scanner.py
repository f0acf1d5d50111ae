"""Owns the door of the scan: text of a command, or paths of an edit, to findings and refusals. Never raises.

Parsing is left to `scan.shell`, code to `scan.code`, what a command starts to `scan.follow`, rules to `scan.match`;
whether anything may run is decided by `policy`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import Command, Evaluation, LimitReached, Redirect, Refusal
from chrono.scan.finding import Finding, Scan
from chrono.scan.follow.programs import is_followed
from chrono.scan.match import Step, findings_of, findings_of_writes
from chrono.scan.paths import Ground, TooManyPlaces
from chrono.scan.rule import Ruleset
from chrono.scan.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.scan.follow.later import Later
    from chrono.scan.follow.started import Started

MAX_SCRIPTS = 16
MAX_STARTED = 120
"""Texts that one command starts, however often the same: twelve scripts that each start two would be 4,096."""
MAX_STARTED_CHARS = 2_000_000
MAX_TEXT = 1_000_000
SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "fish", "powershell", "pwsh", "cmd")

WINDOWS_SHELLS = ("powershell", "pwsh", "cmd")

_KEEP_RETURNS = ("bash", "sh", "zsh")
"""Shells that take a carriage return for a letter, where an editor drops it: both readings count."""
_MAX_WRAPPERS = 16

CONFUSABLE = "scan.confusable"
CONFUSABLE_SCORE = 60


def scan(text: str, ruleset: Ruleset, world: World, *, shell: str = "bash") -> Scan:
    """Everything known about one command text.

    `shell` is the shell that would run it: "bash", "sh", "zsh", "powershell" or "cmd". Files that the text starts are
    followed (12 deep, 16 of them, 1 MB each and 2 MB in all); more is refused. Whatever is not foreseen is a Refusal,
    never an exception and never silence.
    """
    return _guarded(lambda: _scan(text, ruleset, world, shell), text)


def scan_edit(paths: tuple[str, ...], ruleset: Ruleset, world: World) -> Scan:
    """What it means that an agent's own tool writes these files: findings for control files, credentials, start-up
    files and whatever lies outside the project; none for an ordinary file of the project. Never raises."""
    return _guarded(lambda: _scan_edit(paths, ruleset, world), "\n".join(paths))


def _guarded(work: Callable[[], Scan], text: str) -> Scan:
    try:
        return work()
    except (RecursionError, MemoryError):
        return _refused(text, Refusal("limit", "it is nested too deeply to be checked", (0, len(text))))
    except TooManyPlaces:
        return _refused(text, Refusal("limit", "it names more places than are looked at", (0, len(text))))
    except LimitReached as reached:
        return _refused(text, Refusal("limit", reached.why, (0, len(text))))
    except Exception as error:
        why = f"the scanner could not judge it ({type(error).__name__})"
        return _refused(text, Refusal("error", why, (0, len(text))))


def _refused(text: str, refusal: Refusal) -> Scan:
    return Scan(text, (), (), (refusal,), False)


def _scan(text: str, ruleset: Ruleset, world: World, shell: str) -> Scan:
    if "\0" in text:
        return _refused(text, Refusal("nul", "it holds a NUL character", (text.index("\0"), text.index("\0") + 1)))
    if shell not in SHELLS:
        return _refused(text, Refusal("error", f"no shell called {shell!r} is known here", (0, len(text))))
    if len(text) > MAX_TEXT:
        return _refused(text, Refusal("limit", f"it is longer than {MAX_TEXT} characters", (0, len(text))))
    ground = Ground(world)
    walk = Walk(world, ruleset, ground)
    walk.text(text, shell)
    if "\r" in text:
        # A shell keeps the sign, an editor or a terminal drops it: both readings count.
        walk.text(text.replace("\r\n", "\n").replace("\r", ""), shell)
    findings = walk.findings()
    if not text.isascii():
        findings.extend(_confusable(text, findings, ruleset, world, shell))
    refusals = tuple(dict.fromkeys(walk.refusals)) if walk.refusals else ()
    commands = tuple([step.command for step in walk.steps])
    return Scan(text, commands, tuple(findings), refusals, _is_read_only(walk, findings), tuple(walk.followed.items()))


def _is_read_only(walk: Walk, findings: list[Finding]) -> bool:
    from chrono.scan.readonly import changes_nothing

    if walk.refusals or not walk.steps:
        return False
    if walk.writes and any(redirect.op != "<" for redirect, _ in walk.writes):
        return False
    for step in walk.steps:  # noqa: SIM110 - a generator costs more than most of the answers
        if not changes_nothing(step.command, walk.ground):
            return False
    return True


class Walk:
    """Goes through a text and everything it starts, in the order of running."""

    def __init__(self, world: World, ruleset: Ruleset, ground: Ground) -> None:
        self.world = world
        self.ruleset = ruleset
        self.ground = ground
        self.steps: list[Step] = []
        self.refusals: list[Refusal] = []
        self.writes: list[tuple[Redirect, tuple[int, int]]] = []
        self.files: list[tuple[str, str]] = []
        self.copies: list[tuple[str, str]] = []
        self.followed: dict[str, str] = {}
        self._scripts: set[str] = set()
        self._open: list[tuple[object, ...]] = []
        self._beside = False
        self._started = 0
        self._started_chars = 0

    def text(self, text: str, shell: str) -> None:
        """Evaluates the outermost text."""
        self._take(_evaluate(text, self.world, shell), depth=0, followed=False)
        if self.files:
            self._later_files()

    def findings(self) -> list[Finding]:
        self.ground.written.update(self.files)
        found = findings_of(tuple(self.steps), self.ruleset, self.ground)
        found.extend(findings_of_writes(tuple(self.writes), self.ruleset, self.ground))
        return found

    def _take(self, evaluation: Evaluation, *, depth: int, followed: bool) -> None:
        commands, refusals, writes, files, copies = evaluation
        self.refusals += refusals
        self.writes += writes
        self.files += files
        self.copies += copies
        for command in commands:
            self.steps.append(Step(command, followed))
            if not command.builtin and is_followed(command.argv):
                self._follow(command, depth, followed, evaluation)

    def _follow(self, command: Command, depth: int, followed: bool, around: Evaluation) -> None:
        from chrono.scan.follow.started import started

        for answer in started(command, self.world, depth=depth, files=tuple(self.files), copies=tuple(self.copies)):
            if isinstance(answer, Refusal):
                self.refusals.append(answer)
                continue
            key = (answer.path, answer.text, answer.args, answer.cwd, answer.language)
            if key in self._open:
                continue
            if self._beside:
                answer = answer._replace(beside=True)
            if answer.path is not None and not answer.beside:
                self._scripts.add(answer.path)
            if answer.path is not None and answer.sha256 is not None:
                self.followed[answer.path] = answer.sha256
            excess = self._excess(answer)
            if excess:
                if not answer.beside:
                    self.refusals.append(Refusal("limit", excess, command.span))
                return
            self._open.append(key)
            refused, scripts = len(self.refusals), set(self._scripts)
            inside = self._counts_as_followed(answer, followed)
            # A chain of wrappers ends where scripts would, if it is far too long to be meant.
            deeper = 0 if answer.wrapper and len(answer.via) < _MAX_WRAPPERS else 1
            around_beside, self._beside = self._beside, answer.beside
            evaluation = _evaluate_started(answer, self.world, command, tuple(self.files))
            if not (answer.via[-1].endswith(" stdin") and _is_part(evaluation, around)):
                self._take(evaluation, depth=depth + deeper, followed=inside)
            if "\r" in answer.text and answer.language in _KEEP_RETURNS:
                again = answer._replace(text=answer.text.replace("\r\n", "\n"))
                self._take(_evaluate_started(again, self.world, command), depth=depth + deeper, followed=inside)
            self._beside = around_beside
            if answer.beside:
                del self.refusals[refused:]
                self._scripts = scripts
            self._open.pop()

    def _excess(self, answer: Started) -> str:
        """What there would be too much of if this text were followed too; "" where it is within the limits."""
        if len(self._scripts) > MAX_SCRIPTS:
            return f"it starts more than {MAX_SCRIPTS} scripts"
        self._started += 1
        self._started_chars += len(answer.text)
        if self._started > MAX_STARTED:
            return f"it starts more than {MAX_STARTED} commands through others"
        return f"it starts more than {MAX_STARTED_CHARS} characters" if self._started_chars > MAX_STARTED_CHARS else ""

    def _counts_as_followed(self, answer: Started, around: bool) -> bool:
        """Inline code and files that the text itself writes are the user's own words; a file on disk is not."""
        if answer.wrapper:
            return around
        return around or answer.sha256 is not None or (answer.path is None and not _is_inline(answer.via[-1]))

    def _later_files(self) -> None:
        """What the text writes into files that a shell or a tool runs later is judged as if it ran now."""
        from chrono.scan.follow.later import MAX_CHARS, Later, runs_later

        for path, text in list(dict(self.files).items()):
            found = runs_later(path, text)
            if not found and len(text) <= MAX_CHARS and self.ground.place(self.ground.real(path)) == "startup":
                found = (Later(text),)
            for later in found:
                if later.program:
                    named = Command(("run-later", later.text.split(" ")[0]), (path,), cwd=self.world.cwd)
                    self._take(Evaluation((named,)), depth=1, followed=True)
                evaluation = self._of_later(later, path)
                self._take(evaluation._replace(refusals=()), depth=1, followed=True)

    def _of_later(self, later: Later, path: str) -> Evaluation:
        if later.language not in SHELLS:
            from chrono.scan.code.languages import commands_of

            return commands_of(later.language, later.text, world=self.world, name=path)
        return _evaluate(later.text, self.world, "bash", via=(path,))


def _is_part(inner: Evaluation, around: Evaluation) -> bool:
    """Whether a shell's evaluator has run this text already, as it does with what is piped into a shell."""
    known = {command.argv for command in around.commands}
    return not inner.refusals and all(command.argv in known for command in inner.commands)


def _with_lines(found: Evaluation, text: str, at: int, span: tuple[int, int]) -> Evaluation:
    """Offsets in a script's own text as lines behind its name in the chain; `span` is what started it."""
    from chrono.scan.shell.origin import origin_of

    origin = origin_of(text, at, span)
    return found._replace(
        commands=tuple(c._replace(via=origin.via(c.via, c.span[0]), span=span) for c in found.commands),
        refusals=tuple(refusal._replace(span=span) for refusal in found.refusals),
        writes=tuple((redirect, span) for redirect, _ in found.writes),
    )


def _names_its_file(started: Started) -> bool:
    """Whether lines of the text are lines of the file that the chain names; a recipe's are not its makefile's."""
    return started.path is not None and started.via[-1].endswith(started.path.rpartition("/")[2])


def _is_inline(link: str) -> bool:
    return " -" in link or link.startswith("-") or "stdin" in link or link.endswith((" /c", " /k", " /r"))


def _evaluate_started(
    answer: Started, world: World, command: Command, files: tuple[tuple[str, str], ...] = ()
) -> Evaluation:
    from chrono.scan.code.languages import LANGUAGES, commands_of

    if answer.language in SHELLS:
        found = _evaluate(answer.text, world, answer.language, started=answer, span=command.span, fed=command)
        if command.windows and answer.language == "sh":
            return _under_windows(found, answer, world, command)
        return found
    if answer.language in LANGUAGES:
        return commands_of(
            answer.language,
            answer.text,
            world=world,
            name=answer.via[-1],
            args=answer.args,
            cwd=answer.cwd,
            via=answer.via[:-1],
            span=command.span,
            stdin=command.stdin,
            files=files,
            called=answer.called,
            beside=answer.beside,
            path=answer.path,
        )
    return Evaluation(())


def _under_windows(found: Evaluation, answer: Started, world: World, command: Command) -> Evaluation:
    """What a package manager runs under Windows: cmd.exe reads a package's script; a Unix reading counts beside it."""
    commands = tuple(one._replace(windows=True) for one in found.commands)
    if "package.json" not in answer.via[-1]:
        return found._replace(commands=commands)
    text = answer.text.removesuffix(' "$@"')
    other = _evaluate(text, world, "cmd", started=answer._replace(path=None), span=command.span)
    known = {one.argv for one in commands}
    commands += tuple(one for one in other.commands if one.argv not in known)
    return found._replace(commands=commands, writes=found.writes + other.writes)


def _evaluate(
    text: str,
    world: World,
    shell: str,
    *,
    via: tuple[str, ...] = (),
    started: Started | None = None,
    span: tuple[int, int] | None = None,
    fed: Command | None = None,
) -> Evaluation:
    """The text under the dialect of the shell that runs it; what `fed` reads, a program that the text only hands on
    reads."""
    if shell in WINDOWS_SHELLS:
        if started is not None and span is not None and _names_its_file(started):
            return _with_lines(_evaluate(text, world, shell, started=started), text, len(started.via) - 1, span)
        chain = started.via if started else via
        args = started.args if started else ()
        cwd = started.cwd if started else None
        if shell == "cmd":
            from chrono.scan.shell.cmdexe.evaluate import evaluate_cmd

            script = started is not None and started.path is not None
            return evaluate_cmd(text, world, args=args, cwd=cwd, via=chain, span=span, script=script)
        from chrono.scan.shell.powershell.evaluate import evaluate_powershell

        return evaluate_powershell(text, world, args=args, cwd=cwd, via=chain, span=span)
    from chrono.scan.shell.evaluate import evaluate

    dialect = {"dash": "sh", "ksh": "bash", "fish": "bash"}.get(shell, shell)
    if started is None:
        return evaluate(text, world, dialect=dialect, via=via)
    return evaluate(
        text,
        world,
        dialect=dialect,
        args=started.args,
        argv0=started.path or "bash",
        via=started.via,
        cwd=started.cwd,
        env=started.env,
        span=span,
        lines=_names_its_file(started),
        stdin=fed.stdin if fed is not None and started.wrapper else None,
        feeds=fed.upstream if fed is not None and started.wrapper else (),
    )


# --- look-alikes

_INVISIBLE = dict.fromkeys(
    [
        0xAD,
        0x34F,
        0x61C,
        0x115F,
        0x1160,
        0x180E,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
    ]
)
_SPACES = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_LETTERS = dict(
    zip(
        map(ord, "аеорсухіѕјԁһӏкмтвнгпАВЕКМНОРСТУХІЅЈαοερντικυ‐‑‒–—−⁄∕～＄／"),
        "aeopcyxisjdhlkmtbhrnABEKMHOPCTYXISJaoepvtiku------//~$/",
        strict=True,
    )
)


def folded(text: str) -> str:
    """The text as it looks: invisible characters gone, foreign spaces and look-alike letters in plain form."""
    plain = text.translate({**_INVISIBLE, **_SPACES, **_LETTERS})
    return "".join(chr(ord(c) - 0xFEE0) if 0xFF01 <= ord(c) <= 0xFF5E else c for c in plain)


def _confusable(text: str, findings: list[Finding], ruleset: Ruleset, world: World, shell: str) -> list[Finding]:
    """A finding where the text looks like something dangerous that it is not quite."""
    plain = folded(text)
    if plain == text:
        return []
    walk = Walk(world, ruleset, Ground(world))
    walk.text(plain, shell)
    known = {finding.rule for finding in findings}
    worst = max((f for f in walk.findings() if f.rule not in known), key=lambda f: f.score, default=None)
    if worst is None or worst.score < CONFUSABLE_SCORE:
        return []
    return [
        worst._replace(
            rule=CONFUSABLE,
            title=f"looks like something dangerous: {worst.title}",
            why="invisible or look-alike characters make the text read differently from what would run",
            safer="write the command in plain ASCII",
            reversible="no",
            span=(0, len(text)),
        )
    ]


# --- edits


def _scan_edit(paths: tuple[str, ...], ruleset: Ruleset, world: World) -> Scan:
    ground = Ground(world)
    steps = tuple(Step(Command(("edit-file", path), span=(0, 0), cwd=world.cwd)) for path in paths)
    findings = findings_of(steps, ruleset, ground)
    return Scan("\n".join(paths), tuple(step.command for step in steps), tuple(findings), (), False)
