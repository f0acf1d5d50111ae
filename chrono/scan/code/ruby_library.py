"""Owns what Ruby's core classes and usual libraries give and do.

Reading the language is left to `ruby_reader`, texts to `texts`, paths to `paths`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import native, texts
from chrono.scan.code.arguments import argument_list
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import join_path, over
from chrono.scan.code.paths import absolute, below, folder_of, globbed, last_of
from chrono.scan.code.programs import is_shell, run_text
from chrono.scan.code.receivers import own_field
from chrono.scan.code.responses import printed
from chrono.scan.code.ruby_reader import read_ruby
from chrono.scan.code.ruby_values import block_of, block_value, list_method, table_method, text_method, without_block
from chrono.scan.code.system_calls import cwd, fork, truncate
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

Handler = Callable[[Machine, Arguments], Value]

_KERNEL = ("Kernel.", "Process.", "Object.", "Rake.", "FileUtils::Verbose.", "FileUtils::NoWrite.")
_TEMPORARY = "/tmp"


class RubyLibrary:
    """Ruby's core and standard library. specs: scanner section 4."""

    language = "ruby"
    hoists = False
    assigns_outward = True
    returns_last = True
    calls_bare_names = True

    def name(self, run: Machine, name: str) -> Value:
        if name == "ARGV":
            found = argument_list(run.args)
            return Items(found.values[1:], found.more)
        if name in ("__FILE__", "$0", "$PROGRAM_NAME"):
            return run.effects.own_path() or ANY
        return None if name.startswith(("$", "@")) else Ref(name)

    def attribute(self, run: Machine, owner: Value, name: str) -> Value:
        if isinstance(owner, Ref) and owner.name == "ENV":
            value = run.world.env(name)
            if value is not None:
                return value
            return run.world.home if name == "HOME" else ANY if name.isupper() else None
        if isinstance(owner, Ref) and owner.name in ("Dir", "Pathname") and not name.replace("?", "").isidentifier():
            return _glob(run, Arguments((name,), {}))
        if isinstance(owner, Ref) and owner.name == "self":
            found = run.module.variables.get(name)
            return found if found is not None else Ref(name) if not name.startswith("@") else ANY
        return own_field(owner, name)

    def call(self, run: Machine, name: str, args: Arguments) -> Value:
        name = name.removeprefix("self.").removeprefix("::")
        for prefix in _KERNEL:
            name = name.removeprefix(prefix)
        own = run.module.variables.get(name)
        if isinstance(own, Closure):
            return run.apply(own, args)
        if name == "\0given":
            return _give(run, args)
        handler = _CALLS.get(name)
        if handler is not None:
            return handler(run, args)
        owner, dot, method = name.rpartition(".")
        if name in ("send", "public_send", "__send__"):
            return _send(run, Ref("Kernel"), name, args)
        if method in ("send", "public_send", "__send__", "method", "call", "then", "tap") and dot:
            return _send(run, Ref(owner), method, args)
        if name.startswith("FileUtils.") or name in _FILE_UTILS:
            return _file_utils(run, method or name, args)
        if name.startswith(("Dir.", "Pathname.")) and method == "[]":
            return _glob(run, args)
        if dot:
            return _any_method(run, Ref(owner), method, args)
        return None

    def method(self, run: Machine, owner: Value, name: str, args: Arguments) -> Value:
        if name in ("send", "public_send", "__send__", "method", "call", "then", "tap", "yield_self", "()"):
            return _send(run, owner, name, args)
        if isinstance(owner, str | Text | bytes):
            return text_method(run, owner, name, args)
        if isinstance(owner, Items):
            return list_method(run, owner, name, args)
        if isinstance(owner, Table):
            return table_method(run, owner, name, args)
        if isinstance(owner, int) and name in ("times", "upto", "downto", "step"):
            return _repeat(run, args)
        if isinstance(owner, int) and name == "chr":
            return chr(owner) if 0 <= owner < 0x110000 else ANY
        if isinstance(owner, Thing):
            found = _thing_method(run, owner, name, args)
            if found is not None:
                return found
        if name in ("each", "map", "each_with_index", "select", "reject", "flat_map", "collect") and owner is ANY:
            return list_method(run, Items((), ANY), name, args)
        return _any_method(run, owner, name, args)


def _send(run: Machine, owner: Value, how: str, args: Arguments) -> Value:
    first = args.at(0)
    if how in ("call", "()"):
        return run.invoke(owner, args)
    if how in ("then", "tap", "yield_self"):
        result = run.invoke(first, Arguments((owner,), {})) if args.values else ANY
        return owner if how == "tap" else result
    if not isinstance(first, str):
        return ANY
    method = run.attribute(owner, first)
    if isinstance(owner, Ref) and owner.name in ("Kernel", "self", "Object"):
        method = Ref(first)
    return method if how == "method" else run.invoke(method, args._replace(values=args.values[1:]))


def _give(run: Machine, args: Arguments) -> Value:
    """`yield`: the block that the running function was given."""
    given = run.frame_arguments()
    values = given.values if isinstance(given, Items) else []
    block = values[-1] if values and isinstance(values[-1], Closure) else None
    return run.apply(block, args) if block is not None else ANY


def _repeat(run: Machine, args: Arguments) -> Value:
    block = block_of(args)
    if block is not None:
        run.invoke(block, Arguments((ANY,), {}))
    return ANY


# --- programs and code ------------------------------------------------------------------------------------------------


def _require(run: Machine, args: Arguments) -> Value:
    """A file of the project that is loaded: its names are the program's own."""
    target = args.at(0)
    if isinstance(target, str) and run.modules is not None:
        run.modules.plain(run, target, ".rb")
    return True


def _require_library(run: Machine, args: Arguments) -> Value:
    """`require "shop"`: a gem, or the project's own `lib/shop.rb`."""
    target = args.at(0)
    if isinstance(target, str) and run.modules is not None:
        if target.startswith((".", "/")):
            run.modules.plain(run, target, ".rb")
        else:
            run.modules.library(run, target, ".rb")
    return True


def _system(run: Machine, args: Arguments) -> Value:
    options = next((v for v in args.values if isinstance(v, Table)), None)
    cwd = options.entries.get("chdir") if options else None
    values = list(without_block(args).values)
    if len(values) == 1 and not args.more:
        run_text(run, values[0], cwd)
    elif values:
        run.effects.program(Items(values, args.rest if args.more else None), cwd=cwd)
    if block_of(args) is not None:
        run.call_back(args)
    response = printed(values[0] if len(values) == 1 else Items(values))
    return response if response is not ANY else Thing("process", argv=values[0] if values else ANY)


def _popen(run: Machine, args: Arguments) -> Value:
    first = args.at(0)
    process = Thing("process", argv=first)
    if isinstance(first, Items):
        run.effects.program(first)
    else:
        run_text(run, first)
    block = block_of(args)
    if block is not None:
        run.invoke(block, Arguments((process,), {}))
    return process


def _kernel_open(run: Machine, args: Arguments) -> Value:
    first = args.at(0)
    pieces = pieces_of(first)
    if pieces and isinstance(pieces[0], str) and pieces[0].startswith("|"):
        run.effects.shell(text_of((pieces[0][1:], *pieces[1:])))
        return ANY
    return _open(run, args)


def _eval(run: Machine, args: Arguments) -> Value:
    result: Value = ANY
    for text in alternatives(args.at(0)):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if isinstance(text, str):
            body = read_ruby(text)
            for node in body[:-1]:
                run.run((node,), run.module)
            if body:
                result = run.last_value(body[-1])
        elif isinstance(text, Closure):
            run.apply(text, Arguments((), {}))
        elif isinstance(text, Thing) and text.kind == "response":
            run.effects.run_code("ruby", ANY, text.fields["url"])
        elif isinstance(text, Thing) and text.kind == "received":
            run.effects.shell_on_socket()
        elif text is not None:
            run.effects.run_code("ruby", text)
    return result


def _load(run: Machine, args: Arguments) -> Value:
    target = args.at(0)
    if isinstance(target, str) and target.endswith(".rb"):
        run.effects.program(Items(["ruby", target]))
    return ANY


def _run_block(run: Machine, args: Arguments) -> Value:
    block = block_of(args)
    return run.invoke(block, Arguments((), {}, True)) if block is not None else ANY


def _loop(run: Machine, args: Arguments) -> Value:
    block = block_of(args)
    if isinstance(block, Closure):
        kept, run.endless = run.endless, max(len(block.node.body()), 1)
        run.apply(block, Arguments((), {}))
        run.endless = kept
    return ANY


def _fork(run: Machine, args: Arguments) -> Value:
    fork(run, args)
    return _run_block(run, args)


def _kill(run: Machine, args: Arguments) -> Value:
    if args.values:
        run.effects.kill(args.values[0], *args.values[1:])
    return ANY


# --- files ------------------------------------------------------------------------------------------------------------

_FILE_UTILS = frozenset(
    "rm rm_f rm_r rm_rf rmtree remove_dir remove_entry remove_entry_secure safe_unlink mv move cp cp_r".split()
)
_TREES = frozenset("rm_r rm_rf rmtree remove_dir remove_entry remove_entry_secure remove_tree".split())


def _file_utils(run: Machine, name: str, args: Arguments) -> Value:
    """FileUtils, and Rake's functions of the same names."""
    effects = run.effects
    own = without_block(args)
    first, second = own.at(0), own.at(1)
    if first is None:
        return None
    if name in _TREES:
        effects.remove_tree(first)
    elif name in ("rm", "rm_f", "remove", "remove_file", "safe_unlink"):
        effects.remove(first)
    elif name == "rmdir":
        effects.remove_folder(first)
    elif name in ("mv", "move"):
        effects.move(first, second)
    elif name in ("cp", "copy", "cp_r", "copy_file", "install", "copy_entry"):
        effects.copy(first, second)
    elif name in ("chmod", "chmod_R"):
        for target in elements(second)[0] if isinstance(second, Items) else [second]:
            effects.change_mode(first, target, recursive=name == "chmod_R")
    elif name in ("chown", "chown_R"):
        target = own.at(2)
        flags = ("-R",) if name == "chown_R" else ()
        effects.command("chown", *flags, effects.word(first), effects.word(target))
    elif name in ("ln_s", "ln_sf", "symlink", "ln", "link"):
        flags = ("-s",) if "s" in name.replace("ln", "", 1) else ()
        effects.command("ln", *flags, effects.word(first), effects.word(second))
    elif name == "touch":
        effects.on_paths("touch", targets=[first])
    elif name in ("cd", "chdir"):
        return _chdir(run, args)
    return ANY


def _one(effect: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        values = (*without_block(args).values, *((args.rest,) if args.more else ()))
        getattr(run.effects, effect)(*(values or (ANY,)))
        return ANY

    return call


def _two(effect: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        getattr(run.effects, effect)(args.at(0), args.at(1))
        return ANY

    return call


def _chmod(run: Machine, args: Arguments) -> Value:
    for target in without_block(args).values[1:]:
        run.effects.change_mode(args.at(0), target)
    return ANY


def _link(run: Machine, args: Arguments) -> Value:
    run.effects.command("ln", "-s", run.effects.word(args.at(0)), run.effects.word(args.at(1)))
    return ANY


def _write(run: Machine, args: Arguments) -> Value:
    run.effects.write(args.at(0), args.at(1))
    return ANY


def _read(run: Machine, args: Arguments) -> Value:
    run.effects.read(args.at(0))
    return run.effects.content(args.at(0))


def _lines(run: Machine, args: Arguments) -> Value:
    content = _read(run, args)
    found = Items(content.splitlines()[:500]) if isinstance(content, str) else Items((), ANY)
    block = block_of(args)
    return list_method(run, found, "each", Arguments((block,), {})) if block is not None else found


def _open(run: Machine, args: Arguments) -> Value:
    target, mode = args.at(0), args.at(1)
    letters = mode if isinstance(mode, str) else "r"
    if any(letter in letters for letter in "wa+"):
        run.effects.write(target, append="w" not in letters)
    elif isinstance(target, Thing) and target.kind == "response":
        return target
    else:
        run.effects.read(target)
    handle = Thing("file", path=target)
    block = block_of(args)
    return run.invoke(block, Arguments((handle,), {})) if block is not None else handle


def _join(run: Machine, args: Arguments) -> Value:
    values: list[Value] = []
    for value in args.values:
        values += value.values if isinstance(value, Items) else [value]
    joined = values[0] if values else ""
    for part in values[1:]:
        pieces = pieces_of(part)
        first = pieces[0] if pieces else None
        bare = text_of((first.lstrip("/"), *pieces[1:])) if isinstance(first, str) else part
        joined = join_path(joined, bare)
    return joined


def _expand(run: Machine, args: Arguments) -> Value:
    def one(value: Value) -> Value:
        pieces = pieces_of(value)
        first = pieces[0] if pieces else None
        if isinstance(first, str) and (first == "~" or first.startswith("~/")):
            return text_of((run.world.home + first[1:], *pieces[1:]))
        base = args.at(1)
        if base is not None and isinstance(first, str) and not first.startswith("/"):
            return absolute(run.effects.cwd, join_path(base, value))
        return absolute(run.effects.cwd, value)

    return over(one, args.at(0))


def _glob(run: Machine, args: Arguments) -> Value:
    options = next((v for v in args.values if isinstance(v, Table)), None)
    base = options.entries.get("base", "") if options else ""
    found = Items()
    for value in without_block(args).values:
        for option in value.values if isinstance(value, Items) else alternatives(value):
            if isinstance(option, Text) and isinstance(option.pieces[-1], str) and "*" in option.pieces[-1]:
                last = option.pieces[-1]
                cut = last.rfind("/") + 1
                more: Value = text_of((*option.pieces[:-1], last[:cut], Wild(last[cut:].rpartition("/")[2])))
                values: list[Value] = []
            else:
                run.effects.lists(option)
                named = globbed(base, option)
                values, more = named.values, named.more
            found.values += values
            found.more = more if found.more is None else found.more
    block = block_of(args)
    return list_method(run, found, "each", Arguments((block,), {})) if block is not None else found


def _children(full: bool) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        run.effects.lists(args.at(0))
        found = Items((), over(below, args.at(0)) if full else Text((Wild("*"),)))
        block = block_of(args)
        return list_method(run, found, "each", Arguments((block,), {})) if block is not None else found

    return call


def _find(run: Machine, args: Arguments) -> Value:
    found = Items([args.at(0)], over(below, args.at(0)))
    block = block_of(args)
    return list_method(run, found, "each", Arguments((block,), {})) if block is not None else found


def _chdir(run: Machine, args: Arguments) -> Value:
    before = run.effects.cwd
    target = without_block(args).at(0)
    found = run.effects.absolute(run.effects.word(run.world.home if target is None else target))
    run.effects.cwd = found if found is not None else run.effects.word(ANY)
    block = block_of(args)
    if block is not None:
        result = run.invoke(block, Arguments((target,), {}))
        run.effects.cwd = before
        return result
    return ANY


def _temporary(run: Machine, args: Arguments) -> Value:
    text = text_of((_TEMPORARY + "/", None))
    block = block_of(args)
    if block is not None:
        run.invoke(block, Arguments((text,), {}))
    return text


def _path(run: Machine, args: Arguments) -> Value:
    return over(lambda v: Thing("path", text=v if not isinstance(v, Thing) else v.fields.get("text", ANY)), args.at(0))


# --- network and databases --------------------------------------------------------------------------------------------


def _fetch(run: Machine, args: Arguments) -> Value:
    url = args.at(0)
    if isinstance(url, Thing) and url.kind == "response":
        return url
    response = Thing("response", url=url)
    block = block_of(args)
    return run.invoke(block, Arguments((response,), {})) if block is not None else response


def _http_delete(run: Machine, args: Arguments) -> Value:
    run.effects.command("curl", "-X", "DELETE", run.effects.word(args.at(0)))
    return ANY


def _connect(run: Machine, args: Arguments) -> Value:
    run.effects.connect(args.at(0), args.at(1))
    return Thing("socket")


def _environment(run: Machine, args: Arguments) -> Value:
    key = args.at(0)
    value = run.world.env(key) if isinstance(key, str) else None
    if value is None and key == "HOME":
        return run.world.home
    default = without_block(args).at(1)
    return value if value is not None else ANY if default is None else default


_CALLS: dict[str, Handler] = {
    **native.RUBY,
    "system": _system,
    "exec": _system,
    "spawn": _system,
    "sh": _system,
    "PTY.spawn": _system,
    "IO.popen": _popen,
    "Open3.capture2": _system,
    "Open3.capture2e": _system,
    "Open3.capture3": _system,
    "Open3.popen3": _system,
    "Open3.popen2": _system,
    "Open3.popen2e": _system,
    "Open3.pipeline": _system,
    "open": _kernel_open,
    "IO.read": _read,
    "eval": _eval,
    "instance_eval": _eval,
    "class_eval": _eval,
    "Binding.eval": _eval,
    "load": _load,
    "require_relative": _require,
    "require": _require_library,
    "puts": lambda run, args: ANY,
    "at_exit": _run_block,
    "Thread.new": _run_block,
    "Thread.start": _run_block,
    "task": _run_block,
    "namespace": _run_block,
    "loop": _loop,
    "fork": _fork,
    "kill": _kill,
    "exit": lambda run, args: NEVER,
    "exit!": lambda run, args: NEVER,
    "abort": lambda run, args: NEVER,
    "raise": lambda run, args: NEVER,
    "File.delete": _one("remove"),
    "File.unlink": _one("remove"),
    "File.rename": _two("move"),
    "File.chmod": _chmod,
    "File.symlink": _link,
    "File.truncate": truncate,
    "File.write": _write,
    "File.binwrite": _write,
    "IO.write": _write,
    "IO.binwrite": _write,
    "File.read": _read,
    "File.binread": _read,
    "File.readlines": _lines,
    "File.foreach": _lines,
    "IO.readlines": _lines,
    "File.open": _open,
    "File.new": _open,
    "File.join": _join,
    "File.expand_path": _expand,
    "File.absolute_path": _expand,
    "File.realpath": _expand,
    "File.dirname": lambda run, args: over(folder_of, args.at(0)),
    "File.basename": lambda run, args: over(last_of, args.at(0)),
    "Dir.home": lambda run, args: run.world.home,
    "Dir.pwd": cwd,
    "Dir.getwd": cwd,
    "Dir.chdir": _chdir,
    "Dir.rmdir": _one("remove_folder"),
    "Dir.delete": _one("remove_folder"),
    "Dir.unlink": _one("remove_folder"),
    "Dir.glob": _glob,
    "Dir.children": _children(False),
    "Dir.entries": _children(False),
    "Dir.each_child": _children(False),
    "Dir.foreach": _children(False),
    "Dir.tmpdir": lambda run, args: _TEMPORARY,
    "Dir.mktmpdir": _temporary,
    "Find.find": _find,
    "Tempfile.new": _temporary,
    "Tempfile.create": _temporary,
    "Pathname.new": _path,
    "Pathname": _path,
    "Pathname.glob": _glob,
    "Pathname.pwd": lambda run, args: Thing("path", text=cwd(run, args)),
    "Etc.getlogin": lambda run, args: run.world.user,
    "Etc.getpwuid": lambda run, args: Thing("instance", dir=run.world.home, name=run.world.user),
    "__dir__": lambda run, args: run.effects.own_folder(),
    "ENV.fetch": _environment,
    "Base64.decode64": lambda run, args: over(texts.from_base64, args.at(0)),
    "Base64.strict_decode64": lambda run, args: over(texts.from_base64, args.at(0)),
    "Base64.urlsafe_decode64": lambda run, args: over(texts.from_base64, args.at(0)),
    "Zlib::Inflate.inflate": lambda run, args: over(texts.inflated, args.at(0)),
    "Shellwords.escape": lambda run, args: args.at(0),
    "Shellwords.split": lambda run, args: texts.text_method(args.at(0), "split", ()) or ANY,
    "format": lambda run, args: texts.percent_format(args.at(0), Items(args.values[1:])),
    "sprintf": lambda run, args: texts.percent_format(args.at(0), Items(args.values[1:])),
    "Array": lambda run, args: args.at(0) if isinstance(args.at(0), Items) else Items([args.at(0)]),
    "String": lambda run, args: args.at(0),
    **dict.fromkeys(("Object.const_get", "Kernel.const_get", "const_get"), lambda run, args: Ref(str(args.at(0)))),
    "\0block": lambda run, args: block_value(run, args.at(0)),
    "URI.open": _fetch,
    "URI": _fetch,
    "URI.parse": _fetch,
    "Net::HTTP.get": _fetch,
    "Net::HTTP.get_response": _fetch,
    "HTTParty.get": _fetch,
    "Faraday.get": _fetch,
    "RestClient.get": _fetch,
    "HTTParty.delete": _http_delete,
    "RestClient.delete": _http_delete,
    "TCPSocket.new": _connect,
    "TCPSocket.open": _connect,
    "Socket.tcp": _connect,
    "SQLite3::Database.new": lambda run, args: Thing("database", product="sqlite3", where=args.at(0)),
    "PG.connect": lambda run, args: Thing("database", product="psql", where=ANY),
}


# --- methods ----------------------------------------------------------------------------------------------------------


def _thing_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    if owner.kind == "path":
        return _path_method(run, owner, name, args)
    if owner.kind == "response":
        return owner if name in ("read", "body", "to_s", "string", "strip", "open", "get", "gets") else ANY
    if owner.kind == "socket" and name in ("gets", "read", "recv", "readline", "readpartial", "each_line"):
        received = Thing("received")
        block = block_of(args)
        return run.invoke(block, Arguments((received,), {})) if block is not None else received
    if owner.kind == "received":
        return owner if name in ("chomp", "strip", "to_s") else ANY
    if owner.kind == "file" and name in ("write", "puts", "print", "<<"):
        run.effects.remember(owner.fields["path"], args.at(0))
        return owner
    if owner.kind == "file" and name == "read":
        return run.effects.content(owner.fields["path"])
    if owner.kind == "process" and name in ("write", "puts", "print", "<<") and is_shell(owner.fields.get("argv")):
        run_text(run, args.at(0))
        return owner
    if owner.kind == "class" and name == "new":
        return run.invoke(owner, args)
    return None


def _path_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """Pathname."""
    effects, text = run.effects, owner.fields["text"]
    if name in ("rmtree", "rm_rf"):
        effects.remove_tree(owner)
    elif name in ("delete", "unlink"):
        effects.remove(owner)
    elif name == "rmdir":
        effects.remove_folder(owner)
    elif name in ("write", "binwrite"):
        effects.write(owner, args.at(0))
    elif name in ("read", "binread", "readlines"):
        effects.read(owner)
        return effects.content(owner)
    elif name == "rename":
        effects.move(owner, args.at(0))
    elif name in ("join", "+", "/"):
        return Thing("path", text=join_path(text, *without_block(args).values))
    elif name in ("parent", "dirname"):
        return Thing("path", text=over(folder_of, text))
    elif name in ("children", "each_child", "entries", "glob", "find"):
        run.effects.lists(text)
        found = Items((), Thing("path", text=over(below, text)))
        if name == "glob":
            named = globbed(text, args.at(0))
            found = Items(
                [Thing("path", text=v) for v in named.values],
                Thing("path", text=named.more) if named.more else None,
            )
        block = block_of(args)
        return list_method(run, found, "each", Arguments((block,), {})) if block is not None else found
    elif name in ("expand_path", "realpath"):
        return Thing("path", text=_expand(run, Arguments((text,), {})))
    elif name in ("to_s", "to_path", "to_str"):
        return text
    elif name == "basename":
        return Thing("path", text=over(last_of, text))
    else:
        return ANY
    return ANY


def _any_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    """Methods whose name alone tells enough, on objects that are not known."""
    first = args.at(0)
    database = owner if isinstance(owner, Thing) and owner.kind == "database" else None
    if name in (
        "execute",
        "exec_query",
        "query",
        "exec",
        "execute_batch",
        "exec_params",
        "async_exec",
        "run",
    ) and isinstance(first, str | Text):
        run.effects.sql(first, database)
        return ANY
    if name in ("instance_eval", "class_eval", "module_eval", "instance_exec"):
        return _eval(run, args)
    if name in ("const_get",):
        return Ref(str(first))
    if name in ("flushall", "flushdb"):
        run.effects.command("redis-cli", name)
        return ANY
    if name in ("rmtree", "unlink") and not args.values and owner is ANY:
        (run.effects.remove_tree if name == "rmtree" else run.effects.remove)(ANY)
        return ANY
    if isinstance(owner, Ref) and name == "new" and owner.name in run.module.variables:
        return run.invoke(run.module.variables[owner.name], args)
    return None
