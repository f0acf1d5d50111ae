"""Owns what the calls of Node, Deno, Bun and a few well-known packages give and do.

Reading the language is left to `javascript_reader`, effects to `effects`, texts and lists to `javascript_values`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.scan.code import git_bindings, native, texts, tree
from chrono.scan.code.arguments import argument_list
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.javascript_files import (
    change_folder,
    delete_patterns,
    deno_command,
    file_call,
    finish,
    option_of,
)
from chrono.scan.code.javascript_reader import read_javascript
from chrono.scan.code.javascript_values import list_method, static_call, text_method
from chrono.scan.code.json_values import text_of_value, value_of
from chrono.scan.code.operators import join_path, over
from chrono.scan.code.paths import absolute, folder_of, globbed, last_of
from chrono.scan.code.programs import SHELL_PROGRAMS, run_text
from chrono.scan.code.responses import printed
from chrono.scan.code.system_calls import cwd
from chrono.scan.code.values import (
    ANY,
    NEVER,
    Items,
    Partial,
    Ref,
    Table,
    Text,
    Thing,
    alternatives,
    elements,
    pieces_of,
    text_of,
    truth,
)

Handler = Callable[[Machine, Arguments], Value]

_GLOBALS = frozenset(
    (
        "require process console Buffer JSON Object Array String Number Math Promise globalThis global "
        "window self module exports setTimeout setInterval setImmediate queueMicrotask eval Function atob "
        "btoa fetch Deno Bun unescape decodeURIComponent decodeURI encodeURIComponent parseInt parseFloat "
        "Symbol Map Set Date RegExp Reflect $ shell Boolean URL TextDecoder Uint8Array WebAssembly "
        "structuredClone \0regex \0import"
    ).split()
)
_MODULES = frozenset(("fs", "os", "path", "child_process", "http", "https", "net"))
_ALIASES = {
    "fs/promises": "fs",
    "fs-extra": "fs",
    "graceful-fs": "fs",
    "fs.promises": "fs",
    "mz/fs": "fs",
    "memfs": "memfs",
    "mz/child_process": "child_process",
    "path/posix": "path",
    "path.posix": "path",
    "global": "globalThis",
    "window": "globalThis",
    "self": "globalThis",
    "shell": "shelljs",
    "zx/globals": "zx",
    "bun.$": "zx.$",
    "Bun.$": "zx.$",
    "execa.$": "zx.$",
    "del.default": "del",
    "process.mainModule.require": "require",
    "module.require": "require",
    "import.meta.require": "require",
}


def canonical(name: str) -> str:
    """One spelling for a library name: no `node:`, no `.default`, no `Sync`, no `globalThis.`."""
    name = name.removeprefix("node:").replace(".default", "").removeprefix("global.").removeprefix("globalThis.")
    for old, new in _ALIASES.items():
        if name == old or name.startswith(old + "."):
            name = new + name[len(old) :]
    name = name.removeprefix("globalThis.")
    if name.endswith("Sync") and name.startswith(("fs.", "child_process.", "Deno.", "Bun.")):
        name = name[:-4]
    return name


class JavaScriptLibrary:
    """Node's library and its neighbours'. specs: scanner section 4."""

    language = "javascript"
    hoists = True
    assigns_outward = True
    returns_last = False
    calls_bare_names = False

    def name(self, run: Machine, name: str) -> Value:
        if name == "__dirname":
            return run.effects.own_folder()
        if name == "__filename":
            return run.effects.own_path() or ANY
        # In code after -e the modules of node itself are variables too.
        return Ref(name) if name in _GLOBALS or name in _MODULES else None

    def attribute(self, run: Machine, owner: Value, name: str) -> Value:
        if isinstance(owner, Ref):
            return _of_reference(run, f"{owner.name}.{name}" if owner.name else name)
        if name == "length":
            known = isinstance(owner, str) or (isinstance(owner, Items) and owner.more is None)
            return (
                len(owner if isinstance(owner, str) else owner.values)
                if known and isinstance(owner, str | Items)
                else ANY
            )
        if isinstance(owner, Thing):
            return _of_thing(owner, name)
        if name == "constructor" and isinstance(owner, Closure):
            return Ref("Function")
        return None

    def call(self, run: Machine, name: str, args: Arguments) -> Value:
        name = canonical(name)
        owner, _, last = name.rpartition(".")
        if owner and last in ("call", "apply", "bind", "then", "catch", "finally"):
            return _call_through(run, Ref(owner), last, args)
        handler = _CALLS.get(name)
        if handler is not None:
            return handler(run, args)
        if owner == "fs" or owner == "Deno":
            return file_call(run, last, args)
        if name.startswith("shelljs."):
            return _shelljs(run, last, args)
        if name in ("rimraf", "del", "trash", "fs.rimraf") or owner in ("rimraf", "del"):
            delete_patterns(run, args)
            return finish(run, args)
        found = git_bindings.opened(name, args) or static_call(run, name, args)
        return found if found is not None else _other_call(run, name, args)

    def method(self, run: Machine, owner: Value, name: str, args: Arguments) -> Value:
        if name in ("then", "catch", "finally", "call", "apply", "bind") and not isinstance(owner, Items):
            return _call_through(run, owner, name, args)
        if isinstance(owner, str | Text):
            return text_method(run, owner, name, args)
        if isinstance(owner, bytes):
            return over(lambda v: texts.decode(v, "utf-8"), owner) if name == "toString" else ANY
        if isinstance(owner, Items):
            return list_method(run, owner, name, args)
        if isinstance(owner, Thing):
            found = _thing_method(run, owner, name, args)
            if found is not None:
                return found
        return _any_method(run, owner, name, args)


def _of_reference(run: Machine, written: str) -> Value:
    full = canonical(written)
    if full in ("path.sep", "path.delimiter", "os.EOL"):
        return {"path.sep": "/", "path.delimiter": ":", "os.EOL": "\n"}[full]
    if full in ("process.argv", "Deno.args", "Bun.argv"):
        known = argument_list(run.args)
        return Items(known.values[1:] if full == "Deno.args" else ["node", *known.values], known.more)
    if full in ("process.platform", "process.execPath", "Deno.build.os"):
        return "node" if full == "process.execPath" else run.world.platform
    if full.startswith(("process.env.", "Bun.env.", "import.meta.env.")) and full.count(".") <= 3:
        return environment(run, full.rpartition(".")[2])
    if full in ("import.meta", "\0import.meta"):
        return Ref("import.meta")
    if full.endswith(("import.meta.dirname", "import.meta.dir")):
        return run.effects.own_folder()
    if full.endswith(("import.meta.filename", "import.meta.path", "import.meta.url")):
        return run.effects.own_path() or ANY
    if full.startswith("\0import."):
        return Ref(full.removeprefix("\0import.").replace("meta", "import.meta", 1))
    return Ref(written)


def environment(run: Machine, name: str) -> Value:
    value = run.world.env(name)
    if value is None and name in ("HOME", "USERPROFILE"):
        return run.world.home
    return ANY if value is None else value


def _call_through(run: Machine, owner: Value, how: str, args: Arguments) -> Value:
    """`f.call(this, …)`, `f.bind(…)`, `promise.then(f)`."""
    if how == "then":
        found: Value = ANY
        for callback in args.values[:1]:
            found = run.invoke(callback, Arguments((owner,), {}))
        run.call_back(args._replace(values=args.values[1:]))
        return found
    if how in ("catch", "finally"):
        run.call_back(args)
        return owner
    rest = args.values[1:]
    if how == "apply":
        known, more = elements(args.at(1))
        return run.invoke(owner, Arguments(tuple(known), {}, more is not None))
    return Partial(owner, rest, ()) if how == "bind" else run.invoke(owner, args._replace(values=rest))


# --- files ------------------------------------------------------------------------------------------------------------


# --- programs ---------------------------------------------------------------------------------------------------------


def _exec(run: Machine, args: Arguments) -> Value:
    run_text(run, args.at(0), option_of(args, "cwd"))
    response = printed(args.at(0))
    finish(run, args, ANY, response)
    return Thing("process", argv=args.at(0)) if response is ANY else response


def _spawn(run: Machine, args: Arguments) -> Value:
    argv = args.at(1)
    known, more = elements(argv) if isinstance(argv, Items) else ([], ANY if argv is ANY else None)
    shell = truth(option_of(args, "shell"))
    if shell and option_of(args, "shell") is not None:
        words = Items([args.at(0), *known], more)
        run.effects.shell(texts.join_texts(" ", words), cwd=option_of(args, "cwd"))
    else:
        run.effects.program(Items([args.at(0), *known], more), cwd=option_of(args, "cwd"))
    given = option_of(args, "input")
    if given is not None and args.at(0) in SHELL_PROGRAMS:
        run_text(run, given)
    response = printed(Items([args.at(0), *known], more))
    finish(run, args, ANY, response)
    return Thing("process", argv=args.at(0)) if response is ANY else response


def _fork(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(1)) if isinstance(args.at(1), Items) else ([], None)
    run.effects.program(Items(["node", args.at(0), *known], more), cwd=option_of(args, "cwd"))
    return Thing("process", argv=args.at(0))


def _execa(run: Machine, args: Arguments) -> Value:
    if "\0tagged" in args.named:
        return _tagged(run, args)
    return _spawn(run, args)


def _tagged(run: Machine, args: Arguments) -> Value:
    """`$`…``: a shell runs the text; called with options it gives a tag again."""
    if isinstance(args.at(0), str | Text):
        run.effects.shell(args.at(0), dialect="bash")
        return Thing("process", argv=ANY)
    return Ref("zx.$")


def _bun_spawn(run: Machine, args: Arguments) -> Value:
    first = args.at(0)
    command = first.entries.get("cmd", ANY) if isinstance(first, Table) else first
    run.effects.program(command if isinstance(command, Items) else Items([command]), cwd=option_of(args, "cwd"))
    return Thing("process", argv=command)


def _shelljs(run: Machine, name: str, args: Arguments) -> Value:
    if name == "exec":
        return _exec(run, args)
    if name == "cd":
        return change_folder(run, args)
    if name == "ShellString":
        return Thing("process", argv=ANY)
    words: list[Value] = []
    for value in args.values:
        words += value.values if isinstance(value, Items) else [value]
    if name in ("rm", "mv", "cp", "chmod", "ln", "cat", "touch", "mkdir", "ls"):
        # shelljs expands globs itself, so its words are shell words without quotes.
        text = texts.join_texts(" ", Items([name, *words]))
        run.effects.shell(text)
    return ANY


# --- code, names, network ---------------------------------------------------------------------------------------------


def _require(run: Machine, args: Arguments) -> Value:
    name = args.at(0)
    if not isinstance(name, str):
        return ANY
    if name.startswith((".", "/")):
        if name.endswith(".node"):
            run.effects.command("load-library", name)
        own = run.modules.javascript(run, name) if run.modules is not None else None
        return ANY if own is None else own
    return Ref(canonical(name))


def _dlopen(run: Machine, args: Arguments) -> Value:
    run.effects.command("load-library", run.effects.word(args.at(1)))
    return ANY


def _evaluate(run: Machine, args: Arguments) -> Value:
    result: Value = ANY
    for text in alternatives(args.at(0)):
        if isinstance(text, Closure):
            run.apply(text, Arguments((), {}))
        elif isinstance(text, bytes | str):
            source = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            body = read_javascript(source)
            for node in body[:-1]:
                run.run((node,), run.module)
            if body:
                result = run.last_value(body[-1])
        elif isinstance(text, Thing) and text.kind in ("response", "received"):
            run.effects.run_code("javascript", ANY, text.fields.get("url", ANY))
        elif text is not None:
            run.effects.run_code("javascript", text)
    return result


def _timer(run: Machine, args: Arguments) -> Value:
    if isinstance(args.at(0), str):
        return _evaluate(run, args)
    return run.invoke(args.at(0), Arguments((), {}, True)) if args.values else ANY


def _function_of_text(run: Machine, args: Arguments) -> Value:
    """`new Function("a", "return a")`: the last text is the body."""
    body = args.values[-1] if args.values else ""
    if isinstance(body, str):
        read = read_javascript(body)
        names = [value for value in args.values[:-1] if isinstance(value, str)]
        node = _function_node(tuple(names), read)
        return Closure(node, run.module)
    return Partial(Ref("eval"), (body,), ())


def _function_node(names: tuple[str, ...], body: tuple[tree.Node, ...]) -> tree.Function:
    return tree.Function("", tuple(tree.Parameter(name) for name in names), lambda: body, 0)


def _fetch(run: Machine, args: Arguments) -> Value:
    url = args.at(0)
    if isinstance(url, Table):
        method, url = url.entries.get("method"), url.entries.get("url", ANY)
    else:
        method = option_of(args, "method")
    if isinstance(method, str) and method.upper() == "DELETE":
        run.effects.command("curl", "-X", "DELETE", run.effects.word(url))
    response = Thing("response", url=url)
    for value in args.values:
        if isinstance(value, Closure):
            run.invoke(value, Arguments((response,), {}))
    return response


def _http_delete(run: Machine, args: Arguments) -> Value:
    run.effects.command("curl", "-X", "DELETE", run.effects.word(args.at(0)))
    return Thing("response", url=args.at(0))


def _connect(run: Machine, args: Arguments) -> Value:
    first = args.at(0)
    if isinstance(first, Table):
        run.effects.connect(first.entries.get("host", "localhost"), first.entries.get("port", ANY))
    elif first is not None:
        run.effects.connect(args.at(1) if isinstance(args.at(1), str | Text) else "localhost", first)
    socket = Thing("socket")
    run.call_back(args)
    return socket


def _kill(run: Machine, args: Arguments) -> Value:
    signal = args.at(1)
    run.effects.kill(signal if isinstance(signal, str | int) else 15, args.at(0))
    return ANY


def _join(run: Machine, args: Arguments) -> Value:
    parts = list(args.values)
    joined = parts[0] if parts else "."
    for part in parts[1:]:
        # path.join does not start anew at an absolute part.
        joined = over(lambda base, one: join_path(base, _relative(one)), joined, part)
    return over(_normal, joined) if not args.more else join_path(joined, ANY)


def _relative(part: Value) -> Value:
    pieces = pieces_of(part)
    first = pieces[0] if pieces else None
    return text_of((first.lstrip("/"), *pieces[1:])) if isinstance(first, str) else part


def _normal(value: Value) -> Value:
    return os.path.normpath(value) if isinstance(value, str) and value else text_of(pieces_of(value))


def _resolve(run: Machine, args: Arguments) -> Value:
    joined = join_path(*args.values) if args.values else "."
    return over(lambda v: absolute(run.effects.cwd, v), joined)


def _address(run: Machine, args: Arguments) -> Value:
    """`new URL("../x", import.meta.url)`; a file's address is its path here."""
    base = args.at(1)
    if base is None:
        return args.at(0)
    return over(lambda v: _normal(join_path(folder_of(base), v)) if isinstance(v, str) else ANY, args.at(0))


def _home(run: Machine, args: Arguments) -> Value:
    return run.world.home


def _first(run: Machine, args: Arguments) -> Value:
    return args.at(0) if args.values else ANY


def _process_next(run: Machine, args: Arguments) -> Value:
    run.call_back(args)
    return ANY


def _glob(run: Machine, args: Arguments) -> Value:
    base = option_of(args, "cwd") or ""
    values: list[Value] = []
    more: Value = None
    for option in elements(args.at(0))[0] if isinstance(args.at(0), Items) else alternatives(args.at(0)):
        run.effects.lists(option)
        found = globbed(base, option)
        values += found.values
        more = found.more if more is None else more
    return finish(run, args, Items(values, more))


_CALLS: dict[str, Handler] = {
    **native.JAVASCRIPT,
    "process.dlopen": _dlopen,
    "require": _require,
    "JSON.parse": lambda run, args: value_of(args.at(0)),
    "JSON.stringify": lambda run, args: text_of_value(args.at(0)),
    "import": _require,
    "module.createRequire": lambda run, args: Ref("require"),
    "util.promisify": _first,
    "Promise.resolve": _first,
    "Promise.all": _first,
    "Promise.allSettled": _first,
    "child_process.exec": _exec,
    "child_process.spawn": _spawn,
    "child_process.execFile": _spawn,
    "child_process.fork": _fork,
    "worker_threads.Worker": _fork,
    "cross-spawn": _spawn,
    "cross-spawn.spawn": _spawn,
    "cross-spawn.sync": _spawn,
    "execa": _execa,
    "execa.execa": _execa,
    "execa.sync": _spawn,
    "execa.execaSync": _spawn,
    "execa.command": _exec,
    "execa.execaCommand": _exec,
    "execa.execaCommandSync": _exec,
    "zx.$": _tagged,
    "$": _tagged,
    "zx.cd": change_folder,
    "Bun.spawn": _bun_spawn,
    "Deno.Command": deno_command,
    "Deno.env.get": lambda run, args: environment(run, str(args.at(0))),
    "Deno.realPath": _resolve,
    "Bun.write": lambda run, args: file_call(run, "writeFile", args),
    "Bun.file": lambda run, args: Thing("path", text=args.at(0)),
    "eval": _evaluate,
    "Function": _function_of_text,
    "setTimeout": _timer,
    "setInterval": _timer,
    "setImmediate": _timer,
    "queueMicrotask": _timer,
    "process.nextTick": _timer,
    "vm.runInThisContext": _evaluate,
    "vm.runInNewContext": _evaluate,
    "vm.runInContext": _evaluate,
    "vm.Script": _evaluate,
    "process.exit": lambda run, args: NEVER,
    "process.abort": lambda run, args: NEVER,
    "process.chdir": change_folder,
    "process.cwd": cwd,
    "process.kill": _kill,
    "process.on": _process_next,
    "os.homedir": _home,
    "os.tmpdir": lambda run, args: "/tmp",
    "os.userInfo": lambda run, args: Table({"homedir": run.world.home, "username": run.world.user}, True),
    "os.platform": lambda run, args: run.world.platform,
    "path.join": _join,
    "path.resolve": _resolve,
    "path.normalize": lambda run, args: over(_normal, args.at(0)),
    "path.dirname": lambda run, args: over(folder_of, args.at(0)),
    "path.basename": lambda run, args: over(last_of, args.at(0)),
    "path.relative": lambda run, args: args.at(1),
    "URL": _address,
    "url.URL": _address,
    "url.fileURLToPath": _first,
    "fileURLToPath": _first,
    "glob": _glob,
    "fs.glob": _glob,
    "glob.glob": _glob,
    "glob.sync": _glob,
    "glob.globSync": _glob,
    "fast-glob": _glob,
    "fast-glob.sync": _glob,
    "globby": _glob,
    "globby.globby": _glob,
    "fetch": _fetch,
    "node-fetch": _fetch,
    "axios": _fetch,
    "axios.get": _fetch,
    "axios.post": _fetch,
    "axios.request": _fetch,
    "axios.delete": _http_delete,
    "got": _fetch,
    "got.delete": _http_delete,
    "superagent.delete": _http_delete,
    "http.get": _fetch,
    "https.get": _fetch,
    "http.request": _fetch,
    "https.request": _fetch,
    "net.connect": _connect,
    "net.createConnection": _connect,
    "tls.connect": _connect,
    "net.Socket": lambda run, args: Thing("socket"),
    "mongoose.connection.dropDatabase": lambda run, args: _mongo_drop(run),
}


def _other_call(run: Machine, name: str, args: Arguments) -> Value:
    """Calls of packages that are not known: databases are told by the method."""
    last = name.rpartition(".")[2]
    if last.endswith("Command") and last.startswith(("Delete", "Terminate", "Purge", "ScheduleKeyDeletion")):
        # The AWS library's way: `client.send(new DeleteBucketCommand(…))`.
        run.effects.command("sdk-call", last)
        return ANY
    return _any_method(run, Ref(name.rpartition(".")[0]), last, args)


def _mongo_drop(run: Machine) -> Value:
    run.effects.command("mongosh", "--eval", "db.dropDatabase()")
    return ANY


def _of_thing(owner: Thing, name: str) -> Value:
    if owner.kind == "process" and name in ("stdin", "stdout", "stderr"):
        return owner
    if owner.kind in ("response", "received") and name in ("data", "body", "text"):
        return owner if name != "text" else None
    if owner.kind == "path":
        text = owner.fields["text"]
        if name == "name":
            return over(last_of, text)
        if name in ("path", "parentPath"):
            return over(folder_of, text)
    return owner.fields.get(name) if owner.kind == "instance" else None


def _thing_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    if owner.kind == "git":
        return git_bindings.method(run, owner, name, args)
    if owner.kind in ("response", "received"):
        if name in ("text", "json", "toString", "arrayBuffer", "blob", "trim"):
            return owner
        if name in ("on", "pipe", "once"):
            for value in args.values:
                if isinstance(value, Closure):
                    run.invoke(value, Arguments((owner,), {}))
            return owner
    if owner.kind == "socket":
        if name in ("write", "end", "send") and args.values:
            run.effects.send(args.at(0))
        if name == "connect":
            _connect(run, args)
            return owner
        if name in ("on", "once"):
            received = Thing("received")
            for value in args.values:
                if isinstance(value, Closure):
                    run.invoke(value, Arguments((received,), {}))
            return owner
    if owner.kind == "stream":
        return _of_stream(run, owner, name, args)
    if name == "pipe":
        kinds = {owner.kind, *(value.kind for value in args.values if isinstance(value, Thing))}
        if kinds == {"socket", "process"}:
            run.effects.shell_on_socket()
        return args.at(0) if args.values else ANY
    if owner.kind == "file" and name in ("write", "end"):
        run.effects.remember(owner.fields["path"], args.at(0) if args.values else "")
        return ANY
    if owner.kind == "path" and name in ("delete", "unlink"):
        run.effects.remove(owner)
        return ANY
    if owner.kind == "path" and name == "text":
        run.effects.read(owner)
        return run.effects.content(owner)
    if owner.kind == "process" and name in (
        "output",
        "spawn",
        "outputSync",
        "quiet",
        "nothrow",
        "text",
        "cwd",
    ):
        return owner
    return None


def _of_stream(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """A file that is read in parts: into a file, through a packer, onto a connection."""
    if name in ("on", "once", "addListener"):
        held = run.effects.content(owner.fields["path"])
        for value in args.values:
            if isinstance(value, Closure):
                run.invoke(value, Arguments((held,), {}))
        return owner
    if name not in ("pipe", "pipeTo", "pipeThrough"):
        return None
    into = args.at(0)
    if isinstance(into, Thing) and into.kind in ("socket", "response"):
        if into.kind == "response":
            run.effects.connect(into.fields.get("url", ANY), ANY)
        run.effects.send(Thing("file", path=owner.fields["path"]))
        return into
    return into if isinstance(into, Thing) and into.kind == "file" else owner


_SQL_METHODS = frozenset(
    "query execute exec raw run all $queryRawUnsafe $executeRawUnsafe $queryRaw $executeRaw none any unsafe sql".split()
)


def _any_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    """Methods whose name alone tells enough, on objects that are not known."""
    first = args.at(0)
    if name in _SQL_METHODS and isinstance(first, str | Text):
        run.effects.sql(first)
        return finish(run, args)
    if name in ("dropDatabase", "dropAllSchemas"):
        return _mongo_drop(run)
    if name in ("flushall", "flushdb", "flushAll", "flushDb"):
        run.effects.command("redis-cli", name.lower())
        return ANY
    if name in ("forEach", "map", "each") and owner is ANY:
        run.call_back(args)
        return Items((), ANY)
    return None
