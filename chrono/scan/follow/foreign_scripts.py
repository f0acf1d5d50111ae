"""Owns the files of languages without a reader of their own that a command starts: Lua, R, Go, Rust, Java, VBScript.

What can be told of such code is left to `scan.foreign_calls` and, for VBScript, to `vbscript`. docs: decision 102.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.scene import File, Scene, Started, files_below
from chrono.scan.foreign_calls import quoted, shell_texts

Answers = list[Started | Refusal]

MAX_FILES = 12

_BY_OPERAND = frozenset(
    "lua luajit luau Rscript R littler r julia tclsh wish expect elixir iex groovy java kotlin kotlinc swift dart "
    "scala octave guile sbcl clisp racket clojure clj bb nim crystal raku perl6 runhaskell runghc ocaml zig v escript "
    "fennel janet vbs cscript wscript fish bats osascript d8 qjs".split()
)
_BY_OPTION = {
    # program: options whose value is a script
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), ("-f", "--file")),
    **dict.fromkeys(("gdb", "lldb"), ("-x", "-s", "--command", "--source", "-ix")),
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view"), ("-S", "-s", "-u", "-l")),
    "emacs": ("--script", "-l", "--load"),
    **dict.fromkeys(("octave", "guile", "sbcl"), ("--script", "--load", "-s")),
    "sqlite3": ("-init",),
    "tmux": ("-f",),
    "mix": (),
}
_VALUES = {"R": ("-f", "--file"), "java": ("-cp", "-classpath", "--class-path"), "expect": ("-f",), "julia": ("-L",)}
_ENDINGS = frozenset(
    "lua r jl tcl exp ex exs groovy java kts kt swift dart scala m scm lisp rkt clj nim cr raku hs ml zig v vbs vbe js "
    "wsf jse fish bats awk gdb vim el applescript scpt janet fnl escript".split()
)
TOOLS = frozenset((*_BY_OPERAND, *_BY_OPTION, "go", "cargo", "mage", "mix", "kotlinc", "rustc"))


def from_foreign_script(scene: Scene) -> Answers:
    """What can be told of the files of other languages that this command runs."""
    answers: Answers = []
    for path in list(_scripts(scene))[:MAX_FILES]:
        file = scene.read(path)
        if isinstance(file, File):
            answers += _of_file(scene, file)
    return answers


def _of_file(scene: Scene, file: File) -> Answers:
    ending = file.path.rpartition(".")[2].lower()
    link = scene.shown(file.path)
    if ending in ("vbs", "vbe", "wsf") or (scene.program in ("cscript", "wscript") and ending == "js"):
        from chrono.scan.follow.vbscript import commands_of_vbscript

        text, language = "\r\n".join(commands_of_vbscript(file.text, scene.world)), "cmd"
    elif ending in ("fish", "bats") or scene.program in ("fish", "bats"):
        # A test is a function in its own words; fish is close enough to be read as bash.
        text, language = re.sub(r"(?m)^@test[ \t]+.*\{[ \t]*$", "{", file.text), "bash"
        around = re.findall(r"(?m)^(setup|teardown|setup_file|teardown_file)[ \t]*\(\)", text)
        text = "\n".join((text, *around))
        if scene.program == "fish":
            text = re.sub(r"(?m)^([ \t]*)set(?:[ \t]+-\w+)*[ \t]+(\w+)[ \t]+(.+)$", r"\1\2=\3", text)
    elif scene.program.endswith("awk"):
        # Its program as a word of the command line, which `scan.shell` reads.
        text, language = f"awk {quoted([file.text])}", "sh"
    else:
        texts = shell_texts(file.text, whole=True)
        if scene.program == "mix":
            texts += re.findall(r"\"cmd ([^\"\n]+)\"", file.text)  # an alias that is a program's
        text, language = "\n".join(texts), "sh"
    if not text.strip():
        return []
    started = scene.start(text, language, link, args=())
    return [started._replace(path=file.path, sha256=file.sha256, beside=True)]


def _scripts(scene: Scene) -> Iterator[str]:
    program, args = scene.program, scene.args
    if program.lower().endswith((".vbs", ".vbe", ".wsf")) and isinstance(scene.command.argv[0], str):
        yield scene.path(scene.command.argv[0].replace("\\", "/")) or ""
    elif program == "go":
        yield from _go(scene)
    elif program == "cargo":
        yield from _cargo(scene)
    elif program == "mage":
        yield os.path.join(scene.cwd, "magefile.go")
        yield from files_below(scene, os.path.join(scene.cwd, "magefiles"), ".go")
    elif program == "mix":
        if args[:1] == ("run",) and len(args) > 1:
            yield scene.path(args[-1]) or ""
        yield os.path.join(scene.cwd, "mix.exs")
    elif program in _BY_OPTION:
        for at, word in enumerate(args[:-1]):
            if word in _BY_OPTION[program]:
                yield scene.path(args[at + 1]) or ""
        for word in args:
            if isinstance(word, str) and word[:2] == "-f" and len(word) > 2 and program.endswith("awk"):
                yield scene.path(word[2:]) or ""
    if program in _BY_OPERAND:
        skip = False
        for word in args:
            if not isinstance(word, str) or skip:
                skip = False
                continue
            skip = word in _VALUES.get(program, ()) and program != "R" and word != "-f"
            text = word.replace("\\", "/") if program in ("cscript", "wscript") else word
            if not word.startswith("-") and not word.startswith("//"):
                ending = word.rpartition(".")[2].lower() if "." in word else ""
                if ending in _ENDINGS or program in ("lua", "luajit", "Rscript", "tclsh", "expect", "fish", "bats"):
                    path = scene.path(text) or ""
                    yield path
                    if program == "bats":
                        yield from files_below(scene, path, ".bats")
                    if program != "bats":
                        return


def _go(scene: Scene) -> Iterator[str]:
    """`go run FILE or FOLDER`, `go test`: the files of that package."""
    verb = scene.args[0] if scene.args else None
    if verb not in ("run", "test"):
        return
    operands = [word for word in scene.args[1:] if isinstance(word, str) and not word.startswith("-")]
    for word in operands[:4] or ["."]:
        path = scene.path(word.removesuffix("/...") or ".") or scene.cwd
        if word.endswith("...") and verb == "test":
            yield from files_below(scene, path, "_test.go")
            continue
        if path.endswith(".go"):
            yield path
            continue
        for name in sorted(scene.world.listdir(path) or ()):
            if name.endswith("_test.go" if verb == "test" else ".go") and (
                verb == "test" or not name.endswith("_test.go")
            ):
                yield f"{path}/{name}"


_CARGO_BUILDS = frozenset("build b run r test t check c bench clippy doc install rustc miri nextest".split())


def _cargo(scene: Scene) -> Iterator[str]:
    """What cargo compiles and then runs: the build script, the program of `cargo run`, the tests, `cargo xtask`."""
    verb = next((word for word in scene.args if isinstance(word, str) and not word.startswith(("-", "+"))), "")
    if verb in _CARGO_BUILDS:
        yield os.path.join(scene.cwd, "build.rs")
    if verb in ("run", "r"):
        yield os.path.join(scene.cwd, "src/main.rs")
        for at, word in enumerate(scene.args[:-1]):
            if word in ("--bin", "--example") and isinstance(scene.args[at + 1], str):
                name = scene.args[at + 1]
                yield os.path.join(scene.cwd, "src/bin" if word == "--bin" else "examples", f"{name}.rs")
    elif verb in ("test", "t", "nextest"):
        tests = os.path.join(scene.cwd, "tests")
        yield from (f"{tests}/{name}" for name in scene.world.listdir(tests) or () if name.endswith(".rs"))
    elif verb and verb not in _CARGO_BUILDS:
        yield os.path.join(scene.cwd, verb, "src/main.rs")
        for name in (".cargo/config.toml", ".cargo/config"):
            file = scene.read(os.path.join(scene.cwd, name))
            alias = (
                re.search(rf"^{re.escape(verb)}[ \t]*=([^\n]*)", file.text, re.M) if isinstance(file, File) else None
            )
            if alias is not None:
                yield from _packages_named(scene, tuple(re.findall(r"[^\s\"'\[\],]+", alias[1])))
    yield from _packages_named(scene, scene.args)


def _packages_named(scene: Scene, words: tuple[Word, ...]) -> Iterator[str]:
    """The programs of the packages that `-p NAME` names, where a workspace keeps them."""
    for option, name in itertools.pairwise(words):
        if option in ("-p", "--package") and isinstance(name, str):
            yield from (os.path.join(scene.cwd, folder, name, "src/main.rs") for folder in ("", "crates", "tools"))
