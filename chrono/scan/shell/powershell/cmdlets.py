"""Owns the names of PowerShell: aliases of commands, their parameters, and how arguments are given to those.

What a command does is left to `commands` and to the rules.
"""

from __future__ import annotations

from chrono.scan.shell.powershell.parameters import ALIASES as _ALIAS_TABLE
from chrono.scan.shell.powershell.parameters import PARAMETERS
from chrono.scan.shell.powershell.values import Value
from chrono.tuples import NamedTuple

_COMMON_SWITCHES = ("Verbose", "Debug", "WhatIf", "Confirm")
_COMMON_VALUES = (
    "ErrorAction", "WarningAction", "InformationAction", "ProgressAction", "ErrorVariable", "WarningVariable",
    "InformationVariable", "OutVariable", "OutBuffer", "PipelineVariable",
)  # fmt: skip
_SHORT = {
    "ea": "ErrorAction", "wa": "WarningAction", "infa": "InformationAction", "ev": "ErrorVariable",
    "wv": "WarningVariable", "ov": "OutVariable", "ob": "OutBuffer", "pv": "PipelineVariable", "wi": "WhatIf",
    "cf": "Confirm", "vb": "Verbose", "db": "Debug", "pspath": "LiteralPath", "lp": "LiteralPath", "usebasicparsing":
    "UseBasicParsing", "url": "Uri", "target": "Value", "type": "ItemType", "psparentpath": "LiteralPath",
    "args": "ArgumentList", "cn": "ComputerName", "dir": "Directory", "ad": "Directory", "af": "File", "s": "Recurse",
    "servername": "ComputerName", "processname": "Name", "pid": "Id", "fp": "FilePath",
}  # fmt: skip


class Cmdlet(NamedTuple):
    """A command of PowerShell: its name as written in its own help, and its parameters."""

    name: str
    positions: tuple[str, ...]
    switches: tuple[str, ...]
    values: tuple[str, ...]


class Given(NamedTuple):
    """A word written as a parameter: `name` without dash and colon, `value` what stands behind the colon, `raw` all."""

    name: str
    value: Value
    attached: bool
    raw: str = ""


class Bound(NamedTuple):
    """Arguments given to parameters. `rest` are values that no parameter takes, `strange` names that there are not."""

    cmdlet: Cmdlet
    values: dict[str, Value]
    rest: tuple[Value, ...]
    strange: tuple[Given, ...]


def _read() -> tuple[dict[str, Cmdlet], dict[str, str]]:
    cmdlets: dict[str, Cmdlet] = {}
    for line in PARAMETERS.replace("\n  ", " ").strip().split("\n"):
        name, positions, switches, values = line.split("|")
        cmdlets[name.lower()] = Cmdlet(name, tuple(positions.split()), tuple(switches.split()), tuple(values.split()))
    aliases: dict[str, str] = {}
    for entry in _ALIAS_TABLE.replace("\n", "|").split("|"):
        name, *short = entry.split() or [""]
        for alias in short:
            aliases[alias] = name.lower()
    return cmdlets, aliases


CMDLETS, ALIASES = _read()
_TABLED = frozenset(cmdlet.name for cmdlet in CMDLETS.values())

_VERBS = frozenset(
    """add clear close copy enter exit find format get hide join lock move new open optimize pop push redo remove rename
    reset resize search select set show skip split step switch undo unlock watch backup checkpoint compare compress
    convert convertfrom convertto dismount edit expand export group import initialize limit merge mount out publish
    restore save sync unpublish update approve assert build complete confirm deny deploy disable enable install invoke
    register request restart resume start stop submit suspend uninstall unregister wait debug measure ping repair
    resolve test trace connect disconnect read receive send write block grant protect revoke unblock unprotect use
    """.split()
)


def looks_like_cmdlet(name: str) -> bool:
    """Whether a name has the form `Verb-Noun` with one of the verbs that PowerShell approves."""
    verb, dash, noun = name.lower().partition("-")
    return bool(dash) and verb in _VERBS and noun.isalnum()


def cmdlet_of(name: str) -> Cmdlet | None:
    """The command that a name in small letters stands for, aliases included; one without a table where it looks like
    a command of PowerShell."""
    found = CMDLETS.get(ALIASES.get(name, name))
    if found is None and name in ALIASES:
        return Cmdlet("-".join(part.capitalize() for part in ALIASES[name].split("-")), (), (), ())
    if found is None and "\\" in name:
        # `Microsoft.PowerShell.Management\Remove-Item`
        module, _, inner = name.rpartition("\\")
        if module.replace(".", "").isalnum() and looks_like_cmdlet(inner):
            return cmdlet_of(inner)
    if found is None and looks_like_cmdlet(name):
        return Cmdlet(name, (), (), ())
    return found


_KNOWN: dict[tuple[str, str], tuple[str, bool] | None] = {}


def parameter_of(cmdlet: Cmdlet, written: str) -> tuple[str, bool] | None:
    """(the parameter that a written name stands for, whether it is a switch); None where there is none."""
    if cmdlet.name not in _TABLED:
        return _parameter(cmdlet, written)
    key = (cmdlet.name, written)
    if key not in _KNOWN:
        if len(_KNOWN) > 2_000:
            _KNOWN.clear()
        _KNOWN[key] = _parameter(cmdlet, written)
    return _KNOWN[key]


def _parameter(cmdlet: Cmdlet, written: str) -> tuple[str, bool] | None:
    lower = written.lower()
    tables = (
        (cmdlet.switches, True), (cmdlet.positions, False), (cmdlet.values, False), (_COMMON_SWITCHES, True),
        (_COMMON_VALUES, False),
    )  # fmt: skip
    short = _SHORT.get(lower)
    for test in (lower.__eq__, lambda name: name == (short or "").lower(), lambda name: name.startswith(lower)):
        for names, is_switch in tables:
            for name in names:
                if lower and test(name.lower()):
                    return name, is_switch
    return None


def _is_switch(name: str) -> bool:
    """Whether a parameter of a command without a table usually takes no value."""
    return name.lower() in (
        "force",
        "recurse",
        "passthru",
        "all",
        "asjob",
        "quiet",
        "wait",
        "append",
        "raw",
        "list",
        "online",
    )


def bind(cmdlet: Cmdlet, arguments: list[Value | Given]) -> Bound:
    """Gives arguments to the parameters of a command, by name, by the beginning of a name, and by place."""
    values: dict[str, Value] = {}
    strange: list[Given] = []
    free: list[Value] = []
    is_open = not (cmdlet.positions or cmdlet.switches or cmdlet.values)
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if not isinstance(argument, Given):
            free.append(argument)
            continue
        found = parameter_of(cmdlet, argument.name)
        if found is None:
            following = arguments[at] if at < len(arguments) else argument
            if is_open and not argument.attached and not isinstance(following, Given) and not _is_switch(argument.name):
                values[argument.name] = following
                at += 1
            elif is_open and argument.attached:
                values[argument.name] = argument.value
            else:
                strange.append(argument)
            continue
        name, is_switch = found
        if argument.attached:
            values[name] = argument.value
        elif is_switch:
            values[name] = True
        elif at < len(arguments) and not isinstance(arguments[at], Given):
            values[name] = arguments[at]
            at += 1
        else:
            values[name] = None
    places = [name for name in cmdlet.positions if name not in values]
    if "LiteralPath" in values:
        places = [name for name in places if name not in ("Path", "FilePath")]
    for name, value in zip(places, free, strict=False):
        values[name] = value
    return Bound(cmdlet, values, tuple(free[len(places) :]), tuple(strange))
