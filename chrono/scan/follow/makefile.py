"""Owns the language of makefiles: variables, conditionals, functions, rules and their recipes as shell text.

Which targets a command line asks for is left to `make`; what the recipes do to the shell evaluator.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.scan.command import LimitReached
from chrono.tuples import NamedTuple

MAX_EXPANSIONS = 20_000
MAX_TEXT = 200_000
MAX_INCLUDES = 16
MAX_RULES = 20_000
MAX_APPENDED = 20_000_000

Reader = Callable[[str], str | None]


class Rule(NamedTuple):
    """One rule: targets (perhaps with `%`), prerequisites (unexpanded), order-only ones, recipe lines, first line."""

    targets: tuple[str, ...]
    prerequisites: str
    recipe: tuple[str, ...]
    line: int
    static_pattern: str | None = None


class Variable(NamedTuple):
    """`recursive` values are expanded at each use, the others once, where they are set."""

    value: str
    recursive: bool


_BUILTIN = {
    "MAKE": "make", "RM": "rm -f", "CC": "cc", "CXX": "g++", "AR": "ar", "LD": "ld", "SHELL": "/bin/sh",
    "INSTALL": "install", "MAKEFLAGS": "", "MAKECMDGOALS": "", "OS": "", "CP": "cp", "MV": "mv",
}  # fmt: skip


class Makefile:
    """A makefile as far as it has been read. `read(path)` gives the text of an included file or None."""

    def __init__(self, folder: str, environ: Reader, read: Reader, overrides: dict[str, str]) -> None:
        self.folder = folder
        self.environ = environ
        self.read = read
        self.overrides = overrides
        self.exported: set[str] = set(overrides)
        self.variables: dict[str, Variable] = {}
        self.target_variables: dict[str, dict[str, Variable]] = {}
        self.rules: list[Rule] = []
        self.shell_calls: list[str] = []
        self.default: str | None = None
        self.one_shell = False
        self._expansions = 0
        self._appended = 0
        self._includes = 0
        self._targets: dict[str, list[Rule]] = {}

    # --- reading ------------------------------------------------------------------------------------------------------

    def add(self, text: str) -> None:
        """Reads makefile text, conditionals and includes included."""
        _Reading(self).run(text)

    def include(self, path: str) -> None:
        self._includes += 1
        if self._includes > MAX_INCLUDES:
            return
        text = self.read(os.path.normpath(os.path.join(self.folder, path)))
        if text is not None:
            self.add(text)

    def add_rule(self, rule: Rule) -> None:
        self.rules.append(rule)
        if len(self.rules) > MAX_RULES:
            raise LimitReached(f"it has more than {MAX_RULES} rules")
        for target in rule.targets:
            self._targets.setdefault(target, []).append(rule)
            if self.default is None and "%" not in target and (not target.startswith(".") or "/" in target):
                self.default = target

    def rules_of(self, target: str) -> list[tuple[Rule, str]]:
        """(rule, stem) for a target: its explicit rules, and where none has a recipe the first pattern that fits."""
        found = [
            (rule, (rule.static_pattern and _stem(rule.static_pattern, target)) or "")
            for rule in self._targets.get(target, ())
        ]
        if any(rule.recipe for rule, _ in found):
            return found
        for rule in self.rules:
            for pattern in rule.targets:
                stem = _stem(pattern, target) if "%" in pattern else None
                if stem is not None and rule.recipe:
                    return [*found, (rule, stem)]
        return found

    # --- values -------------------------------------------------------------------------------------------------------

    def set(self, name: str, op: str, value: str, target: str | None = None) -> None:
        table = self.variables if target is None else self.target_variables.setdefault(target, {})
        if op == "?=":
            if self.lookup(name, {}) is not None:
                return
            op = "="
        if op == "!=":
            self.shell_calls.append(self.expand(value, {}))
            table[name] = Variable(f"$(shell {value})", True)
            return
        if op == "+=":
            old = table.get(name) or self.variables.get(name) or Variable(self.environ(name) or "", True)
            self._appended += len(old.value)
            if self._appended > MAX_APPENDED:
                raise LimitReached("its variables grow without end")
            added = value if old.recursive else self.expand(value, {})
            table[name] = Variable(f"{old.value} {added}".strip()[:MAX_TEXT], old.recursive)
        elif op in (":=", "::=", ":::="):
            table[name] = Variable(self.expand(value, {}), False)
        else:
            table[name] = Variable(value, True)

    def lookup(self, name: str, local: dict[str, str]) -> Variable | None:
        if name in local:
            return Variable(local[name], False)
        if name in self.overrides:
            return Variable(self.overrides[name], True)
        if name in self.variables:
            return self.variables[name]
        if name in ("CURDIR", "PWD"):
            return Variable(self.folder, False)
        if name in _BUILTIN:
            return Variable(_BUILTIN[name], False)
        value = self.environ(name)
        return None if value is None else Variable(value.replace("$", "$$"), True)

    def expand(self, text: str, local: dict[str, str], depth: int = 0) -> str:
        """Text with its `$(…)` replaced. `$(shell …)` becomes the shell's own `$(…)`; `$$` becomes `$`."""
        if "$" not in text:
            return text
        self._expansions += 1
        if self._expansions > MAX_EXPANSIONS or depth > 40:
            raise LimitReached("its variables expand without end")
        out: list[str] = []
        at = size = 0
        while True:
            dollar = text.find("$", at)
            if dollar < 0 or dollar + 1 >= len(text):
                out.append(text[at:])
                break
            out.append(text[at:dollar])
            following = text[dollar + 1]
            if following == "$":
                out.append("$")
                at = dollar + 2
            elif following in "({":
                end = _closing(text, dollar + 1)
                out.append(self._reference(text[dollar + 2 : end], local, depth))
                at = end + 1
            else:
                out.append(self._value(following, local, depth))
                at = dollar + 2
            size += len(out[-1])
            if size > MAX_TEXT:
                raise LimitReached("its variables expand to more than it may hold")
        return "".join(out)

    def _value(self, name: str, local: dict[str, str], depth: int) -> str:
        found = self.lookup(name, local)
        if found is None:
            return ""
        return self.expand(found.value, local, depth + 1) if found.recursive else found.value

    def _reference(self, inside: str, local: dict[str, str], depth: int) -> str:
        name, blank, rest = inside.lstrip().partition(" ")
        if not blank:
            name, blank, rest = inside.partition("\t")
        if blank and name in _FUNCTIONS:
            return self._call(name, rest, local, depth)
        inside = self.expand(inside, local, depth + 1)
        name, colon, change = inside.partition(":")
        if colon and "=" in change:
            old, _, new = change.partition("=")
            words = self._value(name.strip(), local, depth).split()
            pattern, replacement = (old, new) if "%" in old else ("%" + old, "%" + new)
            return " ".join(_substitute(pattern, replacement, word) for word in words)
        if len(inside) == 2 and inside[1] in "DF" and inside[0] in "@<^*?+%":
            words = self._value(inside[0], local, depth).split()
            return " ".join((os.path.dirname(w) or ".") if inside[1] == "D" else os.path.basename(w) for w in words)
        return self._value(inside.strip(), local, depth)

    def _call(self, name: str, rest: str, local: dict[str, str], depth: int) -> str:
        parts = _split_arguments(rest, _FUNCTIONS[name])
        if name == "if":
            chosen = parts[1:2] if self.expand(parts[0].strip(), local, depth + 1).strip() else parts[2:3]
            return self.expand(chosen[0], local, depth + 1) if chosen else ""
        if name == "foreach" and len(parts) == 3:
            variable = self.expand(parts[0], local, depth + 1).strip()
            words = self.expand(parts[1], local, depth + 1).split()[:200]
            return " ".join(self.expand(parts[2], {**local, variable: word}, depth + 1) for word in words)
        if name in ("or", "and"):
            value = ""
            for part in parts:
                value = self.expand(part.strip(), local, depth + 1)
                if bool(value.strip()) == (name == "or"):
                    break
            return value
        values = [self.expand(part, local, depth + 1) for part in parts]
        if name == "shell":
            self.shell_calls.append(values[0])
            return f"$({values[0]})"
        if name == "call":
            numbered = {str(at): value for at, value in enumerate(values[1:], 1)}
            return self._value(values[0].strip(), {**local, **numbered}, depth + 1)
        if name == "eval":
            self.add(values[0])
            return ""
        if name in ("value", "origin", "flavor"):
            found = self.lookup(values[0].strip(), local)
            return (found.value if found else "") if name == "value" else "file" if found else "undefined"
        return _text_function(name, values, self.folder)


class _Reading:
    """One pass over makefile text."""

    def __init__(self, makefile: Makefile) -> None:
        self.makefile = makefile
        self.conditions: list[tuple[bool | None, bool]] = []
        self.pending: Rule | None = None
        self.recipe: list[str] = []

    def run(self, text: str) -> None:
        lines = text.replace("\r\n", "\n").split("\n")
        at = 0
        prefix = "\t"
        while at < len(lines):
            start = at
            line = lines[at]
            at += 1
            if line.startswith(prefix) and self.pending is not None:
                while line.endswith("\\") and not line.endswith("\\\\") and at < len(lines):
                    line += "\n" + lines[at].removeprefix(prefix)
                    at += 1
                if self._active():
                    self.recipe.append(line[len(prefix) :])
                continue
            if line.endswith("\\"):
                line, at = _continued(line, lines, at)
            stripped = _without_comment(line).strip()
            if not stripped or self._condition(stripped):
                continue
            if stripped.startswith(("define ", "override define ")):
                at = self._define(stripped, lines, at)
            elif self._active():
                if stripped.startswith(".RECIPEPREFIX"):
                    prefix = (stripped.partition("=")[2].strip() or "\t")[0]
                else:
                    self._statement(_without_comment(line), start + 1)
        self._finish_rule()

    def _active(self) -> bool:
        return all(state is not False for state, _ in self.conditions)

    def _condition(self, line: str) -> bool:
        word = line.split(None, 1)[0]
        rest = line[len(word) :].strip()
        if word in ("ifeq", "ifneq", "ifdef", "ifndef"):
            known = self._test(word, rest)
            self.conditions.append((known, known is True))
            return True
        if word.startswith(("ifeq(", "ifneq(")):
            known = self._test(word.split("(", 1)[0], line[line.index("(") :])
            self.conditions.append((known, known is True))
            return True
        if word == "else" and self.conditions:
            known, taken = self.conditions.pop()
            state: bool | None = None if known is None else not taken
            if state is not False and rest.startswith("if"):
                parts = rest.split(None, 1)
                inner = self._test(parts[0], parts[1] if len(parts) > 1 else "")
                state = inner if state is True else None if inner is None or state is None else inner
            self.conditions.append((state, taken or state is True))
            return True
        if word == "endif" and self.conditions:
            self.conditions.pop()
            return True
        return False

    def _test(self, word: str, rest: str) -> bool | None:
        """True, False, or None where it depends on what a program prints: then both branches are read."""
        if not self._active():
            return False
        makefile = self.makefile
        if word in ("ifdef", "ifndef"):
            found = makefile.lookup(makefile.expand(rest, {}).strip(), {})
            return bool(found and found.value) == (word == "ifdef")
        if rest.startswith("("):
            parts = _split_arguments(rest[1 : _closing(rest, 0)], 2)
        else:
            parts = [p for p in rest.replace("'", '"').split('"') if p.strip()] or ["", ""]
            parts = parts if len(parts) > 1 else [*parts, ""]
        left, right = (makefile.expand(p, {}).strip() for p in (*parts, "")[:2])
        if "$(" in left or "$(" in right:
            return None
        return (left == right) == (word == "ifeq")

    def _define(self, line: str, lines: list[str], at: int) -> int:
        header = line.split("define", 1)[1].strip()
        name, _, op = header.partition(" ")
        body: list[str] = []
        while at < len(lines) and lines[at].strip() != "endef":
            body.append(lines[at].removeprefix("\t"))
            at += 1
        if self._active():
            self.makefile.set(name.rstrip("=:+ "), op.strip() or "=", "\n".join(body))
        return at + 1

    def _statement(self, line: str, number: int) -> None:
        stripped = line.strip()
        word = stripped.split(None, 1)[0]
        makefile = self.makefile
        if word in ("include", "-include", "sinclude"):
            self._finish_rule()
            for path in makefile.expand(stripped[len(word) :], {}).split():
                makefile.include(path)
            return
        if word == "export":
            named = _separator(stripped)
            names = stripped[: named[1]] if named[0] == "assign" else stripped
            makefile.exported.update(names.split()[1:] or ("*",))
        for keyword in ("export", "override", "private", "unexport"):
            if stripped.startswith(keyword + " "):
                stripped = stripped[len(keyword) :].strip()
        kind, place, op = _separator(stripped)
        if kind == "assign":
            self._finish_rule()
            makefile.set(makefile.expand(stripped[:place].strip(), {}), op, stripped[place + len(op) :].strip())
        elif kind == "rule":
            self._finish_rule()
            self._rule(stripped, place, number)
        else:
            makefile.expand(stripped, {})

    def _rule(self, line: str, place: int, number: int) -> None:
        makefile = self.makefile
        targets = tuple(makefile.expand(line[:place].rstrip("&"), {}).split())
        rest = line[place:].lstrip(":")
        kind, at, op = _separator(rest)
        if kind == "assign":
            for target in targets:
                makefile.set(rest[:at].strip(), op, rest[at + len(op) :].strip(), target)
            return
        body, semicolon, first = _split_at_semicolon(rest)
        pattern = None
        if kind == "rule":
            pattern, body = makefile.expand(body[:at], {}).strip(), body[at + 1 :]
        if targets == (".ONESHELL",):
            makefile.one_shell = True
        self.pending = Rule(targets, body.replace("|", " "), (), number, pattern)
        self.recipe = [first.strip()] if semicolon and first.strip() else []

    def _finish_rule(self) -> None:
        if self.pending is not None:
            self.makefile.add_rule(self.pending._replace(recipe=tuple(self.recipe)))
        self.pending = None
        self.recipe = []


_FUNCTIONS = {
    "if": 3, "or": 99, "and": 99, "foreach": 3, "call": 99, "shell": 1, "eval": 1, "value": 1, "origin": 1, "flavor": 1,
    "subst": 3, "patsubst": 3, "strip": 1, "findstring": 2, "filter": 2, "filter-out": 2, "sort": 1, "word": 2,
    "wordlist": 3, "words": 1, "firstword": 1, "lastword": 1, "dir": 1, "notdir": 1, "suffix": 1, "basename": 1,
    "addsuffix": 2, "addprefix": 2, "join": 2, "wildcard": 1, "realpath": 1, "abspath": 1, "error": 1, "warning": 1,
    "info": 1, "file": 2,
}  # fmt: skip


def _text_function(name: str, values: list[str], folder: str) -> str:
    """The functions whose result depends on their arguments only."""
    values = [*values, "", "", ""]
    first, second, third = values[0], values[1], values[2]
    if name == "subst":
        return third.replace(first, second) if first else third + second
    if name == "patsubst":
        return " ".join(_substitute(first.strip(), second.strip(), word) for word in third.split())
    if name in ("filter", "filter-out"):
        patterns = first.split()
        kept = [w for w in second.split() if any(_stem(p, w) is not None for p in patterns) == (name == "filter")]
        return " ".join(kept)
    if name == "findstring":
        return first if first in second else ""
    if name in ("word", "wordlist"):
        if not first.strip().isdigit() or (name == "wordlist" and not second.strip().isdigit()):
            return ""
        low = int(first.strip()[:9])
        words = second.split() if name == "word" else third.split()
        return " ".join(words[low - 1 : low if name == "word" else int(second.strip()[:9])]) if low > 0 else ""
    if name in ("addsuffix", "addprefix"):
        fix = first
        return " ".join(word + fix if name == "addsuffix" else fix + word for word in second.split())
    if name == "join":
        left, right = first.split(), second.split()
        both = [a + b for a, b in zip(left, right, strict=False)]
        return " ".join(both + left[len(right) :] + right[len(left) :])
    words = first.split()
    per_word: dict[str, Callable[[str], str]] = {
        "dir": lambda w: w[: w.rfind("/") + 1] or "./",
        "notdir": lambda w: w[w.rfind("/") + 1 :],
        "suffix": lambda w: os.path.splitext(w)[1],
        "basename": lambda w: os.path.splitext(w)[0],
        "realpath": lambda w: os.path.normpath(os.path.join(folder, w)),
        "abspath": lambda w: os.path.normpath(os.path.join(folder, w)),
    }
    if name in per_word:
        return " ".join(per_word[name](word) for word in words)
    whole: dict[str, Callable[[], str]] = {
        "strip": lambda: " ".join(words),
        "sort": lambda: " ".join(sorted(set(words))),
        "words": lambda: str(len(words)),
        "firstword": lambda: words[0] if words else "",
        "lastword": lambda: words[-1] if words else "",
        # The glob itself: the shell expands it the same way.
        "wildcard": lambda: " ".join(words),
    }
    return whole[name]() if name in whole else ""


def _continued(line: str, lines: list[str], at: int) -> tuple[str, int]:
    """A line with those that its backslash adds, and the place behind them."""
    parts = [line]
    while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\") and at < len(lines):
        parts[-1] = parts[-1][:-1].rstrip()
        parts.append(lines[at].lstrip())
        at += 1
    return " ".join(parts), at


def _closing(text: str, at: int) -> int:
    """The index of the bracket that closes the one at `at`, or the end of the text."""
    opener = text[at]
    closer = ")" if opener == "(" else "}"
    depth = 0
    for place in range(at, len(text)):
        if text[place] == opener:
            depth += 1
        elif text[place] == closer:
            depth -= 1
            if depth == 0:
                return place
    return len(text)


def _split_arguments(text: str, most: int) -> list[str]:
    """Splits at commas outside brackets, into at most `most` parts."""
    parts: list[str] = []
    depth = start = 0
    for place, letter in enumerate(text):
        if letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
        elif letter == "," and depth == 0 and len(parts) < most - 1:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.lstrip() if at == 0 else part for at, part in enumerate(parts)]


def _separator(line: str) -> tuple[str, int, str]:
    """What a line is: ("assign", place, operator), ("rule", place of the colon, ":") or ("", 0, "")."""
    depth = 0
    for place, letter in enumerate(line):
        if letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
        elif depth <= 0:
            for op in (":::=", "::=", ":=", "+=", "?=", "!="):
                if line.startswith(op, place):
                    return "assign", place, op
            if letter == "=":
                return "assign", place, "="
            if letter == ":" and not line.startswith((":\\", ":/"), place):
                return "rule", place, ":"
            if letter == ";":
                return "", 0, ""
    return "", 0, ""


def _split_at_semicolon(text: str) -> tuple[str, str, str]:
    depth = 0
    for place, letter in enumerate(text):
        if letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
        elif letter == ";" and depth <= 0:
            return text[:place], ";", text[place + 1 :]
    return text, "", ""


def _without_comment(line: str) -> str:
    at = line.find("#")
    while at > 0 and line[at - 1] == "\\":
        at = line.find("#", at + 1)
    return line if at < 0 else line[:at]


def _stem(pattern: str, word: str) -> str | None:
    """What `%` stands for if the pattern fits the word, else None."""
    before, percent, after = pattern.partition("%")
    if not percent:
        return "" if pattern == word else None
    if len(word) >= len(before) + len(after) and word.startswith(before) and word.endswith(after):
        return word[len(before) : len(word) - len(after)]
    return None


def _substitute(pattern: str, replacement: str, word: str) -> str:
    stem = _stem(pattern, word)
    if stem is None:
        return word
    return replacement.replace("%", stem, 1) if "%" in pattern else replacement
