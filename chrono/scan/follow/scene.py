"""Owns what followers share: script text that was started, and one command as a follower sees it.

What the program does with its arguments is left to `scripts`, `packages` and `make`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from chrono.scan.command import Command, Many, Refusal, Word
from chrono.scan.follow.programs import program_name
from chrono.scan.world import Read, World
from chrono.tuples import NamedTuple

MAX_FILE_BYTES = 1_000_000
MAX_MATCHES = 32
MAX_FOLDERS = 48
_MAX_LISTED = 2_000
_FOREIGN = frozenset((".git", "node_modules", ".venv", "venv", "site-packages", "vendor", "target", "dist", "build"))


class Started(NamedTuple):
    """Text that a command hands to an interpreter.

    - `language`: "sh", "bash", "zsh", "python", "javascript", "ruby", "perl", "php", "powershell" or "cmd".
    - `via`: the command's own chain and one link more: `"scripts/x.sh"`, `"package.json:scripts.test"`,
      `"Makefile:clean"`, `"python -c"`.
    - `path`, `sha256`: the file it came from, absolute, and the hash of its bytes; None for text that is in the
      command or that the command writes itself.
    - `cwd`: absolute folder it runs in. `args`: what it sees as `"$@"` (without its own name).
    - `env`: (name, value) of exported constants it sees.
    - `wrapper`: the text is the command's own words handed on (`uv run x`): no script, and no step deeper.
    - `called`: the tool that loads it calls its functions (hooks of a configuration, tests).
    - `beside`: the tool looks for it by itself, nobody named it: what cannot be read of it stops nothing.
    """

    text: str
    language: str
    via: tuple[str, ...]
    path: str | None
    sha256: str | None
    cwd: str
    args: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    wrapper: bool = False
    called: bool = False
    beside: bool = False


class File(NamedTuple):
    """A script's text; `sha256` is None where the same command line writes it."""

    path: str
    text: str
    sha256: str | None


class Scene(NamedTuple):
    """One command, ready to be followed.

    `program` is the name without folder and without `.exe`/`.cmd` ("" where unknown), `args` the arguments, `cwd` the
    folder (the world's where the command's own is unknown: a script that is there is better read than missed).
    """

    command: Command
    world: World
    files: tuple[tuple[str, str], ...]
    program: str
    args: tuple[Word, ...]
    cwd: str
    copies: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        command: Command,
        world: World,
        files: tuple[tuple[str, str], ...],
        copies: tuple[tuple[str, str], ...] = (),
    ) -> Scene:
        """`files` are (path, text) that the command line has written, `copies` (path, path it was copied from)."""
        cwd = command.cwd if isinstance(command.cwd, str) and command.cwd else world.cwd
        return cls(command, world, files, program_name(command.argv[0]), command.argv[1:], cwd, copies)

    def within(self, program: str, args: tuple[Word, ...], cwd: str | None = None) -> Scene:
        """The same command seen as another program (an inner one, or in another folder)."""
        return self._replace(program=program, args=args, cwd=self.cwd if cwd is None else cwd)

    def path(self, word: Word) -> str | None:
        """The absolute path a constant argument names, else None."""
        if not isinstance(word, str) or not word or "\0" in word:
            return None
        return os.path.normpath(os.path.join(self.cwd, word))

    def matching(self, word: Word) -> list[str]:
        """The files there are for a name that a shell or `find` has still to fill in, at most MAX_MATCHES + 1."""
        if isinstance(word, str):
            folder, _, glob = word.rpartition("/")
            root = self.path(folder or ".")
            if root is None or not any(sign in glob for sign in "*?["):
                return []
            names = self.world.listdir(root) or ()
            fits = _fitting(glob)
            return [f"{root}/{name}" for name in sorted(names) if fits(name) and name[0] != "."][: MAX_MATCHES + 1]
        if isinstance(word, Many):
            return [found for listed in self._listed()[:8] for found in self.matching(listed)][: MAX_MATCHES + 1]
        before = word.pieces[0] if word.pieces else None
        if before is None or "/" not in before:
            return []
        folder, _, first = before.rpartition("/")
        known = "".join((first, *(piece or "" for piece in word.pieces[1:])))
        if len(known) < 3 and folder in ("", "."):
            return []  # anything at all that lies here
        return self._below(self.path(folder or "/"), (first, *word.pieces[1:]))

    def _listed(self) -> tuple[Word, ...]:
        """What the program at the other end of the pipe lists, for words that `xargs` adds."""
        from chrono.scan.listing import git_listed_words, listed_words

        return listed_words(self.command) or git_listed_words(self.command)

    def _below(self, root: str | None, pieces: tuple[str | None, ...]) -> list[str]:
        """The files below `root` whose path from there fits; a piece of None stands for anything, folders too."""
        fits = re.compile(".*".join(re.escape(piece) for piece in _joined(pieces)), re.DOTALL).fullmatch
        found: list[str] = []
        waiting, listed = [root] if root else [], 0
        while waiting and root and listed < _MAX_LISTED and len(found) <= MAX_MATCHES:
            folder = waiting.pop(0)
            names = self.world.listdir(folder) or ()
            listed += len(names) + 1
            found += [path for path in (f"{folder}/{name}" for name in sorted(names)) if fits(path[len(root) + 1 :])]
            # What has an ending is hardly a folder; asking the machine about each name would cost too much.
            waiting += [f"{folder}/{name}" for name in sorted(names) if "." not in name and name not in _FOREIGN]
        return found[: MAX_MATCHES + 1]

    def exists(self, path: str) -> bool:
        return any(path == written for written, _ in self.files) or self.world.lstat(path) is not None

    def read(self, path: str) -> File | Refusal | None:
        """The text of a file that would run: None if it is missing or compiled, a Refusal if it cannot be judged."""
        path = os.path.normpath(path)
        for written, text in reversed(self.files):
            if written == path:
                return File(path, text, None)
        path = next((source for target, source in reversed(self.copies) if target == path), path)
        answer = self.world.read(path, MAX_FILE_BYTES)
        if isinstance(answer, Read):
            return None if is_compiled(answer.data) else File(path, as_text(answer.data), _sha256(answer.data))
        if answer.reason == "missing":
            return None
        if answer.reason == "too large" and is_compiled(self._head(path)):
            return None
        why = {
            "too large": f"is larger than {MAX_FILE_BYTES // 1_000_000} MB",
            "not a file": "is not a regular file",
            "denied": "cannot be read",
        }.get(answer.reason, answer.reason)
        return Refusal("file", f"{self.shown(path)} would run but {why}", self.command.span)

    def _head(self, path: str) -> bytes:
        answer = self.world.head(path, 256)
        return answer.data if isinstance(answer, Read) else b""

    def shown(self, path: str) -> str:
        """A path as people write it: relative to the folder, or to the project, where it lies below."""
        for root in (self.cwd, self.world.project or self.world.cwd, self.world.cwd):
            if root != "/" and path.startswith(root + "/"):
                return path[len(root) + 1 :]
        return path

    def start(
        self,
        text: str,
        language: str,
        link: str,
        *,
        file: File | None = None,
        args: tuple[Word, ...] = (),
        cwd: str | None = None,
        env: tuple[tuple[str, str], ...] = (),
    ) -> Started:
        return Started(
            text,
            language,
            (*self.command.via, link),
            file.path if file else None,
            file.sha256 if file else None,
            self.cwd if cwd is None else cwd,
            args,
            (*self.command.env, *((n, v) for n, v in self.command.assigns if isinstance(v, str)), *env),
        )

    def hand_on(self, words: tuple[Word, ...], link: str, cwd: str | None = None) -> Started:
        """Words of the command as a command of their own; as arguments, so that none is read as shell text again."""
        return self.start('"$@"', "sh", link, args=words, cwd=cwd)._replace(wrapper=True)


def files_below(scene: Scene, root: str, ending: str) -> Iterator[str]:
    """Files of the project's own below a folder whose name has this ending, a few folders' worth."""
    waiting, left = [root], MAX_FOLDERS
    while waiting and left:
        left -= 1
        folder = waiting.pop(0)
        names = sorted(scene.world.listdir(folder) or ())
        yield from (f"{folder}/{name}" for name in names if name.endswith(ending))
        waiting += [f"{folder}/{name}" for name in names if "." not in name and name not in _FOREIGN]


def _joined(pieces: tuple[str | None, ...]) -> list[str]:
    """The known pieces between which anything may stand; neighbours made one."""
    out = [""]
    for piece in pieces:
        if piece is None:
            out.append("")
        else:
            out[-1] += piece
    return out


def _fitting(glob: str) -> Callable[[str], bool]:
    from fnmatch import fnmatchcase

    return lambda name: fnmatchcase(name, glob)


def is_compiled(data: bytes) -> bool:
    """True of machine code and of other files that no interpreter reads as text."""
    if data[:4] in (
        b"\x7fELF",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
    ):
        return True
    return data[:2] == b"MZ" or data[:4] == b"\0asm"


def as_text(data: bytes) -> str:
    """Bytes of a script as text: UTF-16 where a byte order mark says so, else UTF-8 with surrogate escapes."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def mapping(value: object) -> dict[str, object]:
    """A table of a parsed document; an empty one where something else stands there."""
    return value if isinstance(value, dict) else {}


def _sha256(data: bytes) -> str:
    from chrono.digest import sha256

    return sha256(data).hexdigest()
