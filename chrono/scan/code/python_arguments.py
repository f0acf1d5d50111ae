"""Owns what Python programs take from their command line: argparse, and the defaults of click, typer and dataclasses.

Which function of a group of commands runs is left to `python_library`.
"""

from __future__ import annotations

from chrono.scan.code.arguments import MORE
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.values import ANY, Items, Thing, joined

_FLAGS: dict[Value, tuple[Value, Value]] = {"store_true": (False, True), "store_false": (True, False)}
"""By action: the value where the option is not given, and where it is."""
_SAME_PARSER = frozenset(("add_argument_group", "add_mutually_exclusive_group", "add_subparsers"))


def parser(run: Machine, args: Arguments) -> Value:
    """`argparse.ArgumentParser()`: `result` is what it gives, `positional` are the names that operands go to, `valued`
    the options that take a word of their own."""
    return Thing("parser", result=Thing("instance"), positional=Items(), valued=Items(), name=None)


def parser_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """Methods of a parser and of its groups; a parser of a verb fills in the same result."""
    if name in _SAME_PARSER:
        return owner
    if name == "add_parser":
        return Thing("parser", **{**owner.fields, "name": args.at(0)})
    if name == "add_argument":
        _declare(run, owner, args)
    elif name == "set_defaults":
        _set_defaults(run, owner, args)
    elif name in ("parse_args", "parse_known_args"):
        _take_operands(run, owner)
        result = owner.fields["result"]
        return Items([result, Items((), ANY)]) if name == "parse_known_args" else result
    return ANY


def _declare(run: Machine, owner: Thing, args: Arguments) -> None:
    names = [name for name in args.values if isinstance(name, str)]
    result, positional = owner.fields["result"], owner.fields["positional"]
    if not names or not isinstance(result, Thing) or not isinstance(positional, Items):
        return
    long = [name for name in names if name.startswith("--")] or names
    given = args.named.get("dest")
    dest = given if isinstance(given, str) else long[0].lstrip("-").replace("-", "_")
    default = args.named.get("default", ANY if "default" not in args.named else None)
    if not names[0].startswith("-"):
        positional.values.append(dest)
        result.fields[dest] = default if args.named.get("nargs") == "?" else ANY
        return
    action = args.named.get("action")
    if action in _FLAGS:
        unset, is_set = _FLAGS[action]
        result.fields[dest] = is_set if any(name in run.args for name in names) else _unless_more(run, unset)
        return
    value = _value_given(run, names)
    result.fields[dest] = value if value is not None else _unless_more(run, default)
    valued = owner.fields["valued"]
    if isinstance(valued, Items) and action is None:
        valued.values += names


def _unless_more(run: Machine, value: Value) -> Value:
    """A value that holds as long as no further arguments follow."""
    return joined(value, ANY) if MORE in run.args else value


def _value_given(run: Machine, names: list[str]) -> Value:
    """What stands behind one of the option's names, or behind its `=`; None where it is not given."""
    for at, word in enumerate(run.args):
        if word in names:
            return run.args[at + 1] if at + 1 < len(run.args) and run.args[at + 1] is not MORE else ANY
        if isinstance(word, str) and word.partition("=")[0] in names and "=" in word:
            return word.partition("=")[2]
    return None


def _set_defaults(run: Machine, owner: Thing, args: Arguments) -> None:
    """What a parser of a verb sets holds where that verb is given."""
    result, name = owner.fields["result"], owner.fields["name"]
    if isinstance(result, Thing) and (name is None or name in run.args or MORE in run.args):
        for key, value in args.named.items():
            held = result.fields.get(key)
            result.fields[key] = value if held is None or MORE not in run.args else joined(held, value)


def _take_operands(run: Machine, owner: Thing) -> None:
    """Operands go to the positional arguments in their order."""
    result, positional, valued = (owner.fields[name] for name in ("result", "positional", "valued"))
    if not isinstance(result, Thing) or not isinstance(positional, Items) or not isinstance(valued, Items):
        return
    words = run.args[1:]
    operands = [
        word
        for before, word in zip(("", *words), words, strict=False)
        if word is not MORE and before not in valued.values and not (isinstance(word, str) and word.startswith("-"))
    ]
    for dest, word in zip(positional.values, operands, strict=False):
        result.fields[str(dest)] = word


def arguments_for(run: Machine, closure: Closure) -> Arguments:
    """What a function gets that is called with the program's options under the names of its parameters."""
    given = {one.name: _value_given(run, [f"--{one.name.replace('_', '-')}"]) for one in closure.node.parameters}
    named = {name: value for name, value in given.items() if value is not None}
    return Arguments((), named, MORE in run.args)


def default_of(run: Machine, args: Arguments) -> Value:
    """`field(default=…)`, `field(default_factory=…)`, `typer.Option(…)`: what holds where nothing is given."""
    factory = args.named.get("default_factory")
    if factory is not None:
        return run.invoke(factory, Arguments((), {}))
    value = args.at(0, "default")
    return ANY if value is None else value


def option(run: Machine, args: Arguments) -> Value:
    """`click.option("--root", default=…)`, the decorator."""
    names = [name for name in args.values if isinstance(name, str)]
    plain = [name for name in names if not name.startswith("-")]
    long = [name for name in names if name.startswith("--")] or names
    name = (plain or [name.lstrip("-").replace("-", "_") for name in long] or [""])[0]
    value = _value_given(run, names)
    return Thing("option", name=name, value=value if value is not None else args.named.get("default"))
