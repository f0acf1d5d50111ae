"""Owns what Perl's built-in functions and usual modules give and do.

Reading the language is left to `perl_reader`, functions of texts and lists to `function_values`.
"""

from __future__ import annotations

import os

from chrono.scan.code import native
from chrono.scan.code.arguments import argument_list
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.function_values import pure_call
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import join_path, over
from chrono.scan.code.paths import below, folder_of, globbed, last_of
from chrono.scan.code.perl_reader import read_perl
from chrono.scan.code.programs import run_text
from chrono.scan.code.responses import printed
from chrono.scan.code.system_calls import Handler, cwd, entries, fork, link, truncate
from chrono.scan.code.texts import join_texts, text_method
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
    truth,
    without_wild,
)

_MODULES = tuple(
    (
        "File::Path File::Copy File::Find File::Spec File::Basename Cwd POSIX CORE::GLOBAL CORE "
        "MIME::Base64 File::Temp Path::Tiny main IPC::System::Simple File::Copy::Recursive"
    ).split()
)


def canonical(name: str) -> str:
    """A function's bare name where it comes from a usual module."""
    module, _, last = name.rpartition("::")
    if not module:
        module, _, last = name.rpartition(".")
    return last if module in _MODULES and last else name


class PerlLibrary:
    """Perl's built-in functions. specs: scanner section 4."""

    language = "perl"
    hoists = True
    assigns_outward = True
    returns_last = True
    calls_bare_names = False

    def name(self, run: Machine, name: str) -> Value:
        if name in ("%ENV", "$ENV"):
            return Ref("%ENV")
        if name == "@ARGV":
            return Items(argument_list(run.args).values[1:], argument_list(run.args).more)
        if name == "$0":
            return run.args[0] if run.args else ANY
        if name == "$$":
            return ANY
        if name == "$File::Find::name" or name == "$File::Find::dir":
            return ANY
        return None if name[:1] in "$@%" else Ref(name)

    def attribute(self, run: Machine, owner: Value, name: str) -> Value:
        if owner == Ref("%ENV"):
            value = run.world.env(name)
            return run.world.home if value is None and name == "HOME" else ANY if value is None else value
        if isinstance(owner, Thing) and owner.kind == "instance":
            return owner.fields.get(name)
        return None

    def call(self, run: Machine, name: str, args: Arguments) -> Value:
        own = run.module.variables.get(name.rpartition("::")[2])
        if isinstance(own, Closure):
            return run.apply(own, args)
        bare = canonical(name)
        handler = _CALLS.get(bare)
        if handler is not None:
            return handler(run, args)
        if bare.startswith("-") and len(bare) == 2:
            return ANY
        found = pure_call(bare, args)
        if found is not None:
            return found
        owner, _, method = name.rpartition(".")
        return self.method(run, Ref(owner), method, args) if owner else None

    def method(self, run: Machine, owner: Value, name: str, args: Arguments) -> Value:
        if isinstance(owner, Ref) and name == "new" and owner.name.startswith("IO::Socket"):
            return _socket(run, args)
        if isinstance(owner, Ref) and name == "new" and owner.name in ("LWP::UserAgent", "HTTP::Tiny"):
            return Thing("agent")
        if isinstance(owner, Ref) and name == "connect" and owner.name == "DBI":
            return Thing("database", product="", where=args.at(0))
        if name in ("do", "prepare", "execute") and isinstance(args.at(0), str | Text):
            run.effects.sql(args.at(0))
            return ANY
        if isinstance(owner, Thing) and owner.kind == "agent" and name in ("get", "post"):
            return Thing("response", url=args.at(0))
        if isinstance(owner, Thing) and owner.kind == "agent" and name == "delete":
            run.effects.command("curl", "-X", "DELETE", run.effects.word(args.at(0)))
            return ANY
        if isinstance(owner, Thing) and owner.kind == "response":
            return owner
        if name == "call_list" or (name == "" and isinstance(owner, str)):
            return self.call(run, owner, args) if isinstance(owner, str) else ANY
        if isinstance(owner, Thing) and owner.kind == "path":
            return _path_method(run, owner, name, args)
        if isinstance(owner, Thing) and owner.kind == "native":
            return native.method(run, owner, name, args)
        if name in ("system", "capture", "exec"):
            return _system(run, args)
        if isinstance(owner, Ref) and owner.name in _MODULES:
            handler = _CALLS.get(name)
            return handler(run, args) if handler else pure_call(name, args)
        return None


def _flat(args: Arguments) -> list[Value]:
    """Perl's arguments are one flat list."""
    values: list[Value] = []
    for value in args.values:
        if isinstance(value, Items):
            values += value.values
            if value.more is not None:
                values.append(value.more)
        else:
            values.append(value)
    return [*values, args.rest] if args.more else values


def _topic(run: Machine, args: Arguments) -> list[Value]:
    """The arguments, or `$_` where there are none."""
    return _flat(args) if args.values or args.more else [run.module.variables.get("$_", ANY)]


def _system(run: Machine, args: Arguments) -> Value:
    values = _flat(args)
    if len(values) == 1:
        run_text(run, values[0])
    else:
        run.effects.program(Items(values))
    return printed(values[0]) if len(values) == 1 else ANY


def _exec(run: Machine, args: Arguments) -> Value:
    _system(run, args)
    # What follows still runs where the program cannot be started, and in the other process after a fork.
    return ANY


def _remover(effect: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        targets = [value for value in _topic(run, args) if not isinstance(value, Table | bool | int)]
        getattr(run.effects, effect)(*targets)
        return ANY

    return call


def _mover(effect: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        values = [*_flat(args), ANY, ANY]
        getattr(run.effects, effect)(values[0], values[1])
        return ANY

    return call


def _chmod(run: Machine, args: Arguments) -> Value:
    mode, *targets = [*_flat(args), ANY]
    for target in targets[:-1]:
        run.effects.change_mode(mode, target)
    return ANY


def _chown(run: Machine, args: Arguments) -> Value:
    values = _flat(args)
    for target in values[2:]:
        run.effects.command("chown", run.effects.word(str(values[0])), run.effects.word(target))
    return ANY


def _kill(run: Machine, args: Arguments) -> Value:
    values = _flat(args)
    if values:
        run.effects.kill(values[0], *values[1:])
    return ANY


def _open(run: Machine, args: Arguments) -> Value:
    """`open(FH, ">file")`, `open(my $fh, "<", "file")`, `open(FH, "command |")`."""
    mode, target = args.at(1), args.at(2)
    if target is None and mode is not None:
        pieces = pieces_of(mode)
        first, last = pieces[0], pieces[-1]
        if isinstance(first, str) and first.lstrip().startswith("|"):
            run.effects.shell(text_of((first.lstrip().lstrip("|"), *pieces[1:])))
            return ANY
        if isinstance(last, str) and last.rstrip().endswith("|"):
            run.effects.shell(text_of((*pieces[:-1], last.rstrip().rstrip("|"))))
            return ANY
        letters = first.lstrip() if isinstance(first, str) else ""
        sign = letters[: len(letters) - len(letters.lstrip("+<>&"))]
        target = text_of((letters[len(sign) :].lstrip(), *pieces[1:]))
        mode = sign or "<"
    if isinstance(mode, str) and mode.strip() in ("-|", "|-"):
        rest = args.values[2:]
        _system(run, Arguments(rest, {}))
        return ANY
    if isinstance(mode, str) and "&" in mode:
        return ANY
    if isinstance(mode, str) and ">" in mode:
        run.effects.write(target, append=">>" in mode)
    elif target is not None:
        run.effects.read(target)
    return Thing("file", path=target)


def _opendir(run: Machine, args: Arguments) -> Value:
    run.module.variables["\0opened"] = args.at(1)
    run.effects.lists(args.at(1))
    return ANY


def _readline(run: Machine, args: Arguments) -> Value:
    return Items((), ANY)


def _glob(run: Machine, args: Arguments) -> Value:
    found = Items()
    for option in alternatives(_topic(run, args)[0]):
        if isinstance(option, str):
            run.effects.lists(option)
            for word in option.split() or [""]:
                word = run.world.home + word[1:] if word.startswith("~/") or word == "~" else word
                more = globbed("", word)
                found.values += more.values
                found.more = more.more if found.more is None else joined_text(found.more, more.more)
        elif isinstance(option, Text):
            found.more = _glob_of_parts(option)
        else:
            found.more = ANY
    return found


def joined_text(first: Value, second: Value) -> Value:
    return first if second is None else Items([first, second])


def _glob_of_parts(option: Text) -> Value:
    last = option.pieces[-1]
    if isinstance(last, str) and "*" in last:
        cut = last.rfind("/") + 1
        return text_of((*option.pieces[:-1], last[:cut], Wild(last[cut:])))
    return option


def _map(run: Machine, args: Arguments) -> Value:
    values = Items(_flat(args)[1:])
    run.loops += 1
    found: list[Value] = []
    for element in run.rounds(values):
        run.module.variables["$_"] = element
        result = run.invoke(args.at(0), Arguments((), {}))
        found += result.values if isinstance(result, Items) else [result]
    run.loops -= 1
    return Items(found)


def _grep(run: Machine, args: Arguments) -> Value:
    found: list[Value] = []
    for element in run.rounds(Items(_flat(args)[1:])):
        run.module.variables["$_"] = element
        result = run.invoke(args.at(0), Arguments((), {}))
        known = truth(result)
        if known is not False:
            # `grep { !/^\.\.?$/ }` only takes the dots out, which no glob would have.
            found.append(element if known or _only_dots(args.at(0)) else without_wild(element))
    return Items(found)


def _only_dots(function: Value) -> bool:
    if not isinstance(function, Closure) or function.body is None:
        return False
    text = repr(function.body)
    return "\\\\.\\\\." in text or "'.'" in text or "'-f'" in text or "'-d'" in text or "'-e'" in text


def _find(run: Machine, args: Arguments) -> Value:
    """File::Find: the function is called for each name below the folders."""
    wanted = args.at(0)
    if isinstance(wanted, Table):
        wanted = wanted.entries.get("wanted", ANY)
    for folder in _flat(args)[1:]:
        name = over(below, folder)
        run.module.variables["$_"] = name
        run.module.variables["$File::Find::name"] = name
        run.module.variables["$File::Find::dir"] = folder
        run.invoke(wanted, Arguments((), {}))
    return ANY


def _eval(run: Machine, args: Arguments) -> Value:
    result: Value = ANY
    for text in alternatives(_topic(run, args)[0]):
        if isinstance(text, str):
            body = read_perl(text)
            for node in body[:-1]:
                run.run((node,), run.module)
            if body:
                result = run.last_value(body[-1])
        elif isinstance(text, Thing) and text.kind == "response":
            run.effects.run_code("perl", ANY, text.fields["url"])
        elif text is not None and not isinstance(text, Items | bool):
            run.effects.run_code("perl", text)
    return result


def _run_file(run: Machine, args: Arguments) -> Value:
    target = args.at(0)
    if isinstance(target, str) and ("/" in target or target.endswith(".pl")):
        run.effects.program(Items(["perl", target]))
    return ANY


def _use(run: Machine, args: Arguments) -> Value:
    if run.modules is not None and isinstance(args.at(0), str):
        run.modules.library(run, str(args.at(0)).replace("::", "/"), ".pm")
    return ANY


def _change(run: Machine, args: Arguments) -> Value:
    return ANY


def _bind(run: Machine, args: Arguments) -> Value:
    return ANY


def _all(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return value if isinstance(value, Items) else Items((), ANY)


def _range(run: Machine, args: Arguments) -> Value:
    low, high = args.at(0), args.at(1)
    if isinstance(low, int) and isinstance(high, int):
        numbers = range(low, min(high, low + 255) + 1)
        return Items(numbers, None if high <= low + 255 else ANY)
    return Items((), ANY)


def _shift(run: Machine, args: Arguments) -> Value:
    listed = args.at(0)
    if listed is None:
        listed = run.frame_arguments()
    if isinstance(listed, Items) and listed.values:
        return listed.values.pop(0)
    return ANY


def _push(run: Machine, args: Arguments) -> Value:
    if args.values and isinstance(args.values[0], Items):
        args.values[0].values += args.values[1:]
    return ANY


def _socket(run: Machine, args: Arguments) -> Value:
    values = _flat(args)
    named = {values[at]: values[at + 1] for at in range(0, len(values) - 1, 2) if isinstance(values[at], str)}
    host, port = named.get("PeerAddr", named.get("PeerHost", ANY)), named.get("PeerPort", ANY)
    if isinstance(host, str) and ":" in host:
        host, _, port = host.partition(":")
    if "PeerAddr" in named or "PeerHost" in named:
        run.effects.connect(host, port)
    return Thing("socket")


def _connect(run: Machine, args: Arguments) -> Value:
    address = args.at(1)
    known = elements(address)[0] if isinstance(address, Items) else []
    run.effects.connect(known[1] if len(known) > 1 else ANY, known[0] if known else ANY)
    return True


def _address(run: Machine, args: Arguments) -> Value:
    return Items(args.values)


def _chdir(run: Machine, args: Arguments) -> Value:
    found = run.effects.absolute(run.effects.word(_topic(run, args)[0]))
    run.effects.cwd = found if found is not None else run.effects.word(ANY)
    return ANY


def _fetch(run: Machine, args: Arguments) -> Value:
    return Thing("response", url=args.at(0))


def _store(run: Machine, args: Arguments) -> Value:
    run.effects.command("curl", "-o", run.effects.word(args.at(1)), run.effects.word(args.at(0)))
    return ANY


def _catfile(run: Machine, args: Arguments) -> Value:
    return join_path(*_flat(args)) if args.values else ANY


def _tempdir(run: Machine, args: Arguments) -> Value:
    return text_of((os.sep + "tmp/", None))


def _path(run: Machine, args: Arguments) -> Value:
    text = join_path(*args.values) if args.values else ANY
    pieces = pieces_of(text)
    if pieces and isinstance(pieces[0], str) and (pieces[0] == "~" or pieces[0].startswith("~/")):
        text = text_of((run.world.home + pieces[0][1:], *pieces[1:]))
    return Thing("path", text=text)


def _path_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """Path::Tiny."""
    effects = run.effects
    if name in ("remove_tree", "rmtree"):
        effects.remove_tree(owner)
    elif name in ("remove", "unlink"):
        effects.remove(owner)
    elif name == "child":
        return Thing("path", text=join_path(owner.fields["text"], *args.values))
    elif name == "children":
        return Items((), Thing("path", text=over(below, owner.fields["text"])))
    elif name in ("spew", "spew_utf8", "spew_raw", "append", "append_utf8"):
        effects.write(owner, args.at(0), append=name.startswith("append"))
    elif name in ("slurp", "slurp_utf8", "lines"):
        effects.read(owner)
    elif name in ("move", "copy"):
        (effects.move if name == "move" else effects.copy)(owner, args.at(0))
    elif name == "parent":
        return Thing("path", text=over(folder_of, owner.fields["text"]))
    elif name == "basename":
        return over(last_of, owner.fields["text"])
    else:
        return owner
    return ANY


def _chomp(run: Machine, args: Arguments) -> Value:
    return text_method(args.at(0), "strip", ()) if isinstance(args.at(0), str) else ANY


_CALLS: dict[str, Handler] = {
    **native.PERL,
    "system": _system,
    "exec": _exec,
    "systemx": _system,
    "capture": _system,
    "unlink": _remover("remove"),
    "rmdir": _remover("remove_folder"),
    "remove_tree": _remover("remove_tree"),
    "rmtree": _remover("remove_tree"),
    "pathrmdir": _remover("remove_tree"),
    "pathempty": _remover("remove_tree"),
    "rename": _mover("move"),
    "move": _mover("move"),
    "mv": _mover("move"),
    "rmove": _mover("move"),
    "copy": _mover("copy"),
    "cp": _mover("copy"),
    "dircopy": _mover("copy"),
    "chmod": _chmod,
    "chown": _chown,
    "symlink": link("-s"),
    "link": link(),
    "truncate": truncate,
    "kill": _kill,
    "open": _open,
    "sysopen": _open,
    "opendir": _opendir,
    "readdir": entries,
    "readline": _readline,
    "glob": _glob,
    "bsd_glob": _glob,
    "map": _map,
    "grep": _grep,
    "first": _grep,
    "find": _find,
    "finddepth": _find,
    "eval": _eval,
    "do": _run_file,
    "require": _run_file,
    "\0use": _use,
    "\0change": _change,
    "\0bind": _bind,
    "\0all": _all,
    "\0range": _range,
    "shift": _shift,
    "pop": _shift,
    "push": _push,
    "unshift": _push,
    "fork": fork,
    "connect": _connect,
    "sockaddr_in": _address,
    "pack_sockaddr_in": _address,
    "inet_aton": lambda run, args: args.at(0),
    "chdir": _chdir,
    "exit": lambda run, args: NEVER,
    "get": _fetch,
    "getstore": _store,
    "catfile": _catfile,
    "catdir": _catfile,
    "cwd": cwd,
    "getcwd": cwd,
    "abs_path": lambda run, args: args.at(0),
    "tempdir": _tempdir,
    "tempfile": _tempdir,
    "path": _path,
    "chomp": _chomp,
    "print": lambda run, args: ANY,
    "die": lambda run, args: ANY,
    "home": lambda run, args: run.world.home,
    "getpwuid": lambda run, args: Items([run.world.user, ANY, ANY, ANY, ANY, ANY, ANY, run.world.home, ANY]),
    "my_home": lambda run, args: run.world.home,
    "shell_quote": lambda run, args: join_texts(" ", Items(_flat(args))),
}
