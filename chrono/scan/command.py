"""Owns the values that evaluation yields: words, commands, refusals, and what a reader raises where it gives up.

How text becomes these values is left to `scan.shell`; what they mean to `scan.match`.
"""

from __future__ import annotations

from chrono.tuples import NamedTuple


class Pattern(NamedTuple):
    """A word known in part: strings, and None for an unknown run of characters. `(None,)` is wholly unknown."""

    pieces: tuple[str | None, ...]


class Many(NamedTuple):
    """An unknown number of unknown words (an unquoted `$x`, `"$@"` of an unknown caller)."""


class Glob(str):
    """A constant word that the shell matches against file names (`*.pyc` where it is not quoted), as written."""

    __slots__ = ()


MANY = Many()
UNKNOWN = Pattern((None,))

Word = str | Pattern | Many
"""One argument: a constant (a `Glob` where the shell expands it), a pattern, or MANY. Bytes that are not UTF-8 travel
as surrogate escapes."""


class Redirect(NamedTuple):
    """`op` as written (`>`, `>>`, `>|`, `<`, `<>`, `&>`, `&>>`, `<<<`, `<<`); `target` the file or, for `<<<` and
    `<<`, the text."""

    op: str
    fd: int | None
    target: Word


class Command(NamedTuple):
    """One program start that the text can cause.

    - `argv`: program and arguments; never empty.
    - `via`: how it comes to run, outermost first: `"sudo"`, `"sh -c"`, `"package.json:scripts.test"`,
      `"scripts/x.sh:4"`; empty for a word the user typed.
    - `span`: character offsets [start, end) into the text that was given to the scanner (the outermost one).
    - `cwd`: the folder it runs in where known.
    - `stdin`: text that reaches its standard input where known.
    - `upstream`: argvs of the programs that feed its standard input, nearest last (`curl … | sh`).
    - `assigns`: assignments in front of it (`FOO=1 cmd`).
    - `after`: "always", "success" or "failure" of the command before it (`;`, `&&`, `||`).
    - `env`: shell variables visible to it that a follower may need (exported constants only).
    - `builtin`: the shell itself runs it, so no program starts (`cd`, `eval`, `echo`, a call of `exec`).
    - `unset`: names of variables in its words that are set neither by the text nor in the environment; they count
      as empty in `argv`.
    - `windows`: PowerShell or cmd.exe runs it: a backslash separates folders, capitals do not matter.
    - `seen`: what it prints is shown; not so what a pipe, a file or a substitution takes.
    """

    argv: tuple[Word, ...]
    via: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    cwd: Word = UNKNOWN
    redirects: tuple[Redirect, ...] = ()
    stdin: Word | None = None
    upstream: tuple[tuple[Word, ...], ...] = ()
    assigns: tuple[tuple[str, Word], ...] = ()
    after: str = "always"
    env: tuple[tuple[str, str], ...] = ()
    builtin: bool = False
    unset: tuple[str, ...] = ()
    windows: bool = False
    seen: bool = True


class Refusal(NamedTuple):
    """Something that is refused rather than half-checked.

    `kind`: "unparsed" (not understood -> ask), "limit" (a limit was reached -> block), "file" (a file that would run
    cannot be read as it is -> block), "nul" (-> block), "error" (the scanner itself failed -> block). `why` is for
    people.
    """

    kind: str
    why: str
    span: tuple[int, int] = (0, 0)


class Unparsed(Exception):
    """A text is not understood; `at` is the offset where reading stopped. A Refusal at the door."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class LimitReached(Exception):
    """A text is longer, deeper or busier than is looked at. A Refusal at the door."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Evaluation(NamedTuple):
    """What one text can run.

    `commands` in order of evaluation. `writes` are redirections of compound commands, of substitutions and of
    no command at all (`> file`, `{ …; } > file`, `$(< file)`), reading ones among them, as (redirection, span).
    `files` are files the text itself writes with known content (absolute path, text), so that a later `sh x.sh` can be
    followed; `copies` are (absolute path, the file on the machine that it was copied or moved from).
    """

    commands: tuple[Command, ...]
    refusals: tuple[Refusal, ...] = ()
    writes: tuple[tuple[Redirect, tuple[int, int]], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
