"""Owns running one command of a PowerShell text: its name found out, its arguments given, functions called, programs
started.

What the commands of PowerShell itself do is left to `commands`, what other programs start to `shell.windows` and to
the followers.
"""

from __future__ import annotations

from chrono.scan.command import Redirect
from chrono.scan.shell.powershell.cmdlets import Bound, Given, bind, cmdlet_of
from chrono.scan.shell.powershell.commands import SHARED, run_cmdlet
from chrono.scan.shell.powershell.evaluation import evaluate
from chrono.scan.shell.powershell.lexer import DASHES
from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.starts import run_given, run_native, script_text
from chrono.scan.shell.powershell.syntax import Call, Mixed, Text, Variable
from chrono.scan.shell.powershell.values import (
    Choice,
    Closure,
    Thing,
    Unknown,
    Value,
    concat,
    elements_of,
    feeds_of,
    options_of,
    text_of,
)

_SERVICE_VERBS = frozenset(
    "query queryex stop start delete create config failure sdset sdshow qc pause continue".split()
)


def run_call(m: Machine, node: Call, piped: tuple[Value, ...] | None) -> list[Value]:
    """Runs a command; answers what it puts out."""
    if not node.words:
        return []
    here = m.here
    target = evaluate(m, node.words[0])
    arguments = _arguments(m, node.words[1:])
    redirects = _redirects(m, node)
    m.here = here
    count = len(m.commands)
    out: list[Value] = []
    for option in options_of(target):
        out.extend(_run(m, node.operator, option, arguments, piped, redirects))
    _remember_output(m, node, out)
    if node.redirects:
        # What goes to a file does not go on.
        if any(r.stream in ("1", "*") and r.op.startswith(">") for r in node.redirects):
            out = []
        if redirects and len(m.commands) == count:
            m.writes.extend((redirect, m.here) for redirect in redirects)
    return out


def _redirects(m: Machine, node: Call) -> tuple[Redirect, ...]:
    found = (m.redirect(r.op, r.stream, evaluate(m, r.target)) for r in node.redirects)
    return tuple(redirect for redirect in found if redirect is not None)


def _remember_output(m: Machine, node: Call, out: list[Value]) -> None:
    for redirection in node.redirects:
        if redirection.stream in ("1", "*") and redirection.op.startswith(">"):
            text = concat([piece for value in out[:400] for piece in ("\n", text_of(value))][1:]) if out else "\0"
            m.write(evaluate(m, redirection.target), text, redirection.op == ">>")


def _arguments(m: Machine, words: tuple[object, ...]) -> list[Value | Given]:
    found: list[Value | Given] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if isinstance(word, Text) and word.bare and isinstance(word.value, str):
            if word.value == "--%" and at < len(words):
                rest = words[at]
                found.extend(str(rest.value).split() if isinstance(rest, Text) else ())
                break
            found.append(_given(word.value) or word.value)
        elif isinstance(word, Mixed) and word.bare and isinstance(word.parts[0], str) and word.parts[0][:1] in DASHES:
            found.append(_given_mixed(m, word))
        elif isinstance(word, Variable) and word.splat:
            found.extend(_splat(evaluate(m, word)))
        else:
            found.append(evaluate(m, word))
    return found


def _given(text: str) -> Given | None:
    """A bare word as a parameter, None where it is none (`-5`, `--flag`, `-`)."""
    if len(text) < 2 or text[0] not in DASHES or not (text[1].isalpha() or text[1] in "_?"):
        return None
    name, colon, value = text[1:].partition(":")
    if not colon:
        return Given(name, None, False, "-" + text[1:])
    if value == "":
        return Given(name, None, False, text)
    constants = {"$true": True, "$false": False, "$null": None}
    return Given(name, constants.get(value.lower(), value), True, text)


def _given_mixed(m: Machine, word: Mixed) -> Value | Given:
    parts = [part if isinstance(part, str) else evaluate(m, part) for part in word.parts]
    raw = concat([text_of(part) for part in parts])
    head = str(word.parts[0])
    name, colon, rest = head[1:].partition(":")
    if not name or not (name[0].isalpha()):
        return raw
    if not colon:
        return Given(raw[1:], None, False, raw)
    value = parts[1] if rest == "" and len(parts) == 2 else concat([rest, *map(text_of, parts[1:])])
    return Given(name, value, True, raw)


def _splat(value: Value) -> list[Value | Given]:
    if isinstance(value, dict):
        return [Given(name, inner, True, f"-{name}:{text_of(inner)}") for name, inner in value.items()]
    if isinstance(value, Choice):
        return _splat(value.options[0])
    return list(elements_of(value)) if type(value) is tuple else [value]


def _run(
    m: Machine,
    operator: str,
    target: Value,
    arguments: list[Value | Given],
    piped: tuple[Value, ...] | None,
    redirects: tuple[Redirect, ...],
) -> list[Value]:
    if isinstance(target, Closure):
        return m.ports.block(m, target.block, tuple(arguments), piped)
    if type(target) is tuple and target:
        # `& ('cmd', '/c', …)` runs the first; the rest is an error there, but not worth trusting.
        return _run(m, operator, target[0], [*target[1:], *arguments], piped, redirects)
    if isinstance(target, Thing) and target.kind == "command":
        target = target.name
    name = text_of(target)
    if "\0" in name or not name.strip():
        return _unknown_program(m, target, arguments, piped, redirects)
    lower = name.strip().lower()
    for _ in range(5):
        other = m.aliases.get(lower)
        if other is None:
            break
        lower = other.lower()
        name = other
    function = m.functions.get(lower)
    if function is not None:
        return m.ports.block(m, function, tuple(arguments), piped)
    if operator == ".":
        # Dot-sourcing leaves what the script defines: it is read here, not only followed.
        text = script_text(m, name)
        if text is not None:
            m.ports.text(m, text, name.replace("\\", "/"))
    cmdlet = cmdlet_of(lower.removesuffix(".exe") if lower in ("mkdir.exe",) else lower)
    if cmdlet is not None:
        bound = bind(cmdlet, arguments)
        if not _is_program(lower, bound, arguments):
            return run_cmdlet(m, bound, piped, redirects, lower)
    out = run_native(m, name, native_words(arguments), piped, redirects)
    run_given(m, tuple(arguments))
    return out


def _is_program(name: str, bound: Bound, arguments: list[Value | Given]) -> bool:
    """Whether a name that PowerShell and other systems share means the program here: its arguments fit only that."""
    if name == "sc":
        first = arguments[0] if arguments else ""
        return isinstance(first, str) and (first.lower() in _SERVICE_VERBS or first.startswith("\\\\"))
    if name not in SHARED:
        return False
    if bound.strange:
        return True
    if name in ("curl", "wget") and any(isinstance(a, Given) and len(a.name) < 3 for a in arguments):
        return True
    return bool(bound.rest) and name in (
        "rm",
        "cp",
        "mv",
        "cat",
        "rmdir",
        "diff",
        "tee",
        "sort",
        "kill",
        "mount",
        "sleep",
    )


def native_words(arguments: list[Value | Given]) -> list[Value]:
    """Arguments as a program gets them."""
    words: list[Value] = []
    for argument in arguments:
        if isinstance(argument, Given):
            words.append(argument.raw or f"-{argument.name}")
        elif isinstance(argument, Closure):
            words.append(f"{{{argument.block.source}}}")
        elif isinstance(argument, bool):
            words.append(str(argument))
        else:
            words.append(argument)
    return words


def _unknown_program(
    m: Machine,
    target: Value,
    arguments: list[Value | Given],
    piped: tuple[Value, ...] | None,
    redirects: tuple[Redirect, ...],
) -> list[Value]:
    if target is None or text_of(target) == "":
        return []
    words = native_words(arguments)
    feeds = feeds_of(target)
    name: Value = target if isinstance(target, str) else Unknown(feeds)
    if feeds or (isinstance(target, Thing) and target.kind == "scriptblock"):
        # A block or a name that was made from what came from outside: the same as running that as text.
        argv = m.emit(["Invoke-Expression", name], builtin=True, feeds=feeds, redirects=redirects)
        return [Unknown((argv,))]
    argv = m.emit([name, *words], feeds=feeds, redirects=redirects)
    return [Unknown((argv,))]
