"""Owns how code hands text to a shell: constant text, text from the network, text for a shell's standard input.

Which calls do it is left to each language's library, what the text does to `effects`.
"""

from __future__ import annotations

from chrono.scan.code.frames import Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.values import Items, Thing, alternatives, elements

SHELL_PROGRAMS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash"))


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
