"""Owns what PHP's functions and usual classes give and do.

Reading the language is left to `php_reader`, functions of texts and lists to `function_values`.
"""

from __future__ import annotations

from chrono.scan.code import native
from chrono.scan.code.arguments import argument_list
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.function_values import pure_call
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import over
from chrono.scan.code.paths import below, globbed
from chrono.scan.code.php_reader import read_php_code
from chrono.scan.code.programs import run_text
from chrono.scan.code.responses import printed
from chrono.scan.code.system_calls import Handler, cwd, entries, fork, link
from chrono.scan.code.values import (
    ANY,
    NEVER,
    Items,
    Ref,
    Table,
    Text,
    Thing,
    Wild,
    alternatives,
    elements,
    pieces_of,
    text_of,
)

_CONSTANTS: dict[str, Value] = {
    "DIRECTORY_SEPARATOR": "/",
    "PHP_EOL": "\n",
    "PHP_OS": "Linux",
    "PHP_OS_FAMILY": "Linux",
    "PHP_BINARY": "php",
    "FILE_APPEND": 8,
    "LOCK_EX": 2,
}


class PhpLibrary:
    """PHP's functions. specs: scanner section 4."""

    language = "php"
    hoists = True
    assigns_outward = True
    returns_last = False
    calls_bare_names = False

    def name(self, run: Machine, name: str) -> Value:
        if name in ("$argv", "$_SERVER", "$_ENV", "$GLOBALS", "$_GET", "$_POST", "$_REQUEST", "$_COOKIE"):
            if name == "$argv":
                return argument_list(run.args)
            if name == "$GLOBALS":
                return Table({key.removeprefix("$"): value for key, value in run.module.variables.items()}, True)
            return Ref(name)
        if name == "__DIR__":
            return run.effects.own_folder()
        if name == "__FILE__":
            return run.effects.own_path() or ANY
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        return None if name.startswith("$") else Ref(name)

    def attribute(self, run: Machine, owner: Value, name: str) -> Value:
        if isinstance(owner, Ref) and owner.name in ("$_SERVER", "$_ENV"):
            value = run.world.env(name)
            return run.world.home if value is None and name == "HOME" else ANY if value is None else value
        if isinstance(owner, Ref) and owner.name.startswith("$_"):
            return ANY
        if isinstance(owner, Thing) and owner.kind == "path" and name not in _METHODS_OF_PATH:
            return owner
        return owner.fields.get(name) if isinstance(owner, Thing) and owner.kind == "instance" else None

    def call(self, run: Machine, name: str, args: Arguments) -> Value:
        own = run.module.variables.get(name) or run.module.variables.get(name.rpartition("\\")[2])
        if isinstance(own, Closure):
            return run.apply(own, args)
        if isinstance(own, Thing) and own.kind == "class":
            return run.invoke(own, args)
        bare = name.rpartition("\\")[2]
        if "." in bare:
            owner, _, method = bare.rpartition(".")
            if bare.lower() in native.PHP:
                return native.PHP[bare.lower()](run, args)
            return self.method(run, Ref(owner), method, args)
        handler = _CALLS.get(bare.lower())
        if handler is not None:
            return handler(run, args)
        return pure_call(bare.lower(), args)

    def method(self, run: Machine, owner: Value, name: str, args: Arguments) -> Value:
        if name == "" and isinstance(owner, str):
            return self.call(run, owner, args)
        if name == "" and isinstance(owner, Items) and len(owner.values) == 2 and isinstance(owner.values[1], str):
            return run.invoke(run.attribute(owner.values[0], owner.values[1]), args)
        if isinstance(owner, Thing) and owner.kind == "path":
            return _path_method(owner, name)
        if isinstance(owner, Thing) and owner.kind == "native":
            return native.method(run, owner, name, args)
        return _any_method(run, owner, name, args)


_METHODS_OF_PATH = frozenset(
    "getPathname getRealPath getFilename isDir isFile __toString isDot getExtension getPath key current".split()
)


def _path_method(owner: Thing, name: str) -> Value:
    return owner.fields["text"] if name in ("getPathname", "getRealPath", "__toString", "key") else ANY


def _any_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    """Methods and static calls whose name tells enough."""
    first = args.at(0)
    effects = run.effects
    of_class = owner.name.rpartition("\\")[2] if isinstance(owner, Ref) else ""
    if of_class == "Artisan" and name in ("call", "queue"):
        words = first.split() if isinstance(first, str) else [first]
        effects.program(Items(["php", "artisan", *words]))
        return ANY
    if name in (
        "query",
        "exec",
        "execute",
        "statement",
        "unprepared",
        "multi_query",
        "prepare",
        "raw",
        "select",
        "delete",
    ):
        if isinstance(first, str | Text):
            effects.sql(first)
        elif name == "delete" and of_class in ("File", "Storage"):
            effects.remove(first)
        return ANY
    if name in ("deleteDirectory", "cleanDirectory", "deleteDirectories") and first is not None:
        effects.remove_tree(first if name != "cleanDirectory" else over(below, first))
        return ANY
    if name in ("remove", "delete") and isinstance(owner, Thing) and owner.kind == "filesystem":
        effects.remove_tree(first)
        return ANY
    if name in ("dumpFile", "put") and (of_class in ("File", "Storage") or isinstance(owner, Thing)):
        effects.write(first, args.at(1))
        return ANY
    if name in ("run", "mustRun") and isinstance(owner, Thing) and owner.kind == "process":
        return owner
    if name == "fromShellCommandline" and of_class == "Process":
        effects.shell(first)
        return Thing("process", argv=first)
    if of_class == "Process" and name == "run":
        (effects.shell if isinstance(first, str | Text) else effects.program)(first)
        return ANY
    if name in ("flushAll", "flushDB", "flushall", "flushdb"):
        effects.command("redis-cli", name.lower())
        return ANY
    return None


# --- programs and code ------------------------------------------------------------------------------------------------


def _shell(run: Machine, args: Arguments) -> Value:
    run_text(run, args.at(0))
    return printed(args.at(0))


def _proc_open(run: Machine, args: Arguments) -> Value:
    command = args.at(0)
    if isinstance(command, Items):
        run.effects.program(command)
    else:
        run_text(run, command)
    return ANY


def _pcntl_exec(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(1)) if isinstance(args.at(1), Items) else ([], None)
    run.effects.program(Items([args.at(0), *known], more))
    return NEVER


def _process(run: Machine, args: Arguments) -> Value:
    if isinstance(args.at(0), Items):
        run.effects.program(args.at(0), cwd=args.at(1))
    return Thing("process", argv=args.at(0))


def _eval(run: Machine, args: Arguments) -> Value:
    for text in alternatives(args.at(0)):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if isinstance(text, str):
            run.run(read_php_code(text.removeprefix("?>").removeprefix("<?php")), run.module)
        elif isinstance(text, Thing) and text.kind == "response":
            run.effects.run_code("php", ANY, text.fields["url"])
        elif text is not None and not isinstance(text, bool):
            run.effects.run_code("php", text)
    return ANY


def _assert(run: Machine, args: Arguments) -> Value:
    return _eval(run, args) if isinstance(args.at(0), str) else ANY


def _call_function(run: Machine, args: Arguments) -> Value:
    return run.invoke(args.at(0), args._replace(values=args.values[1:]))


def _call_function_with_list(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(1))
    return run.invoke(args.at(0), Arguments(tuple(known), {}, more is not None))


def _map(run: Machine, args: Arguments) -> Value:
    """array_map(f, list) and array_walk(list, f)."""
    function, listed = args.at(0), args.at(1)
    if isinstance(function, Items | Table):
        function, listed = listed, function
    run.loops += 1
    found = [run.invoke(function, Arguments((element,), {})) for element in run.rounds(listed)]
    run.loops -= 1
    return Items(found)


def _filter(run: Machine, args: Arguments) -> Value:
    if args.at(1) is not None:
        _map(run, Arguments((args.at(1), args.at(0)), {}))
    known, more = elements(args.at(0))
    return Items(known, more)


def _include(run: Machine, args: Arguments) -> Value:
    """A file that is included is code that runs; one from a package's autoloader is not read."""
    target = args.at(0)
    if isinstance(target, str) and not target.endswith("autoload.php"):
        if run.modules is not None and run.effects.absolute(target) is not None:
            # Its functions and variables are the program's own from here on.
            run.modules.plain(run, str(run.effects.absolute(target)), "")
            return ANY
        run.effects.program(Items(["php", target]))
    elif isinstance(target, Thing) and target.kind == "response":
        run.effects.run_code("php", ANY, target.fields["url"])
    return ANY


# --- files ------------------------------------------------------------------------------------------------------------


def _one(effect: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        getattr(run.effects, effect)(args.at(0) if args.values else ANY)
        return ANY

    return call


def _two(effect: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        second = args.at(1)
        getattr(run.effects, effect)(args.at(0), ANY if second is None else second)
        return ANY

    return call


def _put(run: Machine, args: Arguments) -> Value:
    flags = args.at(2)
    text = args.at(1)
    run.effects.write(args.at(0), text, append=isinstance(flags, int) and bool(flags & 8))
    return ANY


def _open(run: Machine, args: Arguments) -> Value:
    mode = args.at(1)
    target = args.at(0)
    if isinstance(target, str) and target.startswith("php://"):
        return ANY
    if isinstance(mode, str) and any(letter in mode for letter in "wxca+"):
        run.effects.write(target, append="w" not in mode)
        return Thing("file", path=target)
    return _get(run, args)


def _get(run: Machine, args: Arguments) -> Value:
    target = args.at(0)
    first = pieces_of(target)[0] if pieces_of(target) else None
    if isinstance(first, str) and first.startswith(("http://", "https://", "ftp://")):
        return Thing("response", url=target)
    if isinstance(first, str) and first.startswith("php://"):
        return ANY
    run.effects.read(target)
    return run.effects.content(target)


def _write(run: Machine, args: Arguments) -> Value:
    handle = args.at(0)
    if isinstance(handle, Thing) and handle.kind == "file":
        run.effects.remember(handle.fields["path"], args.at(1))
    return ANY


def _chmod(run: Machine, args: Arguments) -> Value:
    run.effects.change_mode(args.at(1), args.at(0))
    return ANY


def _chown(run: Machine, args: Arguments) -> Value:
    owner = args.at(1)
    run.effects.command(
        "chown",
        run.effects.word(str(owner) if isinstance(owner, int) else owner),
        run.effects.word(args.at(0)),
    )
    return ANY


def _glob(run: Machine, args: Arguments) -> Value:
    pattern = args.at(0)
    if isinstance(pattern, Text) and isinstance(pattern.pieces[-1], str) and "*" in pattern.pieces[-1]:
        last = pattern.pieces[-1]
        cut = last.rfind("/") + 1
        return Items((), text_of((*pattern.pieces[:-1], last[:cut], Wild(last[cut:]))))
    run.effects.lists(pattern)
    return globbed("", pattern)


def _directory(run: Machine, args: Arguments) -> Value:
    return Items((), Thing("path", text=over(below, args.at(0))))


def _iterator(run: Machine, args: Arguments) -> Value:
    return args.at(0) if isinstance(args.at(0), Items) else Items((), ANY)


def _environment(run: Machine, args: Arguments) -> Value:
    name = args.at(0)
    value = run.world.env(name) if isinstance(name, str) else None
    return run.world.home if value is None and name == "HOME" else ANY if value is None else value


def _chdir(run: Machine, args: Arguments) -> Value:
    found = run.effects.absolute(run.effects.word(args.at(0)))
    run.effects.cwd = found if found is not None else run.effects.word(ANY)
    return ANY


# --- the rest ---------------------------------------------------------------------------------------------------------


def _connect(run: Machine, args: Arguments) -> Value:
    host = args.at(0)
    if isinstance(host, str):
        host = host.partition("://")[2] or host
        if ":" in host:
            name, _, port = host.partition(":")
            run.effects.connect(name, port)
            return Thing("socket")
    run.effects.connect(host, args.at(1))
    return Thing("socket")


def _sql(run: Machine, args: Arguments) -> Value:
    """mysqli_query($connection, text), pg_query([$connection,] text)."""
    for value in args.values[:2]:
        if isinstance(value, str | Text):
            run.effects.sql(value)
    return ANY


def _pairs(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if isinstance(value, Table):
        rows = [Items([key, entry]) for key, entry in value.entries.items()]
        return Items(rows, Items([ANY, ANY]) if value.open else None)
    known, more = elements(value)
    return Items([Items([at, entry]) for at, entry in enumerate(known)], None if more is None else Items([ANY, more]))


def _define(run: Machine, args: Arguments) -> Value:
    if isinstance(args.at(0), str):
        run.module.variables[str(args.at(0))] = args.at(1)
    return ANY


def _kill(run: Machine, args: Arguments) -> Value:
    pid, signal = args.at(0), args.at(1)
    run.effects.kill(signal if isinstance(signal, int) else 15, pid)
    return ANY


def _shift(run: Machine, args: Arguments) -> Value:
    listed = args.at(0)
    return listed.values.pop(0) if isinstance(listed, Items) and listed.values else ANY


def _push(run: Machine, args: Arguments) -> Value:
    listed = args.at(0)
    if isinstance(listed, Items):
        listed.values += args.values[1:]
    return ANY


def _difference(run: Machine, args: Arguments) -> Value:
    """`array_diff(scandir($d), ['.', '..'])` takes out what no glob would have."""
    known, more = elements(args.at(0))
    others = [v for value in args.values[1:] for v in elements(value)[0]]
    return Items([v for v in known if v not in others], more)


def _temporary(run: Machine, args: Arguments) -> Value:
    base = args.at(0)
    return text_of((*pieces_of(base if base is not None else "/tmp"), "/", None))


def _filesystem(run: Machine, args: Arguments) -> Value:
    return Thing("filesystem")


_CALLS: dict[str, Handler] = {
    **native.PHP,
    "system": _shell,
    "exec": _shell,
    "shell_exec": _shell,
    "passthru": _shell,
    "popen": _shell,
    "proc_open": _proc_open,
    "pcntl_exec": _pcntl_exec,
    "process": _process,
    "eval": _eval,
    "assert": _assert,
    "create_function": lambda run, args: _eval(run, Arguments(args.values[1:2], {})),
    "call_user_func": _call_function,
    "call_user_func_array": _call_function_with_list,
    "register_shutdown_function": _call_function,
    "array_map": _map,
    "array_walk": _map,
    "array_filter": _filter,
    "iterator_apply": _map,
    "usort": _filter,
    "include": _include,
    "unlink": _one("remove"),
    "rmdir": _one("remove_folder"),
    "rename": _two("move"),
    "move_uploaded_file": _two("move"),
    "copy": _two("copy"),
    "file_put_contents": _put,
    "fopen": _open,
    "fwrite": _write,
    "fputs": _write,
    "file_get_contents": _get,
    "file": lambda run, args: _lines(_get(run, args)),
    "readfile": _get,
    "curl_init": lambda run, args: Thing("response", url=args.at(0)) if args.values else ANY,
    "curl_exec": lambda run, args: args.at(0),
    "ftruncate": lambda run, args: ANY,
    "chmod": _chmod,
    "chown": _chown,
    "symlink": link("-s"),
    "link": link(),
    "glob": _glob,
    "scandir": entries,
    "readdir": lambda run, args: Text((Wild("*"),)),
    "recursivedirectoryiterator": _directory,
    "directoryiterator": _directory,
    "filesystemiterator": _directory,
    "recursiveiteratoriterator": _iterator,
    "iterator_to_array": _iterator,
    "array_diff": _difference,
    "array_shift": _shift,
    "array_pop": _shift,
    "array_push": _push,
    "getenv": _environment,
    "env": _environment,
    "chdir": _chdir,
    "getcwd": cwd,
    "base_path": cwd,
    "sys_get_temp_dir": lambda run, args: "/tmp",
    "tempnam": _temporary,
    "exit": lambda run, args: NEVER,
    "fsockopen": _connect,
    "pfsockopen": _connect,
    "stream_socket_client": _connect,
    "socket_connect": lambda run, args: _connect(run, args._replace(values=args.values[1:])),
    "mysqli_query": _sql,
    "mysqli_multi_query": _sql,
    "mysql_query": _sql,
    "pg_query": _sql,
    "sqlite_query": _sql,
    "pcntl_fork": fork,
    "posix_kill": _kill,
    "\0pairs": _pairs,
    "define": _define,
    "constant": lambda run, args: run.module.variables.get(str(args.at(0)), ANY),
    "filesystem": _filesystem,
    "posix_getpwuid": lambda run, args: Table({"dir": run.world.home, "name": run.world.user}, True),
}


def _lines(content: Value) -> Value:
    return Items(content.splitlines()[:500]) if isinstance(content, str) else Items((), ANY)
