"""Owns programs that start another one in another place: a machine, a container, a cluster, an account, a terminal.

Wrappers that start it here are left to `wrappers`, how their options are read to `wrapper_options`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.values import MANY_FIELDS
from chrono.scan.shell.wrapper_options import Options, as_list, joined, long_names, operands

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
    long_names(
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
    "cHlfp", long_names("--config --context --host --log-level --tlscacert --tlscert --tlskey --file --project-name "
                   "--profile --env-file --project-directory --connection --namespace -n --address --url"),
)  # fmt: skip


_SHARES = frozenset(("v", "--volume", "--mount", "--volumes-from", "--privileged", "--device", "--pid", "--cap-add"))


def _container(argv: Argv, state: State) -> list[Inner]:
    """docker, podman and nerdctl: `run` and `exec`, with or without `compose` and `container`.

    The link of a container that may see files of this machine, or a volume, is `docker run -v IMAGE`.
    """
    name = argv[0].rpartition("/")[2]
    rest, _ = operands(argv, _CONTAINER_GLOBAL)
    composed = rest[:1] == ("compose",) or name.endswith("-compose")
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
    # A service of compose has the folders that its file names.
    own = verb != "exec" and not composed and not values.keys() & _SHARES
    label = f"{name} {verb} {'' if own or verb == 'exec' else '-v '}{rest[0]}".replace("\0", "…")
    return as_list(command, label, [], "\0", remote=True)


_KUBECTL = Options(
    "cnfsv", long_names("--container --namespace --context --cluster --kubeconfig --filename --server --token --user "
                   "--as --request-timeout --pod-running-timeout --image"),
)  # fmt: skip


def _kubectl(argv: Argv, state: State) -> list[Inner]:
    rest, _ = operands(argv, _KUBECTL)
    if rest[:1] not in (("exec",), ("run",), ("debug",)) or "--" not in rest:
        if rest[:1] != ("exec",):
            return []
        rest, _ = operands(rest, _KUBECTL)
        return as_list(rest[1:], "kubectl exec", [], "\0", remote=True)
    command = rest[rest.index("--") + 1 :]
    return as_list(command, f"kubectl {rest[0]}", [], "\0", remote=True)


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
            return as_list(tuple(words[at - 1 :]), name, [])
        elif word == "--" and user and name == "runuser":
            return as_list(tuple(words[at:]), name, [])
    if not out and state.stdin:
        out.append(Inner(text=state.stdin, label=name, stdin=""))
    return out


def _tmux(argv: Argv, state: State) -> list[Inner]:
    """Commands of tmux that take a shell command, and keys sent with Enter behind them."""
    rest, _ = operands(argv, Options("cfLST"))
    verb = rest[0] if rest else ""
    options = Options("ceFflnpstxy")
    if verb in ("new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell",
                "run", "popup", "display-popup", "if-shell"):  # fmt: skip
        words, _ = operands(rest, options)
        return [Inner(text=joined(words), label=f"tmux {verb}")] if words else []
    if verb in ("send-keys", "send"):
        words, _ = operands(rest, Options("tN"))
        keys = [word for word in words if word not in ("Enter", "C-m", "KPEnter")]
        return [Inner(text=joined(tuple(keys)), label="tmux send-keys")] if len(keys) < len(words) else []
    return []


def _screen(argv: Argv, state: State) -> list[Inner]:
    rest, values = operands(argv, Options("cehpsStTX"))
    if "X" in values:
        return [Inner(text=rest[-1].rstrip("\n"), label="screen -X stuff")] if values["X"] == "stuff" and rest else []
    return as_list(rest, "screen", [])


def _typed(argv: Argv, state: State) -> list[Inner]:
    """Keys that are sent to another terminal or window: a shell may be what listens there."""
    name = argv[0].rpartition("/")[2]
    words = [word for word in argv[1:] if word[:1] != "-" and word != "@"]
    verbs = {"kitty": ("send-text",), "kitten": ("send-text",), "wezterm": ("cli", "send-text"), "xdotool": ("type",),
             "ydotool": ("type",), "wtype": ()}[name]  # fmt: skip
    if tuple(words[: len(verbs)]) != verbs or len(words) == len(verbs):
        return []
    text = " ".join(words[len(verbs) :]).replace("\\n", "\n").replace("\\r", "\n")
    return [Inner(text=text, label=f"{name} {' '.join(verbs)}".strip())]


def _behind(argv: Argv, *markers: str) -> tuple[str, ...]:
    """The words behind the first of some markers; none where no such word stands there."""
    at = next((at for at, word in enumerate(argv) if word in markers), len(argv))
    return argv[at + 1 :]


def _in_a_pane(argv: Argv, state: State) -> list[Inner]:
    """`zellij run -- cmd`, `dtach -n SOCKET cmd`, `abduco -n NAME cmd`."""
    name = argv[0].rpartition("/")[2]
    if name == "zellij":
        return as_list(_behind(argv, "--"), "zellij run", []) if "run" in argv[1:3] else []
    words = [word for word in argv[1:] if word[:1] != "-"]
    return as_list(tuple(words[1:]), name, [])


def _in_each(argv: Argv, state: State) -> list[Inner]:
    """`lerna exec -- cmd`, `yarn workspaces foreach … exec cmd`, `repo forall -c cmd`: once in each folder."""
    name = argv[0].rpartition("/")[2]
    if name == "repo":
        words = _behind(argv, "-c", "--command") if argv[1:2] == ("forall",) else ()
        return [Inner(text=joined(words), label="repo forall")] if words else []
    if name == "yarn" and argv[1:2] not in (("workspaces",), ("workspace",)):
        return []
    words = _behind(argv, "exec")
    return as_list(words[1:] if words[:1] == ("--",) else words, f"{name} exec", [])


ELSEWHERE: dict[str, Callable[[Argv, State], list[Inner]]] = {
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
    "tmux": _tmux,
    "screen": _screen,
    **dict.fromkeys(("kitty", "kitten", "wezterm", "xdotool", "ydotool", "wtype"), _typed),
    **dict.fromkeys(("zellij", "dtach", "abduco"), _in_a_pane),
    **dict.fromkeys(("lerna", "yarn", "repo"), _in_each),
}
