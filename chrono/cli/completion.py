"""Owns the scripts that complete words of the command line in a shell. They are static: no program runs at a key press.

Which words there are is told by the table of commands (`cli.app`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from chrono.tuples import NamedTuple

SHELLS = ("bash", "zsh", "fish")


class Word(NamedTuple):
    """One word that may come next, and what it is for."""

    text: str
    what: str


Tree = Mapping[tuple[str, ...], tuple[Word, ...]]
"""By the commands typed so far: () is `chrono` alone, ("guard",) is `chrono guard`."""


def tree_of(group: Any) -> Tree:
    """All words of a command line, from its commands and their options."""
    tree: dict[tuple[str, ...], tuple[Word, ...]] = {}

    def visit(path: tuple[str, ...], command: Any) -> None:
        words = []
        names = list(getattr(command, "commands", ()))
        for name in names:
            sub = command.get_command(None, name)
            words.append(Word(name, (sub.help or "").partition("\n")[0]))
            visit((*path, name), sub)
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                longest = max(parameter.opts, key=len)
                words.append(Word(longest, (getattr(parameter, "help", "") or "").partition("\n")[0]))
        tree[path] = (*words, Word("--help", "Say more."))

    visit((), group)
    return tree


def script(shell: str, tree: Tree) -> str:
    """The text that a person's shell reads at its start."""
    if shell == "fish":
        return _fish(tree)
    head = (
        "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    )
    return head + _bash(tree)


def _bash(tree: Tree) -> str:
    known = " | ".join(shlex.quote(" ".join(path)) for path in tree if path)
    cases = "".join(
        f"        {shlex.quote(' '.join(path))}) words={shlex.quote(' '.join(word.text for word in words))} ;;\n"
        for path, words in tree.items()
    )
    return (
        "# Completion for chrono; made by `chrono completion`.\n"
        "_chrono() {\n"
        "    local at path='' next words=''\n"
        "    for ((at = 1; at < COMP_CWORD; at++)); do\n"
        '        next="${path:+$path }${COMP_WORDS[at]}"\n'
        f'        case "$next" in {known}) path="$next" ;; esac\n'
        "    done\n"
        '    case "$path" in\n'
        f"{cases}"
        "    esac\n"
        '    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))\n'
        "}\n"
        "complete -o default -F _chrono chrono\n"
    )


def _fish(tree: Tree) -> str:
    lines = ["# Completion for chrono; made by `chrono completion`."]
    for path, words in tree.items():
        when = "__fish_use_subcommand" if not path else _seen(path, tree)
        for word in words:
            what = shlex.quote(word.what) if word.what else "''"
            if word.text.startswith("--"):
                lines.append(f"complete -c chrono -n {shlex.quote(when)} -l {word.text[2:]} -d {what}")
            else:
                lines.append(f"complete -c chrono -f -n {shlex.quote(when)} -a {shlex.quote(word.text)} -d {what}")
    return "\n".join(lines) + "\n"


def _seen(path: tuple[str, ...], tree: Tree) -> str:
    """The commands of `path` are on the line and none below it."""
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
    below = " ".join(word.text for word in tree[path] if not word.text.startswith("-"))
    return f"{seen}; and not __fish_seen_subcommand_from {below}" if below else seen
