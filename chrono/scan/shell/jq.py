"""Owns `jq` on known text where it only changes a document: assignments, merges and deletions by constant paths.

Questions to a document (`.a[] | select(…)`) are not understood: what they write is unknown.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_CHARS = 100_000
_PATH = re.compile(r'(?:\.(?:[A-Za-z_]\w*|"[^"\\]*")|\.?\["[^"\\]*"\])+|\.')
_KEY = re.compile(r'[A-Za-z_]\w*|"[^"\\]*"')
_OPERATOR = re.compile(r"\s*(\|=|\+=|\*=|=|\+|\*)\s*")
_DELETE = re.compile(r"del\((.+)\)\Z")
_OPTIONS = frozenset(("-r", "-c", "-M", "-S", "-e", "-j", "--tab", "--raw-output", "--compact-output", "--sort-keys"))


class _Unknown(Exception):
    pass


def split(args: list[str]) -> tuple[str, dict[str, object], list[str]] | None:
    """(filter, values of `--arg` and `--argjson`, files); None where an option is not known."""
    import json

    words: list[str] = []
    known: dict[str, object] = {}
    at = 0
    while at < len(args):
        word = args[at]
        at += 1
        if word in ("--arg", "--argjson") and at + 1 < len(args):
            try:
                known[args[at]] = args[at + 1] if word == "--arg" else json.loads(args[at + 1])
            except ValueError:
                return None
            at += 2
        elif word == "--indent" and at < len(args):
            at += 1
        elif word[:1] != "-":
            words.append(word)
        elif word not in _OPTIONS:
            return None
    return (words[0], known, words[1:]) if words else None


def jq(program: str, known: dict[str, object], text: str) -> str | None:
    """The document that `jq program` writes for a document; None where it is not understood."""
    import json

    if len(text) > _MAX_CHARS or len(program) > _MAX_CHARS:
        return None
    try:
        document = json.loads(text)
        for step in _steps(program):
            document = _step(step, document, known)
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    except (_Unknown, ValueError, RecursionError, TypeError):
        return None


def _steps(program: str) -> list[str]:
    """The filter at its `|`, those in strings and brackets left alone."""
    steps, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(program):
        if char == '"' and program[at - 1 : at] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "|" and not depth and program[at + 1 : at + 2] != "=":
            steps.append(program[start:at])
            start = at + 1
    return [step.strip() for step in (*steps, program[start:])]


def _step(step: str, document: Any, known: dict[str, object]) -> Any:
    deleted = _DELETE.match(step)
    if deleted:
        for path in deleted[1].split(","):
            keys = _keys(path.strip())
            holder = _holder(document, keys[:-1])
            if isinstance(holder, dict):
                holder.pop(keys[-1], None)
        return document
    match = _PATH.match(step)
    if match is None:
        raise _Unknown
    keys = _keys(match.group())
    operator = _OPERATOR.match(step, match.end())
    if operator is None:
        if step != ".":
            raise _Unknown
        return document
    value = _constant(step[operator.end() :], known)
    if not keys:
        return _combined(operator[1], document, value)
    if operator[1] in ("+", "*"):
        raise _Unknown
    holder = _holder(document, keys[:-1])
    if not isinstance(holder, dict):
        raise _Unknown
    holder[keys[-1]] = _combined(operator[1], holder.get(keys[-1]), value)
    return document


def _keys(path: str) -> list[str]:
    if _PATH.fullmatch(path) is None:
        raise _Unknown
    return [key.strip('"') for key in _KEY.findall(path)]


def _holder(document: Any, keys: list[str]) -> Any:
    for key in keys:
        if not isinstance(document, dict):
            raise _Unknown
        document = document.setdefault(key, {})
    return document


def _combined(operator: str, old: Any, new: Any) -> Any:
    if operator in ("=", "|="):
        return new
    if old is None:
        return new
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **new} if operator[0] == "+" else _merged(old, new)
    if operator[0] == "+" and isinstance(old, str) and isinstance(new, str):
        return old + new
    raise _Unknown


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    both = {key: _merged(old[key], new[key]) for key in old.keys() & new.keys()
            if isinstance(old[key], dict) and isinstance(new[key], dict)}  # fmt: skip
    return {**old, **new, **both}


def _constant(text: str, known: dict[str, object]) -> Any:
    import json

    text = text.strip()
    if text[:1] == "$" and text[1:] in known:
        return known[text[1:]]
    # Keys of an object may stand without quotes.
    return json.loads(re.sub(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)", r'\1"\2"\3', text) if text[:1] == "{" else text)
