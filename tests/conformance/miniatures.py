"""Owns projects in miniature: a command, the files it starts something from, and a place in them for what is started.

Each is a pair of twins: `@@` holds either something harmful in the language of the place or its harmless likeness.
What must come of them is said by `test_started_projects`.
"""

from __future__ import annotations

from typing import NamedTuple

HARM = {
    "sh": 'rm -rf "$HOME"',
    "sql": "DROP TABLE users;",
    "python": 'import os, shutil; shutil.rmtree(os.path.expanduser("~"))',
    "js": 'require("fs").rmSync(require("os").homedir(), { recursive: true, force: true })',
    "ts": 'import { rmSync } from "node:fs"; import { homedir } from "node:os"; rmSync(homedir(), { recursive: true })',
    "deno": 'await Deno.remove(Deno.env.get("HOME")!, { recursive: true })',
    "ruby": 'require "fileutils"; FileUtils.rm_rf(Dir.home)',
    "perl": "use File::Path qw(remove_tree); remove_tree($ENV{HOME});",
    "php": 'exec("rm -rf " . getenv("HOME"));',
    "ps1": "Remove-Item -Recurse -Force $HOME",
    "bat": "rd /s /q %USERPROFILE%",
}
LIKENESS = {
    "sh": "rm -rf build/cache",
    "sql": "SELECT name FROM users;",
    "python": 'import os, shutil; shutil.rmtree("build/cache", ignore_errors=True)',
    "js": 'require("fs").rmSync("build/cache", { recursive: true, force: true })',
    "ts": 'import { rmSync } from "node:fs"; rmSync("build/cache", { recursive: true, force: true })',
    "deno": 'await Deno.remove("build/cache", { recursive: true })',
    "ruby": 'require "fileutils"; FileUtils.rm_rf("build/cache")',
    "perl": 'use File::Path qw(remove_tree); remove_tree("build/cache");',
    "php": 'exec("rm -rf build/cache");',
    "ps1": "Remove-Item -Recurse -Force build/cache",
    "bat": "rd /s /q build\\cache",
}


class Mini(NamedTuple):
    """`files` are relative to the project; `chain` are links that the harmful twin's chain must have, in order."""

    name: str
    command: str
    files: dict[str, str]
    language: str = "sh"
    chain: tuple[str, ...] = ()
    shell: str = "bash"
    platform: str = "linux"
    environ: tuple[tuple[str, str], ...] = ()


def package(**scripts: str) -> str:
    return _json({"name": "app", "scripts": {name.replace("_", ":"): text for name, text in scripts.items()}})


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2)


def nested(**value: object) -> str:
    return _json(value)


_WIPE = 'set -eu\n# what remains of the last run\nprintf "clean\\n"\n@@\n'

SHELLS = (
    Mini("sh-file", "sh scripts/x.sh", {"scripts/x.sh": _WIPE}, chain=("scripts/x.sh:4",)),
    Mini("bash-file", "bash -eu scripts/x.sh", {"scripts/x.sh": _WIPE}, chain=("scripts/x.sh:4",)),
    Mini("zsh-file", "zsh scripts/x.zsh", {"scripts/x.zsh": _WIPE}),
    Mini("dash-file", "dash ./x", {"x": _WIPE}),
    Mini("ksh-file", "ksh x.ksh", {"x.ksh": _WIPE}),
    Mini("shebang-sh", "./x", {"x": "#!/bin/sh\n" + _WIPE}, chain=("x:5",)),
    Mini("shebang-env-bash", "scripts/x", {"scripts/x": "#!/usr/bin/env bash\n" + _WIPE}),
    Mini("shebang-env-split", "./x", {"x": "#!/usr/bin/env -S python3 -B\n@@\n"}, "python"),
    Mini("no-shebang", "./x.sh", {"x.sh": _WIPE}),
    Mini("source", "source scripts/env.sh", {"scripts/env.sh": _WIPE}, chain=("scripts/env.sh:4",)),
    Mini("dot", ". ./env.sh && make_it", {"env.sh": "make_it() {\n  @@\n}\n"}),
    Mini("sourced-function", "source ./lib.sh; tidy", {"lib.sh": "tidy() {\n  @@\n}\n"}),
    Mini("script-argument", "bash x.sh target", {"x.sh": 'case "$1" in\ntarget)\n  @@\n  ;;\nesac\n'}),
    Mini("stdin-redirect", "bash < x.sh", {"x.sh": _WIPE}),
    Mini("stdin-cat", "cat x.sh | bash", {"x.sh": _WIPE}),
    Mini("stdin-heredoc", "bash <<'EOF'\necho one\n@@\nEOF", {}),
    Mini("stdin-process", "bash <(cat x.sh)", {"x.sh": _WIPE}),
    Mini("stdin-dash-s", "bash -s -- a b < x.sh", {"x.sh": _WIPE}),
    Mini("written-then-run", "printf '%s\\n' '@@' > x.sh && sh x.sh", {}),
    Mini("heredoc-then-run", "cat > x.sh <<'EOF'\n#!/bin/sh\n@@\nEOF\nchmod +x x.sh\n./x.sh", {}),
    Mini("tee-then-run", "tee x.sh > /dev/null <<'EOF'\n@@\nEOF\nbash x.sh", {}),
    Mini("copied-then-run", "cp x.tpl run.sh && bash run.sh", {"x.tpl": _WIPE}),
    Mini("moved-then-run", "mv x.tpl run.sh && bash run.sh", {"x.tpl": _WIPE}),
    Mini(
        "script-calls-script",
        "./a.sh",
        {"a.sh": "#!/bin/sh\n./b.sh\n", "b.sh": "#!/bin/sh\n@@\n"},
        chain=("a.sh:2", "b.sh:2"),
    ),
    Mini(
        "chain-of-three",
        "sh a.sh",
        {"a.sh": "sh b.sh\n", "b.sh": "sh c.sh\n", "c.sh": "@@\n"},
        chain=("a.sh:1", "b.sh:1", "c.sh:1"),
    ),
    Mini(
        "script-beside-itself",
        "bash scripts/a.sh",
        {"scripts/a.sh": 'cd "$(dirname "$0")"\n. ./b.sh\n', "scripts/b.sh": "@@\n"},
    ),
    Mini(
        "script-by-own-folder",
        "bash scripts/a.sh",
        {
            "scripts/a.sh": 'DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nsource "$DIR/b.sh"\n',
            "scripts/b.sh": "@@\n",
        },
    ),
    Mini("env-runs", "env A=1 bash x.sh", {"x.sh": _WIPE}),
    Mini("timeout-runs", "timeout 10 ./x.sh", {"x.sh": _WIPE}),
    Mini("nohup-runs", "nohup ./x.sh &", {"x.sh": _WIPE}),
    Mini("xargs-runs", "echo x.sh | xargs bash", {"x.sh": _WIPE}),
    Mini("find-runs", "find . -name x.sh -exec sh {} \\;", {"x.sh": _WIPE}),
    Mini("loop-runs", 'for s in scripts/*.sh; do bash "$s"; done', {"scripts/a.sh": "true\n", "scripts/b.sh": _WIPE}),
    Mini("cd-then-run", "cd tools && ./x.sh", {"tools/x.sh": _WIPE}),
    Mini("trap-in-script", "sh x.sh", {"x.sh": "trap '@@' EXIT\necho working\n"}),
    Mini("crlf-script", "bash x.sh", {"x.sh": "#!/bin/bash\r\n@@\r\n"}),
    Mini("long-script", "bash x.sh", {"x.sh": "echo line\n" * 400 + "@@\n"}, chain=("x.sh:401",)),
)

LANGUAGES = (
    Mini("python-file", "python x.py", {"x.py": "import sys\n\n@@\n"}, "python", ("x.py:3",)),
    Mini(
        "python-main",
        "python3 app.py",
        {"app.py": "def main():\n    @@\n\n\nif __name__ == '__main__':\n    main()\n"},
        "python",
    ),
    Mini("python-module", "python -m tools.clean", {"tools/__init__.py": "", "tools/clean.py": "@@\n"}, "python"),
    Mini("python-package", "python -m tools", {"tools/__init__.py": "", "tools/__main__.py": "@@\n"}, "python"),
    Mini("python-src", "PYTHONPATH=src python -m tools", {"src/tools/__main__.py": "@@\n"}, "python"),
    Mini("python-folder", "python app", {"app/__main__.py": "@@\n"}, "python"),
    Mini("python-stdin", "python3 - <<'PY'\n@@\nPY", {}, "python"),
    Mini("python-redirected", "python3 < x.py", {"x.py": "@@\n"}, "python"),
    Mini("python-inline", "python -c '@@'", {}, "python"),
    Mini("python-venv", ".venv/bin/python x.py", {"x.py": "@@\n"}, "python"),
    Mini("python-shebang", "./x", {"x": "#!/usr/bin/env python3\n@@\n"}, "python"),
    Mini(
        "python-import",
        "python main.py",
        {"main.py": "import clean\nclean.run()\n", "clean.py": "def run():\n    @@\n"},
        "python",
    ),
    Mini(
        "python-import-top",
        "python main.py",
        {"main.py": "from tools import clean\n", "tools/__init__.py": "", "tools/clean.py": "@@\n"},
        "python",
    ),
    Mini(
        "python-subprocess",
        "python x.py",
        {"x.py": "import subprocess\nsubprocess.run(['bash', 'y.sh'])\n", "y.sh": "@@\n"},
        chain=("x.py:2", "y.sh:1"),
    ),
    Mini("python-profile", "python -m cProfile x.py", {"x.py": "@@\n"}, "python"),
    Mini("python-runpy", "python -m runpy tools.clean", {"tools/clean.py": "@@\n"}, "python"),
    Mini("node-file", "node x.js", {"x.js": "// cleans\n@@\n"}, "js", ("x.js:2",)),
    Mini("node-without-ending", "node x", {"x.js": "@@\n"}, "js"),
    Mini("node-folder", "node .", {"index.js": "@@\n"}, "js"),
    Mini("node-module", "node x.mjs", {"x.mjs": "@@\n"}, "ts"),
    Mini(
        "node-required",
        "node main.js",
        {"main.js": 'const clean = require("./clean")\nclean()\n', "clean.js": "module.exports = () => {\n  @@\n}\n"},
        "js",
    ),
    Mini("node-preload", "node -r ./hook.js main.js", {"hook.js": "@@\n", "main.js": "console.log(1)\n"}, "js"),
    Mini("node-inline", "node -e '@@'", {}, "js"),
    Mini("node-stdin", "node <<'JS'\n@@\nJS", {}, "js"),
    Mini(
        "node-shell",
        "node x.js",
        {"x.js": 'require("child_process").execSync("sh y.sh")\n', "y.sh": "@@\n"},
        chain=("x.js:1", "y.sh:1"),
    ),
    Mini("tsx-file", "npx tsx scripts/x.ts", {"scripts/x.ts": "@@\n"}, "ts"),
    Mini("ts-node-file", "ts-node x.ts", {"x.ts": "@@\n"}, "ts"),
    Mini("node-strip-types", "node --experimental-strip-types x.ts", {"x.ts": "@@\n"}, "ts"),
    Mini("node-main", "node .", {"package.json": nested(main="lib/start.js"), "lib/start.js": "@@\n"}, "js"),
    Mini("deno-run", "deno run -A x.ts", {"x.ts": "@@\n"}, "deno"),
    Mini("deno-eval", "deno eval '@@'", {}, "deno"),
    Mini(
        "deno-task", "deno task clean", {"deno.json": nested(tasks={"clean": "@@"})}, chain=("deno.json:tasks.clean",)
    ),
    Mini("deno-task-object", "deno task clean", {"deno.json": nested(tasks={"clean": {"command": "@@"}})}),
    Mini(
        "deno-task-dependency",
        "deno task all",
        {"deno.json": nested(tasks={"clean": "@@", "all": {"command": "echo", "dependencies": ["clean"]}})},
    ),
    Mini("bun-file", "bun x.ts", {"x.ts": "@@\n"}, "ts"),
    Mini("bun-run-file", "bun run ./x.ts", {"x.ts": "@@\n"}, "ts"),
    Mini("bun-shell", "bun x.ts", {"x.ts": 'import { $ } from "bun"\nawait $`@@`\n'}),
    Mini("ruby-file", "ruby x.rb", {"x.rb": "puts 1\n@@\n"}, "ruby", ("x.rb:2",)),
    Mini("ruby-inline", "ruby -e '@@'", {}, "ruby"),
    Mini("ruby-shebang", "./x", {"x": "#!/usr/bin/env ruby\n@@\n"}, "ruby"),
    Mini("ruby-required", "ruby main.rb", {"main.rb": 'require_relative "clean"\n', "clean.rb": "@@\n"}, "ruby"),
    Mini("ruby-backticks", "ruby x.rb", {"x.rb": "`sh y.sh`\n", "y.sh": "@@\n"}),
    Mini("rake-default", "rake", {"Rakefile": "task default: [:clean]\n\ntask :clean do\n  @@\nend\n"}, "ruby"),
    Mini(
        "rake-task",
        "bundle exec rake db:wipe",
        {"Rakefile": "namespace :db do\n  task :wipe do\n    @@\n  end\nend\n"},
        "ruby",
    ),
    Mini("rake-sh", "rake clean", {"Rakefile": "task :clean do\n  sh '@@'\nend\n"}),
    Mini("perl-file", "perl x.pl", {"x.pl": "use strict;\n@@\n"}, "perl", ("x.pl:2",)),
    Mini("perl-inline", "perl -e '@@'", {}, "perl"),
    Mini("perl-shebang", "./x", {"x": "#!/usr/bin/perl\n@@\n"}, "perl"),
    Mini("php-file", "php x.php", {"x.php": "<?php\n@@\n"}, "php", ("x.php:2",)),
    Mini("php-inline", "php -r '@@'", {}, "php"),
    Mini(
        "php-included",
        "php main.php",
        {"main.php": '<?php\nrequire __DIR__ . "/clean.php";\n', "clean.php": "<?php\n@@\n"},
        "php",
    ),
    Mini("pwsh-file", "pwsh -NoProfile -File x.ps1", {"x.ps1": "@@\n"}, "ps1", ("x.ps1:1",)),
    Mini("pwsh-script", "pwsh x.ps1", {"x.ps1": "Write-Host 1\n@@\n"}, "ps1"),
    Mini("pwsh-call", "& ./x.ps1", {"x.ps1": "@@\n"}, "ps1", shell="powershell"),
    Mini("pwsh-dot", ". ./x.ps1; Clear-All", {"x.ps1": "function Clear-All {\n  @@\n}\n"}, "ps1", shell="powershell"),
    Mini("cmd-file", "cmd /c x.bat", {"x.bat": "@echo off\n@@\n"}, "bat", ("x.bat:2",)),
    Mini("cmd-call", "call x.bat", {"x.bat": "@echo off\r\n@@\r\n"}, "bat", shell="cmd"),
    Mini("cmd-bare", "x.cmd", {"x.cmd": "@@\n"}, "bat", shell="cmd"),
    Mini(
        "psql-file",
        'psql "$DATABASE_URL" -f x.sql',
        {"x.sql": "BEGIN;\n@@\nCOMMIT;\n"},
        "sql",
        environ=(("DATABASE_URL", "postgres://app@db.example.com/prod"),),
    ),
    Mini("psql-stdin", "psql -h db.example.com app < x.sql", {"x.sql": "@@\n"}, "sql"),
)

_TWO = nested(name="root", workspaces=["packages/*"], scripts={"noop": "true"})

PACKAGES = (
    Mini(
        "npm-test",
        "npm test",
        {"package.json": package(test="bash scripts/x.sh"), "scripts/x.sh": _WIPE},
        chain=("package.json:scripts.test", "scripts/x.sh:4"),
    ),
    Mini("npm-run", "npm run clean", {"package.json": package(clean="@@")}, chain=("package.json:scripts.clean",)),
    Mini("npm-run-silent", "npm run --silent clean -- --all", {"package.json": package(clean="@@ #")}),
    Mini(
        "npm-pre",
        "npm test",
        {"package.json": package(pretest="@@", test="true")},
        chain=("package.json:scripts.pretest",),
    ),
    Mini("npm-post", "npm run build", {"package.json": package(build="true", postbuild="@@")}),
    Mini("npm-start", "npm start", {"package.json": package(start="@@")}),
    Mini("npm-restart", "npm restart", {"package.json": package(stop="@@", start="true")}),
    Mini(
        "npm-install",
        "npm install",
        {"package.json": package(postinstall="@@")},
        chain=("package.json:scripts.postinstall",),
    ),
    Mini("npm-ci", "npm ci", {"package.json": package(prepare="@@")}),
    Mini("npm-version", "npm version patch", {"package.json": package(preversion="@@")}),
    Mini("npm-pack", "npm pack", {"package.json": package(prepack="@@")}),
    Mini(
        "npm-script-script",
        "npm run all",
        {"package.json": package(all="npm run clean && true", clean="@@")},
        chain=("package.json:scripts.all", "package.json:scripts.clean"),
    ),
    Mini("npm-node-file", "npm run seed", {"package.json": package(seed="node x.js"), "x.js": "@@\n"}, "js"),
    Mini("npm-prefix", "npm --prefix app run clean", {"app/package.json": package(clean="@@")}),
    Mini("npm-from-below", "cd src/deep && npm run clean", {"package.json": package(clean="@@"), "src/deep/a": ""}),
    Mini(
        "npm-workspace",
        "npm run clean -w a",
        {"package.json": _TWO, "packages/a/package.json": nested(name="a", scripts={"clean": "@@"})},
    ),
    Mini(
        "npm-workspaces",
        "npm run clean --workspaces",
        {"package.json": _TWO, "packages/a/package.json": nested(name="a", scripts={"clean": "@@"})},
    ),
    Mini("npm-exec-call", "npm exec -c '@@'", {}),
    Mini("npm-run-all", "npx npm-run-all clean:*", {"package.json": package(clean_a="true", clean_b="@@")}),
    Mini("node-run", "node --run clean", {"package.json": package(clean="@@")}),
    Mini("npx-local-script", "npx tsx x.ts", {"x.ts": "@@\n"}, "ts"),
    Mini("npx-call", "npx -c '@@'", {}),
    Mini("npx-concurrently", "npx concurrently 'echo 1' '@@'", {"package.json": package()}),
    Mini("yarn-script", "yarn clean", {"package.json": package(clean="@@")}),
    Mini("yarn-run", "yarn run clean", {"package.json": package(clean="@@")}),
    Mini("yarn-pre", "yarn build", {"package.json": package(prebuild="@@", build="true")}),
    Mini("yarn-install", "yarn", {"package.json": package(postinstall="@@")}),
    Mini(
        "yarn-workspace",
        "yarn workspace a clean",
        {"package.json": _TWO, "packages/a/package.json": nested(name="a", scripts={"clean": "@@"})},
    ),
    Mini(
        "yarn-foreach",
        "yarn workspaces foreach -A run clean",
        {"package.json": _TWO, "packages/a/package.json": nested(name="a", scripts={"clean": "@@"})},
    ),
    Mini("yarn-cwd", "yarn --cwd app clean", {"app/package.json": package(clean="@@")}),
    Mini("pnpm-script", "pnpm clean", {"package.json": package(clean="@@")}),
    Mini("pnpm-run", "pnpm run clean", {"package.json": package(clean="@@")}),
    Mini("pnpm-install", "pnpm i", {"package.json": package(prepare="@@")}),
    Mini(
        "pnpm-filter",
        "pnpm --filter a run clean",
        {
            "package.json": package(),
            "pnpm-workspace.yaml": "packages:\n  - 'packages/*'\n",
            "packages/a/package.json": nested(name="a", scripts={"clean": "@@"}),
        },
    ),
    Mini(
        "pnpm-recursive",
        "pnpm -r clean",
        {
            "package.json": package(),
            "pnpm-workspace.yaml": "packages:\n  - packages/*\n",
            "packages/a/package.json": nested(name="a", scripts={"clean": "@@"}),
        },
    ),
    Mini("pnpm-exec", "pnpm exec sh x.sh", {"x.sh": "@@\n"}),
    Mini("bun-script", "bun run clean", {"package.json": package(clean="@@")}),
    Mini("bun-short", "bun clean", {"package.json": package(clean="@@")}),
    Mini("bun-install", "bun install", {"package.json": package(postinstall="@@")}),
    Mini("bunx-script", "bunx tsx x.ts", {"x.ts": "@@\n"}, "ts"),
    Mini("composer-script", "composer clean", {"composer.json": nested(scripts={"clean": "@@"})}),
    Mini("composer-list", "composer run-script clean", {"composer.json": nested(scripts={"clean": ["true", "@@"]})}),
    Mini("composer-install", "composer install", {"composer.json": nested(scripts={"post-install-cmd": "@@"})}),
    Mini(
        "composer-php",
        "composer seed",
        {"composer.json": nested(scripts={"seed": "@php x.php"}), "x.php": "<?php\n@@\n"},
        "php",
    ),
)

_TOML = '[project]\nname = "app"\nversion = "1"\n'

RUNNERS = (
    Mini("uv-run-file", "uv run x.py", {"x.py": "@@\n"}, "python", ("x.py:1",)),
    Mini("uv-run-python", "uv run --with rich python x.py", {"x.py": "@@\n"}, "python"),
    Mini("uv-run-module", "uv run -m tools", {"tools/__main__.py": "@@\n"}, "python"),
    Mini(
        "uv-run-script",
        "uv run wipe",
        {"pyproject.toml": _TOML + '[project.scripts]\nwipe = "app.cli:main"\n', "app/cli.py": "def main():\n    @@\n"},
        "python",
    ),
    Mini("uv-shebang", "./x", {"x": "#!/usr/bin/env -S uv run --script\n@@\n"}, "python"),
    Mini("poetry-run-file", "poetry run python x.py", {"x.py": "@@\n"}, "python"),
    Mini(
        "poetry-script",
        "poetry run wipe",
        {"pyproject.toml": '[tool.poetry.scripts]\nwipe = "app:main"\n', "app/__init__.py": "def main():\n    @@\n"},
        "python",
    ),
    Mini("pipenv-run", "pipenv run python x.py", {"x.py": "@@\n"}, "python"),
    Mini(
        "pipenv-script",
        "pipenv run clean",
        {"Pipfile": '[scripts]\nclean = "@@"\n'.replace("@@", "sh x.sh"), "x.sh": "@@\n"},
    ),
    Mini("pdm-run", "pdm run python x.py", {"x.py": "@@\n"}, "python"),
    Mini("pdm-script", "pdm run clean", {"pyproject.toml": "[tool.pdm.scripts]\nclean = '@@'\n"}),
    Mini("pdm-table", "pdm clean", {"pyproject.toml": "[tool.pdm.scripts]\nclean = {shell = '@@'}\n"}),
    Mini(
        "pdm-composite",
        "pdm run all",
        {"pyproject.toml": "[tool.pdm.scripts]\nclean = '@@'\nall = {composite = ['clean']}\n"},
    ),
    Mini("hatch-script", "hatch run clean", {"pyproject.toml": "[tool.hatch.envs.default.scripts]\nclean = '@@'\n"}),
    Mini(
        "hatch-list",
        "hatch run dev:clean",
        {"pyproject.toml": "[tool.hatch.envs.dev.scripts]\nclean = ['echo a', '@@']\n"},
    ),
    Mini("hatch-program", "hatch run python x.py", {"x.py": "@@\n"}, "python"),
    Mini(
        "tox-ini",
        "tox -e clean",
        {
            "tox.ini": "[tox]\nenvlist = clean\n[testenv:clean]\nallowlist_externals = *\ncommands =\n    sh x.sh\n",
            "x.sh": "@@\n",
        },
    ),
    Mini("tox-default", "tox", {"tox.ini": "[testenv]\ncommands =\n    python x.py\n", "x.py": "@@\n"}, "python"),
    Mini(
        "nox-session",
        "nox -s clean",
        {"noxfile.py": "import nox\n\n@nox.session\ndef clean(session):\n    @@\n"},
        "python",
    ),
    Mini(
        "nox-run",
        "nox",
        {
            "noxfile.py": "import nox\n\n@nox.session\ndef clean(session):\n"
            "    session.run('sh', 'x.sh', external=True)\n",
            "x.sh": "@@\n",
        },
    ),
    Mini(
        "invoke-task",
        "inv clean",
        {"tasks.py": "from invoke import task\n\n@task\ndef clean(c):\n    c.run('sh x.sh')\n", "x.sh": "@@\n"},
    ),
    Mini("poe-task", "poe clean", {"pyproject.toml": "[tool.poe.tasks]\nclean = {shell = '@@'}\n"}),
    Mini("setup-install", "pip install -e .", {"setup.py": "@@\nfrom setuptools import setup\nsetup()\n"}, "python"),
    Mini("setup-direct", "python setup.py clean", {"setup.py": "@@\n"}, "python"),
    Mini("coverage-run", "coverage run x.py", {"x.py": "@@\n"}, "python"),
    Mini("coverage-module", "python -m coverage run x.py", {"x.py": "@@\n"}, "python"),
    Mini(
        "pytest-conftest", "pytest", {"conftest.py": "@@\n", "tests/test_a.py": "def test_a():\n    pass\n"}, "python"
    ),
    Mini("pytest-test", "python -m pytest tests/test_a.py", {"tests/test_a.py": "def test_a():\n    @@\n"}, "python"),
    Mini("django-manage", "python manage.py wipe", {"manage.py": "import sys\n@@\n"}, "python"),
    Mini("mise-exec", "mise exec -- bash x.sh", {"x.sh": "@@\n"}),
    Mini("mise-task", "mise run clean", {"mise.toml": "[tasks.clean]\nrun = '@@'\n"}),
    Mini("direnv-allow", "direnv allow", {".envrc": "@@\n"}),
    Mini("direnv-exec", "direnv exec . ./x.sh", {"x.sh": "@@\n"}),
    Mini("dotenv-run", "dotenv run -- sh x.sh", {"x.sh": "@@\n"}),
)

MAKES = (
    Mini("make-target", "make clean", {"Makefile": "clean:\n\t@@\n"}, chain=("Makefile:clean",)),
    Mini("make-default", "make", {"Makefile": ".PHONY: all\nall:\n\t@@\nother:\n\ttrue\n"}),
    Mini("make-prerequisite", "make all", {"Makefile": "all: one two\none:\n\ttrue\ntwo: three\nthree:\n\t@@\n"}),
    Mini("make-script", "make clean", {"Makefile": "clean:\n\t./x.sh\n", "x.sh": "@@\n"},
         chain=("Makefile:clean", "x.sh:1")),
    Mini("make-variable", "make clean", {"Makefile": "TOOL := sh x.sh\nclean:\n\t@$(TOOL)\n", "x.sh": "@@\n"}),
    Mini("make-override", "make clean S=y.sh", {"Makefile": "S ?= x.sh\nclean:\n\tsh $(S)\n", "x.sh": "true\n",
         "y.sh": "@@\n"}),
    Mini("make-include", "make clean", {"Makefile": "include mk/*.mk\nall:\n\ttrue\n", "mk/c.mk": "clean:\n\t-@@@\n"
         .replace("@@@", "@@")}),
    Mini("make-file-option", "make -f build.mk clean", {"build.mk": "clean:\n\t@@\n"}),
    Mini("make-folder", "make -C app clean", {"app/Makefile": "clean:\n\t@@\n"}),
    Mini("make-recursive", "make", {"Makefile": "all:\n\t$(MAKE) -C app clean\n", "app/Makefile": "clean:\n\t@@\n"}),
    Mini("make-define", "make clean", {"Makefile": "define wipe\n@@\nendef\nclean:\n\t$(wipe)\n"}),
    Mini("make-pattern", "make a.out", {"Makefile": "%.out:\n\t@@\n"}),
    Mini("make-shell-function", "make", {"Makefile": "X := $(shell sh x.sh)\nall:\n\ttrue\n", "x.sh": "@@\n"}),
    Mini("make-oneshell", "make clean", {"Makefile": ".ONESHELL:\nclean:\n\tset -e\n\t@@\n"}),
    Mini("make-foreach", "make all", {"Makefile": "T = a b\nall: $(addprefix do-,$(T))\ndo-a:\n\ttrue\ndo-b:\n\t@@\n"}),
    Mini("make-conditional", "make CI=1 all", {"Makefile": "all:\nifdef CI\n\t@@\nelse\n\ttrue\nendif\n"}),
    Mini("gmake-goal", "gmake", {"GNUmakefile": ".DEFAULT_GOAL := z\na:\n\ttrue\nz:\n\t@@\n"}),
    Mini("just-recipe", "just clean", {"justfile": "default:\n  true\n\nclean:\n  @@\n"}, chain=("justfile:clean",)),
    Mini("just-default", "just", {"justfile": "build:\n  @@\n"}),
    Mini("just-dependency", "just all", {"justfile": "all: (wipe 'x')\n\nwipe name:\n  @@\n"}),
    Mini("just-variable", "just clean", {"justfile": "s := 'x.sh'\nclean:\n  sh {{s}}\n", "x.sh": "@@\n"}),
    Mini("just-shebang", "just clean", {"justfile": "clean:\n  #!/usr/bin/env python3\n  @@\n"}, "python"),
    Mini("just-import", "just clean", {"justfile": "import 'c.just'\n", "c.just": "clean:\n  @@\n"}),
    Mini("just-alias", "just c", {"justfile": "alias c := clean\nclean:\n  @@\n"}),
    Mini("task-cmd", "task clean", {"Taskfile.yml": "version: '3'\ntasks:\n  clean:\n    cmds:\n      - '@@'\n"}),
    Mini("task-default", "task", {"Taskfile.yml": "version: '3'\ntasks:\n  default:\n    cmds:\n      - '@@'\n"}),
    Mini("task-short", "task clean", {"Taskfile.yaml": "version: '3'\ntasks:\n  clean: '@@'\n"}),
    Mini("task-deps", "task all", {"Taskfile.yml":
         "version: '3'\ntasks:\n  all:\n    deps: [clean]\n  clean:\n    cmds:\n      - '@@'\n"}),
    Mini("task-call", "task all", {"Taskfile.yml":
         "version: '3'\ntasks:\n  all:\n    cmds:\n      - task: clean\n  clean:\n    cmds:\n      - '@@'\n"}),
    Mini("task-variable", "task clean", {"Taskfile.yml":
         "version: '3'\nvars:\n  S: x.sh\ntasks:\n  clean:\n    cmds:\n      - sh {{.S}}\n", "x.sh": "@@\n"}),
    Mini("task-include", "task sub:clean", {"Taskfile.yml": "version: '3'\nincludes:\n  sub: ./sub\ntasks: {}\n",
         "sub/Taskfile.yml": "version: '3'\ntasks:\n  clean:\n    cmds:\n      - '@@'\n"}),
    Mini("docker-entry", "sh docker/entry.sh", {"docker/entry.sh": 'exec "$@"\n@@\n'.replace('exec "$@"\n', "")}),
)  # fmt: skip

_TWO = {"scripts/a.sh": "echo ok\n", "scripts/b.sh": "@@\n"}
_PROGRAM = {"tools/a": "#!/bin/sh\necho ok\n", "tools/wipe": "#!/bin/sh\n@@\n"}
NAMED_BY_THE_FOLDER = (
    Mini("glob-each", 'for f in scripts/*; do "$f"; done', _TWO),
    Mini("glob-bash", "bash scripts/b*.sh", _TWO),
    Mini("glob-cat-inline", 'bash -c "$(cat scripts/b*.sh)"', _TWO),
    Mini("ls-xargs", "ls scripts/*.sh | xargs -n1 bash", _TWO),
    Mini("ls-xargs-replaced", "ls scripts | xargs -I{} bash scripts/{}", _TWO),
    Mini("ls-first", "s=$(ls scripts | tail -1); bash scripts/$s", _TWO),
    Mini("git-ls-files-xargs", "git ls-files 'scripts/*.sh' | xargs -n1 bash", _TWO),
    Mini("find-each", "find scripts -type f -exec bash {} \\;", _TWO),
    Mini("find-itself", "find tools -name 'wip*' -exec {} \\;", _PROGRAM),
    Mini("find-python", "find jobs -name 'c*' -exec python3 {} \\;", {"jobs/clean.py": "@@\n"}, "python"),
    Mini("git-mv", "git mv scripts/b.sh c.sh && bash c.sh", _TWO),
    Mini(
        "import-module",
        "python3 -c \"import importlib; importlib.import_module('jobs')\"",
        {"jobs.py": "@@\n"},
        "python",
    ),
)

MINIATURES = (*SHELLS, *LANGUAGES, *PACKAGES, *RUNNERS, *MAKES, *NAMED_BY_THE_FOLDER)
