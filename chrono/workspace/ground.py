"""Owns what `init` looks at and lays down around the hidden repository: refusals, the files that keep git off
`.chrono`, and proposals for `.chronoignore`.

The repository and the log themselves are made by `workspace.init` through `store` and `audit`. The user's own git
index, HEAD and work tree are never touched: only a line in `.git/info/exclude` is added.
"""

from __future__ import annotations

import os
import stat

from chrono.errors import ChronoError
from chrono.files import atomic_write
from chrono.layout import HomeLayout, ProjectLayout
from chrono.policy.cover import within
from chrono.scan.world import Read
from chrono.tuples import NamedTuple
from chrono.workspace.machine_world import read_file

EXCLUDE_LINE = "/.chrono/"
MAX_FILES = 200_000
"""Over this many files `init` asks for a decision (`max_files`): a savepoint walks all of them."""

BUILD_FOLDERS = frozenset(
    """
    build dist out bin obj coverage htmlcov _build cmake-build-debug .next .nuxt .cache .parcel-cache .turbo .svelte-kit
    .pytest_cache .mypy_cache .ruff_cache
    """.split()
)
"""Folders that a build makes anew. Not left out by themselves: `init` proposes lines, a person writes them."""

HEAVY_FOLDERS = frozenset(
    ["node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".nox", ".gradle", ".idea", ".vscode", ".git"]
)
"""Not counted and not looked into here; what a savepoint leaves out is decided by `store`."""


class Survey(NamedTuple):
    """What a walk of the tree saw. `counted` stops just over the limit; `builds` are folders relative to the root."""

    counted: int
    builds: tuple[str, ...]


def refuse_root(root: str, home: HomeLayout, user_home: str) -> None:
    """Raises ChronoError where `root` (absolute, real) must not become a project."""
    hint = "go into the folder of one project and run `chrono init` there"
    if os.path.dirname(root) == root:
        raise ChronoError(f"{root} is the whole machine, not a project", hint)
    if root == os.path.realpath(user_home):
        raise ChronoError(f"{root} is your home folder: a savepoint would hold all your files and keys", hint)
    if within(os.path.realpath(user_home), root):
        raise ChronoError(f"{root} holds your home folder, not a project", hint)
    chrono_home = os.path.realpath(home.root)
    if within(root, chrono_home):
        raise ChronoError(f"{root} lies inside CHRONO_HOME, where keys and witness are kept", hint)
    if within(chrono_home, root):
        raise ChronoError(
            f"CHRONO_HOME ({chrono_home}) lies inside {root}: who can change the project could change the witness",
            "set CHRONO_HOME= to a folder outside the project",
        )
    if not os.path.isdir(root):
        raise ChronoError(f"{root} is not a folder")


def survey(root: str, *, max_files: int = MAX_FILES) -> Survey:
    """Counts the files below `root` up to `max_files` + 1 and notes build folders. Links are not followed."""
    counted = 0
    builds: list[str] = []
    waiting = [""]
    while waiting and counted <= max_files:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(root, folder)))
        except OSError:
            continue
        for entry in entries:
            path = os.path.join(folder, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                counted += 1
            elif entry.name in BUILD_FOLDERS:
                builds.append(path)
                waiting.append(path)
            elif entry.name not in HEAVY_FOLDERS and entry.name != ".chrono":
                waiting.append(path)
    return Survey(counted, tuple(sorted(builds)))


def refuse_size(root: str, found: Survey, max_files: int) -> None:
    """Raises ChronoError where the tree holds more than `max_files` files."""
    if found.counted > max_files:
        raise ChronoError(
            f"{root} holds more than {max_files:,} files; each savepoint would look at all of them",
            "name folders that need no savepoint in .chronoignore, or say how many are fine: "
            f"chrono init --max-files {max_files * 10}",
        )


def proposals(layout: ProjectLayout, found: Survey) -> tuple[str, ...]:
    """Lines for `.chronoignore` that it does not have yet, one for each build folder found."""
    present = read_file(layout.chronoignore, 1_000_000)
    lines = present.data.decode("utf-8", "replace").splitlines() if isinstance(present, Read) else []
    have = {line.strip().strip("/") for line in lines}
    wanted = [path.replace(os.sep, "/") for path in found.builds]
    outer = [path for path in wanted if not any(within(path, other) for other in wanted if other != path)]
    return tuple(f"/{path}/" for path in outer if path not in have and os.path.basename(path) not in have)


def keep_git_off(layout: ProjectLayout) -> str | None:
    """Writes `.chrono/.git`, `.chrono/.gitignore` and the exclude line of the user's own repository.

    With the first, `git clean -fdx` takes `.chrono` for a nested repository and leaves it; the others keep it out of
    `git add -A` and `git status`. Returns the exclude file where a line was added, None where there was nothing to do.
    """
    _write_once(layout.git_pointer, b"gitdir: repo.git\n")
    _write_once(layout.git_ignore, b"*\n")
    folder = git_folder(layout.root)
    return _exclude(folder) if folder is not None else None


def _write_once(path: str, data: bytes) -> None:
    present = read_file(path, 4096, follow=False)
    if not isinstance(present, Read) or present.data != data:
        atomic_write(path, data, mode=0o644)


def git_folder(root: str) -> str | None:
    """The git folder of the repository whose work tree is `root`: its `.git`, or where its `.git` file points.

    For a linked work tree this is the common folder, where git looks for `info/exclude`. None where there is none.
    """
    pointer = os.path.join(root, ".git")
    try:
        mode = os.lstat(pointer).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return pointer if os.path.isfile(os.path.join(pointer, "HEAD")) else None
    named = _pointed(pointer, "gitdir: ", root) if stat.S_ISREG(mode) else None
    if named is None or not os.path.isfile(os.path.join(named, "HEAD")):
        return None
    return _pointed(os.path.join(named, "commondir"), "", named) or named


def _pointed(path: str, prefix: str, base: str) -> str | None:
    content = read_file(path, 4096, follow=False)
    if not isinstance(content, Read):
        return None
    text = content.data.decode("utf-8", "surrogateescape").rstrip("\r\n")
    if not text.startswith(prefix) or len(text) == len(prefix):
        return None
    folder = os.path.normpath(os.path.join(base, text[len(prefix) :]))
    return folder if os.path.isdir(folder) else None


def _exclude(folder: str) -> str | None:
    path = os.path.join(folder, "info", "exclude")
    if os.path.islink(path) or os.path.islink(os.path.dirname(path)):
        return None  # a link may lead to a file that is shared with other repositories
    content = read_file(path, 1_000_000, follow=False)
    if isinstance(content, Read):
        data, mode = content.data, stat.S_IMODE(os.stat(path).st_mode)
    elif content.reason == "missing":
        data, mode = b"", 0o644
        os.makedirs(os.path.dirname(path), exist_ok=True)
    else:
        return None
    if EXCLUDE_LINE.encode() in data.splitlines():
        return None
    if data and not data.endswith(b"\n"):
        data += b"\n"
    atomic_write(path, data + EXCLUDE_LINE.encode() + b"\n", mode=mode)
    return path
