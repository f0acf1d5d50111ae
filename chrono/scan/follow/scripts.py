"""Owns which text an interpreter's command line names: a script file, code after -c or -e, a module, standard input.

`sh -c` is left to the shell evaluator, package managers to `packages`; what the text does to `scan.code`.
"""

from __future__ import annotations

import os

from chrono.scan.command import Pattern, Refusal, Word
from chrono.scan.follow.programs import names_a_path, program_name
from chrono.scan.follow.scene import MAX_MATCHES, File, Scene, Started

SHELLS = {
    "sh": "sh", "dash": "sh", "ash": "sh", "posh": "sh", "bash": "bash", "rbash": "bash", "ksh": "bash",
    "ksh93": "bash", "mksh": "bash", "zsh": "zsh",
}  # fmt: skip
_SHELL_LANGUAGES = frozenset(SHELLS.values())
NODE_LIKE = frozenset(
    ("node", "nodejs", "tsx", "ts-node", "ts-node-esm", "esno", "babel-node", "nodemon", "iojs", "zx")
)
ENDINGS = {
    "sh": "sh", "bash": "bash", "zsh": "zsh", "ksh": "bash", "command": "sh", "py": "python", "pyw": "python",
    "js": "javascript", "mjs": "javascript", "cjs": "javascript", "ts": "javascript", "mts": "javascript",
    "cts": "javascript", "jsx": "javascript", "tsx": "javascript", "rb": "ruby", "pl": "perl", "php": "php",
    "ps1": "powershell", "cmd": "cmd", "bat": "cmd",
}  # fmt: skip

Answers = list[Started | Refusal]


def from_interpreter(scene: Scene) -> Answers:
    """What an interpreter, or a script run by its own path, starts."""
    word = scene.command.argv[0]
    if isinstance(word, str) and names_a_path(word) and scene.args == scene.command.argv[1:]:
        path = scene.path(word.replace("\\", "/") if "\\" in word and scene.world.platform == "win32" else word)
        own = _run_directly(scene, path) if path else []
        if own:
            return own
    if isinstance(word, Pattern) and scene.args == scene.command.argv[1:]:
        own = [answer for path in scene.matching(word) for answer in _run_directly(scene, path, otherwise=None)]
        if own:
            return own
    if scene.program == "run-parts":
        return _from_folder(scene)
    language = language_of_program(scene.program)
    if language is not None and _only_checks(scene.args, language):
        return []
    if language in ("sh", "bash", "zsh"):
        return _from_shell(scene, language)
    reader = {
        "python": _from_python,
        "javascript": _from_javascript,
        "ruby": _from_ruby,
        "perl": _from_perl,
        "php": _from_php,
        "powershell": _from_powershell,
        "cmd": _from_cmd,
    }.get(language or "")
    return reader(scene) if reader else []


_SHELL_LETTERS = frozenset("abefhkmnuvxBCEHPT")
_CHECKS: dict[str, tuple[str, frozenset[str], tuple[str, ...]]] = {
    "sh": ("n", _SHELL_LETTERS, ()),
    "bash": ("n", _SHELL_LETTERS, ()),
    "zsh": ("n", _SHELL_LETTERS, ()),
    "javascript": ("", frozenset(), ("--check", "-c")),
    "ruby": ("c", frozenset("cwWvd"), ("--syntax-check",)),
    "perl": ("c", frozenset("cwWtT"), ()),
    "php": ("l", frozenset("ln"), ("--syntax-check",)),
}
"""By language: the letter that only checks, letters it may stand among, long options that say the same."""


def _only_checks(args: tuple[Word, ...], language: str) -> bool:
    """Whether the options in front say that the script is read but not run (`bash -n`, `node --check`)."""
    letter, among, options = _CHECKS.get(language, ("", frozenset(), ()))
    for word in args:
        if not isinstance(word, str) or word[:1] != "-" or len(word) < 2:
            return False
        if word in options or (letter and letter in word and among.issuperset(word[1:])):
            return True
    return False


def language_of_program(name: str) -> str | None:
    """The language that a program of this name interprets, versions included (`python3.12`), else None."""
    if name in SHELLS:
        return SHELLS[name]
    if name in NODE_LIKE or name in ("deno", "bun", "bunx"):
        return "javascript"
    stem = name.rstrip("0123456789.-")
    if stem in ("python", "pypy", "pythonw", "ipython", "jython", "micropython") or name == "py":
        return "python"
    if stem in ("ruby", "jruby", "truffleruby"):
        return "ruby"
    if stem in ("perl", "php"):
        return stem
    return {"pwsh": "powershell", "powershell": "powershell", "cmd": "cmd"}.get(name.lower())


def language_of_file(file: File, otherwise: str | None = "sh") -> str | None:
    """The language of a file that is run by its path: its first line, else its ending, else `otherwise`."""
    return language_of_first_line(file.text) or ENDINGS.get(_ending(file.path)) or otherwise


def language_of_first_line(text: str) -> str | None:
    """The language a `#!` line names, through `env`, `env -S` and assignments; "" for a program we do not read."""
    if not text.startswith("#!"):
        return None
    words = text[2:].split("\n", 1)[0].split()
    if words and program_name(words[0]) == "env":
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0]):
            # `-u NAME` is the only option here that takes a word of its own; `-S` may touch its text.
            skip = 2 if words[0] in ("-u", "--unset", "-C", "--chdir") else 1
            words = [words[0][2:], *words[1:]] if words[0].startswith("-S") and len(words[0]) > 2 else words[skip:]
    if not words:
        return None
    name = program_name(words[0])
    if name in ("uv", "pipx"):
        return "python"
    return language_of_program(name) or ""


def _ending(path: str) -> str:
    return os.path.basename(path).rpartition(".")[2].lower() if "." in os.path.basename(path) else ""


def _run_directly(scene: Scene, path: str, otherwise: str | None = "sh") -> Answers:
    """A file started by its path; in `otherwise` where neither its first line nor its ending says what it is."""
    file = scene.read(path)
    if isinstance(file, Refusal):
        # A folder or a device cannot be started by its path: only what would run is refused.
        return [] if "regular file" in file.why else [file]
    if file is None or _ending(path) in ("vbs", "vbe", "wsf"):
        return []
    language = language_of_file(file, otherwise)
    return [scene.start(file.text, language, scene.shown(path), file=file, args=scene.args)] if language else []


def _from_folder(scene: Scene) -> Answers:
    """`run-parts DIR` starts each program in a folder. Which names count differs by system, so all do."""
    folder = scene.path(scene.args[-1]) if scene.args and not {"--test", "--list"} & set(scene.args) else None
    names = scene.world.listdir(folder) if folder else None
    if not names or len(names) > MAX_MATCHES:
        why = "more programs than can be read would run"
        return [Refusal("limit", why, scene.command.span)] if names else []
    return [answer for name in sorted(names) for answer in _run_directly(scene, f"{folder}/{name}")]


def run_file(scene: Scene, word: Word, language: str, args: tuple[Word, ...], endings: tuple[str, ...] = ()) -> Answers:
    """The script file that `word` names, in `language`; `endings` are tried where the name alone is missing."""
    path = scene.path(word)
    if path is None or not scene.exists(path):
        several = scene.matching(word)
        if several and not _named(word):
            several = [one for one in several if _is_written_in(scene, one, language)]
        if several:
            return [answer for one in several for answer in run_file(scene, one, language, args)]
    if path is None:
        return []
    for candidate in (path, *(path + ending for ending in endings)):
        file = scene.read(candidate)
        if isinstance(file, Refusal) and "regular file" in file.why:
            entry = _entry_of_folder(scene, candidate, language)
            file = file if entry is None else entry
        if isinstance(file, Refusal):
            return [file]
        if file is not None:
            start = scene.start(file.text, language, scene.shown(file.path), file=file, args=args)
            # What it hands to its build tool is called by that.
            return [start._replace(called=os.path.basename(file.path) == "setup.py")]
    return []


def _named(word: Word) -> bool:
    """Whether at least the end of a file's name is told."""
    return isinstance(word, str) or (isinstance(word, Pattern) and bool(word.pieces[-1]))


def _is_written_in(scene: Scene, path: str, language: str) -> bool:
    file = scene.read(path)
    written = language_of_file(file, None) if isinstance(file, File) else None
    return written == language or (written in _SHELL_LANGUAGES and language in _SHELL_LANGUAGES)


def _entry_of_folder(scene: Scene, folder: str, language: str) -> File | None:
    names = {"python": ("__main__.py",), "javascript": ("index.js", "index.mjs", "index.cjs", "index.ts")}
    main = _main_of_package(scene, folder) if language == "javascript" else None
    for name in (*((main, f"{main}.js", f"{main}/index.js") if main else ()), *names.get(language, ())):
        file = scene.read(os.path.join(folder, name))
        if isinstance(file, File):
            return file
    return None


def _main_of_package(scene: Scene, folder: str) -> str | None:
    from chrono.scan.follow.manifest import read_package

    package = read_package(scene, folder)
    return package.main if package is not None and not isinstance(package, Refusal) else None


def inline(scene: Scene, code: Word, language: str, link: str, args: tuple[Word, ...]) -> Answers:
    return [scene.start(code, language, link, args=args)] if isinstance(code, str) else []


def from_stdin(scene: Scene, language: str, args: tuple[Word, ...]) -> Answers:
    """Text on standard input, or the file that it is redirected from."""
    for redirect in reversed(scene.command.redirects):
        if redirect.op == "<" and redirect.fd in (None, 0):
            answers = run_file(scene, redirect.target, language, args)
            return [
                a._replace(via=(*a.via[:-1], f"{scene.program} < {a.via[-1]}")) if isinstance(a, Started) else a
                for a in answers
            ]
        if redirect.op in ("<<<", "<<") and isinstance(redirect.target, str):
            return [scene.start(redirect.target, language, f"{scene.program} stdin", args=args)]
    if isinstance(scene.command.stdin, str):
        return [scene.start(scene.command.stdin, language, f"{scene.program} stdin", args=args)]
    return []


class _Options:
    """Walks the options in front of the first operand. Unknown words end the walk where they stand."""

    def __init__(self, args: tuple[Word, ...], with_value: frozenset[str]) -> None:
        self.args = args
        self.at = 0
        self.with_value = with_value

    def next(self) -> str | None:
        """The next option word, or None at the first operand."""
        if self.at >= len(self.args):
            return None
        word = self.args[self.at]
        if not isinstance(word, str) or len(word) < 2 or word[0] not in "-+":
            return None
        self.at += 1
        if word == "--":
            return None
        if word in self.with_value:
            self.at += 1
        return word

    def take(self) -> Word | None:
        """The word after the option that was just returned."""
        if self.at >= len(self.args):
            return None
        self.at += 1
        return self.args[self.at - 1]

    def rest(self) -> tuple[Word, ...]:
        return self.args[self.at :]


def _from_shell(scene: Scene, language: str) -> Answers:
    options = _Options(scene.args, frozenset(("-o", "+o", "-O", "+O")))
    answers: Answers = []
    reads_stdin = False
    while (word := options.next()) is not None:
        if word in ("--rcfile", "--init-file"):
            answers += run_file(scene, options.take() or "", language, ())
        elif not word.startswith("--"):
            if "c" in word and word[0] == "-":
                return answers
            reads_stdin = reads_stdin or "s" in word
    rest = options.rest()
    if reads_stdin or not rest or rest[0] == "-":
        return answers + from_stdin(scene, language, rest)
    if rest[0] in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return answers + from_stdin(scene, language, rest[1:])
    return answers + run_file(scene, rest[0], language, rest[1:])


def _from_python(scene: Scene) -> Answers:
    options = _Options(scene.args, frozenset(("-W", "-X", "-Q", "--check-hash-based-pycs")))
    while (word := options.next()) is not None:
        if word[0] != "-" or word.startswith("--") or word[:2] in ("-W", "-X", "-Q"):
            continue
        for place, letter in enumerate(word[1:], 1):
            if letter in "cm":
                value = word[place + 1 :] or options.take() or ""
                if letter == "c":
                    return inline(scene, value, "python", f"{scene.program} -c", options.rest())
                return _module(scene, value, options.rest())
            if letter in "WXQ":
                break
    rest = options.rest()
    if not rest or rest[0] in ("-", "/dev/stdin"):
        return from_stdin(scene, "python", rest[1:])
    return run_file(scene, rest[0], "python", rest[1:])


def _module(scene: Scene, name: Word, args: tuple[Word, ...]) -> Answers:
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        return []
    if name in (
        "pdb",
        "cProfile",
        "profile",
        "trace",
        "coverage",
        "runpy",
        "debugpy",
        "timeit",
        "ipdb",
        "kernprof",
    ):
        return _run_by_module(scene, name, args)
    base = name.replace(".", "/")
    for root in (scene.cwd, os.path.join(scene.cwd, "src"), *_python_path(scene)):
        for ending in (".py", "/__main__.py"):
            file = scene.read(os.path.join(root, base + ending))
            if isinstance(file, Refusal) and "regular file" in file.why:
                continue
            if isinstance(file, Refusal):
                return [file]
            if file is not None:
                link = f"{scene.program} -m {name}: "
                around = _packages_around(scene, root, name if ending == ".py" else f"{name}.__main__")
                files = [file for file in (*around, file) if file.text.strip()]
                return [scene.start(f.text, "python", link + scene.shown(f.path), file=f, args=args) for f in files]
    return []


def _packages_around(scene: Scene, root: str, name: str) -> list[File]:
    """The `__init__.py` of each package that a module lies in: they run before it."""
    parts = name.split(".")[:-1]
    paths = (os.path.join(root, *parts[: at + 1], "__init__.py") for at in range(len(parts)))
    return [file for file in map(scene.read, paths) if isinstance(file, File)]


def _python_path(scene: Scene) -> list[str]:
    value: Word | None = scene.world.env("PYTHONPATH")
    for name, assigned in (*scene.command.env, *scene.command.assigns):
        value = assigned if name == "PYTHONPATH" else value
    parts = value.split(":")[:8] if isinstance(value, str) else []
    return [os.path.normpath(os.path.join(scene.cwd, part)) for part in parts if part]


def _run_by_module(scene: Scene, name: str, args: tuple[Word, ...]) -> Answers:
    """Modules that run a script named in their own arguments (`python -m pdb x.py`); timeit takes code."""
    if name == "timeit":
        return [s for code in args if isinstance(code, str) for s in inline(scene, code, "python", "timeit", ())]
    for at, word in enumerate(args):
        if name == "runpy" and isinstance(word, str) and not word.startswith("-"):
            return _module(scene, word, args[at + 1 :])
        if word == "-m" and at + 1 < len(args):
            return _module(scene, args[at + 1], args[at + 2 :])
        if isinstance(word, str) and word.endswith(".py"):
            return run_file(scene, word, "python", args[at + 1 :])
    return []


_NODE_VALUES = frozenset(
    ("-C", "--conditions", "--env-file", "--loader", "--experimental-loader", "--title", "--inspect-port",
     "--project", "-P", "--tsconfig", "--watch-path", "--exec", "--ext", "-O", "--compiler-options"),
)  # fmt: skip
_SCRIPT_ENDINGS = (".js", ".mjs", ".cjs", ".ts")


def _from_javascript(scene: Scene) -> Answers:
    if scene.program in ("deno", "bun", "bunx"):
        return _from_deno(scene) if scene.program == "deno" else _from_bun(scene)
    options = _Options(scene.args, _NODE_VALUES)
    answers: Answers = []
    code: Word | None = None
    while (word := options.next()) is not None:
        name, equals, value = word.partition("=")
        if name in ("-e", "--eval", "-p", "--print", "-pe", "-ep"):
            code = value if equals else options.take()
        elif name in ("-r", "--require", "--import"):
            answers += run_file(scene, value if equals else options.take() or "", "javascript", (), _SCRIPT_ENDINGS)
    rest = options.rest()
    if code is not None:
        return answers + inline(scene, code, "javascript", f"{scene.program} -e", rest)
    if rest and rest[0] in ("inspect", "watch") and scene.path(rest[0]) and not scene.exists(scene.path(rest[0]) or ""):
        rest = rest[1:]
    if not rest or rest[0] in ("-", "/dev/stdin"):
        return answers + from_stdin(scene, "javascript", rest[1:])
    return answers + run_file(scene, rest[0], "javascript", rest[1:], _SCRIPT_ENDINGS)


def _from_deno(scene: Scene) -> Answers:
    verb, rest = _verb(scene.args)
    if verb == "eval":
        code = [word for word in rest if not (isinstance(word, str) and word.startswith("-"))][:1]
        return [s for text in code for s in inline(scene, text, "javascript", "deno eval", ())]
    if verb in ("run", "serve", "test", "bench") or _ending(verb) in ENDINGS:
        operands = rest if verb in ("run", "serve", "test", "bench") else scene.args
        values = frozenset(("-c", "--config", "--import-map", "--lock", "--cert", "--location", "--seed", "--port"))
        options = _Options(operands, values)
        while options.next() is not None:
            pass
        left = options.rest()
        if left and left[0] == "-":
            return from_stdin(scene, "javascript", left[1:])
        return run_file(scene, left[0], "javascript", left[1:]) if left else []
    return []


def _from_bun(scene: Scene) -> Answers:
    options = _Options(scene.args, frozenset(("--cwd", "-c", "--config", "--env-file", "--port")))
    while (word := options.next()) is not None:
        if word in ("-e", "--eval", "-p", "--print"):
            return inline(scene, options.take() or "", "javascript", f"bun {word}", options.rest())
    rest = options.rest()
    if rest and rest[0] == "run":
        options = _Options(rest[1:], frozenset(("--cwd",)))
        while options.next() is not None:
            pass
        rest = options.rest()
        if rest and rest[0] == "-":
            return from_stdin(scene, "javascript", rest[1:])
    if not rest or not isinstance(rest[0], str) or not ("/" in rest[0] or _ending(rest[0]) in ENDINGS):
        return []
    language = ENDINGS.get(_ending(rest[0]), "javascript")
    return run_file(scene, rest[0], language, rest[1:], _SCRIPT_ENDINGS)


def _verb(args: tuple[Word, ...]) -> tuple[str, tuple[Word, ...]]:
    for at, word in enumerate(args):
        if isinstance(word, str) and not word.startswith("-"):
            return word, args[at + 1 :]
    return "", ()


def _from_ruby(scene: Scene) -> Answers:
    return _from_cluster(scene, "ruby", code_letters="e", takes_value="rICEFTKW0xXi", separate="rICE")


def _from_perl(scene: Scene) -> Answers:
    return _from_cluster(scene, "perl", code_letters="eE", takes_value="IMmxiFlCDd0", separate="I")


def _required(scene: Scene, name: str, language: str, folders: list[str]) -> Answers:
    """What `ruby -r` and `perl -M` load: a file by its path, else a module in one of the folders behind -I."""
    if name.startswith((".", "/")):
        return run_file(scene, name, language, (), (".rb",)) if language == "ruby" else []
    module = name.partition("=")[0].replace("::", "/") + (".rb" if language == "ruby" else ".pm")
    paths = [f"{folder.rstrip('/')}/{module}" for folder in folders]
    return [
        answer for path in paths if isinstance(scene.read(path), File) for answer in run_file(scene, path, language, ())
    ]


def _from_cluster(scene: Scene, language: str, *, code_letters: str, takes_value: str, separate: str) -> Answers:
    """Perl's and Ruby's options: letters in a cluster, of which some take the rest of the word (`-i.bak`, `-0777`)."""
    options = _Options(scene.args, frozenset())
    code: list[Word] = []
    answers: Answers = []
    cwd: str | None = None
    folders: list[str] = []
    while (word := options.next()) is not None:
        if word.startswith("--") or word[0] == "+":
            continue
        place = 1
        while place < len(word):
            letter = word[place]
            rest = word[place + 1 :]
            place += 1
            if letter in code_letters:
                code.append(rest or options.take() or "")
                break
            if letter in "0l":
                while place < len(word) and word[place] in "01234567":
                    place += 1
                continue
            if letter in takes_value:
                value = rest or (options.take() if letter in separate else "") or ""
                if letter == "C" and language == "ruby":
                    cwd = scene.path(value)
                elif letter == "I" and isinstance(value, str):
                    folders.append(value)
                elif letter in "rMm" and isinstance(value, str):
                    answers += _required(scene, value, language, folders)
                break
    if cwd is not None:
        scene = scene.within(scene.program, scene.args, cwd)
    left = options.rest()
    if code:
        text = "\n".join(c for c in code if isinstance(c, str))
        return answers + inline(scene, text, language, f"{scene.program} -e", left)
    if not left or left[0] in ("-", "/dev/stdin"):
        return answers + from_stdin(scene, language, left[1:])
    return answers + run_file(scene, left[0], language, left[1:])


def _from_php(scene: Scene) -> Answers:
    options = _Options(scene.args, frozenset(("-d", "-c", "-z", "-t", "-S", "--define", "--php-ini")))
    while (word := options.next()) is not None:
        name, equals, value = word.partition("=")
        if name in ("-r", "--run", "-B", "-R", "-E", "--process-code", "--process-begin", "--process-end"):
            code = value if equals else options.take() or ""
            text = f"<?php {code}" if isinstance(code, str) else code
            return inline(scene, text, "php", "php -r", options.rest())
        if name.startswith("-r") and not name.startswith("--") and len(name) > 2:
            return inline(scene, f"<?php {word[2:]}", "php", "php -r", options.rest())
        if name in ("-f", "--file", "-F", "--process-file"):
            return run_file(scene, value if equals else options.take() or "", "php", options.rest())
    rest = options.rest()
    if not rest or rest[0] in ("-", "/dev/stdin"):
        return from_stdin(scene, "php", rest[1:])
    return run_file(scene, rest[0], "php", rest[1:])


_POWERSHELL_VALUES = (
    "-executionpolicy", "-ex", "-ep", "-exec", "-windowstyle", "-w", "-version", "-v", "-psconsolefile",
    "-inputformat", "-in", "-if", "-outputformat", "-o", "-of", "-configurationname", "-config", "-custompipename",
    "-settingsfile", "-workingdirectory", "-wd", "-encodedarguments", "-ea",
)  # fmt: skip


def _from_powershell(scene: Scene) -> Answers:
    at = 0
    while at < len(scene.args):
        word = scene.args[at]
        at += 1
        if not isinstance(word, str):
            return []
        option = "-" + word[1:].lower() if word[:1] in "/-\u2013\u2014\u2015" else word.lower()
        rest = scene.args[at:]
        if option in ("-e", "-ec") or (len(option) > 2 and "-encodedcommand".startswith(option)):
            return _encoded(scene, rest)
        if len(option) > 1 and ("-command".startswith(option) or "-commandwithargs".startswith(option)):
            if rest == ("-",):
                return from_stdin(scene, "powershell", ())
            return inline(scene, _line_of(rest, quoting=False), "powershell", f"{scene.program} -Command", ())
        if len(option) > 1 and "-file".startswith(option):
            if rest[:1] == ("-",):
                return from_stdin(scene, "powershell", rest[1:])
            return run_file(scene, _slashes(rest[0]), "powershell", rest[1:]) if rest else []
        if option in _POWERSHELL_VALUES or (len(option) > 3 and any(v.startswith(option) for v in _POWERSHELL_VALUES)):
            at += 1
        elif option[:1] != "-":
            if _ending(option) == "ps1":
                return run_file(scene, _slashes(word), "powershell", rest)
            return inline(scene, _line_of((word, *rest), quoting=False), "powershell", f"{scene.program} -Command", ())
    return from_stdin(scene, "powershell", ())


def _encoded(scene: Scene, rest: tuple[Word, ...]) -> Answers:
    """The text of -EncodedCommand: base64 of UTF-16."""
    from binascii import Error, a2b_base64

    if not rest or not isinstance(rest[0], str):
        return []
    try:
        text = a2b_base64(rest[0] + "=" * (-len(rest[0]) % 4)).decode("utf-16-le")
    except (Error, ValueError):
        return [Refusal("unparsed", "its encoded command cannot be decoded", scene.command.span)]
    return inline(scene, text.replace("\0", "\ufffd"), "powershell", f"{scene.program} -EncodedCommand", ())


def _from_cmd(scene: Scene) -> Answers:
    for at, word in enumerate(scene.args):
        if not isinstance(word, str):
            return []
        lower = word.lower().replace("//", "/", 1)
        if lower[:2] not in ("/c", "/k", "/r"):
            continue
        rest = scene.args[at + 1 :]
        glued = word[2:] if lower == word.lower() else word[3:]
        if glued:
            rest = (glued, *rest)
        script = rest[0] if rest else ""
        if isinstance(script, str) and _ending(script) in ("cmd", "bat") and " " not in script:
            return run_file(scene, _slashes(script), "cmd", rest[1:])
        return inline(scene, _line_of(rest, quoting=True), "cmd", f"{scene.program} /c", ())
    return from_stdin(scene, "cmd", ())


def _line_of(words: tuple[Word, ...], *, quoting: bool) -> str:
    """Words as one line; what is not known is NUL in it, which the Windows shells' readers take as such."""
    texts: list[str] = []
    for word in words:
        if isinstance(word, str):
            text = str(word)
        elif isinstance(word, Pattern):
            text = "".join("\0" if piece is None else piece for piece in word.pieces)
        else:
            text = "\0"
        if quoting and len(words) > 1 and (" " in text or "\t" in text) and '"' not in text:
            text = f'"{text}"'
        texts.append(text)
    return " ".join(texts)


def _slashes(word: Word) -> Word:
    return word.replace("\\", "/") if isinstance(word, str) else word
