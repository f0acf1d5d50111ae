"""Owns what code does through machine code that it loads: libraries of its own, and the C library's `system`.

Python's ctypes and Node's addons are left to their libraries; what may be loaded from where is told by the rules.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.values import ANY, Bound, Ref, Text, Thing

Handler = Callable[[Machine, Arguments], Value]

_RUN = ("system", "popen")


def load(place: int) -> Handler:
    """A call whose argument at `place` names a library; none, or nil, is the C library."""

    def call(run: Machine, args: Arguments) -> Value:
        path = args.at(place)
        if isinstance(path, str | Text):
            run.effects.command("load-library", run.effects.word(path))
        return Thing("native")

    return call


def function_of(run: Machine, args: Arguments) -> Value:
    """A function that is taken out of a library: `Fiddle::Function.new(lib["system"], …)`."""
    held = args.at(0)
    if isinstance(held, Bound) and isinstance(held.owner, Thing) and held.owner.kind == "native":
        return Ref("system") if held.name in _RUN else ANY
    return ANY


def method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """A function of a loaded library that is called by its name: `$libc->system("…")`."""
    if name in _RUN and args.values:
        run.effects.shell(args.values[0])
    return ANY


RUBY: dict[str, Handler] = {
    **dict.fromkeys(("Fiddle.dlopen", "Fiddle::Handle.new", "Fiddle.Handle.new", "dlload"), load(0)),
    **dict.fromkeys(("Fiddle::Function.new", "Fiddle.Function.new"), function_of),
}
PERL: dict[str, Handler] = {
    **dict.fromkeys(("DynaLoader::dl_load_file", "dl_load_file", "FFI::Platypus.lib"), load(0)),
}
PHP: dict[str, Handler] = {"ffi.cdef": load(1), "ffi.load": load(0), "dl": load(0)}
JAVASCRIPT: dict[str, Handler] = {
    **dict.fromkeys(("Deno.dlopen", "koffi.load", "bun:ffi.dlopen", "ffi-napi.Library", "ffi.Library"), load(0)),
}
