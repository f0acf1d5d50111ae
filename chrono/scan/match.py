"""Owns the way from commands to findings: rules chosen by program, order of commands, what an earlier one did.

What a condition asks is left to `scan.conditions`, what a command touches to `scan.touch`; deciding to `policy`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from chrono.scan import holding
from chrono.scan.command import Command, Redirect, Word
from chrono.scan.conditions import Case, host_of
from chrono.scan.finding import Finding, Target
from chrono.scan.gitremotes import remote_added, with_address, without_same_place
from chrono.scan.installing import install_folder, package_files
from chrono.scan.options import name_of, parse, program_names
from chrono.scan.paths import Ground, Spot, Touch, is_within
from chrono.scan.ready import all_hold, program
from chrono.scan.rule import Options, Rule, Ruleset
from chrono.scan.showing import kept
from chrono.scan.sweeping import reached
from chrono.scan.touch import options_of, redirect_touches, touches_of
from chrono.scan.usage import asked, only_asks_usage
from chrono.scan.wintouch import windows_options
from chrono.tuples import NamedTuple

FOLLOWED_SCORE = 60
"""Inside a file that the text only starts, findings below this score do not count (specs: scanner section 4)."""

_DELETES = ("delete", "delete-tree", "empty")
_NOBODY_MISSES = ("regenerable", "temp", "null")


class Step(NamedTuple):
    """One command in the order of running. `followed`: it stands in a file that the text starts."""

    command: Command
    followed: bool = False


class Moved(NamedTuple):
    """Something that an earlier command moved: where it came from, and where it lies now."""

    source: Spot
    path: str


class History:
    """What the commands so far have done that changes the meaning of a later one."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.moved: list[Moved] = []
        self.fetched: dict[str, tuple[str, ...]] = {}
        self.held: dict[str, Spot] = {}
        self.links: dict[str, Spot] = {}
        self.find: Command | None = None
        self.remotes: dict[Word, Word] = {}
        self.new_repository = False


def findings_of(steps: tuple[Step, ...], ruleset: Ruleset, ground: Ground) -> list[Finding]:
    """All findings, in the order of the commands and of the rules; none twice."""
    history = History()
    found: dict[tuple[object, ...], Finding] = {}
    unshown = kept([step.command for step in steps])
    before: Command | None = None
    last = len(steps) - 1
    for at, (command, followed) in enumerate(steps):
        seen = not unshown or command.argv not in unshown
        if command.seen != seen:
            command = command._replace(seen=seen)
        if before is not None:
            command = _fed(command, before, ground)
        before = steps[at].command
        if only_asks_usage(command, ground.world.platform):
            command = asked(command)
        if name_of(command) == "git":
            command = _with_places(command, ground, history)
        for finding in _of_command(command, followed, ruleset, ground, history, at == last):
            key = (finding.rule, finding.span, finding.targets, finding.via)
            found.setdefault(key, finding)
        if at != last:  # what is remembered is remembered for those behind it
            _remember(command, ground, history)
    return list(found.values())


def _with_places(command: Command, ground: Ground, history: History) -> Command:
    if "set-url" in command.argv:
        return without_same_place(command, ground)
    return with_address(command, history.remotes) if history.remotes else command


def _fed(command: Command, before: Command, ground: Ground) -> Command:
    """`bash <(curl …)`: what stands in the substitution feeds the command that reads its path."""
    for word in command.argv[1:]:
        if isinstance(word, str) and word.startswith("/dev/fd/"):
            break
    else:
        return command
    if before.argv[0] == "cat" and all(isinstance(w, str) and w[:1] not in "/-" for w in before.argv[1:]):
        # A file of the project that is only passed on: its text has been looked at.
        return command
    feeding = (*before.upstream, before.argv)
    argv = tuple(
        w for w in command.argv if not (isinstance(w, str) and w.startswith("/dev/fd/") and w not in ground.written)
    )
    return command._replace(argv=argv, upstream=(*command.upstream, *feeding))


def findings_of_writes(
    writes: tuple[tuple[Redirect, tuple[int, int]], ...], ruleset: Ruleset, ground: Ground
) -> list[Finding]:
    """Findings for redirections that belong to no command (`> file`, `{ …; } > file`)."""
    found: list[Finding] = []
    for redirect, span in writes:
        # A compound's output is not known to be empty; a bare `> file` is (the shell gives both alike).
        command = Command((":",), span=span, cwd=ground.world.cwd, redirects=(redirect,))
        touches = tuple(redirect_touches((redirect,), command, ground))
        found.extend(_ask(command, touches, False, ruleset, ground, None))
    return found


def _of_command(
    command: Command, followed: bool, ruleset: Ruleset, ground: Ground, history: History, last: bool
) -> list[Finding]:
    found_by = history.find if command.via and command.via[-1].startswith("find -") else None
    touches = () if command.via and _in_own_container(command) else touches_of(command, ground, found_by)
    if command.via and touches:
        touches = (*touches, *reached(command, touches, found_by, ground))
    if history.held:
        touches = (*touches, *holding.sent_later(command, history.held, ground))
    if history.links:
        touches = (*touches, *_through_links(touches, command, history))
    if (history.made or history.moved) and name_of(command) in _COPIES:
        touches = _without_own_results(touches, command, history, ground)
    if not last:
        history.held.update(holding.put_aside(command, touches, history.held, ground))
    if touches:
        touches = _in_order(touches, command, history, ground)
    if followed:
        touches = tuple(touch for touch in touches if touch.spot.target.place != "unknown")
    fetched = _fetched(command, ground, history) if history.fetched else None
    return _ask(command, touches, followed, ruleset, ground, fetched)


def _through_links(touches: tuple[Touch, ...], command: Command, history: History) -> Iterator[Touch]:
    """`ln -s / x; rm -rf x/*`: what is done below a link of the text's own is done to what it leads to."""
    below = name_of(command) in ("find", "gfind")
    for how, spot in touches:
        for link, source in history.links.items():
            path = spot.target.path
            inside = path is not None and is_within(path, link) and (below or spot.sweep or path != link)
            if inside and how in _DELETES:
                yield Touch(how, source)


_COPIES = frozenset(("mv", "cp", "gmv", "gcp", "install"))


def _without_own_results(
    touches: tuple[Touch, ...], command: Command, history: History, ground: Ground
) -> tuple[Touch, ...]:
    """`sort a > b && mv b a`: what the same text has made out of a file may take its place."""
    words = parse(command.argv, options_of(name_of(command))).words[:-1]
    sources = [spot.target.path for word in words for spot in ground.spots(word, command.cwd)]
    own = {*history.made, *(moved.path for moved in history.moved)}
    if not sources or not all(path in own for path in sources):
        return touches
    return tuple(t for t in touches if t.how != "write" or t.spot.target.place != "project")


_OWN_CONTAINER = tuple(f"{name} {verb} " for name in ("docker", "podman", "nerdctl") for verb in ("run", "create"))


def _in_own_container(command: Command) -> bool:
    """Whether it runs in a new container that sees no file of this machine: what it does to files goes with it."""
    return any(link.startswith(_OWN_CONTAINER) and not link.split(" ", 2)[2].startswith("-v ") for link in command.via)


def _ask(
    command: Command,
    touches: tuple[Touch, ...],
    followed: bool,
    ruleset: Ruleset,
    ground: Ground,
    fetched: tuple[str, ...] | None,
) -> list[Finding]:
    case = Case(command, ground, touches, fetched)
    asked = program(ruleset, case.names)
    found = []
    for position in asked.chosen(case, ruleset):
        rule, steps, options = asked.made[position]
        if followed and rule.score < FOLLOWED_SCORE:
            continue
        case.begin(options)
        if all_hold(steps, case):
            found.append(_finding(rule, case))
    return found


def _finding(rule: Rule, case: Case) -> Finding:
    command = case.command
    if rule.targets == "worktree":
        from chrono.scan.gitwork import worktree_of

        targets: tuple[Target, ...] = (worktree_of(command, case.ground),)
    elif rule.targets == "none":
        targets = ()
    else:
        targets = tuple(dict.fromkeys([spot.target for spot in case.hits]))
    return Finding(
        rule.id,
        rule.title,
        rule.score,
        rule.why,
        rule.safer,
        command.span,
        command.argv,
        command.via,
        targets,
        rule.reversible,
        rule.references,
    )


# --- order


_TAKES_ALONG = ("delete-tree", "move")
_OF_GIT = ("worktree", "untracked")
_WATCHED = ("startup", "control", "dotfile", "system")
"""Places where a new file matters, whoever made its folder."""


def _in_order(touches: tuple[Touch, ...], command: Command, history: History, ground: Ground) -> tuple[Touch, ...]:
    """Touches without what the same text made itself, and with what deleting a moved thing takes along."""
    if not history.made and not history.moved:
        for touch in touches:
            if touch.how in _TAKES_ALONG:
                break
        else:
            return touches
    kept: list[Touch] = []
    for touch in touches:
        how, spot = touch
        path = spot.target.path
        if path is None:
            kept.append(touch)
            continue
        if how in _DELETES and history.moved:
            taken = [m for m in history.moved if is_within(m.path, path)]
            kept.extend(Touch("delete-moved", moved.source) for moved in taken)
            if command.after == "success" and any(m.source.target.path == path for m in history.moved):
                continue
        if history.made and any(is_within(path, made) for made in history.made):
            if spot.exists is False and (how in _DELETES or spot.target.place not in _WATCHED):
                continue
            if spot.target.place in _OF_GIT:
                continue
        kept.append(touch)
        # A name that is known in part (`/tmp/x-*`) does not take its whole folder along.
        whole = spot.base is None or spot.sweep or spot.target.path != spot.base or ground.root == spot.base
        if how in _TAKES_ALONG and whole and spot.exists is not False and spot.target.place not in ("control", "root"):
            inside = ground.holds(path)
            if inside is not None and inside != spot.target.place and spot.target.place not in _OF_GIT:
                kept.append(Touch(how, spot._replace(target=spot.target._replace(place=inside))))
    return tuple(kept)


_WORKTREE: Options = ("gnu", (("", frozenset(["-C", "-c"])), ("worktree add", frozenset(["-b", "-B", "--reason"]))))
_CLONE: Options = (
    "gnu",
    (("", frozenset(["-C", "-c"])), ("clone", frozenset("-b --branch --depth -o --origin --reference -c".split()))),
)


def _remember(command: Command, ground: Ground, history: History) -> None:
    name = name_of(command)
    if name in ("find", "gfind"):
        history.find = command
    elif name in ("mkdir", "mktemp"):
        with_value = ["-m", "--mode"] if name == "mkdir" else ["-p", "--tmpdir"]
        parsed = parse(command.argv, ("gnu", (("", frozenset(with_value)),)))
        with_parents = name == "mkdir" and parsed.has_any(("-p", "--parents"))
        for word in parsed.words:
            _made(word, command, ground, history)
            while with_parents and isinstance(word, str) and "/" in word.strip("/"):
                word = word.rstrip("/").rpartition("/")[0]
                _made(word, command, ground, history)
    elif name == "git":
        words = parse(command.argv, _WORKTREE).words
        if words[:2] == ("worktree", "add") and len(words) > 2:
            _made(words[2], command, ground, history)
        elif words[:1] == ("init",):
            folder = words[1] if len(words) > 1 else "."
            if isinstance(folder, str):  # of one that is there already, `init` makes nothing new
                spots = ground.spots(f"{folder}/.git", command.cwd)
                history.new_repository |= all(spot.exists is False for spot in spots)
            for word in words[1:2]:
                _made(word, command, ground, history)
        elif words[:2] == ("remote", "add") and not history.new_repository:
            # The first push of a new repository goes to a remote that has to be added.
            history.remotes.update(filter(None, [remote_added(command)]))
        elif words[:1] == ("clone",):
            words = parse(command.argv, _CLONE).words
            _remember_clone(words[1:], command, ground, history)
    elif name == "ln":
        words = parse(command.argv, options_of(name)).words
        for link in ground.spots(words[-1], command.cwd, last_link=True) if len(words) == 2 else ():
            for source in ground.spots(words[0], command.cwd) if link.target.path is not None else ():
                history.links[link.target.path or ""] = source
        if words:
            _made(words[-1], command, ground, history)
    elif name in ("mv", "gmv", "move-item", "mi") or (name == "move" and command.windows):
        _remember_move(command, ground, history)
    elif name == "gh" and command.argv[1:3] == ("repo", "clone"):
        words = tuple(w if w is not command.argv[3] else _on_github(w) for w in parse(command.argv).words[2:4])
        _remember_clone(words, command, ground, history)
    elif name in ("curl", "wget", "aria2c"):
        _remember_fetch(command, name, ground, history)
    elif name in _UNPACKERS:
        _remember_unpacked(command, ground, history)
    elif command.windows and name in _WINDOWS_FETCHERS:
        _remember_windows_fetch(command, ground, history)
    for redirect in command.redirects:
        if ">" in redirect.op:
            _made(redirect.target, command, ground, history)


def _on_github(name: Word) -> Word:
    """`acme/shop` as the URL that gh makes of it."""
    return f"https://github.com/{name}" if isinstance(name, str) and name.count("/") == 1 else name


def _remember_clone(words: tuple[Word, ...], command: Command, ground: Ground, history: History) -> None:
    """The new folder, and that what lies in it came from elsewhere."""
    url = words[0] if words else None
    folder = words[1] if len(words) > 1 else None
    if folder is None and isinstance(url, str):
        folder = url.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
    if folder is None:
        return
    _made(folder, command, ground, history)
    if isinstance(url, str) and host_of(url) is not None:
        for spot in ground.spots(folder, command.cwd):
            if spot.target.path is not None:
                history.fetched[spot.target.path] = (url,)


def _made(word: Word, command: Command, ground: Ground, history: History) -> None:
    for spot in ground.spots(word, command.cwd, windows=command.windows):
        if spot.exists is False and spot.target.path is not None and spot.base is None:
            history.made.append(spot.target.path)


def _remember_move(command: Command, ground: Ground, history: History) -> None:
    parsed = parse(command.argv, windows_options(name_of(command))) if command.windows else parse(command.argv)
    words = parsed.words + (parsed.values("-Destination") if command.windows else ())
    if len(words) < 2 or not isinstance(words[-1], str) or words[-1] == "/dev/null":
        return
    for into in ground.spots(words[-1], command.cwd, windows=command.windows):
        if into.target.path is None:
            continue
        for word in words[:-1]:
            for source in ground.spots(word, command.cwd, last_link=True, windows=command.windows):
                if source.target.path is None:
                    continue
                inside = into.kind == "dir" or words[-1].endswith("/") or len(words) > 2
                name = os.path.basename(source.target.path)
                path = f"{into.target.path.rstrip('/')}/{name}" if inside else into.target.path
                if source.target.place not in _NOBODY_MISSES:
                    history.moved.append(Moved(source, path))
                elif source.target.place == "regenerable" and not (into.exists or inside):
                    # `mv dist dist.old`: nobody misses it under its new name either.
                    history.made.append(path)


def _remember_fetch(command: Command, name: str, ground: Ground, history: History) -> None:
    parsed = parse(command.argv, options_of(name))
    urls = [word for word in parsed.words if isinstance(word, str) and host_of(word) is not None]
    named = ("-o", "--output") if name == "curl" else ("-O", "--output-document")
    files: list[Word] = list(parsed.values(*named))
    if (name in ("wget", "aria2c") and not files) or (name == "curl" and parsed.has_any(("-O", "--remote-name"))):
        files = [url.split("?", 1)[0].rstrip("/").rsplit("/", 1)[-1] for url in urls]
    files.extend(redirect.target for redirect in command.redirects if ">" in redirect.op)
    for file in files:
        for spot in ground.spots(file, command.cwd, windows=command.windows):
            if spot.target.path is not None and spot.target.place != "null":
                history.fetched[spot.target.path] = tuple(urls)


_UNPACKERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("tar", "gtar", "bsdtar"), ("-C", "--directory")),
    "unzip": ("-d",),
    **dict.fromkeys(("7z", "7za"), ("-o",)),
}


def _remember_unpacked(command: Command, ground: Ground, history: History) -> None:
    """What is unpacked into a folder that is named comes from where the archive came from."""
    urls = [word for argv in command.upstream if argv[0] in ("curl", "wget") for word in argv[1:]
            if isinstance(word, str) and host_of(word) is not None]  # fmt: skip
    for word in command.argv[1:]:
        for spot in ground.spots(word, command.cwd) if isinstance(word, str) and word[:1] != "-" else ():
            urls.extend(history.fetched.get(spot.target.path or "", ()))
    if urls:
        folders = parse(command.argv, options_of(name_of(command))).values(*_UNPACKERS[name_of(command)])
        for folder in folders or _inner_folders(urls):
            for spot in ground.spots(folder, command.cwd):
                if (
                    spot.target.path is not None
                    and (folders or spot.exists is False)
                    and ground.root != spot.target.path
                ):
                    history.fetched[spot.target.path] = tuple(urls)


def _inner_folders(urls: list[str]) -> Iterator[str]:
    """The folder that an archive usually holds: its own name without the endings."""
    for url in urls:
        name = url.split("?", 1)[0].rstrip("/").rpartition("/")[2]
        for ending in (".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".tar"):
            name = name.removesuffix(ending)
        if name:
            yield name


_WINDOWS_FETCHERS = frozenset(["invoke-webrequest", "invoke-restmethod", "start-bitstransfer", "certutil", "bitsadmin"])


def _remember_windows_fetch(command: Command, ground: Ground, history: History) -> None:
    parsed = parse(command.argv, windows_options(name_of(command)))
    urls = tuple(word for word in parsed.words if isinstance(word, str) and host_of(word) is not None)
    files = list(parsed.values("-OutFile", "-Destination")) or [w for w in parsed.words if w not in urls][-1:]
    for file in files:
        for spot in ground.spots(file, command.cwd, windows=True):
            if urls and spot.target.path is not None and spot.target.place != "null":
                history.fetched[spot.target.path] = urls


_RUNNERS = frozenset(
    (
        "sh bash dash zsh ksh ash fish source . python perl ruby node deno bun php pwsh powershell "
        "lua Rscript tclsh osascript cmd load-library"
    ).split()
)


def _fetched(command: Command, ground: Ground, history: History) -> tuple[str, ...] | None:
    """The URLs of what an earlier command has fetched and this one runs."""
    words: list[Word] = [command.argv[0]]
    name = command.argv[0]
    for path, urls in history.fetched.items():
        # `curl -o /usr/local/bin/x …; x`: a folder of programs is searched.
        if isinstance(name, str) and "/bin/" in path and path.endswith(f"/bin/{name}"):
            return urls
    if any(name in _RUNNERS for name in program_names(command.argv[0])):
        shell = any(name in ("powershell", "pwsh", "cmd") for name in program_names(command.argv[0]))
        words.extend(command.argv[1:] if shell else parse(command.argv).words[:1])
    words.extend(package_files(command))
    for word in words:
        if not isinstance(word, str):
            continue
        if word is command.argv[0] and "/" not in word and not (command.windows and "." in word):
            continue
        for spot in ground.spots(word, command.cwd, windows=command.windows):
            for path, urls in history.fetched.items():
                if spot.target.path is not None and is_within(spot.target.path, path):
                    return urls
    # A clone that is installed for itself (`npm install` in it) is everyday; what goes into the system is not.
    folder = install_folder(command)
    if folder is None:
        return None
    return next((urls for path, urls in history.fetched.items() if is_within(folder, path)), None)
