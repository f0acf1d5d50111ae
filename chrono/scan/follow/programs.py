"""Owns telling by its name alone whether a program may start something that can be read: most are of none of these.

What one starts is left to `started`, which is loaded for those only.
"""

from __future__ import annotations

from chrono.scan.command import Many, Pattern, Word

FOLLOWED = frozenset(
    "sh dash ash posh bash rbash ksh mksh zsh python pypy pythonw ipython jython micropython py ruby jruby "
    "truffleruby perl php pwsh powershell cmd node nodejs tsx ts-node ts-node-esm esno babel-node nodemon iojs zx deno "
    "bun bunx npx pnpx npm pnpm yarn yarnpkg cnpm ni nr run-s run-p npm-run-all concurrently wireit composer pip uv "
    "poetry pipenv pdm rye hatch pixi conda mamba micromamba dotenv mise asdf bundle coverage doppler direnv heroku "
    "poe poethepoet make gmake gnumake mingw32-make remake task go-task just tox nox inv invoke fab pytest py.test "
    "rake run-parts rails irb pry manage.py django-admin flask artisan sail psysh bpython ptpython "
    "docker docker-compose podman podman-compose nerdctl".split()
)
"""Programs, without version, of which a follower knows something; most commands are of none of them."""

SYSTEM_FOLDERS = (
    "/usr/bin/",
    "/bin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/usr/sbin/",
    "/sbin/",
    "/snap/bin/",
)


def is_followed(word: Word) -> bool:
    """Whether the program may start something that can be read: one of FOLLOWED, or a path of its own."""
    name = program_name(word)
    if name in FOLLOWED or name.rstrip("0123456789.-").lower() in FOLLOWED:
        return True
    if isinstance(word, Pattern):
        return bool(word.pieces) and word.pieces[0] is not None and names_a_path(word.pieces[0])
    return isinstance(word, str) and names_a_path(word)


def names_a_path(word: str) -> bool:
    """Whether a program is named by a path that is none of the system's."""
    return ("/" in word or "\\" in word) and not word.startswith(SYSTEM_FOLDERS)


def program_name(word: Word) -> str:
    """The last component of the program's path, also of a path that is known only at its end."""
    if isinstance(word, Many):
        return ""
    if isinstance(word, Pattern):
        last = word.pieces[-1] if word.pieces else None
        if last is None or "/" not in last:
            return ""
        word = last
    name = word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    return stem if dot and ending.lower() in ("exe", "com") else name
