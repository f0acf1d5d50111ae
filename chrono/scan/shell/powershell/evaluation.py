"""Owns the value of a PowerShell expression: constants folded, variables looked up, blocks and calls handed on.

Operators are left to `operators`, methods to `library` (through the machine's ports), statements to `interpret`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.shell.powershell import operators
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.syntax import (
    Array,
    Assign,
    Binary,
    Block,
    Cast,
    Index,
    Member,
    Mixed,
    Paren,
    Substitution,
    Table,
    Ternary,
    Text,
    TypeName,
    Unary,
    Variable,
)
from chrono.scan.shell.powershell.values import (
    UNKNOWN,
    Choice,
    Closure,
    Thing,
    Unknown,
    Value,
    array_of,
    concat,
    either,
    elements_of,
    feeds_of,
    number_of,
    text_of,
    truth,
)
from chrono.scan.shell.windows_host import environment_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PSHOME = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0"
_PREFERENCES = {
    "verbosepreference": "SilentlyContinue",
    "erroractionpreference": "Continue",
    "progresspreference": "Continue",
    "warningpreference": "Continue",
    "confirmpreference": "High",
    "shellid": "Microsoft.PowerShell",
    "ofs": " ",
    "maximumdrivecount": "4096",
}


_PURE = frozenset(
    """tolower tolowerinvariant toupper toupperinvariant tostring clone normalize trim trimstart trimend substring
    replace split tochararray getenumerator chars get_chars insert remove startswith endswith contains indexof
    lastindexof padleft padright join equals getstring getbytes frombase64string tobase64string toint32 toint16 tobyte
    tochar round max min floor ceiling abs pow sqrt combine getfilename getextension getdirectoryname
    getfilenamewithoutextension getfullpath gettemppath exists readalltext readalllines gettype getenvironmentvariable
    getfolderpath adddays addhours addminutes addseconds addmonths addyears touniversaltime tolocaltime containskey add
    clear toarray format concat isnullorempty isnullorwhitespace newguid parse tryparse matches match ismatch escape
    unescape compareto where foreach new count getfiles getdirectories enumeratefiles getcurrentprocess gethostname
    urlencode urldecode unescapedatastring escapedatastring reverse sort append item get_item invoke create
    getnewclosure getvalue keys values startnew stop elapsed""".split()
)
"""Methods that change nothing outside of the text's own values, whatever object they belong to."""
_FILLS = ("read", "readasync", "receive", "receivefrom")


def environment(m: Machine, name: str) -> Value:
    """A variable of the environment; those that Windows always sets have their usual values where it is not Windows."""
    found = environment_of(m.world, name)
    return UNKNOWN if found is None else found


def variable(m: Machine, name: str) -> Value:
    """What a variable holds; one that nobody has set is nothing, but not known to be."""
    head, colon, rest = name.partition(":")
    if colon:
        if head == "env":
            return m.variables[name] if name in m.variables else environment(m, rest)
        if head == "function":
            block = m.functions.get(rest)
            return Closure(block) if block is not None else UNKNOWN
        if head in ("global", "script", "local", "private", "using", "variable"):
            name = rest
        else:
            return UNKNOWN
    if name in m.variables:
        return m.variables[name]
    if name == "true":
        return True
    if name in ("false", "null"):
        return False if name == "false" else None
    if name == "home":
        return m.world.home
    if name == "pwd":
        return Thing("item", m.cwd)
    if name in ("psscriptroot", "pscommandpath", "myinvocation"):
        return UNKNOWN
    if name == "profile":
        return f"{m.world.home}/Documents/PowerShell/profile.ps1"
    if name == "pshome":
        return _PSHOME
    if name == "executioncontext":
        return Thing("object", "executioncontext")
    if name == "pid":
        return UNKNOWN
    return _PREFERENCES.get(name, UNKNOWN)


def evaluate(m: Machine, node: object) -> Value:
    """The value of an expression; commands in it run."""
    work = _NODES.get(type(node))
    if work is None:
        return array_of(m.ports.body(m, (node,)))
    return work(m, node)


def _mixed(m: Machine, node: Mixed) -> Value:
    if len(node.parts) == 1 and not node.bare:
        return text_of(evaluate(m, node.parts[0]))
    return concat([part if isinstance(part, str) else text_of(evaluate(m, part)) for part in node.parts])


def _substitution(m: Machine, node: Substitution) -> Value:
    found = m.ports.body(m, node.body)
    return tuple(found) if node.array else array_of(found)


def _table(m: Machine, node: Table) -> Value:
    found: dict[str, Value] = {}
    for key, value in node.pairs:
        found[text_of(evaluate(m, key)).lower()] = evaluate(m, value)
    return found


def _array(m: Machine, node: Array) -> Value:
    return tuple(evaluate(m, item) for item in node.items)


def _binary(m: Machine, node: Binary) -> Value:
    m.step()
    left = evaluate(m, node.left)
    op = node.op
    if op in ("and", "or"):
        known = truth(left)
        if known is not None and known == (op == "or"):
            return known
        right = truth(evaluate(m, node.right))
        if right is not None and right == (op == "or"):
            return right
        return UNKNOWN if known is None or right is None else right
    if op == "xor":
        one, other = truth(left), truth(evaluate(m, node.right))
        return UNKNOWN if one is None or other is None else one != other
    if op == "??":
        if isinstance(left, Unknown):
            return either(left, evaluate(m, node.right))
        return left if left is not None else evaluate(m, node.right)
    if op in ("as", "is", "isnot"):
        right_node = node.right
        if op == "as" and isinstance(right_node, TypeName):
            return m.ports.method(m, Thing("type", right_node.name), "(cast)", (left,))
        return UNKNOWN
    return operators.binary(op, left, evaluate(m, node.right))


def _unary(m: Machine, node: Unary) -> Value:
    op = node.op
    if op.startswith("post") or op in ("++", "--"):
        before = evaluate(m, node.inner)
        number = number_of(before)
        after: Value = (
            UNKNOWN
            if number is None or not isinstance(before, int | float | None)
            else (number + (1 if op.endswith("++") else -1))
        )
        assign(m, node.inner, after)
        return None if op.startswith("post") else after
    value = evaluate(m, node.inner)
    if op == "not":
        known = truth(value)
        return Unknown(feeds_of(value)) if known is None else not known
    if op == "join":
        return operators.join(value, "")
    if op == "split":
        return operators.split(value, "")
    if op == "-":
        number = number_of(value)
        return Unknown(feeds_of(value)) if number is None else -number
    if op == "+":
        return value
    number = number_of(value)
    return Unknown(feeds_of(value)) if number is None else ~int(number)


def _index(m: Machine, node: Index) -> Value:
    m.step()
    return index(evaluate(m, node.inner), evaluate(m, node.at))


def index(value: Value, at: Value) -> Value:
    """`value[at]`."""
    if isinstance(value, Choice):
        found: Value = index(value.options[0], at)
        for option in value.options[1:]:
            found = either(found, index(option, at))
        return found
    if type(at) is tuple:
        return tuple(index(value, one) for one in at)
    if isinstance(value, dict):
        return value.get(text_of(at).lower(), UNKNOWN if "\0" in text_of(at) else None)
    number = number_of(at)
    if number is None:
        return Unknown(feeds_of(value))
    place = int(number)
    if type(value) is tuple or (isinstance(value, str) and "\0" not in value):
        sequence: Any = value
        return sequence[place] if -len(sequence) <= place < len(sequence) else None
    if isinstance(value, Thing) and value.kind == "item":
        return value
    return Unknown(feeds_of(value))


def _member(m: Machine, node: Member) -> Value:
    m.step()
    name = text_of(evaluate(m, node.name)).lower()
    inner = Thing("type", node.inner.name) if isinstance(node.inner, TypeName) else evaluate(m, node.inner)
    if node.args is None:
        if isinstance(inner, dict) and name in inner:
            return inner[name]
        return m.ports.method(m, inner, f".{name}", ())
    args = tuple(evaluate(m, arg) for arg in node.args)
    count = len(m.commands)
    found = m.ports.method(m, inner, name, args)
    if name not in _PURE and len(m.commands) == count:
        # What it does is not known: nothing dangerous that the rules could name, but no proof of reading only either.
        m.call_once(name)
    if isinstance(inner, Thing) and isinstance(found, Thing) and inner.name == found.name == "powershell":
        # The calls add to the one object, however far down the chain its variable stands.
        owner = node.inner
        while isinstance(owner, Member):
            owner = owner.inner
        if isinstance(owner, Variable):
            m.set(owner.name, found)
    if name in _FILLS and args and isinstance(node.args[0], Variable) and feeds_of(found):
        # The buffer holds afterwards what was read.
        m.set(node.args[0].name, Unknown(feeds_of(found)))
    return found


def _cast(m: Machine, node: Cast) -> Value:
    value = evaluate(m, node.inner)
    return m.ports.method(m, Thing("type", node.name), "(cast)", (value,))


def _assigned(m: Machine, node: Assign) -> Value:
    """`while ($line = …)`: as a value, an assignment is what it assigns."""
    m.ports.body(m, (node,))
    return evaluate(m, node.target)


def _paren(m: Machine, node: Paren) -> Value:
    if len(node.body) == 1 and type(node.body[0]) is Assign:
        return _assigned(m, node.body[0])
    return array_of(m.ports.body(m, node.body))


def _ternary(m: Machine, node: Ternary) -> Value:
    known = truth(evaluate(m, node.test))
    if known is not None:
        return evaluate(m, node.yes if known else node.no)
    return either(evaluate(m, node.yes), evaluate(m, node.no))


def assign(m: Machine, target: object, value: Value) -> None:
    """Sets a variable, an entry of a table, or each of a list of targets."""
    if isinstance(target, Cast):
        if target.name not in ("switch", "ordered"):
            value = m.ports.method(m, Thing("type", target.name), "(cast)", (value,))
        assign(m, target.inner, value)
    elif isinstance(target, Variable):
        if target.name != "null":
            m.set(target.name, value)
    elif isinstance(target, Array):
        values = elements_of(value)
        for at, item in enumerate(target.items):
            last = at == len(target.items) - 1
            rest = array_of(list(values[at:])) if last else (values[at] if at < len(values) else None)
            assign(m, item, UNKNOWN if isinstance(value, Unknown) else rest)
    elif isinstance(target, Index):
        _assign_entry(m, target.inner, evaluate(m, target.at), value)
    elif isinstance(target, Member) and target.args is None:
        name = evaluate(m, target.name)
        if isinstance(target.inner, TypeName):
            return
        inner = evaluate(m, target.inner)
        if isinstance(inner, Thing) and isinstance(target.inner, Variable):
            fields = (*(f for f in inner.fields if f[0] != text_of(name).lower()), (text_of(name).lower(), value))
            m.set(target.inner.name, inner._replace(fields=fields))
        elif isinstance(inner, dict):
            _assign_entry(m, target.inner, name, value)
        else:
            m.ports.method(m, inner, f"={text_of(name).lower()}", (value,))


def _assign_entry(m: Machine, target: object, at: Value, value: Value) -> None:
    if not isinstance(target, Variable):
        return
    inner = variable(m, target.name)
    if isinstance(inner, dict):
        m.set(target.name, {**inner, text_of(at).lower(): value})
    elif type(inner) is tuple:
        number = number_of(at)
        if number is not None and -len(inner) <= number < len(inner):
            items = list(inner)
            items[int(number)] = value
            m.set(target.name, tuple(items))
        else:
            m.set(target.name, Unknown(feeds_of(inner)))


_NODES: dict[type, Callable[[Machine, Any], Value]] = {
    Text: lambda m, node: node.value,
    Mixed: _mixed,
    Variable: lambda m, node: variable(m, node.name),
    Substitution: _substitution,
    Paren: _paren,
    Table: _table,
    Block: lambda m, node: Closure(node),
    TypeName: lambda m, node: Thing("type", node.name),
    Cast: _cast,
    Member: _member,
    Index: _index,
    Binary: _binary,
    Unary: _unary,
    Array: _array,
    Ternary: _ternary,
    Assign: _assigned,
}
