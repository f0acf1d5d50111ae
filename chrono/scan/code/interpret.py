"""Owns the reading of code as it would run: statements, loops and branches over values known in part.

The form it reads is `tree`; expressions are left to `evaluate`, what library calls do to a Library.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.effects import Effects
from chrono.scan.code.evaluate import Evaluator
from chrono.scan.code.frames import Arguments, Closure, Library, Scope, Value
from chrono.scan.code.narrowing import merged, names_in
from chrono.scan.code.receivers import bound
from chrono.scan.code.values import (
    NEVER,
    Either,
    Ref,
    Thing,
    alternatives,
    has_wild,
    joined,
    truth,
)
from chrono.scan.command import LimitReached

MAX_LOADED_STEPS = 12_000
MAX_UNCALLED_STEPS = 4_000
MAX_UNCALLED = 200
"""Functions of one file that are called because whoever loads it does."""


class Machine(Evaluator):
    """Runs one program text."""

    def __init__(self, library: Library, effects: Effects, args: tuple[Value, ...]) -> None:
        super().__init__(library, effects, args)
        self._execute = {
            tree.If: self._if,
            tree.Loop: self._loop,
            tree.Try: self._try,
            tree.Branches: self._branches,
            tree.Return: self._return,
            tree.Jump: lambda node, scope: node.kind,
            tree.Import: self._import,
            tree.ImportAll: self._import_all,
            tree.Scoped: self._scoped,
            tree.Block: lambda node, scope: self.run(node.body, scope),
            tree.Global: self._global,
        }

    def run_program(self, body: tuple[tree.Node, ...], *, called: bool = False) -> None:
        """Runs a whole program text; `called`: its functions too, of whose arguments nothing is known."""
        if called:
            self.uncalled = {}
            self.most_steps = MAX_LOADED_STEPS
        self.run(body, self.module)
        if self.uncalled is not None:
            self.most_steps = self.steps + MAX_UNCALLED_STEPS
            try:
                self._call_the_rest(self.uncalled)
            except LimitReached:
                # They were called with arguments that nobody gave them: no reason to refuse the file.
                return

    def _call_the_rest(self, uncalled: dict[int, tuple[Closure, Thing | None]]) -> None:
        """Calls what the program defines and does not call itself, and what that defines in turn."""
        instances: dict[int, Value] = {}
        for _ in range(MAX_UNCALLED):
            if not uncalled:
                return
            closure, made = uncalled.pop(next(iter(uncalled)))
            if made is not None and closure.owner is None:
                if id(made) not in instances:
                    instances[id(made)] = self.invoke(made, Arguments((), {}, True))
                owner = instances[id(made)]
                closure = bound(closure, owner) if isinstance(owner, Thing) else closure
            self.apply(closure, Arguments((), {}, True))

    # --- statements ---------------------------------------------------------------------------------------------------

    def run(self, body: tuple[tree.Node, ...], scope: Scope) -> str | None:
        """Runs statements; answers how they end: None (at their end), "return", "break", "continue" or "raise"."""
        if self.library.hoists:
            for node in body:
                if type(node) is tree.Function and node.name:
                    scope.variables[node.name] = self.defined(Closure(node, scope))
        for node in body:
            self._step()
            execute = self._execute.get(type(node))
            if execute is not None:
                ending = execute(node, scope)
                if ending is not None:
                    return ending
            else:
                self.last = self.value(node, scope)
                if self.last is NEVER:
                    return "raise"
        return None

    def _if(self, node: tree.If, scope: Scope) -> str | None:
        known = truth(self.value(node.test, scope))
        if known is not None and not self._names_wild(node.test, scope):
            return self.run(node.yes if known else node.no, scope)
        narrowed = self._narrowed(node.test, scope)
        before = dict(scope.variables)
        scope.variables.update({name: yes for name, (yes, _) in narrowed.items()})
        first = self.run(node.yes, scope)
        last = self.last
        after_first = scope.variables
        scope.variables = before | {name: no for name, (_, no) in narrowed.items()}
        second = self.run(node.no, scope)
        self.last = joined(last, self.last)
        if first is not None and second is not None:
            return first if first == second else "continue" if "continue" in (first, second) else first
        if second is not None:
            scope.variables = after_first
        elif first is None:
            scope.variables = merged(after_first, scope.variables)
            for name, (yes, no) in narrowed.items():
                if scope.variables.get(name) in (yes, no) or isinstance(scope.variables.get(name), Either):
                    scope.variables[name] = before[name]
        return None

    def _names_wild(self, test: tree.Node, scope: Scope) -> bool:
        return any(has_wild(value) for name in names_in(test) for value in alternatives(scope.variables.get(name)))

    def _loop(self, node: tree.Loop, scope: Scope) -> str | None:
        if node.iterable is None:
            return self._while(node, scope)
        self.effects.line = node.line or self.effects.line
        for element in self.rounds(self.value(node.iterable, scope)):
            if node.target is not None:
                self.bind(node.target, element, scope)
            self.loops += 1
            ending = self.run(node.body, scope)
            self.loops -= 1
            if ending == "break" or ending == "return":
                # Whether it is reached in the first round cannot be told of an unknown element.
                return ending if ending == "return" else None
        return self.run(node.otherwise, scope)

    def _while(self, node: tree.Loop, scope: Scope) -> str | None:
        known = truth(self.value(node.test, scope)) if node.test is not None else True
        if known is False:
            return self.run(node.otherwise, scope)
        before = dict(scope.variables)
        self.loops += 1
        endless, self.endless = self.endless, len(node.body) if known else 0
        ending = None
        for _ in range(2):
            ending = self.run(node.body, scope)
            if ending in ("break", "return", "raise"):
                break
            if node.test is not None:
                self.value(node.test, scope)
        self.loops -= 1
        self.endless = endless
        scope.variables = merged(before, scope.variables)
        return ending if ending in ("return", "raise") and known else None

    def _try(self, node: tree.Try, scope: Scope) -> str | None:
        ending = self.run(node.body, scope)
        if ending is None:
            ending = self.run(node.otherwise, scope)
        for handler in node.handlers:
            before = dict(scope.variables)
            other = self.run(handler, scope)
            if ending is None:
                scope.variables = merged(before, scope.variables)
            elif other is None:
                ending = None
        final = self.run(node.final, scope)
        return final or ending

    def _branches(self, node: tree.Branches, scope: Scope) -> str | None:
        if node.subject is not None:
            self.value(node.subject, scope)
        before = dict(scope.variables)
        after = before
        for body in node.bodies:
            scope.variables = dict(before)
            self.run(body, scope)
            after = merged(after, scope.variables)
        scope.variables = after
        return None

    def _return(self, node: tree.Return, scope: Scope) -> str | None:
        value = self.value(node.value, scope) if node.value is not None else None
        scope.result = joined(scope.result, value) if scope.returned else value
        scope.returned = True
        return "raise" if value is NEVER else "return"

    def _import(self, node: tree.Import, scope: Scope) -> str | None:
        scope.variables[node.alias] = self.imported(node.name)
        return None

    def imported(self, name: str) -> Value:
        """What an import gives: a module of the project is run, one of the library is known by its name."""
        own = self._own_module(name)
        known = self.library.attribute(self, Ref(""), name) if own is None else own
        return Ref(name) if known is None else known

    def _own_module(self, name: str) -> Value:
        """The module of the project that is imported, as far as it is one."""
        if self.modules is None:
            return None
        if self.library.language == "python":
            return self.modules.python(self, name)
        return self.modules.javascript(self, name) if name.startswith((".", "/")) else None

    def _import_all(self, node: tree.ImportAll, scope: Scope) -> str | None:
        own = self._own_module(node.name)
        if isinstance(own, Thing) and isinstance(own.fields["scope"], Scope):
            scope.variables.update(own.fields["scope"].variables)
        else:
            self.star_imports.append(node.name)
        return None

    def _scoped(self, node: tree.Scoped, scope: Scope) -> str | None:
        value = self.value(node.value, scope)
        if isinstance(value, Thing) and value.kind == "temporary":
            value = value.fields["text"]
        if node.target is not None:
            self.bind(node.target, value, scope)
        return None

    def _global(self, node: tree.Global, scope: Scope) -> str | None:
        scope.outer.update(node.names)
        return None
