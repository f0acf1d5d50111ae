"""Owns what programs started under Windows start in turn: wsl, runas, start, forfiles, wmic, and the usual wrappers.

Both `powershell` and `cmdexe` ask it. Text for another PowerShell or cmd.exe is left to the followers.
"""

from __future__ import annotations

from chrono.scan.command import UNKNOWN, Command, Word
from chrono.scan.world import World

_WRAPPERS = frozenset(
    """sudo gsudo doas env nohup timeout time nice bash sh zsh dash busybox xargs find docker podman docker-compose
    kubectl ssh git npx pnpm yarn npm uv poetry pipenv su script watch parallel awk vim nvim vi tar rsync psql mysql
    sqlite3 nc ncat socat direnv mise op doppler dotenv cross-env concurrently""".split()
)
_MARKS: dict[str, tuple[str, ...]] = {
    "git": (
        "--config", "config", "submodule", "bisect", "rebase", "filter", "difftool", "mergetool", "--exec", "-x",
        "--upload", "--receive", "clone", "fetch", "grep", "-o", "--open", "alias", "send-email", "instaweb", "gc",
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("exec", "x", "dlx", "-c", "--call", "--script-shell", "node")),
    **dict.fromkeys(("docker", "podman"), ("exec", "run", "compose", "create", "build")),
    "docker-compose": ("exec", "run"),
    **dict.fromkeys(("uv", "poetry", "pipenv"), ("run", "x", "tool")),
    **dict.fromkeys(("psql", "mysql", "sqlite3"), ("-c", "--", "-e", ".", "\\!", "-f")),
}  # fmt: skip
_VALUE_FLAGS = {"-d", "--distribution", "-u", "--user", "--cd", "--shell-type"}


def program_of(word: Word) -> str:
    """A program's name in small letters, without folder and `.exe`; "" where it is not known."""
    if not isinstance(word, str):
        return ""
    name = word.replace("\\", "/").rpartition("/")[2].lower()
    return name.removesuffix(".exe").removesuffix(".com")


def started_by(
    argv: tuple[Word, ...], world: World, *, cwd: str, via: tuple[str, ...], span: tuple[int, int]
) -> tuple[Command, ...]:
    """The commands that a program starts for its arguments, the program itself not among them."""
    if not argv:
        return ()
    name = program_of(argv[0])
    reader = _READERS.get(name)
    if reader is not None:
        inner = reader(argv)
        if inner is None:
            return ()
        words, label, posix = inner
        if posix:
            found = _posix(words, world, cwd="\0", via=(*via, label), span=span, text=False)
            if posix == "text" and all(isinstance(word, str) for word in words):
                found = (*found, *_posix(words, world, cwd="\0", via=(*via, label), span=span, text=True))
            return tuple(dict.fromkeys(found))
        folder: Word = UNKNOWN if "\0" in cwd else cwd
        command = Command(words, (*via, label), span, folder, windows=True)
        return (command, *started_by(words, world, cwd=cwd, via=(*via, label), span=span)) if len(via) < 12 else ()
    if name in _WRAPPERS and _may_start(name, argv):
        found = _posix((name, *argv[1:]), world, cwd=cwd, via=via, span=span, text=False)[1:]
        return tuple(command._replace(windows=True) for command in found)
    return ()


def _may_start(name: str, argv: tuple[Word, ...]) -> bool:
    """Whether a program that mostly does its own work may start something for these arguments."""
    if name == "git" and argv[1:2] and argv[1] in ("-c", "-C", "--git-dir"):
        return True
    marks = _MARKS.get(name)
    return marks is None or any(not isinstance(word, str) or word.lower().startswith(marks) for word in argv[1:])


def _posix(
    words: tuple[Word, ...], world: World, *, cwd: str, via: tuple[str, ...], span: tuple[int, int], text: bool
) -> tuple[Command, ...]:
    """What a Unix shell makes of words; with `text`, of the text that they are joined to."""
    from chrono.scan.shell.evaluate import evaluate

    folder = None if "\0" in cwd or not cwd.startswith("/") else cwd
    if text and all(isinstance(word, str) for word in words):
        found = evaluate(" ".join(map(str, words)), world, cwd=folder, via=via, span=span)
    else:
        line = " ".join(f'"${{{at}}}"' for at in range(1, len(words) + 1))
        found = evaluate(line, world, args=words, cwd=folder, via=via, span=span)
    return found.commands


Inner = tuple[tuple[Word, ...], str, str]
"""The words of what is started, how the chain names it, and whether a Unix shell takes them ("", "words", "text")."""


def _wsl(argv: tuple[Word, ...]) -> Inner | None:
    at = 1
    posix = "text"
    while at < len(argv):
        word = argv[at]
        if not isinstance(word, str) or not word.startswith("-"):
            break
        at += 1
        if word in ("--", "-e", "--exec"):
            posix = "words" if word != "--" else "text"
            break
        if word in _VALUE_FLAGS:
            at += 1
        elif word in ("--shutdown", "--unregister", "--list", "-l", "--status", "--update", "--terminate", "-t"):
            return None
    return (argv[at:], "wsl", posix) if at < len(argv) else None


def _runas(argv: tuple[Word, ...]) -> Inner | None:
    rest = [word for word in argv[1:] if not (isinstance(word, str) and word.startswith("/"))]
    return (("cmd", "/c", *rest), "runas", "") if rest else None


def _start(argv: tuple[Word, ...]) -> Inner | None:
    at = 1
    while at < len(argv):
        word = argv[at]
        if isinstance(word, str) and word.startswith("/"):
            at += 2 if word.lower() in ("/d", "/node", "/affinity") else 1
        else:
            break
    return (argv[at:], "start", "") if at < len(argv) else None


def _forfiles(argv: tuple[Word, ...]) -> Inner | None:
    folder: Word = "."
    text: Word | None = None
    recurse = False
    for at, word in enumerate(argv):
        if not isinstance(word, str):
            continue
        lower = word.lower()
        if lower == "/p" and at + 1 < len(argv):
            folder = argv[at + 1]
        elif lower == "/c" and at + 1 < len(argv):
            text = argv[at + 1]
        elif lower == "/s":
            recurse = True
    if not isinstance(text, str):
        return None
    base = folder.rstrip("\\/") if isinstance(folder, str) else "\0"
    found = f"{base}\\*"
    text = text.replace("0x22", '"')
    for name in ("@path", "@file", "@PATH", "@FILE", "@relpath"):
        text = text.replace(f'"{name}"', found).replace(name, found)
    if recurse and " del " in f" {text} ".lower():
        text = text.replace("del ", "del /s ", 1)
    return ("cmd", "/c", text.removeprefix("cmd /c ").removeprefix("cmd.exe /c ")), "forfiles", ""


def _wmic(argv: tuple[Word, ...]) -> Inner | None:
    words = [word.lower() if isinstance(word, str) else "" for word in argv]
    if "process" in words and "call" in words and "create" in words:
        at = words.index("create") + 1
        return (("cmd", "/c", *argv[at : at + 1]), "wmic process call create", "") if at < len(argv) else None
    return None


def _conhost(argv: tuple[Word, ...]) -> Inner | None:
    rest = tuple(word for word in argv[1:] if not (isinstance(word, str) and word.startswith("--")))
    return (rest, "conhost", "") if rest else None


def _psexec(argv: tuple[Word, ...]) -> Inner | None:
    at = 1
    while at < len(argv):
        word = argv[at]
        if not isinstance(word, str) or word[:1] not in ("-", "/", "\\"):
            break
        at += 2 if word.lower() in ("-u", "-p", "-n", "-w", "-a", "-r") else 1
    return (argv[at:], "psexec", "") if at < len(argv) else None


_READERS = {
    "wsl": _wsl,
    "runas": _runas,
    "start": _start,
    "forfiles": _forfiles,
    "wmic": _wmic,
    "conhost": _conhost,
    "psexec": _psexec,
    "psexec64": _psexec,
    "gsudo": _conhost,
}
