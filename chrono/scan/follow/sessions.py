"""Owns what tasks start that are written in a language of their own tool: tox, nox, invoke, pytest, rake, mise, direnv.

Each becomes text that its interpreter would run; makefiles are left to `make`, `run` wrappers to `runners`.
"""

from __future__ import annotations

import os
import re

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.scene import File, Scene, Started, mapping

Answers = list[Started | Refusal]

MAX_TEST_FILES = 12
MAX_TEST_FUNCTIONS = 40
_SESSION = """
class _Session:
    def run(self, *words, **more):
        import subprocess
        subprocess.run(list(words))
    run_always = run_install = run
_session = _Session()
"""
_CONTEXT = """
class _Context:
    def run(self, text, **more):
        import os
        os.system(text)
    local = sudo = run
_context = _Context()
"""


def from_session(scene: Scene) -> Answers:
    """What a task of tox, nox, invoke, pytest, rake, mise or direnv runs; nothing for other programs."""
    program, args = scene.program, scene.args
    if program.startswith("python") and args[:1] == ("-m",) and len(args) > 1 and isinstance(args[1], str):
        program, args = args[1], args[2:]
        if program not in ("tox", "nox", "pytest", "invoke"):
            return []
    reader = {
        "tox": _tox, "nox": _nox, "inv": _invoke, "invoke": _invoke, "fab": _invoke, "pytest": _pytest,
        "py.test": _pytest, "rake": _rake, "rails": _rails_task, "mise": _mise, "direnv": _direnv,
    }.get(program)  # fmt: skip
    return reader(scene.within(program, args)) if reader else []


def _chosen(args: tuple[Word, ...], names: tuple[str, ...]) -> list[str]:
    """The values of an option that may be given several times or as a list with commas."""
    found: list[str] = []
    for at, word in enumerate(args):
        if not isinstance(word, str):
            continue
        name, equals, value = word.partition("=")
        if name in names:
            given = value if equals else args[at + 1] if at + 1 < len(args) else ""
            found += str(given).split(",")
        else:
            found += [word[2:]] if word[:2] in names and not word.startswith("--") and len(word) > 2 else []
    return [name.strip() for name in found if name.strip()]


def _operands(args: tuple[Word, ...]) -> list[str]:
    return [word for word in args if isinstance(word, str) and not word.startswith("-")]


# --- tox --------------------------------------------------------------------------------------------------------------


def _tox(scene: Scene) -> Answers:
    file = _first(scene, ("tox.ini", "setup.cfg", "tox.toml", "pyproject.toml"))
    if not isinstance(file, File):
        return [file] if isinstance(file, Refusal) else []
    sections = _toml_sections(file) if file.path.endswith(".toml") else _ini(file.text)
    chosen = _chosen(scene.args, ("-e", "--env", "--envlist"))
    answers: Answers = []
    for title, section in sections.items():
        base, _, name = title.removeprefix("tox:").partition(":")
        if base != "testenv" or (name and chosen and name not in chosen):
            continue
        lines = [line for key in ("commands_pre", "commands", "commands_post") for line in section.get(key, [])]
        text = "\n".join(_tox_command(inner) for line in lines for inner in _referred(line, sections))
        if text.strip():
            args = tuple(scene.args[scene.args.index("--") + 1 :]) if "--" in scene.args else ()
            link = f"{scene.shown(file.path)}:{title}"
            answers.append(scene.start(text, "sh", link, args=args, cwd=os.path.dirname(file.path)))
    return answers


def _referred(line: str, sections: dict[str, dict[str, list[str]]]) -> list[str]:
    """The lines of another section's value that a line stands for (`{[base]commands}`)."""
    found = re.fullmatch(r"\{\[([^\]]+)\](\w+)\}", line.strip())
    return sections.get(found[1], {}).get(found[2], []) if found is not None else [line]


def _toml_sections(file: File) -> dict[str, dict[str, list[str]]]:
    """The environments of a `tox.toml`, or of tox's table in `pyproject.toml`, as those of an ini file."""
    import shlex
    import tomllib

    try:
        document = tomllib.loads(file.text)
    except (ValueError, RecursionError):
        return {}
    if file.path.endswith("pyproject.toml"):
        document = mapping(mapping(document.get("tool")).get("tox"))
    legacy = document.get("legacy_tox_ini")
    if isinstance(legacy, str):
        return _ini(legacy)
    found: dict[str, dict[str, list[str]]] = {}
    base = mapping(document.get("env_run_base"))
    for name, own in {"": base, **mapping(document.get("env"))}.items():
        section = found.setdefault(f"testenv:{name}" if name else "testenv", {})
        for key in ("commands_pre", "commands", "commands_post"):
            listed = mapping(own).get(key)
            words = [command for command in listed if isinstance(command, list)] if isinstance(listed, list) else []
            section[key] = [shlex.join(word for word in command if isinstance(word, str)) for command in words]
    return found


def _tox_command(line: str) -> str:
    line = re.sub(r"^[-!@]\s*", "", line)
    line = re.sub(r"\{posargs(?::([^{}]*))?\}", lambda m: f'"${{@:-{m[1]}}}"' if m[1] else '"$@"', line)
    line = re.sub(r"\{env:(\w+)(?::([^{}]*))?\}", lambda m: f"${{{m[1]}:-{m[2] or ''}}}", line)
    line = line.replace("{toxinidir}", ".").replace("{tox_root}", ".")
    return re.sub(r"\{env(?:_)?python\}", "python", line)


def _ini(text: str) -> dict[str, dict[str, list[str]]]:
    """Sections of an ini file: key -> lines of its value."""
    sections: dict[str, dict[str, list[str]]] = {}
    values: list[str] = []
    section: dict[str, list[str]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1] == "[" and "]" in line:
            section = sections.setdefault(line[1 : line.index("]")], {})
            values = []
        elif line[:1] in (" ", "\t"):
            values += [line.strip()] if line.strip() and line.strip()[0] not in "#;" else []
        elif "=" in line and line[:1] not in "#;":
            key, _, value = line.partition("=")
            values = section.setdefault(key.strip(), [])
            values += [value.strip()] if value.strip() else []
    return sections


def _first(scene: Scene, names: tuple[str, ...]) -> File | Refusal | None:
    for name in names:
        file = scene.read(os.path.join(scene.cwd, name))
        if file is not None:
            return file
    return None


# --- Python: nox, invoke, pytest --------------------------------------------------------------------------------------

_DECORATED = r"^@(?:[\w.]*\b(?:{0}))\b(?:\([^()\n]*\))?[ \t]*\n(?:@[^\n]*\n)*def[ \t]+(\w+)"


def _nox(scene: Scene) -> Answers:
    path = (_chosen(scene.args, ("-f", "--noxfile")) or ["noxfile.py"])[0]
    chosen = _chosen(scene.args, ("-s", "--session", "--sessions", "-e"))
    return _decorated(scene, path, "session", [name.partition("-")[0] for name in chosen], _SESSION, "_session")


def _invoke(scene: Scene) -> Answers:
    path = "fabfile.py" if scene.program == "fab" else "tasks.py"
    wanted = [name.rpartition(".")[2].replace("-", "_") for name in _operands(scene.args)]
    return _decorated(scene, path, "task", wanted, _CONTEXT, "_context") if wanted else []


def _decorated(scene: Scene, path: str, mark: str, wanted: list[str], prelude: str, argument: str) -> Answers:
    """The functions with a decorator, called with a stand-in for what the tool hands over; all where none is named."""
    file = scene.read(os.path.join(scene.cwd, path))
    if not isinstance(file, File):
        return [file] if isinstance(file, Refusal) else []
    names = re.findall(_DECORATED.format(mark), file.text, re.M)
    needs = _needed_before(file.text, mark, names)
    wanted = [one for name in wanted for one in (*needs.get(name, ()), name)]
    # Decorators become comments, so that lines keep their numbers.
    text = re.sub(rf"^@[\w.]*\b{mark}\b(?:\([^()\n]*\))?[ \t]*$", "#", file.text, flags=re.M)
    calls = "".join(f"{name}({argument})\n" for name in ([n for n in wanted if n in names] if wanted else names))
    text = f"{text}\n{prelude}{calls}"
    return [scene.start(text, "python", scene.shown(file.path), file=file)]


def _needed_before(text: str, mark: str, names: list[str]) -> dict[str, list[str]]:
    """The tasks that a task's decorator names: `@task(clean)`, `@task(pre=[clean])`."""
    given = re.findall(rf"^@[\w.]*\b{mark}\b\(([^()\n]*)\)[ \t]*\n(?:@[^\n]*\n)*def[ \t]+(\w+)", text, re.M)
    return {name: [word for word in re.findall(r"\w+", words) if word in names] for words, name in given}


_TEST = re.compile(r"^def (test\w*)", re.M)
_HOOK = re.compile(r"^def (pytest_\w+)\(", re.M)
_FIXTURE = re.compile(_DECORATED.format("fixture"), re.M)


def _around(text: str) -> list[str]:
    """The functions that pytest calls by itself: its hooks, and fixtures."""
    return [*_HOOK.findall(text), *_FIXTURE.findall(text)][:MAX_TEST_FUNCTIONS]


def _pytest(scene: Scene) -> Answers:
    """`conftest.py` around the tests, and the test functions of files that are named."""
    named = [word.partition("::")[0] for word in _operands(scene.args)]
    homes = (os.path.dirname(word) if word.endswith(".py") else word for word in named)
    folders = dict.fromkeys([scene.cwd, *(scene.path(home or ".") or scene.cwd for home in homes)])
    answers: Answers = []
    for folder in list(folders)[:4]:
        file = scene.read(os.path.join(folder, "conftest.py"))
        if isinstance(file, File):
            calls = "".join(f"{name}()\n" for name in _around(file.text))
            answers.append(scene.start(f"{file.text}\n{calls}", "python", scene.shown(file.path), file=file))
    for word in [word for word in named if word.endswith(".py")][:MAX_TEST_FILES]:
        file = scene.read(scene.path(word) or word)
        if isinstance(file, File):
            calls = "".join(f"{name}()\n" for name in (*_around(file.text), *_TEST.findall(file.text)))
            answers.append(scene.start(f"{file.text}\n{calls}", "python", scene.shown(file.path), file=file))
    return answers


# --- rake -------------------------------------------------------------------------------------------------------------

_TASK = re.compile(r"^[ \t]*(?:multitask|task|file)[ \t(]+:?[\"']?([\w:.-]+)[\"']?([^\n]*)$")
_NEEDS = re.compile(r"(?:=>|:)[ \t]*(\[[^\]\n]*\]|:?[\"']?[\w:]+)")
_OPENS = re.compile(r"\bdo(?:[ \t]*\|[^|\n]*\|)?[ \t]*$")
_NAMESPACE = re.compile(r"^(?P<indent>[ \t]*)namespace[ \t(]+:?[\"']?(?P<name>\w+)[^\n]*do[ \t]*$")


def _rake(scene: Scene) -> Answers:
    """The Rakefile with the tasks that are not asked for cut out of it."""
    given = _chosen(scene.args, ("-f", "--rakefile"))
    file = _first(scene, tuple(given) or ("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"))
    if isinstance(file, Refusal):
        return [file]
    goals = [word.partition("[")[0] for word in _operands(scene.args) if "=" not in word] or ["default"]
    files = [file] if file is not None else []
    top = os.path.dirname(file.path) if file is not None else scene.cwd
    for folder in ("lib/tasks", "rakelib"):
        # What Rails and rake load by themselves, and what most Rakefiles import.
        root = os.path.join(top, folder)
        named = [name for name in sorted(scene.world.listdir(root) or ()) if name.endswith(".rake")]
        files += [f for name in named[:MAX_TEST_FILES] if isinstance(f := scene.read(f"{root}/{name}"), File)]
    return [scene.start(_with_goals(f.text, goals), "ruby", scene.shown(f.path), file=f) for f in files]


def _rails_task(scene: Scene) -> Answers:
    """`rails NAME:TASK` is `rake NAME:TASK`."""
    first = scene.args[0] if scene.args else None
    return _rake(scene) if isinstance(first, str) and ":" in first else []


def _with_goals(text: str, goals: list[str]) -> str:
    """The text of a Rakefile without the tasks that these do not need."""
    lines = text.splitlines()
    around: list[tuple[int, str]] = []
    tasks: list[tuple[int, str, list[str], bool]] = []
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        while around and line.strip() == "end" and indent <= around[-1][0]:
            around.pop()
        space = _NAMESPACE.match(line)
        task = _TASK.match(line)
        if space is not None:
            around.append((indent, space["name"]))
        elif task is not None:
            scope = "".join(f"{name}:" for _, name in around)
            name, rest = task[1], task[2]
            found = _NEEDS.search(":" + rest if name.endswith(":") else rest)
            needs = [need.strip(":") for need in re.findall(r"[\w:]+", found[1])] if found else []
            tasks.append((at, scope + name.strip(":"), needs, _OPENS.search(rest) is not None))
    wanted: set[str] = set()
    queue = list(goals)
    while queue:
        goal = queue.pop()
        if goal not in wanted:
            wanted.add(goal)
            for _, name, needs, _ in tasks:
                if name == goal:
                    queue += [*needs, *(f"{goal.rpartition(':')[0]}:{need}" for need in needs if ":" in goal)]
    for at, name, _, opens in tasks:
        if name not in wanted:
            lines[at] = "if false" if opens else "#"
    return "\n".join(lines)


# --- mise -------------------------------------------------------------------------------------------------------------


def _mise(scene: Scene) -> Answers:
    words = _operands(scene.args)
    if words[:1] not in (["run"], ["r"]) or len(words) < 2:
        return []
    for folder in ("mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"):
        path = os.path.join(scene.cwd, folder, words[1].replace(":", "/"))
        if isinstance(scene.read(path), File):
            return [scene.hand_on((path, *words[2:]), f"mise {words[1]}")]
    file = _first(scene, ("mise.toml", ".mise.toml", "mise/config.toml", ".config/mise.toml"))
    if not isinstance(file, File):
        return [file] if isinstance(file, Refusal) else []
    import tomllib

    try:
        tasks = mapping(tomllib.loads(file.text).get("tasks"))
    except (ValueError, RecursionError):
        return []
    answers: Answers = []
    queue, seen = [words[1]], set[str]()
    while queue and len(seen) < 50:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        task = tasks.get(name)
        needs = mapping(task).get("depends")
        queue += [n for n in needs if isinstance(n, str)] if isinstance(needs, list) else []
        run = mapping(task).get("run", task)
        text = "\n".join(map(str, run)) if isinstance(run, list) else run
        if isinstance(text, str):
            answers.append(scene.start(text, "sh", f"{scene.shown(file.path)}:tasks.{name}"))
    return answers


# --- direnv -----------------------------------------------------------------------------------------------------------


def _direnv(scene: Scene) -> Answers:
    """`direnv allow [FOLDER or FILE]`: the file runs whenever somebody enters the folder."""
    if scene.args[:1] not in (("allow",), ("permit",), ("grant",)):
        return []
    named = scene.path(scene.args[1] if len(scene.args) > 1 else ".") or scene.cwd
    for path in (f"{named}/.envrc", named):
        file = scene.read(path) if scene.exists(path) else None
        if isinstance(file, Refusal):
            return [] if path == named else [file]
        if file is not None:
            return [scene.start(file.text, "bash", scene.shown(file.path), file=file)]
    return []
