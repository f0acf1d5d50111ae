"""Owns programs that start another program named in their arguments: sudo, env, xargs, find and so on.

Those that start it in another place are left to `elsewhere`, shell text hidden in an option to `sinks`, shells to
`shells`. Each answers what it starts; the wrapper itself has been reported before.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.shell.elsewhere import ELSEWHERE
from chrono.scan.shell.files_found import find_starts
from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.values import MANY_FIELDS
from chrono.scan.shell.wrapper_options import Options, as_list, joined, long_names, operands
from chrono.scan.shell.xargs import xargs

PLAIN: dict[str, Options] = {
    "sudo": Options("CDghpRrTtUu", long_names("--chdir --close-from --chroot --group --host --prompt --role --type "
                    "--other-user --user --command-timeout"), assigns=True, chdir="D"),
    "doas": Options("Cu"),
    "nohup": Options(),
    "timeout": Options("ks", long_names("--kill-after --signal"), skip=1),
    "gtimeout": Options("ks", long_names("--kill-after --signal"), skip=1),
    "nice": Options("n", long_names("--adjustment")),
    "ionice": Options("cnpPu", long_names("--class --classdata --pid --pgid --uid")),
    "setsid": Options(),
    "stdbuf": Options("ieo", long_names("--input --error --output")),
    "unbuffer": Options(),
    "time": Options("fo", long_names("--format --output")),
    "gtime": Options("fo", long_names("--format --output")),
    "strace": Options("abeEIoOpPsSuUX", long_names("--output --attach --trace --env --user --string-limit"),
                      assigns=True),
    "ltrace": Options("aAeDFlnopsuwx", long_names("--output")),
    "chronic": Options(),
    "shx": Options(),
    "pkexec": Options("", long_names("--user")),
    "sshpass": Options("pfdeP"),
    "mosh": Options("p", long_names("--ssh --port --predict --server --client"), skip=1, remote=True),
    "proot": Options("rbqwRSk", long_names("--rootfs --bind --cwd")),
    "caffeinate": Options("tw"),
    "fakeroot": Options("lisbu", long_names("--lib --faked")),
    "firejail": Options(),
    "taskset": Options("", skip=1),
    "chrt": Options("TPD", long_names("--sched-runtime --sched-period --sched-deadline"), skip=1),
    "numactl": Options("CNmip", long_names("--cpunodebind --physcpubind --membind --interleave --preferred")),
    "prlimit": Options("p", long_names("--pid --output")),
    "softlimit": Options("amdsloctfprk"),
    "cpulimit": Options("lpePi", long_names("--limit --pid --exe --path")),
    "wsl": Options("du", long_names("--distribution --user --cd --shell-type"), remote=True, chdir="--cd"),
    "machinectl": Options("EMnopqP", long_names("--setenv --machine --uid"), skip=2, remote=True),
    "rush": Options("jkdDirtv", long_names("--jobs --record-delimiter --nrecords --retries --timeout")),
    "linux32": Options(),
    "linux64": Options(),
    "setpriv": Options("", long_names("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits "
                       "--pdeathsig --selinux-label --apparmor-profile")),
    "runcon": Options("urtl", long_names("--user --role --type --range"), skip=0),
    "choom": Options("np", long_names("--adjust --pid")),
    "eatmydata": Options(),
    "dbus-run-session": Options("", long_names("--config-file --dbus-daemon")),
    "xvfb-run": Options("enpswf", long_names("--error-file --server-num --server-args --auth-file --xauth-protocol")),
    "rlwrap": Options("abcdfgHmopqrsSwzC"),
    "catchsegv": Options(),
    "valgrind": Options(),
    "proxychains": Options("f"),
    "proxychains4": Options("f"),
    "torsocks": Options("uiPp"),
    "tsocks": Options(),
    "daemonize": Options("cEeolpu"),
    "systemd-run": Options("pHMutEGd", long_names("--property --unit --slice --description --uid --gid --nice "
                           "--working-directory --setenv --on-active --on-calendar --host --machine")),
    "systemd-inhibit": Options("", long_names("--what --who --why --mode")),
    "unshare": Options("RwSG", long_names("--root --wd --setuid --setgid --propagation --map-user --map-group")),
    "nsenter": Options("tSGrw", long_names("--target --setuid --setgid"), remote=True),
    "chroot": Options("", long_names("--userspec --groups"), skip=1, remote=True),
    "aws-vault": Options("", skip=2),
    "dotenv": Options("ef"),
    "env-cmd": Options("fer"),
    "cross-env": Options(assigns=True),
    "envdir": Options("", skip=1),
    "gdb": Options(),
    "perf": Options("eoFgcpt", skip=1),
    "faketime": Options("", skip=1),
    "envchain": Options("", skip=1),
    "lldb": Options(),
    "rbenv": Options("", skip=1),
    "pyenv": Options("", skip=1),
    "nodenv": Options("", skip=1),
    "direnv": Options("", skip=2),
    "with-contenv": Options(),
    "winpty": Options(),
    "tsp": Options("LNDSt"),
    "railway": Options("se", long_names("--service --environment"), skip=1),
    "systemd-nspawn": Options(
        "DMiupEU", long_names("--directory --image --machine --user --setenv --bind"), remote=True
    ),
    "gosu": Options("", skip=1),
    "su-exec": Options("", skip=1),
    "setuidgid": Options("", skip=1),
    "chpst": Options("ubeomdfcprtlP0123456"),
    "sem": Options("jS", long_names("--id --jobs")),
    "retry": Options("tdnsm", long_names("--times --delay --until --max --min")),
    "ts-exec": Options(),
}  # fmt: skip

_AFTER_WORD = frozenset(("machinectl", "perf", "rbenv", "pyenv", "nodenv", "direnv", "aws-vault", "railway"))


def peel(name: str, argv: Argv, state: State) -> list[Inner]:
    """What the wrapper called `name` starts; empty where it is none."""
    special = _SPECIAL.get(name)
    if special is None and name.startswith(("python", "pypy")):
        special = _module
    if special is not None:
        return special(argv, state)
    options = PLAIN.get(name)
    if options is None:
        return _behind_dashes(name, argv) if "--" in argv else []
    if name in _AFTER_WORD and (len(argv) < 2 or argv[1] not in ("exec", "record", "stat", "trace", "run", "shell")):
        return []
    return _plain(name, argv, options, state)


def _plain(name: str, argv: Argv, options: Options, state: State) -> list[Inner]:
    rest, values = operands(argv, options)
    assigns: list[tuple[str, str]] = []
    rest = rest[options.skip :]
    if rest[:1] == ("--",):
        rest = rest[1:]
    if options.assigns:
        rest = _take_assigns(rest, assigns)
    label = name if not options.remote else f"{name} {' '.join(argv[1:2])}"
    cwd = values.get(options.chdir) if options.chdir else None
    if name == "sudo" and {"e", "l", "v", "K"} & values.keys() and "--" not in argv:
        return []
    # The shell that sudo's -s and -i start gets the words quoted, so the program is the same one.
    return as_list(rest, label, assigns, cwd, remote=options.remote)


def _take_assigns(words: Argv, assigns: list[tuple[str, str]]) -> Argv:
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        if not equals or not name.replace("_", "a").isalnum():
            break
        assigns.append((name, value))
        at += 1
    return words[at:]


_ENV = Options("uCS", long_names("--unset --chdir --split-string"))


def _env(argv: Argv, state: State) -> list[Inner]:
    """`env`, with -S splitting one word into several (coreutils manual, section env invocation)."""
    words = list(argv)
    for at, word in enumerate(words[1:], 1):
        text: str | None = None
        used = 1
        if word in ("-S", "--split-string") and at + 1 < len(words):
            text, used = words[at + 1], 2
        elif word.startswith("--split-string="):
            text = word.partition("=")[2]
        elif word[:1] == "-" and word[1:2] != "-" and "S" in word and "u" not in word and "C" not in word:
            text = word.partition("S")[2]
            if not text and at + 1 < len(words):
                text, used = words[at + 1], 2
        if text is not None:
            words[at : at + used] = split_words(text)
            break
        if word[:1] != "-" and "=" not in word:
            break
    rest, values = operands(tuple(words), _ENV)
    if rest[:1] == ("-",):
        rest = rest[1:]
    assigns: list[tuple[str, str]] = []
    rest = _take_assigns(rest, assigns)
    cwd = values.get("C", values.get("--chdir"))
    inherits = "i" not in values and "--ignore-environment" not in values and "-" not in argv[1:2]
    return [inner._replace(inherits=inherits) for inner in as_list(rest, "env", assigns, cwd)]


def split_words(text: str) -> list[str]:
    """Words the way `env -S` and simple configuration files split them: quotes and backslashes, no expansion."""
    out: list[str] = []
    current: list[str] = []
    quote = ""
    have = False
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and quote == '"' and at < len(text) and text[at] in '"\\$`':
                current.append(text[at])
                at += 1
            else:
                current.append(char)
        elif char in "\"'":
            quote, have = char, True
        elif char == "\\" and at < len(text):
            current.append(text[at])
            at += 1
            have = True
        elif char in " \t\n":
            if have:
                out.append("".join(current))
            current, have = [], False
        else:
            current.append(char)
            have = True
    if have:
        out.append("".join(current))
    return out


def _busybox(argv: Argv, state: State) -> list[Inner]:
    return as_list(argv[1:], argv[0].rpartition("/")[2], [])


def _loader(argv: Argv, state: State) -> list[Inner]:
    """The dynamic loader called as a program: `/lib64/ld-linux-x86-64.so.2 /bin/rm …`."""
    rest, _ = operands(argv, Options("", long_names("--library-path --preload --audit --argv0 --inhibit-rpath")))
    return as_list(rest, argv[0].rpartition("/")[2], [])


def _flock(argv: Argv, state: State) -> list[Inner]:
    """`flock file cmd` and `flock file -c text`."""
    rest, _ = operands(argv, Options("wE", long_names("--timeout --wait --conflict-exit-code")))
    rest = rest[1:]
    if rest[:1] in (("-c",), ("--command",)) and len(rest) > 1:
        return [Inner(text=rest[1], label="flock -c")]
    return as_list(rest[1:] if rest[:1] == ("--",) else rest, "flock", [])


def _watch(argv: Argv, state: State) -> list[Inner]:
    """`watch` joins its words for `sh -c`, unless -x."""
    rest, values = operands(argv, Options("nqs", long_names("--interval --equexit --shotsdir")))
    if not rest:
        return []
    if "x" in values or "--exec" in argv:
        return as_list(rest, "watch", [])
    return [Inner(text=joined(rest), label="watch")]


def _parallel(argv: Argv, state: State) -> list[Inner]:
    """GNU parallel: one command for each argument behind `:::` or each line of input."""
    options = Options(
        "jLnNPSaIdC",
        long_names(
            "--jobs --max-args --max-lines --arg-file --colsep --delimiter --joblog "
            "--tmpdir --results --sshlogin --retries --timeout --delay --tag --halt --load --memfree"
        ),
    )
    rest, values = operands(argv, options)
    marks = [at for at, word in enumerate(rest) if word in (":::", "::::", ":::+", "::::+")]
    template = list(rest[: marks[0]] if marks else rest)
    if marks and rest[marks[0]].startswith("::::"):
        arguments = ["\0"]
    elif marks:
        following = marks[1] if len(marks) > 1 else len(rest)
        arguments = [("\0" if len(marks) > 1 else word) for word in rest[marks[0] + 1 : following]]
    elif state.stdin is not None and "a" not in values:
        arguments = [line for line in state.stdin.split("\n") if line]
    else:
        arguments = ["\0"]
    arguments = ["\0" if word == MANY_FIELDS else word for word in arguments[:24]]
    if not template:
        return [Inner(text=argument, label="parallel") for argument in arguments if argument != "\0"]
    return [Inner(text=_filled(template, argument), label="parallel") for argument in arguments]


def _filled(template: list[str], argument: str) -> str:
    """The template with the argument put in, quoted as parallel does it."""
    plain = all(char.isalnum() or char in "_./:=@%+,-\0" for char in argument)
    quoted = argument if plain else "'" + argument.replace("'", "'\\''") + "'"
    text = joined(tuple(template))
    marked = False
    for mark in ("{}", "{.}", "{/}", "{//}", "{1}"):
        if mark in text:
            text = text.replace(mark, quoted if mark in ("{}", "{1}") else "\0")
            marked = True
    return text if marked else f"{text} {quoted}"


def _script(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("cEIOBTmo", long_names("--command --echo --log-in --log-out --output-limit")))
    text = values.get("c") or values.get("--command")
    if text:
        return [Inner(text=text, label="script -c")]
    # The BSD form: script file command….
    return as_list(rest[1:], "script", []) if len(rest) > 1 else []


def _find(argv: Argv, state: State) -> list[Inner]:
    return find_starts(argv, state)


def _xargs(argv: Argv, state: State) -> list[Inner]:
    return xargs(argv, state)


def _nix_shell(argv: Argv, state: State) -> list[Inner]:
    out = []
    for at, word in enumerate(argv):
        if word in ("--run", "--command") and at + 1 < len(argv):
            out.append(Inner(text=argv[at + 1], label=f"nix-shell {word}"))
        if word in ("-c", "--command") and argv[1:2] in (("develop",), ("shell",)):
            out += as_list(argv[at + 1 :], f"nix {argv[1]}", [])
            break
    return out


_STARTING = frozenset(("run", "exec", "shell", "enter", "ssh", "with-env"))
_OF_THEIR_OWN = frozenset(
    "cargo npm pnpm yarn bun deno go dotnet gradle gradlew mvn swift zig just task make mix stack cabal dune sbt git "
    "bazel bazelisk gh composer rails nx turbo flutter dart gleam lein clj raku elixir tox nox hatch rye pdm".split()
)
"""Programs that hand what stands behind `--` to a program of the project's, not to a shell's program of that name."""


def _behind_dashes(name: str, argv: Argv) -> list[Inner]:
    """`devbox run -- cmd`, `gcloud compute ssh host -- cmd`: a tool that nobody here knows says that it starts it."""
    at = argv.index("--")
    verb = next((word for word in argv[1:at] if word in _STARTING), None)
    command = argv[at + 1 :]
    if verb is None or name in _OF_THEIR_OWN or not command or command[0][:1] in ("-", "\0"):
        return []
    return as_list(command, f"{name} {verb}", [], remote=verb == "ssh")


def _after_dashes(argv: Argv, state: State) -> list[Inner]:
    """`op run -- cmd`, `doppler run -- cmd`, `mise exec -- cmd`."""
    if "--" not in argv:
        return []
    at = argv.index("--")
    return as_list(argv[at + 1 :], " ".join(argv[: min(at, 2)]).rpartition("/")[2].replace("\0", "…"), [])


def _hyperfine(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("wmMrspcnPDLSN", long_names("--warmup --min-runs --max-runs --runs --setup "
                            "--prepare --cleanup --command-name --shell --export-json --export-markdown")))  # fmt: skip
    extra = [values[key] for key in ("s", "p", "c", "--setup", "--prepare", "--cleanup") if values.get(key)]
    return [Inner(text=text, label="hyperfine") for text in (*extra, *rest) if text != MANY_FIELDS]


def _entr(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("x"))
    if "s" in values and rest:
        return [Inner(text=rest[0], label="entr -s")]
    return as_list(rest, "entr", [])


def _arch(argv: Argv, state: State) -> list[Inner]:
    rest, _ = operands(argv, Options("e"))
    return as_list(rest, "arch", [])


_STARTED_BY = {
    "js": "node", "mjs": "node", "cjs": "node", "ts": "node", "py": "python3", "sh": "bash", "rb": "ruby",
    "pl": "perl", "php": "php",
}  # fmt: skip


def _keeper(argv: Argv, state: State) -> list[Inner]:
    """`pm2 start FILE -- args`, `forever FILE`: a program that is kept running, by the ending of its file."""
    name = argv[0].rpartition("/")[2]
    rest, values = operands(argv, Options("nile", long_names("--name --interpreter --log --instances --cwd --uid")))
    if rest[:1] in (("start",), ("restart",)):
        rest, after = operands(rest, Options("nile", long_names("--name --interpreter --log --instances --cwd --uid")))
        values |= after
    elif name == "pm2":
        return []
    if not rest:
        return []
    if " " in rest[0]:
        return [Inner(text=rest[0], label=f"{name} start")]
    program = values.get("--interpreter") or _STARTED_BY.get(rest[0].rpartition(".")[2], "")
    return as_list((program, *rest) if program else rest, f"{name} start", [])


def _setarch(argv: Argv, state: State) -> list[Inner]:
    """`setarch [name] [options] command`: the name of the machine may be left out."""
    rest, _ = operands(argv, Options("p"))
    if len(argv) > 1 and argv[1][:1] != "-":
        rest, _ = operands(rest, Options("p"))
    return as_list(rest, "setarch", [])


def _packaged(argv: Argv, state: State) -> list[Inner]:
    """`flatpak run --command=sh APP -c …`, `snap run --shell APP -c …`: that program with the words behind APP."""
    rest, values = operands(argv[1:], Options("", long_names("--command --branch --arch --cwd")))
    program = values.get("--command") or ("sh" if "--shell" in values or "--shell" in argv else "")
    return as_list((program, *rest[1:]), " ".join(argv[:2]), []) if argv[1:2] == ("run",) and program else []


def _agent(argv: Argv, state: State) -> list[Inner]:
    rest, _ = operands(argv, Options("aEtP"))
    return as_list(rest, argv[0].rpartition("/")[2], [])


def _exec_file(argv: Argv, state: State) -> list[Inner]:
    """`gdb --args cmd`, `valgrind --tool=x cmd` take the rest; gdb without --args only debugs."""
    if "--args" not in argv:
        return []
    return as_list(argv[argv.index("--args") + 1 :], argv[0].rpartition("/")[2], [])


_BWRAP_TWO = long_names("--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file")
_BWRAP_ONE = long_names(
    "--chdir --uid --gid --hostname --proc --dev --tmpfs --dir --unsetenv --mqueue --seccomp --sync-fd --info-fd "
    "--args --perms --size --lock-file --remount-ro --exec-label --file-label --cap-add --cap-drop --argv0 --userns"
)


def _bwrap(argv: Argv, state: State) -> list[Inner]:
    at = 1
    while at < len(argv) and argv[at].startswith("--"):
        at += 3 if argv[at] in _BWRAP_TWO else 2 if argv[at] in _BWRAP_ONE else 1
        if argv[at - 1] == "--":
            break
    return as_list(argv[at:], "bwrap", [])


def _capsh(argv: Argv, state: State) -> list[Inner]:
    """`capsh -- args` starts bash with the arguments."""
    return as_list(("bash", *argv[argv.index("--") + 1 :]), "capsh", []) if "--" in argv else []


def _fd(argv: Argv, state: State) -> list[Inner]:
    """`fd … -x cmd`: each name found in its place, or behind."""
    for at, word in enumerate(argv):
        if word in ("-x", "--exec", "-X", "--exec-batch") and at + 1 < len(argv):
            rest = argv[at + 1 :]
            command = rest[: rest.index(";")] if ";" in rest else rest
            found = _fd_finds(argv[1:at])
            filled = tuple(re.sub(r"\{[./]*\}", found.replace("\\", "\\\\"), item) for item in command)
            return as_list(filled if filled != command else (*command, found), f"fd {word}", [])
    return []


def _fd_finds(words: Argv) -> str:
    """What `fd` finds, in one word: with the ending asked for, or the name where the pattern is a plain one."""
    rest, values = operands(("fd", *words), Options("etEdSoc", long_names("--extension --type --exclude --max-depth "
                            "--size --owner --color --min-depth --changed-within --changed-before")))  # fmt: skip
    ending = values.get("e") or values.get("--extension")
    if ending:
        return f"./\0.{ending.lstrip('.')}"
    return f"./\0/{rest[0]}" if rest and re.fullmatch(r"[\w-]+", rest[0]) else "./\0"


def _start(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("xaucgnpsdkNIPRrK", long_names("--exec --startas --user --chdir --pidfile "
                            "--name --chuid --group --signal --retry")))  # fmt: skip
    program = values.get("x") or values.get("--exec") or values.get("a") or values.get("--startas")
    starts = "S" in values or "--start" in values or "--start" in argv
    return as_list((program, *rest), "start-stop-daemon", []) if program and starts else []


_CHRONO_RUN = Options("", long_names("--from --to --link --timeout --message --name --session --agent"))


def _chrono(argv: Argv, state: State) -> list[Inner]:
    """`chrono run CMD` and `chrono bisect run -- CMD`; `run --shell` takes shell text."""
    rest, _ = operands(argv, Options())
    label = "chrono run"
    if rest[:1] == ("bisect",):
        rest, _ = operands(rest, Options())
        label = "chrono bisect run"
    if rest[:1] != ("run",):
        return []
    at = rest.index("--") if "--" in rest else len(rest)
    command, values = operands(rest, _CHRONO_RUN)
    if "--shell" in values:
        return [Inner(text=values["--shell"], label=label)]
    if "--shell" in rest[:at] and command and len(rest) - len(command) <= at + 1:
        return [Inner(text=" ".join("\0" if word == MANY_FIELDS else word for word in command), label=label)]
    return as_list(command, label, [])


def _tool_runner(argv: Argv, state: State) -> list[Inner]:
    """`uvx --from chrono-toolkit chrono run CMD`; what else they run is left to `follow.packages`."""
    tools = argv[0].endswith("uvx") or argv[1:2] == ("run",) or argv[1:3] == ("tool", "run")
    if not tools or "chrono" not in argv or (argv[0].endswith("uv") and argv[1:2] == ("run",)):
        return []
    return _chrono(argv[argv.index("chrono") :], state)


def _module(argv: Argv, state: State) -> list[Inner]:
    """`python -m chrono run CMD`; other modules are left to `follow.scripts`."""
    for at, word in enumerate(argv[1:], 1):
        if word == "-m" or (word[:1] == "-" and word[1:2] != "-" and word.endswith("m")):
            return _chrono(argv[at + 1 :], state) if argv[at + 1 : at + 2] == ("chrono",) else []
        if word.endswith("mchrono") and word[:1] == "-":
            return _chrono(("chrono", *argv[at + 1 :]), state)
        if word[:1] != "-" and argv[at - 1] not in ("-W", "-X"):
            return []
    return []


def _zargs(argv: Argv, state: State) -> list[Inner]:
    """zsh's `zargs [options] -- words -- command`: the words behind the command."""
    if "--" not in argv:
        return []
    words = argv[argv.index("--") + 1 :]
    if "--" not in words:
        return []
    at = words.index("--")
    return as_list((*words[at + 1 :], *words[:at]), "zargs", []) if words[at + 1 :] else []


def _zmv(argv: Argv, state: State) -> list[Inner]:
    """zsh's `zmv pattern name`: `mv`, or what -p names, of each file that matches."""
    rest, values = operands(argv, Options("po"))
    if len(rest) < 2 or "n" in values:
        return []
    # The words are patterns that zmv itself expands; a reference to a part of the name is unknown.
    files = rest[0].replace("(", "").replace(")", "").replace("**/*", "*").replace(" ", "\\ ")
    target = re.sub(r"\$(?:\w+|\{[^}]*\})", "\0", rest[1]).replace(" ", "\\ ")
    program = f"{values.get('p', 'mv')} {values.get('o', '')}"
    return [Inner(text=f"{program} {files} {target}", label="zmv")] if MANY_FIELDS not in rest[:2] else []


_SPECIAL: dict[str, Callable[[Argv, State], list[Inner]]] = {
    "env": _env,
    "genv": _env,
    "busybox": _busybox,
    "toybox": _busybox,
    "ld.so": _loader,
    "ld-linux-x86-64.so.2": _loader,
    "ld-linux.so.2": _loader,
    "ld-linux-aarch64.so.1": _loader,
    "ld-musl-x86_64.so.1": _loader,
    "flock": _flock,
    **ELSEWHERE,
    "watch": _watch,
    "parallel": _parallel,
    "script": _script,
    "zargs": _zargs,
    "zmv": _zmv,
    "zcp": _zmv,
    "find": _find,
    "gfind": _find,
    "bfs": _find,
    "xargs": _xargs,
    "gxargs": _xargs,
    "nix-shell": _nix_shell,
    "nix": _nix_shell,
    "op": _after_dashes,
    "doppler": _after_dashes,
    "mise": _after_dashes,
    "asdf": _after_dashes,
    "infisical": _after_dashes,
    "chamber": _after_dashes,
    "teller": _after_dashes,
    "vagrant-exec": _after_dashes,
    "hyperfine": _hyperfine,
    "entr": _entr,
    "arch": _arch,
    "setarch": _setarch,
    "pm2": _keeper,
    "forever": _keeper,
    "flatpak": _packaged,
    "snap": _packaged,
    "bwrap": _bwrap,
    "capsh": _capsh,
    "fd": _fd,
    "fdfind": _fd,
    "ssh-agent": _agent,
    "chrono": _chrono,
    "pipx": _tool_runner,
    "uvx": _tool_runner,
    "uv": _tool_runner,
    "gdb": _exec_file,
    "lldb": _exec_file,
    "start-stop-daemon": _start,
}
