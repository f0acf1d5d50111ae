"""Owns which text a shell program runs: after `-c`, a script file, or its standard input."""

from __future__ import annotations

from chrono.scan.expression import expression
from chrono.scan.shell.state import Argv
from chrono.scan.shell.values import MANY_FIELDS
from chrono.tuples import NamedTuple

SHELLS = {
    "sh": "sh", "dash": "dash", "ash": "dash", "posh": "dash", "bash": "bash", "rbash": "bash", "ksh": "bash",
    "ksh93": "bash", "mksh": "bash", "zsh": "zsh", "fish": "bash", "lksh": "bash", "yash": "bash",
}  # fmt: skip

STDIN_NAMES = frozenset(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"))

# Where dash and bash read or write the same text differently. Substrings and short patterns only: the text may be long.
_DIFFERENT = (
    "$'", '$"', "$[", "[[", "((", "<(", ">(", "<<<", "&>", "=(", "function", "select", "coproc", "time ", "source",
    "let ", "alias", "declare", "typeset",
)  # fmt: skip
_DIFFERENT_SHORT = expression(r"\{[^\s{}$]{0,200}(?:,|\.\.)|\$\{[!#]?\w{1,60}[/^,:\[@]|~[+-]")


class ShellCall(NamedTuple):
    """`text` after -c (`file` and `stdin` unset), the script `file`, or `stdin` alone. `args` begin with $0."""

    dialect: str
    text: str | None = None
    file: str | None = None
    stdin: bool = False
    args: Argv = ()
    label: str = ""
    options: str = ""
    startup: Argv = ()


def read_call(name: str, argv: Argv) -> ShellCall | None:
    """How the shell `name` was called; None where it only prints something."""
    dialect = SHELLS[name]
    at = 1
    letters = ""
    startup: list[str] = []
    while at < len(argv):
        word = argv[at]
        if word == MANY_FIELDS:
            break
        if word in ("--", "-") and "c" not in letters:
            at += 1
            break
        if len(word) < 2 or word[0] not in "-+" or word == "--":
            if word in ("--", "-"):
                at += 1
            break
        at += 1
        if word.startswith("--"):
            if word in ("--version", "--help"):
                return None
            if word in ("--rcfile", "--init-file"):
                startup.append(argv[at] if at < len(argv) else "")
                at += 1
            if word == "--command":
                letters += "c"
            continue
        if word[0] == "-":
            letters += word[1:]
        # Each o and O in a cluster takes one word of its own.
        at += word[1:].count("o") + word[1:].count("O")
    rest = argv[at:]
    if "c" in letters:
        if not rest:
            return None
        return ShellCall(dialect, rest[0], args=rest[1:], label=f"{name} -c", options=letters, startup=tuple(startup))
    if "s" in letters or not rest:
        return ShellCall(dialect, stdin=True, args=(name, *rest), label=f"| {name}", options=letters,
                         startup=tuple(startup))  # fmt: skip
    if rest[0] in STDIN_NAMES:
        return ShellCall(dialect, stdin=True, args=rest, label=f"| {name}", options=letters, startup=tuple(startup))
    return ShellCall(dialect, file=rest[0], args=rest, label=name, options=letters, startup=tuple(startup))


def dialects_of(dialect: str, text: str) -> tuple[str, ...]:
    """The dialects that may run a text: `sh` is dash or bash, zsh counts with bash; one where they agree."""
    if dialect == "sh":
        return ("dash", "bash") if _differs(text) else ("bash",)
    if dialect == "zsh":
        return ("zsh", "bash")
    return (dialect,)


def _differs(text: str) -> bool:
    if any(mark in text for mark in _DIFFERENT):
        return True
    if "\\" in text and "echo" in text:
        return True
    if "$" in text and ("local" in text or "export" in text or "readonly" in text):
        return True
    return ("{" in text or "~" in text) and _DIFFERENT_SHORT.search(text) is not None
