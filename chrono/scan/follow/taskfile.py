"""Owns what `task` starts: the commands of a Taskfile's tasks with their dependencies and variables, as shell text.

Makefiles are left to `make`, justfiles to `justfile`.
"""

from __future__ import annotations

import os

from chrono.scan.command import Refusal
from chrono.scan.follow.scene import File, Scene, Started
from chrono.yamlfile import YamlError, load

MAX_TASKS = 200
_NAMES = (
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "Taskfile.dist.yaml",
)
_VALUE_OPTIONS = frozenset(
    ("-d", "--dir", "-t", "--taskfile", "-o", "--output", "-C", "--concurrency", "-I", "--interval")
)
_NO_TASKS = frozenset(
    (
        "-n",
        "--dry",
        "-l",
        "--list",
        "-a",
        "--list-all",
        "--summary",
        "--status",
        "-h",
        "--help",
        "--version",
        "-i",
        "--init",
    )
)

Answers = list[Started | Refusal]


def from_task(scene: Scene) -> Answers:
    """The commands that a `task` command line runs."""
    folder, path, names, given = scene.cwd, None, [], {}
    at = 0
    while at < len(scene.args):
        word = scene.args[at]
        at += 1
        if not isinstance(word, str):
            continue
        if word in _NO_TASKS:
            return []
        if word == "--":
            given["CLI_ARGS"] = " ".join(w for w in scene.args[at:] if isinstance(w, str))
            break
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            if not equals and name in _VALUE_OPTIONS and at < len(scene.args):
                value = str(scene.args[at])
                at += 1
            if name in ("-d", "--dir"):
                folder = scene.path(value) or folder
            elif name in ("-t", "--taskfile"):
                path = scene.path(value)
        elif "=" in word:
            given[word.partition("=")[0]] = word.partition("=")[2]
        else:
            names.append(word)
    file = scene.read(path) if path else _find(scene, folder)
    if not isinstance(file, File):
        return [file] if isinstance(file, Refusal) else []
    try:
        document = load(file.text, name=scene.shown(file.path)).value
    except YamlError as error:
        return [Refusal("unparsed", str(error), scene.command.span)]
    return _Run(scene, file, document, given).goals(names or ["default"])


def _find_here(scene: Scene, folder: str) -> File | Refusal | None:
    for name in _NAMES:
        file = scene.read(os.path.join(folder, name))
        if file is not None:
            return file
    return None


def _find(scene: Scene, folder: str) -> File | Refusal | None:
    for _ in range(24):
        file = _find_here(scene, folder)
        if file is not None:
            return file
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return None


class _Run:
    def __init__(self, scene: Scene, file: File, document: object, given: dict[str, str]) -> None:
        root = document if isinstance(document, dict) else {}
        tasks = root.get("tasks")
        self.scene = scene
        self.file = file
        self.tasks: dict[str, object] = dict(tasks) if isinstance(tasks, dict) else {}
        self.variables = {**_texts(root.get("vars")), **_texts(root.get("env")), **given}
        self.given = given
        self.shown = scene.shown(file.path)
        self.answers: Answers = []
        self.seen: set[str] = set()
        self._include(root.get("includes"), os.path.dirname(file.path))

    def _include(self, entries: object, folder: str) -> None:
        """Tasks of other Taskfiles, under `namespace:`."""
        for space, entry in entries.items() if isinstance(entries, dict) else ():
            target = entry.get("taskfile") if isinstance(entry, dict) else entry
            if not isinstance(target, str) or "://" in target:
                continue
            path = os.path.normpath(os.path.join(folder, target))
            file = self.scene.read(path) if path.endswith((".yml", ".yaml")) else _find_here(self.scene, path)
            if not isinstance(file, File):
                continue
            try:
                document = load(file.text, name=self.scene.shown(file.path)).value
            except YamlError:
                continue
            root = document if isinstance(document, dict) else {}
            tasks = root.get("tasks")
            self.variables = {**_texts(root.get("vars")), **self.variables}
            own = os.path.dirname(file.path)
            for name, task in tasks.items() if isinstance(tasks, dict) else ():
                entry = task if isinstance(task, dict) else {"cmds": task}
                self.tasks[f"{space}:{name}"] = {"dir": own, **entry}

    def goals(self, names: list[str]) -> Answers:
        for name in names:
            self._run(name, ())
        return self.answers

    def _run(self, name: str, chain: tuple[str, ...]) -> None:
        task = self.tasks.get(name)
        if task is None or name in self.seen or len(self.seen) > MAX_TASKS or len(chain) > 30:
            return
        self.seen.add(name)
        chain = (*chain, f"{self.shown}:{name}")
        entry = task if isinstance(task, dict) else {"cmds": task}
        local = {**self.variables, **_texts(entry.get("vars")), **_texts(entry.get("env")), **self.given}
        for needed in _listed(entry.get("deps")):
            self._run(_name_of(needed), chain)
        lines: list[str] = []
        for command in (*_listed(entry.get("cmds")), *_listed(entry.get("cmd"))):
            if isinstance(command, dict) and "task" in command:
                self._run(_name_of(command), chain)
                continue
            text = command.get("cmd", command.get("defer")) if isinstance(command, dict) else command
            if isinstance(text, str):
                lines.append(_filled(text, local))
        if lines:
            folder = entry.get("dir")
            base = os.path.dirname(self.file.path)
            cwd = os.path.normpath(os.path.join(base, _filled(folder, local))) if isinstance(folder, str) else base
            start = self.scene.start("\n".join(lines), "bash", chain[-1], file=self.file, cwd=cwd)
            self.answers.append(start._replace(via=(*self.scene.command.via, *chain)))


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _name_of(entry: object) -> str:
    name = entry.get("task") if isinstance(entry, dict) else entry
    return name if isinstance(name, str) else ""


def _texts(value: object) -> dict[str, str]:
    """Variables; `{sh: …}` is what the shell's own `$(…)` gives."""
    found: dict[str, str] = {}
    for name, entry in value.items() if isinstance(value, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("sh"), str):
            found[name] = f"$({entry['sh']})"
        elif isinstance(entry, str | int | float):
            found[name] = str(entry)
    return found


def _filled(text: str, variables: dict[str, str], depth: int = 0) -> str:
    """`{{.NAME}}` replaced; what is not known is what an unknown program prints."""
    out: list[str] = []
    at = 0
    while (opening := text.find("{{", at)) >= 0 and depth < 8:
        closing = text.find("}}", opening)
        if closing < 0:
            break
        name = text[opening + 2 : closing].strip().lstrip("-").strip().removeprefix(".")
        known = variables.get(name, "$HOME" if name == "HOME" else None)
        out += [text[at:opening], "$(task-value)" if known is None else _filled(known, variables, depth + 1)]
        at = closing + 2
    return "".join(out) + text[at:]
