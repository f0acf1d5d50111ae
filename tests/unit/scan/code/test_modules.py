"""Claims about the project's own files that code loads: they run, each once, and foreign packages do not."""

from __future__ import annotations

import pytest

from chrono.scan.code.languages import commands_of
from chrono.scan.command import Evaluation
from chrono.testing.world import FakeWorld

PROJECT = "/home/dev/proj"
Argvs = list[tuple[object, ...]]


def does(language: str, source: str, files: dict[str, str], name: str = "main") -> Evaluation:
    world = FakeWorld({f"{PROJECT}/{path}": text for path, text in files.items()}, cwd=PROJECT, project=PROJECT)
    return commands_of(language, source, world=world, name=name)


CASES: list[tuple[str, str, dict[str, str]]] = [
    ("python", "import a\na.f()", {"a.py": "import os\ndef f():\n  os.remove('x')"}),
    ("python", "import a.b\na.b.f()", {"a/__init__.py": "", "a/b.py": "import os\ndef f():\n  os.remove('x')"}),
    ("python", "from a.b import f as g\ng()", {"a/b.py": "import os\ndef f():\n  os.remove('x')"}),
    ("python", "from a import *\nf()", {"a.py": "import os\ndef f():\n  os.remove('x')"}),
    ("python", "from a import f\nf()", {"a/__init__.py": "from .b import f", "a/b.py": "import os\ndef f():\n  os.remove('x')"}),
    ("python", "from a import T\nT().f()", {"a.py": "import os\nclass T:\n  def f(self):\n    os.remove('x')"}),
    ("python", "import a\na.f()", {"a.py": "import b\ndef f():\n  b.g('x')", "b.py": "import os\ng = os.remove"}),
    ("javascript", "require('./a').f()", {"a.js": "exports.f = () => require('fs').unlinkSync('x')"}),
    ("javascript", "const {f} = require('./a'); f()", {"a.js": "function f() {require('fs').unlinkSync('x')}\nmodule.exports = {f}"}),
    ("javascript", "import f from './a.js'; f()", {"a.js": "import fs from 'fs'\nexport default function f() {fs.unlinkSync('x')}"}),
    ("javascript", "import {f} from './a'; f()", {"a.ts": "import fs from 'fs'\nexport const f = () => fs.unlinkSync('x')"}),
    ("javascript", "import * as a from './a'; a.f()", {"a/index.js": "import fs from 'fs'\nexport const f = () => fs.unlinkSync('x')"}),
    ("javascript", "import './a'", {"a.js": "require('fs').unlinkSync('x')"}),
    ("ruby", "require_relative 'a'\nf()", {"a.rb": "def f\n  File.delete('x')\nend"}),
]  # fmt: skip


@pytest.mark.parametrize(("language", "source", "files"), CASES)
def test_a_file_of_the_project_runs_when_it_is_loaded(language: str, source: str, files: dict[str, str]) -> None:
    found = does(language, source, files)
    assert found.refusals == ()
    assert [command.argv for command in found.commands] == [("rm", "-f", "x")]


def test_the_chain_goes_through_the_files() -> None:
    files = {"a.py": "import b\n\ndef f():\n  b.g()", "b.py": "import os\ndef g():\n  os.remove('x')"}
    (command,) = does("python", "import a\n\na.f()", files, "main.py").commands
    assert command.via == ("main.py:3", "a.py:4", "b.py:3 os.remove")


def test_a_file_runs_once_and_a_circle_ends() -> None:
    files = {"a.py": "import b\nimport os\nos.remove('x')", "b.py": "import a"}
    assert len(does("python", "import a\nimport a\nimport b", files).commands) == 1


def test_what_a_file_only_declares_stays_silent() -> None:
    files = {"a.py": "import os\ndef f():\n  os.remove('x')\nif __name__ == '__main__':\n  f()"}
    assert does("python", "import a", files).commands == ()


def test_a_name_that_is_not_the_projects_is_the_librarys() -> None:
    assert [c.argv for c in does("python", "import os\nos.remove('x')", {"a.py": ""}).commands] == [("rm", "-f", "x")]


def test_many_large_files_are_no_reason_to_refuse() -> None:
    body = "def work(n):\n" + "".join(f"  x{i} = [n + {i}, str(n)]\n" for i in range(900)) + "work(1)\n" * 9
    files = {f"m{i}.py": body for i in range(40)}
    found = does("python", "".join(f"import m{i}\n" for i in range(40)), files)
    assert found.refusals == ()
