"""Owns what a condition tells of a variable that stands for every name of a folder.

Running the branches is left to `interpret`.
"""

from __future__ import annotations

from collections.abc import Iterator

from chrono.scan.code import tree
from chrono.scan.code.frames import Value
from chrono.scan.code.values import (
    Thing,
    Wild,
    joined,
    pieces_of,
    text_of,
)


def merged(first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
    """Variables after two ways through a branch."""
    if first is second:
        return first
    merged = dict(first)
    for name, value in second.items():
        merged[name] = joined(first[name], value) if name in first else value
    return merged


# Tests that tell files from folders let every name pass that a deletion could mean.
_KIND_TESTS = frozenset(
    (
        "is_file is_dir isfile isdir exists islink is_symlink lexists isFile isDirectory existsSync file? "
        "directory? exist? is_link symlink? file_exists -f -d -e -l lstat lstatSync stat statSync"
    ).split()
)


def _tests_dots(node: tree.Node) -> bool:
    """True of a test for `.` and `..` (or for hidden names), which no glob finds."""
    if isinstance(node, tree.Binary):
        return isinstance(node.right, tree.Const) and node.right.value in (".", "..")
    if isinstance(node, tree.Call):
        for arg in node.args:
            values = [v.value for v in arg.items if isinstance(v, tree.Const)] if isinstance(arg, tree.ListOf) else []
            if values and set(values) <= {".", ".."}:
                return True
            if isinstance(arg, tree.Const) and isinstance(arg.value, str) and arg.value.strip("/").startswith("^\\."):
                return True
    return False


def names_in(node: tree.Node, depth: int = 0) -> Iterator[str]:
    """Variables that a test looks at, those of mere tests for kind left out."""
    if depth > 12:
        return
    if isinstance(node, tree.Name):
        yield node.name
    elif _tests_dots(node):
        return
    elif isinstance(node, tree.Call):
        function = node.function
        called = function.name if isinstance(function, tree.Name | tree.Attribute) else ""
        if called not in _KIND_TESTS:
            for part in (function, *node.args):
                yield from names_in(part, depth + 1)
    elif isinstance(node, tuple) and type(node) is not tree.Function:
        for part in node:
            if isinstance(part, tuple):
                yield from names_in(part, depth + 1)


def ending_tested(test: tree.Node, name: str) -> str | None:
    """The constant of `name.endswith(".pyc")` and its like, also under a `not`."""
    if isinstance(test, tree.Unary):
        return ending_tested(test.value, name)
    if isinstance(test, tree.Call) and isinstance(test.function, tree.Attribute) and len(test.args) == 1:
        function, argument = test.function, test.args[0]
        named = function.owner == tree.Name(name) and function.name in ("endswith", "endsWith", "end_with?")
        return (
            argument.value if named and isinstance(argument, tree.Const) and isinstance(argument.value, str) else None
        )
    if isinstance(test, tree.Binary) and test.op == "==" and isinstance(test.right, tree.Const):
        left = test.left
        named = isinstance(left, tree.Attribute) and left.owner == tree.Name(name) and left.name == "suffix"
        return test.right.value if named and isinstance(test.right.value, str) else None
    return None


def with_ending(value: Value, ending: str | None) -> Value:
    pieces = pieces_of(value)
    if not ending or not pieces or pieces[-1] != Wild("*") or any(c in ending for c in "*?[]/"):
        return None
    narrowed = text_of((*pieces[:-1], Wild("*" + ending)))
    return Thing("path", text=narrowed) if isinstance(value, Thing) else narrowed
