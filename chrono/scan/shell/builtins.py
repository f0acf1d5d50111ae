"""Owns builtins that run text, leave a place or move about: eval, source, exec, trap, exit, cd, test, alias and so on.

Those that set variables are left to `variables`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from chrono.scan.command import Refusal
from chrono.scan.shell.conditions import decide_test
from chrono.scan.shell.machine import MAX_READ_BYTES, Inner, Machine
from chrono.scan.shell.printing import echo
from chrono.scan.shell.shells import STDIN_NAMES
from chrono.scan.shell.state import NONZERO_STATUS, UNKNOWN_STATUS, Argv, State, settle
from chrono.scan.shell.values import MANY_FIELDS, resolve
from chrono.scan.shell.variables import VARIABLES
from chrono.scan.world import Unreadable

Handler = Callable[[Machine, Argv, State], None]
GLOBAL_ALIAS = "alias -g "
"""In front of a name among the options: zsh expands that alias wherever the word stands."""
_SHOPTS = frozenset(("expand_aliases", "extglob", "nullglob", "lastpipe", "globstar", "dotglob"))


def _nothing(m: Machine, argv: Argv, state: State) -> None:
    state.status = 0


def _hash(m: Machine, argv: Argv, state: State) -> None:
    """`hash -p path name`: from here on the name starts that program, as a function would."""
    state.status = 0
    if len(argv) == 4 and argv[1] == "-p" and argv[3].isidentifier() and "\0" not in argv[2]:
        quoted = argv[2].replace("'", "'\\''")
        m.run_text(f"{argv[3]}() {{ '{quoted}' \"$@\"; }}", state)


def _unknown(m: Machine, argv: Argv, state: State) -> None:
    state.status = UNKNOWN_STATUS
    state.write("\0")


def _false(m: Machine, argv: Argv, state: State) -> None:
    state.status = 1


def _echo(m: Machine, argv: Argv, state: State) -> None:
    state.status = 0
    if state.outs is not None:
        state.write(echo(argv[1:], escapes=m.dialect != "bash", options=m.dialect != "dash"))


def _print(m: Machine, argv: Argv, state: State) -> None:
    """zsh's `print`."""
    state.status = 0
    if state.outs is None:
        return
    words = [word for word in argv[1:] if word not in ("-r", "-n", "-l", "--", "-")]
    joined = ("\n" if "-l" in argv else " ").join("\0" if word == MANY_FIELDS else word for word in words)
    state.write(joined if "-n" in argv else joined + "\n")


def _pwd(m: Machine, argv: Argv, state: State) -> None:
    state.status = 0
    if state.outs is not None:
        cwd = m.pick("PWD", state.cwds, state)
        state.write(f"{cwd}\n")


def _test(m: Machine, argv: Argv, state: State) -> None:
    args = argv[1:]
    if argv[0] == "[":
        args = args[:-1]
    decided = None if m.outside else decide_test(args)
    state.status = UNKNOWN_STATUS if decided is None else int(not decided)


def _eval(m: Machine, argv: Argv, state: State) -> None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    text = " ".join("\0" if word == MANY_FIELDS else word for word in words)
    state.status = 0
    m.run_text(text, state, label="eval")


def _source(m: Machine, argv: Argv, state: State) -> None:
    """`source file args`: the file's text in this shell."""
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    state.status = UNKNOWN_STATUS
    if not words or words[0] == MANY_FIELDS or "\0" in words[0]:
        return
    path = words[0]
    text = state.stdin if path in STDIN_NAMES and path != "-" else m.read_file(path, state)
    if text is None:
        _refuse_unreadable(m, path, state)
        return
    params = state.params
    if len(words) > 1:
        state.params = words[1:]
    m.returns.append([])
    around, m.loops = m.loops, []
    m.run_text(text, state, label=f"{argv[0]} {path}", is_file=path not in STDIN_NAMES)
    settle(state)
    for left in m.returns.pop():
        left.dead = False
        state.join(left)
    m.loops = around
    if len(words) > 1:
        state.params = params


def _refuse_unreadable(m: Machine, path: str, state: State) -> None:
    absolute = resolve(state.cwds[0], path)
    if absolute is None or absolute.startswith("/dev/"):
        return
    answer = m.world.read(absolute, MAX_READ_BYTES)
    if isinstance(answer, Unreadable) and answer.reason not in ("missing", "not a file"):
        m.refuse(Refusal("file", f"{path} would run but is {answer.reason}", m.here))


def _exec(m: Machine, argv: Argv, state: State) -> None:
    name: str | None = None
    at = 1
    while at < len(argv) and argv[at].startswith("-") and len(argv[at]) > 1:
        word = argv[at]
        at += 1
        if word == "--":
            break
        if word.endswith("a"):
            name = argv[at] if at < len(argv) else ""
            at += 1
    rest = argv[at:]
    if not rest:
        state.status = 0
        return
    if name is not None:
        m.emit((name, *rest[1:]), state, label="exec -a")
    m.ports.run_inner(m, Inner(argv=rest, label="exec"), state)
    m.leave(state)


def _command(m: Machine, argv: Argv, state: State) -> None:
    at = 1
    while at < len(argv) and argv[at].startswith("-") and len(argv[at]) > 1:
        word = argv[at]
        at += 1
        if word == "--":
            break
        if "v" in word:
            _located(m, argv[at:], state)
            return
        if "V" in word:
            _unknown(m, argv, state)
            return
    if at < len(argv):
        m.guarded("command", lambda: m.run_program(argv[at:], state, functions=False, builtins=True))


def _located(m: Machine, names: Argv, state: State) -> None:
    """`command -v NAME`: builtins and functions are named as they are, programs by their path."""
    state.status = UNKNOWN_STATUS
    if any(name in BUILTINS or name in state.funcs or name in state.aliases for name in names):
        state.write("".join(f"{name}\n" for name in names) if len(names) == 1 else "\0")
        return
    from chrono.scan.shell.programs import which

    state.write(which(m, names, state) if state.outs is not None else "")


def _type(m: Machine, argv: Argv, state: State) -> None:
    """`type -p NAME` and `type -P NAME` print a path; without them it is a sentence."""
    if argv[1:2] in (("-p",), ("-P",)):
        _located(m, argv[2:], state)
    else:
        _unknown(m, argv, state)


def _builtin(m: Machine, argv: Argv, state: State) -> None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    if words and words[0] in BUILTINS:
        m.guarded("builtin", lambda: m.run_program(words, state, functions=False, builtins=True))


def _modifier(m: Machine, argv: Argv, state: State) -> None:
    """zsh's precommand modifiers (`noglob`, `nocorrect`)."""
    if len(argv) > 1:
        m.run_program(argv[1:], state, functions=True, builtins=True)


def _repeat(m: Machine, argv: Argv, state: State) -> None:
    """zsh's `repeat N command`."""
    if len(argv) > 2:
        m.run_program(argv[2:], state, functions=True, builtins=True)


def _emulate(m: Machine, argv: Argv, state: State) -> None:
    if "-c" in argv and argv.index("-c") + 1 < len(argv):
        m.run_text(argv[argv.index("-c") + 1], state, label="emulate -c")


def _trap(m: Machine, argv: Argv, state: State) -> None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    state.status = 0
    if not words or words[0] in ("-p", "-l", "-P"):
        return
    text, signals = words[0], words[1:] or ("EXIT",)
    if len(words) == 1:
        text = "-"
    for signal in signals:
        if text in ("-", "") or text.isdecimal():
            m.traps.pop(signal, None)
        else:
            m.traps[signal] = text


def _exit(m: Machine, argv: Argv, state: State) -> None:
    if len(argv) > 1:
        state.status = int(argv[1]) & 0xFF if argv[1].isdecimal() and len(argv[1]) < 8 else UNKNOWN_STATUS
    m.leave(state)


def _return(m: Machine, argv: Argv, state: State) -> None:
    if len(argv) > 1:
        state.status = int(argv[1]) & 0xFF if argv[1].isdecimal() and len(argv[1]) < 8 else UNKNOWN_STATUS
    if not m.returns:
        return
    m.returns[-1].append(state.copy())
    state.dead = True


def _break(m: Machine, argv: Argv, state: State) -> None:
    level = int(argv[1]) if len(argv) > 1 and argv[1].isdecimal() and len(argv[1]) < 4 else 1
    state.status = 0
    if not m.loops:
        return
    frame = m.loops[max(len(m.loops) - level, 0)]
    (frame.breaks if argv[0] == "break" else frame.continues).append(state.copy())
    if level > 1:
        # The loops between end here as well.
        for inner in m.loops[len(m.loops) - level + 1 :]:
            inner.continues.clear()
    state.dead = True


def _cd(m: Machine, argv: Argv, state: State) -> None:
    words = [word for word in argv[1:] if not re.fullmatch(r"-[LPe@]+|--", word)]
    if not words:
        home = state.get("HOME")[0]
        target = home if isinstance(home, str) and home else m.world.home
    elif words[0] == "-":
        old = state.get("OLDPWD")[0]
        target = old if isinstance(old, str) else "\0"
    else:
        target = words[0]
    _move(m, target, state)


def _move(m: Machine, target: str, state: State) -> None:
    """Into a folder; where it is not sure that it exists, the state after a failure keeps the old one."""
    places = tuple(dict.fromkeys(_place(cwd, target) for cwd in state.cwds))
    found = m.world.lstat(places[0]) if len(places) == 1 and "\0" not in places[0] else None
    made = len(places) == 1 and places[0] in m.made
    if not made and (found is None or found.kind not in ("dir", "link")):
        failed = state.copy()
        failed.status = NONZERO_STATUS
        state.failed = failed
    if len(state.cwds) == 1:
        state.set("OLDPWD", state.cwds[0])
    state.cwds = places
    state.status = 0


def _place(cwd: str, target: str) -> str:
    if not target:
        return cwd
    if "\0" in target:
        # `cd "$(mktemp -d)"`: the folder it lies in is known.
        known = target.startswith("/") and ".." not in target.split("/")
        return target.rstrip("/") if known else "\0"
    return resolve(cwd, target) or "\0"


def _pushd(m: Machine, argv: Argv, state: State) -> None:
    words = [word for word in argv[1:] if word != "-n"]
    here = state.cwds[0] if len(state.cwds) == 1 else "\0"
    if not words:
        target = state.dirs[0] if state.dirs else "\0"
        state.dirs = (here, *state.dirs[1:])
    elif re.fullmatch(r"[-+]\d+", words[0]):
        target = "\0"
        state.dirs = ()
    else:
        target = words[0]
        state.dirs = (here, *state.dirs)
    _move(m, target, state)


def _popd(m: Machine, argv: Argv, state: State) -> None:
    target, state.dirs = (state.dirs[0], state.dirs[1:]) if state.dirs else ("\0", ())
    _move(m, target, state)


def _alias(m: Machine, argv: Argv, state: State) -> None:
    state.status = 0
    state.own()
    everywhere = "-g" in argv
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if equals and "\0" not in name:
            state.aliases[name] = (value, m.here[0])
            if everywhere:
                state.options |= {GLOBAL_ALIAS + name}


def _unalias(m: Machine, argv: Argv, state: State) -> None:
    state.own()
    for word in argv[1:]:
        if word == "-a":
            state.aliases.clear()
        state.aliases.pop(word, None)
    state.status = 0


_HANDED = {"bind": "-x", "complete": "-C", "compgen": "-C", "mapfile": "-C", "readarray": "-C"}


def _handed_over(m: Machine, argv: Argv, state: State) -> None:
    """Builtins that take text which the shell runs by itself later: at a key, a completion, a line that is read."""
    option = _HANDED[argv[0]]
    for before, text in pairwise(argv):
        if before == option and text != MANY_FIELDS:
            side = state.copy()
            side.outs = None
            command = text.partition(":")[2] if argv[0] == "bind" else text
            m.ports.run_inner(m, Inner(text=command, label=f"{argv[0]} {option}"), side)
    if argv[0] in ("mapfile", "readarray"):
        VARIABLES[argv[0]](m, argv, state)
    elif argv[0] == "compgen":
        _unknown(m, argv, state)
    else:
        state.status = 0


def _shopt(m: Machine, argv: Argv, state: State) -> None:
    state.status = 0
    for word in argv[2:]:
        if word in _SHOPTS:
            state.options = state.options | {word} if argv[1] in ("-s", "-so") else state.options - {word}


def _enable(m: Machine, argv: Argv, state: State) -> None:
    """`enable -n name`: from then on a program of that name runs."""
    state.status = 0
    if argv[1:2] == ("-n",):
        state.options |= {f"enable -n {name}" for name in argv[2:]}
    else:
        state.options -= {f"enable -n {name}" for name in argv[1:]}


BUILTINS: dict[str, Handler] = {
    **VARIABLES,
    ":": _nothing,
    "true": _nothing,
    "false": _false,
    "echo": _echo,
    "print": _print,
    "pwd": _pwd,
    "test": _test,
    "[": _test,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "exec": _exec,
    "command": _command,
    "builtin": _builtin,
    "noglob": _modifier,
    "nocorrect": _modifier,
    "repeat": _repeat,
    "emulate": _emulate,
    "trap": _trap,
    "exit": _exit,
    "logout": _exit,
    "return": _return,
    "break": _break,
    "continue": _break,
    "cd": _cd,
    "chdir": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "alias": _alias,
    "unalias": _unalias,
    "shopt": _shopt,
    "enable": _enable,
    "wait": _nothing,
    "jobs": _nothing,
    "hash": _hash,
    "umask": _nothing,
    "ulimit": _nothing,
    "disown": _nothing,
    "bind": _handed_over,
    "complete": _handed_over,
    "compopt": _nothing,
    "history": _unknown,
    "setopt": _nothing,
    "unsetopt": _nothing,
    "autoload": _nothing,
    "zmodload": _nothing,
    "times": _unknown,
    "type": _type,
    "dirs": _unknown,
    "bg": _unknown,
    "fg": _unknown,
    "kill": _unknown,
    "help": _unknown,
    "caller": _unknown,
    "compgen": _handed_over,
    "fc": _unknown,
    "suspend": _unknown,
    "mapfile": _handed_over,
    "readarray": _handed_over,
}
ZSH_ONLY = frozenset(("print", "noglob", "nocorrect", "repeat", "emulate", "setopt", "unsetopt", "autoload", "zmodload",
                      "integer", "chdir"))  # fmt: skip
NOT_DASH = frozenset(
    ("source", "declare", "typeset", "let", "mapfile", "readarray", "builtin", "pushd", "popd", "shopt", "enable",
     "disown", "bind", "complete", "compopt", "history", "dirs", "help", "caller", "compgen", "suspend", "logout"),
)  # fmt: skip
