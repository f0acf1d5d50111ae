"""Owns the files of the same project that code loads (`import`, `require`): where they lie, what running them gives.

Code of other people's packages is left alone: it is not the project's, and there is too much of it. Running a body is
left to the Machine that loads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from chrono.scan.code import tree
from chrono.scan.code.frames import Scope, Value
from chrono.scan.code.json_values import value_of
from chrono.scan.code.values import ANY, Table, Thing, alternatives, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_MODULES = 24
MAX_MODULES_BESIDE = 2
"""Of a file that a tool loads by itself, and of what this starts: reading it must not cost what the whole project
would."""
MAX_MODULE_CHARS = 60_000
_JAVASCRIPT_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", "/index.js", "/index.ts")

# `run` is the Machine, which imports this module.
Reader = Callable[[str], tuple[tree.Node, ...]]


class Modules:
    """The project's own files that one program has loaded, each run once."""

    def __init__(self, read: Reader, most: int = MAX_MODULES) -> None:
        self._read = read
        self._most = most
        self._loaded: dict[str, Thing | None] = {}

    def python(self, run: Any, name: str) -> Value:
        """What `import name` binds (`a.b.c`, dots in front for the package around); None where it is not ours."""
        bare = name.lstrip(".")
        roots = self._roots(run, len(name) - len(bare))
        parts = bare.split(".") if bare else []
        for root in roots:
            if not parts or not self._is_ours(run, root, parts[0]):
                continue
            for length in range(1, len(parts)):
                self._load(run, os.path.join(root, *parts[:length], "__init__.py"))
            found = self._python_at(run, root, parts)
            if found is None and len(parts) > 1:
                package = self._python_at(run, root, parts[:-1])
                return None if package is None else name_of(package, parts[-1])
            return found
        return None

    def submodule(self, run: Any, package: Thing, name: str) -> Value:
        """A module that is taken from its package as a field."""
        path = package.fields["path"]
        if not isinstance(path, str) or not path.endswith("/__init__.py"):
            return None
        return self._python_at(run, os.path.dirname(path), [name])

    def javascript(self, run: Any, name: str) -> Value:
        """What `require(name)`, or `import` of `name` with the name of an export behind it, gives."""
        if name.endswith(".json"):
            return value_of(run.effects.content(os.path.normpath(os.path.join(run.effects.own_folder(), name))))
        for target, export in ((name, ""), (name.rpartition(".")[0], name.rpartition(".")[2])):
            base = os.path.normpath(os.path.join(run.effects.own_folder(), target)) if target else None
            for ending in _JAVASCRIPT_ENDINGS if base else ():
                made = self._load(run, f"{base}{ending}")
                if made is not None:
                    exports = made.fields["exports"]
                    return _exported(made, exports, export) if export else exports
        return None

    def plain(self, run: Any, target: str, ending: str) -> None:
        """Runs a file where it is named, its names among the program's own (Ruby's `require_relative`)."""
        path = os.path.normpath(os.path.join(run.effects.own_folder(), target))
        for candidate in (path, path + ending):
            if self._load(run, candidate, run.module) is not None:
                return

    def library(self, run: Any, name: str, ending: str) -> None:
        """Runs a file that is looked for where a project keeps its library: `lib` of the folder, or of the script's."""
        roots = [run.effects.cwd] if isinstance(run.effects.cwd, str) else []
        here = run.effects.own_folder()
        for root in dict.fromkeys((*roots, here, os.path.dirname(here))):
            for folder in ("lib", "."):
                path = os.path.normpath(os.path.join(root, folder, f"{name}{ending}"))
                if run.effects.world.lstat(path) is not None and self._load(run, path, run.module) is not None:
                    return

    def _roots(self, run: Any, dots: int) -> Iterator[str]:
        here = run.effects.own_folder()
        if dots:
            for _ in range(dots - 1):
                here = os.path.dirname(here)
            yield here
            return
        yield os.path.dirname(run.effects.absolute(run.module.file.rpartition(": ")[2]) or "/")
        if isinstance(run.effects.cwd, str):
            yield run.effects.cwd
            yield os.path.join(run.effects.cwd, "src")

    def _is_ours(self, run: Any, root: str, first: str) -> bool:
        path = os.path.join(root, first)
        if any(given in (f"{path}.py", f"{path}/__init__.py") for given in run.effects.given):
            return True
        return run.effects.world.lstat(path + ".py") is not None or run.effects.world.lstat(path) is not None

    def _python_at(self, run: Any, root: str, parts: list[str]) -> Thing | None:
        path = os.path.join(root, *parts)
        return self._load(run, path + ".py") or self._load(run, path + "/__init__.py")

    def _load(self, run: Any, path: str, scope: Scope | None = None) -> Thing | None:
        if path in self._loaded:
            return self._loaded[path]
        self._loaded[path] = None
        if sum(one is not None for one in self._loaded.values()) >= self._most or not run.has_time():
            return None
        text = run.effects.content(path)
        if not isinstance(text, str) or len(text) > MAX_MODULE_CHARS:
            return None
        try:
            body = self._read(text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        scope = Scope(None) if scope is None else scope
        exports = Table()
        made = self._loaded[path] = Thing("module", path=path, scope=scope, exports=exports)
        holder = Table({"exports": exports})
        scope.variables.update({"__name__": os.path.basename(path), "exports": exports, "module": holder})
        run.effects.paths[shown(run, path)] = path
        run.run_file(body, scope, shown(run, path))
        made.fields["exports"] = _exports_of(scope, holder.entries["exports"], exports)
        return made


def shown(run: Any, path: str) -> str:
    root = run.effects.world.project or run.effects.world.cwd
    return path[len(root) + 1 :] if path.startswith(root + "/") else path


def _exports_of(scope: Scope, assigned: Value, first: Table) -> Value:
    """CommonJS exports where there are any, else the names that the file declares."""
    if assigned is not first or first.entries:
        return assigned
    names = Table({n: v for n, v in scope.variables.items() if n not in ("exports", "module", "__name__")}, True)
    # Whether `import x` wants the default or all of it is told by what is done with it.
    return joined(scope.variables["default"], names) if "default" in scope.variables else names


def _exported(made: Thing, exports: Value, name: str) -> Value:
    for option in alternatives(exports):
        if isinstance(option, Table) and name in option.entries:
            return option.entries[name]
    return name_of(made, name)


def name_of(made: Thing, name: str) -> Value:
    """A name of a module; ANY where it has none that is known."""
    scope = made.fields["scope"]
    assert isinstance(scope, Scope)
    return scope.variables.get(name, ANY)
