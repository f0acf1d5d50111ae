"""Owns what the calls of Python's standard library, and of a few well-known others, give and do.

Reading the language is left to `python`, paths and files to `python_paths`, effects to `effects`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

from chrono.scan.code import git_bindings, python_arguments, python_runners, texts
from chrono.scan.code.arguments import MORE, argument_list
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.programs import is_shell, run_text
from chrono.scan.code.python_paths import PATH_CALLS, open_file, path_attribute, path_method
from chrono.scan.code.python_reader import read_python
from chrono.scan.code.python_services import SERVICES, connect, sdk_method, settings
from chrono.scan.code.python_values import (
    VALUE_CALLS,
    bytes_class,
    list_method,
    map_call,
    table_method,
    text_method,
)
from chrono.scan.code.responses import printed
from chrono.scan.code.system_calls import fork
from chrono.scan.code.values import (
    ANY,
    NEVER,
    Bound,
    Items,
    Ref,
    Table,
    Text,
    Thing,
    alternatives,
    elements,
    joined,
    truth,
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
_OTHER_SPELLINGS = tuple(_PREFIXES)
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


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """One spelling for a library name that has several."""
    name = name.replace(".__dict__", "")
    if not name.startswith(_OTHER_SPELLINGS):
        return name
    prefix = next(prefix for prefix in _PREFIXES if name.startswith(prefix))
    return canonical(_PREFIXES[prefix] + name[len(prefix) :])


class PythonLibrary:
    """Python's library. specs: scanner section 4."""

    language = "python"
    hoists = False
    assigns_outward = False
    returns_last = False
    calls_bare_names = False

    def name(self, run: Machine, name: str) -> Value:
        if name == "__name__":
            return "__main__"
        if name == "__file__":
            return run.effects.own_path() or ANY
        return Ref(name) if name in _BUILTINS else None

    def attribute(self, run: Machine, owner: Value, name: str) -> Value:
        if isinstance(owner, Ref):
            return self._of_reference(run, canonical(f"{owner.name}.{name}" if owner.name else name))
        if isinstance(owner, Thing):
            held = owner.fields.get("held")
            if isinstance(held, Table):
                return held.entries.get(name)
            return _of_thing(run, owner, name)
        if name == "value" and isinstance(owner, str | int | Text):
            return owner  # of a member of an enumeration: texts and numbers have no such attribute
        if isinstance(owner, Closure) and name in ("__globals__", "func_globals"):
            return Table(dict(run.module.variables), True)
        return None

    def _of_reference(self, run: Machine, full: str) -> Value:
        if full in _CONSTANTS:
            return _CONSTANTS[full]
        if not full.startswith(("sys.", "os.environ.")):
            return None
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
        handler = CALLS.get(name) or PATH_CALLS.get(name) or VALUE_CALLS.get(name)
        if handler is not None:
            return handler(run, args)
        if "." not in name:
            return python_runners.opened(name) or git_bindings.opened(name, args)
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
                bytes_class(last, args) if owner == "bytes" else ANY
            )
        if owner in ("bytes", "bytearray"):
            return bytes_class(last, args)
        if owner == "dulwich.porcelain":
            return git_bindings.porcelain(run, last, args)
        if owner.startswith("pathlib.") and args.values:
            return path_method(run, args.values[0], last, args._replace(values=args.values[1:]))
        return python_runners.opened(name) or git_bindings.opened(name, args)

    def method(self, run: Machine, owner: Value, name: str, args: Arguments) -> Value:
        if isinstance(owner, Text | str | bytes):
            return text_method(owner, name, args)
        if isinstance(owner, Items):
            return list_method(run, owner, name, args)
        if isinstance(owner, Table):
            return table_method(owner, name, args)
        client = _root(owner) if isinstance(owner, Bound | Thing) else None
        if isinstance(client, Thing) and client.kind == "sdk":
            return sdk_method(run, client, name, args)
        if isinstance(owner, Thing):
            answer = _thing_method(run, owner, name, args)
            if answer is not None:
                return answer
        if isinstance(owner, Closure) and name in ("command", "group", "callback", "subcommand"):
            return Thing("app", functions=run.registered_of(owner))
        if isinstance(owner, Thing | Ref) or owner is ANY or isinstance(owner, Bound):
            return _any_method(run, owner, name, args)
        return None


def _root(value: Value) -> Value:
    """What a chain of attributes begins with (`bucket.objects.all`)."""
    while isinstance(value, Bound):
        value = value.owner
    return value


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
    return printed(text)


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


def _output(run: Machine, args: Arguments) -> Value:
    process = _subprocess(run, args)
    response = printed(args.at(0, "args"))
    return process if response is ANY else response


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


def _kill(run: Machine, args: Arguments) -> Value:
    signal = args.at(1)
    killing = isinstance(signal, Ref) and "KILL" in signal.name
    run.effects.kill(signal if isinstance(signal, int) else 9 if killing else 15, args.at(0))
    return ANY


def _processes(run: Machine, args: Arguments) -> Value:
    return Items((), Thing("running"))


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
        elif isinstance(text, Thing) and text.kind == "compiled":
            run.effects.run_code("compiled", ANY)
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
    return run.imported(name) if isinstance(name, str) else ANY


def _import_builtin(run: Machine, args: Arguments) -> Value:
    name = args.at(0, "name")
    return run.imported(name.partition(".")[0]) if isinstance(name, str) else ANY


def _module_table(run: Machine, args: Arguments) -> Value:
    if args.values:
        return args.values[0]
    table = Table(dict(run.module.variables), True)
    table.entries.setdefault("__builtins__", Ref("__builtins__"))
    return table


def _load_library(run: Machine, args: Arguments) -> Value:
    name = args.at(0, "name")
    if name is not None:
        run.effects.command("load-library", run.effects.word(name))
    return ANY


def _exit(run: Machine, args: Arguments) -> Value:
    return NEVER


# --- apps and modules -----------------------------------------------------------------------------------------------


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
        known = python_arguments.arguments_for(run, args.values[0])
        return run.apply(args.values[0], known if known.named else known._replace(values=_operands(run)))
    run.call_back(args)
    return ANY


def _operands(run: Machine) -> tuple[Value, ...]:
    return tuple(word for word in run.args[1:] if word is not MORE and not str(word).startswith("-"))


def _read_input(run: Machine, args: Arguments) -> Value:
    return run.effects.standard_input()


CALLS: dict[str, Handler] = {
    **dict.fromkeys(
        (
            "ctypes.CDLL ctypes.PyDLL ctypes.WinDLL ctypes.OleDLL ctypes.cdll.LoadLibrary ctypes.pydll.LoadLibrary "
            "ctypes.windll.LoadLibrary"
        ).split(),
        _load_library,
    ),
    "os.system": _shell_text,
    "os.popen": _shell_text,
    "subprocess.getoutput": _shell_text,
    "subprocess.getstatusoutput": _shell_text,
    "pexpect.run": _shell_text,
    "pexpect.spawn": _shell_text,
    "invoke.run": _shell_text,
    "fabric.local": _shell_text,
    "fabric.api.local": _shell_text,
    "fabric.api.run": python_runners.remote_text,
    "fabric.api.sudo": python_runners.remote_text,
    "invoke.sudo": _shell_text,
    "os.startfile": _program_words,
    "subprocess.run": _subprocess,
    "subprocess.call": _subprocess,
    "subprocess.check_call": _subprocess,
    "subprocess.check_output": _output,
    "subprocess.Popen": _subprocess,
    "distutils.spawn.spawn": _subprocess,
    "asyncio.create_subprocess_shell": _subprocess_shell,
    "asyncio.subprocess.create_subprocess_shell": _subprocess_shell,
    "asyncio.create_subprocess_exec": _program_words,
    "asyncio.subprocess.create_subprocess_exec": _program_words,
    "pty.spawn": _pty_spawn,
    "os.dup2": _dup2,
    "os.fork": fork,
    "os.kill": _kill,
    "os.killpg": _kill,
    "psutil.process_iter": _processes,
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
    "open": open_file,
    "input": _read_input,
    "sys.stdin.read": _read_input,
    "sys.stdin.readline": _read_input,
    **SERVICES,
    "django.core.management.call_command": _call_command,
    "argparse.ArgumentParser": python_arguments.parser,
    **dict.fromkeys(
        "dataclasses.field attr.ib attrs.field attr.field pydantic.Field typer.Option typer.Argument".split(),
        python_arguments.default_of,
    ),
    "click.option": python_arguments.option,
    "typer.Typer": _app,
    "cyclopts.App": _app,
    "cleo.Application": _app,
    "typer.run": _fire,
    "fire.Fire": _fire,
    "defopt.run": _fire,
    "plac.call": _fire,
}


# --- methods ----------------------------------------------------------------------------------------------------------


def _of_thing(run: Machine, owner: Thing, name: str) -> Value:
    if owner.kind == "path":
        return path_attribute(run, owner, name)
    if owner.kind == "git":
        return git_bindings.part_of(owner, name)
    if owner.kind in ("response", "received") and name in ("text", "content", "raw", "body"):
        return owner
    if owner.kind == "temporary" and name == "name":
        return owner.fields["text"]
    if owner.kind == "file" and name == "name":
        return owner.fields["path"]
    if owner.kind == "process" and name == "stdin":
        return owner
    if owner.kind == "process" and name == "stdout":
        response = printed(owner.fields.get("argv"))
        return None if response is ANY else response
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
    if kind == "git":
        return git_bindings.method(run, owner, name, args)
    if kind == "settings":
        return settings(run, owner, name, args)
    if kind == "parser":
        return python_arguments.parser_method(run, owner, name, args)
    if kind == "runner":
        return python_runners.method(run, owner, name, args)
    if kind == "file":
        return _file_method(run, owner, name, args)
    if kind == "socket":
        if name == "connect":
            return connect(run, args)
        if name in ("send", "sendall", "sendto", "sendfile", "write"):
            run.effects.send(args.at(0))
            return ANY
        if name in ("recv", "recvfrom", "read", "readline"):
            return Thing("received")
        return owner if name in _SAME else ANY
    if kind in ("response", "received", "database") and name in _SAME and not (kind == "database" and name == "read"):
        return owner
    if kind == "process" and name in ("communicate", "write") and args.at(0, "input") is not None:
        _feed(run, owner, args.at(0, "input"))
        return ANY
    if kind == "app" and name in ("", "run", "meta", "main", "__call__"):
        return _run_app(run, owner)
    if kind == "app":
        return owner
    if kind == "running" and name in ("kill", "terminate", "send_signal"):
        run.effects.command("kill", "-9", UNKNOWN, upstream=(("ps",),))
        return ANY
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
        run.apply(closure, python_arguments.arguments_for(run, closure))
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
    if name in ("drop_database", "dropDatabase", "drop_collection"):
        run.effects.command("mongosh", "--eval", "db.dropDatabase()")
        return ANY
    if name in ("submit", "apply_async", "run_in_executor", "run_sync") and args.values:
        place = 1 if name == "run_in_executor" else 0
        if len(args.values) > place:
            return run.invoke(args.values[place], args._replace(values=args.values[place + 1 :]))
    if name in ("run", "sudo", "local") and not isinstance(owner, Thing) and python_runners.guessed(run, name, args):
        return ANY
    if name in ("map", "starmap", "imap", "imap_unordered") and len(args.values) > 1:
        return map_call(run, args)
    return None
