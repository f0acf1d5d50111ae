"""Owns the reading of Python: source to the form that `interpret` runs, by the compiler's own syntax tree.

What the library's calls do is left to `python_library`, running it to `python`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ONLY_AST = 0x400


def read_python(source: str) -> tuple[tree.Node, ...]:
    """Source as statements. Raises SyntaxError, RecursionError or MemoryError as the compiler does."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module: Any = compile(source.encode("utf-8", "replace"), "", "exec", _ONLY_AST, dont_inherit=True)
    except ValueError as error:
        raise SyntaxError(str(error)) from None
    return statements(module.body)


def statements(nodes: list[Any]) -> tuple[tree.Node, ...]:
    found: list[tree.Node] = []
    for node in nodes:
        read = _STATEMENTS.get(type(node).__name__)
        if read is not None:
            result = read(node)
            if type(result) is tuple:
                found.extend(result)
            else:
                found.append(result)
    return tuple(found)


def expression(node: Any) -> tree.Node:
    read = _BY_CLASS.get(type(node))
    if read is None:
        read = _BY_CLASS[type(node)] = _EXPRESSIONS.get(type(node).__name__, _unread)
    return read(node)


_BY_CLASS: dict[type, Callable[[Any], tree.Node]] = {}
"""_EXPRESSIONS by class, filled as they come up: nothing imports `ast` for it."""

_new: Any = tuple.__new__
"""Makes what most code consists of without the constructors of `tree`, which cost as much as all else here."""


def _unread(node: Any) -> tree.Node:
    return tree.Name("\0unread")


def _expressions(nodes: list[Any]) -> tuple[tree.Node, ...]:
    return tuple([expression(node) for node in nodes])


def _optional(node: Any) -> tree.Node | None:
    return None if node is None else expression(node)


_OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "LShift": "<<",
    "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&", "MatMult": "@", "Eq": "==", "NotEq": "!=", "Lt": "<",
    "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "==", "IsNot": "!=", "In": "in", "NotIn": "not in", "Not": "not",
    "USub": "-", "UAdd": "+", "Invert": "~",
}  # fmt: skip


def _op(node: Any) -> str:
    return _OPERATORS.get(type(node).__name__, "?")


def _binary(node: Any) -> tree.Node:
    # Long sums lean to the left, deeper than recursion goes.
    chain = [node]
    while type(chain[-1].left).__name__ == "BinOp":
        chain.append(chain[-1].left)
    result = expression(chain[-1].left)
    for part in reversed(chain):
        result = tree.Binary(_op(part.op), result, expression(part.right))
    return result


def _compare(node: Any) -> tree.Node:
    left = node.left
    tests = []
    for op, right in zip(node.ops, node.comparators, strict=True):
        tests.append(tree.Binary(_op(op), expression(left), expression(right)))
        left = right
    return tests[0] if len(tests) == 1 else tree.Boolean("and", tuple(tests))


def _call(node: Any) -> tree.Node:
    keywords = node.keywords
    named = tuple([(keyword.arg, expression(keyword.value)) for keyword in keywords]) if keywords else ()
    made: tree.Call = _new(tree.Call, (expression(node.func), _expressions(node.args), named, node.lineno))
    return made


def _subscript(node: Any) -> tree.Node:
    if type(node.slice).__name__ == "Slice":
        part = node.slice
        return tree.Slice(expression(node.value), _optional(part.lower), _optional(part.upper), _optional(part.step))
    return tree.Index(expression(node.value), expression(node.slice))


def _dictionary(node: Any) -> tree.Node:
    pairs = zip(node.keys, node.values, strict=True)
    return tree.TableOf(tuple((_optional(key), expression(value)) for key, value in pairs))


def _parameters(arguments: Any) -> tuple[tree.Parameter, ...]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[Any] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    found = [tree.Parameter(a.arg, _optional(d)) for a, d in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        found.append(tree.Parameter(arguments.vararg.arg, None, "*"))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [tree.Parameter(a.arg, _optional(d)) for a, d in pairs]
    if arguments.kwarg:
        found.append(tree.Parameter(arguments.kwarg.arg, None, "**"))
    return tuple(found)


def _function(node: Any) -> tree.Node:
    return tree.Function(
        node.name,
        _parameters(node.args),
        lambda: statements(node.body),
        node.lineno,
        _expressions(node.decorator_list),
    )


def _lambda(node: Any) -> tree.Node:
    return tree.Function("", _parameters(node.args), lambda: (expression(node.body),), node.lineno, (), True)


def _comprehension(node: Any) -> tree.Node:
    element = expression(node.value) if type(node).__name__ == "DictComp" else expression(node.elt)
    clauses = tuple((expression(g.target), expression(g.iter), _expressions(g.ifs)) for g in node.generators)
    return tree.Comprehension(element, clauses)


def _assign(node: Any) -> tuple[tree.Node, ...]:
    value = expression(node.value)
    first, *others = (expression(target) for target in node.targets)
    return (tree.Assign(first, value), *(tree.Assign(other, first) for other in others))


def _import(node: Any) -> tuple[tree.Node, ...]:
    found = []
    for name in node.names:
        # `import a.b` binds `a`.
        full = name.name if name.asname else name.name.partition(".")[0]
        found.append(tree.Import(full, name.asname or full))
    return tuple(found)


def _import_from(node: Any) -> tuple[tree.Node, ...]:
    module = "." * (node.level or 0) + (node.module or "")
    return tuple(
        tree.ImportAll(module) if n.name == "*" else tree.Import(f"{module}.{n.name}", n.asname or n.name)
        for n in node.names
    )


def _if(node: Any) -> tree.Node:
    return tree.If(expression(node.test), statements(node.body), statements(node.orelse))


def _for(node: Any) -> tree.Node:
    return tree.Loop(
        expression(node.target),
        expression(node.iter),
        None,
        statements(node.body),
        statements(node.orelse),
        node.lineno,
    )


def _while(node: Any) -> tree.Node:
    return tree.Loop(None, None, expression(node.test), statements(node.body), statements(node.orelse), node.lineno)


def _with(node: Any) -> tuple[tree.Node, ...]:
    items = tuple(tree.Scoped(expression(i.context_expr), _optional(i.optional_vars)) for i in node.items)
    return (*items, *statements(node.body))


def _try(node: Any) -> tree.Node:
    handlers = tuple(statements(handler.body) for handler in node.handlers)
    return tree.Try(statements(node.body), handlers, statements(node.orelse), statements(node.finalbody))


def _match(node: Any) -> tree.Node:
    return tree.Branches(expression(node.subject), tuple(statements(case.body) for case in node.cases))


def _class(node: Any) -> tree.Node:
    body = statements([_declared(part) for part in node.body])
    return tree.Class(node.name, _expressions(node.bases), body, node.lineno)


def _declared(node: Any) -> Any:
    """A field that a class declares without a value (`name: str`) takes part in the order of its fields."""
    if type(node).__name__ == "AnnAssign" and node.value is None:
        node.value = node.target
    return node


def _constant(node: Any) -> tree.Node:
    value = node.value
    if not isinstance(value, _KNOWN_CONSTANTS):
        return _unread(node)
    made: tree.Const = _new(tree.Const, (value,))
    return made


def _name(node: Any) -> tree.Node:
    made: tree.Name = _new(tree.Name, (node.id,))
    return made


def _attribute(node: Any) -> tree.Node:
    made: tree.Attribute = _new(tree.Attribute, (expression(node.value), node.attr))
    return made


_KNOWN_CONSTANTS = (str, bytes, int, float, type(None))


_EXPRESSIONS: dict[str, Callable[[Any], tree.Node]] = {
    "Constant": _constant,
    "Name": _name,
    "Attribute": _attribute,
    "Call": _call,
    "BinOp": _binary,
    "UnaryOp": lambda n: tree.Unary(_op(n.op), expression(n.operand)),
    "BoolOp": lambda n: tree.Boolean("and" if type(n.op).__name__ == "And" else "or", _expressions(n.values)),
    "Compare": _compare,
    "JoinedStr": lambda n: tree.Interpolated(_expressions(n.values)),
    "FormattedValue": lambda n: tree.Unary("text", expression(n.value)),
    "Subscript": _subscript,
    "List": lambda n: tree.ListOf(_expressions(n.elts)),
    "Tuple": lambda n: tree.ListOf(_expressions(n.elts)),
    "Set": lambda n: tree.ListOf(_expressions(n.elts)),
    "Dict": _dictionary,
    "Starred": lambda n: tree.Spread(expression(n.value)),
    "IfExp": lambda n: tree.Choice(expression(n.test), expression(n.body), expression(n.orelse)),
    "Lambda": _lambda,
    "ListComp": _comprehension,
    "SetComp": _comprehension,
    "GeneratorExp": _comprehension,
    "DictComp": _comprehension,
    "NamedExpr": lambda n: tree.Assign(expression(n.target), expression(n.value)),
    "Await": lambda n: expression(n.value),
    "Yield": lambda n: tree.Yield(_optional(n.value)),
    "YieldFrom": lambda n: tree.Yield(expression(n.value), True),
}

_STATEMENTS: dict[str, Callable[[Any], Any]] = {
    "Expr": lambda n: expression(n.value),
    "Assign": _assign,
    "AnnAssign": lambda n: () if n.value is None else tree.Assign(expression(n.target), expression(n.value)),
    "AugAssign": lambda n: tree.Assign(expression(n.target), expression(n.value), _op(n.op)),
    "FunctionDef": _function,
    "AsyncFunctionDef": _function,
    "ClassDef": _class,
    "Return": lambda n: tree.Return(_optional(n.value)),
    "If": _if,
    "For": _for,
    "AsyncFor": _for,
    "While": _while,
    "With": _with,
    "AsyncWith": _with,
    "Try": _try,
    "TryStar": _try,
    "Match": _match,
    "Import": _import,
    "ImportFrom": _import_from,
    "Raise": lambda n: (*((expression(n.exc),) if n.exc else ()), tree.Jump("raise")),
    "Break": lambda n: tree.Jump("break"),
    "Continue": lambda n: tree.Jump("continue"),
    "Assert": lambda n: expression(n.test),
    "Global": lambda n: tree.Global(tuple(n.names)),
    "Nonlocal": lambda n: tree.Global(tuple(n.names)),
    "Delete": lambda n: (),
    "Pass": lambda n: (),
}
