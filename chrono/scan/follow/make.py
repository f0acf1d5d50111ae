"""Owns what `make` and `just` start: the recipes of the targets asked for, prerequisites first.

The makefile language is left to `makefile`, the justfile language to `justfile`, the recipes to the shell evaluator.
"""

from __future__ import annotations

import os
import shlex

from chrono.scan.command import LimitReached, Refusal, Word
from chrono.scan.follow.justfile import from_just
from chrono.scan.follow.makefile import Makefile
from chrono.scan.follow.programs import program_name
from chrono.scan.follow.scene import File, Scene, Started
from chrono.scan.follow.scripts import language_of_program

MAX_TARGETS = 400
_VALUE_OPTIONS = frozenset(
    ("-C", "--directory", "-f", "--file", "--makefile", "-I", "--include-dir", "-o", "--old-file", "--assume-old",
     "-W", "--what-if", "--new-file", "--assume-new", "--eval", "-E")
)  # fmt: skip
_NO_RECIPES = frozenset(
    [
        "-n",
        "--just-print",
        "--dry-run",
        "--recon",
        "-q",
        "--question",
        "-t",
        "--touch",
        "-h",
        "--help",
        "-v",
        "--version",
    ],
)

Answers = list[Started | Refusal]


def from_make(scene: Scene) -> Answers:
    """The recipes that a `make`, `just` or `task` command line runs; nothing for other programs."""
    if scene.program in ("make", "gmake", "gnumake", "mingw32-make", "remake"):
        try:
            return _from_make(scene)
        except LimitReached as reached:
            return [Refusal("limit", f"a makefile is refused rather than half-checked: {reached}", scene.command.span)]
    if scene.program in ("task", "go-task"):
        # Only here is YAML needed, whose reader is dear to import.
        from chrono.scan.follow.taskfile import from_task

        return from_task(scene)
    return from_just(scene) if scene.program == "just" else []


class _Asked:
    """A make command line, taken apart."""

    def __init__(self, args: tuple[Word, ...], cwd: str) -> None:
        self.cwd = cwd
        self.files: list[str] = []
        self.goals: list[str] = []
        self.overrides: dict[str, str] = {}
        self.extra: list[str] = []
        self.runs = True
        at = 0
        while at < len(args):
            word = args[at]
            at += 1
            if not isinstance(word, str):
                continue
            if word.startswith("-") and len(word) > 1:
                at += self._option(word, args[at] if at < len(args) else None)
            elif "=" in word and word.partition("=")[0].rstrip(":+?").isidentifier():
                name, _, value = word.partition("=")
                self.overrides[name.rstrip(":+?")] = value
            elif word:
                self.goals.append(word)

    def _option(self, word: str, following: Word | None) -> int:
        """Takes one option; answers how many of the following words it used."""
        name, equals, value = word.partition("=")
        used = 0
        if not word.startswith("--"):
            flags = word[1:]
            for place, letter in enumerate(flags):
                if letter in "CfIoWE":
                    name, value = "-" + letter, flags[place + 1 :]
                    equals = value
                    break
                if letter in "nqtvh":
                    self.runs = False
                if letter in "jl":
                    numeric = isinstance(following, str) and following.replace(".", "").isdigit()
                    return 1 if place == len(flags) - 1 and numeric else 0
        elif name in _NO_RECIPES:
            self.runs = False
        if name in _VALUE_OPTIONS and not equals:
            value, used = following if isinstance(following, str) else "", 1
        if name in ("-C", "--directory") and value:
            self.cwd = os.path.normpath(os.path.join(self.cwd, value))
        elif name in ("-f", "--file", "--makefile") and value:
            self.files.append(value)
        elif name in ("--eval", "-E"):
            self.extra.append(value)
        return used


def _from_make(scene: Scene) -> Answers:
    asked = _Asked(scene.args, scene.cwd)
    answers: Answers = []
    read: list[File] = []

    def read_text(path: str) -> str | None:
        if any(sign in path for sign in "*?["):
            files = [scene.read(one) for one in scene.within(scene.program, scene.args, asked.cwd).matching(path)]
            return "\n".join(file.text for file in files if isinstance(file, File)) or None
        file = scene.read(path)
        if isinstance(file, Refusal):
            answers.append(file)
        return file.text if isinstance(file, File) else None

    exported = {n: v for n, v in (*scene.command.env, *scene.command.assigns) if isinstance(v, str)}

    def environ(name: str) -> str | None:
        return exported[name] if name in exported else scene.world.env(name)

    makefile = Makefile(asked.cwd, environ, read_text, asked.overrides)
    for text in asked.extra:
        makefile.add(text)
    for name in asked.files or ("GNUmakefile", "makefile", "Makefile"):
        if name == "-" and isinstance(scene.command.stdin, str):
            file: File | Refusal | None = File(os.path.join(asked.cwd, "-"), scene.command.stdin, None)
        else:
            file = scene.read(os.path.join(asked.cwd, name))
        if isinstance(file, Refusal):
            return [file]
        if file is not None:
            read.append(file)
            makefile.add(file.text)
            if not asked.files:
                break
    if not read:
        return answers
    main = read[0]
    immediate = list(dict.fromkeys(makefile.shell_calls))
    if immediate:
        link = f"{scene.shown(main.path)}:$(shell)"
        answers.append(scene.start("\n".join(immediate), _shell_of(makefile), link, file=main, cwd=asked.cwd))
    if asked.runs:
        goals = asked.goals or _default_goals(makefile)
        answers += _Walk(scene, makefile, main, asked).run(goals)
    return answers


def _default_goals(makefile: Makefile) -> list[str]:
    chosen = makefile.lookup(".DEFAULT_GOAL", {})
    if chosen is not None:
        return makefile.expand(chosen.value, {}).split()[:1]
    return [makefile.default] if makefile.default else []


def _shell_words(makefile: Makefile) -> list[str]:
    # A SHELL from the environment is ignored by make itself.
    shell = makefile.overrides.get("SHELL") or (
        makefile.variables["SHELL"].value if "SHELL" in makefile.variables else ""
    )
    return makefile.expand(shell, {}).split()


def _shell_of(makefile: Makefile) -> str:
    words = _shell_words(makefile)
    return (language_of_program(program_name(words[0])) if words else None) or "sh"


def _as_called(text: str, makefile: Makefile) -> str:
    """What starts the recipe where SHELL is no shell or interpreter that is known: that program, with its own words."""
    words = _shell_words(makefile)
    if not words or language_of_program(program_name(words[0])) is not None:
        return text
    return f"{' '.join(words)} -c {shlex.quote(text)}"


def _exported(makefile: Makefile) -> tuple[tuple[str, str], ...]:
    """The variables that recipes see in their environment."""
    names = makefile.exported
    if "*" in names:
        names = names | set(makefile.variables)
    found = ((name, makefile.lookup(name, {})) for name in sorted(names - {"*"}))
    return tuple((name, makefile.expand(held.value, {})) for name, held in found if held is not None)


class _Walk:
    """Visits targets depth first, each once, and turns their recipes into shell text."""

    def __init__(self, scene: Scene, makefile: Makefile, main: File, asked: _Asked) -> None:
        self.scene = scene
        self.makefile = makefile
        self.main = main
        self.asked = asked
        self.seen: set[str] = set()
        self.answers: Answers = []
        self.language = _shell_of(makefile)
        self.shown = scene.shown(main.path)

    def run(self, goals: list[str]) -> Answers:
        for goal in goals:
            self._visit(goal, ())
        return self.answers

    def _visit(self, target: str, chain: tuple[str, ...]) -> None:
        if target in self.seen or len(chain) > 60:
            return
        self.seen.add(target)
        if len(self.seen) > MAX_TARGETS:
            raise LimitReached(f"more than {MAX_TARGETS} targets are needed")
        chain = (*chain, target)
        for rule, stem in self.makefile.rules_of(target):
            local = self._target_values(target, chain)
            local |= {"@": target, "*": stem}
            expanded = self.makefile.expand(rule.prerequisites, local).split()
            if stem or rule.static_pattern or "%" in "".join(rule.targets):
                expanded = [word.replace("%", stem, 1) for word in expanded]
            for needed in expanded:
                self._visit(needed, chain)
            local |= {
                "<": expanded[0] if expanded else "",
                "^": " ".join(expanded),
                "?": " ".join(expanded),
                "+": " ".join(expanded),
            }
            if rule.recipe:
                self._emit(target, chain, self._recipe(rule.recipe, local))

    def _target_values(self, target: str, chain: tuple[str, ...]) -> dict[str, str]:
        """Variables set for a target also hold for what it needs."""
        local: dict[str, str] = {}
        for name in chain:
            for variable, value in self.makefile.target_variables.get(name, {}).items():
                if variable not in self.asked.overrides:
                    local[variable] = self.makefile.expand(value.value, dict(local)) if value.recursive else value.value
        return local

    def _recipe(self, recipe: tuple[str, ...], local: dict[str, str]) -> str:
        lines: list[str] = []
        for line in recipe:
            expanded = self.makefile.expand(line, local)
            for text in (expanded,) if expanded.count("\n") == line.count("\n") else expanded.split("\n"):
                text = text.lstrip().lstrip("@-+").lstrip() if text.lstrip()[:1] in ("@", "-", "+") else text
                if text.strip() and not text.lstrip().startswith("#"):
                    lines.append(text)
        if len(lines) < 2 or self.makefile.one_shell:
            return "\n".join(lines)
        # Each line has a shell of its own; that only shows where a line changes its shell.
        changing = ("cd ", "pushd ", "exit", "exec ", "export ", "set ", "=")
        return "\n".join(f"(\n{line}\n)" if any(word in line for word in changing) else line for line in lines)

    def _emit(self, target: str, chain: tuple[str, ...], text: str) -> None:
        if text:
            link = f"{self.shown}:{target}"
            start = self.scene.start(
                _as_called(text, self.makefile),
                self.language,
                link,
                file=self.main,
                cwd=self.asked.cwd,
                env=_exported(self.makefile),
            )
            earlier = tuple(f"{self.shown}:{name}" for name in chain[:-1])
            self.answers.append(start._replace(via=(*self.scene.command.via, *earlier, link)))
