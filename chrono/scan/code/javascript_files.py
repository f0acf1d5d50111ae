"""Owns what Node's fs, Deno's and Bun's file calls, rimraf and del do.

Everything else of the library is left to `javascript_library`.
"""

from __future__ import annotations

from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import over
from chrono.scan.code.paths import absolute, below, globbed
from chrono.scan.code.system_calls import cwd
from chrono.scan.code.values import (
    ANY,
    NEVER,
    Bound,
    Items,
    Partial,
    Table,
    Text,
    Thing,
    Wild,
    alternatives,
    elements,
    pieces_of,
    text_of,
    truth,
)


def options_of(args: Arguments) -> Table | None:
    return next((value for value in args.values if isinstance(value, Table)), None)


def set(args: Arguments, option: str) -> bool:
    options = options_of(args)
    return options is not None and truth(options.entries.get(option)) is not False and option in options.entries


def finish(run: Machine, args: Arguments, *results: Value) -> Value:
    """The callback at the end of the arguments gets the results; they are also what is returned."""
    last = args.values[-1] if args.values else None
    if isinstance(last, Closure | Partial | Bound):
        run.invoke(last, Arguments((None, *results), {}))
    return results[0] if results else ANY


def file_call(run: Machine, name: str, args: Arguments) -> Value:
    effects = run.effects
    first, second = args.at(0), args.at(1)
    if name in ("rm", "remove"):
        deno_single = run.effects.label.startswith("Deno") and not set(args, "recursive")
        plain = (name == "rm" and not set(args, "recursive")) or deno_single
        (effects.remove if plain else effects.remove_tree)(first)
    elif name in ("emptyDir", "emptydir"):
        effects.remove_tree(over(below, first))
    elif name == "rmdir":
        (effects.remove_tree if set(args, "recursive") else effects.remove_folder)(first)
    elif name == "unlink":
        effects.remove(first)
    elif name in ("rename", "move"):
        effects.move(first, second)
    elif name in ("copyFile", "cp", "copy"):
        effects.copy(first, second)
    elif name in (
        "writeFile",
        "outputFile",
        "writeTextFile",
        "appendFile",
        "writeJson",
        "outputJson",
        "writeJSON",
    ):
        text = second if name != "writeJson" else ANY
        effects.write(first, text.decode("utf-8", "replace") if isinstance(text, bytes) else text,
                      append=name == "appendFile" or set(args, "append"))  # fmt: skip
    elif name in ("truncate", "ftruncate"):
        effects.write(first)
    elif name == "createReadStream":
        effects.read(first)
        return Thing("stream", path=first)
    elif name in ("readFile", "readTextFile"):
        effects.read(first)
        return finish(run, args, effects.content(first))
    elif name == "createWriteStream":
        effects.write(first, append=flags(args, "a"))
        return Thing("file", path=first)
    elif name in ("open", "openSync"):
        return open(run, args)
    elif name in ("chmod", "lchmod"):
        effects.change_mode(second, first)
    elif name in ("chown", "lchown"):
        effects.command("chown", effects.word(str(second) if isinstance(second, int) else second), effects.word(first))
    elif name in ("symlink", "link"):
        effects.command("ln", *(("-s",) if name == "symlink" else ()), effects.word(first), effects.word(second))
    else:
        return looked_at(run, name, args)
    return finish(run, args)


def looked_at(run: Machine, name: str, args: Arguments) -> Value:
    """Calls of fs that change nothing, and what they give."""
    first = args.at(0)
    if name in ("readdir", "readDir", "opendir"):
        run.effects.lists(first)
        if set(args, "withFileTypes") or name != "readdir":
            return finish(run, args, Items((), Thing("path", text=over(below, first))))
        return finish(run, args, Items((), Text((Wild("*"),))))
    if name in ("mkdtemp", "makeTempDir", "makeTempFile"):
        base = first if isinstance(first, str | Text) else "/tmp/deno"
        return finish(run, args, text_of((*pieces_of(base), None)))
    if name in ("realpath", "realPath"):
        return finish(run, args, over(lambda v: absolute(run.effects.cwd, v), first))
    if name in ("exists", "pathExists", "stat", "lstat", "access"):
        return finish(run, args, ANY)
    if name == "Command" or name == "run":
        return deno_command(run, args)
    if name in ("exit", "abort"):
        return NEVER
    if name == "chdir":
        return change_folder(run, args)
    if name == "cwd":
        return cwd(run, args)
    return None


def flags(args: Arguments, letter: str) -> bool:
    options = options_of(args)
    flags = options.entries.get("flags", options.entries.get("flag")) if options else args.at(1)
    return isinstance(flags, str) and letter in flags


def open(run: Machine, args: Arguments) -> Value:
    flags = args.at(1)
    if isinstance(flags, str) and any(letter in flags for letter in "wa+"):
        run.effects.write(args.at(0), append="w" not in flags)
    else:
        run.effects.read(args.at(0))
    return finish(run, args, Thing("file", path=args.at(0)))


def delete_patterns(run: Machine, args: Arguments) -> None:
    """rimraf and del take globs, and lists of them; `!x` takes one out again."""
    for option in alternatives(args.at(0)):
        values, more = elements(option) if isinstance(option, Items) else ([option], None)
        for value in [*values, *([more] if more is not None else [])]:
            if isinstance(value, str):
                if value.startswith("!"):
                    continue
                found = globbed("", value.removesuffix("/**").removesuffix("/**/*") or "/")
                run.effects.remove_tree(*found.values, *([found.more] if found.more is not None else []))
            else:
                run.effects.remove_tree(value)


def option_of(args: Arguments, name: str) -> Value:
    options = options_of(args)
    return options.entries.get(name) if options else None


def deno_command(run: Machine, args: Arguments) -> Value:
    first = args.at(0)
    if isinstance(first, Table):
        command = first.entries.get("cmd", ANY)
        run.effects.program(command if isinstance(command, Items) else Items([command]), cwd=first.entries.get("cwd"))
        return Thing("process", argv=command)
    options = options_of(args)
    listed = options.entries.get("args") if options else None
    known, more = elements(listed) if isinstance(listed, Items) else ([], None)
    run.effects.program(Items([first, *known], more), cwd=option_of(args, "cwd"))
    return Thing("process", argv=first)


def change_folder(run: Machine, args: Arguments) -> Value:
    target = run.effects.word(args.at(0))
    found = run.effects.absolute(target)
    run.effects.cwd = found if found is not None else run.effects.word(ANY)
    return ANY
