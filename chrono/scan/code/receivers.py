"""Owns whose a name is: members of an object, of its class and of what that comes from, and of the object that runs.

Giving names their values otherwise is left to `evaluate`.
"""

from __future__ import annotations

from chrono.scan.code.frames import Closure, Scope, Value
from chrono.scan.code.values import Items, Thing


def member(owner: Thing, name: str, depth: int = 0) -> Value:
    """A field or a method; None where the object and its classes have none of that name."""
    if name in owner.fields:
        return owner.fields[name]
    parents: list[Value] = []
    made = owner.fields.get("\0class")
    bases = owner.fields.get("\0bases")
    if isinstance(made, Thing):
        parents.append(made)
    if isinstance(bases, Items):
        parents += bases.values
    for parent in parents:
        if isinstance(parent, Thing) and depth < 10:
            found = member(parent, name, depth + 1)
            if found is not None:
                return found
    return None


def bound(found: Closure, owner: Value) -> Closure:
    """A method as one of an object."""
    closure = Closure(found.node, found.scope, owner)
    closure.body = found.body
    closure.kind = found.kind
    return closure


def own_field(owner: Value, name: str) -> Value:
    """What a reader of Ruby gives (`attr_reader :root` for `@root`)."""
    known = isinstance(owner, Thing) and owner.kind == "instance"
    return owner.fields.get(name, owner.fields.get(f"@{name}")) if known and isinstance(owner, Thing) else None


def of_self(scope: Scope, name: str) -> Value:
    """What a bare name means in Ruby where it is no variable: a method of the object that runs, a field that has a
    reader, `new` of the class; None where it is none of these."""
    holder = scope.find("self")
    owner = holder.variables["self"] if holder is not None else None
    if not isinstance(owner, Thing) or owner.kind not in ("instance", "class"):
        return None
    if name == "new" and owner.kind == "class":
        return owner
    found = member(owner, name)
    if found is None:
        return own_field(owner, name)
    return bound(found, owner) if isinstance(found, Closure) else found
