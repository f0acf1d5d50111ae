"""Owns what a path means: its class, what it contains, what a glob or a half-known word stands for.

Which words of a command are paths is left to `scan.touch`; what follows from a class to the rules. The names that
decide are in `scan.places`.
"""

from __future__ import annotations

import os

from chrono.scan import places
from chrono.scan.command import Many, Pattern, Word
from chrono.scan.finding import Target
from chrono.scan.once import once
from chrono.scan.world import World
from chrono.tuples import NamedTuple

MAX_LEVELS = 5
MAX_NAMES = 400
"""A glob that stands for more names than this is taken as the whole folder."""
MAX_WORDS = 1_000
"""Different path words of one text; of the 90 largest shell scripts of a Debian machine none names more than 240."""
MAX_GLOB_WORK = 50_000
"""Names that the globs of one text are held against, those that fit counted _FITTING times; from there on a glob is
taken as the whole folder."""
_FITTING = 20


class Spot(NamedTuple):
    """One place that a word stands for.

    - `exists`: None where the world cannot tell. `kind`: as in Stat, "" where it does not exist.
    - `sweep`: it comes from a glob over all names of a folder (`*`, `src/*`, `.*`).
    - `base`: the folder a glob or a half-known word lies in, else None.
    """

    target: Target
    exists: bool | None
    kind: str = ""
    sweep: bool = False
    base: str | None = None


class Touch(NamedTuple):
    """One thing that a command does to one place; the kinds are those of `scan.touch`."""

    how: str
    spot: Spot


Claim = tuple[str, Word, bool]
"""(kind, path word, whether a link in the last place is meant itself): a Touch whose place is not looked up yet."""


class TooManyPlaces(Exception):
    """The text names more places than are looked at."""


class Landmarks(NamedTuple):
    """What the homes of a machine tell of other paths: `above` are the homes and every folder above one, `below` is
    what a path in one of them begins with."""

    above: frozenset[str]
    below: tuple[str, ...]


MAX_MACHINES = 16
_LANDMARKS: dict[tuple[str, ...], Landmarks] = {}
"""By the homes: the resident service sees those of one machine."""


def _landmarks_of(homes: tuple[str, ...]) -> Landmarks:
    above = set(homes)
    for home in homes:
        while home not in ("/", "//", ""):
            home = os.path.dirname(home)
            above.add(home)
    return Landmarks(frozenset(above), tuple(f"{home}/" for home in homes if home != "/"))


class Ground:
    """What one scan asks about the machine again and again; `root` is the folder that counts as the project.

    Without an initialised project that is the git work tree around the folder, else the folder itself, and None where
    the folder is a home, a system folder or above one of them. `written` are files that the text itself writes, with
    what it writes.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.fold = world.platform in ("darwin", "win32")
        self.written: dict[str, str] = {}
        self._glob_work = 0
        self._places: dict[str, str] = {}
        self._spots: dict[tuple[Word, Word, bool, bool], tuple[Spot, ...]] = {}

    # Most commands need few of these, and each asks the file system.

    @once
    def cwd(self) -> str:
        return self.world.realpath(self.world.cwd)

    @once
    def knows(self) -> bool:
        return self.world.lstat(self.world.cwd) is not None

    @once
    def homes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(self.world.realpath, self.world.homes())))

    @once
    def landmarks(self) -> Landmarks:
        known = _LANDMARKS.get(self.homes)
        if known is None:
            if len(_LANDMARKS) >= MAX_MACHINES:
                _LANDMARKS.clear()
            known = _LANDMARKS[self.homes] = _landmarks_of(self.homes)
        return known

    @once
    def home(self) -> str:
        return self.world.realpath(self.world.home)

    @once
    def chrono_home(self) -> str:
        return self.world.realpath(self.world.chrono_home)

    @once
    def scratch(self) -> str | None:
        folder = self.world.env("TMPDIR") or ""
        return self.world.realpath(folder) if folder.startswith("/") and len(folder) > 1 else None

    @once
    def root(self) -> str | None:
        if self.world.project is not None:
            return self.world.realpath(self.world.project)
        folder = self.cwd
        while folder not in self.homes and folder.strip("/"):
            if self.world.lstat(f"{folder}/.git") is not None:
                return folder
            folder = os.path.dirname(folder)
        if self.cwd in self.landmarks.above or self.cwd in places.SYSTEM_ROOTS or self.cwd in places.TEMP_ROOTS:
            return None
        return self.cwd

    # --- classes ------------------------------------------------------------------------------------------------------

    def place(self, path: str) -> str:
        """The class of an absolute path whose links are resolved; see Target for the words."""
        known = self._places.get(path)
        if known is None:
            known = self._places[path] = self._place(path.lower() if self.fold else path)
        return known

    def _place(self, path: str) -> str:
        if path == "/" or places.is_drive(path):
            return "root"
        if path.startswith("/dev/") and not path.startswith("/dev/shm/"):
            return "null" if path.startswith(places.HARMLESS_DEVICES) else "device"
        if is_within(path, self.chrono_home) or places.is_control(path):
            return "control"
        named = self._below_home(path)
        if named is not None and named != "home":
            return named
        if "/.git" in path and "/.git/" in f"{path}/":
            return "git"
        if self.root is not None and is_within(path, self.root):
            return self._in_project(path)
        if self.scratch is not None and path != self.scratch and is_within(path, self.scratch):
            return "temp"
        if named == "home":
            return "other-repo" if self._in_repository(path) else "home"
        if path in self.landmarks.above:
            return "home"
        if places.is_temp(path):
            return "temp"
        if path == self.scratch or path in places.TEMP_ROOTS:
            return "system"
        if places.is_system(path):
            return "system"
        drive = places.on_drive(path)
        if drive:
            return drive
        if is_within(self.cwd, path) or (self.root is not None and is_within(self.root, path)):
            return "above"
        return "other-repo" if self._in_repository(path) else "outside"

    def _below_home(self, path: str) -> str | None:
        """A class that its place in somebody's home gives it; None outside every home."""
        if path in self.landmarks.above or path.startswith(self.landmarks.below):
            for home in self.homes:
                if path == home:
                    return "home"
                if home != "/" and path.startswith(home + "/"):
                    return places.in_home(path[len(home) + 1 :])
        return places.in_home(path[6:]) if path.startswith("/root/") else places.in_etc(path)

    def _in_project(self, path: str) -> str:
        root = self.root or ""
        if path == root:
            return "project-root"
        inner = path[len(root) + 1 :].split("/")
        if places.is_regenerable(inner) or places.is_disposable(inner[-1]):
            return "regenerable"
        if self.world.project is not None and len(inner) > 1:
            folder = root
            for part in inner[:-1]:
                folder = f"{folder}/{part}"
                if self.world.lstat(f"{folder}/.chrono/repo.git") is not None:
                    return "other-repo"
        return "project"

    def _in_repository(self, path: str) -> bool:
        folder = path
        # `//server` has a parent of its own: not every way up ends at `/`.
        while folder not in self.homes and folder.strip("/"):
            if self.world.lstat(f"{folder}/.git") is not None:
                return True
            folder = os.path.dirname(folder)
        return False

    def holds(self, path: str) -> str | None:
        """The class of the worst thing that lies below a folder: what deleting or moving it takes along."""
        if path in self.landmarks.above:
            return "home"
        if self.root is not None and path != self.root and is_within(self.root, path):
            return "above"
        if self.cwd != path and is_within(self.cwd, path):
            return "above"
        if is_within(self.chrono_home, path) and self.world.lstat(self.chrono_home) is not None:
            return "control"
        for base in {self.root, self.cwd, self.home}:
            if base is None or not (is_within(path, base) and path != base):
                continue
            for name in places.CONTROL_FILES:
                file = f"{base}/{name}"
                if file.startswith(path + "/") and self.world.lstat(file) is not None:
                    return "control"
        if self.world.lstat(path + "/.git") is not None and path != self.root:
            return "other-repo"
        return None

    # --- words --------------------------------------------------------------------------------------------------------

    def spots(self, word: Word, cwd: Word, *, last_link: bool = False, windows: bool = False) -> tuple[Spot, ...]:
        """What a path word stands for; `cwd` is the folder of the command.

        `last_link`: a link in the last place is meant itself (rm, mv), not what it points to. `windows`: a backslash
        separates folders. Raises TooManyPlaces.
        """
        key = (word, cwd, last_link, windows)
        known = self._spots.get(key)
        if known is None:
            if len(self._spots) >= MAX_WORDS:
                raise TooManyPlaces
            known = self._spots[key] = self._found(word, cwd, last_link, windows)
        return known

    def _found(self, word: Word, cwd: Word, last_link: bool, windows: bool) -> tuple[Spot, ...]:
        if isinstance(word, Many):
            return (_unknown("(unknown arguments)"),)
        if isinstance(word, Pattern):
            return self._half_known(word, cwd, windows)
        text = _slashes(word) if windows else word
        if not text or "\0" in text:
            return ()
        if places.is_absolute(text):
            path = text
        elif isinstance(cwd, Pattern) and ".." not in text.split("/") and cwd.pieces[0] is not None:
            return self._half_known(Pattern((*cwd.pieces, f"/{text}")), "/", windows)
        elif not isinstance(cwd, str) or not cwd:
            return (self._in_unknown_folder(text, word),)
        else:
            path = f"{cwd}{text}" if cwd[-1] == "/" else f"{cwd}/{text}"
            if (text == "~" or text.startswith("~/")) and self.world.lstat(path) is None:
                # No file is called so: the home is meant, and one more eval or another shell would reach it.
                path = os.path.join(self.world.home, text[2:])
        if is_glob(text) and self.world.lstat(path) is None:
            return self._glob(path, word)
        return (self._spot(path, word, last_link),)

    def _folder(self, cwd: Word) -> str | None:
        if isinstance(cwd, str) and cwd:
            return cwd
        return None

    def _in_unknown_folder(self, text: str, word: str) -> Spot:
        parts = [part for part in text.split("/") if part]
        if ".." not in parts and (places.is_regenerable(parts) or places.is_disposable(parts[-1] if parts else "")):
            return Spot(Target(None, word, "regenerable"), None)
        return _unknown(word, sweep=is_sweep(text.rsplit("/", 1)[-1]))

    def _spot(self, path: str, shown: str, last_link: bool) -> Spot:
        real = self.real(path, last_link)
        found = self.world.lstat(real)
        foreign = self.world.platform != "win32" and places.is_windows(real)
        exists = found is not None if self.knows and not foreign else None
        kind = found.kind if found else ""
        return Spot(Target(real, shown, self.place(real), kind == "dir"), exists, kind)

    def real(self, path: str, last_link: bool = False) -> str:
        """The path with its links resolved; with `last_link` all but one in the last place."""
        if places.is_windows(path):
            return os.path.normpath(path)
        if last_link:
            above, _, name = path.rpartition("/")
            if name not in ("", ".", ".."):
                folder = self.world.realpath(above.rstrip("/") or "/")
                return f"{folder}{name}" if folder[-1] == "/" else f"{folder}/{name}"
        return self.world.realpath(path)

    def _glob(self, path: str, shown: str) -> tuple[Spot, ...]:
        """The names a glob stands for; the folder itself where they cannot be told."""
        fixed, rest = [], path.split("/")
        while rest and not is_glob(rest[0]):
            fixed.append(rest.pop(0))
        base = self.real("/".join(fixed) or "/")
        sweep = all(is_sweep(part) for part in rest)
        found = self._names(base, rest)
        if found is None or (not found and not self.knows):
            return (self._whole(base, shown, rest, sweep),)
        if not found:
            return (
                Spot(Target(f"{base.rstrip('/')}/{rest[0]}", shown, self._inner(base, rest)), False, "", sweep, base),
            )
        spots = []
        for name in found:
            real = f"{base.rstrip('/')}/{name}"
            if "/" in name or name == "..":
                real = self.real(real, last_link=name != "..")
            stat = self.world.lstat(real)
            kind = stat.kind if stat else ""
            spots.append(Spot(Target(real, shown, self.place(real), kind == "dir"), True, kind, sweep, base))
        return tuple(spots)

    def _inner(self, base: str, rest: list[str]) -> str:
        last = rest[-1] or rest[-2]
        inner = [part.replace("*", "x") for part in rest if part]
        if (places.is_disposable(inner[-1]) or places.is_regenerable(inner)) and self._ordinary(base):
            return "regenerable"
        return self._below(base, last.strip("*?"))

    def _names(self, base: str, rest: list[str]) -> list[str] | None:
        names = self.world.listdir(base)
        if names is None:
            return None
        self._glob_work += len(names)
        if self._glob_work > MAX_GLOB_WORK:
            return None
        found: list[str] = []
        pattern, deeper = rest[0], rest[1:]
        if pattern == "**" and deeper not in ([], [""]):
            return self._names_below(base, deeper, [MAX_NAMES])
        if pattern.startswith(".") and glob_match(pattern, "..") and not deeper:
            found.append("..")
        for name in names:
            if name.startswith(".") and not pattern.startswith("."):
                continue
            if not glob_match(pattern, name):
                continue
            if not deeper or deeper == [""]:
                found.append(name)
            else:
                below = self._names(f"{base.rstrip('/')}/{name}", deeper) if is_glob("/".join(deeper)) else None
                if below is not None:
                    found.extend(f"{name}/{inner}" for inner in below)
                elif not is_glob("/".join(deeper)):
                    tail = f"{name}/{'/'.join(deeper)}"
                    if self.world.lstat(f"{base.rstrip('/')}/{tail}") is not None:
                        found.append(tail)
            if len(found) > MAX_NAMES:
                return None
        self._glob_work += _FITTING * len(found)
        return found

    def _names_below(self, base: str, rest: list[str], left: list[int], depth: int = 0) -> list[str] | None:
        """The names that fit on any level, as `**` of zsh, Python and bash's globstar; build output is left out.

        `left` counts down the folders that may still be looked into; None where that is not enough.
        """
        left[0] -= 1
        found = self._names(base, rest) if left[0] > 0 else None
        for name in self.world.listdir(base) or () if depth < MAX_LEVELS else ():
            folder = f"{base.rstrip('/')}/{name}"
            stat = self.world.lstat(folder)
            if stat is None or stat.kind != "dir" or name.startswith(".") or places.is_regenerable([name]):
                continue
            below = self._names_below(folder, rest, left, depth + 1)
            if found is None or below is None or len(found) + len(below) > MAX_NAMES:
                return None
            found = [*found, *(f"{name}/{inner}" for inner in below)]
        return found

    def _whole(self, base: str, shown: str, rest: list[str], sweep: bool) -> Spot:
        name = rest[-1].strip("*?")
        if places.is_disposable(rest[-1].replace("*", "x")) and self._ordinary(base):
            return Spot(Target(base, shown, "regenerable", True), None, "", sweep, base)
        path = base if sweep or not name else f"{base.rstrip('/')}/{name}"
        target = Target(base, shown, self._below(base, name if path != base else ""), True)
        missing = self.root is not None and is_within(base, self.root) and self.world.lstat(base) is None
        return Spot(target, False if missing else None, "dir", sweep, base)

    def _ordinary(self, base: str) -> bool:
        return self.place(base) in ("project", "project-root", "regenerable", "temp", "outside", "unknown")

    def _below(self, base: str, name: str) -> str:
        """The class of something in `base` whose name begins with `name` and is not known further."""
        place = self.place(base)
        if place == "project-root":
            return self.place(f"{base}/{name}") if name else "project"
        if place == "system" and (base in places.TEMP_ROOTS or base == self.scratch):
            return "temp"
        if base.lower().endswith("/appdata/local/temp"):
            return "temp"
        return self.place(f"{base.rstrip('/')}/{name}") if name and place != "root" else place

    def _half_known(self, word: Pattern, cwd: Word, windows: bool) -> tuple[Spot, ...]:
        """A word with unknown parts: judged by the folder it begins with and the ending it is known to have."""
        pieces = word.pieces
        shown = shown_word(word)
        head = pieces[0] if pieces and pieces[0] is not None else ""
        tail = pieces[-1] if pieces and pieces[-1] is not None else ""
        if windows:
            head, tail = _slashes(head), _slashes(tail)
        folder = self._folder(cwd)
        if not places.is_absolute(head):
            if not head:
                return (self._half_tail(tail, shown),)
            if folder is None:
                return (self._in_unknown_folder(head, shown),)
            head = os.path.join(folder, head)
        above, name = os.path.split(head)
        base = self.real(above or "/")
        kept = tail.lower().endswith(".bak") and self.place(base) == "outside"
        if self._ordinary(base) and tail and self._ends_harmless(tail) and not kept:
            return (Spot(Target(base, shown, "regenerable", True), None, "", False, base),)
        place = self._below(base, name)
        parts = head.split("/")
        if place == "project" and any(places.is_regenerable(parts[: at + 1]) for at in range(len(parts) - 1)):
            place = "regenerable"
        if place == "project" and base == self.root and tail.strip("*/") and not name:
            # What has an ending of its own is neither git's nor chrono's data: name the rest, so that cover can tell.
            inside = [n for n in self.world.listdir(base) or () if n not in (".git", ".chrono")]
            inside = [n for n in inside if tail.endswith((".json", ".yaml")) or self.holds(f"{base}/{n}") != "control"]
            if inside:
                return tuple(Spot(Target(f"{base}/{n}", shown, "project", True), None, "", False, base) for n in inside)
        return (Spot(Target(base, shown, place, True), None, "", tail.strip("/") in ("*", "**"), base),)

    def _half_tail(self, tail: str, shown: str) -> Spot:
        if tail.startswith("/") and self._ends_harmless(tail) and not is_glob(tail):
            return Spot(Target(None, shown, "regenerable"), None)
        if "/" not in tail and self._ends_harmless(tail):
            return Spot(Target(None, shown, "regenerable"), None)
        return _unknown(shown, sweep=tail.endswith("/*"))

    def _ends_harmless(self, tail: str) -> bool:
        parts = [part for part in tail.split("/") if part]
        if not parts or ".." in parts:
            return False
        known = parts if tail.startswith("/") else parts[1:]
        if len(parts) == 1 and not tail.startswith("/"):
            return places.is_disposable("x" + parts[0]) or places.is_regenerable(["x" + parts[0]])
        return places.is_disposable(parts[-1]) or places.is_regenerable(known)


def place(path: str, world: World) -> Target:
    """The target that an absolute path is, links resolved."""
    return Ground(world).spots(path, world.cwd)[0].target


def is_within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies below it; both absolute and without `..`."""
    if not path.startswith(folder):
        return False
    size = len(folder)
    return len(path) == size or path[size] == "/" or folder[-1:] == "/"


def is_glob(text: str) -> bool:
    """Whether a shell would look for names."""
    return "*" in text or "?" in text or "[" in text


def is_sweep(pattern: str) -> bool:
    """Whether a glob component stands for every name (`*`, `**`, `.*`, `.[!.]*`, `?*`)."""
    return pattern != "" and "*" in pattern and pattern.strip("*?.[]!^") == ""


def glob_match(pattern: str, name: str) -> bool:
    """Whether a shell glob without `/` matches a name: `*`, `?`, `[a-z]`, `[!a-z]`."""
    at_pattern = at_name = 0
    star = mark = -1
    while at_name < len(name):
        if at_pattern < len(pattern):
            char = pattern[at_pattern]
            if char == "*":
                star, mark = at_pattern, at_name
                at_pattern += 1
                continue
            matched, after = _one(pattern, at_pattern, name[at_name])
            if matched:
                at_pattern, at_name = after, at_name + 1
                continue
        if star < 0:
            return False
        mark += 1
        at_pattern, at_name = star + 1, mark
    return pattern[at_pattern:].strip("*") == ""


def _one(pattern: str, at: int, char: str) -> tuple[bool, int]:
    """Whether the pattern's element at `at` matches one character, and where the next element begins."""
    first = pattern[at]
    if first == "?":
        return True, at + 1
    end = pattern.find("]", at + 2) if first == "[" else -1
    if end < 0:
        return first == char, at + 1
    body = pattern[at + 1 : end]
    negated = body[:1] in ("!", "^")
    body = body[1:] if negated else body
    inside = False
    place = 0
    while place < len(body):
        if place + 2 < len(body) and body[place + 1] == "-":
            inside = inside or body[place] <= char <= body[place + 2]
            place += 3
        else:
            inside = inside or body[place] == char
            place += 1
    return inside != negated, end + 1


def shown_word(word: Word) -> str:
    """A word as a person reads it: `…` for what is not known."""
    if isinstance(word, str):
        return word
    if isinstance(word, Many):
        return "…"
    return "".join("…" if piece is None else piece for piece in word.pieces)


def _unknown(shown: str, sweep: bool = False) -> Spot:
    return Spot(Target(None, shown, "unknown", True), None, "", sweep)


def _slashes(text: str) -> str:
    return text.replace("\\", "/")
