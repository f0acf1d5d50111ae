"""Owns the commands of PowerShell that run something: texts, blocks here and on other machines, programs, modules.

Finding out which command it is and reporting it is left to `calls` and `commands`, starting programs to `starts`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import Command
from chrono.scan.shell.powershell.cmdlets import Bound
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.starts import OWN_PROCESS, run_line, run_native, script_text
from chrono.scan.shell.powershell.values import (
    Argv,
    Closure,
    Thing,
    Unknown,
    Value,
    concat,
    elements_of,
    options_of,
    text_of,
)

Handler = Callable[[Machine, Bound, "tuple[Value, ...] | None", Argv], "list[Value]"]
"""Does what a bound command does: the machine, the command, what is piped to it, and its argv as reported."""


def _invoke_expression(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    source = bound.values.get("Command")
    if source is None:
        source = concat([piece for item in piped or () for piece in ("\n", text_of(item))][1:]) if piped else ""
    out: list[Value] = []
    for option in options_of(source):
        out.extend(m.ports.text(m, option, "Invoke-Expression"))
    return out


def remote_first(bound: Bound) -> Bound:
    """`Invoke-Command web01 { … }`: where a block comes second, the first value says on which machine it runs."""
    where, block = bound.values.get("ScriptBlock"), bound.values.get("ArgumentList")
    if bound.cmdlet.name != "Invoke-Command" or isinstance(where, Closure) or not isinstance(block, Closure):
        return bound
    values: dict[str, Value] = {"ScriptBlock": block, "ComputerName": where}
    values.update((name, value) for name, value in bound.values.items() if name not in ("ScriptBlock", "ArgumentList"))
    return bound._replace(values=values)


def _run_blocks(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    """`Invoke-Command`, `Start-Job`, `Measure-Command`: blocks and script files with arguments."""
    out: list[Value] = []
    arguments = elements_of(bound.values.get("ArgumentList"))
    remote = not _ELSEWHERE.isdisjoint(bound.values)
    via, cwd = m.via, m.cwd
    if remote:
        m.via, m.cwd = (*via, bound.cmdlet.name), "\0"
    before = (len(m.commands), len(m.writes))
    blocks = [value for name in _BLOCKS for value in elements_of(bound.values.get(name))]
    for value in (*blocks, *bound.rest):
        if isinstance(value, Closure):
            input_of = piped if bound.cmdlet.name == "Measure-Command" else None
            out.extend(m.ports.block(m, value.block, arguments, input_of))
        elif isinstance(value, Thing) and value.kind == "scriptblock":
            m.emit(["Invoke-Expression", "\0"], builtin=True, feeds=value.feeds)
    file = bound.values.get("FilePath")
    if file is not None and text_of(file):
        run_native(m, m.path(file), list(arguments), None)
    m.via, m.cwd = via, cwd
    if not remote:
        return out
    if file is None and any(isinstance(value, Closure) for value in blocks):
        _say_what_only_reads(m, argv, *before)
    return [Unknown((argv,))]


_BLOCKS = ("InitializationScript", "ScriptBlock", "Expression", "Command", "Action")
_ELSEWHERE = frozenset(("ComputerName", "HostName", "Session", "ConnectionUri", "VMName", "VMId", "ContainerId"))
_READING_VERBS = (
    "get-", "test-", "measure-", "select-", "sort-", "where-", "format-", "compare-", "convertto-", "convertfrom-",
    "resolve-", "find-", "join-", "split-", "foreach-", "group-", "write-output", "write-host", "write-verbose",
    "out-string", "out-null", "start-sleep", "set-location", "push-location", "pop-location",
)  # fmt: skip
_READING_PROGRAMS = frozenset("hostname whoami ipconfig systeminfo tasklist netstat quser ver nslookup ping".split())


def _say_what_only_reads(m: Machine, argv: Argv, commands: int, writes: int) -> None:
    """Reports a block that only looks at another machine as such: `{reads}`, where any other block is `{…}`."""
    started = m.commands[commands:]
    if len(m.writes) > writes or not all(_reads(command) for command in started):
        return
    at = next((at for at in range(commands - 1, -1, -1) if m.commands[at].argv == argv), None)
    if at is not None:
        words = tuple("{reads}" if word == "{…}" else word for word in argv)
        m.commands[at] = m.commands[at]._replace(argv=words)


def _reads(command: Command) -> bool:
    name = command.argv[0]
    if not isinstance(name, str) or command.redirects:
        return False
    return name.lower().startswith(_READING_VERBS) if command.builtin else name.lower() in _READING_PROGRAMS


def _start_process(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    folder = bound.values.get("WorkingDirectory")
    arguments = bound.values.get("ArgumentList")
    if bound.rest:
        arguments = (*elements_of(arguments), *bound.rest)
    for option in options_of(bound.values.get("FilePath")):
        run_line(m, option, arguments, "Start-Process", text_of(folder) if folder is not None else None)
    return [Thing("process", text_of(bound.values.get("FilePath")), (("id", OWN_PROCESS),), (argv,))]


def _invoke_item(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    for value in elements_of(bound.values.get("Path", bound.values.get("LiteralPath"))):
        path = m.path(value)
        if path.lower().endswith((".exe", ".bat", ".cmd", ".ps1", ".vbs", ".js", ".msi", ".com")):
            run_native(m, path, [], None, via=("Invoke-Item",))
    return []


def _import_module(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    for value in elements_of(bound.values.get("Name")):
        text = script_text(m, text_of(value))
        if text is not None:
            m.ports.text(m, text, f"Import-Module {text_of(value)}")
    return []


def _fetch(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    out = bound.values.get("OutFile", bound.values.get("Destination"))
    if out is not None:
        full = m.absolute(m.path(out))
        if full is not None:
            m.files.pop(full, None)
        if "PassThru" not in bound.values:
            return []
    return [Unknown((argv,))]


def _scheduled_action(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    run_line(m, bound.values.get("Execute"), bound.values.get("Argument"), bound.cmdlet.name)
    return [Unknown((argv,))]


RUNNING: dict[str, Handler] = {
    "invoke-expression": _invoke_expression,
    "invoke-command": _run_blocks,
    "start-job": _run_blocks,
    "start-threadjob": _run_blocks,
    "measure-command": _run_blocks,
    "trace-command": _run_blocks,
    "register-objectevent": _run_blocks,
    "start-process": _start_process,
    "invoke-item": _invoke_item,
    "import-module": _import_module,
    "invoke-webrequest": _fetch,
    "invoke-restmethod": _fetch,
    "start-bitstransfer": _fetch,
    "new-scheduledtaskaction": _scheduled_action,
}
"""Handlers by the name of their command in small letters."""
