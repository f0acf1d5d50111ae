"""Projects in miniature: what a command line starts in them, with the chain that leads to it."""

from __future__ import annotations

import ast
import inspect
import json
import re
from typing import Any

import pytest

from chrono.scan.command import MANY, UNKNOWN, Command, Pattern, Redirect, Refusal, Word
from chrono.scan.follow import make, packages, runners, scripts, sessions
from chrono.scan.follow.programs import is_followed
from chrono.scan.follow.started import MAX_DEPTH, Started, started
from chrono.testing.world import FakeWorld

PROJECT = "/home/dev/proj"
Files = dict[str, str | bytes]


def world(files: Files, **more: Any) -> FakeWorld:
    placed = {path if path.startswith("/") else f"{PROJECT}/{path}": text for path, text in files.items()}
    return FakeWorld(placed, cwd=PROJECT, project=PROJECT, **more)


def follow(line: str | tuple[Word, ...], files: Files, **more: Any) -> list[Started]:
    found = started(command(line, **more), world(files), depth=0)
    assert all(isinstance(answer, Started) for answer in found), found
    return [answer for answer in found if isinstance(answer, Started)]


def command(line: str | tuple[Word, ...], **more: Any) -> Command:
    argv: tuple[Word, ...] = tuple(line.split()) if isinstance(line, str) else line
    return Command(argv, cwd=PROJECT, **more)


def texts(found: list[Started]) -> list[str]:
    return [answer.text for answer in found]


SCRIPTS: list[tuple[str, Files, str, str, tuple[Word, ...]]] = [
    # command line, files, language, last link of the chain, arguments
    ("python x.py a", {"x.py": "1"}, "python", "x.py", ("a",)),
    ("python3.12 -B -W ignore x.py", {"x.py": "1"}, "python", "x.py", ()),
    ("/usr/bin/python3 src/x.py", {"src/x.py": "1"}, "python", "src/x.py", ()),
    (".venv/bin/python x.py", {"x.py": "1"}, "python", "x.py", ()),
    ("python -m mod a", {"mod.py": "1"}, "python", "python -m mod: mod.py", ("a",)),
    ("python -m pkg", {"pkg/__main__.py": "1"}, "python", "python -m pkg: pkg/__main__.py", ()),
    ("python -m a.b", {"src/a/b.py": "1"}, "python", "python -m a.b: src/a/b.py", ()),
    ("python -m pdb x.py", {"x.py": "1"}, "python", "x.py", ()),
    ("python app", {"app/__main__.py": "1"}, "python", "app/__main__.py", ()),
    ("node x.js a", {"x.js": "1"}, "javascript", "x.js", ("a",)),
    ("node x", {"x.js": "1"}, "javascript", "x.js", ()),
    ("node --no-warnings .", {"index.js": "1"}, "javascript", "index.js", ()),
    ("node -r ./hook.js", {"hook.js": "1"}, "javascript", "hook.js", ()),
    ("tsx x.ts", {"x.ts": "1"}, "javascript", "x.ts", ()),
    ("deno run --allow-all x.ts", {"x.ts": "1"}, "javascript", "x.ts", ()),
    ("bun run x.ts", {"x.ts": "1"}, "javascript", "x.ts", ()),
    ("bun x.ts", {"x.ts": "1"}, "javascript", "x.ts", ()),
    ("ruby -w x.rb", {"x.rb": "1"}, "ruby", "x.rb", ()),
    ("perl -w x.pl", {"x.pl": "1"}, "perl", "x.pl", ()),
    ("php -f x.php", {"x.php": "1"}, "php", "x.php", ()),
    ("sh x.sh a b", {"x.sh": "1"}, "sh", "x.sh", ("a", "b")),
    ("bash -x -o pipefail x.sh", {"x.sh": "1"}, "bash", "x.sh", ()),
    ("zsh x.sh", {"x.sh": "1"}, "zsh", "x.sh", ()),
    ("./x.sh a", {"x.sh": "#!/bin/bash\n1"}, "bash", "x.sh", ("a",)),
    ("./x", {"x": "#!/usr/bin/env python3\n1"}, "python", "x", ()),
    ("./x", {"x": "#!/usr/bin/env -S node --no-warnings\n1"}, "javascript", "x", ()),
    ("./x", {"x": "#!/usr/bin/env -S LANG=C perl\n1"}, "perl", "x", ()),
    ("./x", {"x": "#!/usr/bin/env -S uv run --script\n1"}, "python", "x", ()),
    ("./x", {"x": "rm y\n"}, "sh", "x", ()),
    ("scripts/x.rb", {"scripts/x.rb": "1"}, "ruby", "scripts/x.rb", ()),
    ("/tmp/x.sh", {"/tmp/x.sh": "1"}, "sh", "/tmp/x.sh", ()),
    ("pwsh -NoProfile -File x.ps1 a", {"x.ps1": "1"}, "powershell", "x.ps1", ("a",)),
    ("cmd /c x.cmd", {"x.cmd": "1"}, "cmd", "x.cmd", ()),
]


@pytest.mark.parametrize(("line", "files", "language", "link", "args"), SCRIPTS)
def test_a_script_file_is_followed(line: str, files: Files, language: str, link: str, args: tuple[Word, ...]) -> None:
    (found,) = follow(line, files)
    assert (found.language, found.via[-1], found.args) == (language, link, args)
    assert found.path is not None
    assert found.sha256 is not None
    assert found.cwd == PROJECT


INLINE: list[tuple[tuple[Word, ...], str, str]] = [
    (("python", "-c", "print(1)"), "python", "print(1)"),
    (("python", "-Bc", "print(1)", "x"), "python", "print(1)"),
    (("python", "-cprint(1)"), "python", "print(1)"),
    (("node", "-e", "f()"), "javascript", "f()"),
    (("node", "--eval=f()"), "javascript", "f()"),
    (("node", "-p", "f()"), "javascript", "f()"),
    (("deno", "eval", "f()"), "javascript", "f()"),
    (("bun", "-e", "f()"), "javascript", "f()"),
    (("ruby", "-e", "a", "-e", "b"), "ruby", "a\nb"),
    (("ruby", "-rfileutils", "-ne", "a"), "ruby", "a"),
    (("perl", "-MFile::Path", "-e", "a"), "perl", "a"),
    (("perl", "-lne", "a", "file"), "perl", "a"),
    (("perl", "-i.bak", "-pe", "a", "file"), "perl", "a"),
    (("perl", "-0777", "-ne", "a"), "perl", "a"),
    (("php", "-r", "a();"), "php", "<?php a();"),
]


@pytest.mark.parametrize(("argv", "language", "text"), INLINE)
def test_inline_code_is_followed(argv: tuple[Word, ...], language: str, text: str) -> None:
    (found,) = follow(argv, {})
    assert (found.language, found.text, found.path) == (language, text, None)


@pytest.mark.parametrize(
    "line",
    [
        "python missing.py",
        "python -m pytest",
        "python --version",
        "python",
        "sh -c ls",
        "bash -lc ls",
        "node --version",
        "ls x.sh",
        "cat x.sh",
        "npm ls",
        "./missing",
        "/usr/bin/env",
        "make",
        "just",
        "npm test",
    ],
)
def test_what_starts_no_script_of_the_project_is_silent(line: str) -> None:
    assert follow(line, {"x.sh": "1"}) == []


def test_an_unknown_script_is_silent() -> None:
    assert follow(("python", UNKNOWN), {}) == []
    assert follow(("python", "-c", Pattern(("print(", None))), {}) == []
    assert follow(("bash", MANY), {}) == []


def test_a_program_known_at_its_end_is_the_program() -> None:
    (found,) = follow((Pattern((None, "/bin/python3")), "x.py"), {"x.py": "1"})
    assert found.language == "python"


def test_standard_input_is_a_script_where_the_interpreter_reads_it() -> None:
    for line in ("sh", "bash -s", "bash -s -- a", "python3 -", "python3", "node -", "perl", "ruby -", "php"):
        (found,) = follow(line, {}, stdin="rm -rf x")
        assert found.text == "rm -rf x"
    assert follow("python x.py", {}, stdin="rm") == []
    (redirected,) = follow("bash", {"x.sh": "rm y"}, redirects=(Redirect("<", None, "x.sh"),))
    assert (redirected.text, redirected.via) == ("rm y", ("bash < x.sh",))
    (here,) = follow("bash", {}, redirects=(Redirect("<<<", None, "rm y"),))
    assert here.text == "rm y"


def test_the_folder_of_the_command_counts() -> None:
    found = started(Command(("./x.sh",), cwd=f"{PROJECT}/scripts"), world({"scripts/x.sh": "1"}), depth=0)
    assert isinstance(found[0], Started)
    assert (found[0].path, found[0].cwd) == (f"{PROJECT}/scripts/x.sh", f"{PROJECT}/scripts")


def test_a_file_that_the_same_command_wrote_counts_before_the_disk() -> None:
    written = ((f"{PROJECT}/x.sh", "old"), (f"{PROJECT}/x.sh", "new"))
    found = started(command("sh x.sh"), world({"x.sh": "disk"}), depth=0, files=written)
    assert isinstance(found[0], Started)
    assert (found[0].text, found[0].sha256) == ("new", None)


def test_a_script_that_cannot_be_judged_is_refused() -> None:
    too_large = world({"x.sh": "1"}, too_large=(f"{PROJECT}/x.sh",))
    (refusal,) = started(command("sh x.sh"), too_large, depth=0)
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.why) == ("file", "x.sh would run but is larger than 1 MB")
    (folder,) = started(command("sh d"), world({"d/x": "1"}), depth=0)
    assert isinstance(folder, Refusal)
    assert folder.kind == "file"


@pytest.mark.parametrize(
    ("line", "name"),
    [("direnv allow", ".envrc"), ("docker compose up", "compose.yaml"), ("docker compose -f a.yml up", "a.yml")],
)
def test_what_a_file_would_start_is_refused_where_it_cannot_be_read(line: str, name: str) -> None:
    (refusal,) = started(command(line), world({name: "1"}, too_large=(f"{PROJECT}/{name}",)), depth=0)
    assert isinstance(refusal, Refusal)
    assert refusal.why == f"{name} would run but is larger than 1 MB"


def test_a_compiled_program_is_silent() -> None:
    assert follow("./app", {"app": b"\x7fELF\x02\x01"}) == []


def test_too_deep_a_nest_of_scripts_is_refused() -> None:
    (refusal,) = started(command("sh x.sh"), world({"x.sh": "1"}), depth=MAX_DEPTH)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "limit"
    assert started(command("ls"), world({}), depth=MAX_DEPTH) == ()


# --- package managers -------------------------------------------------------------------------------------------------

PACKAGE = json.dumps(
    {
        "name": "p",
        "version": "1.0.0",
        "scripts": {
            "build": "mkdir -p dist",
            "prebuild": "echo before",
            "postbuild": "echo after",
            "test": "npm run wipe",
            "wipe": "rm -rf ~",
            "start": "node nuke.js",
            "postinstall": "node setup.js",
            "prepare": "husky",
            "prepublishOnly": "npm run build",
        },
        "workspaces": ["packages/*"],
    }
)
INNER = json.dumps({"name": "inner", "scripts": {"wipe": "rm -rf /", "postinstall": "inner"}})
NODE: Files = {"package.json": PACKAGE, "packages/inner/package.json": INNER}

NPM = [
    ("npm run wipe", ["rm -rf ~"]),
    ("npm run-script wipe", ["rm -rf ~"]),
    ("npm run build", ["echo before", "mkdir -p dist", "echo after"]),
    ("npm test", ["npm run wipe"]),
    ("npm t", ["npm run wipe"]),
    ("npm start", ["node nuke.js"]),
    ("npm --silent run wipe", ["rm -rf ~"]),
    ("npm run wipe -- a", ['rm -rf ~ "$@"']),
    ("npm --prefix packages/inner run wipe", ["rm -rf /"]),
    ("npm -w inner run wipe", ["rm -rf /"]),
    ("npm run wipe --workspace=packages/inner", ["rm -rf /"]),
    ("npm run wipe --workspaces", ["rm -rf ~", "rm -rf /"]),
    ("npm install", ["node setup.js", "husky", "inner"]),
    ("npm ci", ["node setup.js", "husky", "inner"]),
    ("npm install left-pad", []),
    ("npm install --ignore-scripts", []),
    ("npm publish", ["npm run build", "husky"]),
    ("npm run missing", []),
    ("npm view wipe", []),
    ("yarn", ["node setup.js", "husky", "inner"]),
    ("yarn wipe", ["rm -rf ~"]),
    ("yarn run wipe", ["rm -rf ~"]),
    ("yarn --cwd packages/inner wipe", ["rm -rf /"]),
    ("yarn workspace inner wipe", ["rm -rf /"]),
    ("yarn add wipe", []),
    ("pnpm wipe", ["rm -rf ~"]),
    ("pnpm run wipe", ["rm -rf ~"]),
    ("pnpm --filter inner wipe", ["rm -rf /"]),
    ("pnpm -C packages/inner wipe", ["rm -rf /"]),
    ("pnpm -r run wipe", ["rm -rf ~", "rm -rf /"]),
    ("pnpm install", ["node setup.js", "husky", "inner"]),
    ("bun run wipe", ["rm -rf ~"]),
    ("bun wipe", ["rm -rf ~"]),
    ("run-s build wipe", ["echo before", "mkdir -p dist", "echo after", "rm -rf ~"]),
    ("node --run wipe", ["rm -rf ~"]),
]


@pytest.mark.parametrize(("line", "expected"), NPM)
def test_package_scripts_run_with_their_hooks(line: str, expected: list[str]) -> None:
    assert texts(follow(line, NODE)) == expected


def test_a_package_script_tells_its_chain_and_its_folder() -> None:
    (found,) = follow("npm -w inner run wipe", NODE, via=("outer",))
    assert found.via == ("outer", "packages/inner/package.json:scripts.wipe")
    assert found.cwd == f"{PROJECT}/packages/inner"
    assert ("npm_package_name", "inner") in found.env


def test_a_package_json_above_the_folder_is_found() -> None:
    found = started(Command(("npm", "test"), cwd=f"{PROJECT}/src"), world({**NODE, "src/a.js": ""}), depth=0)
    assert [answer.text for answer in found if isinstance(answer, Started)] == ["npm run wipe"]


def test_a_broken_package_json_is_silent() -> None:
    assert follow("npm test", {"package.json": "{"}) == []
    assert follow("npm test", {"package.json": '{"scripts": ["x"]}'}) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("uv run x.py a", ("python", "x.py", "a")),
        ("uv run --with requests -- pytest -q", ("pytest", "-q")),
        ("uv run -m mod", ("python", "-m", "mod")),
        ("poetry run python x.py", ("python", "x.py")),
        ("pipenv run rm -rf x", ("rm", "-rf", "x")),
        ("pdm run rm x", ("rm", "x")),
        ("conda run -n env python x.py", ("python", "x.py")),
        ("bundle exec rake db:reset", ("rake", "db:reset")),
        ("pnpm exec rimraf x", ("rimraf", "x")),
        ("npx rimraf x", ("rimraf", "x")),
        ("npx -y -p rimraf rimraf x", ("rimraf", "x")),
        ("coverage run x.py", ("python", "x.py")),
    ],
)
def test_a_wrapper_starts_the_words_behind_it(line: str, words: tuple[str, ...]) -> None:
    (found,) = follow(line, {})
    assert (found.text, found.args) == ('"$@"', words)


@pytest.mark.parametrize(
    ("line", "files", "text"),
    [
        (
            "hatch run wipe",
            {"pyproject.toml": '[tool.hatch.envs.default.scripts]\nwipe = "rm -rf ~"'},
            'rm -rf ~ "$@"',
        ),
        (
            "pdm run wipe",
            {"pyproject.toml": '[tool.pdm.scripts]\nwipe = {shell = "rm -rf ~"}'},
            'rm -rf ~ "$@"',
        ),
        ("deno task wipe", {"deno.json": '{"tasks": {"wipe": "rm -rf ~"}}'}, 'rm -rf ~ "$@"'),
        ("composer run-script wipe", {"composer.json": '{"scripts": {"wipe": "rm -rf ~"}}'}, 'rm -rf ~ "$@"'),
        ("composer wipe", {"composer.json": '{"scripts": {"wipe": ["rm -rf ~"]}}'}, 'rm -rf ~ "$@"'),
        ("pip install -e .", {"setup.py": "import os"}, "import os"),
        ("uv pip install .", {"setup.py": "import os"}, "import os"),
    ],
)
def test_other_manifests_are_read(line: str, files: Files, text: str) -> None:
    assert texts(follow(line, files)) == [text]


# --- make and just ----------------------------------------------------------------------------------------------------

MAKE: list[tuple[str, str, list[str]]] = [
    ("make", "all:\n\techo a\n", ["echo a"]),
    ("make", ".PHONY: x\n\nfirst:\n\techo first\nsecond:\n\techo second\n", ["echo first"]),
    ("make", ".DEFAULT_GOAL := b\na:\n\techo a\nb:\n\techo b\n", ["echo b"]),
    ("make wipe", "wipe:\n\trm -rf $(HOME)\n", ["rm -rf /home/dev"]),
    ("make all", "all: a b\n\techo all\na:\n\techo a\nb: a\n\techo b\n", ["echo a", "echo b", "echo all"]),
    ("make x", "D = $(E)/y\nE := /x\nx:\n\trm -rf ${D} $E\n", ["rm -rf /x/y /x"]),
    ("make x D=/z", "D = /y\nx:\n\trm -rf $(D)\n", ["rm -rf /z"]),
    ("make x", "D ?= /y\nD += /z\nx:\n\trm -rf $(D)\n", ["rm -rf /y /z"]),
    ("make x", "x:\n\t@echo a\n\t-rm b\n\t+@make c\n", ["echo a\nrm b\nmake c"]),
    ("make x", "x: ; rm -rf y\n", ["rm -rf y"]),
    ("make x", "x:\n\trm -rf \\\n\t  y\n", ["rm -rf \\\n  y"]),
    ("make x", "x:\n\techo $$HOME\n", ["echo $HOME"]),
    ("make x", "x:\n\trm -rf $(UNSET)/\n", ["rm -rf /"]),
    ("make x", "x:\n\tcd a && b\n\trm -rf c\n", ["(\ncd a && b\n)\nrm -rf c"]),
    ("make x", ".ONESHELL:\nx:\n\tcd a\n\trm -rf c\n", ["cd a\nrm -rf c"]),
    ("make a.o", "%.o: %.c\n\tcc -o $@ $< $*\n", ["cc -o a.o a.c a"]),
    ("make x", "x: y z\n\tcat $^ $<\n", ["cat y z y"]),
    ("make x", "ifeq ($(A),)\nD = /a\nelse\nD = /b\nendif\nx:\n\trm $(D)\n", ["rm /a"]),
    ("make x", "ifdef HOME\nx:\n\trm a\nelse\nx:\n\trm b\nendif\n", ["rm a"]),
    ("make x", "define CMD\nrm -rf a\nrm -rf b\nendef\nx:\n\t$(CMD)\n", ["rm -rf a\nrm -rf b"]),
    ("make x", "x: D = /y\nx: z\nz:\n\trm $(D)\n", ["rm /y"]),
    ("make x", "L = a b\nx:\n\trm $(addprefix /p/,$(L)) $(L:%=%.o) $(patsubst %,<%>,$(L))\n", ["rm /p/a /p/b a.o b.o <a> <b>"]),
    ("make x", "x:\n\trm $(foreach d,a b,/$(d)) $(if $(HOME),yes,no) $(subst a,b,aa)\n", ["rm /a /b yes bb"]),
    ("make x", "f = rm $(1)/$(2)\nx:\n\t$(call f,a,b)\n", ["rm a/b"]),
    ("make x", "x:\n\trm $(shell git ls-files)\n", ["rm $(git ls-files)"]),
    ("make -n x", "x:\n\trm a\n", []),
    ("make --version", "x:\n\trm a\n", []),
    ("make y", "x:\n\trm a\n", []),
    ("make -j4 -s x", "x:\n\trm a\n", ["rm a"]),
    ("make -j 4 x", "x:\n\trm a\n", ["rm a"]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "makefile", "expected"), MAKE)
def test_make_runs_the_recipes_of_what_is_asked_for(line: str, makefile: str, expected: list[str]) -> None:
    assert [a.text for a in follow(line, {"Makefile": makefile}) if a.via != ("Makefile:$(shell)",)] == expected


def test_make_looks_where_it_is_told() -> None:
    files: Files = {
        "sub/Makefile": "x:\n\trm a\n",
        "other.mk": "x:\n\trm b\n",
        "Makefile": "include inc.mk\n",
        "inc.mk": "x:\n\trm c\n",
    }
    assert [(a.text, a.cwd, a.via) for a in follow("make -C sub x", files)] == [
        ("rm a", f"{PROJECT}/sub", ("sub/Makefile:x",))
    ]
    assert texts(follow("make -f other.mk x", files)) == ["rm b"]
    assert texts(follow("gmake x", files)) == ["rm c"]


def test_a_prerequisite_tells_who_needs_it() -> None:
    found = follow("make all", {"Makefile": "all: mid\nmid: wipe\nwipe:\n\trm -rf /\n"})
    assert found[0].via == ("Makefile:all", "Makefile:mid", "Makefile:wipe")


def test_a_shell_call_in_a_makefile_runs_as_the_file_is_read() -> None:
    found = follow("make x", {"Makefile": "V := $(shell rm -rf ~)\nx:\n\techo\n"})
    assert ("rm -rf ~", ("Makefile:$(shell)",)) in [(a.text, a.via) for a in found]


def test_a_makefile_names_its_shell() -> None:
    (found,) = follow("make x", {"Makefile": "SHELL := /bin/bash\nx:\n\trm a\n"})
    assert found.language == "bash"


def test_a_makefile_without_end_is_refused() -> None:
    files: Files = {"Makefile": "A = $(A)$(A)\nx:\n\trm $(A)\n"}
    (refusal,) = started(command("make x"), world(files), depth=0)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "limit"
    assert follow("make x", {"Makefile": "x: y\n\trm a\ny: x\n\trm b\n"})


JUST: list[tuple[str, str, list[str]]] = [
    ("just", "build:\n  mkdir dist\nwipe:\n  rm -rf ~\n", ["mkdir dist"]),
    ("just wipe", "build:\n  mkdir dist\nwipe:\n  rm -rf ~\n", ["rm -rf ~"]),
    ("just wipe", "wipe: build\n  rm a\nbuild:\n  rm b\n", ["rm b", "rm a"]),
    ("just wipe /x", "wipe dir='d':\n  rm -rf {{dir}}\n", ["rm -rf /x"]),
    ("just wipe", "wipe dir='d':\n  rm -rf {{ dir }}\n", ["rm -rf d"]),
    ("just wipe a b", "wipe *dirs:\n  rm {{dirs}}\n", ["rm a b"]),
    ("just wipe", "d := '/x' / 'y'\nwipe:\n  @rm {{d}}\n", ["rm /x/y"]),
    ("just d=/z wipe", "d := '/x'\nwipe:\n  rm {{d}}\n", ["rm /z"]),
    ("just all", "all: (one '/q')\none x:\n  rm {{x}}\n", ["rm /q"]),
    ("just w", "alias w := wipe\nwipe:\n  rm a\n", ["rm a"]),
    ("just wipe", "wipe:\n  rm -rf {{env_var('HOME')}}\n", ["rm -rf /home/dev"]),
    ("just --list", "wipe:\n  rm a\n", []),
    ("just missing", "wipe:\n  rm a\n", []),
]


@pytest.mark.parametrize(("line", "justfile", "expected"), JUST)
def test_just_runs_the_recipes_of_what_is_asked_for(line: str, justfile: str, expected: list[str]) -> None:
    assert texts(follow(line, {"justfile": justfile})) == expected


def test_a_just_recipe_with_a_first_line_is_in_that_language() -> None:
    (found,) = follow("just x", {"justfile": "x:\n  #!/usr/bin/env python3\n  import os\n"})
    assert (found.language, found.via) == ("python", ("justfile:x",))


TASKS = """
version: '3'
vars:
  DIR: build
  HEAD: {sh: git rev-parse HEAD}
tasks:
  default: echo default
  wipe:
    deps: [before]
    cmds:
      - rm -rf {{.DIR}} {{.HEAD}} {{.UNKNOWN}}
      - task: other
      - cmd: echo last
  before:
    dir: sub
    cmd: echo before
  other: ["rm -rf {{ .CLI_ARGS }}"]
"""


def test_task_runs_what_is_asked_for_with_its_dependencies() -> None:
    found = follow("task wipe DIR=/x -- /y", {"Taskfile.yml": TASKS})
    assert [(a.text, a.via, a.cwd) for a in found] == [
        ("echo before", ("Taskfile.yml:wipe", "Taskfile.yml:before"), f"{PROJECT}/sub"),
        ("rm -rf /y", ("Taskfile.yml:wipe", "Taskfile.yml:other"), PROJECT),
        ("rm -rf /x $(git rev-parse HEAD) $(task-value)\necho last", ("Taskfile.yml:wipe",), PROJECT),
    ]
    assert texts(follow("task", {"Taskfile.yml": TASKS})) == ["echo default"]
    assert follow("task --list", {"Taskfile.yml": TASKS}) == []


def test_a_taskfile_that_is_not_understood_is_refused() -> None:
    (refusal,) = started(command("task x"), world({"Taskfile.yml": "tasks: {x: &a [*a]}"}), depth=0)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "unparsed"


@pytest.mark.parametrize(
    "text",
    [
        "bash -n x.sh",
        "sh -nv x.sh",
        "node --check x.js",
        "node -c x.js",
        "ruby -wc x.rb",
        "perl -c x.pl",
        "php -l x.php",
    ],
)
def test_a_script_that_is_only_checked_is_not_followed(text: str) -> None:
    assert follow(text, {f"x.{ending}": "rm -rf /" for ending in ("sh", "js", "rb", "pl", "php")}) == []


ASKED = r"(scene\.)?program(\.rstrip\(.*\))?"


def test_every_program_that_a_follower_asks_for_is_followed() -> None:
    asked: set[object] = {*runners._RUNNERS, *scripts.SHELLS, *scripts.NODE_LIKE}
    for module in (make, packages, runners, scripts, sessions):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            compared = isinstance(node, ast.Compare) and re.fullmatch(ASKED, ast.unparse(node.left))
            if compared or (isinstance(node, ast.Call) and ast.unparse(node).endswith(".get(program)")):
                asked |= {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
    names = {name for name in asked if isinstance(name, str) and name.strip("0123456789.-")}
    assert len(names) > 70
    assert [name for name in sorted(names) if not is_followed((name,))] == []
