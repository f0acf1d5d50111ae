"""Owns what can be told of VBScript and of JScript for Windows Script Host: the command lines it runs, what it deletes.

Only assignments and joined texts are followed; what cmd.exe makes of a line is left to `scan.shell.cmdexe`.
"""

from __future__ import annotations

import re

from chrono.scan.world import World

MAX_CHARS = 60_000

_STRING = r"\"(?:[^\"\n]|\"\")*\""
_PIECE = re.compile(rf"\s*(?:({_STRING})|'((?:[^'\\\n]|\\.)*)'|([\w.]+(?:\s*\(\s*(?:{_STRING})?\s*\))?(?:\.\w+)*))\s*")
_ASSIGNED = re.compile(r"^\s*(?:(?:Set|Const|Dim|var|let|const)\s+)?(\w+)\s*=\s*([^\n]+)$", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"ExpandEnvironmentStrings\s*\(\s*[\"']([^\"']*)", re.IGNORECASE)
_SPECIAL = re.compile(r"SpecialFolders\s*\(\s*[\"']([^\"']*)", re.IGNORECASE)
_CALL = re.compile(
    r"\.(Run|Exec|ShellExecute|DeleteFolder|DeleteFile|RegDelete|RegWrite|MoveFolder|MoveFile|Create)\b\s*\(?\s*([^\n]*)",
    re.IGNORECASE,
)
_VERBS = {"deletefolder": "rd /s /q", "deletefile": "del /f /q", "movefolder": "move", "movefile": "move"}


def commands_of_vbscript(text: str, world: World) -> list[str]:
    """Lines of cmd.exe that do what the script's calls do; what is not known is NUL in them."""
    if len(text) > MAX_CHARS:
        return []
    known: dict[str, str] = {}
    found: list[str] = []
    for line in re.sub(r"_[ \t]*\r?\n", " ", text).splitlines():
        line = re.split(r"^\s*(?:'|Rem\b|//)", line, maxsplit=1, flags=re.IGNORECASE)[0]
        assigned = _ASSIGNED.match(line)
        for part in re.split(r"(?<=\")\s*:\s*|:\s+(?=\w+\.)", line):
            call = _CALL.search(part)
            if call is not None:
                found += _line(call[1].lower(), _arguments(call[2], known))
        if assigned is not None:
            known[assigned[1].lower()] = _joined(assigned[2], known)[0]
    return found


def _line(verb: str, args: list[str]) -> list[str]:
    if not args or not args[0].strip("\0"):
        return []
    first = args[0]
    if verb in ("run", "exec", "create"):
        return [first]
    if verb == "shellexecute":
        return [" ".join((first, *args[1:2]))]
    if verb == "regdelete":
        return [f'reg delete "{first.rstrip(chr(92))}" /f']
    if verb == "regwrite":
        key, _, name = first.rpartition("\\")
        return [f'reg add "{key}" /v "{name}" /d "{args[1] if len(args) > 1 else ""}" /f']
    return [" ".join((_VERBS[verb], *(f'"{arg}"' for arg in args[: 2 if verb.startswith("move") else 1])))]


def _arguments(text: str, known: dict[str, str]) -> list[str]:
    args: list[str] = []
    while text.strip() and len(args) < 6:
        value, text = _joined(text, known)
        args.append(value)
        if not text.startswith(","):
            break
        text = text[1:]
    return args


def _joined(text: str, known: dict[str, str]) -> tuple[str, str]:
    """The value of texts and names joined by `&` or `+`, and what stands behind them."""
    value = ""
    while True:
        piece = _PIECE.match(text)
        if piece is None:
            return value, text
        value += _value(piece, known)
        text = text[piece.end() :]
        if text[:1] not in ("&", "+"):
            return value, text
        text = text[1:]


def _value(piece: re.Match[str], known: dict[str, str]) -> str:
    if piece[1] is not None:
        return piece[1][1:-1].replace('""', '"')
    if piece[2] is not None:
        return re.sub(r"\\(.)", r"\1", piece[2])
    name = piece[3]
    if (environment := _ENVIRONMENT.search(name)) is not None:
        return environment[1]
    if (special := _SPECIAL.search(name)) is not None:
        return f"%USERPROFILE%\\{special[1]}"
    if name.lower() in ("vbcrlf", "vbnewline"):
        return "\r\n"
    return known.get(name.lower(), "\0")
