"""Owns telling whether a program is only asked how it is used (`git reset --hard --help`): then it does nothing else.

Options that only print what would be done (`--dry-run`) are said by the rule packs, for each program.
"""

from __future__ import annotations

from chrono.scan.command import Command
from chrono.scan.options import program_names

_ASKS = ("--help", "-h", "-help")

_HANDS_ON = frozenset(
    "sh dash ash bash rbash ksh mksh zsh fish pwsh powershell cmd python pypy ruby perl php node deno bun lua "
    "osascript tclsh awk gawk mawk sed find gfind fd xargs parallel ssh mosh env sudo doas su nohup timeout time nice "
    "watch entr exec eval source . command builtin test [ echo printf dd kill vim nvim emacs make just task docker "
    "podman nerdctl kubectl oc npx bunx pnpx npm pnpm yarn uv uvx poetry pipenv pipx mise direnv run-code run-later "
    "send-data iex invoke-expression".split()
)
"""Programs that run words of theirs, or take them for text: there the option may be meant for something else."""

_OWN_VERBS = {
    **dict.fromkeys(("docker", "podman", "nerdctl"), ("system", "volume", "image", "network", "builder", "container",
                    "rm", "rmi", "kill", "stop", "push", "swarm", "context", "build", "secret", "stack")),
    **dict.fromkeys(("kubectl", "oc"), ("delete", "drain", "cordon", "scale", "rollout", "replace", "apply", "patch",
                    "edit", "label", "annotate", "taint", "config", "create")),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("publish", "unpublish", "deprecate", "owner", "access", "token",
                    "dist-tag", "install", "uninstall", "cache", "adduser", "login", "logout", "config", "team")),
    **dict.fromkeys(("uv", "poetry"), ("publish", "remove", "cache", "add", "pip", "sync", "self", "source", "config")),
}  # fmt: skip
"""Their verbs that run nothing of what stands behind them."""

_SHORT = frozenset(
    "git docker podman nerdctl kubectl oc helm npm pnpm yarn uv poetry cargo terraform tofu pulumi gh glab az gcloud "
    "eksctl flyctl fly heroku vercel netlify wrangler firebase doctl hcloud linode-cli argocd flux twine pip pip3 "
    "alembic prisma".split()
)
"""Programs with verbs that take `-h` for help; elsewhere it may be a host, or "do not follow links"."""


_STOPS_READING = frozenset("rm cp mv ln chmod chown chgrp chflags rmdir unlink srm rsync truncate tee sed dd".split())
"""Programs that under macOS read no option behind their first operand: there `--help` is one more file."""


def only_asks_usage(command: Command, platform: str) -> bool:
    """Whether the last word asks the program for its help, and the program reads that word itself."""
    last = command.argv[-1]
    if last not in _ASKS or len(command.argv) < 3 or "--" in command.argv:
        return False
    names = program_names(command.argv[0])
    if last == "-h" and _SHORT.isdisjoint(names):
        return False
    first = command.argv[1]
    if any(name.startswith("python") for name in names):
        return isinstance(first, str) and first.rpartition("/")[2] == "manage.py"
    for name in names:
        if name in _HANDS_ON:
            return first in _OWN_VERBS.get(name, ())
    return platform != "darwin" or _STOPS_READING.isdisjoint(names)


def asked(command: Command) -> Command:
    """The command as it then is: without its other words."""
    return command._replace(argv=(command.argv[0], "--help"))
