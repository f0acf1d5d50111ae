"""Owns what members of objects yield: methods of texts, .NET objects that fetch or run, items, WMI.

Static members and casts are left to `statics`; whether an effect is dangerous to the rules.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.shell.powershell import operators
from chrono.scan.shell.powershell.evaluation import index
from chrono.scan.shell.powershell.files import OPENS, opened
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.starts import run_line
from chrono.scan.shell.powershell.statics import cast, static
from chrono.scan.shell.powershell.values import (
    MAX_ITEMS,
    Choice,
    Closure,
    Feeds,
    Thing,
    Unknown,
    Value,
    concat,
    either,
    elements_of,
    fed,
    feeds_of,
    is_known,
    number_of,
    text_of,
)
from chrono.scan.shell.windows_host import argv_of_line

_NETWORK = (
    "net.webclient", "net.http.httpclient", "net.sockets.tcpclient", "net.sockets.socket", "net.sockets.udpclient",
    "net.sockets.tcplistener", "msxml2.xmlhttp", "winhttp.winhttprequest.5.1", "microsoft.xmlhttp",
    "msxml2.serverxmlhttp", "internetexplorer.application",
)  # fmt: skip


_DATABASE_COMMANDS = (
    "sqlcommand", "odbccommand", "oledbcommand", "oraclecommand", "mysqlcommand", "sqlitecommand", "adapter",
)  # fmt: skip


def method(m: Machine, inner: Value, name: str, args: tuple[Value, ...]) -> Value:
    """What `inner.name(args)` yields. `.name` reads a property, `=name` sets one, `?name` is either, `(cast)` converts
    to the type `inner`."""
    m.step()
    if isinstance(inner, Choice):
        found: Value = method(m, inner.options[0], name, args)
        for option in inner.options[1:]:
            found = either(found, method(m, option, name, args))
        return found
    if isinstance(inner, Thing | Unknown) and name in ("foreach", "where") and args:
        return _array(m, (inner,), name, name, args)
    if isinstance(inner, Thing):
        if inner.kind == "type":
            return (
                cast(m, inner.name, args[0] if args else None)
                if name == "(cast)"
                else _static(m, inner.name, name, args)
            )
        reader = _THINGS.get(inner.kind)
        if reader is not None:
            return reader(m, inner, name, args)
        return _unknown(inner.feeds, args)
    if isinstance(inner, Closure):
        return _block(m, inner, name, args)
    own = name.lstrip(".?=")
    if own in ("foreach", "where") and args and isinstance(args[0], Closure) and type(inner) is not tuple:
        inner = elements_of(inner)
    if isinstance(inner, dict):
        return _table(inner, name, own, args)
    if isinstance(inner, str):
        return _text(m, inner, name, own, args)
    if type(inner) is tuple:
        return _array(m, inner, name, own, args)
    block = next((b for key, b in m.functions.items() if key.endswith(f".{own}")), None) if m.functions else None
    if block is not None and not name.startswith("."):
        return operators.unknown_of(tuple(m.ports.block(m, block, args, None)))
    if own in ("tostring", "trim") and isinstance(inner, int | float | bool):
        return text_of(inner)
    if isinstance(inner, Unknown) and own in ("delete", "deletesubkeytree", "deletetree"):
        m.emit(
            ["Remove-Item", *(["-Recurse"] if own != "delete" or args else []), fed("\0", inner.feeds)], builtin=True
        )
        return None
    return _unknown(feeds_of(inner), args)


def _unknown(feeds: Feeds, args: tuple[Value, ...]) -> Unknown:
    """What comes from an object and its arguments; each command once, or a loop would double them in every turn."""
    return Unknown(tuple(dict.fromkeys((*feeds, *_feeds(args)))))


def _feeds(args: tuple[Value, ...]) -> Feeds:
    return tuple(f for arg in args for f in feeds_of(arg))


def _static(m: Machine, type_name: str, name: str, args: tuple[Value, ...]) -> Value:
    own = m.functions.get(f"{type_name}.{name}")
    if own is not None:
        found = m.ports.block(m, own, args, None)
        return found[0] if len(found) == 1 else tuple(found)
    return static(m, type_name, name, args)


# --- plain values


def _table(inner: dict[str, Value], name: str, own: str, args: tuple[Value, ...]) -> Value:
    if not args and own in inner:
        return inner[own]
    if own == "keys":
        return tuple(inner)
    if own == "values":
        return tuple(inner.values())
    if own == "count":
        return len(inner)
    if own in ("containskey", "contains") and args:
        return text_of(args[0]).lower() in inner
    if own == "item" and args:
        return inner.get(text_of(args[0]).lower())
    if own == "getenumerator":
        return tuple({"key": key, "name": key, "value": value} for key, value in inner.items())
    return None if name[:1] == "." else Unknown()


def _text(m: Machine, inner: str, name: str, own: str, args: tuple[Value, ...]) -> Value:
    if own in ("length", "count"):
        return len(inner) if "\0" not in inner else Unknown(feeds_of(inner))
    if own in ("fullname", "path", "name") and name[:1] == ".":
        return inner
    if own == "invoke":
        return None
    if own in _PROFILES and name[:1] == "." and inner.endswith("profile.ps1"):
        return inner
    work = _TEXT.get(own)
    if work is None:
        return _unknown(feeds_of(inner), args)
    if "\0" in inner and own not in _BLIND:
        return _unknown(feeds_of(inner), args)
    try:
        found = work(inner, args)
    except (IndexError, ValueError, TypeError, OverflowError):
        return _unknown(feeds_of(inner), args)
    return fed(found, feeds_of(inner)) if isinstance(found, str) else found


_PROFILES = frozenset("allusersallhosts alluserscurrenthost currentuserallhosts currentusercurrenthost".split())
"""Members of `$PROFILE`: any of them runs when a PowerShell starts."""
_BLIND = frozenset("tolower toupper trim tostring normalize trimend trimstart clone replace insert".split())
"""Methods that do for a text known in part what they do for a known one."""


def _at(args: tuple[Value, ...], place: int) -> int:
    number = number_of(args[place])
    if number is None:
        raise ValueError
    return int(number)


def _substring(text: str, args: tuple[Value, ...]) -> str:
    start = _at(args, 0)
    return text[start:] if len(args) < 2 else text[start : start + _at(args, 1)]


def _trimmed(which: str) -> Callable[[str, tuple[Value, ...]], str]:
    def run(text: str, args: tuple[Value, ...]) -> str:
        signs = "".join(text_of(a) for a in args) or None
        return {"both": text.strip, "start": text.lstrip, "end": text.rstrip}[which](signs)

    return run


def _split(text: str, args: tuple[Value, ...]) -> Value:
    signs = [text_of(sign) for arg in args[:1] for sign in elements_of(arg)] or [" "]
    pieces = [text]
    for sign in signs[:12] if len(signs) > 1 or len(signs[0]) < 2 else list(signs[0])[:12]:
        if sign:
            pieces = [part for piece in pieces for part in piece.split(sign)][:MAX_ITEMS]
    return tuple(pieces)


def _replaced(text: str, args: tuple[Value, ...]) -> str:
    old, new = text_of(args[0]), text_of(args[1])
    if not old or "\0" in old:
        raise ValueError
    return concat([text.replace(old, new)]) if len(text) < 100_000 else text


_TEXT: dict[str, Callable[[str, tuple[Value, ...]], Value]] = {
    "tolower": lambda t, a: t.lower(),
    "tolowerinvariant": lambda t, a: t.lower(),
    "toupper": lambda t, a: t.upper(),
    "toupperinvariant": lambda t, a: t.upper(),
    "tostring": lambda t, a: t,
    "clone": lambda t, a: t,
    "normalize": lambda t, a: t,
    "trim": _trimmed("both"),
    "trimstart": _trimmed("start"),
    "trimend": _trimmed("end"),
    "substring": _substring,
    "replace": _replaced,
    "split": _split,
    "tochararray": lambda t, a: tuple(t[:MAX_ITEMS]),
    "getenumerator": lambda t, a: tuple(t[:MAX_ITEMS]),
    "chars": lambda t, a: t[_at(a, 0)],
    "get_chars": lambda t, a: t[_at(a, 0)],
    "insert": lambda t, a: t[: _at(a, 0)] + text_of(a[1]) + t[_at(a, 0) :],
    "remove": lambda t, a: t[: _at(a, 0)] + (t[_at(a, 0) + _at(a, 1) :] if len(a) > 1 else ""),
    "startswith": lambda t, a: t.startswith(text_of(a[0])),
    "endswith": lambda t, a: t.endswith(text_of(a[0])),
    "contains": lambda t, a: text_of(a[0]) in t,
    "indexof": lambda t, a: t.find(text_of(a[0])),
    "lastindexof": lambda t, a: t.rfind(text_of(a[0])),
    "padleft": lambda t, a: t.rjust(min(_at(a, 0), 10_000), text_of(a[1])[:1] if len(a) > 1 else " "),
    "padright": lambda t, a: t.ljust(min(_at(a, 0), 10_000), text_of(a[1])[:1] if len(a) > 1 else " "),
    "join": lambda t, a: operators.join(a[0] if a else (), t),
    "equals": lambda t, a: t == text_of(a[0]),
}


def _array(m: Machine, inner: tuple[Value, ...], name: str, own: str, args: tuple[Value, ...]) -> Value:
    if own in ("length", "count"):
        return len(inner)
    if own in ("foreach", "where") and args and isinstance(args[0], Closure):
        if own == "foreach":
            return tuple(m.ports.block(m, args[0].block, (), inner))
        m.ports.block(m, args[0].block, (), inner[:3])
        return inner
    if own == "foreach" and args:
        return tuple(method(m, item, f"?{text_of(args[0]).lower()}", args[1:]) for item in inner[:200])
    if own == "contains" and args:
        return operators.binary("contains", inner, args[0])
    if own in ("getvalue", "get", "get_item") and args:
        return index(inner, args[0])
    if own == "indexof" and args:
        return inner.index(args[0]) if is_known(inner) and args[0] in inner else -1
    if own in ("add", "addrange", "clone", "toarray", "tostring"):
        return inner
    found = tuple(method(m, item, name, args) for item in inner[:200])
    return found[0] if len(found) == 1 else found


def _block(m: Machine, inner: Closure, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    if own in ("invoke", "invokereturnasis", "invokewithcontext", "begininvoke"):
        found = m.ports.block(m, inner.block, args, None)
        return found[0] if len(found) == 1 else tuple(found)
    if own in ("getnewclosure", "getpowershell"):
        return inner
    if own == "getscriptblock":
        return inner
    if own in ("tostring", "ast", "extent", "text"):
        return inner.block.source
    return Unknown()


# --- things


def _item(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    path = inner.name
    plain = path.replace("\\", "/").rstrip("/")
    above, _, last = plain.rpartition("/")
    if own in ("fullname", "pspath", "path", "providerpath", "literalpath", "tostring"):
        return fed(path, inner.feeds)
    if own in ("name", "pschildname"):
        return fed(last or path, inner.feeds)
    if own == "basename":
        return last.rpartition(".")[0] if "." in last and "*" not in last else last
    if own == "extension":
        return ("." + last.rpartition(".")[2]) if "." in last else Unknown(inner.feeds)
    if own in ("directory", "parent", "psparentpath", "directoryname"):
        return Thing("item", above or "/", (), inner.feeds)
    if own in ("root", "psdrive"):
        return Thing("item", path[:3] if path[1:2] == ":" else "/", (), inner.feeds)
    if own == "delete":
        m.emit(["Remove-Item", inner, *(["-Recurse"] if args else [])], builtin=True)
        return None
    if own == "moveto":
        m.emit(["Move-Item", inner, *(f"-Destination:{text_of(a)}" for a in args[:1])], builtin=True)
        return None
    if own == "copyto":
        m.emit(["Copy-Item", inner, *(f"-Destination:{text_of(a)}" for a in args[:1])], builtin=True)
        return None
    if own in ("getfiles", "getdirectories", "enumeratefiles", "enumeratedirectories", "getfilesysteminfos",
               "enumeratefilesysteminfos"):  # fmt: skip
        return (Thing("item", f"{path.rstrip('/')}/*", (("base", path),), inner.feeds),)
    if own in OPENS:
        return opened(m, inner.name, own, args)
    return Unknown(inner.feeds)


def _object(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    kind = inner.name
    if name[:1] == "." and (value := inner.field(own)) is not None:
        return value
    if kind.startswith(_NETWORK):
        return _network(m, inner, own, args)
    if kind == "executioncontext":
        if own in ("invokescript", "newscriptblock"):
            out = m.ports.text(m, args[0] if args else "", "InvokeScript") if own == "invokescript" else []
            return out[0] if len(out) == 1 else tuple(out) if out else cast(m, "scriptblock", args[0] if args else "")
        if own in ("expandstring", "getcommand", "getcmdlet", "getcommandname") and args:
            return args[0] if own == "expandstring" else Thing("command", text_of(args[0]))
        return inner
    if kind == "process":
        if own == "start":
            info = inner.field("startinfo")
            source = info if isinstance(info, Thing) else inner
            run_line(m, source.field("filename"), source.field("arguments"), "Process.Start")
            return inner
        if own == "startinfo":
            return Thing("object", "process", inner.fields)
        return Unknown(inner.feeds)
    if kind == "runspace":
        return Thing("object", "powershell", (("script", args[0]),)) if own == "createpipeline" and args else inner
    if kind == "powershell":
        if own in ("addscript", "addcommand") and args:
            return inner._replace(fields=(*inner.fields, ("script", args[0])))
        if own in ("addargument", "addparameter") and args and inner.fields:
            return inner._replace(fields=(*inner.fields[:-1], ("script", _with_argument(inner, own, args))))
        if own in ("invoke", "begininvoke"):
            for key, value in inner.fields:
                if key == "script":
                    m.ports.text(m, value, "PowerShell.Invoke")
        return inner if own != "runspace" else Unknown()
    if kind.startswith("text.") and "encoding" in kind:
        return (
            cast(m, f"(decode {kind})", args[0] if args else None)
            if own == "getstring"
            else (cast(m, f"(encode {kind})", args[0] if args else None) if own == "getbytes" else inner)
        )
    if kind.endswith(_DATABASE_COMMANDS) and own.startswith(("execute", "fill")):
        argv = m.emit(["Invoke-Sqlcmd", concat(["-Query:", text_of(inner.field("commandtext"))])], builtin=True)
        return Unknown((argv,))
    if kind.endswith("connection") and own == "createcommand":
        return Thing("object", "sqlcommand", (), inner.feeds)
    if kind == "reflection":
        # Fields of PowerShell itself are set for one reason only.
        if any("amsi" in text_of(arg).lower() for arg in args) or (own == "setvalue" and inner.field("own")):
            m.emit(["Disable-Amsi"], builtin=True)
        return inner
    if kind.endswith(("eventlog", "eventlogsession")) and own in ("clear", "clearlog"):
        m.emit(["Clear-EventLog", text_of(args[0] if args else inner.field("name"))], builtin=True)
        return None
    if kind == "stream":
        value = inner.field("value")
        if own == "setlength" and args and number_of(args[0]) == 0 and inner.field("path") is not None:
            m.emit(["Clear-Content", inner.field("path")], builtin=True)
        if own in ("readtoend", "toarray", "readline", "getbuffer"):
            return value if not isinstance(value, bytes) else value.decode("utf-8", "replace").replace("\0", "\ufffd")
        return Unknown(feeds_of(value))
    if own in ("getstring", "getbytes", "transformfinalblock", "createdecryptor"):
        return _unknown(inner.feeds, args)
    return _unknown(inner.feeds, args)


def _with_argument(inner: Thing, own: str, args: tuple[Value, ...]) -> Value:
    """The text of a command that is put together piece by piece."""
    words = [f"-{text_of(args[0])}:" if own == "addparameter" else " "]
    value = args[-1] if own == "addargument" or len(args) > 1 else True
    words.append("$true" if value is True else "'" + text_of(value).replace("'", "''") + "'")
    return concat([text_of(inner.fields[-1][1]), " ", *words])


def _network(m: Machine, inner: Thing, own: str, args: tuple[Value, ...]) -> Value:
    """Calls of web clients and sockets: fetching, sending, and a connection that text may come from."""
    kind = inner.name
    words = [text_of(arg) for arg in args]
    if own.startswith(("downloadstring", "downloaddata", "openread", "getstringasync", "getasync", "getstreamasync",
                       "getbytearrayasync")):  # fmt: skip
        argv = m.emit(["Invoke-WebRequest", *words[:1]], builtin=True)
        return Unknown((argv,))
    if own.startswith("downloadfile"):
        argv = m.emit(
            ["Invoke-WebRequest", *words[:1], *(f"-OutFile:{m.path(word)}" for word in words[1:2])], builtin=True
        )
        return None
    if own.startswith("uploadfile"):
        m.emit(
            ["Invoke-WebRequest", words[0] if words else "", "-Method:POST", *(f"-InFile:{w}" for w in words[-1:])],
            builtin=True,
        )
        return Unknown()
    if own.startswith(("uploadstring", "uploaddata", "uploadvalues", "postasync", "putasync", "sendasync")):
        feeds = _feeds(args)
        m.emit(
            ["Invoke-WebRequest", words[0] if words else "", "-Method:POST", f"-Body:{words[-1] if words else ''}"],
            builtin=True,
            feeds=feeds,
        )
        return Unknown()
    if own == "open" and args:
        argv = ("Invoke-WebRequest", *(w for w in words[1:2]))
        return inner._replace(feeds=(argv,))
    if own == "send" and not inner.feeds and "sockets" not in kind:
        return inner
    if own == "connect" and "sockets" in kind:
        argv = m.emit(["New-Object", kind, *words], builtin=True)
        return inner._replace(feeds=(argv,))
    return _unknown(inner.feeds, args)


def _com(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    if inner.name == "wscript.shell" and own in ("run", "exec"):
        run_line(m, *_first_and_rest(text_of(args[0]) if args else ""), "WScript.Shell")
        return Unknown()
    if inner.name == "wscript.shell" and own in ("regwrite", "regdelete"):
        verb = "Set-ItemProperty" if own == "regwrite" else "Remove-ItemProperty"
        m.emit([verb, *map(text_of, args)], builtin=True)
        return Unknown()
    if inner.name == "wscript.shell" and own == "createshortcut" and args:
        return Thing("com", "shortcut", (("path", args[0]),))
    if inner.name == "shortcut" and own == "save":
        m.emit(["Set-Content", m.path(inner.field("path"))], builtin=True)
        return None
    if inner.name == "shell.application" and own in ("shellexecute", "open"):
        run_line(m, args[0] if args else "", args[1] if len(args) > 1 else None, "ShellExecute")
        return Unknown()
    if inner.name == "scripting.filesystemobject" and own in ("deletefile", "deletefolder"):
        m.emit(
            ["Remove-Item", m.path(args[0]) if args else "\0", *(["-Recurse"] if own == "deletefolder" else [])],
            builtin=True,
        )
        return None
    if inner.name.startswith(_NETWORK):
        if own == "open" and len(args) > 1:
            return Unknown((m.emit(["Invoke-WebRequest", text_of(args[1])], builtin=True),))
        if own in ("navigate", "navigate2") and args:
            return Unknown((m.emit(["Invoke-WebRequest", text_of(args[0])], builtin=True),))
        if own in ("responsetext", "responsebody", "document"):
            return Unknown((("Invoke-WebRequest", "\0"),))
    if own == "ddeinitiate":
        run_line(m, args[0] if args else "", args[1] if len(args) > 1 else None, "DDEInitiate")
        return Unknown()
    if inner.name == "schedule.service" and own in ("registertask", "registertaskdefinition", "deletetask"):
        m.emit([f"{'Unr' if own == 'deletetask' else 'R'}egister-ScheduledTask", *map(text_of, args[:1])], builtin=True)
        return Unknown()
    if inner.name == "mmc20.application" and own == "executeshellcommand":
        run_line(m, args[0] if args else "", args[2] if len(args) > 2 else None, "MMC20.Application")
    return inner if name[:1] == "." or own in ("item", "getfolder", "newtask") else _unknown(inner.feeds, args)


def _first_and_rest(line: str) -> tuple[Value, Value]:
    words = argv_of_line(line)
    return (words[0], tuple(words[1:])) if words else ("", None)


def _wmi(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    if own in ("delete", "delete_"):
        m.emit(["Remove-CimInstance", inner.name], builtin=True)
        return None
    if own == "create" and inner.name == "win32_process":
        run_line(m, *_first_and_rest(text_of(args[0]) if args else ""), "Win32_Process.Create")
        return Unknown()
    if own == "cleareventlog":
        m.emit(["Clear-EventLog", "*"], builtin=True)
        return Unknown()
    if own in ("win32shutdown", "reboot", "shutdown", "win32shutdowntracker"):
        m.emit(["Stop-Computer"], builtin=True)
        return Unknown()
    if own in ("terminate", "stopservice", "change", "uninstall", "changestartmode", "disable", "format"):
        m.emit(["Invoke-CimMethod", inner.name, f"-MethodName:{own}"], builtin=True)
        return Unknown()
    return Unknown(inner.feeds)


def _process(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    if own in ("name", "processname"):
        return fed(inner.name, inner.feeds)
    number = inner.field("id")
    if own == "id" and number is not None:
        return number
    if own in ("kill", "closemainwindow"):
        which = concat(["-Name:", inner.name]) if number is None else text_of(number)
        m.emit(["Stop-Process", which], builtin=True)
        return None
    return Unknown(inner.feeds)


def _registry(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    """A key of the registry, opened through .NET."""
    own = name.lstrip(".?=")
    first = text_of(args[0]) if args else ""
    below = concat([inner.name, "\\", first])
    if own == "opensubkey":
        return inner._replace(name=below)
    if own == "createsubkey":
        m.emit(["New-Item", below], builtin=True)
        return inner._replace(name=below)
    if own == "setvalue":
        rest = (concat(["-Value:", text_of(arg)]) for arg in args[1:2])
        m.emit(["Set-ItemProperty", inner.name, concat(["-Name:", first]), *rest], builtin=True)
        return None
    if own == "deletevalue":
        m.emit(["Remove-ItemProperty", inner.name, concat(["-Name:", first])], builtin=True)
        return None
    if own in ("deletesubkey", "deletesubkeytree"):
        m.emit(["Remove-Item", below, *(["-Recurse"] if own.endswith("tree") else [])], builtin=True)
        return None
    return Unknown()


def _service(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    if own in ("name", "servicename", "displayname"):
        return fed(inner.name, inner.feeds)
    if own in ("stop", "pause"):
        m.emit([f"{'Stop' if own == 'stop' else 'Suspend'}-Service", inner.name], builtin=True)
        return None
    return Unknown(inner.feeds)


def _variable(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    own = name.lstrip(".?=")
    if own in ("name", "tostring"):
        return inner.name
    return inner.field(own) if inner.field(own) is not None else Unknown()


def _command(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    return inner.name if name.lstrip(".?=") in ("name", "definition", "source", "path", "tostring") else Unknown()


def _blocked(m: Machine, inner: Thing, name: str, args: tuple[Value, ...]) -> Value:
    """A script block that was made from text that is not known."""
    if name.lstrip(".?=") in ("invoke", "invokereturnasis"):
        m.emit(["Invoke-Expression", fed("\0", inner.feeds)], builtin=True, feeds=inner.feeds)
    return Unknown(inner.feeds)


_THINGS: dict[str, Callable[[Machine, Thing, str, tuple[Value, ...]], Value]] = {
    "item": _item,
    "object": _object,
    "com": _com,
    "wmi": _wmi,
    "process": _process,
    "service": _service,
    "registry": _registry,
    "variable": _variable,
    "command": _command,
    "scriptblock": _blocked,
}
