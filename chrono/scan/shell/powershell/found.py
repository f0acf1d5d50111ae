"""Owns the files that PowerShell lists: what `Get-ChildItem` stands for, and what a filter leaves of it.

Deleting them is left to `commands`, what the paths mean to `scan.paths`.
"""

from __future__ import annotations

from chrono.scan.shell.powershell.cmdlets import Bound
from chrono.scan.shell.powershell.evaluation import evaluate
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.syntax import Binary, Block, Member, Paren, Pipeline, Text, Unary, Variable
from chrono.scan.shell.powershell.syntax import Value as ValueElement
from chrono.scan.shell.powershell.values import (
    Choice,
    Thing,
    Value,
    elements_of,
    fed,
    feeds_of,
    options_of,
    text_of,
)
from chrono.scan.shell.values import collapse

_NAMES = ("name", "fullname", "pschildname", "basename", "path", "directory", "directoryname")


def items_at(m: Machine, paths: Value) -> list[Value]:
    """The items that paths (or globs) name."""
    out: list[Value] = []
    for value in elements_of(paths):
        for option in options_of(value):
            path = m.path(option)
            out.append(Thing("item", str(path), (), feeds_of(option)))
    return out


def children(m: Machine, bound: Bound) -> list[Value]:
    """The items that `Get-ChildItem` finds, as paths with globs or unknown runs in them."""
    values = bound.values
    starts = elements_of(values.get("Path", values.get("LiteralPath"))) or (".",)
    names = elements_of(values.get("Filter")) or elements_of(values.get("Include"))
    recurse = "Recurse" in values or "Depth" in values
    out: list[Value] = []
    for value in starts:
        for start in value.options if isinstance(value, Choice) else (value,):
            path = m.path(start)
            base = path.rstrip("/\\") or path[:1]
            if path[:1] in "/\\" and not base.strip("/\\"):
                base = ""
            for name in names or ("",):
                found = _below(base, text_of(name), recurse)
                if ("*" in path or "?" in path) and not name and "\0" not in path:
                    found = path
                fields: tuple[tuple[str, object], ...] = (("base", base),)
                if recurse and not name:
                    fields = (*fields, ("recurse", "File" not in values))
                elif recurse:
                    fields = (*fields, ("deep", True))
                out.append(Thing("item", found, fields, feeds_of(start)))
    return out


def _below(base: str, name: str, recurse: bool) -> str:
    sign = "\\" if "\\" in base else "/"
    if not recurse or not name.strip("*"):
        return f"{base}{sign}{name or '*'}"
    if name.startswith("*"):
        return collapse(f"{base}{sign}\0{name.lstrip('*')}")
    return f"{base}{sign}\0{sign}{name}"


def narrow_by(item: Thing, field: str, op: str, against: Value) -> list[Value]:
    """What a test of one property leaves of an item that stands for many."""
    if not isinstance(item.field("base"), str) or "*" not in item.name.replace("\0", "*"):
        return [item]
    base = str(item.field("base"))
    deep = bool(item.field("recurse") or item.field("deep"))
    if field == "extension" and op in ("eq", "in", "like", "match"):
        texts = [text_of(value) for value in elements_of(against)]
        if op == "match":
            texts = [text.strip("^$").replace("\\.", ".") for text in texts if "|" not in text]
        texts = [text for text in texts if "*" not in text]
        return [_with_name(item, base, f"*{text}", deep) for text in texts] or [item]
    if field in ("name", "pschildname") and op in ("eq", "in", "like"):
        return [_with_name(item, base, text_of(value), deep) for value in elements_of(against)] or [item]
    if field in _NAMES and op == "match":
        texts = text_of(against).strip("()").split("|")
        ends = [text.rstrip("$").replace("\\.", ".") for text in texts if text.endswith("$")]
        if ends and len(ends) == len(texts) and all(end.replace(".", "").isalnum() for end in ends):
            return [_with_name(item, base, f"*{end}", deep) for end in ends]
        names = [text.lstrip("^").rstrip("$").replace("\\.", ".") for text in texts]
        if field == "name" and all(
            name and name.replace(".", "").replace("_", "").replace("-", "").isalnum() for name in names
        ):
            return (
                [_with_name(item, base, name, deep) for name in names]
                if all(t.startswith("^") for t in texts)
                else [item]
            )
    if field == "fullname" and op == "like":
        text = text_of(against).replace("\\", "/")
        if text.startswith("*") and not text.endswith("*"):
            return [_with_name(item, base, "*" + text.lstrip("*"), True)]
    return [item]


def _with_name(item: Thing, base: str, name: str, deep: bool) -> Thing:
    path = _below(base, name, deep)
    if not name.strip("*"):
        return item
    fields = tuple(f for f in item.fields if f[0] != "recurse")
    return item._replace(name=fed(path, item.feeds), fields=fields)


def narrowed(m: Machine, item: Thing, block: Block) -> list[Value]:
    """What a filter block leaves of an item that stands for many."""
    if len(block.body) != 1:
        return [item]
    return _by_test(m, item, block.body[0])


def _own_field(node: object) -> str | None:
    """The name of the field of `$_` that is read, None of anything else."""
    if not isinstance(node, Member) or node.args is not None or not isinstance(node.name, Text):
        return None
    if not isinstance(node.inner, Variable) or node.inner.name not in ("_", "psitem"):
        return None
    return str(node.name.value).lower()


def _by_test(m: Machine, item: Thing, test: object) -> list[Value]:
    if isinstance(test, Pipeline) and len(test.elements) == 1 and isinstance(test.elements[0], ValueElement):
        return _by_test(m, item, test.elements[0].inner)
    if isinstance(test, Paren) and len(test.body) == 1:
        return _by_test(m, item, test.body[0])
    if isinstance(test, Unary):
        return [item]
    if isinstance(test, Binary):
        if test.op == "and":
            left = _by_test(m, item, test.left)
            return left if left != [item] else _by_test(m, item, test.right)
        if test.op == "or":
            left, right = _by_test(m, item, test.left), _by_test(m, item, test.right)
            return [item] if item in left or item in right else [*left, *right]
        field, against = test.left, test.right
        name = _own_field(field)
        if name is not None:
            return narrow_by(item, name, test.op, evaluate(m, against))
    return [item]
