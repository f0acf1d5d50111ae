"""Owns what Python's os, os.path, shutil, pathlib, glob and tempfile give and do.

Everything else of the library is left to `python_library`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import join_path, over
from chrono.scan.code.paths import absolute, below, folder_of, globbed, last_of
from chrono.scan.code.system_calls import cwd
from chrono.scan.code.values import ANY, Items, Ref, Text, Thing, Wild, alternatives, pieces_of, text_of
from chrono.scan.command import UNKNOWN

Handler = Callable[[Machine, Arguments], Value]

_GLOB = "*?["
_TEMPORARY = "/tmp"


def expand_user(run: Machine, value: Value) -> Value:
    """`~` at the start of a path, replaced."""
    pieces = pieces_of(value)
    first = pieces[0] if pieces else None
    if isinstance(first, str) and (first == "~" or first.startswith("~/")):
        return text_of((run.world.home + first[1:], *pieces[1:]))
    return text_of(pieces)


def path(text: Value) -> Thing:
    return Thing("path", text=text)


# --- files ------------------------------------------------------------------------------------------------------------


def open_file(run: Machine, args: Arguments) -> Value:
    """`open(path, mode)`: reading is `cat`, writing a redirection."""
    target, mode = args.at(0, "file"), args.at(1, "mode")
    if isinstance(target, int):
        return ANY
    return opened(run, target, mode)


def opened(run: Machine, target: Value, mode: Value) -> Value:
    letters = mode if isinstance(mode, str) else "r"
    if any(letter in letters for letter in "wxa+"):
        run.effects.write(target, append="w" not in letters)
        return Thing("file", path=target, mode="write" if "+" not in letters else "both")
    run.effects.read(target)
    return Thing("file", path=target, mode="read")


def _each(effect: str, count: int = 1) -> Handler:
    """The effect of this name on the first argument (or the first two)."""

    def call(run: Machine, args: Arguments) -> Value:
        first = args.at(0, "path") if "path" in args.named else args.at(0, "src")
        if count == 1:
            getattr(run.effects, effect)(ANY if first is None else first)
        else:
            second = args.at(1, "dst")
            getattr(run.effects, effect)(ANY if first is None else first, ANY if second is None else second)
        return args.at(1, "dst") if count == 2 else ANY

    return call


def _chmod(run: Machine, args: Arguments) -> Value:
    run.effects.change_mode(args.at(1, "mode"), args.at(0, "path"))
    return ANY


def _chown(run: Machine, args: Arguments) -> Value:
    owner = args.at(1, "uid") if "user" not in args.named else args.named["user"]
    run.effects.command(
        "chown",
        run.effects.word(str(owner) if isinstance(owner, int) else owner),
        run.effects.word(args.at(0, "path")),
    )
    return ANY


def _link(*flags: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        run.effects.command("ln", *flags, run.effects.word(args.at(0, "src")), run.effects.word(args.at(1, "dst")))
        return ANY

    return call


def _truncate(run: Machine, args: Arguments) -> Value:
    run.effects.write(args.at(0, "path"))
    return ANY


def _os_open(run: Machine, args: Arguments) -> Value:
    target, flags = args.at(0, "path"), args.at(1, "flags")
    if isinstance(flags, Ref) and flags.name == "os.O_RDONLY":
        run.effects.read(target)
    return Thing("file", path=target, mode="read")


def _walk(run: Machine, args: Arguments) -> Value:
    root = args.at(0, "top")
    names = Items((), Text((Wild("*"),)))
    rows = [Items([text_of(pieces_of(option)), names, names]) for option in alternatives(root)]
    return Items(rows)


def _listdir(run: Machine, args: Arguments) -> Value:
    run.effects.lists(args.at(0, "path"))
    return Items((), Text((Wild("*"),)))


def _scandir(run: Machine, args: Arguments) -> Value:
    target = args.at(0, "path")
    run.effects.lists(target)
    return Items((), path(over(below, "." if target is None else target)))


def _glob(run: Machine, args: Arguments) -> Value:
    run.effects.lists(args.at(0, "pathname"))
    base = args.named.get("root_dir", "")
    found = [globbed(base, option) for option in alternatives(args.at(0, "pathname"))]
    values = [value for items in found for value in items.values]
    more = [items.more for items in found if items.more is not None]
    partly = args.at(0, "pathname")
    if isinstance(partly, Text):
        last = partly.pieces[-1]
        if isinstance(last, str) and any(c in last for c in _GLOB):
            cut = last.rfind("/") + 1
            return Items((), text_of((*partly.pieces[:-1], last[:cut], Wild(last[cut:]))))
    return Items(values, more[0] if more else None)


def _join(run: Machine, args: Arguments) -> Value:
    if args.more:
        return join_path(*args.values, ANY) if args.values else ANY
    return join_path(*args.values) if args.values else ANY


def _same(run: Machine, args: Arguments) -> Value:
    return over(lambda v: text_of(pieces_of(v)), args.at(0))


def _absolute(run: Machine, args: Arguments) -> Value:
    return over(lambda v: absolute(run.effects.cwd, v), args.at(0))


def _normal(run: Machine, args: Arguments) -> Value:
    return over(lambda v: os.path.normpath(v) if isinstance(v, str) and v else text_of(pieces_of(v)), args.at(0))


def _of(function: Callable[[Value], Value]) -> Handler:
    return lambda run, args: over(function, args.at(0))


def _split_ending(value: Value) -> Value:
    if isinstance(value, str):
        return Items(os.path.splitext(value))
    return Items([text_of((*pieces_of(folder_of(value)), "/", None)), ANY])


def _home(run: Machine, args: Arguments) -> Value:
    return path(run.world.home)


def _new_path(run: Machine, args: Arguments) -> Value:
    if not args.values:
        return path(".")
    return over(lambda *parts: path(join_path(*parts)), *args.values)


def _temporary(kind: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        folder = args.named.get("dir")
        text = text_of((*pieces_of(folder if folder is not None else _TEMPORARY), "/tmp", None))
        if kind == "folder":
            return text
        if kind == "handle":
            return Items([ANY, text])
        return Thing("file", path=text, mode="both") if kind == "file" else Thing("temporary", text=text)

    return call


def _password_entry(run: Machine, args: Arguments) -> Value:
    return Thing("instance", pw_dir=run.world.home, pw_name=run.world.user)


def _environment(run: Machine, args: Arguments) -> Value:
    key = args.at(0, "key")
    value = run.world.env(key) if isinstance(key, str) else None
    if value is None and key in ("HOME", "USERPROFILE"):
        return run.world.home
    default = args.at(1, "default")
    return value if value is not None else ANY if default is None else default


PATH_CALLS: dict[str, Handler] = {
    "shutil.rmtree": _each("remove_tree"),
    "distutils.dir_util.remove_tree": _each("remove_tree"),
    "setuptools._distutils.dir_util.remove_tree": _each("remove_tree"),
    "send2trash.send2trash": _each("remove_tree"),
    "os.remove": _each("remove"),
    "os.unlink": _each("remove"),
    "os.rmdir": _each("remove_folder"),
    "os.removedirs": _each("remove_folder"),
    "os.rename": _each("move", 2),
    "os.replace": _each("move", 2),
    "os.renames": _each("move", 2),
    "shutil.move": _each("move", 2),
    "shutil.copy": _each("copy", 2),
    "shutil.copy2": _each("copy", 2),
    "shutil.copyfile": _each("copy", 2),
    "shutil.copytree": _each("copy", 2),
    "os.chmod": _chmod,
    "os.lchmod": _chmod,
    "os.chown": _chown,
    "os.lchown": _chown,
    "shutil.chown": _chown,
    "os.symlink": _link("-s"),
    "os.link": _link(),
    "os.truncate": _truncate,
    "os.open": _os_open,
    "os.walk": _walk,
    "os.fwalk": _walk,
    "os.listdir": _listdir,
    "os.scandir": _scandir,
    "glob.glob": _glob,
    "glob.iglob": _glob,
    "os.path.join": _join,
    "os.path.expanduser": lambda run, args: over(lambda v: expand_user(run, v), args.at(0)),
    "os.path.expandvars": lambda run, args: over(lambda v: _expand_variables(run, v), args.at(0)),
    "os.path.abspath": _absolute,
    "os.path.realpath": _absolute,
    "os.path.normpath": _normal,
    "os.path.dirname": _of(folder_of),
    "os.path.basename": _of(last_of),
    "os.path.split": _of(lambda v: Items([folder_of(v), last_of(v)])),
    "os.path.splitext": _of(_split_ending),
    "os.path.relpath": _same,
    "os.path.normcase": _same,
    "os.getcwd": cwd,
    "os.getcwdu": cwd,
    "os.getenv": _environment,
    "os.getlogin": lambda run, args: run.world.user,
    "getpass.getuser": lambda run, args: run.world.user,
    "os.getuid": lambda run, args: run.world.uid,
    "pwd.getpwuid": _password_entry,
    "pwd.getpwnam": _password_entry,
    "pathlib.Path": _new_path,
    "pathlib.PosixPath": _new_path,
    "pathlib.PurePath": _new_path,
    "pathlib.PurePosixPath": _new_path,
    "pathlib.Path.home": _home,
    "pathlib.PosixPath.home": _home,
    "pathlib.Path.cwd": lambda run, args: path(cwd(run, args)),
    "path.Path": _new_path,
    "tempfile.mkdtemp": _temporary("folder"),
    "tempfile.mktemp": _temporary("folder"),
    "tempfile.mkstemp": _temporary("handle"),
    "tempfile.TemporaryDirectory": _temporary("holder"),
    "tempfile.NamedTemporaryFile": _temporary("file"),
    "tempfile.gettempdir": lambda run, args: _TEMPORARY,
    "platformdirs.user_data_dir": lambda run, args: f"{run.world.home}/.local/share",
    "sys.stdout.write": lambda run, args: ANY,
}


def _expand_variables(run: Machine, value: Value) -> Value:
    out: list[str | None | Wild] = []
    for piece in pieces_of(value):
        if not isinstance(piece, str) or "$" not in piece:
            out.append(piece)
            continue
        head, *rest = piece.split("$")
        out.append(head)
        for part in rest:
            braced = part.startswith("{") and "}" in part
            length = next((at for at, c in enumerate(part) if not (c.isalnum() or c == "_")), len(part))
            name, tail = part[1:].split("}", 1) if braced else (part[:length], part[length:])
            known = run.world.env(name)
            out += [run.world.home if known is None and name == "HOME" else known, tail]
    return text_of(out)


# --- pathlib ----------------------------------------------------------------------------------------------------------


def path_attribute(run: Machine, owner: Thing, name: str) -> Value:
    """Attributes of a Path (and of a directory entry)."""
    text = owner.fields["text"]
    if name == "parent":
        return path(over(folder_of, text))
    if name == "name":
        return over(last_of, text)
    if name == "path":
        return text
    if name == "parents":
        folders: list[Value] = []
        current = text
        for _ in range(12):
            above = folder_of(current)
            if above in ("", current):
                break
            folders.append(path(above))
            current = above
        return Items(folders, path(ANY))
    if name in ("stem", "suffix") and isinstance(text, str):
        stem, ending = os.path.splitext(os.path.basename(text))
        return stem if name == "stem" else ending
    if name in ("stem", "suffix", "suffixes", "parts", "anchor", "drive", "root"):
        return ANY
    return None


def path_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    """Methods of a Path; also of its class, called with the path in front."""
    text = owner.fields["text"] if isinstance(owner, Thing) and owner.kind == "path" else owner
    run.effects.label = f"Path.{name}"
    effects = run.effects
    if name == "unlink":
        effects.remove(text)
    elif name == "rmdir":
        effects.remove_folder(text)
    elif name in ("rmtree", "rmtree_p"):
        effects.remove_tree(text)
    elif name in ("rename", "replace", "move"):
        effects.move(text, args.at(0, "target"))
        return path(args.at(0, "target"))
    elif name in ("write_text", "write_bytes"):
        data = args.at(0, "data")
        effects.write(text, data.decode("utf-8", "replace") if isinstance(data, bytes) else data)
    elif name in ("chmod", "lchmod"):
        effects.change_mode(args.at(0, "mode"), text)
    elif name in ("symlink_to", "hardlink_to", "link_to"):
        flags = ("-s",) if name == "symlink_to" else ()
        effects.command("ln", *flags, effects.word(args.at(0, "target")), effects.word(text))
    elif name in ("read_text", "read_bytes"):
        effects.read(text)
        content = effects.content(text)
        return content.encode("utf-8", "replace") if name == "read_bytes" and isinstance(content, str) else content
    elif name == "open":
        return opened(run, text, args.at(0, "mode"))
    elif name == "touch":
        effects.command("touch", effects.word(text))
    else:
        return _pure_path_method(run, text, name, args)
    return ANY


def _pure_path_method(run: Machine, text: Value, name: str, args: Arguments) -> Value:
    if name in ("expanduser", "expand"):
        return path(over(lambda v: expand_user(run, v), text))
    if name in ("resolve", "absolute", "abspath", "realpath"):
        return path(over(lambda v: absolute(run.effects.cwd, v), text))
    if name in ("joinpath", "__truediv__"):
        return over(lambda *parts: path(join_path(*parts)), text, *args.values)
    if name in ("iterdir", "listdir", "files", "dirs", "glob"):
        run.effects.lists(text)
    if name in ("iterdir", "listdir", "files", "dirs"):
        return Items((), path(over(below, text)))
    if name in ("glob", "rglob"):
        return over(lambda base, pattern: _path_glob(base, pattern, name == "rglob"), text, args.at(0, "pattern"))
    if name == "walk":
        return _walk(run, Arguments((path(text),), {}))
    if name in ("as_posix", "__str__", "__fspath__", "as_uri"):
        return text
    if name == "with_name":
        return path(over(lambda base, last: join_path(folder_of(base), last), text, args.at(0)))
    if name in ("with_suffix", "with_stem", "relative_to"):
        return path(text if name == "relative_to" else text_of((*pieces_of(folder_of(text)), "/", None)))
    if (
        name == "is_relative_to"
        or name.startswith("is_")
        or name in ("exists", "stat", "lstat", "match", "owner", "mkdir")
    ):
        return ANY
    if name in ("endswith", "startswith", "replace"):
        return ANY
    return ANY if text != UNKNOWN else None


def _path_glob(base: Value, pattern: Value, recursive: bool) -> Value:
    found = globbed(base, pattern, recursive)
    return Items([path(v) for v in found.values], None if found.more is None else path(found.more))
