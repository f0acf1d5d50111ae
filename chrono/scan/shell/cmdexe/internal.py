"""Owns the commands that cmd.exe runs itself: how their words are split, and what `set`, `cd` and `echo` change.

What they do to files is left to `scan.wintouch`, starting programs to `interpret`.
"""

from __future__ import annotations

import re

from chrono.scan.command import Redirect
from chrono.scan.shell.cmdexe.machine import Machine
from chrono.scan.shell.windows_host import words_of

_NAMES = {"erase": "del", "rmdir": "rd", "rename": "ren", "chdir": "cd", "md": "mkdir"}

INTERNAL = frozenset(
    """assoc break cd chdir cls color copy date del dir echo endlocal erase exit ftype md mkdir mklink move path pause
    popd prompt pushd rd ren rename rmdir set setlocal shift time title type ver verify vol""".split()
)
_PLAIN = frozenset(["echo", "set", "title", "prompt", "path"])


def run_internal(m: Machine, name: str, rest: str, redirects: tuple[Redirect, ...], via: tuple[str, ...] = ()) -> None:
    """Runs a command of cmd.exe itself; `rest` is what stands behind its name."""
    name = _NAMES.get(name, name)
    if name in _PLAIN:
        _plain(m, name, rest, redirects)
        return
    words = split_switches(rest)
    m.emit([name, *words], builtin=True, redirects=redirects, via=via)
    plain = [word for word in words if not word.startswith("/")]
    if name == "mklink" and len(plain) > 1:
        m.link(plain[0], plain[1])
    if name in ("cd", "pushd"):
        if name == "pushd":
            m.folders.append(m.cwd)
        if plain:
            text = " ".join(plain) if name == "cd" else plain[0]
            m.cwd = m.absolute(text) or "\0"
    elif name == "popd":
        m.cwd = m.folders.pop() if m.folders else m.cwd
    elif name == "setlocal":
        m.delayed = m.delayed or "enabledelayedexpansion" in rest.lower()
    elif name == "type" and redirects and len(plain) == 1:
        _copy_known(m, plain[0], redirects)


def _copy_known(m: Machine, path: str, redirects: tuple[Redirect, ...]) -> None:
    full = m.absolute(path)
    text = m.files.get(full) if full else None
    for redirect in redirects:
        if redirect.op.startswith(">") and isinstance(redirect.target, str):
            m.write(redirect.target, text if text is not None else "\0", redirect.op == ">>")


def _plain(m: Machine, name: str, rest: str, redirects: tuple[Redirect, ...]) -> None:
    """Commands whose rest is one text."""
    text = rest[1:] if rest[:1] in (" ", "\t", ".", "(", ":", ",", ";", "=", "/", "\\", "[", "+") else rest
    m.emit([name, text.strip()] if text.strip() else [name], builtin=True, redirects=redirects)
    if name == "echo":
        for redirect in redirects:
            if redirect.op.startswith(">") and redirect.fd == 1 and isinstance(redirect.target, str):
                m.write(redirect.target, text.rstrip() + "\n", redirect.op == ">>")
    elif name == "set":
        _set(m, text.strip(), redirects)


def _set(m: Machine, text: str, redirects: tuple[Redirect, ...]) -> None:
    found = re.match(r"/([ap])\s*", text, re.I)
    mode = found.group(1).lower() if found else ""
    if found:
        text = text[found.end() :]
    if text.startswith('"'):
        close = text.rfind('"')
        text = text[1:close] if close > 0 else text[1:]
    name, equals, value = text.partition("=")
    name = name.strip().rstrip("+-*/%").lower()
    if not equals or not name:
        return
    if mode == "a" and not value.strip().isdigit():
        value = "\0"
    elif mode == "p":
        value = _first_line(m, redirects)
    if value == "":
        m.variables.pop(name, None)
    else:
        m.variables[name] = value


def _first_line(m: Machine, redirects: tuple[Redirect, ...]) -> str:
    """What `set /p` reads: the first line of the file that its input comes from, where that is known."""
    files = [redirect.target for redirect in redirects if redirect.op == "<" and isinstance(redirect.target, str)]
    text = m.known_file(files[-1]) if files else None
    return "\0" if text is None else text.partition("\n")[0].strip()


def split_switches(text: str) -> list[str]:
    """The words of a command of cmd.exe itself: `/s/q` are two switches, `,` and `;` part words too."""
    found: list[str] = []
    text = re.sub(r'(?<=/[A-Za-z])(?=")', " ", text)
    for word in words_of(re.sub(r'(?<=[A-Za-z"])(?=/[A-Za-z](?:[/\s:]|\Z))', " ", text), signs=",;="):
        if re.fullmatch(r"(?:/-?[A-Za-z](?::\S*)?)+", word):
            found.extend(part for part in re.findall(r"/-?[A-Za-z](?::[^/]*)?", word))
        else:
            found.append(word)
    return found
