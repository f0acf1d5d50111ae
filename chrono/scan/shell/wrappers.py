"""Owns programs that start another program named in their arguments: sudo, env, xargs, find, docker, ssh and so on.

Programs that run shell text hidden in an option are left to `sinks`, shells to `shells`. Each answers what it starts;
the wrapper itself has been reported before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from chrono.scan.shell.files_found import find_starts
from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.values import MANY_FIELDS, resolve
from chrono.scan.shell.xargs import xargs


class Options(NamedTuple):
    """How a wrapper's own options are read.

    `short` and `long`: options that take a value. `skip`: operands in front of the command. `assigns`: `NAME=value`
    words in front of the command belong to it. `value_only_long`: every unknown long option without `=` takes none.
    """

    short: str = ""
    long: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    remote: bool = False
    chdir: str = ""


def _long(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN: dict[str, Options] = {
    "sudo": Options("CDghpRrTtUu", _long("--chdir --close-from --chroot --group --host --prompt --role --type "
                    "--other-user --user --command-timeout"), assigns=True, chdir="D"),
    "doas": Options("Cu"),
    "nohup": Options(),
    "timeout": Options("ks", _long("--kill-after --signal"), skip=1),
    "gtimeout": Options("ks", _long("--kill-after --signal"), skip=1),
    "nice": Options("n", _long("--adjustment")),
    "ionice": Options("cnpPu", _long("--class --classdata --pid --pgid --uid")),
    "setsid": Options(),
    "stdbuf": Options("ieo", _long("--input --error --output")),
    "unbuffer": Options(),
    "time": Options("fo", _long("--format --output")),
    "gtime": Options("fo", _long("--format --output")),
    "strace": Options("abeEIoOpPsSuUX", _long("--output --attach --trace --env --user --string-limit"), assigns=True),
    "ltrace": Options("aAeDFlnopsuwx", _long("--output")),
    "chronic": Options(),
    "shx": Options(),
    "pkexec": Options("", _long("--user")),
    "sshpass": Options("pfdeP"),
    "mosh": Options("p", _long("--ssh --port --predict --server --client"), skip=1, remote=True),
    "proot": Options("rbqwRSk", _long("--rootfs --bind --cwd")),
    "caffeinate": Options("tw"),
    "fakeroot": Options("lisbu", _long("--lib --faked")),
    "firejail": Options(),
    "taskset": Options("", skip=1),
    "chrt": Options("TPD", _long("--sched-runtime --sched-period --sched-deadline"), skip=1),
    "numactl": Options("CNmip", _long("--cpunodebind --physcpubind --membind --interleave --preferred")),
    "prlimit": Options("p", _long("--pid --output")),
    "setarch": Options("", skip=1),
    "linux32": Options(),
    "linux64": Options(),
    "setpriv": Options("", _long("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits "
                       "--pdeathsig --selinux-label --apparmor-profile")),
    "runcon": Options("urtl", _long("--user --role --type --range"), skip=0),
    "choom": Options("np", _long("--adjust --pid")),
    "eatmydata": Options(),
    "dbus-run-session": Options("", _long("--config-file --dbus-daemon")),
    "xvfb-run": Options("enpswf", _long("--error-file --server-num --server-args --auth-file --xauth-protocol")),
    "rlwrap": Options("abcdfgHmopqrsSwzC"),
    "catchsegv": Options(),
    "valgrind": Options(),
    "proxychains": Options("f"),
    "proxychains4": Options("f"),
    "torsocks": Options("uiPp"),
    "tsocks": Options(),
    "daemonize": Options("cEeolpu"),
    "systemd-run": Options("pHMutEGd", _long("--property --unit --slice --description --uid --gid --nice "
                           "--working-directory --setenv --on-active --on-calendar --host --machine")),
    "systemd-inhibit": Options("", _long("--what --who --why --mode")),
    "unshare": Options("RwSG", _long("--root --wd --setuid --setgid --propagation --map-user --map-group")),
    "nsenter": Options("tSGrw", _long("--target --setuid --setgid"), remote=True),
    "chroot": Options("", _long("--userspec --groups"), skip=1, remote=True),
    "aws-vault": Options("", skip=2),
    "dotenv": Options("ef"),
    "env-cmd": Options("fer"),
    "cross-env": Options(assigns=True),
    "envdir": Options("", skip=1),
    "gdb": Options(),
    "perf": Options("eoFgcpt", skip=1),
    "lldb": Options(),
    "rbenv": Options("", skip=1),
    "pyenv": Options("", skip=1),
    "nodenv": Options("", skip=1),
    "direnv": Options("", skip=2),
    "with-contenv": Options(),
    "winpty": Options(),
    "gosu": Options("", skip=1),
    "su-exec": Options("", skip=1),
    "setuidgid": Options("", skip=1),
    "chpst": Options("ubeomdfcprtlP0123456"),
    "sem": Options("jS", _long("--id --jobs")),
    "retry": Options("tdnsm", _long("--times --delay --until --max --min")),
    "ts-exec": Options(),
}  # fmt: skip

_AFTER_WORD = frozenset(("perf", "rbenv", "pyenv", "nodenv", "direnv", "aws-vault"))


def peel(name: str, argv: Argv, state: State) -> list[Inner]:
    """What the wrapper called `name` starts; empty where it is none."""
    special = _SPECIAL.get(name)
    if special is None and name.startswith(("python", "pypy")):
        special = _module
    if special is not None:
        return special(argv, state)
    options = PLAIN.get(name)
    if options is None:
        return []
    if name in _AFTER_WORD and (len(argv) < 2 or argv[1] not in ("exec", "record", "stat", "trace", "run")):
        return []
    return _plain(name, argv, options, state)


def operands(argv: Argv, options: Options) -> tuple[Argv, dict[str, str]]:
    """(words from the first operand on, values of options by letter or long name)."""
    values: dict[str, str] = {}
    at = 1
    while at < len(argv):
        word = argv[at]
        if word == "--":
            at += 1
            break
        if len(word) < 2 or word[0] != "-" or word == MANY_FIELDS:
            break
        at += 1
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if equals:
                values[name] = value
            elif name in options.long and at < len(argv):
                values[name] = argv[at]
                at += 1
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in options.short:
                if place < len(word):
                    values[letter] = word[place:]
                elif at < len(argv):
                    values[letter] = argv[at]
                    at += 1
                break
            values.setdefault(letter, "")
    return argv[at:], values


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
    if name == "sudo" and not rest:
        return []
    if name == "sudo" and {"e", "l", "v", "K", "k"} & values.keys() and "--" not in argv:
        return [] if {"l", "v", "K"} & values.keys() or "e" in values else _as_list(rest, label, assigns, cwd)
    if name == "sudo" and {"s", "i"} & values.keys():
        # The shell that -s and -i start gets the words quoted, so the program is the same one.
        return _as_list(rest, label, assigns, cwd)
    return _as_list(rest, label, assigns, cwd, remote=options.remote)


def _as_list(
    argv: Argv, label: str, assigns: list[tuple[str, str]], cwd: str | None = None, *, remote: bool = False
) -> list[Inner]:
    if not argv:
        return []
    return [Inner(argv=argv, label=label, assigns=tuple(assigns), cwd=cwd, remote=remote)]


def _take_assigns(words: Argv, assigns: list[tuple[str, str]]) -> Argv:
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        if not equals or not name.replace("_", "a").isalnum():
            break
        assigns.append((name, value))
        at += 1
    return words[at:]


_ENV = Options("uCS", _long("--unset --chdir --split-string"))


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
    return [inner._replace(inherits=inherits) for inner in _as_list(rest, "env", assigns, cwd)]


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
    return _as_list(argv[1:], argv[0].rpartition("/")[2], [])


def _loader(argv: Argv, state: State) -> list[Inner]:
    """The dynamic loader called as a program: `/lib64/ld-linux-x86-64.so.2 /bin/rm …`."""
    rest, _ = operands(argv, Options("", _long("--library-path --preload --audit --argv0 --inhibit-rpath")))
    return _as_list(rest, argv[0].rpartition("/")[2], [])


_SSH = Options("BbcDEeFIiJLlmOopQRSWw")


def _ssh(argv: Argv, state: State) -> list[Inner]:
    """The words behind the host are joined and read by a shell over there."""
    rest, values = operands(argv, _SSH)
    if not rest:
        return []
    # Options may stand behind the host as well.
    host, rest = rest[0], rest[1:]
    rest = operands(("ssh", *rest), _SSH)[0] if rest and rest[0].startswith("-") else rest
    label = f"ssh {host}" if "\0" not in host else "ssh"
    out: list[Inner] = []
    command = values.get("o", "")
    if command.lower().startswith(("proxycommand", "localcommand")):
        out.append(Inner(text=command.partition("=")[2] or command.partition(" ")[2], label="ssh ProxyCommand"))
    if not rest:
        if state.stdin and "N" not in values:
            out.append(Inner(text=state.stdin, label=label, remote=True, stdin=""))
        return out
    text = " ".join("\0" if word == MANY_FIELDS else word for word in rest)
    return [*out, Inner(text=text, label=label, remote=True)]


_CONTAINER_RUN = Options(
    "acehlmpuvw",
    _long(
        "--add-host --annotation --attach --blkio-weight --cap-add --cap-drop --cgroup-parent --cidfile --cpu-period "
        "--cpu-quota --cpu-shares --cpus --cpuset-cpus --cpuset-mems --device --device-cgroup-rule --dns --dns-option "
        "--dns-search --domainname --entrypoint --env --env-file --expose --gpus --group-add --health-cmd --hostname "
        "--ip --ip6 --ipc --isolation --label --label-file --link --log-driver --log-opt --mac-address --memory "
        "--memory-swap --mount --name --network --net --network-alias --oom-score-adj --pid --pids-limit --platform "
        "--publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --storage-opt "
        "--sysctl --tmpfs --ulimit --user --userns --uts --volume --volume-driver --volumes-from --workdir "
        "--detach-keys --env-file --index --scale --profile"
    ),
)
_CONTAINER_GLOBAL = Options(
    "cHlfp", _long("--config --context --host --log-level --tlscacert --tlscert --tlskey --file --project-name "
                   "--profile --env-file --project-directory --connection --namespace -n --address --url"),
)  # fmt: skip


def _container(argv: Argv, state: State) -> list[Inner]:
    """docker, podman and nerdctl: `run` and `exec`, with or without `compose` and `container`."""
    name = argv[0].rpartition("/")[2]
    rest, _ = operands(argv, _CONTAINER_GLOBAL)
    if rest[:1] in (("compose",), ("container",)):
        rest, _ = operands(rest, _CONTAINER_GLOBAL)
    verb = rest[0] if rest else ""
    if verb not in ("run", "exec", "create"):
        return []
    rest, values = operands(rest, _CONTAINER_RUN)
    if not rest:
        return []
    command = rest[1:]
    entry = values.get("--entrypoint")
    if entry:
        command = (*entry.split(), *command)
    return _as_list(command, f"{name} {verb} {rest[0]}".replace("\0", "…"), [], "\0", remote=True)


_KUBECTL = Options(
    "cnfsv", _long("--container --namespace --context --cluster --kubeconfig --filename --server --token --user "
                   "--as --request-timeout --pod-running-timeout --image"),
)  # fmt: skip


def _kubectl(argv: Argv, state: State) -> list[Inner]:
    rest, _ = operands(argv, _KUBECTL)
    if rest[:1] not in (("exec",), ("run",), ("debug",)) or "--" not in rest:
        if rest[:1] != ("exec",):
            return []
        rest, _ = operands(rest, _KUBECTL)
        return _as_list(rest[1:], "kubectl exec", [], "\0", remote=True)
    command = rest[rest.index("--") + 1 :]
    return _as_list(command, f"kubectl {rest[0]}", [], "\0", remote=True)


def _su(argv: Argv, state: State) -> list[Inner]:
    """`su`, `runuser`: the text after -c; `runuser -u name cmd` a program."""
    name = argv[0].rpartition("/")[2]
    words = list(argv[1:])
    out: list[Inner] = []
    at = 0
    user = ""
    while at < len(words):
        word = words[at]
        at += 1
        if word in ("-c", "--command", "--session-command") and at < len(words):
            out.append(Inner(text=words[at], label=f"{name} -c"))
            at += 1
        elif word.startswith(("--command=", "--session-command=")):
            out.append(Inner(text=word.partition("=")[2], label=f"{name} -c"))
        elif word[:1] == "-" and word[1:2] != "-" and word.endswith("c") and at < len(words):
            out.append(Inner(text=words[at], label=f"{name} -c"))
            at += 1
        elif word in ("-u", "--user", "-g", "-G", "-s", "--shell", "-w") and at < len(words):
            user = words[at] if word in ("-u", "--user") else user
            at += 1
        elif not word.startswith("-") and user and name == "runuser":
            return _as_list(tuple(words[at - 1 :]), name, [])
        elif word == "--" and user and name == "runuser":
            return _as_list(tuple(words[at:]), name, [])
    if not out and state.stdin:
        out.append(Inner(text=state.stdin, label=name, stdin=""))
    return out


def _flock(argv: Argv, state: State) -> list[Inner]:
    """`flock file cmd` and `flock file -c text`."""
    rest, _ = operands(argv, Options("wE", _long("--timeout --wait --conflict-exit-code")))
    rest = rest[1:]
    if rest[:1] in (("-c",), ("--command",)) and len(rest) > 1:
        return [Inner(text=rest[1], label="flock -c")]
    return _as_list(rest[1:] if rest[:1] == ("--",) else rest, "flock", [])


def _watch(argv: Argv, state: State) -> list[Inner]:
    """`watch` joins its words for `sh -c`, unless -x."""
    rest, values = operands(argv, Options("nqs", _long("--interval --equexit --shotsdir")))
    if not rest:
        return []
    if "x" in values or "--exec" in argv:
        return _as_list(rest, "watch", [])
    return [Inner(text=_joined(rest), label="watch")]


def _joined(words: Argv) -> str:
    return " ".join("\0" if word == MANY_FIELDS else word for word in words)


def _parallel(argv: Argv, state: State) -> list[Inner]:
    """GNU parallel: one command for each argument behind `:::` or each line of input."""
    options = Options(
        "jLnNPSaIdC",
        _long(
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
    text = _joined(tuple(template))
    marked = False
    for mark in ("{}", "{.}", "{/}", "{//}", "{1}"):
        if mark in text:
            text = text.replace(mark, quoted if mark in ("{}", "{1}") else "\0")
            marked = True
    return text if marked else f"{text} {quoted}"


def _script(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("cEIOBTmo", _long("--command --echo --log-in --log-out --output-limit")))
    text = values.get("c") or values.get("--command")
    if text:
        return [Inner(text=text, label="script -c")]
    # The BSD form: script file command….
    return _as_list(rest[1:], "script", []) if len(rest) > 1 else []


def _tmux(argv: Argv, state: State) -> list[Inner]:
    """Commands of tmux that take a shell command, and keys sent with Enter behind them."""
    rest, _ = operands(argv, Options("cfLST"))
    verb = rest[0] if rest else ""
    options = Options("ceFflnpstxy")
    if verb in ("new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell",
                "run", "popup", "display-popup", "if-shell"):  # fmt: skip
        words, _ = operands(rest, options)
        return [Inner(text=_joined(words), label=f"tmux {verb}")] if words else []
    if verb in ("send-keys", "send"):
        words, _ = operands(rest, Options("tN"))
        keys = [word for word in words if word not in ("Enter", "C-m", "KPEnter")]
        return [Inner(text=_joined(tuple(keys)), label="tmux send-keys")] if len(keys) < len(words) else []
    return []


def _screen(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("cehpsStTX"))
    if "X" in values:
        return [Inner(text=rest[-1].rstrip("\n"), label="screen -X stuff")] if values["X"] == "stuff" and rest else []
    return _as_list(rest, "screen", [])


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
            out += _as_list(argv[at + 1 :], f"nix {argv[1]}", [])
            break
    return out


def _after_dashes(argv: Argv, state: State) -> list[Inner]:
    """`op run -- cmd`, `doppler run -- cmd`, `mise exec -- cmd`."""
    if "--" not in argv:
        return []
    at = argv.index("--")
    return _as_list(argv[at + 1 :], " ".join(argv[: min(at, 2)]).rpartition("/")[2].replace("\0", "…"), [])


def _hyperfine(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("wmMrspcnPDLSN", _long("--warmup --min-runs --max-runs --runs --setup "
                            "--prepare --cleanup --command-name --shell --export-json --export-markdown")))  # fmt: skip
    extra = [values[key] for key in ("s", "p", "c", "--setup", "--prepare", "--cleanup") if values.get(key)]
    return [Inner(text=text, label="hyperfine") for text in (*extra, *rest) if text != MANY_FIELDS]


def _entr(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("x"))
    if "s" in values and rest:
        return [Inner(text=rest[0], label="entr -s")]
    return _as_list(rest, "entr", [])


def _arch(argv: Argv, state: State) -> list[Inner]:
    rest, _ = operands(argv, Options("e"))
    return _as_list(rest, "arch", [])


def _agent(argv: Argv, state: State) -> list[Inner]:
    rest, _ = operands(argv, Options("aEtP"))
    return _as_list(rest, argv[0].rpartition("/")[2], [])


def _exec_file(argv: Argv, state: State) -> list[Inner]:
    """`gdb --args cmd`, `valgrind --tool=x cmd` take the rest; gdb without --args only debugs."""
    if "--args" not in argv:
        return []
    return _as_list(argv[argv.index("--args") + 1 :], argv[0].rpartition("/")[2], [])


_BWRAP_TWO = _long("--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file")
_BWRAP_ONE = _long(
    "--chdir --uid --gid --hostname --proc --dev --tmpfs --dir --unsetenv --mqueue --seccomp --sync-fd --info-fd "
    "--args --perms --size --lock-file --remount-ro --exec-label --file-label --cap-add --cap-drop --argv0 --userns"
)


def _bwrap(argv: Argv, state: State) -> list[Inner]:
    at = 1
    while at < len(argv) and argv[at].startswith("--"):
        at += 3 if argv[at] in _BWRAP_TWO else 2 if argv[at] in _BWRAP_ONE else 1
        if argv[at - 1] == "--":
            break
    return _as_list(argv[at:], "bwrap", [])


def _capsh(argv: Argv, state: State) -> list[Inner]:
    """`capsh -- args` starts bash with the arguments."""
    return _as_list(("bash", *argv[argv.index("--") + 1 :]), "capsh", []) if "--" in argv else []


def _fd(argv: Argv, state: State) -> list[Inner]:
    """`fd … -x cmd`: each name found in its place, or behind."""
    for at, word in enumerate(argv):
        if word in ("-x", "--exec", "-X", "--exec-batch") and at + 1 < len(argv):
            rest = argv[at + 1 :]
            command = rest[: rest.index(";")] if ";" in rest else rest
            found = _fd_finds(argv[1:at])
            filled = tuple(re.sub(r"\{[./]*\}", found.replace("\\", "\\\\"), item) for item in command)
            return _as_list(filled if filled != command else (*command, found), f"fd {word}", [])
    return []


def _fd_finds(words: Argv) -> str:
    """What `fd` finds, in one word: with the ending asked for, or the name where the pattern is a plain one."""
    rest, values = operands(("fd", *words), Options("etEdSoc", _long("--extension --type --exclude --max-depth "
                            "--size --owner --color --min-depth --changed-within --changed-before")))  # fmt: skip
    ending = values.get("e") or values.get("--extension")
    if ending:
        return f"./\0.{ending.lstrip('.')}"
    return f"./\0/{rest[0]}" if rest and re.fullmatch(r"[\w-]+", rest[0]) else "./\0"


def _start(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("xaucgnpsdkNIPRrK", _long("--exec --startas --user --chdir --pidfile "
                            "--name --chuid --group --signal --retry")))  # fmt: skip
    program = values.get("x") or values.get("--exec") or values.get("a") or values.get("--startas")
    starts = "S" in values or "--start" in values or "--start" in argv
    return _as_list((program, *rest), "start-stop-daemon", []) if program and starts else []


_CHRONO_RUN = Options("", _long("--from --to --link --timeout --message --name --session --agent"))


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
    return _as_list(command, label, [])


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


def _cwd(path: str, state: State) -> str:
    return resolve(state.cwds[0], path) or "\0"


_SPECIAL: dict[str, Callable[[Argv, State], list[Inner]]] = {
    "env": _env,
    "genv": _env,
    "busybox": _busybox,
    "toybox": _busybox,
    "ld-linux-x86-64.so.2": _loader,
    "ld-linux.so.2": _loader,
    "ld-linux-aarch64.so.1": _loader,
    "ld-musl-x86_64.so.1": _loader,
    "ssh": _ssh,
    "autossh": _ssh,
    "docker": _container,
    "podman": _container,
    "nerdctl": _container,
    "docker-compose": _container,
    "podman-compose": _container,
    "kubectl": _kubectl,
    "oc": _kubectl,
    "su": _su,
    "runuser": _su,
    "flock": _flock,
    "watch": _watch,
    "parallel": _parallel,
    "script": _script,
    "tmux": _tmux,
    "screen": _screen,
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
