"""Owns the door to code: what a program text of any language we read does, as the commands that would do the same.

Shell dialects are left to `scan.shell`; which file or option holds the text to `scan.follow`.
"""

from __future__ import annotations

import re
from importlib import import_module

from chrono.scan.code.reading import Language, run_source
from chrono.scan.command import UNKNOWN, Command, Evaluation, Word
from chrono.scan.foreign import (
    cloud_deletions,
    is_fork_bomb,
    is_reverse_shell,
    posts_to_strangers,
    runs_download,
    sends_environment,
)
from chrono.scan.world import World

_WRITES = re.compile(
    r"\.write\b(?!\s*\(\s*(?:''|\"\")\s*\))|dump\s*\(|writelines|\bfile\s*=|\.save\w*\s*\(|\.to_\w+\s*\(|[Ww]riter|fwrite|fputs|fput|\.puts\b|"
    r"print\s*\(?\s*\{?\$\w|printf\s|<<|\bprint\s+[A-Z]\w*\s|\.print\b|copyfileobj|pipe\s*\(|\.end\s*\("
)
"""Signs that what is opened for writing also gets text."""

LANGUAGES = ("python", "javascript", "ruby", "perl", "php")


def commands_of(
    language: str,
    source: str,
    *,
    world: World,
    name: str,
    args: tuple[Word, ...] = (),
    cwd: Word | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] = (0, 0),
    stdin: Word | None = None,
    files: tuple[tuple[str, str], ...] = (),
    called: bool = False,
    beside: bool = False,
    path: str | None = None,
) -> Evaluation:
    """What `source` does when it is run as a program in one of LANGUAGES.

    Calls with an effect become commands (`shutil.rmtree(x)` -> `rm -rf x`), shell text is evaluated, programs that are
    started are commands themselves. `name` is what `via` calls the text, `args` what it is given, `cwd` its folder,
    `span` goes into every command, `stdin` is what it can read where known, `files` are (path, text) that lie there
    besides; `called`: whoever loads it calls its functions; `beside`: nobody named it;
    `path`: the file that it is, absolute.
    Never raises; a limit that is reached is a Refusal.
    specs: scanner section 4.
    """
    found = run_source(
        _language(language),
        source,
        world=world,
        name=name,
        args=args,
        cwd=cwd,
        via=via,
        span=span,
        stdin=stdin,
        files=files,
        called=called,
        beside=beside,
        path=path,
    )
    if any(command.argv == (":",) for command in found.commands) and _WRITES.search(source) is not None:
        kept = (c._replace(argv=("write-file",)) if c.argv == (":",) else c for c in found.commands)
        found = found._replace(commands=tuple(kept))
    if " -" not in name and "stdin" not in name:
        return found
    # What the readers do not follow; only in the user's own words, since files may well use sockets.
    more: list[Command] = []
    where = Command((":",), (*via, name), span, world.cwd if cwd is None else cwd)
    if is_reverse_shell(source):
        more.append(where._replace(argv=("reverse-shell",)))
    if is_fork_bomb(source):
        more.append(where._replace(argv=("fork-bomb",)))
    if runs_download(source):
        more.append(where._replace(argv=("run-code", language, UNKNOWN), upstream=(("curl", UNKNOWN),)))
    if sends_environment(source):
        more.append(where._replace(argv=("curl", UNKNOWN), upstream=(("env",),)))
    read = tuple(command.argv for command in found.commands if command.argv[0] == "cat")
    if read and posts_to_strangers(source):
        more.append(where._replace(argv=("curl", UNKNOWN), upstream=read))
    more += [where._replace(argv=("sdk-call", call)) for call in cloud_deletions(source)]
    return found._replace(commands=(*found.commands, *more))


def _language(name: str) -> Language:
    """Loads a language on first use: most commands hold none."""
    if name not in LANGUAGES:
        raise ValueError(f"no reader for {name}")
    language: Language = import_module(f"chrono.scan.code.{name}").LANGUAGE
    return language
