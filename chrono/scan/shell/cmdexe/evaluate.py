"""Owns the door of this room: cmd.exe text in, the commands that it can run out. Never raises.

The text is split by `parser` and walked by `interpret`. specs: scanner section 4.
"""

from __future__ import annotations

import re

from chrono.scan.command import Command, Evaluation, LimitReached, Refusal, Unparsed, Word
from chrono.scan.shell.cmdexe.expansion import LATE
from chrono.scan.shell.cmdexe.interpret import run_text
from chrono.scan.shell.cmdexe.machine import Machine
from chrono.scan.shell.values import from_word
from chrono.scan.world import World

MAX_CODE_CHARS = 65_536
_LABEL = re.compile(r"(?:^|\n)[ \t]*:([^\s:&|<>(]+)")

_STARTS_ITSELF = re.compile(
    r"%~?[a-z]*0\"?\s*\|\s*(?:start\b[^%\n|]*)?\"?%~?[a-z]*0|\bstart\b[^%\n|&]*%~?[a-z]*0[^\n]*(?:&|\n)\s*goto\b",
    re.IGNORECASE,
)
"""A script that runs itself into itself, or again and again (`%0|%0`)."""


def evaluate_cmd(
    text: str,
    world: World,
    *,
    args: tuple[Word, ...] = (),
    cwd: str | None = None,
    via: tuple[str, ...] = (),
    span: tuple[int, int] | None = None,
    script: bool = False,
) -> Evaluation:
    """The commands that a cmd.exe text can run.

    `script`: it is a file, so `%%` is a percent sign and `%1` one of `args`. `cwd` is its folder (the world's where
    None), `via` the chain that every command's own chain continues, `span` the offsets to report for a text that is not
    the outermost one. What is not understood is a Refusal "unparsed", a limit that is reached a Refusal "limit".
    """
    whole = span or (0, len(text))
    if len(text) > MAX_CODE_CHARS:
        return Evaluation((), (Refusal("limit", f"it is longer than {MAX_CODE_CHARS} characters", whole),))
    text = text.removeprefix("\ufeff").replace(LATE, "\ufffd")
    if via and via[-1].endswith((" /c", " /k", " /r")):
        text = without_outer_quotes(text)
    given = (via[-1] if via else "", *map(from_word, args)) if script else None
    machine = Machine(world, via, span, (cwd or world.cwd).replace("\\", "/"), given)
    machine.source = text
    machine.labels = {found.group(1).lower(): found.end() for found in _LABEL.finditer(text)}
    try:
        run_text(machine, text)
    except Unparsed as error:
        machine.refusals.append(Refusal("unparsed", error.why, whole))
    except LimitReached as error:
        machine.refusals.append(Refusal("limit", error.why, whole))
    except (RecursionError, MemoryError):
        machine.refusals.append(Refusal("limit", "it is nested too deeply to be checked", whole))
    except Exception as error:
        machine.refusals.append(Refusal("unparsed", f"it could not be evaluated ({type(error).__name__})", whole))
    if _STARTS_ITSELF.search(text) is not None:
        machine.commands.append(Command(("fork-bomb",), via, whole, cwd or world.cwd))
    commands = tuple(dict.fromkeys(machine.commands))
    writes = tuple(dict.fromkeys(machine.writes))
    return Evaluation(commands, tuple(dict.fromkeys(machine.refusals)), writes, tuple(machine.files.items()))


def without_outer_quotes(text: str) -> str:
    """What `cmd /c` makes of its rest: the first and the last quote go, unless they hold the name of a program."""
    text = text.strip()
    if not text.startswith('"'):
        return text
    close = text.rfind('"')
    if close == 0:
        return text[1:]
    inner = text[1:close]
    if text.count('"') == 2 and not any(sign in inner for sign in "&<>()@^|"):
        is_path = inner[1:2] == ":" or inner[:1] in ".\\"
        if (
            is_path and " /" not in inner and inner.lower().endswith((".exe", ".bat", ".cmd", ".com"))
        ) or " " not in inner:
            return text
    return inner + text[close + 1 :]
