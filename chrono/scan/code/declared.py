"""Owns what a definition declares besides its body: defaults that decorators give, fields that stand for a constructor.

Which decorators and classes do is left to each language's library.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.frames import Arguments, Closure
from chrono.scan.code.values import Thing


def take_option(chosen: Thing, closure: Closure) -> None:
    """Gives a decorated function the value of an option as the default of its parameter."""
    name, value = chosen.fields["name"], chosen.fields["value"]
    if not isinstance(value, str | int):
        return
    closure.node = closure.node._replace(
        parameters=tuple(
            one._replace(default=tree.Const(value)) if one.name == name else one for one in closure.node.parameters
        )
    )


def take_fields(instance: Thing, made: Thing, args: Arguments) -> None:
    """A class without a constructor of its own (a dataclass, a NamedTuple) takes its fields in their order."""
    declared = [
        name
        for name, value in made.fields.items()
        if name[:1] != "\0" and not (name[:2] == "__" or isinstance(value, Closure))
    ]
    instance.fields.update(zip(declared, args.values, strict=False))
    instance.fields.update(args.named)
