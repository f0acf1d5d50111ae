"""Owns what a command does to files: which of its words are paths, and whether they are read, written or deleted.

What a path is is left to `scan.paths`, whether it matters to the rules. Git's own verbs are in `scan.gitwork`, lists
that come through a pipe in `scan.listing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chrono.scan import secrets, wintouch
from chrono.scan.command import UNKNOWN, Command, Many, Pattern, Redirect, Word
from chrono.scan.expression import expression
from chrono.scan.file_options import OPTIONS
from chrono.scan.finding import Target
from chrono.scan.gitwork import git_touches
from chrono.scan.listing import find_words, listed_words, lists_worktree
from chrono.scan.options import Parsed, name_of, parse, program_names
from chrono.scan.paths import Claim, Ground, Spot, Touch
from chrono.scan.rule import GNU, Options
from chrono.tuples import NamedTuple

KINDS = (
    "read",
    "write",
    "append",
    "empty",
    "edit",
    "delete",
    "delete-tree",
    "move",
    "mode",
    "mode-tree",
    "owner",
    "owner-tree",
    "link",
    "discard",
    "remove-untracked",
    "send",
    "skip",
)
"""What can happen to a path. "write" puts other content in its place, "empty" leaves nothing, "edit" changes it in
place, "move" takes it away from where it is, "discard" and "remove-untracked" are git's ways to lose work, "send" takes
a secret to another machine, "skip" goes around a hook of git."""


Reader = Callable[["Asked"], Iterator["Claim | Touch"]]


class Asked(NamedTuple):
    """One command whose paths are wanted."""

    command: Command
    name: str
    parsed: Parsed
    ground: Ground
    listed: bool = False


def touches_of(command: Command, ground: Ground, found_by: Command | None = None) -> tuple[Touch, ...]:
    """Everything a command does to files, as far as its words tell; redirections are part of it.

    `found_by` is the `find` that starts the command for what it finds.
    """
    traits = traits_of(command.argv[0], command.windows)
    touches = _own_touches(command, traits, ground, found_by) if traits.name else []
    if command.redirects:
        touches.extend(redirect_touches(command.redirects, command, ground))
    for at, touch in enumerate(touches):
        if touch.spot.target.place in secrets.HELD_BY:
            touches[at] = secrets.with_folders(touch, ground)
    if found_by is not None and any(touch.how == "read" for touch in touches):
        touches.extend(secrets.sought(found_by, ground))
    if traits.sends:
        touches.extend(secrets.sent(command, ground, lambda feeding: touches_of(feeding, ground)))
    if traits.tells:
        touches.extend(secrets.told(command))
    # A thousand redirections to one file are one thing that is done.
    return tuple(dict.fromkeys(touches)) if len(touches) > 1 else tuple(touches)


class Traits(NamedTuple):
    """What the word that names a program tells of what it does to files.

    `name`: the one of its names that is known here, "" where none is; `reader`: what tells its paths from its words,
    None for a command of Windows. `sends`, `tells`: see `scan.secrets`.
    """

    name: str
    reader: Reader | None
    options: Options
    sends: bool
    tells: bool


_TRAITS: dict[tuple[Word, bool], Traits] = {}


def traits_of(program: Word, windows: bool) -> Traits:
    """What a program is known for; `windows`: a shell of Windows runs it."""
    key = (program, windows)
    known = _TRAITS.get(key)
    if known is None:
        if len(_TRAITS) > 2000:
            _TRAITS.clear()
        known = _TRAITS[key] = _traits_of(program_names(program), windows)
    return known


def _traits_of(names: tuple[str, ...], windows: bool) -> Traits:
    sends, tells = not secrets.SENDERS.isdisjoint(names), not secrets.TELLERS.isdisjoint(names)
    for name in names:
        if wintouch.is_windows_command(name) or (windows and wintouch.knows(name)):
            return Traits(name, None, wintouch.windows_options(name), sends, tells)
        reader = _READERS.get(name)
        if reader is not None:
            return Traits(name, reader, options_of(name), sends, tells)
    return Traits("", None, GNU, sends, tells)


def _own_touches(command: Command, traits: Traits, ground: Ground, found_by: Command | None) -> list[Touch]:
    """What a program of a known name does, redirections aside."""
    name, reader, options, _, _ = traits
    touches: list[Touch] = []
    if reader is None:
        for how, word, last_link in wintouch.windows_claims(name, command):
            for spot in ground.spots(word, command.cwd, last_link=last_link, windows=True):
                touches.append(Touch(how, spot))
        return touches
    asked = Asked(command, name, parse(command.argv, options), ground)
    if found_by is not None or (command.upstream and command.via):
        listed = _listed(command, found_by)
        if listed is not command:
            asked = Asked(listed, name, parse(listed.argv, options), ground, True)
    for claim in reader(asked):
        if isinstance(claim, Touch):
            touches.append(claim)
            continue
        how, word, last_link = claim
        if isinstance(word, str) and ":" in word and _is_remote(word, name):
            continue
        for spot in ground.spots(_emptied(how, word), command.cwd, last_link=last_link, windows=command.windows):
            touches.append(Touch(how, spot))
    return touches


def options_of(name: str) -> Options:
    """How the options of a program that touches files are read."""
    if wintouch.is_windows_command(name):
        return wintouch.windows_options(name)
    return OPTIONS.get(name, GNU)


def redirect_touches(redirects: tuple[Redirect, ...], command: Command | None, ground: Ground) -> Iterator[Touch]:
    """What redirections do; `command` None for those of no command."""
    read = _read_by(command) if command is not None else frozenset()
    for redirect in redirects:
        op = redirect.op
        if op in ("<<", "<<-", "<<<", "<&", ">&") and not _names_file(redirect):
            continue
        if op == "<":
            how = "read"
        elif ">>" in op or op == "<>":
            how = "append"
        elif ">" in op:
            how = "empty" if command is None or _is_silent(command) or _reads_itself(redirect, read) else "write"
        else:
            continue
        cwd = command.cwd if command is not None else ground.world.cwd
        target = _emptied(how, redirect.target)
        for spot in ground.spots(target, cwd, windows=command is not None and command.windows):
            yield Touch(how, spot)


_LINE_BY_LINE = frozenset(
    "sort jq yq sed gsed awk gawk grep egrep rg cat tac tr cut head tail uniq column nl rev fold fmt envsubst xmllint "
    "tidy iconv expand unexpand shuf paste join base64 prettier black python node perl ruby".split()
)


def _read_by(command: Command) -> frozenset[Word]:
    """The files that a command, or what feeds it, reads line by line, by the words that name them."""
    read: set[Word] = {redirect.target for redirect in command.redirects if redirect.op == "<"}
    for argv in (command.argv, *command.upstream):
        if argv and any(name in _LINE_BY_LINE for name in program_names(argv[0])):
            read.update(argv[1:])
    return frozenset(read)


def _reads_itself(redirect: Redirect, read: frozenset[Word]) -> bool:
    """`sort f > f`: the shell empties the file before anybody reads it."""
    target = redirect.target
    return isinstance(target, str) and target in read and not target.startswith("/dev/")


def _emptied(how: str, word: Word) -> Word:
    """What is emptied: no file has the empty name, so it stands for a variable whose value is not known here."""
    return UNKNOWN if how == "empty" and word == "" else word


def _names_file(redirect: Redirect) -> bool:
    """`>&file` writes a file; `>&2`, `>&-` do not."""
    target = redirect.target
    return redirect.op == ">&" and isinstance(target, str) and not target.strip("-").isdigit() and target != "-"


_NOISE = frozenset(("/dev/zero", "/dev/urandom", "/dev/random"))


def _is_silent(command: Command) -> bool:
    """Whether the command writes nothing of worth, so that `>` leaves an empty file."""
    name = name_of(command)
    if name in (":", "true", "false", "yes") or any(word in _NOISE for word in command.argv[1:]):
        return True
    if name in ("head", "cat", "pv") and any(word in _NOISE for argv in command.upstream for word in argv[1:]):
        return True
    if name == "cat":
        return command.argv[1:] == ("/dev/null",) or (len(command.argv) == 1 and _is_fed_nothing(command))
    if name == "printf":
        return command.argv[1:] == ("",)
    if command.windows and (name in ("break", "rem") or (name == "type" and command.argv[1:] in (("nul",), ("NUL",)))):
        return True
    if name == "head":
        return any(word in ("-c0", "-n0") for word in command.argv) or command.argv[1:3] in (("-c", "0"), ("-n", "0"))
    return name == "echo" and command.argv[1:] in ((), ("",), ("-n",), ("-n", ""), ("-ne", ""))


def _listed(command: Command, found_by: Command | None) -> Command:
    """The command with words that another program found for it put in their place, where they can be told."""
    argv = command.argv
    if found_by is not None and command.via and command.via[-1].startswith("find -"):
        words = tuple(find_words(found_by))
        tree = parse(argv).has_any(("-r", "-R", "--recursive"))
        words = tuple(word for word in words if tree or isinstance(word, Pattern))
        put = [w for word in argv for w in (_put_in(word, words) if isinstance(word, Pattern) and words else (word,))]
        return command._replace(argv=tuple(dict.fromkeys(put)) if len(put) > len(argv) else tuple(put))
    handed = command.upstream and command.via and command.via[-1].startswith(("xargs", "parallel"))
    if handed and any(not isinstance(word, str) for word in argv[1:]):
        listed = listed_words(command)
        if listed is not None:
            known = tuple(word for word in argv if isinstance(word, str))
            if not parse(argv).has_any(("-r", "-R", "--recursive")):
                # Each file below is named, the folder itself is not taken.
                listed = tuple(f"{w.rstrip('/')}/*" if isinstance(w, str) and "*" not in w else w for w in listed)
            return command._replace(argv=(*known, *listed))
    return command


def _put_in(hole: Pattern, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What is found in the place of `{}`, with an option in front of it (`of={}`) kept."""
    option, equals, _ = (hole.pieces[0] or "").partition("=")
    if not equals:
        return words
    head = option + equals
    return tuple(
        head + word if isinstance(word, str) else Pattern((head + (word.pieces[0] or ""), *word.pieces[1:]))
        for word in words
        if not isinstance(word, Many)
    )


def _is_remote(word: str, name: str) -> bool:
    """`host:path` of rsync and scp, URLs."""
    head, colon, rest = word.partition(":")
    if not colon or "/" in head:
        return False
    return rest.startswith("//") or (name in ("rsync", "scp", "sftp") and len(head) > 1)


# --- programs


def _all(words: tuple[Word, ...], how: str, last_link: bool = False) -> Iterator[Claim]:
    for word in words:
        yield how, word, last_link


def _rm(asked: Asked) -> Iterator[Claim | Touch]:
    parsed = asked.parsed
    tree = parsed.has_any(("-r", "-R", "--recursive"))
    command = asked.command
    if command.upstream and lists_worktree(command) and any(not isinstance(word, str) for word in command.argv):
        target = Target(asked.ground.root, "files that git lists", "worktree", True)
        return iter((Touch("delete", Spot(target, True, "dir")),))
    return _all(parsed.words, "delete-tree" if tree else "delete", True)


def _delete(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words, "delete", True)


def _delete_tree(asked: Asked) -> Iterator[Claim]:
    # `del 'dist/**' '!dist/keep'`: what a `!` names stays.
    words = tuple(word for word in asked.parsed.words if not (isinstance(word, str) and word.startswith("!")))
    return _all(words, "delete-tree", True)


def _gio(asked: Asked) -> Iterator[Claim]:
    """`gio trash FILE`, `gio remove FILE`."""
    return _all(asked.parsed.words[1:] if asked.parsed.words[:1] in (("trash",), ("remove",)) else (), "delete-tree")


def _cmake(asked: Asked) -> Iterator[Claim]:
    """`cmake -E rm -rf DIR`, `cmake -E remove_directory DIR`."""
    words = asked.parsed.words
    if asked.parsed.has("-E") and words[:1] in (("rm",), ("remove",), ("remove_directory",)):
        tree = words[0] == "remove_directory" or asked.parsed.has_any(("-r", "-R"))
        return _all(words[1:], "delete-tree" if tree else "delete", True)
    return iter(())


def _shred(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words, "delete")


_TRASH = ("/.Trash", "/Trash/files")


def _mv(asked: Asked) -> Iterator[Claim]:
    parsed = asked.parsed
    into = parsed.values("-t", "--target-directory")
    sources = parsed.words if into else parsed.words[:-1]
    target = into[0] if into else (parsed.words[-1] if len(parsed.words) > 1 else None)
    gone = target == "/dev/null" or (isinstance(target, str) and target.rstrip("/").endswith(_TRASH))
    yield from _all(sources, "delete-tree" if gone else "move", True)
    if target is not None:
        yield ("empty" if sources == ("/dev/null",) else "write"), target, False
        yield from _into(target, sources, asked)


def _cp(asked: Asked) -> Iterator[Claim]:
    parsed = asked.parsed
    into = parsed.values("-t", "--target-directory")
    sources = parsed.words if into else parsed.words[:-1]
    target = into[0] if into else (parsed.words[-1] if len(parsed.words) > 1 else None)
    yield from _all(sources, "read")
    if target is not None:
        nothing = sources == ("/dev/null",) or (len(sources) == 1 and sources[0] in _NOISE)
        yield ("empty" if nothing else "write"), target, False
        yield from _into(target, sources, asked)


def _into(target: Word, sources: tuple[Word, ...], asked: Asked) -> Iterator[Claim]:
    """`cp a.json .claude` writes `.claude/a.json`."""
    spots = asked.ground.spots(target, asked.command.cwd) if isinstance(target, str) else ()
    if not isinstance(target, str) or not spots or (spots[0].kind != "dir" and target[-1:] != "/"):
        return
    for source in sources:
        if isinstance(source, str):
            name = source.rstrip("/").rsplit("/", 1)[-1]
            if name not in ("", ".", ".."):
                yield "write", f"{target.rstrip('/')}/{name}", False


def _ln(asked: Asked) -> Iterator[Claim]:
    parsed = asked.parsed
    words = parsed.words
    if len(words) < 2:
        return
    forced = parsed.has_any(("-f", "--force"))
    null = forced and words[0] == "/dev/null"
    yield ("empty" if null else "link"), words[-1], True
    if forced and not null and any(s.kind == "file" for s in asked.ground.spots(words[-1], asked.command.cwd)):
        # The file gives way to the link: its content is gone as after a copy onto it.
        yield "write", words[-1], False
    if isinstance(words[0], str) and not null:
        yield "read", words[0], False


def _truncate(asked: Asked) -> Iterator[Claim]:
    sizes = asked.parsed.values("-s", "--size")
    grows = any(isinstance(size, str) and size[:1] in "+%/" for size in sizes)
    return _all(asked.parsed.words, "write" if grows else "empty")


def _dd(asked: Asked) -> Iterator[Claim]:
    source = next((w for w in asked.command.argv if isinstance(w, str) and w.startswith("if=")), "")
    for word in asked.command.argv[1:]:
        if isinstance(word, Many):
            continue
        head = word if isinstance(word, str) else word.pieces[0]
        if head is None or not head.startswith(("if=", "of=")):
            continue
        rest: Word = word[3:] if isinstance(word, str) else Pattern((head[3:] or None, *word.pieces[1:]))
        if head.startswith("if="):
            yield "read", rest, False
        else:
            nothing = (
                source == "if=/dev/null" or source[3:] in _NOISE or (not source and _is_fed_nothing(asked.command))
            )
            yield ("empty" if nothing else "write"), rest, False


def _tee(asked: Asked) -> Iterator[Claim]:
    if asked.parsed.has_any(("-a", "--append")):
        return _all(asked.parsed.words, "append")
    return _all(asked.parsed.words, "empty" if _is_fed_nothing(asked.command) else "write")


def _is_fed_nothing(command: Command) -> bool:
    nothing = isinstance(command.stdin, str) and not command.stdin.strip()
    return nothing or any(r.op == "<" and r.target == "/dev/null" for r in command.redirects)


def _chown(asked: Asked) -> Iterator[Claim]:
    """Of files in a home, only those that are given to somebody else: `chown -R "$USER" ~/.ssh` takes nothing away."""
    owner = asked.parsed.words[0] if asked.parsed.words else ""
    head = owner if isinstance(owner, str) else owner.pieces[0] if isinstance(owner, Pattern) else None
    world = asked.ground.world
    if not head or head.partition(":")[0].partition(".")[0] not in (world.user, str(world.uid)):
        yield from _mode(asked)
        return
    for claim in _mode(asked):
        spots = asked.ground.spots(claim[1], asked.command.cwd)
        if not spots or not all(_in_a_home(spot, asked.ground) for spot in spots):
            yield claim


def _in_a_home(spot: Spot, ground: Ground) -> bool:
    path = spot.target.path
    return path is not None and path not in ground.homes and any(path.startswith(f"{h}/") for h in ground.homes)


def _mode(asked: Asked) -> Iterator[Claim]:
    by_reference = asked.parsed.has("--reference")
    tree = asked.listed or asked.parsed.has_any(("-R", "--recursive"))
    kind = "owner" if asked.name in ("chown", "chgrp") else "mode"
    flags = [flag[1:] for flag, _ in asked.parsed.flags]
    takes_away = kind == "mode" and any(flag and not flag.strip("rwxXst") for flag in flags)
    words = asked.parsed.words if by_reference or takes_away else asked.parsed.words[1:]
    return _all(words, f"{kind}-tree" if tree else kind)


def _chattr(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words[1:], "mode")


def _find(asked: Asked) -> Iterator[Claim]:
    if "-delete" in asked.command.argv:
        for word in find_words(asked.command):
            yield "delete-tree", word, False
    for flag in ("-fprint", "-fprintf", "-fls", "-fprint0"):
        if flag in asked.command.argv:
            at = asked.command.argv.index(flag)
            if at + 1 < len(asked.command.argv):
                yield "write", asked.command.argv[at + 1], False


def _rsync(asked: Asked) -> Iterator[Claim]:
    words = asked.parsed.words
    if len(words) < 2 or asked.parsed.has_any(("-n", "--dry-run")):
        return
    deletes = any(isinstance(w, str) and w.startswith("--del") for w in asked.command.argv)
    yield from _all(words[:-1], "delete-tree" if asked.parsed.has("--remove-source-files") else "read")
    yield ("delete-tree" if deletes else "write"), words[-1], False


def _scp(asked: Asked) -> Iterator[Claim]:
    words = asked.parsed.words
    yield from _all(words[:-1], "read")
    if len(words) > 1:
        yield "write", words[-1], False


_TO_NOTHING = expression(r"(?:%|1,\$)?s([/|#,@!])\^?\.[*+]\$?\1\1g?")


def _deletes_all(script: Word) -> bool:
    """Whether a script of sed, ed or vi deletes every line."""
    text = script.strip(" :;") if isinstance(script, str) else ""
    first, _, last = text.removesuffix("d").strip().partition(",")
    if _TO_NOTHING.fullmatch(text) is not None:
        return True
    if text in ("d", "%d", ",d", "%d _", "/.*/d", "/./d", "/^/d", "/$/d", "g/^/d", "g/.*/d", "g/./d", "%delete"):
        return True
    return text.endswith("d") and first in ("0", "1") and (last == "$" or (last.isdecimal() and len(last) > 3))


def _editor(asked: Asked) -> Iterator[Claim]:
    """`vim -c '%d' -c wq FILE`, `ed FILE <<< $'1,$d\\nw'`."""
    argv = asked.command.argv
    scripts = [word for at, word in enumerate(argv[1:], 1) if argv[at - 1] in ("-c", "-sc", "-esc", "--cmd")]
    scripts += [word[1:] for word in argv[1:] if isinstance(word, str) and word.startswith("+")]
    if isinstance(asked.command.stdin, str) and asked.name in ("ed", "ex"):
        scripts.append(asked.command.stdin)
    lines = [line for script in scripts if isinstance(script, str) for line in script.replace("|", "\n").split("\n")]
    return _all(asked.parsed.words, "empty" if any(map(_deletes_all, lines)) else "read")


def _sed(asked: Asked) -> Iterator[Claim]:
    parsed = asked.parsed
    script_given = parsed.has_any(("-e", "--expression", "-f", "--file"))
    in_place = any(flag.startswith(("-i", "--in-place")) for flag, _ in parsed.flags)
    files = parsed.words if script_given else parsed.words[1:]
    scripts = parsed.values("-e", "--expression") if script_given else parsed.words[:1]
    how = "read" if not in_place else "empty" if any(map(_deletes_all, scripts)) else "edit"
    return _all(tuple(file for file in files if file != ""), how)


_EMPTYING = frozenset(("", '$_=""', "$_=''", "undef $_", "$_=undef", '$_ = ""', "$_ = ''", "s/.*//s", "s/.*\\n//"))
"""Perl that leaves nothing of a line."""


def _perl(asked: Asked) -> Iterator[Claim]:
    """Only `-i`: what the code does is found out by following it."""
    parsed = asked.parsed
    if any(
        flag == "-i" or (flag.startswith("-") and "i" in flag.split("=")[0][1:4] and flag[1] != "-")
        for flag, _ in parsed.flags
    ):
        code = parsed.values("-e", "-E")
        yield from _all(
            parsed.words if code else parsed.words[1:], "empty" if code and code[-1] in _EMPTYING else "edit"
        )


def _sort(asked: Asked) -> Iterator[Claim]:
    yield from _all(asked.parsed.words, "read")
    yield from _all(asked.parsed.values("-o", "--output"), "write")


def _read(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words, "read")


def _read_after_first(asked: Asked) -> Iterator[Claim]:
    given = asked.parsed.has_any(("-e", "-f", "--regexp", "--file"))
    return _all(asked.parsed.words if given else asked.parsed.words[1:], "read")


def _curl(asked: Asked) -> Iterator[Claim]:
    parsed = asked.parsed
    yield from _all(parsed.values("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"), "write")
    for word in parsed.values("-T", "--upload-file"):
        yield "read", word, False
    for word in parsed.values("-d", "--data", "--data-binary", "--data-raw", "--data-ascii", "-F", "--form", "--json"):
        if isinstance(word, str) and "@" in word:
            path = word.split("@", 1)[1].split(";", 1)[0]
            if path not in ("", "-") and (word[0] == "@" or "=@" in word):
                yield "read", path, False


def _wget(asked: Asked) -> Iterator[Claim]:
    yield from _all(asked.parsed.values("-O", "--output-document", "-o", "--output-file"), "write")
    for folder in asked.parsed.values("-P", "--directory-prefix"):
        names = (word.partition("?")[0].rpartition("/")[2] for word in asked.parsed.words if isinstance(word, str))
        yield from ((("write", f"{folder}/{name}", False)) for name in names if name and isinstance(folder, str))
    yield from _all(asked.parsed.values("--post-file", "--body-file"), "read")


def _openssl(asked: Asked) -> Iterator[Claim]:
    yield from _all(asked.parsed.values("-in"), "read")
    yield from _all(asked.parsed.words[1:], "read")
    yield from _all(asked.parsed.values("-out"), "write")


def _tar(asked: Asked) -> Iterator[Claim]:
    """Archives are read and written; what a member list holds is not known."""
    parsed = asked.parsed
    first = asked.command.argv[1] if len(asked.command.argv) > 1 else ""
    # `tar xzf FILE`: letters without a dash, their values behind them.
    letters = first if isinstance(first, str) and first[:1] != "-" else ""
    creates = "c" in letters[:6] or parsed.has_any(("-c", "--create"))
    extracts = "x" in letters[:6] or parsed.has_any(("-x", "--extract", "--get"))
    anywhere = parsed.has_any(("-P", "--absolute-names", "--absolute-paths")) or ("P" in letters and extracts)
    words = parsed.words[1 + ("f" in letters) :] if letters else parsed.words
    if creates:
        folder = next(iter(parsed.values("-C", "--directory")), None)
        if isinstance(folder, str):
            words = tuple(f"{folder}/{word}" if isinstance(word, str) and word[:1] != "/" else word for word in words)
        yield from _all(words, "delete-tree" if parsed.has("--remove-files") else "read")
    if extracts:
        yield from _all(("/",) if anywhere else parsed.values("-C", "--directory"), "write")


def _cpio(asked: Asked) -> Iterator[Claim]:
    """Where the names in an archive may be absolute, they lead anywhere."""
    return _all(("/",) if asked.parsed.has("--absolute-filenames") else (), "write")


def _archive(asked: Asked) -> Iterator[Claim]:
    if asked.name != "zip":
        # The first word says what is done.
        if asked.parsed.words[:1] not in (("a",), ("u",), ("m",), ("d",)):
            return
        asked = asked._replace(parsed=asked.parsed._replace(words=asked.parsed.words[1:]))
    yield from _all(asked.parsed.words[:1], "write")
    moved = asked.parsed.has_any(("-m", "--move")) if asked.name == "zip" else "-sdel" in asked.command.argv
    yield from _all(asked.parsed.words[1:], "delete-tree" if moved else "read")


def _unzip(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.values("-d"), "write")


def _write(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words, "write")


def _touch_file(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words, "append")


def _install(asked: Asked) -> Iterator[Claim]:
    if asked.parsed.has_any(("-d", "--directory")):
        return iter(())
    return _cp(asked)


def _patch(asked: Asked) -> Iterator[Claim]:
    return _all(asked.parsed.words[:1], "edit")


def _git(asked: Asked) -> Iterator[Claim | Touch]:
    return git_touches(asked.command, asked.ground)


_READERS: dict[str, Reader] = {
    "rm": _rm,
    "grm": _rm,
    "zf_rm": _rm,
    "unlink": _delete,
    "srm": _rm,
    "rimraf": _delete_tree,
    "del-cli": _delete_tree,
    **dict.fromkeys(("trash", "trash-put", "trash-cli", "rmtrash", "gvfs-trash"), _delete_tree),
    "gio": _gio,
    **dict.fromkeys(("ed", "ex", "vim", "vi", "nvim"), _editor),
    "cmake": _cmake,
    "shred": _shred,
    "wipe": _delete_tree,
    "mv": _mv,
    "gmv": _mv,
    "zf_mv": _mv,
    "cp": _cp,
    "gcp": _cp,
    "install": _install,
    "ln": _ln,
    "truncate": _truncate,
    "dd": _dd,
    "gdd": _dd,
    "dcfldd": _dd,
    **dict.fromkeys(("ddrescue", "dd_rescue"), _scp),
    "tee": _tee,
    "sponge": _tee,
    "touch": _touch_file,
    "chmod": _mode,
    "chown": _chown,
    "chgrp": _mode,
    "chattr": _chattr,
    "chflags": _chattr,
    "setfacl": _chattr,
    "find": _find,
    "gfind": _find,
    "rsync": _rsync,
    "scp": _scp,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "ruby": _perl,
    "sort": _sort,
    "grep": _read_after_first,
    "egrep": _read_after_first,
    "fgrep": _read_after_first,
    "rg": _read_after_first,
    "awk": _read_after_first,
    "gawk": _read_after_first,
    "jq": _read_after_first,
    "curl": _curl,
    "wget": _wget,
    "openssl": _openssl,
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "cpio": _cpio,
    "zip": _archive,
    **dict.fromkeys(("7z", "7za", "7zz", "rar"), _archive),
    "unzip": _unzip,
    "gzip": _read,
    "patch": _patch,
    "edit-file": _write,
    "git": _git,
    **dict.fromkeys(
        "cat tac less more most bat head tail strings base64 base32 xxd od hexdump nl cut tr rev paste fold wc "
        "source . nano emacs code view diff cmp comm gpg uuencode zcat bzip2 xz zstd column pr pg "
        "ssh-keygen print-file".split(),
        _read,
    ),
}
