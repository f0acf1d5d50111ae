"""Owns what pure programs write for known input: decoders, filters, generators. Text in, text out.

`echo` and `printf` are left to `printing`. Unknown runs pass through where the program keeps lines as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from chrono.scan.command import Glob
from chrono.scan.expression import expression
from chrono.scan.shell import filters
from chrono.scan.shell.files_found import find_names
from chrono.scan.shell.globbing import matching_files
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.printing import echo, printf
from chrono.scan.shell.state import State
from chrono.scan.shell.values import MANY_FIELDS, NUL_BYTE, resolve

MAX_CHARS = 1_000_000
Args = list[str]


def output_of(m: Machine, name: str, args: Sequence[str], state: State) -> str:
    """What the program writes to its standard output; an unknown run where that cannot be told."""
    own = _OWN.get(name)
    if own is not None:
        return own(m, list(args), state)
    read = filters.FILTERS.get(name)
    if read is None:
        return "\0"
    options, operands = read.split(list(args))
    text = _input(m, operands, state)
    if text is None or len(text) > MAX_CHARS or MANY_FIELDS in args or any("\0" in option for option in options):
        return "\0"
    if "\0" in text and not read.keeps_unknown:
        return "\0"
    answer = read.run(options, text)
    return "\0" if answer is None else answer


def _input(m: Machine, operands: Sequence[str], state: State) -> str | None:
    """The files named, else standard input."""
    if not operands:
        return state.stdin
    texts: list[str] = []
    named = [name for word in operands for name in _files_named(m, word, state)]
    for operand in named:
        text = state.stdin if operand == "-" else m.read_file(operand, state)
        if text is None:
            return None
        texts.append(text)
    return "".join(texts)


def _files_named(m: Machine, word: str, state: State) -> Sequence[str]:
    """A word for a shell's pattern stands for the files that match it."""
    return (matching_files(word, state.cwds[0], m.world) if isinstance(word, Glob) else ()) or (word,)


def _cat(m: Machine, args: Args, state: State) -> str:
    options = [arg for arg in args if arg.startswith("-") and len(arg) > 1]
    operands = [arg for arg in args if not arg.startswith("-") or arg == "-"]
    if any(option not in ("-u", "--", "-s") for option in options):
        return "\0"
    text = _input(m, operands, state)
    return "\0" if text is None else text


def _tee(m: Machine, args: Args, state: State) -> str:
    append = "-a" in args or "--append" in args
    for arg in args:
        if not arg.startswith("-") and arg != MANY_FIELDS:
            m.write_file(arg, state.stdin, state, append=append)
    return "\0" if state.stdin is None else state.stdin


def _echo(m: Machine, args: Args, state: State) -> str:
    return echo(args, escapes=False)


def _printf(m: Machine, args: Args, state: State) -> str:
    return printf(args)


def _pwd(m: Machine, args: Args, state: State) -> str:
    return f"{state.cwds[0] if len(state.cwds) == 1 else chr(0)}\n"


def _basename(m: Machine, args: Args, state: State) -> str:
    names = args
    suffix = ""
    if args[:1] == ["-s"]:
        suffix, names = args[1] if len(args) > 1 else "", args[2:]
    elif args[:1] == ["-a"] or args[:1] == ["--"]:
        names = args[1:]
    elif len(args) == 2:
        suffix, names = args[1], args[:1]
    out = []
    for name in names:
        base = name.rstrip("/").rpartition("/")[2] or ("/" if name.startswith("/") else name)
        if name == MANY_FIELDS or base.startswith("\0"):
            base = "\0" if "\0" in suffix or not base.endswith(suffix) else base
        if suffix and base.endswith(suffix) and base != suffix:
            base = base[: -len(suffix)]
        out.append(base + "\n")
    return "".join(out) if names else "\0"


def _dirname(m: Machine, args: Args, state: State) -> str:
    names = args[1:] if args[:1] == ["--"] else args
    out = []
    for name in names:
        bare = name.rstrip("/")
        head = bare.rpartition("/")[0].rstrip("/")
        shown = "/" if (not bare and name) or (not head and bare.startswith("/")) else head or "."
        out.append(("\0" if "\0" in bare.rpartition("/")[2] and "/" not in bare else shown) + "\n")
    return "".join(out) if names else "\0"


def _seq(m: Machine, args: Args, state: State) -> str:
    separator, width = "\n", False
    numbers: list[int] = []
    words = list(args)
    while words:
        word = words.pop(0)
        if word in ("-s", "--separator") and words:
            separator = words.pop(0)
        elif word.startswith("-s") and len(word) > 2:
            separator = word[2:]
        elif word in ("-w", "--equal-width"):
            width = True
        elif re.fullmatch(r"-?[0-9]{1,9}", word):
            numbers.append(int(word))
        else:
            return "\0"
    if not 1 <= len(numbers) <= 3:
        return "\0"
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (
        (numbers[0], 1, numbers[1]) if len(numbers) == 2 else (numbers[0], numbers[1], numbers[2])
    )  # fmt: skip
    if step == 0 or abs(last - first) // abs(step) > 5000:
        return "\0"
    values = [str(value) for value in range(first, last + (1 if step > 0 else -1), step)]
    if width and values:
        size = max(map(len, values))
        values = [value.zfill(size) for value in values]
    return separator.join(values) + "\n" if values else ""


def _mktemp(m: Machine, args: Args, state: State) -> str:
    """A fresh name: known but for its random part."""
    folder = state.get("TMPDIR")[0]
    root = folder.rstrip("/") if isinstance(folder, str) and folder else "/tmp"
    template = ""
    words = list(args)
    in_folder = False
    while words:
        word = words.pop(0)
        if word in ("-p", "--tmpdir") and words:
            root, in_folder = words.pop(0).rstrip("/"), True
        elif word.startswith("--tmpdir"):
            root, in_folder = word.partition("=")[2].rstrip("/") or root, True
        elif word == "-t":
            in_folder = True
        elif not word.startswith("-"):
            template = word
    shown = re.sub(r"X{3,}", "\0", template) if template else f"{root}/tmp.\0"
    shown = shown if "\0" in shown else shown + "\0"
    path = f"{root}/{shown}" if in_folder and not shown.startswith("/") else shown
    if any(arg in ("-d", "--directory", "-dt", "-td") for arg in args):
        m.made.add(path)
    return path + "\n"


def _find(m: Machine, args: Args, state: State) -> str:
    """One line for each start and what lies below it."""
    if any(arg.startswith(("-printf", "-exec", "-ok", "-delete", "-fprint", "-ls")) for arg in args):
        return "\0"
    end = NUL_BYTE if "-print0" in args else "\n"
    return "".join(name + end for name in find_names(("find", *args)) if name != MANY_FIELDS)


_REFERENCE = expression(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def _envsubst(m: Machine, args: Args, state: State) -> str:
    """Standard input with the values of variables put in."""
    if state.stdin is None:
        return "\0"

    def value(match: re.Match[str]) -> str:
        found = state.get(match[1] or match[2])
        return found[0] if len(found) == 1 and isinstance(found[0], str) else "\0"

    return _REFERENCE.sub(value, state.stdin)


def _nothing(m: Machine, args: Args, state: State) -> str:
    return ""


def _jq(m: Machine, args: Args, state: State) -> str:
    """A document that is changed and written out again; what a question gives is unknown."""
    from chrono.scan.shell.jq import jq, split

    read = split(args)
    text = _input(m, read[2], state) if read is not None else None
    if read is None or text is None or "\0" in text or any("\0" in arg for arg in args):
        return "\0"
    answer = jq(read[0], read[1], text)
    return "\0" if answer is None else answer


def _realpath(m: Machine, args: Args, state: State) -> str:
    """Lexically, as far as the words tell; links are left to whoever judges the path."""
    out = []
    for arg in args:
        if arg.startswith("-"):
            continue
        path = resolve(state.cwds[0], arg) if len(state.cwds) == 1 else None
        out.append((path if path is not None else "\0") + "\n")
    return "".join(out) if out else "\0"


def _dd(m: Machine, args: Args, state: State) -> str:
    """A copy of all that it reads; a part of it, or with other letters, is not told."""
    named = {name: value for name, _, value in (arg.partition("=") for arg in args)}
    if "of" in named:
        return ""
    text = m.read_file(named["if"], state) if "if" in named else state.stdin
    return "\0" if text is None or not named.keys() <= {"if", "bs", "ibs", "obs", "status"} else text


def _whoami(m: Machine, args: Args, state: State) -> str:
    return m.world.user + "\n"


def _id(m: Machine, args: Args, state: State) -> str:
    if args == ["-u"]:
        return f"{m.world.uid}\n"
    return f"{m.world.user}\n" if args in (["-un"], ["-u", "-n"], ["-nu"]) else "\0"


def _git(m: Machine, args: Args, state: State) -> str:
    """`git rev-parse --show-toplevel`, by which scripts find the folder of their project."""
    if args != ["rev-parse", "--show-toplevel"] or len(state.cwds) != 1:
        return "\0"
    folder = state.cwds[0]
    while folder.startswith("/") and folder != "/":
        if m.world.lstat(f"{folder}/.git") is not None:
            return f"{folder}\n"
        folder = folder.rpartition("/")[0] or "/"
    return "\0"


def which(m: Machine, args: Sequence[str], state: State) -> str:
    """The file that a name stands for along PATH: a line for each name; `/usr/bin/NAME` where it is not found here."""
    out = []
    for name in args:
        if name.startswith("-"):
            continue
        if name == MANY_FIELDS or "\0" in name:
            return "\0"
        out.append((name if "/" in name else _in_path(m, name, state)) + "\n")
    return "".join(out) if out else "\0"


def _in_path(m: Machine, name: str, state: State) -> str:
    folders = state.get("PATH")[0]
    for folder in folders.split(":") if isinstance(folders, str) else ():
        path = f"{folder.rstrip('/')}/{name}"
        if folder[:1] == "/" and "\0" not in folder and m.world.lstat(path) is not None:
            return path
    return f"/usr/bin/{name}"


def _base64_openssl(m: Machine, args: Args, state: State) -> str:
    """`openssl base64 -d` and `openssl enc -base64 -d`."""
    if args[:1] == ["enc"]:
        args = ["base64" if arg in ("-base64", "-a") else arg for arg in args[1:]]
    if "base64" not in args:
        return "\0"
    rest = [arg for arg in args if arg not in ("base64", "-A", "-e")]
    return output_of(m, "base64", rest, state)


_OWN: dict[str, Callable[[Machine, Args, State], str]] = {
    "cat": _cat,
    "tee": _tee,
    "sponge": _tee,
    "jq": _jq,
    "echo": _echo,
    "printf": _printf,
    "pwd": _pwd,
    "basename": _basename,
    "dirname": _dirname,
    "seq": _seq,
    "mktemp": _mktemp,
    "find": _find,
    "envsubst": _envsubst,
    "true": _nothing,
    "false": _nothing,
    "sleep": _nothing,
    "mkdir": _nothing,
    "touch": _nothing,
    "rm": _nothing,
    "realpath": _realpath,
    "dd": _dd,
    "which": which,
    "readlink": lambda m, args, state: _realpath(m, args, state) if "-f" in args else "\0",
    "whoami": _whoami,
    "id": _id,
    "openssl": _base64_openssl,
    "git": _git,
}
