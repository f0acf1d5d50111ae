"""Owns what static members of .NET types yield, and casts: decoding, files, processes, environment, registry.

Methods of objects are left to `library`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import LimitReached, Unparsed
from chrono.scan.shell.powershell import operators
from chrono.scan.shell.powershell.encodings import decoded, encoded, from_base64, to_base64
from chrono.scan.shell.powershell.files import file_member, path_member, stream
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.parser import parse
from chrono.scan.shell.powershell.starts import run_line
from chrono.scan.shell.powershell.syntax import Block
from chrono.scan.shell.powershell.values import (
    MAX_ITEMS,
    UNKNOWN,
    Closure,
    Thing,
    Unknown,
    Value,
    concat,
    elements_of,
    fed,
    feeds_of,
    is_known,
    number_of,
    text_of,
)


def static(m: Machine, kind: str, name: str, args: tuple[Value, ...]) -> Value:
    """What `[kind]::name(args)` yields; `.name` reads a property."""
    own = name.lstrip(".?=")
    work = _STATIC.get(f"{kind}.{own}")
    if work is not None:
        return work(m, args)
    if kind in ("io.file", "file", "io.directory", "directory"):
        return file_member(m, kind, own, args)
    if kind.endswith("fileio.filesystem") and own in ("deletefile", "deletedirectory"):
        m.emit(
            ["Remove-Item", m.path(args[0]) if args else "\0", *(["-Recurse"] if "dir" in own else [])], builtin=True
        )
        return None
    if kind in ("io.path", "path"):
        return path_member(m, own, args)
    if kind.startswith(("text.encoding", "text.utf8encoding", "text.unicodeencoding", "text.asciiencoding")):
        return Thing("object", f"text.encoding.{own}" if own != "new" else kind)
    if own in ("gettype", "gettypes", "assembly") or kind == "ref":
        if any("amsi" in text_of(arg).lower() for arg in args):
            m.emit(["Disable-Amsi"], builtin=True)
        return Thing("object", "reflection", (("own", kind == "ref"),))
    if kind in ("math",):
        return _math(own, args)
    if kind in ("wmiclass",):
        return UNKNOWN
    if kind.startswith("diagnostics.") and kind.endswith(("eventlog", "eventlogsession")):
        return _event_log(m, kind, own, args)
    if own == "new":
        return _new(m, kind, args)
    if kind in ("io.compression.compressionmode", "io.filemode", "io.fileaccess"):
        return own
    if kind == "activator" and own == "createinstance" and args and isinstance(args[0], Thing):
        return _new(m, args[0].name, args[1:]) if args[0].kind == "type" else args[0]
    if kind == "type" and own in ("gettypefromprogid", "gettypefromclsid") and args:
        return _com_class(m, args)
    if kind in ("microsoft.win32.registry", "win32.registry"):
        if own == "setvalue":
            m.emit(["Set-ItemProperty", *map(text_of, args)], builtin=True)
            return None
        if own in _HIVES:
            return Thing("registry", _HIVES[own])
    if kind.endswith("win32.registrykey") and own == "openbasekey" and args:
        return Thing("registry", _HIVES.get(text_of(args[0]).lower(), "HKLM:"))
    if kind.startswith(("io.fileinfo", "io.directoryinfo")):
        return _new(m, kind, args)
    return Unknown(tuple(f for arg in args for f in feeds_of(arg)))


# --- making objects


def _new(m: Machine, kind: str, args: tuple[Value, ...]) -> Value:
    words = [text_of(arg) for arg in args]
    if kind.startswith(("net.sockets.", "io.pipes.")):
        argv = m.emit(["New-Object", kind, *words], builtin=True)
        return Thing("object", kind, (), (argv,) if words else ())
    if kind in ("io.fileinfo", "io.directoryinfo", "fileinfo", "directoryinfo"):
        return Thing("item", m.path(args[0]) if args else "\0")
    if kind in ("diagnostics.processstartinfo", "diagnostics.process"):
        fields = (("filename", args[0] if args else None), ("arguments", args[1] if len(args) > 1 else None))
        return Thing("object", "process", tuple(f for f in fields if f[1] is not None))
    if kind in ("io.memorystream", "io.streamreader", "io.compression.deflatestream", "io.compression.gzipstream",
                "io.stringreader", "io.streamwriter", "io.filestream"):  # fmt: skip
        return stream(m, kind, args)
    if kind == "string" and args:
        if type(args[0]) is tuple:
            return operators.join(args[0], "")
        count = number_of(args[1]) if len(args) > 1 else None
        return text_of(args[0]) * min(int(count), 10_000) if count is not None else text_of(args[0])
    if kind in ("psobject", "object", "pscustomobject"):
        return {}
    if args and kind.endswith(("command", "adapter")):
        return Thing("object", kind, (("commandtext", args[0]),), feeds_of(args[0]))
    if kind.startswith(("collections.generic.list", "collections.arraylist")):
        return ()
    if kind.startswith("text.") and "encoding" in kind:
        return Thing("object", kind)
    if kind == "management.automation.psobject":
        return {}
    return Thing("object", kind, (), tuple(f for arg in args for f in feeds_of(arg)))


_HIVES = {
    "currentuser": "HKCU:", "localmachine": "HKLM:", "classesroot": "HKCR:", "users": "HKU:", "currentconfig": "HKCC:",
}  # fmt: skip
_CLASSES = {
    "9ba05972-f6a8-11cf-a442-00a0c90a8f39": "shell.application",
    "c08afd90-f2a1-11d1-8455-00a0c91f3880": "shell.application",
    "13709620-c279-11ce-a49e-444553540000": "shell.application",
    "72c24dd5-d70a-438b-8a42-98424b88afb8": "wscript.shell",
    "49b2791a-b1ae-4c90-9b8e-e860ba07f889": "mmc20.application",
    "0d43fe01-f093-11cf-8940-00a0c9054228": "scripting.filesystemobject",
}
"""COM classes that run programs or delete files, by the identifier that stands for their name."""


def _com_class(m: Machine, args: tuple[Value, ...]) -> Value:
    """A COM class by its name or identifier, maybe on another machine."""
    written = text_of(args[0]).lower().strip("{}")
    name = _CLASSES.get(written, written)
    if len(args) > 1:
        m.emit(["New-Object", name, concat(["-ComputerName:", text_of(args[1])])], builtin=True)
    return Thing("com", name)


def _event_log(m: Machine, kind: str, own: str, args: tuple[Value, ...]) -> Value:
    """The logs of Windows through .NET: `EventLog.Delete`, a session or a log to call methods of."""
    if own in ("delete", "deleteeventsource"):
        m.emit(["Remove-EventLog", *map(text_of, args)], builtin=True)
        return None
    return Thing("object", kind, (("name", args[0] if own == "new" and args else "*"),))


# --- casts


def cast(m: Machine, kind: str, value: Value) -> Value:
    """A value as another type; one whose type is not known here stays what it is."""
    if kind.startswith("(decode "):
        return decoded(kind, value)
    if kind.startswith("(encode "):
        return encoded(kind, value)
    if kind == "char":
        number = number_of(value) if not isinstance(value, str) or (value.isdigit() and len(value) > 1) else None
        if type(value) is tuple:
            return tuple(cast(m, kind, item) for item in value)
        if number is not None and 0 < number < 0x110000:
            return chr(int(number))
        return text_of(value)
    if kind in ("char[]",):
        if isinstance(value, str):
            return tuple(value[:MAX_ITEMS]) if "\0" not in value else Unknown(feeds_of(value))
        return tuple(cast(m, "char", item) for item in elements_of(value))
    if kind in (
        "int",
        "int32",
        "int64",
        "long",
        "byte",
        "uint32",
        "double",
        "decimal",
        "int16",
        "uint16",
        "uint64",
        "float",
    ):
        if isinstance(value, str) and len(value) == 1 and not value.isdigit():
            return ord(value) if kind in ("int", "int32", "byte") else Unknown()
        number = number_of(value)
        if number is None:
            return Unknown(feeds_of(value))
        return number if kind in ("double", "decimal", "float") else int(number)
    if kind in ("int[]", "int32[]", "byte[]"):
        if isinstance(value, str):
            return tuple(map(ord, value[:MAX_ITEMS]))
        return value if isinstance(value, bytes) else tuple(cast(m, "int", item) for item in elements_of(value))
    if kind == "string":
        return text_of(value)
    if kind in ("string[]", "array", "object[]", "collections.arraylist"):
        return elements_of(value)
    if kind in ("bool", "boolean", "switch"):
        from chrono.scan.shell.powershell.values import truth

        known = truth(value)
        return Unknown() if known is None else known
    if kind in ("void",):
        return None
    if kind.endswith("processstartinfo") and isinstance(value, dict):
        return Thing("object", "process", tuple(value.items()))
    if kind.startswith("net.sockets."):
        return _new(m, kind, (value,))
    if kind in ("scriptblock", "management.automation.scriptblock"):
        return _block(m, (value,))
    if kind in ("wmiclass", "wmi", "ciminstance"):
        return Thing("wmi", text_of(value).lower().rpartition(":")[2].rpartition("\\")[2].partition(".")[0])
    if kind in ("adsi",):
        return Thing("object", "adsi")
    if kind in ("io.fileinfo", "io.directoryinfo"):
        return Thing("item", m.path(value))
    if kind == "type":
        return Thing("type", text_of(value).lower().removeprefix("system."))
    return value


def _block(m: Machine, args: tuple[Value, ...]) -> Value:
    """`[scriptblock]::Create(text)`."""
    value = args[0] if args else ""
    if isinstance(value, Closure):
        return value
    text = text_of(value)
    if text.strip("\0") == "" and "\0" in text:
        return Thing("scriptblock", "", (), feeds_of(value) or ())
    try:
        return Closure(Block(parse(text), (), text))
    except (Unparsed, LimitReached):
        return Thing("scriptblock", "", (), feeds_of(value))


# --- processes, the environment, texts


def _start(m: Machine, args: tuple[Value, ...]) -> Value:
    first = args[0] if args else ""
    if isinstance(first, Thing) and first.kind == "object":
        run_line(m, first.field("filename"), first.field("arguments"), "Process.Start")
    else:
        run_line(m, first, args[1] if len(args) > 1 else None, "Process.Start")
    return Unknown()


def _environment(m: Machine, args: tuple[Value, ...]) -> Value:
    from chrono.scan.shell.powershell.evaluation import environment

    name = text_of(args[0]) if args else "\0"
    return environment(m, name) if "\0" not in name else UNKNOWN


def _set_environment(m: Machine, args: tuple[Value, ...]) -> Value:
    if len(args) > 1:
        m.variables[f"env:{text_of(args[0]).lower()}"] = args[1]
    if len(args) > 2:
        m.emit(["Set-EnvironmentVariable", *map(text_of, args)], builtin=True)
    return None


_FOLDERS = {
    "userprofile": "", "personal": "/Documents", "mydocuments": "/Documents", "desktop": "/Desktop",
    "desktopdirectory": "/Desktop", "applicationdata": "/AppData/Roaming", "localapplicationdata": "/AppData/Local",
    "startup": "/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup", "mypictures": "/Pictures",
    "mymusic": "/Music", "myvideos": "/Videos",
}  # fmt: skip
_SYSTEM = {"system": "C:\\Windows\\System32", "windows": "C:\\Windows", "programfiles": "C:\\Program Files",
           "commonapplicationdata": "C:\\ProgramData"}  # fmt: skip


def _folder(m: Machine, args: tuple[Value, ...]) -> Value:
    name = text_of(args[0]).lower() if args else ""
    if name in _FOLDERS:
        return m.world.home + _FOLDERS[name]
    return _SYSTEM.get(name, UNKNOWN)


def _math(own: str, args: tuple[Value, ...]) -> Value:
    numbers = [number_of(arg) for arg in args]
    if not numbers or any(n is None for n in numbers):
        return UNKNOWN
    known = [n for n in numbers if n is not None]
    work: dict[str, Callable[[], float]] = {
        "abs": lambda: abs(known[0]),
        "min": lambda: min(known),
        "max": lambda: max(known),
        "floor": lambda: known[0] // 1,
        "round": lambda: round(known[0]),
    }
    return work[own]() if own in work else UNKNOWN


def _to_number(m: Machine, args: tuple[Value, ...]) -> Value:
    text = text_of(args[0]) if args else ""
    base = number_of(args[1]) if len(args) > 1 else 10
    if isinstance(args[0] if args else None, str) and len(text) == 1 and len(args) == 1:
        return ord(text)
    try:
        return int(text, int(base or 10)) if len(text) < 60 else UNKNOWN
    except ValueError:
        return Unknown(feeds_of(args[0] if args else None))


def _reverse(m: Machine, args: tuple[Value, ...]) -> Value:
    """`[array]::Reverse($a)` turns the array itself; every variable that holds it holds it turned."""
    value = args[0] if args else None
    if type(value) is tuple:
        for name, held in m.variables.items():
            if held is value or held == value:
                m.variables[name] = tuple(reversed(value))
    return None


def _unescape(m: Machine, args: tuple[Value, ...]) -> Value:
    text = text_of(args[0]) if args else ""
    if not is_known(text):
        return Unknown(feeds_of(text))
    out: list[str] = []
    at = 0
    while at < len(text):
        code = text[at + 1 : at + 3]
        if text[at] == "%" and len(code) == 2 and all(c in "0123456789abcdefABCDEF" for c in code):
            out.append(chr(int(code, 16)))
            at += 3
        else:
            out.append(text[at])
            at += 1
    return "".join(out).replace("\0", "\ufffd")


def _joined(m: Machine, args: tuple[Value, ...]) -> Value:
    rest = args[1] if len(args) == 2 else args[1:]
    return operators.join(rest, args[0] if args else "")


def _concat(m: Machine, args: tuple[Value, ...]) -> Value:
    return concat([text_of(item) for arg in args for item in elements_of(arg)])


def _format(m: Machine, args: tuple[Value, ...]) -> Value:
    return operators.text_format(
        args[0] if args else "", args[1:] if len(args) != 2 else (args[1] if type(args[1]) is tuple else args[1:])
    )


def _replaced(m: Machine, args: tuple[Value, ...]) -> Value:
    return operators.replace(args[0], args[1:3]) if len(args) > 2 else UNKNOWN


def _marshal(m: Machine, args: tuple[Value, ...]) -> Value:
    """A secure string turned back into plain text."""
    return Unknown((("ConvertFrom-SecureString",),))


def _assembly(m: Machine, args: tuple[Value, ...]) -> Value:
    feeds = tuple(f for arg in args for f in feeds_of(arg))
    m.emit(["Invoke-Expression", fed("\0", feeds)], builtin=True, feeds=(*feeds, ("Assembly.Load",)))
    return Unknown(feeds)


def _exit(m: Machine, args: tuple[Value, ...]) -> Value:
    return None


_STATIC: dict[str, Callable[[Machine, tuple[Value, ...]], Value]] = {
    "convert.frombase64string": from_base64,
    "convert.tobase64string": to_base64,
    "convert.toint32": _to_number,
    "convert.toint16": _to_number,
    "convert.tobyte": _to_number,
    "convert.tochar": lambda m, a: cast(m, "char", a[0] if a else None),
    "convert.tostring": lambda m, a: text_of(a[0]) if a else "",
    "scriptblock.create": _block,
    "management.automation.language.parser.parseinput": lambda m, a: _block(m, a[:1]),
    "runspacefactory.createrunspace": lambda m, a: Thing("object", "runspace"),
    "management.automation.runspaces.runspacefactory.createrunspace": lambda m, a: Thing("object", "runspace"),
    "management.automation.scriptblock.create": _block,
    "diagnostics.process.start": _start,
    "environment.getenvironmentvariable": _environment,
    "environment.setenvironmentvariable": _set_environment,
    "environment.getfolderpath": _folder,
    "environment.currentdirectory": lambda m, a: Thing("item", m.cwd),
    "environment.systemdirectory": lambda m, a: "C:\\Windows\\System32",
    "environment.username": lambda m, a: m.world.user,
    "environment.newline": lambda m, a: "\n",
    "environment.exit": _exit,
    "array.reverse": _reverse,
    "string.join": _joined,
    "string.concat": _concat,
    "string.format": _format,
    "string.new": lambda m, a: _new(m, "string", a),
    "string.empty": lambda m, a: "",
    "regex.replace": _replaced,
    "text.regularexpressions.regex.replace": _replaced,
    "regex.unescape": lambda m, a: a[0] if a else "",
    "uri.unescapedatastring": _unescape,
    "net.webutility.urldecode": _unescape,
    "web.httputility.urldecode": _unescape,
    "bitconverter.tostring": lambda m, a: UNKNOWN,
    "powershell.create": lambda m, a: Thing("object", "powershell"),
    "management.automation.powershell.create": lambda m, a: Thing("object", "powershell"),
    "runtime.interopservices.marshal.ptrtostringauto": _marshal,
    "runtime.interopservices.marshal.ptrtostringbstr": _marshal,
    "reflection.assembly.load": _assembly,
    "appdomain.currentdomain": lambda m, a: Thing("object", "appdomain"),
    "io.compression.compressionmode.decompress": lambda m, a: "decompress",
    "io.file.exists": lambda m, a: UNKNOWN,
    "text.encoding.getencoding": lambda m, a: Thing("object", f"text.encoding.{text_of(a[0]).lower() if a else ''}"),
}
