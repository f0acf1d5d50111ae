"""Owns what .NET does to files and paths, and the streams that read or write them.

Making other objects is left to `statics`, what a stream's methods yield to `library`.
"""

from __future__ import annotations

from chrono.scan.shell.powershell.encodings import bytes_of, decoded, inflated
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.values import (
    UNKNOWN,
    Thing,
    Unknown,
    Value,
    concat,
    elements_of,
    feeds_of,
    text_of,
)


def file_member(m: Machine, kind: str, own: str, args: tuple[Value, ...]) -> Value:
    path = m.path(args[0]) if args else "\0"
    if own == "delete":
        tree = kind.endswith("directory") and len(args) > 1 and args[1] is not False
        m.emit(["Remove-Item", path, *(["-Recurse"] if tree else [])], builtin=True)
        return None
    if own in ("move", "copy", "replace"):
        verb = "Copy-Item" if own == "copy" else "Move-Item"
        m.emit([verb, path, *(concat(["-Destination:", m.path(arg)]) for arg in args[1:2])], builtin=True)
        return None
    if kind.endswith("directory") and own.startswith(("create", "setaccesscontrol")):
        return Thing("item", path)
    if own in OPENS:
        return opened(m, path, own, args[1:])
    if own.startswith(("writeall", "appendall", "setaccesscontrol", "setattributes", "encrypt")):
        verb = "Add-Content" if own.startswith("append") else "Set-Content"
        if own.startswith("writeall") and len(args) > 1 and not any(text_of(item) for item in elements_of(args[1])):
            verb = "Clear-Content"
        m.emit([verb, path], builtin=True)
        if len(args) > 1:
            content = decoded("utf8", args[1]) if own == "writeallbytes" else args[1]
            m.write(args[0], content, own.startswith("append"))
        return None
    if own.startswith(("readall", "opentext", "readlines")):
        argv = m.emit(["Get-Content", path], builtin=True)
        text = m.known_file(path)
        if text is not None and own in ("readalltext", "readalllines", "readlines"):
            return text if own == "readalltext" else tuple(text.splitlines())
        return Unknown((argv,))
    if own in ("getfiles", "getdirectories", "enumeratefiles", "enumeratedirectories", "getfilesystementries"):
        name = text_of(args[1]) if len(args) > 1 else "*"
        base = path.rstrip("/\\")
        deep = len(args) > 2
        found = f"{base}/\0{name.lstrip('*')}" if deep and name.strip("*") else f"{base}/{name}"
        return (Thing("item", found, (("base", base), ("recurse", deep and not name.strip("*.")))),)
    if own == "setcurrentdirectory":
        m.go(path)
        return None
    return Unknown()


OPENS = frozenset(("open", "openread", "openwrite", "create", "createtext"))
_EMPTYING = frozenset(("create", "createtext", "truncate", "2", "5"))
_READING = frozenset(("openread", "read", "1"))


def opened(m: Machine, path: str, own: str, args: tuple[Value, ...]) -> Value:
    """A stream over a file: `own` is how it is opened, `args` are the mode and the access where they are given."""
    words = [text_of(arg).lower() for arg in args[:2]]
    if own in _EMPTYING or (own == "open" and words[:1] and words[0] in _EMPTYING):
        verb = "Clear-Content"
    elif own in _READING or (own == "open" and words[1:] and words[1] in _READING):
        verb = "Get-Content"
    else:
        verb = "Set-Content"
    argv = m.emit([verb, path], builtin=True)
    held = Unknown((argv,)) if verb == "Get-Content" else UNKNOWN
    return Thing("object", "stream", (("value", held), ("path", path)))


def path_member(m: Machine, own: str, args: tuple[Value, ...]) -> Value:
    if own == "combine":
        parts = [text_of(item) for arg in args for item in elements_of(arg)]
        joined = parts[:1]
        for part in parts[1:]:
            joined = (
                [part]
                if part[:1] in "/\\" or part[1:2] == ":"
                else [*joined, "/" if joined and "\\" not in joined[0] else "\\", part]
            )
        return concat(
            [piece.rstrip("\\/") if at == 0 and len(joined) > 1 else piece for at, piece in enumerate(joined)]
        )
    if own == "gettemppath":
        return f"{m.world.home}/AppData/Local/Temp/"
    if own == "gettempfilename":
        return f"{m.world.home}/AppData/Local/Temp/\0.tmp"
    if own == "getpathroot":
        text = text_of(args[0]) if args else ""
        return text[:3] if text[1:2] == ":" else "/"
    if own in ("getfullpath",) and args:
        return m.absolute(m.path(args[0])) or text_of(args[0])
    if own in ("getdirectoryname", "getfilename") and args:
        above, _, last = text_of(args[0]).replace("\\", "/").rpartition("/")
        return above if own == "getdirectoryname" else last
    return Unknown()


def stream(m: Machine, kind: str, args: tuple[Value, ...]) -> Value:
    source: Value = args[0] if args else None
    if type(source) is tuple and len(source) == 1:
        source = source[0]
    value = source
    if isinstance(source, Thing) and source.kind == "object":
        value = source.field("value") if source.name == "stream" else Unknown(source.feeds)
    if kind == "io.filestream" and isinstance(source, str):
        return opened(m, m.path(source), "open", args[1:])
    if kind == "io.streamwriter" and isinstance(source, str):
        return opened(m, m.path(source), "openwrite" if args[1:] else "createtext", ())
    if kind == "io.streamreader" and isinstance(source, str):
        m.emit(["Get-Content", m.path(source)], builtin=True)
        return Thing("object", "stream", (("value", Unknown((("Get-Content", source),))),))
    if type(value) is tuple:
        value = bytes_of(value)
    if kind.endswith(("deflatestream", "gzipstream")):
        value = inflated(value)
    return Thing("object", "stream", (("value", value),), feeds_of(value))
