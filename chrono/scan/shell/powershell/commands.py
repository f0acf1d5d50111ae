"""Owns what PowerShell's own commands put out and cause: listing, filtering, loops over a pipe, text that runs.

Which of their effects are dangerous is left to the rules and to `scan.wintouch`, files found to `found`.
"""

from __future__ import annotations

from chrono.scan.command import Redirect
from chrono.scan.shell.powershell import operators
from chrono.scan.shell.powershell.cmdlets import ALIASES, CMDLETS, Bound
from chrono.scan.shell.powershell.found import children, items_at, narrowed
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.running import RUNNING, Handler, remote_first
from chrono.scan.shell.powershell.starts import OWN_PROCESS, run_given, run_native
from chrono.scan.shell.powershell.values import (
    MAX_ITEMS,
    Argv,
    Choice,
    Closure,
    Thing,
    Unknown,
    Value,
    concat,
    elements_of,
    fed,
    feeds_of,
    options_of,
    text_of,
    truth,
)
from chrono.scan.shell.values import from_word

SHARED = frozenset(
    """rm cp mv ls cat ps kill sort tee sleep echo diff man curl wget rmdir mkdir mount clear where type history write
    copy move del erase dir rd ren start group select compare measure""".split()
)
"""Aliases that are programs (or other shells' commands) too."""

_PIPED_PATHS = frozenset(
    """remove-item move-item copy-item rename-item clear-content clear-item get-content invoke-item get-item
    get-childitem set-itemproperty remove-itemproperty set-acl get-acl unblock-file expand-archive compress-archive
    import-module convert-path resolve-path split-path set-content add-content select-string""".split()
)
_SENT = frozenset(["Body", "Form", "Attachments"])
_PATH_PARAMETERS = frozenset(["Path", "LiteralPath", "Destination", "DestinationPath", "FilePath", "OutFile", "InFile"])


def run_cmdlet(
    m: Machine, bound: Bound, piped: tuple[Value, ...] | None, redirects: tuple[Redirect, ...], written: str
) -> list[Value]:
    """Reports a command of PowerShell and answers what it puts out."""
    name = bound.cmdlet.name.lower()
    if written in ("del", "erase", "rd", "rmdir") and any(
        isinstance(value, str) and value.lower() in ("/s", "/q", "/f")
        for value in (*bound.values.values(), *bound.rest)
    ):
        # cmd.exe's way of writing it.
        values = [value for value in (*bound.values.values(), *bound.rest) if not isinstance(value, bool)]
        return run_native(m, written, values, piped, redirects)
    if name in _PIPED_PATHS and piped is not None and "Path" not in bound.values and "LiteralPath" not in bound.values:
        bound = _with_piped_paths(m, bound, piped)
        if not bound.values.get("Path"):
            return []
    if name == "stop-process" and piped is not None and not {"Id", "Name", "InputObject"} & set(bound.values):
        bound = bound._replace(values={**bound.values, **_ended(piped[:24])})
    bound = _with_content(remote_first(bound), piped)
    if _only_tells(m, bound):
        m.emit(["Write-Output", f"What if: {bound.cmdlet.name}"], builtin=True)
        return []
    feeds = tuple(dict.fromkeys(f for value in (*bound.values.values(), *bound.rest) for f in feeds_of(value)))
    argv = m.emit(_canonical(m, bound), builtin=True, feeds=feeds, redirects=redirects)
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(m, bound, piped, argv)
    run_given(m, (*bound.values.values(), *bound.rest))
    return [Unknown((argv,) if argv else ())]


def _with_content(bound: Bound, piped: tuple[Value, ...] | None) -> Bound:
    """What `Set-Content` and `Out-File` write, said as `-Value:` where it is known to be nothing at all."""
    if bound.cmdlet.name not in ("Set-Content", "Out-File") or "Append" in bound.values:
        return bound
    content = bound.values.get("Value", bound.values.get("InputObject", piped))
    given = piped is not None or "Value" in bound.values or "InputObject" in bound.values
    if not given or any(text_of(item) for item in elements_of(content)):
        return bound
    return bound._replace(values={**bound.values, "Value": ""})


def _ended(piped: tuple[Value, ...]) -> dict[str, Value]:
    """Which processes are ended: those that the text itself has started by number, others by their names."""
    if piped and all(isinstance(item, Thing) and item.field("id") == OWN_PROCESS for item in piped):
        return {"Id": OWN_PROCESS}
    return {"Name": tuple(item.name if isinstance(item, Thing) else fed("\0", ()) for item in piped)}


def _only_tells(m: Machine, bound: Bound) -> bool:
    """`-WhatIf`."""
    given = bound.values.get("WhatIf")
    if "WhatIf" in bound.values:
        return truth(given) is True
    return m.variables.get("whatifpreference") is True


def _with_piped_paths(m: Machine, bound: Bound, piped: tuple[Value, ...]) -> Bound:
    paths: list[Value] = []
    values = dict(bound.values)
    for value in piped[:200]:
        for option in options_of(value):
            if isinstance(option, dict):
                option = option.get("fullname", option.get("path", "\0"))
            if isinstance(option, Thing) and option.kind not in ("item",):
                paths.append(fed("\0", option.feeds))
                continue
            paths.append(m.path(option))
            if isinstance(option, Thing) and option.field("recurse") and bound.cmdlet.name == "Remove-Item":
                values["Recurse"] = True
    name = bound.cmdlet.name.lower()
    items = any(isinstance(value, Thing) and value.kind == "item" for value in piped)
    if name in ("set-content", "add-content", "select-string") and not items:
        # What is piped to these is content.
        return bound
    if "Path" in bound.cmdlet.positions or not bound.cmdlet.positions:
        values["Path"] = tuple(paths)
    elif bound.cmdlet.positions:
        values.setdefault(bound.cmdlet.positions[0], tuple(paths))
        values["Path"] = tuple(paths)
    return bound._replace(values=values)


def _canonical(m: Machine, bound: Bound) -> list[Value]:
    """The command as the rules read it: full names, what is acted on first, `-Name:value` for the rest."""
    cmdlet = bound.cmdlet
    words: list[Value] = [cmdlet.name]
    first = cmdlet.positions[0] if cmdlet.positions else ""
    flags: list[Value] = []
    for name, value in bound.values.items():
        if name == first or (name == "LiteralPath" and first in ("Path", "FilePath")):
            words.extend(_as_word(m, item, name) for item in elements_of(value) if not isinstance(item, dict))
        elif value is True and name in (*cmdlet.values, *cmdlet.positions):
            flags.append(f"-{name}:$true")
        elif value is True or value is None:
            flags.append(f"-{name}")
        elif value is False:
            flags.append(f"-{name}:$false")
        elif isinstance(value, dict):
            flags.extend(concat([f"-{name}:{key}=", text_of(inner)]) for key, inner in list(value.items())[:24])
        else:
            flags.extend(_flag(m, name, item) for item in elements_of(value)[:64])
        if name in _SENT:
            flags.extend(_sources(m, value))
    words.extend(_as_word(m, value, first) for value in bound.rest)
    for given in bound.strange:
        flags.append(given.raw or f"-{given.name}")
    return [*words[:400], *flags]


def _sources(m: Machine, value: Value) -> list[Value]:
    """What is sent is named by the file that it was read from."""
    values = tuple(value.values()) if isinstance(value, dict) else (value,)
    files: list[Value] = []
    for feed in dict.fromkeys(f for one in values for f in feeds_of(one)):
        if feed[:1] == ("Get-Content",) and len(feed) > 1:
            files.append(concat(["-InFile:", from_word(feed[1])]))
    return files


def _flag(m: Machine, name: str, item: Value) -> Value:
    if isinstance(item, bool):
        return f"-{name}:${str(item).lower()}"
    if isinstance(item, Closure):
        return f"-{name}:{{…}}"
    return concat([f"-{name}:", text_of(_as_word(m, item, name))])


def _as_word(m: Machine, value: Value, name: str) -> Value:
    if isinstance(value, Closure):
        return "{…}"
    if isinstance(value, Choice):
        return Choice(tuple(_as_word(m, option, name) for option in value.options))
    return m.path(value) if name in _PATH_PARAMETERS else text_of(value)


# --- looking at files


def _get_childitem(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    found = children(m, bound)
    if any(isinstance(item, Thing) and item.name.lower().startswith("env:") for item in found):
        return [Unknown((("printenv",),))]
    return found


def _get_item(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    return items_at(m, bound.values.get("Path", bound.values.get("LiteralPath")))


def _paths(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    found = items_at(m, bound.values.get("Path", bound.values.get("LiteralPath")))
    return [m.absolute(item.name) or item.name if isinstance(item, Thing) else item for item in found]


def _get_location(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    return [Thing("item", m.cwd)]


def _get_content(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    out: list[Value] = []
    for value in elements_of(bound.values.get("Path", bound.values.get("LiteralPath"))):
        text = m.known_file(m.path(value)) if not isinstance(value, Choice) else None
        if text is None:
            return [Unknown((argv,))]
        lines = (text,) if "Raw" in bound.values else text.splitlines()[:MAX_ITEMS]
        out.extend(fed(line, (argv,)) for line in lines)
    return out


def _join_path(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    names = ("Path", "ChildPath", "AdditionalChildPath")
    values = [bound.values[name] for name in names if name in bound.values]
    values.extend(bound.rest)
    if "Path" not in bound.values and piped:
        values.insert(0, piped[0])
    pieces: list[str] = []
    for value in values:
        for item in elements_of(value):
            text = text_of(item)
            pieces.append(text if not pieces else text.lstrip("\\/"))
    if not pieces:
        return []
    parts: list[str] = [pieces[0].rstrip("\\/") if len(pieces) > 1 else pieces[0]]
    for piece in pieces[1:]:
        parts.append("/" if "/" in pieces[0] and "\\" not in pieces[0] else "\\")
        parts.append(piece)
    return [concat(parts)]


def _split_path(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    out: list[Value] = []
    for value in elements_of(bound.values.get("Path", bound.values.get("LiteralPath", piped))):
        text = text_of(value).replace("\\", "/")
        above, _, last = text.rstrip("/").rpartition("/")
        if "\0" in text and not above:
            out.append(Unknown(feeds_of(value)))
        elif "Leaf" in bound.values:
            out.append(last)
        elif "Extension" in bound.values or "LeafBase" in bound.values:
            base, dot, ending = last.rpartition(".")
            out.append((dot + ending) if "Extension" in bound.values else base)
        elif "Qualifier" in bound.values:
            out.append(text[:2])
        else:
            out.append(above)
    return out


def _set_location(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    where = bound.values.get("Path", bound.values.get("LiteralPath", m.world.home))
    if bound.cmdlet.name == "Push-Location":
        m.folders.append(m.cwd)
        if "Path" not in bound.values and "LiteralPath" not in bound.values:
            return []
    if text_of(where) == "-":
        m.cwd = "\0"
    else:
        m.go(where)
    return []


def _pop_location(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    m.cwd = m.folders.pop() if m.folders else m.cwd
    return []


# --- writing files


def _set_content(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    name = bound.cmdlet.name
    path = bound.values.get("Path", bound.values.get("FilePath", bound.values.get("LiteralPath")))
    content = bound.values.get("Value", bound.values.get("InputObject", piped))
    text = concat([piece for item in elements_of(content)[:400] for piece in ("\n", text_of(item))][1:])
    if path is not None and not isinstance(path, Choice):
        m.write(path, text if name != "Clear-Content" else "", name == "Add-Content" or "Append" in bound.values)
    return list(piped or ()) if name == "Tee-Object" else []


def _new_item(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    path = bound.values.get("Path")
    name = bound.values.get("Name")
    full: Value = path
    if name is not None:
        full = concat([text_of(path), "/", text_of(name)]) if path is not None else name
    lower = text_of(full).lower()
    if lower.startswith("alias:"):
        m.aliases[lower[6:].lstrip("\\/")] = text_of(bound.values.get("Value"))
    elif lower.startswith("function:"):
        _define(m, lower[9:].lstrip("\\/"), bound.values.get("Value"))
    elif text_of(bound.values.get("ItemType")).lower() in ("junction", "symboliclink"):
        m.links[(m.absolute(m.path(full)) or "\0").lower()] = (
            m.absolute(m.path(bound.values.get("Value", bound.values.get("Target")))) or "\0"
        )
    elif "Value" in bound.values and not isinstance(full, Choice):
        m.write(full, bound.values["Value"], False)
    return [Thing("item", m.path(full))]


def _define(m: Machine, name: str, value: Value) -> None:
    if isinstance(value, Closure):
        m.functions[name] = value.block


def _set_item(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    path = text_of(bound.values.get("Path")).lower()
    value = bound.values.get("Value")
    drive, _, name = path.partition(":")
    name = name.lstrip("\\/")
    if drive == "alias":
        m.aliases[name] = text_of(value)
    elif drive == "variable":
        m.set(name, value)
    elif drive == "env":
        m.variables[f"env:{name}"] = value
    elif drive == "function":
        _define(m, name, value)
    return []


def _new_drive(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    root = text_of(bound.values.get("Root"))
    if text_of(bound.values.get("PSProvider")).lower() == "filesystem" or root[1:2] == ":" or root.startswith("\\\\"):
        m.drives[text_of(bound.values.get("Name")).lower()] = root.rstrip("\\/")
    return []


def _get_history_options(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    """`Get-PSReadLineOption`, which knows where the history of what was typed lies."""
    folder = f"{m.world.home}/AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine"
    fields = (("historysavepath", f"{folder}/ConsoleHost_history.txt"),)
    return [Thing("object", "psreadlineoptions", fields, (argv,))]


def _get_event_log(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    """`Get-EventLog -List`: the logs themselves, that can be cleared; else what stands in one."""
    if "List" in bound.values:
        return [Thing("object", "diagnostics.eventlog", (("name", "*"),), (argv,))]
    return [Unknown((argv,))]


# --- pipes


def _foreach_object(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    blocks: list[Value] = []
    for name in ("Begin", "Process", "RemainingScripts", "End"):
        blocks.extend(elements_of(bound.values.get(name)))
    closures = [b for b in (*blocks, *bound.rest) if isinstance(b, Closure)]
    source = bound.values.get("InputObject", piped)
    items = elements_of(source) if source is not None else ()
    if not closures:
        member = text_of(bound.values.get("MemberName", bound.values.get("Process"))).lower()
        out: list[Value] = []
        for item in items[:200]:
            found = m.ports.method(m, item, f"?{member}", elements_of(bound.values.get("ArgumentList")))
            out.extend(elements_of(found))
        return out
    if len(closures) == 1:
        return m.ports.block(m, closures[0].block, (), items)
    has_begin = "Begin" in bound.values or "End" not in bound.values
    out = []
    middle = closures[1:2] if has_begin else closures[:1]
    for closure in closures:
        out.extend(m.ports.block(m, closure.block, (), items if closure in middle else None))
    return out


_WHERE_SWITCHES = {
    "EQ": "eq", "NE": "ne", "GT": "gt", "GE": "ge", "LT": "lt", "LE": "le", "Like": "like", "NotLike": "notlike",
    "Match": "match", "NotMatch": "notmatch", "In": "in", "NotIn": "notin", "Contains": "contains", "CEQ": "eq",
    "CLike": "like", "CMatch": "match",
}  # fmt: skip


def _where_object(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    items = elements_of(bound.values.get("InputObject", piped))
    test = bound.values.get("FilterScript")
    out: list[Value] = []
    if isinstance(test, Closure):
        count = len(m.commands)
        for item in items[:200]:
            if isinstance(item, Thing) and item.kind == "item":
                out.extend(narrowed(m, item, test.block))
                m.ports.block(m, test.block, (), (item,)) if len(items) < 3 else None
                continue
            if isinstance(item, Thing) and item.kind == "process":
                out.append(item._replace(name="\0"))
                continue
            answer = m.ports.block(m, test.block, (), (item,))
            known = truth(answer[0] if len(answer) == 1 else tuple(answer)) if answer else False
            if known is not False:
                out.append(item)
        if len(m.commands) - count > 40:
            del m.commands[count + 40 :]
        return out
    field = text_of(test)
    op = next((_WHERE_SWITCHES[name] for name in bound.values if name in _WHERE_SWITCHES), "")
    against = bound.values.get("Property", bound.values.get("Value"))
    if not op:
        return list(items)
    for item in items[:200]:
        if isinstance(item, Thing) and item.kind == "item":
            from chrono.scan.shell.powershell.found import narrow_by

            out.extend(narrow_by(item, field.lower(), op, against))
            continue
        if isinstance(item, Thing) and item.kind == "process":
            out.append(item._replace(name=text_of(against) if field.lower() in ("name", "processname") else "\0"))
            continue
        value = m.ports.method(m, item, f".{field.lower()}", ())
        if truth(operators.binary(op, value, against)) is not False:
            out.append(item)
    return out


def _select_object(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    items = list(elements_of(bound.values.get("InputObject", piped)))
    expanded = bound.values.get("ExpandProperty")
    if expanded is not None:
        return [m.ports.method(m, item, f".{text_of(expanded).lower()}", ()) for item in items[:200]]
    return items


def _pass(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    return list(elements_of(bound.values.get("InputObject", piped)))


def _nothing(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    return []


def _write_output(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    value = bound.values.get("InputObject", piped)
    return [*elements_of(value), *bound.rest]


def _out_string(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    items = elements_of(bound.values.get("InputObject", piped))
    return [concat([piece for item in items[:400] for piece in ("\n", text_of(item))][1:])]


def _from_input(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    """Something that is made of what comes in, and unknown."""
    source = bound.values.get("InputObject", piped)
    return [Unknown(tuple(dict.fromkeys((*feeds_of(source), argv))))]


# --- variables, aliases, objects


def _set_variable(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    value = bound.values.get("Value", piped[0] if piped and len(piped) == 1 else piped)
    for name in elements_of(bound.values.get("Name")):
        m.set(text_of(name).lower(), value)
    return []


def _get_variable(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    from chrono.scan.shell.powershell.evaluation import variable

    name = text_of(bound.values.get("Name")).lower()
    if "*" in name or "\0" in name:
        known = {"maximumdrivecount": "MaximumDriveCount", "verbosepreference": "VerbosePreference"}
        match = next((full for key, full in known.items() if operators.like(name, key)), None)
        found = [Thing("variable", match)] if match else [Unknown()]
        return list(found)
    value = variable(m, name)
    return [value] if "ValueOnly" in bound.values else [Thing("variable", name, (("value", value), ("name", name)))]


def _set_alias(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    name = text_of(bound.values.get("Name")).lower()
    target = text_of(bound.values.get("Value"))
    if name and name != target.lower() and "\0" not in target:
        m.aliases[name] = target
    return []


def _get_command(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    pattern = text_of(bound.values.get("Name")).lower()
    if "*" in pattern or "?" in pattern:
        names = [c.name for c in CMDLETS.values() if operators.like(pattern, c.name.lower())]
        return [Thing("command", name) for name in names[:6]] or [Unknown()]
    return [Thing("command", text_of(bound.values.get("Name")))]


def _get_alias(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    name = text_of(bound.values.get("Name", bound.values.get("Definition")))
    if "*" in name or "?" in name:
        names = [alias for alias in ALIASES if operators.like(name.lower(), alias)]
        return [Thing("command", alias) for alias in names[:6]] or [Unknown()]
    return [Thing("command", name)] if name else [Unknown()]


def _new_object(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    com = bound.values.get("ComObject")
    if com is not None:
        return [Thing("com", text_of(com).lower())]
    name = text_of(bound.values.get("TypeName")).lower().removeprefix("system.")
    args = elements_of(bound.values.get("ArgumentList"))
    made = m.ports.method(m, Thing("type", name), "new", (*args, *bound.rest))
    given = bound.values.get("Property")
    return [{**made, **given} if isinstance(made, dict) and isinstance(given, dict) else made]


def _get_service(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    names = elements_of(bound.values.get("Name", bound.values.get("DisplayName"))) or ("*",)
    return [Thing("service", text_of(name), (), (argv,)) for name in names]


def _get_process(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    names = elements_of(bound.values.get("Name")) or ("\0" if "Id" in bound.values else "*",)
    return [Thing("process", text_of(name), (), (argv,)) for name in names]


def _get_wmi(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    name = text_of(bound.values.get("Class", bound.values.get("ClassName"))).lower()
    query = text_of(bound.values.get("Query")).lower().split()
    if "from" in query[:-1]:
        name = query[query.index("from") + 1]
    return [Thing("wmi", name, (), (argv,))]


def _remove_wmi(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    values = (bound.values.get("InputObject"), bound.values.get("Class"), *(piped or ()))
    for value in values:
        for item in elements_of(value):
            if isinstance(item, Thing) and item.kind == "wmi":
                m.emit(["Remove-CimInstance", item.name], builtin=True)
    return []


def _invoke_wmi(m: Machine, bound: Bound, piped: tuple[Value, ...] | None, argv: Argv) -> list[Value]:
    target = bound.values.get("Class", bound.values.get("ClassName", bound.values.get("InputObject", piped)))
    thing = next((v for v in elements_of(target) if isinstance(v, Thing)), Thing("wmi", text_of(target).lower()))
    method = text_of(bound.values.get("Name", bound.values.get("MethodName"))).lower()
    args = bound.values.get("ArgumentList", bound.values.get("Arguments"))
    if isinstance(args, dict):
        args = args.get("commandline", args.get("arguments"))
    return list(elements_of(m.ports.method(m, thing, method, elements_of(args))))


_HANDLERS: dict[str, Handler] = {
    **RUNNING,
    "get-childitem": _get_childitem,
    "get-item": _get_item,
    "resolve-path": _paths,
    "convert-path": _paths,
    "get-location": _get_location,
    "get-content": _get_content,
    "join-path": _join_path,
    "split-path": _split_path,
    "set-location": _set_location,
    "push-location": _set_location,
    "pop-location": _pop_location,
    "set-content": _set_content,
    "add-content": _set_content,
    "clear-content": _set_content,
    "out-file": _set_content,
    "tee-object": _set_content,
    "new-item": _new_item,
    "mkdir": _new_item,
    "set-item": _set_item,
    "new-psdrive": _new_drive,
    "foreach-object": _foreach_object,
    "where-object": _where_object,
    "select-object": _select_object,
    "sort-object": _pass,
    "get-unique": _pass,
    "format-table": _pass,
    "format-list": _pass,
    "out-string": _out_string,
    "out-null": _nothing,
    "out-host": _nothing,
    "out-default": _nothing,
    "write-host": _nothing,
    "write-error": _nothing,
    "write-warning": _nothing,
    "write-verbose": _nothing,
    "write-debug": _nothing,
    "remove-item": _nothing,
    "start-sleep": _nothing,
    "write-output": _write_output,
    "convertfrom-json": _from_input,
    "convertto-json": _from_input,
    "select-string": _from_input,
    "group-object": _from_input,
    "measure-object": _from_input,
    "set-variable": _set_variable,
    "new-variable": _set_variable,
    "get-variable": _get_variable,
    "set-alias": _set_alias,
    "new-alias": _set_alias,
    "get-command": _get_command,
    "get-alias": _get_alias,
    "new-object": _new_object,
    "get-psreadlineoption": _get_history_options,
    "get-eventlog": _get_event_log,
    "get-service": _get_service,
    "get-process": _get_process,
    "get-wmiobject": _get_wmi,
    "get-ciminstance": _get_wmi,
    "remove-wmiobject": _remove_wmi,
    "remove-ciminstance": _remove_wmi,
    "invoke-wmimethod": _invoke_wmi,
    "invoke-cimmethod": _invoke_wmi,
}
