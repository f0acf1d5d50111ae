"""Owns the values of expressions: names, calls, operators, assignments, over values known in part.

Statements are left to `interpret`; what library calls do to a Library, effects to `effects`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chrono.scan.code import tree
from chrono.scan.code.declared import take_fields, take_option
from chrono.scan.code.effects import Effects
from chrono.scan.code.frames import METHOD_KINDS, Arguments, Closure, Library, Scope, Value
from chrono.scan.code.modules import Modules, name_of
from chrono.scan.code.narrowing import ending_tested, names_in, with_ending
from chrono.scan.code.operators import binary, index, slice_of
from chrono.scan.code.receivers import bound, member, of_self
from chrono.scan.code.responses import printed
from chrono.scan.code.values import (
    ANY,
    NEVER,
    Bound,
    Either,
    Items,
    Partial,
    Ref,
    Table,
    Text,
    Thing,
    Wild,
    alternatives,
    elements,
    has_wild,
    joined,
    pieces_of,
    table_of,
    text_of,
    truth,
    without_wild,
)
from chrono.scan.command import LimitReached

MAX_STEPS = 120_000
MAX_CALL_DEPTH = 16
TOO_LONG = "it is too long to be read to its end"
EXACT_STEPS = 20_000
"""From here on a call that had no effect is not run again with the same arguments: long programs end that way."""
# Loops over constants run for so many elements, by how deep the loop lies in other loops.
_UNROLL = (64, 16, 6, 3)
_RUNS_AT_THE_END = ("atexit.register", "atexit")


class Evaluator:
    """Gives expressions their values. `args` are the program's own arguments."""

    def __init__(self, library: Library, effects: Effects, args: tuple[Value, ...]) -> None:
        self.library = library
        self.effects = effects
        self.world = effects.world
        self.args = args
        self.steps = 0
        self.most_steps = MAX_STEPS
        self.depth = 0
        self.loops = 0
        self.module = Scope(None)
        self.module.file = effects.name
        self.modules: Modules | None = None
        self.star_imports: list[str] = []
        self.endless = 0
        self.last: Value = None
        self.uncalled: dict[int, tuple[Closure, Thing | None]] | None = None
        self.frames: list[Scope] = []
        self._idle: dict[tuple[object, ...], tuple[Value, Closure, Arguments]] = {}
        self._registered: dict[int, tuple[Closure, Items]] = {}
        self._evaluate: dict[type, Callable[..., Value]] = {
            tree.Const: lambda node, scope: node.value,
            tree.Name: self._name,
            tree.Attribute: self._attribute,
            tree.Call: self._call,
            tree.Interpolated: self._interpolated,
            tree.Binary: self._binary,
            tree.Index: self._index,
            tree.Slice: self._slice,
            tree.Unary: self._unary,
            tree.Boolean: self._boolean,
            tree.Choice: self._choice,
            tree.ListOf: self._list,
            tree.TableOf: self._table,
            tree.Function: self._function,
            tree.Assign: self._assign,
            tree.Comprehension: self._comprehension,
            tree.Backticks: self._backticks,
            tree.Yield: self._yield,
            tree.Spread: lambda node, scope: self.value(node.value, scope),
            tree.Class: self._class,
            tree.Block: self._statement_value,
            tree.If: self._statement_value,
            tree.Branches: self._statement_value,
            tree.Try: self._statement_value,
            tree.Loop: self._statement_value,
        }
        if library.calls_bare_names:
            self._evaluate[tree.Name] = self._bare_name
        self._execute: dict[type, Callable[..., str | None]] = {}

    def run(self, body: tuple[tree.Node, ...], scope: Scope) -> str | None:
        """Runs statements; left to `interpret.Machine`."""
        raise NotImplementedError

    def last_value(self, node: tree.Node) -> Value:
        """Runs one statement of evaluated text and gives its value, if it is an expression."""
        if type(node) in self._execute:
            self.run((node,), self.module)
            return ANY
        return self.value(node, self.module)

    def frame_arguments(self) -> Value:
        """What the function that runs was called with, as a list (Perl's `@_`); the program's own outside functions."""
        if self.frames:
            return self.frames[-1].variables.get("@_")
        return self._known("@ARGV")

    def registered_of(self, closure: Closure) -> Items:
        """The functions that a command-line group has been given; they run when it does."""
        return self._registered.setdefault(id(closure.node), (closure, Items()))[1]

    def has_time(self) -> bool:
        """Whether files that the program loads are still looked into; the program itself goes before them."""
        return self.steps < self.most_steps // 4

    def run_file(self, body: tuple[tree.Node, ...], scope: Scope, file: str) -> None:
        """Runs a file that the program loads; `file` is what the chain calls it."""
        line, loops = self.effects.line, self.loops
        if scope is not self.module:
            scope.file = file
        around = self.effects.enter(file)
        self.depth += 1
        self.run(body, scope)
        self.depth -= 1
        self.effects.line, self.loops = line, loops
        self.effects.name, self.effects.via = around

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise LimitReached(TOO_LONG)

    def rounds(self, iterable: Value) -> Iterator[Value]:
        """The elements that a loop is run for: known ones, as many as the budget allows, then what the rest is like."""
        if isinstance(iterable, Thing | Ref | Closure):
            iterable = self.library.method(self, iterable, "__iter__", Arguments((), {}))
        if self.library.language == "perl" and isinstance(iterable, str | Text):
            # A scalar in the place of a list is a list of one.
            iterable = Items([iterable])
        values, more = elements(iterable)
        most = _UNROLL[min(self.loops, len(_UNROLL) - 1)]
        if self.steps > self.most_steps // 4:
            most = min(most, 2)
        yield from list(values[:most])
        rest: Value = more
        for value in values[most : most + 200]:
            rest = value if rest is None else joined(rest, value)
        if rest is not None:
            yield rest

    def _narrowed(self, test: tree.Node, scope: Scope) -> dict[str, tuple[Value, Value]]:
        """For variables that stand for each name of a folder: what they are where the test holds, and where not."""
        found: dict[str, tuple[Value, Value]] = {}
        for name in names_in(test):
            held = scope.variables.get(name)
            if held is None or not any(has_wild(v) for v in alternatives(held)):
                continue
            narrow = without_wild(held)
            yes = with_ending(held, ending_tested(test, name)) or narrow
            found[name] = (narrow, yes) if type(test) is tree.Unary else (yes, narrow)
        return found

    # --- expressions --------------------------------------------------------------------------------------------------

    def value(self, node: tree.Node, scope: Scope) -> Value:
        """The value of an expression; ANY where it cannot be told."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise LimitReached(TOO_LONG)
        evaluate = self._evaluate.get(type(node))
        return ANY if evaluate is None else evaluate(node, scope)

    def _name(self, node: tree.Name, scope: Scope) -> Value:
        holder = scope.find(node.name)
        if holder is not None:
            return holder.variables[node.name]
        for module in self.star_imports:
            return (
                Ref(f"{module}.{node.name}") if self.library.name(self, node.name) is None else self._known(node.name)
            )
        return self._known(node.name)

    def _known(self, name: str) -> Value:
        found = self.library.name(self, name)
        return ANY if found is None else found

    def _attribute(self, node: tree.Attribute, scope: Scope) -> Value:
        return self.attribute(self.value(node.owner, scope), node.name)

    def attribute(self, owner: Value, name: str) -> Value:
        """What a value has under a name: a field, a method, or what the library says."""
        if isinstance(owner, Ref):
            answer = self.library.attribute(self, owner, name)
            return answer if answer is not None else Ref(f"{owner.name}.{name}" if owner.name else name)
        if isinstance(owner, Either):
            found: Value = self.attribute(owner.values[0], name)
            for option in owner.values[1:]:
                found = joined(found, self.attribute(option, name))
            return found
        if isinstance(owner, Thing) and owner.kind in ("instance", "class"):
            held = member(owner, name)
            if held is not None:
                return self._member_value(held, owner) if isinstance(held, Closure) else held
        if isinstance(owner, Table) and name in owner.entries:
            return owner.entries[name]
        if isinstance(owner, Thing) and owner.kind == "module":
            own = name_of(owner, name)
            return (self.modules.submodule(self, owner, name) or ANY) if own is ANY and self.modules else own
        answer = self.library.attribute(self, owner, name)
        return answer if answer is not None else Bound(owner, name)

    def _member_value(self, held: Closure, owner: Thing) -> Value:
        """A method as a value: bound where it is one of the object, called where it reads like a field."""
        if held.kind == "property":
            return self.apply(bound(held, owner), Arguments((), {}))
        takes_owner = owner.kind == "instance" or held.kind == "classmethod" or self.library.calls_bare_names
        if held.kind == "classmethod" and owner.kind == "instance":
            made = owner.fields.get("\0class")
            return bound(held, made)
        return bound(held, owner) if takes_owner and held.kind != "static" else held

    def _bare_name(self, node: tree.Name, scope: Scope) -> Value:
        """A name where names alone call methods (Ruby)."""
        found = self._name_of_function(node, scope)
        method = isinstance(found, Closure) and found.node.name == node.name
        made = node.name == "new" and isinstance(found, Thing)
        return self.invoke(found, Arguments((), {})) if method or made else found

    def _name_of_function(self, node: tree.Name, scope: Scope) -> Value:
        """A name in front of arguments: a method of the object that runs goes before one of the same name outside."""
        found = self._name(node, scope)
        if self.library.calls_bare_names and isinstance(found, Closure | Ref) and getattr(found, "owner", None) is None:
            own = of_self(scope, node.name)
            return found if own is None else own
        return found

    def _call(self, node: tree.Call, scope: Scope) -> Value:
        target = node.function
        if isinstance(target, tree.Name):
            function = self._name_of_function(target, scope)
        else:
            function = self.value(target, scope)
        args = self._arguments(node, scope)
        if node.line:
            self.effects.line = node.line
        return self.invoke(function, args, node.line)

    def _arguments(self, node: tree.Call, scope: Scope) -> Arguments:
        values: list[Value] = []
        more = False
        further: Value = None
        for arg in node.args:
            if type(arg) is tree.Spread:
                known, rest = elements(self.value(arg.value, scope))
                values += known[:200]
                if rest is not None:
                    further = joined(further, rest) if more else rest
                    more = True
            else:
                values.append(self.value(arg, scope))
        named: dict[str, Value] = {}
        for name, value in node.named:
            given = self.value(value, scope)
            if name is not None:
                named[name] = given
            elif isinstance(given, Table):
                named.update({k: v for k, v in given.entries.items() if isinstance(k, str)})
            else:
                more = True
        return Arguments(tuple(values), named, more, further if further is not None else ANY)

    def invoke(self, function: Value, args: Arguments, line: int = 0) -> Value:
        """Calls a value."""
        self._step()
        if isinstance(function, Closure):
            return self.apply(function, args)
        if isinstance(function, Ref):
            self.effects.label = function.name
            answer = self.library.call(self, function.name, args)
        elif isinstance(function, Bound):
            self.effects.label = f".{function.name}"
            answer = self.library.method(self, function.owner, function.name, args)
        elif isinstance(function, Partial):
            joined_args = Arguments((*function.args, *args.values), {**dict(function.named), **args.named}, args.more)
            return self.invoke(function.function, joined_args, line)
        elif isinstance(function, Either):
            found: Value = None
            for option in function.values:
                found = (
                    joined(found, self.invoke(option, args, line))
                    if found is not None
                    else self.invoke(option, args, line)
                )
            return found
        elif isinstance(function, Thing) and function.kind == "class":
            return self._instance(function, args)
        else:
            if isinstance(function, str):
                self.effects.label = function[:60]
            answer = self.library.method(self, function, "", args)
        if answer is None:
            self.call_back(args)
            return ANY
        return answer

    def call_back(self, args: Arguments) -> None:
        """A function given to something unknown is taken to be called, with arguments that are not known."""
        for value in (*args.values, *args.named.values()):
            if isinstance(value, Closure):
                self.apply(value, Arguments((), {}, True))

    def apply(self, closure: Closure, args: Arguments) -> Value:
        """Runs a function of the code itself and gives what it returns."""
        if closure.active >= 2 or self.depth >= MAX_CALL_DEPTH:
            return ANY
        key = _call_key(closure, args) if self.steps > EXACT_STEPS else None
        if key is not None and key in self._idle:
            return self._idle[key][0]
        attempts = self.effects.attempts
        result = self._apply(closure, args)
        if key is not None and attempts == self.effects.attempts and result is not NEVER:
            # The values are kept, so that what stands for them in the key stays theirs.
            self._idle[key] = (result, closure, args)
        return result

    def _apply(self, closure: Closure, args: Arguments) -> Value:
        if closure.body is None:
            closure.body = closure.node.body()
        if self.uncalled is not None:
            self.uncalled.pop(id(closure.node), None)
        scope = Scope(closure.scope)
        self._bind_parameters(closure, args, scope)
        line, loops = self.effects.line, self.loops
        if scope.file != self.module.file and not self.has_time():
            return ANY
        around = self.effects.enter(scope.file)
        self.depth += 1
        closure.active += 1
        self.frames.append(scope)
        if closure.node.expression and len(closure.body) == 1:
            result = self.value(closure.body[0], scope)
        else:
            self.last = None
            ending = self.run(closure.body, scope)
            result = self.last if self.library.returns_last and not scope.returned else scope.result
            if ending == "raise" and not scope.returned:
                result = NEVER
        self.frames.pop()
        closure.active -= 1
        self.depth -= 1
        self.effects.line, self.loops = line, loops
        self.effects.name, self.effects.via = around
        if id(closure.node) in self._registered:
            registered = self._registered[id(closure.node)][1]
            self.library.method(self, Thing("app", functions=registered), "", Arguments((), {}))
        return scope.yields if scope.yields is not None else result

    def _bind_parameters(self, closure: Closure, args: Arguments, scope: Scope) -> None:
        values = list(args.values)
        parameters = closure.node.parameters
        if closure.owner is not None:
            if self.library.language == "python":
                values.insert(0, closure.owner)
            else:
                scope.variables.update(dict.fromkeys(("this", "self", "$this"), closure.owner))
        place = 0
        for parameter in parameters:
            if parameter.kind == "*":
                scope.variables[parameter.name] = Items(values[place:], args.rest if args.more else None)
                place = len(values)
            elif parameter.kind == "**":
                scope.variables[parameter.name] = Table(dict(args.named), True)
            elif parameter.name in args.named:
                scope.variables[parameter.name] = args.named[parameter.name]
            elif place < len(values):
                scope.variables[parameter.name] = values[place]
                place += 1
            elif parameter.default is not None:
                default = self.value(parameter.default, closure.scope)
                scope.variables[parameter.name] = joined(default, ANY) if args.more else default
            else:
                scope.variables[parameter.name] = ANY
        scope.variables["@_"] = Items(values, args.rest if args.more else None)

    def _instance(self, made: Thing, args: Arguments) -> Value:
        instance = Thing("instance", **{"\0class": made})
        for name in ("__init__", "constructor", "initialize", "__construct"):
            made_by = member(instance, name)
            if isinstance(made_by, Closure):
                self.apply(bound(made_by, instance), args)
                break
        else:
            if self.library.language == "python":
                take_fields(instance, made, args)
            self.call_back(args)
        return instance

    def _interpolated(self, node: tree.Interpolated, scope: Scope) -> Value:
        pieces: list[str | None | Wild] = []
        for part in node.parts:
            value = self.value(part, scope)
            if isinstance(value, Either):
                value = ANY if len(node.parts) > 8 else value
                if isinstance(value, Either):
                    return self._interpolated_options(node, scope)
            pieces.extend(pieces_of(value))
        return text_of(pieces)

    def _interpolated_options(self, node: tree.Interpolated, scope: Scope) -> Value:
        result: Value = ""
        for part in node.parts:
            result = binary("text+", result, self.value(part, scope))
        return result

    def _binary(self, node: tree.Binary, scope: Scope) -> Value:
        # Long chains of one operator lean to the left; they are walked without recursion.
        rights: list[tuple[str, tree.Node]] = []
        left: tree.Node = node
        while type(left) is tree.Binary:
            rights.append((left.op, left.right))
            left = left.left
        result = self.value(left, scope)
        for op, right in reversed(rights):
            result = binary(op, result, self.value(right, scope))
        return result

    def _index(self, node: tree.Index, scope: Scope) -> Value:
        owner = self.value(node.owner, scope)
        key = self.value(node.key, scope)
        if isinstance(owner, Ref | Thing | Closure) and isinstance(key, str):
            return self.attribute(owner, key)
        if isinstance(owner, Thing | Ref):
            found = self.library.attribute(self, owner, "[]")
            return ANY if found is None else found
        return index(owner, key)

    def _slice(self, node: tree.Slice, scope: Scope) -> Value:
        owner = self.value(node.owner, scope)
        bounds = [None if part is None else self.value(part, scope) for part in (node.start, node.stop, node.step)]
        return slice_of(owner, *bounds)

    def _unary(self, node: tree.Unary, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        if node.op == "not":
            known = truth(value)
            return ANY if known is None else not known
        if node.op == "-" and isinstance(value, int | float):
            return -value
        if node.op == "text":
            return text_of(pieces_of(value))
        return value if node.op == "+" else ANY

    def _boolean(self, node: tree.Boolean, scope: Scope) -> Value:
        result: Value = None
        known_before: bool | None = True
        for at, part in enumerate(node.values):
            before = scope.variables
            narrowed = self._narrowed(node.values[at - 1], scope) if at else {}
            if narrowed:
                scope.variables = before | {name: yes for name, (yes, _) in narrowed.items()}
            value = self.value(part, scope)
            if narrowed:
                scope.variables = before
            if value is NEVER:
                return result
            result = value if at == 0 or known_before is not None else joined(result, value)
            known_before = (value is not None) if node.op == "else" and value is not ANY else truth(value)
            if known_before is (node.op != "and"):
                return result
        return result

    def _choice(self, node: tree.Choice, scope: Scope) -> Value:
        known = truth(self.value(node.test, scope))
        if known is not None:
            return self.value(node.yes if known else node.no, scope)
        return joined(self.value(node.yes, scope), self.value(node.no, scope))

    def _list(self, node: tree.ListOf, scope: Scope) -> Value:
        values: list[Value] = []
        more: Value = None
        for item in node.items:
            if type(item) is tree.Const:
                values.append(item.value)
            elif type(item) is tree.Spread:
                known, rest = elements(self.value(item.value, scope))
                values += known
                more = rest if more is None else more
            else:
                values.append(self.value(item, scope))
        return Items(values, more)

    def _table(self, node: tree.TableOf, scope: Scope) -> Value:
        table = Table()
        for key, value in node.pairs:
            given = self.value(value, scope)
            if key is None:
                if isinstance(given, Table):
                    table.entries.update(given.entries)
                table.open = table.open or not isinstance(given, Table) or given.open
                continue
            known = self.value(key, scope)
            if isinstance(known, str | bytes | int | float) or known is None:
                table.entries[known] = given
            else:
                table.open = True
        return table

    def _function(self, node: tree.Function, scope: Scope) -> Value:
        closure = self.defined(Closure(node, scope))
        result: Value = closure
        for decorator in reversed(node.decorators):
            result = self._decorated(self.value(decorator, scope), closure, result)
        if node.name:
            scope.variables[node.name] = result
        return result

    def defined(self, closure: Closure, made: Thing | None = None) -> Closure:
        """Notes a function of the program's own file as not called yet, where that is asked for."""
        if self.uncalled is not None and closure.scope.file == self.module.file:
            self.uncalled[id(closure.node)] = (closure, made)
        return closure

    def _decorated(self, decorator: Value, closure: Closure, result: Value) -> Value:
        owner = decorator.owner if isinstance(decorator, Bound) else decorator
        if isinstance(owner, Thing) and owner.kind in ("app", "call of app"):
            registered = owner.fields.setdefault("functions", Items())
            if isinstance(registered, Items):
                registered.values.append(closure)
            return closure
        if isinstance(owner, Thing) and owner.kind == "option":
            take_option(owner, closure)
        if isinstance(decorator, Ref) and decorator.name.rpartition(".")[2] in METHOD_KINDS:
            closure.kind = METHOD_KINDS[decorator.name.rpartition(".")[2]]
        if isinstance(decorator, Ref) and decorator.name in _RUNS_AT_THE_END:
            self.apply(closure, Arguments((), {}))
        if isinstance(decorator, Closure):
            wrapped = self.apply(decorator, Arguments((result,), {}))
            return wrapped if isinstance(wrapped, Closure) else result
        return result

    def _class(self, node: tree.Class, scope: Scope) -> Value:
        bases = [self.value(base, scope) for base in node.bases]
        body = Scope(scope)
        self.run(node.body, body)
        made = Thing("class", **{"\0bases": Items(bases), "\0name": node.name})
        made.fields.update(body.variables)
        for held in body.variables.values() if self.uncalled is not None else ():
            if isinstance(held, Closure):
                self.defined(held, made)
        if node.name:
            scope.variables[node.name] = made
        return made

    def _assign(self, node: tree.Assign, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        if node.op == "||":
            held = self.value(node.target, scope)
            value = held if truth(held) else value if truth(held) is False or held is ANY else joined(held, value)
        elif node.op != "=":
            value = binary(node.op, self.value(node.target, scope), value)
        self.bind(node.target, value, scope, declares=node.declares)
        return value

    def bind(self, target: tree.Node, value: Value, scope: Scope, declares: bool = False) -> None:
        """Gives a value to a variable, a field, or the parts of a pattern."""
        if type(target) is tree.Name:
            holder: Scope | None = scope
            if target.name in scope.outer:
                holder = scope.parent.find(target.name) if scope.parent else None
                holder = holder or self.module
            elif self.library.assigns_outward and not declares:
                holder = scope.find(target.name)
            if target.name[:1] == "%" and isinstance(value, Items):
                value = table_of(value)
            elif target.name[:1] == "@" and value is not ANY and not isinstance(value, Items | Either):
                value = Items([value])
            (holder or scope).variables[target.name] = value
        elif type(target) is tree.Attribute:
            owner = self.value(target.owner, scope)
            if isinstance(owner, Thing):
                owner.fields[target.name] = value
            elif isinstance(owner, Table):
                owner.entries[target.name] = value
        elif type(target) is tree.Index:
            owner = self._indexed(target.owner, scope)
            key = self.value(target.key, scope)
            if isinstance(owner, Table) and isinstance(key, str | int):
                owner.entries[key] = value
            elif isinstance(owner, Items) and isinstance(key, int) and -len(owner.values) <= key < len(owner.values):
                owner.values[key] = value
            elif isinstance(owner, Items):
                owner.more = value if owner.more is None else joined(owner.more, value)
            elif isinstance(owner, Ref) and key == "HOME":
                pass
        elif type(target) is tree.ListOf:
            self._unpack(target, value, scope, declares)
        elif type(target) is tree.TableOf:
            for key_node, part in target.pairs:
                key = self.value(key_node, scope) if key_node is not None else None
                found = self.attribute(value, key) if isinstance(key, str) else ANY
                self.bind(part, found, scope, declares)
        elif type(target) is tree.Assign:
            self.bind(target.target, self.value(target.value, scope) if value is None else value, scope, declares)

    def _indexed(self, node: tree.Node, scope: Scope) -> Value:
        """The list or table that an element is assigned to; a variable that is not set becomes one."""
        owner = self.value(node, scope)
        if owner is ANY and type(node) is tree.Name and node.name[:1] in ("%", "@") and scope.find(node.name) is None:
            owner = Table() if node.name[0] == "%" else Items()
            scope.variables[node.name] = owner
        return owner

    def _unpack(self, target: tree.ListOf, value: Value, scope: Scope, declares: bool) -> None:
        values, more = elements(value)
        count = len(target.items)
        for at, part in enumerate(target.items):
            if type(part) is tree.Spread:
                stop = len(values) - (count - at - 1)
                self.bind(part.value, Items(values[at:stop], more), scope, declares)
                values = values[max(stop, at) - 1 :] if stop > at else [None, *values[at:]]
                values = [None] * at + values
            else:
                self.bind(part, values[at] if at < len(values) else ANY, scope, declares)

    def _comprehension(self, node: tree.Comprehension, scope: Scope) -> Value:
        inner = Scope(scope)
        found = Items()
        self._clauses(node, 0, inner, found)
        return found

    def _clauses(self, node: tree.Comprehension, at: int, scope: Scope, found: Items) -> None:
        if at == len(node.clauses):
            found.values.append(self.value(node.element, scope))
            return
        target, iterable, conditions = node.clauses[at]
        for element in self.rounds(self.value(iterable, scope)):
            self.bind(target, element, scope, declares=True)
            holds = True
            for condition in conditions:
                if truth(self.value(condition, scope)) is False:
                    holds = False
                scope.variables.update({n: yes for n, (yes, _) in self._narrowed(condition, scope).items()})
            if holds:
                self.loops += 1
                self._clauses(node, at + 1, scope, found)
                self.loops -= 1

    def _backticks(self, node: tree.Backticks, scope: Scope) -> Value:
        text = self._interpolated(tree.Interpolated(node.parts), scope)
        self.effects.line = node.line or self.effects.line
        self.effects.label = "backticks"
        self.effects.shell(text)
        return printed(text)

    def _yield(self, node: tree.Yield, scope: Scope) -> Value:
        value = self.value(node.value, scope) if node.value is not None else None
        if scope.yields is None:
            scope.yields = Items()
        if node.spread:
            known, more = elements(value)
            scope.yields.values += known
            scope.yields.more = more if scope.yields.more is None else scope.yields.more
        else:
            scope.yields.values.append(value)
        return ANY

    def _statement_value(self, node: tree.Node, scope: Scope) -> Value:
        """A statement in the place of an expression (`x = if a then b else c end`)."""
        self.last = None
        self._execute[type(node)](node, scope)
        return self.last if self.library.returns_last else ANY


def _call_key(closure: Closure, args: Arguments) -> tuple[object, ...] | None:
    """What tells one call from another; None where an argument may change between calls."""
    parts: list[object] = [id(closure.node), id(closure.owner), id(closure.scope), args.more]
    for name, value in (*enumerate(args.values), *args.named.items()):
        if isinstance(value, Items | Table | Either | Text | Partial | Bound):
            return None
        known = isinstance(value, str | bytes | int | float | Ref) or value is None
        parts.append((name, type(value), value if known else id(value)))
    return tuple(parts)
