"""Owns what the calls of Python's standard library, and of a few well-known others, give and do.

Reading the language is left to `python`, paths and files to `python_paths`, effects to `effects`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.scan.code import texts
from chrono.scan.code.arguments import argument_list
from chrono.scan.code.interpret import Arguments, Closure, Machine, Value
from chrono.scan.code.operators import over
from chrono.scan.code.programs import is_shell, run_text
from chrono.scan.code.python_paths import PATH_CALLS, open_file, path_attribute, path_method
from chrono.scan.code.python_reader import read_python
from chrono.scan.code.values import (
    ANY,
    NEVER,
    Bound,
    Items,
    Partial,
    Ref,
    Table,
    Text,
    Thing,
    alternatives,
    elements,
    joined,
    pieces_of,
    text_of,
    truth,
    without_wild,
)
from chrono.scan.command import UNKNOWN

Handler = Callable[[Machine, Arguments], Value]

_BUILTINS = frozenset(
    (
        "open exec eval compile __import__ getattr setattr globals locals vars map filter sorted reversed "
        "list set tuple frozenset iter next zip enumerate range len str int float bool bytes bytearray chr "
        "ord repr ascii hex oct min max sum any all print input isinstance issubclass hasattr type dict "
        "super abs round object format callable id hash delattr property staticmethod classmethod exit quit "
        "memoryview breakpoint dir divmod pow slice execfile raw_input unicode xrange reduce __builtins__ "
        "Exception ValueError RuntimeError KeyError OSError SystemExit"
    ).split()
)
_PREFIXES = {
    "posix.": "os.",
    "nt.": "os.",
    "posixpath.": "os.path.",
    "ntpath.": "os.path.",
    "builtins.": "",
    "__builtins__.": "",
    "__builtin__.": "",
    "pathlib2.": "pathlib.",
    "aiofiles.os.": "os.",
    "commands.": "subprocess.",
    "subprocess32.": "subprocess.",
    "io.open": "open",
    "codecs.open": "open",
    "aiofiles.open": "open",
    "psycopg2.": "psycopg.",
    "MySQLdb.": "pymysql.",
    "mysql.connector.": "pymysql.",
    "aiosqlite.": "sqlite3.",
}
_CONSTANTS: dict[str, Value] = {
    "os.sep": "/",
    "os.path.sep": "/",
    "os.curdir": ".",
    "os.pardir": "..",
    "os.linesep": "\n",
    "os.name": "posix",
    "os.devnull": "/dev/null",
    "os.extsep": ".",
    "os.pathsep": ":",
    "sys.executable": "python3",
    "string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
    "string.ascii_uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "string.ascii_letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "string.digits": "0123456789",
}


def canonical(name: str) -> str:
    """One spelling for a library name that has several."""
    name = name.replace(".__dict__", "")
    for prefix, other in _PREFIXES.items():
        if name.startswith(prefix):
            return canonical(other + name[len(prefix) :]) if prefix != other else name
    return name


class PythonLibrary:
    """Python's library. specs: scanner section 4."""

    language = "python"
    hoists = False
    assigns_outward = False
    returns_last = False

    def name(self, run: Machine, name: str) -> Value:
        if name == "__name__":
            return "__main__"
        if name == "__file__":
            return run.args[0] if run.args and isinstance(run.args[0], str) else ANY
        return Ref(name) if name in _BUILTINS else None

    def attribute(self, run: Machine, owner: Value, name: str) -> Value:
        if isinstance(owner, Ref):
            return self._of_reference(run, canonical(f"{owner.name}.{name}" if owner.name else name))
        if isinstance(owner, Thing):
            return _of_thing(run, owner, name)
        if isinstance(owner, Closure) and name in ("__globals__", "func_globals"):
            return Table(dict(run.module.variables), True)
        return None

    def _of_reference(self, run: Machine, full: str) -> Value:
        if full in _CONSTANTS:
            return _CONSTANTS[full]
        if full == "sys.argv":
            return argument_list(run.args)
        if full == "sys.platform":
            return run.world.platform
        if full.startswith("os.environ.") and full.count(".") == 2 and full[11:] not in _MAPPING_METHODS:
            return environment(run, full[11:])
        if full.startswith("sys.modules."):
            return Ref(full[12:])
        return None

    def call(self, run: Machine, name: str, args: Arguments) -> Value:
        name = canonical(name)
        handler = CALLS.get(name) or PATH_CALLS.get(name)
        if handler is not None:
            return handler(run, args)
        if name.startswith("sh.") and name.count(".") == 1:
            run.effects.program(Items([name[3:], *args.values], ANY if args.more else None))
            return ANY
        if name.startswith(("os.exec", "os.spawn")) or name == "os.posix_spawn":
            return _exec_family(run, name, args)
        owner, _, last = name.rpartition(".")
        if last in _MAPPING_METHODS and owner == "os.environ":
            return _of_environment(run, last, args)
        if owner in ("str", "bytes") and args.values:
            return texts.text_method(args.values[0], last, args.values[1:]) or (
                _bytes_class(last, args) if owner == "bytes" else ANY
            )
        if owner in ("bytes", "bytearray"):
            return _bytes_class(last, args)
        if owner.startswith("pathlib.") and args.values:
            return path_method(run, args.values[0], last, args._replace(values=args.values[1:]))
        return None

    def method(self, run: Machine, owner: Value, name: str, args: Arguments) -> Value:
        if isinstance(owner, Text | str | bytes):
            return _text_method(owner, name, args)
        if isinstance(owner, Items):
            return _list_method(run, owner, name, args)
        if isinstance(owner, Table):
            return _table_method(owner, name, args)
        if isinstance(owner, Thing):
            answer = _thing_method(run, owner, name, args)
            if answer is not None:
                return answer
        if isinstance(owner, Closure) and name in ("command", "group", "callback", "subcommand"):
            return Thing("app", functions=run.registered_of(owner))
        if isinstance(owner, Thing | Ref) or owner is ANY or isinstance(owner, Bound):
            return _any_method(run, owner, name, args)
        return None


_MAPPING_METHODS = frozenset(("get", "copy", "items", "keys", "values", "setdefault", "pop", "update"))


def environment(run: Machine, name: str) -> Value:
    """A variable of the environment, where it is set."""
    value = run.world.env(name)
    if value is None and name in ("HOME", "USERPROFILE"):
        return run.world.home
    return ANY if value is None else value


def _of_environment(run: Machine, method: str, args: Arguments) -> Value:
    key = args.at(0)
    if method in ("get", "setdefault", "pop") and isinstance(key, str):
        value = environment(run, key)
        default = args.at(1, "default")
        # An unset variable takes its default now, but may be set by the time it runs elsewhere.
        return value if value is not ANY or default is None else joined(default, default)
    return Ref("os.environ") if method == "copy" else ANY


# --- running programs -------------------------------------------------------------------------------------------------


def _shell_text(run: Machine, args: Arguments) -> Value:
    text = args.at(0, "cmd") or args.at(0, "command")
    run_text(run, text)
    return ANY


def _subprocess(run: Machine, args: Arguments) -> Value:
    argv = args.at(0, "args")
    shell = truth(args.named.get("shell"))
    cwd = args.named.get("cwd")
    streams = [args.named.get(name) for name in ("stdin", "stdout", "stderr")]
    if any(isinstance(stream, Thing) and stream.kind == "socket" for stream in streams):
        run.effects.shell_on_socket()
    for option in alternatives(argv):
        if isinstance(option, Items):
            if shell and option.values:
                run_text(run, option.values[0], cwd)
            else:
                run.effects.program(option, cwd=cwd)
        elif (
            shell
            or (isinstance(option, str) and " " in option)
            or (isinstance(option, Thing) and option.kind != "path")
        ):
            run_text(run, option, cwd)
        else:
            run.effects.program(Items([option]), cwd=cwd)
    process = Thing("process", argv=argv)
    given = args.named.get("input")
    if given is not None:
        _feed(run, process, given)
    return process


def _feed(run: Machine, process: Thing, text: Value) -> None:
    """What is written to the standard input of a shell or of python is run by it."""
    argv = process.fields.get("argv")
    values, _ = elements(argv) if isinstance(argv, Items) else ([argv], None)
    if is_shell(argv):
        run_text(run, text)
    elif values and isinstance(values[0], str) and os.path.basename(values[0]).startswith("python"):
        _exec(run, Arguments((text,), {}))


def _subprocess_shell(run: Machine, args: Arguments) -> Value:
    run_text(run, args.at(0, "cmd"), args.named.get("cwd"))
    return Thing("process", argv=ANY)


def _program_words(run: Machine, args: Arguments) -> Value:
    run.effects.program(Items(args.values, ANY if args.more else None), cwd=args.named.get("cwd"))
    return Thing("process", argv=Items(args.values))


def _exec_family(run: Machine, name: str, args: Arguments) -> Value:
    values = list(args.values)
    if "spawn" in name and name != "os.posix_spawn" and values:
        values = values[1:]
    if not values:
        return NEVER
    program = values[0]
    letters = name.rpartition(".")[2].removeprefix("exec").removeprefix("spawn")
    listed = letters.startswith("l")
    if listed:
        rest = values[2:-1] if letters.endswith("e") else values[2:]
        run.effects.program(Items([program, *rest]))
    else:
        given = values[1] if len(values) > 1 else ANY
        known, more = elements(given)
        run.effects.program(Items([program, *known[1:]], more))
    return NEVER if "exec" in name else ANY


def _pty_spawn(run: Machine, args: Arguments) -> Value:
    if run.effects.peer is not None:
        run.effects.shell_on_socket()
        return ANY
    argv = args.at(0)
    run.effects.program(argv if isinstance(argv, Items) else Items([argv]))
    return ANY


def _dup2(run: Machine, args: Arguments) -> Value:
    first = args.at(0)
    if isinstance(first, Thing) and first.kind == "socket":
        run.effects.shell_on_socket()
    return ANY


def _fork(run: Machine, args: Arguments) -> Value:
    if run.endless and run.endless <= 2:
        run.effects.command("fork-bomb")
    return ANY


def _kill(run: Machine, args: Arguments) -> Value:
    signal = args.at(1)
    flag = (
        f"-{signal}"
        if isinstance(signal, int)
        else "-9"
        if isinstance(signal, Ref) and "KILL" in signal.name
        else "-15"
    )
    run.effects.command(
        "kill", flag, run.effects.word(str(args.at(0)) if isinstance(args.at(0), int) else args.at(0))
    )
    return ANY


# --- code and names ---------------------------------------------------------------------------------------------------


def _exec(run: Machine, args: Arguments) -> Value:
    result: Value = ANY
    for text in alternatives(args.at(0)):
        if isinstance(text, Thing) and text.kind == "code":
            text = text.fields["text"]
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if isinstance(text, str):
            try:
                body = read_python(text.strip())
            except SyntaxError:
                continue
            for node in body[:-1]:
                run.run((node,), run.module)
            if body:
                result = run.last_value(body[-1])
        elif isinstance(text, Thing) and text.kind == "response":
            run.effects.run_code("python", ANY, text.fields["url"])
        elif isinstance(text, Thing) and text.kind == "received":
            run.effects.shell_on_socket()
        elif text is not None:
            run.effects.run_code("python", text)
    return result


def _compile(run: Machine, args: Arguments) -> Value:
    return Thing("code", text=args.at(0, "source"))


def _getattr(run: Machine, args: Arguments) -> Value:
    owner, name = args.at(0), args.at(1)
    if not isinstance(name, str):
        return ANY
    return run.attribute(owner, name)


def _setattr(run: Machine, args: Arguments) -> Value:
    owner, name = args.at(0), args.at(1)
    if isinstance(owner, Thing) and isinstance(name, str):
        owner.fields[name] = args.at(2)
    return ANY


def _import_module(run: Machine, args: Arguments) -> Value:
    name = args.at(0, "name")
    return Ref(name) if isinstance(name, str) else ANY


def _import_builtin(run: Machine, args: Arguments) -> Value:
    name = args.at(0, "name")
    return Ref(name.partition(".")[0]) if isinstance(name, str) else ANY


def _module_table(run: Machine, args: Arguments) -> Value:
    if args.values:
        return args.values[0]
    table = Table(dict(run.module.variables), True)
    table.entries.setdefault("__builtins__", Ref("__builtins__"))
    return table


def _exit(run: Machine, args: Arguments) -> Value:
    return NEVER


# --- values -----------------------------------------------------------------------------------------------------------


def _map(run: Machine, args: Arguments) -> Value:
    found = Items()
    if len(args.values) > 1:
        for element in run.rounds(args.values[1]):
            found.values.append(run.invoke(args.values[0], Arguments((element,), {})))
    return found


def _filter(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(1))
    for element in run.rounds(args.at(1)):
        if args.at(0) is not None:
            run.invoke(args.at(0), Arguments((element,), {}))
    return Items([without_wild(value) for value in known], None if more is None else without_wild(more))


def _listed(run: Machine, args: Arguments) -> Value:
    if not args.values:
        return Items()
    value = args.values[0]
    if isinstance(value, Thing):
        value = run.library.method(run, value, "__iter__", Arguments((), {})) or ANY
    known, more = elements(value)
    return Items(known, more)


def _reversed(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(0))
    return Items(known[::-1], more)


def _zip(run: Machine, args: Arguments) -> Value:
    parts = [elements(value) for value in args.values]
    shortest = min((len(known) for known, _ in parts), default=0)
    rows = [Items([known[at] for known, _ in parts]) for at in range(shortest)]
    rest = Items([ANY if more is None else more for _, more in parts])
    return Items(rows, rest if any(more is not None for _, more in parts) else None)


def _enumerate(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(0))
    return Items(
        [Items([at, value]) for at, value in enumerate(known)], None if more is None else Items([ANY, more])
    )


def _range(run: Machine, args: Arguments) -> Value:
    bounds = [v for v in args.values if isinstance(v, int)]
    if (
        not bounds
        or len(bounds) != len(args.values)
        or len(bounds) > 3
        or (len(bounds) == 3 and not bounds[2])
    ):
        return Items((), ANY)
    numbers = range(*bounds)
    return Items(numbers[:256], ANY if len(numbers) > 256 else None)


def _length(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if isinstance(value, str | bytes):
        return len(value)
    return len(value.values) if isinstance(value, Items) and value.more is None else ANY


def _text(run: Machine, args: Arguments) -> Value:
    value = args.at(0, "object")
    if isinstance(value, bytes) and (len(args.values) > 1 or args.named):
        return texts.decode(value, "utf-8")
    if isinstance(value, Thing) and value.kind in ("response", "received"):
        return value
    return "" if value is None and not args.values else over(lambda v: text_of(pieces_of(v)), value)


def _integer(run: Machine, args: Arguments) -> Value:
    value, base = args.at(0), args.at(1, "base")
    try:
        if isinstance(value, str | bytes) and len(value) < 40:
            return int(value, base) if isinstance(base, int) else int(value)
        return int(value) if isinstance(value, int | float) else ANY
    except (ValueError, OverflowError):
        return ANY


def _character(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else ANY


def _ordinal(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return ord(value) if isinstance(value, str | bytes) and len(value) == 1 else ANY


def _bytes(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, Items) and value.more is None:
        numbers = [v for v in value.values if isinstance(v, int) and 0 <= v < 256]
        return bytes(numbers) if len(numbers) == len(value.values) else ANY
    return value if isinstance(value, bytes | Thing) else ANY


def _bytes_class(name: str, args: Arguments) -> Value:
    return over(texts.from_hex, args.at(0)) if name == "fromhex" else ANY


def _repr(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return repr(value) if isinstance(value, str | bytes | int | float) else ANY


def _next(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(0))
    return known[0] if known else ANY if more is None else more


def _partial(run: Machine, args: Arguments) -> Value:
    return Partial(args.at(0), args.values[1:], tuple(args.named.items()))


def _reduce(run: Machine, args: Arguments) -> Value:
    known, _ = elements(args.at(1))
    values = ([args.values[2]] if len(args.values) > 2 else []) + list(known[:100])
    if not values:
        return ANY
    result = values[0]
    for value in values[1:]:
        result = run.invoke(args.at(0), Arguments((result, value), {}))
    return result


def _call_target(run: Machine, args: Arguments) -> Value:
    """`Thread(target=f, args=(…))`: the function runs."""
    target = args.named.get("target")
    if target is None and len(args.values) > 1:
        target = args.values[1]
    known, more = elements(args.named.get("args", Items()))
    keywords = args.named.get("kwargs")
    named = (
        {k: v for k, v in keywords.entries.items() if isinstance(k, str)}
        if isinstance(keywords, Table)
        else {}
    )
    if target is not None:
        run.invoke(target, Arguments(tuple(known), named, more is not None))
    return Thing("thread")


def _call_first(run: Machine, args: Arguments) -> Value:
    """`atexit.register(f, …)`, `asyncio.to_thread(f, …)`: the function runs with the rest."""
    return run.invoke(args.values[0], args._replace(values=args.values[1:])) if args.values else ANY


def _first(run: Machine, args: Arguments) -> Value:
    return args.at(0) if args.values else ANY


def _of(function: Callable[[object], object]) -> Handler:
    return lambda run, args: over(lambda v: v if isinstance(v, Thing) else function(v), args.at(0))


def _codec(function: Callable[[object, str], object]) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        codec = args.at(1, "encoding")
        return function(args.at(0), codec) if isinstance(codec, str) else ANY

    return call


def _ascii(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return texts.encode(value, "base64") if isinstance(value, bytes) else ANY


# --- network and databases --------------------------------------------------------------------------------------------


def _fetch(run: Machine, args: Arguments) -> Value:
    url = args.at(0, "url")
    if isinstance(url, Thing) and url.kind == "response":
        return url
    return Thing("response", url=url)


def _http_delete(run: Machine, args: Arguments) -> Value:
    run.effects.command("curl", "-X", "DELETE", run.effects.word(args.at(0, "url")))
    return Thing("response", url=args.at(0, "url"))


def _http_request(run: Machine, args: Arguments) -> Value:
    method = args.at(0, "method")
    rest = args._replace(values=args.values[1:])
    deletes = isinstance(method, str) and method.upper() == "DELETE"
    return _http_delete(run, rest) if deletes else _fetch(run, rest)


def _retrieve(run: Machine, args: Arguments) -> Value:
    target = args.at(1, "filename")
    if target is not None:
        run.effects.command("curl", "-o", run.effects.word(target), run.effects.word(args.at(0, "url")))
    return Items([target, ANY])


def _connect(run: Machine, args: Arguments) -> Value:
    address = args.at(0, "address")
    known, _ = elements(address)
    if len(known) >= 2:
        run.effects.connect(known[0], known[1])
    return Thing("socket")


def _database(product: str, where: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        return Thing(
            "database", product=product, where=args.at(0, where) if args.at(0, where) is not None else ANY
        )

    return call


def _engine(run: Machine, args: Arguments) -> Value:
    url = args.at(0, "url")
    if isinstance(url, str) and url.startswith("sqlite:///"):
        return Thing("database", product="sqlite3", where=url.removeprefix("sqlite:///"))
    product = "psql" if isinstance(url, str) and url.startswith("postgres") else ""
    return Thing("database", product=product, where=url)


def _call_command(run: Machine, args: Arguments) -> Value:
    run.effects.program(Items(["python", "manage.py", *args.values], ANY if args.more else None))
    return ANY


def _run_path(run: Machine, args: Arguments) -> Value:
    run.effects.program(Items(["python3", args.at(0)]))
    return ANY


def _run_module(run: Machine, args: Arguments) -> Value:
    run.effects.program(Items(["python3", "-m", args.at(0)]))
    return ANY


def _app(run: Machine, args: Arguments) -> Value:
    return Thing("app", functions=Items())


def _change_folder(run: Machine, args: Arguments) -> Value:
    target = run.effects.word(args.at(0, "path"))
    absolute = run.effects.absolute(target)
    run.effects.cwd = absolute if absolute is not None else UNKNOWN
    return ANY


def _fire(run: Machine, args: Arguments) -> Value:
    if args.values and isinstance(args.values[0], Closure):
        return run.apply(args.values[0], Arguments(run.args[1:], {}, True))
    run.call_back(args)
    return ANY


CALLS: dict[str, Handler] = {
    "os.system": _shell_text,
    "os.popen": _shell_text,
    "subprocess.getoutput": _shell_text,
    "subprocess.getstatusoutput": _shell_text,
    "pexpect.run": _shell_text,
    "pexpect.spawn": _shell_text,
    "invoke.run": _shell_text,
    "fabric.local": _shell_text,
    "fabric.api.local": _shell_text,
    "os.startfile": _program_words,
    "subprocess.run": _subprocess,
    "subprocess.call": _subprocess,
    "subprocess.check_call": _subprocess,
    "subprocess.check_output": _subprocess,
    "subprocess.Popen": _subprocess,
    "distutils.spawn.spawn": _subprocess,
    "asyncio.create_subprocess_shell": _subprocess_shell,
    "asyncio.subprocess.create_subprocess_shell": _subprocess_shell,
    "asyncio.create_subprocess_exec": _program_words,
    "asyncio.subprocess.create_subprocess_exec": _program_words,
    "pty.spawn": _pty_spawn,
    "os.dup2": _dup2,
    "os.fork": _fork,
    "os.kill": _kill,
    "os.killpg": _kill,
    "os.chdir": _change_folder,
    "contextlib.chdir": _change_folder,
    "os._exit": _exit,
    "sys.exit": _exit,
    "exit": _exit,
    "quit": _exit,
    "os.abort": _exit,
    "exec": _exec,
    "eval": _exec,
    "execfile": lambda run, args: _exec(run, Arguments((run.effects.content(args.at(0)),), {})),
    "code.InteractiveInterpreter.runsource": _exec,
    "compile": _compile,
    "runpy.run_path": _run_path,
    "runpy.run_module": _run_module,
    "getattr": _getattr,
    "setattr": _setattr,
    "__import__": _import_builtin,
    "importlib.import_module": _import_module,
    "importlib.__import__": _import_builtin,
    "globals": _module_table,
    "locals": _module_table,
    "vars": _module_table,
    "map": _map,
    "filter": _filter,
    "list": _listed,
    "tuple": _listed,
    "set": _listed,
    "frozenset": _listed,
    "sorted": _listed,
    "iter": _listed,
    "itertools.chain.from_iterable": _first,
    "more_itertools.always_iterable": _listed,
    "reversed": _reversed,
    "zip": _zip,
    "enumerate": _enumerate,
    "range": _range,
    "xrange": _range,
    "len": _length,
    "str": _text,
    "unicode": _text,
    "format": _text,
    "os.fspath": _first,
    "os.fsdecode": _first,
    "os.fsencode": _first,
    "int": _integer,
    "chr": _character,
    "ord": _ordinal,
    "bytes": _bytes,
    "bytearray": _bytes,
    "memoryview": _bytes,
    "repr": _repr,
    "next": _next,
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "reduce": _reduce,
    "threading.Thread": _call_target,
    "threading.Timer": lambda run, args: _call_first(run, args._replace(values=args.values[1:])),
    "multiprocessing.Process": _call_target,
    "atexit.register": _call_first,
    "asyncio.to_thread": _call_first,
    "asyncio.run": _first,
    "asyncio.gather": lambda run, args: Items(args.values, ANY if args.more else None),
    "asyncio.create_task": _first,
    "asyncio.wait_for": _first,
    "shlex.quote": _first,
    "pipes.quote": _first,
    "shlex.split": lambda run, args: _text_method(args.at(0), "split", Arguments((), {})) or ANY,
    "shlex.join": lambda run, args: texts.join_texts(" ", args.at(0)),
    "typing.cast": lambda run, args: args.at(1),
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "textwrap.dedent": _first,
    "inspect.cleandoc": _first,
    "sqlalchemy.text": _first,
    "base64.b64decode": _of(texts.from_base64),
    "base64.standard_b64decode": _of(texts.from_base64),
    "base64.urlsafe_b64decode": _of(texts.from_base64),
    "base64.decodebytes": _of(texts.from_base64),
    "base64.b16decode": _of(texts.from_hex),
    "base64.b64encode": _ascii,
    "binascii.a2b_base64": _of(texts.from_base64),
    "binascii.unhexlify": _of(texts.from_hex),
    "binascii.a2b_hex": _of(texts.from_hex),
    "zlib.decompress": _of(texts.inflated),
    "gzip.decompress": _of(texts.inflated),
    "codecs.decode": _codec(texts.decode),
    "codecs.encode": _codec(texts.encode),
    "open": open_file,
    "requests.get": _fetch,
    "requests.post": _fetch,
    "httpx.get": _fetch,
    "httpx.post": _fetch,
    "urllib.request.urlopen": _fetch,
    "urllib2.urlopen": _fetch,
    "urllib.urlopen": _fetch,
    "urllib.request.Request": _fetch,
    "urllib.request.urlretrieve": _retrieve,
    "urllib.urlretrieve": _retrieve,
    "wget.download": _retrieve,
    "requests.delete": _http_delete,
    "httpx.delete": _http_delete,
    "requests.request": _http_request,
    "httpx.request": _http_request,
    "socket.socket": lambda run, args: Thing("socket"),
    "socket.create_connection": _connect,
    "sqlite3.connect": _database("sqlite3", "database"),
    "psycopg.connect": _database("psql", "conninfo"),
    "asyncpg.connect": _database("psql", "dsn"),
    "pymysql.connect": _database("mysql", "host"),
    "sqlalchemy.create_engine": _engine,
    "duckdb.connect": _database("", "database"),
    "django.core.management.call_command": _call_command,
    "typer.Typer": _app,
    "cyclopts.App": _app,
    "cleo.Application": _app,
    "typer.run": _fire,
    "fire.Fire": _fire,
    "defopt.run": _fire,
    "plac.call": _fire,
}


# --- methods ----------------------------------------------------------------------------------------------------------


def _text_method(owner: Value, name: str, args: Arguments) -> Value:
    if name == "format" and isinstance(owner, str):
        return over(
            lambda *given: texts.brace_format(owner, given[: len(args.values)], args.named), *args.values
        )
    if name == "format_map" and isinstance(owner, str):
        table = args.at(0)
        named = (
            {k: v for k, v in table.entries.items() if isinstance(k, str)} if isinstance(table, Table) else {}
        )
        return texts.brace_format(owner, (), named)
    if name == "translate" and isinstance(owner, str):
        table = args.at(0)
        pairs = (
            {k: v for k, v in table.entries.items() if isinstance(k, int)}
            if isinstance(table, Table)
            else None
        )
        return "".join(str(pairs.get(ord(c), c)) for c in owner) if pairs else ANY
    if name == "maketrans":
        first, second = args.at(0), args.at(1)
        known = isinstance(first, str) and isinstance(second, str)
        return Table(dict(zip(map(ord, str(first)), str(second), strict=False))) if known else ANY
    return texts.text_method(owner, name, args.values)


def _list_method(run: Machine, owner: Items, name: str, args: Arguments) -> Value:
    if name in ("append", "add", "appendleft") and args.values:
        owner.values.append(args.values[0])
        return ANY
    if name == "insert" and len(args.values) > 1:
        place = args.values[0]
        owner.values.insert(place if isinstance(place, int) else len(owner.values), args.values[1])
        return ANY
    if name in ("extend", "update") and args.values:
        known, more = elements(args.values[0])
        owner.values += known
        owner.more = more if owner.more is None else owner.more
        return ANY
    if name in ("pop", "popleft") and owner.more is None and owner.values and not args.values:
        return owner.values.pop(-1 if name == "pop" else 0)
    if name == "reverse":
        owner.values.reverse()
        return ANY
    if name == "copy":
        return Items(owner.values, owner.more)
    return None if name not in ("remove", "sort", "clear", "discard", "index", "count") else ANY


def _table_method(owner: Table, name: str, args: Arguments) -> Value:
    if name == "items":
        rows = [Items([key, value]) for key, value in owner.entries.items()]
        return Items(rows, Items([ANY, ANY]) if owner.open else None)
    if name in ("keys", "values"):
        values = list(owner.entries) if name == "keys" else list(owner.entries.values())
        return Items(values, ANY if owner.open else None)
    if name in ("get", "pop", "setdefault", "__getitem__") and args.values:
        key = args.values[0]
        if isinstance(key, str | int) and key in owner.entries:
            return owner.entries[key]
        if isinstance(key, str | int) and not owner.open:
            return args.at(1)
        return texts.either_of(list(owner.entries.values())) if 0 < len(owner.entries) <= 6 else ANY
    if name == "update" and args.values and isinstance(args.values[0], Table):
        owner.entries.update(args.values[0].entries)
        return ANY
    return None


def _of_thing(run: Machine, owner: Thing, name: str) -> Value:
    if owner.kind == "path":
        return path_attribute(run, owner, name)
    if owner.kind in ("response", "received") and name in ("text", "content", "raw", "body"):
        return owner
    if owner.kind == "temporary" and name == "name":
        return owner.fields["text"]
    if owner.kind == "file" and name == "name":
        return owner.fields["path"]
    if owner.kind == "process" and name == "stdin":
        return owner
    return owner.fields.get(name) if owner.kind == "instance" else None


_SAME = frozenset(
    (
        "decode read strip encode splitlines cursor connect begin __enter__ raw_connection makefile fileno "
        "rstrip execution_options acquire"
    ).split()
)


def _thing_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    kind = owner.kind
    if kind == "path":
        return path_method(run, owner, name, args)
    if kind == "file":
        return _file_method(run, owner, name, args)
    if kind == "socket":
        if name == "connect":
            return _connect(run, args)
        if name in ("recv", "recvfrom", "read", "readline"):
            return Thing("received")
        return owner if name in _SAME else ANY
    if (
        kind in ("response", "received", "database")
        and name in _SAME
        and not (kind == "database" and name == "read")
    ):
        return owner
    if kind == "process" and name in ("communicate", "write") and args.at(0, "input") is not None:
        _feed(run, owner, args.at(0, "input"))
        return ANY
    if kind == "app" and name in ("", "run", "meta", "main", "__call__"):
        return _run_app(run, owner)
    if kind == "app":
        return owner
    if kind == "temporary" and name == "cleanup":
        return ANY
    return None


def _run_app(run: Machine, app: Thing) -> Value:
    """A command-line app runs the function that the arguments name, or any where they cannot be told."""
    functions, _ = elements(app.fields.get("functions", Items()))
    given = [value for value in run.args[1:] if isinstance(value, str)]
    closures = [f for f in functions if isinstance(f, Closure)]
    chosen = [f for f in closures if f.node.name.replace("_", "-") in [g.replace("_", "-") for g in given]]
    if not chosen and len(closures) > 1 and len(run.args) == 1:
        return ANY
    for closure in chosen or closures:
        run.apply(closure, Arguments((), {}, True))
    return ANY


def _file_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    path = owner.fields["path"]
    if name in ("read", "readlines", "__iter__", "readline"):
        if owner.fields.get("mode") == "write":
            return ANY
        content = run.effects.content(path)
        if name == "read":
            return content
        known = Items(content.splitlines()[:500]) if isinstance(content, str) else Items((), ANY)
        return known if name != "readline" else texts.either_of(known.values[:1])
    if name in ("write", "writelines"):
        text = args.at(0)
        if isinstance(text, Items):
            text = texts.join_texts("", text)
        run.effects.remember(path, text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
        return ANY
    if name == "truncate":
        run.effects.write(path)
        return ANY
    return owner if name in ("__enter__",) else ANY


def _any_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    """Methods whose name alone tells enough, on objects that are not known."""
    database = owner if isinstance(owner, Thing) and owner.kind == "database" else None
    if name in (
        "execute",
        "executescript",
        "executemany",
        "exec_driver_sql",
        "fetch",
        "fetchval",
        "execute_sql",
        "query",
    ):
        text = args.at(0)
        if isinstance(text, str | Text):
            run.effects.sql(text, database)
        return database if database is not None else ANY
    if name in ("unlink", "rmdir", "rmtree", "rmtree_p", "remove_p", "rmdir_p") and isinstance(
        owner, Bound | Thing | type(ANY)
    ):
        remove = run.effects.remove_tree if name.startswith("rmtree") else run.effects.remove
        remove(owner if name in ("unlink", "rmdir") and not args.values else args.at(0) or owner)
        return ANY
    if name == "exec_command":
        run.effects.program(Items(["ssh", ANY, args.at(0)]))
        return Items([ANY, ANY, ANY])
    if name == "system" and args.values:
        run.effects.shell(
            args.values[0].decode("utf-8", "replace") if isinstance(args.values[0], bytes) else args.values[0]
        )
        return ANY
    if name in ("flushall", "flushdb"):
        run.effects.command("redis-cli", name)
        return ANY
    if name in ("drop_database", "dropDatabase"):
        run.effects.command("mongosh", "--eval", "db.dropDatabase()")
        return ANY
    if name in ("submit", "apply_async", "run_in_executor", "run_sync") and args.values:
        place = 1 if name == "run_in_executor" else 0
        if len(args.values) > place:
            return run.invoke(args.values[place], args._replace(values=args.values[place + 1 :]))
    if name in ("map", "starmap", "imap", "imap_unordered") and len(args.values) > 1:
        return _map(run, args)
    return None
