"""Owns what git's own verbs do to the files of a work tree.

What git does to branches, stashes and remotes is told by the rules; reading git's index is in `scan.gitindex`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from chrono.layout import PROJECT_DIR
from chrono.scan.command import Command, Glob, Pattern, Word
from chrono.scan.expression import expression
from chrono.scan.finding import Target
from chrono.scan.gitindex import is_changed, is_committed, is_tracked, may_be_ignored
from chrono.scan.options import Parsed, parse
from chrono.scan.paths import Claim, Ground, Spot, Touch, is_glob, is_within
from chrono.scan.places import CONTROL_FILES
from chrono.scan.rule import Options
from chrono.scan.world import Read, World

GIT_OPTIONS: Options = (
    "gnu",
    (
        ("", frozenset("-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix".split())),
        ("checkout", frozenset("-b -B --orphan --conflict --pathspec-from-file".split())),
        ("switch", frozenset("-c -C --create --force-create --orphan --conflict".split())),
        ("restore", frozenset("-s --source --conflict --pathspec-from-file".split())),
        ("reset", frozenset(["--pathspec-from-file"])),
        ("clean", frozenset(["-e", "--exclude"])),
        (
            "commit",
            frozenset("-m -F -C -c -t --message --file --author --date --fixup --squash --reuse-message".split()),
        ),
        ("stash", frozenset(["-m", "--message"])),
        ("worktree", frozenset(["-b", "-B", "--reason"])),
        ("rm", frozenset(["--pathspec-from-file"])),
    ),
)


def git_touches(command: Command, ground: Ground) -> Iterator[Claim | Touch]:
    """What one git command does to files, by its verb."""
    parsed = parse(command.argv, GIT_OPTIONS)
    verb = parsed.words[0] if parsed.words else ""
    rest = parsed.words[1:]
    git = _Git(command, parsed, ground)
    if verb in _HOOKED and _goes_around(parsed, verb, command):
        yield from git.hooks_passed()
    if isinstance(command.cwd, Pattern) and git.folder is None and _is_scratch(command.cwd, ground):
        return
    if verb == "reset":
        if parsed.has("--hard") or parsed.has("--merge"):
            yield from git.everything("discard")
    elif verb == "checkout":
        yield from git.checkout(rest)
    elif verb == "switch":
        if parsed.has_any(("-f", "--force", "--discard-changes")):
            yield from git.everything("discard")
    elif verb == "restore":
        if not parsed.has_any(("--staged", "-S")) or parsed.has_any(("--worktree", "-W")):
            yield from git.paths(rest)
    elif verb == "rm":
        if parsed.has_any(("--cached", "-n", "--dry-run")):
            return
        if parsed.has_any(("-f", "--force", "-r")):
            yield from git.paths(rest)
        else:
            yield from git.control_only(rest, "delete")
    elif verb == "mv":
        yield from git.control_only(rest, "move")
        if parsed.has_any(("-f", "--force")) and len(rest) > 1:
            yield "write", rest[-1], False
    elif verb == "stash":
        if not rest or (rest[0] in ("push", "save") and parsed.after_dashes is None):
            yield from git.control_changed()
            if parsed.has_any(("-u", "--include-untracked", "-a", "--all")):
                yield from git.control_untracked(git.top(), ignored=None if parsed.has_any(("-a", "--all")) else False)
    elif verb == "apply":
        if parsed.has_any(("-R", "--reverse")) and any(argv[:2] == ("git", "diff") for argv in command.upstream):
            yield from git.everything("discard")
    elif verb == "clean":
        forced = parsed.has_any(("-f", "--force")) or "clean.requireforce=false" in _settings(parsed)
        if forced and not parsed.has_any(("-n", "--dry-run", "-i", "--interactive")):
            yield from git.untracked(rest)
    elif (
        verb in ("checkout-index", "read-tree")
        and parsed.has_any(("-f", "--force", "--reset"))
        and (verb == "checkout-index" or parsed.has("-u"))
    ):
        yield from git.everything("discard")


_HOOKED = frozenset(("commit", "merge", "push", "rebase", "cherry-pick", "am", "revert", "pull"))
_HOOK_FOLDERS = (".git/hooks", ".husky", ".husky/_")
_HOOK_FILES = ("pre-commit", "pre-merge-commit", "commit-msg", "pre-push", "pre-rebase")
_HOOK_LISTS = ("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".pre-commit-config.yaml", ".pre-commit-config.yml")
_SWITCHED_OFF = frozenset(
    (("HUSKY", "0"), ("LEFTHOOK", "0"), ("LEFTHOOK", "false"), ("PRE_COMMIT_ALLOW_NO_CONFIG", "1"))
)
_HOOKS_PATH = expression(r"(?im)^[ \t]*hookspath[ \t]*=[ \t]*\"?([^\"\n]+?)\"?[ \t]*$")
MAX_HOOK_BYTES = 200_000


def _goes_around(parsed: Parsed, verb: Word, command: Command) -> bool:
    """Whether git's hooks are told not to run."""
    if parsed.has("--no-verify") or (verb == "commit" and parsed.has("-n")):
        return True
    return any(
        (name, value) in _SWITCHED_OFF or name == "HUSKY_SKIP_HOOKS" or (name == "SKIP" and "chrono" in str(value))
        for name, value in command.assigns
    )


def _settings(parsed: Parsed) -> tuple[str, ...]:
    """What `-c` sets for this one command, in small letters."""
    return tuple(value.lower() for value in parsed.values("-c") if isinstance(value, str))


def _is_scratch(cwd: Pattern, ground: Ground) -> bool:
    """Whether a folder that is known in part is one of `mktemp -d`: nothing in it is older than the text."""
    return all(spot.target.place == "temp" for spot in ground.spots(cwd, "/"))


def worktree_of(command: Command, ground: Ground) -> Target:
    """The work tree that a git command works in, as a target."""
    git = _Git(command, parse(command.argv, GIT_OPTIONS), ground)
    return Target(git.top(), "the work tree", "worktree", True)


_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


def _text(path: str, world: World) -> str:
    answer = world.read(path, MAX_HOOK_BYTES)
    return answer.data.decode("utf-8", "replace") if isinstance(answer, Read) else ""


class _Git:
    """One git command and the work tree it works in."""

    def __init__(self, command: Command, parsed: Parsed, ground: Ground) -> None:
        self.command = command
        self.parsed = parsed
        self.ground = ground
        self.folder = self._folder()

    def _folder(self) -> str | None:
        folder = self.command.cwd if isinstance(self.command.cwd, str) and self.command.cwd else None
        for flag, value in self.parsed.flags:
            if flag in ("-C", "--work-tree"):
                folder = os.path.join(folder or "/", value) if isinstance(value, str) else None
        return folder

    def top(self) -> str | None:
        """The root of the work tree around the folder; the folder itself where it is new."""
        if self.folder is None:
            return None
        folder = self.ground.world.realpath(self.folder)
        at = folder
        while at != "/":
            if self.ground.world.lstat(os.path.join(at, ".git")) is not None:
                return at
            at = os.path.dirname(at)
        return folder

    def hooks_passed(self) -> Iterator[Touch]:
        """Hooks that do not run: chrono's own, by which it looks at commits and pushes, else the project's."""
        world, top = self.ground.world, self.top()
        if top is None:
            return
        folders = list(_HOOK_FOLDERS)
        for settings in (f"{top}/.git/config", f"{world.home}/.gitconfig", f"{world.home}/.config/git/config"):
            named = _HOOKS_PATH.search(_text(settings, world))
            if named is not None:
                folders.append(named[1].replace("~", world.home, 1) if named[1][:1] == "~" else named[1])
        hooks = [os.path.join(top, folder, name) for folder in folders for name in _HOOK_FILES]
        there = [path for path in hooks if world.lstat(path) is not None]
        for path in (*there, *(f"{top}/{name}" for name in _HOOK_LISTS)):
            if "chrono" in _text(path, world):
                yield Touch("skip", Spot(Target(path, path, "control"), True, "file"))
                return
        for path in there[:1]:
            yield Touch("skip", Spot(Target(path, path, "git"), True, "file"))

    def everything(self, how: str, shown: str = "the work tree") -> Iterator[Touch]:
        top = self.top()
        yield Touch(how, Spot(Target(top, shown, "worktree", True), True, "dir"))
        yield from self.control_changed()

    def control_changed(self) -> Iterator[Touch]:
        """Control files that git holds in another form: its copy, say one without the hook, would come back."""
        top = self.top()
        for name in CONTROL_FILES:
            path = f"{top}/{name}"
            if top is not None and is_changed(path, top, self.ground.world):
                yield Touch("write", Spot(Target(path, path, "control"), True, "file"))

    def checkout(self, rest: tuple[Word, ...]) -> Iterator[Claim | Touch]:
        parsed = self.parsed
        if parsed.has_any(("-p", "--patch", "-m", "--merge")):
            return
        if parsed.has_any(("--ours", "--theirs")):
            # In a merge it takes one side of the files that are named; a folder takes along what was merged by hand.
            named = self._merging() and not any(word in (".", "..", ":/", "*") for word in rest)
            yield from () if named else self.paths(rest)
            return
        if parsed.after_dashes is not None:
            paths = parsed.words[parsed.after_dashes :] if parsed.after_dashes else rest
            if paths:
                yield from self.paths(paths)
                return
        creates = parsed.has_any(("-b", "-B", "--orphan", "--track", "-t", "--detach"))
        if creates:
            if parsed.has_any(("-f", "--force")):
                yield from self.everything("discard")
            return
        if rest and self._is_path(rest[0]):
            yield from self.paths(rest)
        elif len(rest) > 1:
            yield from self.paths(rest[1:])
        elif parsed.has_any(("-f", "--force")):
            yield from self.everything("discard")

    def _merging(self) -> bool:
        """Whether a merge, or what merges like one, waits for its conflicts to be resolved."""
        top = self.top()
        return top is not None and any(
            self.ground.world.lstat(f"{top}/.git/{name}") is not None for name in _UNFINISHED
        )

    def _is_path(self, word: Word) -> bool:
        """Whether git takes a bare argument of checkout for a path."""
        if not isinstance(word, str):
            return False
        if word in (".", "..", ":/", "*") or word.startswith(("./", "../", ":(", ":/")) or is_glob(word):
            return True
        top = self.top()
        if self.folder is None:
            return False
        if top is not None and self.ground.world.lstat(os.path.join(top, ".git/refs/heads", word)) is not None:
            return False
        return self.ground.world.lstat(os.path.join(self.folder, word)) is not None

    def paths(self, words: tuple[Word, ...]) -> Iterator[Touch]:
        """Named files go back to what git knows."""
        top = self.top()
        for word in words:
            text = word if isinstance(word, str) else None
            if text is not None and text.startswith((":/", ":(top)")):
                text = os.path.join(top or "/", text.removeprefix(":(top)").removeprefix(":/"))
            spots = self.ground.spots(word if text is None else text, self.folder or self.command.cwd)
            if text is not None and is_glob(text) and (type(word) is not Glob or not any(s.exists for s in spots)):
                # Quoted, or fitting no name here: git itself matches it, in all folders.
                yield from self.everything("discard", text)
                continue
            for spot in spots:
                target = spot.target
                if target.place == "control":
                    yield Touch("write", spot)
                    continue
                if target.place == "regenerable":
                    continue
                if (
                    spot.kind == "file"
                    and target.path is not None
                    and is_committed(target.path, top, self.ground.world)
                ):
                    continue
                if target.path is None or target.place in (
                    "project",
                    "project-root",
                    "other-repo",
                    "above",
                ):
                    whole = spot.kind == "dir" or target.whole
                    place = "worktree" if whole else target.place
                    spot = spot._replace(target=target._replace(place=place, whole=whole))
                yield Touch("discard", spot)
                if spot.target.whole and target.path is not None and top is not None and is_within(top, target.path):
                    yield from self.control_changed()

    def control_only(self, words: tuple[Word, ...], how: str) -> Iterator[Touch]:
        for word in words:
            for spot in self.ground.spots(word, self.folder or self.command.cwd, last_link=True):
                path = spot.target.path
                if spot.target.place == "control" or (path is not None and self.ground.holds(path) == "control"):
                    yield Touch(how, spot)

    def untracked(self, words: tuple[Word, ...]) -> Iterator[Touch]:
        folder = self.folder
        ignored = True if self.parsed.has("-X") else None if self.parsed.has("-x") else False
        if not words:
            where = self.ground.world.realpath(folder) if folder is not None else None
            yield Touch("remove-untracked", Spot(Target(where, "untracked files", "untracked", True), True, "dir"))
            yield from self.control_untracked(where, ignored=ignored)
            return
        for word in words:
            for spot in self.ground.spots(word, folder or self.command.cwd):
                place = "untracked" if spot.target.place in ("project", "project-root") else spot.target.place
                yield Touch("remove-untracked", spot._replace(target=spot.target._replace(place=place, whole=True)))
                yield from self.control_untracked(spot.target.path, ignored=ignored)

    def control_untracked(self, where: str | None, *, ignored: bool | None) -> Iterator[Touch]:
        """Control files below `where` that git does not know, so that it takes them away with the rest.

        `ignored`: whether git takes only what it ignores (True), only the rest (False), or both. `.chrono` is not
        among them: git takes it for a nested repository.
        """
        top, world = self.top(), self.ground.world
        if top is None or where is None:
            return
        git = world.lstat(f"{top}/.git")
        if git is None or git.kind != "dir":
            return  # a linked work tree: what its index holds cannot be told from here
        for name in CONTROL_FILES:
            path = f"{top}/{name}"
            if name == PROJECT_DIR or not is_within(path, where) or world.lstat(path) is None:
                continue
            taken = ignored is None or may_be_ignored(path, top, world) == ignored
            if taken and not is_tracked(path, top, world.read):
                yield Touch("delete", Spot(Target(path, path, "control"), True, "file"))
