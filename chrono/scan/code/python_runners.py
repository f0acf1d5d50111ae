"""Owns Python's libraries that run commands here or elsewhere: Invoke, Fabric, AsyncSSH, spur, pssh, nox's session.

The standard library's own ways are left to `python_library`, what a text does to `effects`.
"""

from __future__ import annotations

from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.programs import run_text
from chrono.scan.code.values import ANY, Items, Text, Thing

_HERE = frozenset(("invoke.Context", "invoke.context.Context", "spur.LocalShell", "plumbum.local"))
_ELSEWHERE = frozenset(
    "fabric.Connection fabric.connection.Connection fabric.Group fabric.SerialGroup fabric.ThreadingGroup "
    "fabric2.Connection fabric.group.SerialGroup fabric.group.ThreadingGroup asyncssh.connect spur.SshShell "
    "pssh.clients.ParallelSSHClient pssh.clients.SSHClient plumbum.SshMachine paramiko.SSHClient "
    "testinfra.get_host parallel_ssh.ParallelSSHClient".split()
)
_RUNS = frozenset(
    ("run", "sudo", "run_command", "create_process", "run_process", "spawn", "exec_command", "check_output")
)
_RUNS_HERE = frozenset(("local",))


def opened(name: str) -> Thing | None:
    """The object that a library call gives and that runs commands, None where the call is another one."""
    if name in _HERE:
        return Thing("runner", remote=False)
    return Thing("runner", remote=True) if name in _ELSEWHERE else None


def method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """One call on such an object; `with c.cd(…)` and the like give it again."""
    if name in _RUNS or name in _RUNS_HERE:
        text = args.at(0, "command")
        if owner.fields["remote"] and name not in _RUNS_HERE:
            elsewhere(run, text)
        else:
            here(run, text)
        return Items([ANY, ANY, ANY]) if name == "exec_command" else ANY
    return ANY if name in ("close", "put", "get") else owner


def here(run: Machine, text: Value) -> None:
    if isinstance(text, Items):
        run.effects.program(text)
    elif text is not None:
        run_text(run, text)


def elsewhere(run: Machine, text: Value) -> None:
    """As `ssh` would run it."""
    words = text.values if isinstance(text, Items) else [text]
    run.effects.program(Items(["ssh", ANY, *words]))


def remote_text(run: Machine, args: Arguments) -> Value:
    """`fabric.api.run(TEXT)`."""
    elsewhere(run, args.at(0, "command"))
    return ANY


def guessed(run: Machine, name: str, args: Arguments) -> bool:
    """`c.run("rm -rf build")` on an object that a tool hands over; a text that is no command is none of ours."""
    first = args.at(0, "command")
    if name not in ("run", "sudo", "local") or not isinstance(first, str | Text):
        return False
    before = len(run.effects.refusals)
    if len(args.values) > 1 and all(isinstance(value, str) for value in args.values):
        run.effects.program(Items(args.values))
    else:
        run_text(run, first)
    del run.effects.refusals[before:]
    return True
