"""Owns the commands that a tool's own file lists: Procfiles, hooks of pre-commit and lefthook, jobs of CI, build files.

Files that are code are left to `loaded` and `foreign_scripts`, makefiles and their like to `make`. docs: decision 102.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from chrono.scan.command import Refusal
from chrono.scan.follow.later import runs_later
from chrono.scan.follow.scene import File, Scene, Started, files_below, mapping

Answers = list[Started | Refusal]
Texts = Iterator[tuple[str, str]]
"""(name of the entry, shell text)."""

MAX_CHARS = 200_000
MAX_TEXTS = 60
_FILE_OPTIONS = ("-f", "-c", "-W", "--file", "--config", "--procfile", "--workflows", "-d", "-P", "-s", "--snakefile")

_TEMPLATE = re.compile(r"\$?\{\{[^{}\n]{0,200}\}\}")
_STRING = r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'"
_STRINGS = re.compile(_STRING)


def from_listed(scene: Scene) -> Answers:
    """What the file of this command's tool lists; nothing for other programs."""
    entry = _READERS.get(scene.program)
    if entry is None or (scene.args and scene.args[0] in ("--version", "--help", "-h", "version", "help")):
        return []
    names, read = entry
    if scene.program == "go" and scene.args[:1] != ("generate",):
        return []
    answers: Answers = []
    for path in _paths(scene, names):
        file = scene.read(path)
        if not isinstance(file, File) or len(file.text) > MAX_CHARS:
            continue
        for name, text in read(scene, file):
            link = f"{scene.shown(file.path)}:{name}" if name else scene.shown(file.path)
            started = scene.start(_TEMPLATE.sub("x", text), "bash", link)
            answers.append(started._replace(path=file.path, sha256=file.sha256, beside=True))
            if len(answers) >= MAX_TEXTS:
                return answers
    return answers


def _paths(scene: Scene, names: tuple[str, ...]) -> list[str]:
    """The file that an option names, else those of these names; one that ends in a star stands for a folder's."""
    for at, word in enumerate(scene.args[:-1]):
        if word in _FILE_OPTIONS:
            path = scene.path(scene.args[at + 1])
            if path is not None and isinstance(scene.read(path), File):
                return [path]
    if not names:
        return [path for word in scene.args if (path := scene.path(word)) is not None and "." in os.path.basename(path)]
    return [path for name in names for path in _fitting(scene, name)]


def _fitting(scene: Scene, name: str) -> list[str]:
    """The paths that a name with at most one star in it stands for; with two it stands for any depth."""
    folder, star, rest = name.partition("*")
    if rest[:1] == "*":
        return list(files_below(scene, scene.cwd, rest[1:]))
    if not star:
        return [os.path.normpath(os.path.join(scene.cwd, name))]
    root = os.path.normpath(os.path.join(scene.cwd, folder))
    listed = sorted(scene.world.listdir(root) or ())
    if rest.startswith("/"):
        return [f"{root}/{one}{rest}" for one in listed[:200] if scene.exists(f"{root}/{one}{rest}")][:24]
    return [f"{root}/{one}" for one in listed if one.endswith(rest)][:24]


def _wanted(scene: Scene) -> set[str]:
    """The operands; what stands behind a file's option is none."""
    before = (None, *scene.args)
    return {
        word
        for option, word in zip(before, scene.args, strict=False)
        if isinstance(word, str) and not word.startswith("-") and option not in _FILE_OPTIONS
    }


# --- files in YAML ----------------------------------------------------------------------------------------------------


def _document(file: File) -> dict[str, object]:
    from chrono.yamlfile import YamlError, load

    try:
        return mapping(load(file.text, name=file.path).value)
    except YamlError:
        return {}


def _lines(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(line for line in map(_lines, value) if line)
    return value if isinstance(value, str) else ""


def _values(value: object, keys: frozenset[str]) -> Iterator[str]:
    """Texts under these keys, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and _lines(inner):
                yield _lines(inner)
            else:
                yield from _values(inner, keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, keys)


def _jobs(scene: Scene, file: File) -> Texts:
    """`act`: the steps of a workflow's jobs, or of the one that `-j` names."""
    jobs = mapping(_document(file).get("jobs"))
    asked = [scene.args[at + 1] for at, word in enumerate(scene.args[:-1]) if word in ("-j", "--job")]
    for name, job in jobs.items():
        if not asked or name in asked:
            for text in _values(mapping(job).get("steps"), frozenset(("run",))):
                yield f"jobs.{name}", text
            for action in _values(mapping(job).get("steps"), frozenset(("uses",))):
                for ending in ("yml", "yaml") if action.startswith("./") else ():
                    own = scene.read(os.path.join(scene.cwd, action, f"action.{ending}"))
                    runs = mapping(_document(own).get("runs")) if isinstance(own, File) else {}
                    yield from ((action, text) for text in _values(runs.get("steps"), frozenset(("run",))))


def _stages(scene: Scene, file: File) -> Texts:
    """`gitlab-ci-local`, `gitlab-runner exec`: the scripts of jobs, all of them or those that are named."""
    document = _document(file)
    asked = _wanted(scene) & set(document)
    for name, job in document.items():
        if not asked or name in asked:
            for text in _values(job, frozenset(("before_script", "script", "after_script"))):
                yield name, text


def _hooks(scene: Scene, file: File) -> Texts:
    """`pre-commit run`: the entries of a project's own hooks."""
    if not {"run", "try-repo"} & _wanted(scene):
        return
    asked = _wanted(scene) - {"run"}
    repositories = _document(file).get("repos")
    for repository in repositories if isinstance(repositories, list) else ():
        hooks = mapping(repository).get("hooks") if mapping(repository).get("repo") == "local" else None
        for hook in hooks if isinstance(hooks, list) else ():
            name = str(mapping(hook).get("id", ""))
            if not asked or name in asked:
                args = mapping(hook).get("args")
                words = [str(word) for word in args] if isinstance(args, list) else []
                yield name, " ".join((_lines(mapping(hook).get("entry")), *words))


def _lefthook(scene: Scene, file: File) -> Texts:
    asked = _wanted(scene) - {"run"}
    for name, hook in _document(file).items():
        if "run" in scene.args and (not asked or name in asked):
            for text in _values(hook, frozenset(("run",))):
                yield name, text
            for script in mapping(mapping(hook).get("scripts")):
                yield name, f"./.lefthook/{name}/{script}"


def _plays(scene: Scene, file: File) -> Texts:
    """`ansible-playbook` on this machine: its shell and command tasks."""
    if not re.search(r"\blocal(?:host)?\b|127\.0\.0\.1", f"{' '.join(map(str, scene.args))} {file.text}"):
        return
    from chrono.yamlfile import YamlError, load

    keys = ("shell", "command", "raw", "script", "ansible.builtin.shell", "ansible.builtin.command")
    try:
        document = load(file.text, name=file.path).value
    except YamlError:
        return
    for text in _values(document, frozenset((*keys, "ansible.builtin.raw", "ansible.builtin.script", "cmd"))):
        yield "tasks", text
    for path in files_below(scene, os.path.join(os.path.dirname(file.path), "roles"), "main.yml"):
        role = scene.read(path) if "/tasks/" in path and path.split("/")[-3] in file.text else None
        if isinstance(role, File) and role.path != file.path:
            yield from _plays(scene, role._replace(text=f"# localhost\n{role.text}"))
    for target, variables in _absent(document, {}):
        for name in _PLAY_VARIABLE.findall(target):
            target = re.sub(rf"\{{\{{\s*{name}\s*\}}\}}", variables.get(name, "x").replace("\\", ""), target)
        yield "tasks", "rm -rf " + _quoted([target])


_PLAY_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def _absent(value: object, around: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Paths that `file: state=absent` names, with the variables that hold there."""
    if isinstance(value, list):
        for inner in value:
            yield from _absent(inner, around)
    table = mapping(value)
    given = {str(name): held for name, held in mapping(table.get("vars")).items() if isinstance(held, str)}
    if table.get("state") == "absent":
        path = next((table[key] for key in ("path", "dest", "name") if isinstance(table.get(key), str)), None)
        if isinstance(path, str) and ("/" in path or "{{" in path):
            yield path, around | given
    for inner in table.values():
        yield from _absent(inner, around | given)


def _keys(*keys: str) -> Callable[[Scene, File], Texts]:
    return lambda scene, file: (("", text) for text in _values(_document(file), frozenset(keys)))


# --- other files ------------------------------------------------------------------------------------------------------


def _later(scene: Scene, file: File) -> Texts:
    """Files that are known as what a tool runs later."""
    for found in runs_later(file.path, file.text):
        if found.language == "bash":
            yield "", found.text


def _processes(scene: Scene, file: File) -> Texts:
    asked = _wanted(scene) - {"start", "run", "s"}
    for name, text in re.findall(r"^([\w-]+):[ \t]*(\S[^\n]*)$", file.text, re.M):
        if not asked or name in asked:
            yield name, text


def _toml_commands(scene: Scene, file: File) -> Texts:
    for key, first, second in re.findall(
        rf"^[ \t]*(cmd|full_bin|bin|pre_cmd)[ \t]*=[ \t]*\[?(?:{_STRING})", file.text, re.M
    ):
        if key != "bin":
            yield key, first or second


def _ninja(scene: Scene, file: File) -> Texts:
    for text in re.findall(r"^[ \t]+command[ \t]*=[ \t]*([^\n]+)$", file.text.replace("$\n", ""), re.M):
        yield "command", re.sub(r"\$(?:\w+|\{\w+\})", "x", text.replace("$$", "\0")).replace("\0", "$")


_CMAKE_CALL = re.compile(
    r"\b(execute_process|add_custom_command|add_custom_target|add_test)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.I
)
_CMAKE_WORDS = (
    "COMMENT WORKING_DIRECTORY DEPENDS OUTPUT VERBATIM USES_TERMINAL BYPRODUCTS RESULT_VARIABLE OUTPUT_VARIABLE TARGET "
    "ERROR_VARIABLE INPUT_FILE OUTPUT_FILE ERROR_FILE TIMEOUT POST_BUILD PRE_BUILD PRE_LINK COMMAND_ERROR_IS_FATAL ALL "
    "OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_QUIET ERROR_QUIET COMMAND NAME ARGS RESULTS_VARIABLE"
).split()
_CMAKE_PARTS = re.compile(r"\s(" + "|".join(_CMAKE_WORDS) + r")(?=\s|$)")


def _cmake(scene: Scene, file: File) -> Texts:
    text = re.sub(r"(?m)^\s*#.*$", "", file.text)
    text = re.sub(r"\$ENV\{(\w+)\}", r"$\1", text).replace("${CMAKE_COMMAND}", "cmake")
    text = text.replace("${CMAKE_CURRENT_LIST_DIR}", os.path.dirname(file.path))
    text = re.sub(r"\$\{(?:CMAKE|PROJECT)_(?:CURRENT_)?SOURCE_DIR\}", ".", text)
    for name, body in _CMAKE_CALL.findall(text):
        parts = _CMAKE_PARTS.split(f" {body} ")
        for keyword, words in zip(parts[1::2], parts[2::2], strict=False):
            if keyword == "COMMAND" and words.strip():
                yield name, re.sub(r"\$(?:<[^>]*>|\{\w+\})", "x", " ".join(words.split()))
    for target in re.findall(r"\bfile\s*\(\s*REMOVE(?:_RECURSE)?\s+([^()]+)\)", text, re.I):
        yield "file", "rm -rf " + re.sub(r"\$\{\w+\}", "x", " ".join(target.split()))


_MESON_CALL = re.compile(r"\brun_command\s*\(([^()]*)\)|\bcommand\s*:\s*(\[[^\]]*\]|'[^']*')")


def _meson(scene: Scene, file: File) -> Texts:
    for first, second in _MESON_CALL.findall(file.text):
        yield "command", _quoted(_literals(first or second))


def _literals(text: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", one or other) for one, other in _STRINGS.findall(text)]


def _quoted(words: list[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


_XML_EXEC = re.compile(r"<exec\b[^>]*\bexecutable=\"([^\"]*)\"[^>]*>(.*?)</exec>", re.S)
_XML_ARG = re.compile(r"<arg\b[^>]*\b(?:value|line|file|path)=\"([^\"]*)\"")
_MAVEN_EXEC = re.compile(r"<executable>([^<]*)</executable>(.*?)</configuration>", re.S)
_MAVEN_ARG = re.compile(r"<(?:argument|commandlineArgs)>([^<]*)</(?:argument|commandlineArgs)>")
_XML_DELETE = re.compile(
    r"<delete\b[^>]*\b(?:dir|file)=\"([^\"]*)\"|<filesets?>.*?<directory>([^<]*)</directory>", re.S
)


def _xml(scene: Scene, file: File) -> Texts:
    """What ant and Maven run: `<exec>` and the configuration of exec-maven-plugin."""
    from html import unescape

    for pattern, argument in ((_XML_EXEC, _XML_ARG), (_MAVEN_EXEC, _MAVEN_ARG)):
        for program, rest in pattern.findall(file.text):
            words = [unescape(word) for word in argument.findall(rest)]
            one = len(words) > 1 and words[0] in ("-c", "/c")
            yield "exec", f"{program} {_quoted(words) if one else ' '.join(words)}"
    for found in _XML_DELETE.findall(file.text):
        target = re.sub(r"\$\{(?:user\.home|env\.HOME)\}", "~", found[0] or found[1])
        yield "delete", "rm -rf " + re.sub(r"\$\{[\w.]+\}", "x", target)


_GRADLE_DELETE = re.compile(r"\bdelete\s*\(?\s*(?:project\.)?(?=[\"'fF])")
_GRADLE_LINE = re.compile(r"\bcommandLine\b([^\n]*)")
_GRADLE_EXECUTE = re.compile(rf"(?:{_STRING})\.execute\(\)")


def _gradle(scene: Scene, file: File) -> Texts:
    text = re.sub(r"\$\{?System\.(?:getProperty\([\"']user\.home[\"']\)|getenv\([\"']HOME[\"']\))\}?", "~", file.text)
    text = re.sub(r"System\.(?:getProperty\([\"']user\.home[\"']\)|getenv\([\"']HOME[\"']\))", '"~"', text)
    for rest in _GRADLE_LINE.findall(text):
        if _literals(rest):
            yield "commandLine", _quoted(_literals(rest))
    for first, second in _GRADLE_EXECUTE.findall(text):
        yield "execute", first or second
    from chrono.scan.foreign_calls import constant_path

    text = text.replace("file(", "File(")
    for match in _GRADLE_DELETE.finditer(text):
        path = constant_path(text[match.end() :][:240])
        if path:
            yield "delete", f"rm -rf {path}"


_TERRAFORM = re.compile(r"\bprovisioner\s+\"local-exec\"\s*\{(.*?)^\s*\}", re.S | re.M)
_HCL_COMMAND = re.compile(
    r"\bcommand\s*=\s*(?:\"((?:[^\"\\\n]|\\.)*)\"|<<-?\s*\"?(\w+)\"?\n(.*?)^\s*\2\s*$)", re.S | re.M
)


def _terraform(scene: Scene, file: File) -> Texts:
    if not {"apply", "destroy", "plan"} & _wanted(scene):
        return
    for words in _EXTERNAL.findall(file.text):
        yield "external", _quoted(_literals(words))
    for block in _TERRAFORM.findall(file.text):
        for line, _, document in _HCL_COMMAND.findall(block):
            text = re.sub(r"\\(.)", r"\1", line) if line else document
            yield "local-exec", re.sub(r"\$\{[^{}]*\}", "x", text)


_EXTERNAL = re.compile(r"\bdata\s+\"external\"[^{]*\{[^}]*?\bprogram\s*=\s*\[([^\]]*)\]", re.S)


def _earthly(scene: Scene, file: File) -> Texts:
    """What an Earthfile runs on the machine itself: below `LOCALLY`."""
    local = False
    for line in file.text.replace("\\\n", " ").splitlines():
        words = line.split(None, 1)
        if line[:1].strip():
            local = False
        elif words[:1] == ["LOCALLY"]:
            local = True
        elif words[:1] == ["RUN"] and local and len(words) > 1:
            yield "RUN", words[1]


def _mask(scene: Scene, file: File) -> Texts:
    """`mask NAME`: the block of code below the heading of that name."""
    asked = _wanted(scene)
    for title, language, text in re.findall(
        r"^#{2,}[ \t]+([^\n(]+)[^\n]*\n(?:(?!^#|^```).*\n)*```(\w*)\n(.*?)^```", file.text, re.S | re.M
    ):
        if title.strip().split()[-1] in asked and language in ("", "sh", "bash", "zsh"):
            yield title.strip(), text


def _staged(scene: Scene, file: File) -> Texts:
    import json

    try:
        document = mapping(json.loads(file.text))
    except ValueError:
        document = _document(file)
    table = mapping(document.get("lint-staged")) if file.path.endswith("package.json") else document
    for glob, value in table.items():
        for line in _lines(value).splitlines():
            yield f"lint-staged.{glob}", line


def _nx(scene: Scene, file: File) -> Texts:
    """`nx run PROJECT:TARGET`, `nx TARGET PROJECT`: commands of a project's targets."""
    import json

    try:
        targets = mapping(mapping(json.loads(file.text)).get("targets"))
    except ValueError:
        return
    asked = {part for word in _wanted(scene) for part in word.split(":")}
    for name, target in targets.items():
        if name in asked or any(word.startswith(("--target", "-t")) for word in map(str, scene.args)):
            for text in _values(target, frozenset(("command", "commands"))):
                yield name, text


_ACTIONS = re.compile(r"[\"']actions[\"']\s*:\s*\[([^\[\]]*)\]")


def _doit(scene: Scene, file: File) -> Texts:
    for listed in _ACTIONS.findall(file.text):
        yield from (("actions", text) for text in _literals(listed))


_SNAKE = re.compile(
    r"^[ \t]+shell:\s*(?:\"{3}(.*?)\"{3}|'{3}(.*?)'{3}|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)')", re.S | re.M
)


def _snakemake(scene: Scene, file: File) -> Texts:
    for found in _SNAKE.findall(file.text):
        yield "shell", re.sub(r"\{[^{}\n]*\}", "x", next((text for text in found if text), ""))


_PACKER = re.compile(r"\bprovisioner\s+\"shell-local\"\s*\{(.*?)^\s*\}", re.S | re.M)


def _packer(scene: Scene, file: File) -> Texts:
    for block in _PACKER.findall(file.text):
        yield from (("shell-local", text) for text in _literals(block))


_BAZEL = re.compile(r"\bsh_(?:binary|test)\s*\(([^()]*)\)|\bcmd\s*=\s*" + f"(?:{_STRING})")


def _bazel(scene: Scene, file: File) -> Texts:
    """Scripts of `sh_binary` and commands of `genrule`."""
    for rule, first, second in _BAZEL.findall(file.text):
        sources = re.search(r"srcs\s*=\s*\[([^\[\]]*)\]", rule)
        if sources is not None:
            yield from (("srcs", f"sh ./{name.lstrip(':')}") for name in _literals(sources[1]))
        elif first or second:
            yield "cmd", re.sub(r"\$[@<]|\$\([^()]*\)", "x", first or second).replace("$$", "$")


def _calls(scene: Scene, file: File) -> Texts:
    from chrono.scan.foreign_calls import shell_texts

    yield from (("", text) for text in shell_texts(file.text, whole=True))


_GRUNT_COMMAND = re.compile(rf"([\w-]+)[\"']?\s*:\s*\{{[^{{}}]*\b(?:command|cmd)\s*:\s*(?:{_STRING})")
_GRUNT_ALIAS = re.compile(r"registerTask\(\s*[\"']([\w:-]+)[\"'][^\[\n]*\[([^\]]*)\]")


def _grunt(scene: Scene, file: File) -> Texts:
    """Commands of `grunt-shell` and `grunt-exec` under the tasks that are asked for, aliases seen through."""
    aliases = dict(_GRUNT_ALIAS.findall(file.text))
    waiting = list(_wanted(scene) or {"default"})
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [*_literals(aliases.get(name, "")), *name.split(":")[1:]]
    for name, first, second in _GRUNT_COMMAND.findall(file.text):
        if name in reached or {"shell", "exec"} & reached:
            yield name, first or second


_WEB_SERVER = re.compile(rf"\bwebServer\b[^)]*?\bcommand\s*:\s*(?:{_STRING})")


def _web_server(scene: Scene, file: File) -> Texts:
    """What `playwright test` starts to have something to look at."""
    if "test" in scene.args:
        yield from (("webServer", first or second) for first, second in _WEB_SERVER.findall(file.text))


def _go_generate(scene: Scene, file: File) -> Texts:
    if scene.args[:1] == ("generate",):
        for text in re.findall(r"^//go:generate[ \t]+([^\n]+)$", file.text, re.M):
            yield "go:generate", text


def _cargo(scene: Scene, file: File) -> Texts:
    """Programs that cargo's configuration puts around what it runs."""
    yield from (("", found.text) for found in runs_later(file.path, file.text))


_WORKFLOWS = (".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitea/workflows/*.yml")
_NX = ("project.json", "*/project.json", "packages/*/project.json", "apps/*/project.json", "libs/*/project.json")
_READERS: dict[str, tuple[tuple[str, ...], Callable[[Scene, File], Texts]]] = {
    **dict.fromkeys(
        ("foreman", "honcho", "overmind", "goreman", "hivemind", "forego", "nf"), (("Procfile",), _processes)
    ),
    "act": (_WORKFLOWS, _jobs),
    **dict.fromkeys(("gitlab-ci-local", "gitlab-runner"), ((".gitlab-ci.yml",), _stages)),
    "drone": ((".drone.yml",), _keys("commands")),
    "woodpecker-cli": ((".woodpecker.yml", ".woodpecker/*.yml"), _keys("commands")),
    "circleci": ((".circleci/config.yml",), _keys("run", "command")),
    "pre-commit": ((".pre-commit-config.yaml",), _hooks),
    "prek": ((".pre-commit-config.yaml",), _hooks),
    "lefthook": (("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"), _lefthook),
    "lint-staged": (("package.json", ".lintstagedrc", ".lintstagedrc.json", ".lintstagedrc.yaml"), _staged),
    "ansible-playbook": ((), _plays),
    "devcontainer": ((".devcontainer/devcontainer.json", ".devcontainer.json"), _later),
    **dict.fromkeys(("terraform", "tofu"), (("*.tf",), _terraform)),
    "earthly": (("Earthfile",), _earthly),
    "mask": (("maskfile.md",), _mask),
    "air": ((".air.toml",), _toml_commands),
    "ninja": (("build.ninja", "build/build.ninja"), _ninja),
    "cmake": (("CMakeLists.txt", "../CMakeLists.txt", "*.cmake"), _cmake),
    "ctest": (("CMakeLists.txt", "../CMakeLists.txt"), _cmake),
    "meson": (("meson.build",), _meson),
    **dict.fromkeys(("mvn", "mvnw", "ant"), (("pom.xml", "build.xml"), _xml)),
    **dict.fromkeys(
        ("gradle", "gradlew", "gradlew.bat"), (("build.gradle", "build.gradle.kts", "app/build.gradle"), _gradle)
    ),
    "nx": (_NX, _nx),
    "go": (("**.go",), _go_generate),
    "grunt": (("Gruntfile.js", "Gruntfile.cjs", "Gruntfile.ts", "gruntfile.js"), _grunt),
    "playwright": (("playwright.config.ts", "playwright.config.js", "playwright.config.mjs"), _web_server),
    "doit": (("dodo.py",), _doit),
    "snakemake": (("Snakefile", "workflow/Snakefile"), _snakemake),
    "packer": (("*.pkr.hcl",), _packer),
    **dict.fromkeys(("bazel", "bazelisk"), (("BUILD", "BUILD.bazel"), _bazel)),
    "sbt": (("build.sbt",), _calls),
    "tilt": (("Tiltfile",), _calls),
    "zig": (("build.zig",), _calls),
    "cargo": ((".cargo/config.toml", ".cargo/config"), _cargo),
    "skaffold": (("skaffold.yaml",), _keys("command", "buildCommand")),
    "goreleaser": ((".goreleaser.yaml", ".goreleaser.yml"), _keys("hooks", "cmd", "pre", "post")),
    "melos": (("melos.yaml",), _keys("run", "exec")),
    "moon": (("moon.yml",), _keys("command", "script")),
    "dvc": (("dvc.yaml",), _keys("cmd")),
}

TOOLS = frozenset(_READERS)
