"""Owns what code does to the machine, as the commands that would do the same: one domain for all rules.

Which calls have which effect is left to each language's library; what a command means to `scan.match`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from chrono.scan.code.values import (
    ANY,
    Either,
    Items,
    Text,
    Thing,
    Wild,
    alternatives,
    elements,
    has_wild,
    pieces_of,
    text_of,
    word_of,
)
from chrono.scan.command import MANY, UNKNOWN, Command, Evaluation, LimitReached, Many, Pattern, Redirect, Refusal, Word
from chrono.scan.world import Read, World

MAX_COMMANDS = 400
MAX_READ_BYTES = 100_000
# Stands in shell text for a part that is not known; no text that is followed has reason to hold it.
_HOLE = "\U0010f5a1"


class Effects:
    """Collects what one piece of code does. `line` and `label` say where, for the `via` of each command.

    specs: scanner section 4.
    """

    def __init__(self, world: World, *, name: str, cwd: Word, via: tuple[str, ...], span: tuple[int, int]) -> None:
        self.world = world
        self.name = name
        self.cwd = cwd
        self.via = via
        self.span = span
        self.line = 0
        self.label = ""
        self.stdin: Word | None = None
        self.peer: tuple[Word, Word] | None = None
        self.refusals: list[Refusal] = []
        self.files: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        """Absolute paths of files by what the chain calls them."""
        self.processes: tuple[tuple[Word, ...], ...] = ()
        self.selects_processes = False
        self.attempts = 0
        self._evaluations = 0
        self._commands: dict[Command, None] = {}
        self._writes: list[tuple[Redirect, tuple[int, int]]] = []

    def evaluation(self) -> Evaluation:
        return Evaluation(
            tuple(self._commands),
            tuple(dict.fromkeys(self.refusals)),
            tuple(self._writes),
            tuple(self.files.items()),
        )

    # --- commands -----------------------------------------------------------------------------------------------------

    def command(
        self, *argv: Word, redirects: tuple[Redirect, ...] = (), upstream: tuple[tuple[Word, ...], ...] = ()
    ) -> None:
        """One command, as if a shell had started it here."""
        self._add(Command(argv, self._chain(), self.span, self.cwd, redirects, None, upstream))

    def _add(self, command: Command) -> None:
        self.attempts += 1
        self._commands.setdefault(command)
        if len(self._commands) > MAX_COMMANDS:
            raise LimitReached(f"it does more than {MAX_COMMANDS} things")

    def _chain(self) -> tuple[str, ...]:
        where = f"{self.name}:{self.line}" if self.line else self.name
        return (*self.via, f"{where} {self.label}".strip())

    def enter(self, name: str) -> tuple[str, tuple[str, ...]]:
        """What happens from here on happens in another file, which this one has called; gives what to put back."""
        around = (self.name, self.via)
        if name != self.name:
            self.via = (*self.via, f"{self.name}:{self.line}" if self.line else self.name)
            self.name, self.line = name, 0
        return around

    def own_path(self) -> str | None:
        """The file whose code runs now (`__file__`); for code that stands in none, a name in the folder it runs in."""
        return self.paths.get(self.name) or self.absolute(self.name.rpartition(": ")[2])

    def own_folder(self) -> str:
        return os.path.dirname(self.own_path() or "/")

    def on_paths(self, *argv: str, targets: Sequence[object], last: object = None) -> None:
        """`argv` on each target (and `last`); a target that stands for every name of a folder becomes its glob."""
        for target in targets:
            for option in alternatives(target):
                values = [option] if last is None else [option, last]
                if any(has_wild(value) for value in values):
                    self._evaluate(" ".join((*argv, *(_quoted(value) for value in values))), ())
                else:
                    self.command(*argv, *(word_of(value) for value in values))

    def remove(self, *targets: object) -> None:
        """Files are deleted. A sweep over a folder counts as recursive: loops that sweep mostly descend as well, and
        what lies there when they run is not what lies there now."""
        for target in _spread(targets):
            for option in alternatives(target):
                sweeps = Wild("*") in pieces_of(option)
                self.on_paths("rm", "-rf" if sweeps else "-f", targets=[option])

    def remove_tree(self, *targets: object) -> None:
        self.on_paths("rm", "-rf", targets=_spread(targets))

    def remove_folder(self, *targets: object) -> None:
        self.on_paths("rmdir", targets=_spread(targets))

    def move(self, source: object, target: object) -> None:
        self.on_paths("mv", targets=_spread((source,)), last=target)

    def copy(self, source: object, target: object) -> None:
        self.on_paths("cp", targets=_spread((source,)), last=target)

    def change_mode(self, mode: object, target: object, recursive: bool = False) -> None:
        text = f"{mode & 0o7777:o}" if isinstance(mode, int) else word_of(mode)
        flags = ("-R",) if recursive else ()
        for option in alternatives(target):
            self.command("chmod", *flags, text, word_of(option))

    def read(self, target: object) -> None:
        for option in alternatives(target):
            if word_of(option) != UNKNOWN:
                self.command("cat", word_of(option))

    def write(self, target: object, text: object = None, *, append: bool = False) -> None:
        """A file is overwritten (or added to); `text` is what, where known, so that it can be followed later."""
        for option in alternatives(target):
            word = word_of(option)
            if word == UNKNOWN:
                continue
            # `:` leaves the file empty; whether an open file gets text later is told at the door (`languages`).
            argv: tuple[Word, ...] = (":",) if text is None else (":", "") if text == "" else ("write-file",)
            self.command(*argv, redirects=(Redirect(">>" if append else ">", 1, word),))
            path = self.absolute(word)
            if path is not None and isinstance(text, str):
                before = self.files.get(path, "") if append or path in self.files else ""
                self.files[path] = (before + text)[:MAX_READ_BYTES]

    def remember(self, target: object, text: object) -> None:
        """A file that is open for writing gets more text; what it holds is known only while all of it is."""
        path = self.absolute(word_of(target))
        if path is None:
            return
        self.attempts += 1
        if isinstance(text, str):
            self.files[path] = (self.files.get(path, "") + text)[:MAX_READ_BYTES]
        else:
            self.files.pop(path, None)

    def word(self, value: object) -> Word:
        return word_of(value)

    def lists(self, folder: object) -> None:
        """The names in a folder are asked for; those in /proc are processes."""
        if folder == "/proc" or (isinstance(folder, str) and folder.startswith(("/proc/*", "/proc/["))):
            self.processes = (("ls", "/proc"),)

    def kill(self, signal: object, *targets: object) -> None:
        """Processes get a signal (`"KILL"`, 9). A target that is not known is one of those that were listed before:
        all of them, unless the program looks at what each one is."""
        named = text_of(("-", *pieces_of(str(signal) if isinstance(signal, int) else signal)))
        words = [word_of(str(target) if isinstance(target, int) else target) for target in targets]
        listed = () if signal == 0 or all(isinstance(word, str) for word in words) else self.processes
        if listed and not self.selects_processes:
            words = ["-1"]
        self.command("kill", word_of(named), *words, upstream=listed)

    def content(self, target: object) -> object:
        """What a file holds, where it is small and known; for code and lists of targets that are kept in files."""
        path = self.absolute(word_of(target))
        if path is None:
            return ANY
        if path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            return self.standard_input()
        if path in self.files:
            return self.files[path]
        if path in self.given:
            return self.given[path]
        answer = self.world.read(path, MAX_READ_BYTES)
        return answer.data.decode("utf-8", "surrogateescape") if isinstance(answer, Read) else ANY

    def standard_input(self) -> object:
        return self.stdin if isinstance(self.stdin, str) else ANY

    def absolute(self, word: Word) -> str | None:
        if not isinstance(word, str) or not word or "\0" in word:
            return None
        if word.startswith("/"):
            return os.path.normpath(word)
        return os.path.normpath(os.path.join(self.cwd, word)) if isinstance(self.cwd, str) else None

    # --- programs -----------------------------------------------------------------------------------------------------

    def shell(self, text: object, *, dialect: str = "sh", cwd: object = None) -> None:
        """A shell runs `text`."""
        for option in alternatives(text):
            pieces = pieces_of(option)
            if set(pieces) == {None}:
                self.command("sh", "-c", UNKNOWN)
            else:
                source = "".join(_HOLE if p is None else p.glob if isinstance(p, Wild) else p for p in pieces)
                if self.peer is not None and _is_bare_shell(source.split()):
                    self.command("reverse-shell", *self.peer)
                self._evaluate(source, (), dialect=dialect, cwd=cwd)

    def program(self, argv: object, *, cwd: object = None) -> None:
        """A program is started with its arguments, without a shell; wrappers such as sudo are seen through."""
        for option in alternatives(argv):
            values, more = elements(option) if isinstance(option, Items) else ([option], None)
            for chosen in _combinations(values):
                words: list[Word] = [word_of(value) for value in chosen]
                if more is not None:
                    words.append(MANY)
                if self.peer is not None and _is_bare_shell(words):
                    self.command("reverse-shell", *self.peer)
                if not words or words[0] == UNKNOWN or isinstance(words[0], Many):
                    self.command(*(words or [UNKNOWN]))
                else:
                    self._evaluate('"$@"', tuple(words), cwd=cwd)

    def connect(self, host: object, port: object) -> None:
        """A socket is connected; a shell that is put on it later makes it a reverse shell."""
        port = str(port) if isinstance(port, int) else port
        self.peer = (word_of(host), word_of(port))

    def send(self, body: object) -> None:
        """Something leaves through a connection: the secrets that were read before, where it can be what they hold."""
        host: Word = self.peer[0] if self.peer is not None else UNKNOWN
        read = [command.argv for command in self._commands if command.argv[0] == "cat"]
        if isinstance(body, Thing) and body.kind == "file":
            read = [argv for argv in read if argv[1:] == (word_of(body.fields["path"]),)]
        elif isinstance(body, str):
            read = [argv for argv in read if self._may_hold(body, argv[-1])]
        if read:
            self.command("send-data", host, upstream=tuple(read))

    def _may_hold(self, text: str, path: Word) -> bool:
        held = self.content(path) if isinstance(path, str) else ANY
        return not isinstance(held, str) or (held.strip() != "" and held.strip() in text)

    def shell_on_socket(self) -> None:
        if self.peer is not None:
            self.command("reverse-shell", *self.peer)

    def run_code(self, language: str, text: object, url: object = None) -> None:
        """Code that could not be folded to a text; `url` where it comes from the network."""
        upstream: tuple[tuple[Word, ...], ...] = () if url is None else (("curl", word_of(url)),)
        self.command("run-code", language, word_of(text), upstream=upstream)

    def sql(self, text: object, database: Thing | None = None) -> None:
        """A statement is executed; only those that destroy something become a command."""
        from chrono.scan.code.sql import statements

        for option in alternatives(text):
            known = "".join(piece if isinstance(piece, str) else "?" for piece in pieces_of(option))
            if not statements(known):
                continue
            product = database.fields.get("product") if database else None
            where = word_of(database.fields.get("where", ANY)) if database else UNKNOWN
            if product == "sqlite3" and where != UNKNOWN:
                self.command("sqlite3", where, known)
            elif product == "psql" and where != UNKNOWN:
                self.command("psql", where, "-c", known)
            elif product == "mysql":
                self.command("mysql", "-e", known)
            else:
                self.command("sql", known)

    def _evaluate(self, text: str, args: tuple[Word, ...], *, dialect: str = "sh", cwd: object = None) -> None:
        from chrono.scan.shell.evaluate import evaluate

        self.attempts += 1
        self._evaluations += 1
        if self._evaluations > MAX_COMMANDS:
            raise LimitReached(f"it starts more than {MAX_COMMANDS} programs")
        folder = self.cwd if cwd is None else word_of(cwd)
        if isinstance(folder, str) and isinstance(self.cwd, str):
            folder = os.path.normpath(os.path.join(self.cwd, folder))
        found = evaluate(
            text,
            self.world,
            dialect=dialect,
            args=args,
            cwd=folder if isinstance(folder, str) else None,
            via=self._chain(),
            span=self.span,
        )
        for command in found.commands:
            self._add(_with_holes(command)._replace(span=self.span))
        self.refusals.extend(refusal._replace(span=self.span) for refusal in found.refusals)
        self._writes.extend(
            (redirect._replace(target=_hole(redirect.target)), self.span) for redirect, _ in found.writes
        )
        self.files.update((path, content) for path, content in found.files if _HOLE not in path + content)


def _is_bare_shell(words: Sequence[Word]) -> bool:
    """True of a shell that reads what it is told, as `/bin/sh -i` does: after a connection, the other side tells it."""
    if not words or not isinstance(words[0], str):
        return False
    name = words[0].rpartition("/")[2]
    rest = [word for word in words[1:] if isinstance(word, str)]
    return name in ("sh", "bash", "dash", "zsh", "ksh", "cmd.exe", "powershell.exe") and not any(
        word == "-c" or not word.startswith(("-", "<", ">", "0", "1", "2", "/c")) for word in rest
    )


def _spread(targets: Iterable[object]) -> list[object]:
    """Lists of targets, taken apart (`fs.rm([a, b])`, `unlink(@files)`)."""
    found: list[object] = []
    for target in targets:
        if isinstance(target, Items):
            found += target.values
            if target.more is not None:
                found.append(target.more)
        elif isinstance(target, Either) and any(isinstance(v, Items) for v in target.values):
            found += _spread(target.values)
        else:
            found.append(target)
    return found[:200]


def _combinations(values: list[object]) -> list[list[object]]:
    """Each way to choose from the alternatives, at most a few."""
    chosen: list[list[object]] = [[]]
    for value in values:
        options = alternatives(value)
        if len(options) * len(chosen) > 12:
            options = (ANY,)
        chosen = [[*before, option] for before in chosen for option in options]
    return chosen


def _quoted(value: object) -> str:
    out = []
    for piece in pieces_of(value):
        if piece is None:
            out.append(f"'{_HOLE}'")
        elif isinstance(piece, Wild):
            out.append("".join(c if c in "*?[]-" or c.isalnum() or c in "._" else f"'{c}'" for c in piece.glob))
        else:
            out.append("'" + piece.replace("'", "'\\''") + "'")
    return "".join(out)


def _hole(word: Word) -> Word:
    if isinstance(word, str):
        if _HOLE not in word:
            return word
        pieces = word.split(_HOLE)
    elif isinstance(word, Pattern) and any(piece and _HOLE in piece for piece in word.pieces):
        found: list[str | None] = []
        for piece in word.pieces:
            parts: list[str | None] = [None] if piece is None else list(piece.split(_HOLE))
            for at, part in enumerate(parts):
                found += [None, part] if at else [part]
        return _pattern(found)
    else:
        return word
    found = []
    for at, part in enumerate(pieces):
        found += [None, part] if at else [part]
    return _pattern(found)


def _pattern(pieces: list[str | None]) -> Word:
    value = text_of(pieces)
    return (
        value
        if isinstance(value, str)
        else Pattern(tuple(p for p in value.pieces if not isinstance(p, Wild)))
        if isinstance(value, Text)
        else UNKNOWN
    )


def _with_holes(command: Command) -> Command:
    return command._replace(
        argv=tuple(_hole(word) for word in command.argv),
        redirects=tuple(r._replace(target=_hole(r.target)) for r in command.redirects),
        stdin=None if command.stdin is None else _hole(command.stdin),
        upstream=tuple(tuple(_hole(word) for word in argv) for argv in command.upstream),
        assigns=tuple((name, _hole(word)) for name, word in command.assigns),
        cwd=_hole(command.cwd),
    )
