"""Owns how code hands text to a shell, and what it gets back: constant text, text from the network, a shell's input.

Which calls do it is left to each language's library, what the text does to `effects`.
"""

from __future__ import annotations

from chrono.scan.code.frames import Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.values import ANY, Items, Thing, alternatives, elements

SHELL_PROGRAMS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash"))


FETCHERS = frozenset(("curl", "wget", "http", "https", "xh", "aria2c"))


def printed(command: Value) -> Value:
    """What a command line (a text, or a list of words) prints: a response where it only fetches, else ANY."""
    words: list[Value] = []
    if isinstance(command, Items):
        words = elements(command)[0]
    elif isinstance(command, str) and "|" not in command and ">" not in command:
        words = list(command.split())
    if not words or not isinstance(words[0], str) or words[0].rpartition("/")[2] not in FETCHERS:
        return ANY
    urls = [word for word in words[1:] if isinstance(word, str) and ("://" in word or "/" in word.lstrip("/"))]
    return Thing("response", url=urls[0].strip("\"'")) if urls else Thing("response", url=ANY)


def run_text(run: Machine, text: Value, cwd: Value = None) -> None:
    for option in alternatives(text):
        if isinstance(option, Thing) and option.kind == "response":
            run.effects.label = "shell"
            run.effects.command("sh", upstream=(("curl", run.effects.word(option.fields["url"])),))
        elif isinstance(option, Thing) and option.kind == "received":
            run.effects.shell_on_socket()
        else:
            run.effects.shell(option, cwd=cwd)


def is_shell(argv: Value) -> bool:
    """True if the program of this command line (a list, or its first word) is a shell."""
    values, _ = elements(argv) if isinstance(argv, Items) else ([argv], None)
    return bool(values) and isinstance(values[0], str) and values[0] in SHELL_PROGRAMS
