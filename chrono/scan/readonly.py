"""Owns the proof that a command changes no file: what is not proved is not read-only.

It decides only whether a savepoint is needed; whether the command may run is left to rules and `policy`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import Command
from chrono.scan.options import Parsed, parse, program_names
from chrono.scan.paths import Ground
from chrono.scan.rule import GNU, Options
from chrono.scan.touch import options_of
from chrono.tuples import NamedTuple

_READERS = frozenset(
    """
    : [ alias arch b2sum basename base32 base64 bat bg break cal cat cd cksum cloc clear cmp col column comm
    continue cut
    df diff dir dircolors dirname dirs du echo egrep exa exit expand expr eza factor false fg fgrep file fmt fold free
    getconf getent grep groups head hexdump hostid id join jobs last less ll local logname ls lsblk lscpu lsof lspci
    lsusb md5sum more nl nm nproc numfmt objdump od paste pathchk popd pr printenv printf ps pushd pwd read readelf
    readlink realpath return rg rev scc seq set sha1sum sha224sum sha256sum sha384sum sha512sum shift size sleep stat
    strings sum tac tail test times tokei tr tree true tsort tty type uname unexpand uniq unset uptime users vdir w wait
    wc whatis where whereis which who whoami xxd yes zcat zgrep ag ack hash getopts let ulimit umask shopt jq yq
    [[ (( history help man apropos findmnt ifconfig ss netstat ping dig nslookup host locale nm ldd tldr
    get-childitem gci get-content gc get-location gl select-string sls measure-object where-object select-object
    sort-object format-table format-list test-path get-item gi get-process gps write-output write-host out-string
    get-command get-help get-date findstr whoami ver vol more tasklist systeminfo
    foreach-object write-error write-warning write-verbose write-debug write-information join-path split-path
    resolve-path convert-path out-null out-host out-default convertfrom-json convertto-json compare-object group-object
    get-variable get-alias get-member get-module get-service get-acl get-filehash get-volume get-psdrive get-random
    set-location push-location pop-location start-sleep test-connection get-ciminstance get-computerinfo format-wide
    convertfrom-csv convertto-csv get-unique get-childitem select-xml get-culture get-host get-history get-uptime
    """.split()
)
"""Programs that change nothing whatever their arguments, those in _CAREFUL aside."""

_GIT = {
    "blame": (),
    "cat-file": (),
    "check-ignore": (),
    "count-objects": (),
    "describe": (),
    "diff": ("--output", "-o", "--ext-diff"),
    "diff-tree": ("--output", "--ext-diff"),
    "for-each-ref": (),
    "grep": ("-O", "--open-files-in-pager"),
    "help": (),
    "log": ("--output", "--ext-diff"),
    "ls-files": (),
    "ls-remote": ("--upload-pack", "--exec"),
    "ls-tree": (),
    "merge-base": (),
    "name-rev": (),
    "rev-list": (),
    "rev-parse": (),
    "shortlog": ("--output",),
    "show": ("--output", "--ext-diff"),
    "show-ref": (),
    "status": (),
    "var": (),
    "version": (),
    "whatchanged": ("--output",),
}
_GIT_LISTS = {
    "branch": (),
    "tag": (),
    "stash": ("list", "show"),
    "remote": ("show", "get-url"),
    "worktree": ("list",),
    "reflog": ("show",),
    "notes": ("list", "show"),
    "submodule": ("status",),
}
_GIT_LIST_FLAGS = frozenset(
    (
        "-l --list -a --all -r --remotes -v -vv --verbose --show-current --contains --merged "
        "--no-merged --sort --format -n --no-color --color --points-at --column"
    ).split()
)

_VERSIONS = frozenset(["--version", "-V", "-version", "version", "--help", "-h"])
_ASK_VERSION = frozenset(
    "python python3 pip pip3 node npm pnpm yarn bun deno ruby gem perl php java javac go rustc cargo gcc "
    "g++ clang make "
    "cmake docker docker-compose kubectl helm terraform git gh aws gcloud az psql mysql sqlite3 curl "
    "wget tar ssh uv poetry "
    "pytest ruff mypy black tsc eslint prettier jest vitest dotnet swift kotlin scala mvn gradle bundle "
    "rails composer pwsh "
    "bash zsh sh ansible vagrant brew apt apt-get dpkg rpm chrono claude code nvim vim".split()
)
_LISTS = {
    "pip": ("list", "show", "freeze", "check", "debug", "index"),
    "pip3": ("list", "show", "freeze", "check"),
    "npm": ("ls", "list", "view", "info", "outdated", "root", "prefix", "ping", "search", "why", "explain"),
    "pnpm": ("ls", "list", "why", "outdated", "root"),
    "yarn": ("list", "why", "info"),
    "uv": ("tree", "version"),
    "cargo": ("tree", "metadata", "search", "locate-project"),
    "go": ("version", "env", "list", "doc"),
    "docker": ("ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "history"),
    "podman": ("ps", "images", "logs", "inspect", "version", "info"),
    "kubectl": ("get", "describe", "logs", "version", "explain", "top", "api-resources", "cluster-info"),
    "helm": ("list", "ls", "status", "history", "version", "get", "show"),
    "terraform": ("version", "show", "output", "providers", "graph"),
    "gem": ("list", "info", "search"),
    "brew": ("list", "info", "search", "deps"),
    "apt": ("list", "show", "search", "policy"),
    "apt-cache": ("search", "show", "policy", "depends"),
    "dpkg": ("-l", "-L", "-s", "-S", "--list"),
    "systemctl": ("status", "list-units", "list-unit-files", "is-active", "is-enabled", "show", "cat"),
    "gh": ("status",),
    "chrono": ("status", "log", "diff", "scan", "doctor", "savepoints"),
}
_SILENT_TARGETS = frozenset(["/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty"])
_ASSIGNS = frozenset(
    (
        "LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR GREP_COLOR GREP_COLORS LS_COLORS DEBUG CI"
    ).split()
)


def changes_nothing(command: Command, ground: Ground) -> bool:
    """Whether a command is proved to change no file. In doubt it is not."""
    names = program_names(command.argv[0])
    known = _KNOWN.get(names)
    if known is None:
        if len(_KNOWN) > 2000:
            _KNOWN.clear()
        known = _KNOWN[names] = _known_of(names)
    if known is _NEVER or (command.assigns and not all(_harmless_assign(name) for name, _ in command.assigns)):
        return False
    if command.redirects and not all(_harmless_redirect(one.op, one.target) for one in command.redirects):
        return False
    if not command.builtin and not _is_the_systems(command, ground):
        return False
    argv = command.argv
    if names[0] not in _READERS and [word for word in argv if not isinstance(word, str)]:
        return False
    if known.careful is not None:
        return known.careful(parse(argv, _OPTIONS.get(known.name, options_of(known.name))), command)
    return known.reads or _asks(names, command)


class _Known(NamedTuple):
    """What can be told by a program's names alone: the name that counts, what looks at its arguments, whether it only
    reads whatever these are, whether some of its verbs do."""

    name: str
    careful: Callable[[Parsed, Command], bool] | None
    reads: bool
    asks: bool


_NEVER = _Known("", None, False, False)
"""Nothing such a program does is proved to change no file."""

_KNOWN: dict[tuple[str, ...], _Known] = {}


def _known_of(names: tuple[str, ...]) -> _Known:
    if not names:
        return _NEVER
    name = names[0] if names[0] in _READERS else names[-1] if names[-1] in _READERS else names[0]
    careful = _CAREFUL.get(name) or _CAREFUL.get(names[-1])
    asks = "python" in names or any(one in _ASK_VERSION or one in _LISTS for one in names)
    return _Known(name, careful, name in _READERS, asks) if careful or asks or name in _READERS else _NEVER


def _harmless_assign(name: str) -> bool:
    """Variables that change what a program loads, runs or writes make the proof void; only a few are known not to."""
    return name in _ASSIGNS or name.startswith("LC_")


def _harmless_redirect(op: str, target: object) -> bool:
    if op in ("<", "<<", "<<-", "<<<", "<&"):
        return True
    if op == ">&" and isinstance(target, str) and (target.isdigit() or target == "-"):
        return True
    return target in _SILENT_TARGETS


def _is_the_systems(command: Command, ground: Ground) -> bool:
    """Whether the name stands for an installed program: not a path into the project, not a file beside it."""
    word = command.argv[0]
    if not isinstance(word, str):
        return False
    if "/" in word or "\\" in word:
        return word.startswith(("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"))
    if ground.world.platform == "win32":
        folder = command.cwd if isinstance(command.cwd, str) else ground.world.cwd
        return not any(
            ground.world.lstat(f"{folder}/{word}{ending}") for ending in ("", ".exe", ".cmd", ".bat", ".com", ".ps1")
        )
    return True


def _asks(names: tuple[str, ...], command: Command) -> bool:
    """`python --version`, `pip list` and their like."""
    words = [word for word in command.argv[1:] if isinstance(word, str)]
    if len(words) == 1 and words[0] in _VERSIONS and any(name in _ASK_VERSION for name in names):
        return True
    for name in names:
        verbs = _LISTS.get(name)
        if verbs is not None and words and words[0] in verbs:
            return not any(
                word.startswith(("--output=", "--output-file")) or word in ("--watch-exec",) for word in words
            )
    if len(words) > 2 and words[:2] == ["-m", "pip"] and "python" in names:
        return words[2] in ("list", "show", "freeze", "check")
    return False


def _find(parsed: Parsed, command: Command) -> bool:
    changing = ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-fprint0")
    return not any(word in changing for word in command.argv)


def _sed(parsed: Parsed, command: Command) -> bool:
    """Without -i, and without the commands of a script that write a file or run a program."""
    if any(flag.startswith(("-i", "--in-place", "-s", "-f", "--file")) for flag, _ in parsed.flags):
        return False
    scripts = [*parsed.values("-e", "--expression")] or list(parsed.words[:1])
    for script in scripts:
        if not isinstance(script, str):
            return False
        if any(letter in script.rsplit("/", 1)[-1] for letter in "wWeE") and script.count("/") >= 2:
            return False
        if script.strip()[:1] in ("w", "e", "W") or "\n" in script or ";w" in script or "{w" in script:
            return False
        if any(f"{letter} " in script for letter in "we") and not script.startswith(("s", "/")):
            return False
    return True


def _sort(parsed: Parsed, command: Command) -> bool:
    if command.windows and not command.builtin and any(_starts(word, "/") for word in command.argv[1:]):
        # `sort /o file`
        return False
    return not parsed.has_any(("-o", "--output", "--compress-program", "-T"))


def _starts(word: object, sign: str) -> bool:
    return isinstance(word, str) and word.startswith(sign)


def _awk(parsed: Parsed, command: Command) -> bool:
    if parsed.has_any(("-f", "--file", "-i", "--include", "-l")) or not parsed.words:
        return False
    code = parsed.words[0]
    return isinstance(code, str) and not any(sign in code for sign in (">", "system", "|", "close", "getline", "@"))


def _tree(parsed: Parsed, command: Command) -> bool:
    return not parsed.has_any(("-o",))


def _yq(parsed: Parsed, command: Command) -> bool:
    return not parsed.has_any(("-i", "--inplace", "--in-place", "-s", "--split-exp"))


def _history(parsed: Parsed, command: Command) -> bool:
    return not parsed.flags


def _rg(parsed: Parsed, command: Command) -> bool:
    return not parsed.has_any(("--pre", "--hostname-bin"))


def _less(parsed: Parsed, command: Command) -> bool:
    return not parsed.has_any(("-o", "-O", "--log-file", "-k", "--lesskey-file"))


def _second_word_writes(parsed: Parsed, command: Command) -> bool:
    """`uniq in out` and `xxd in out` write their second argument."""
    return len(parsed.words) < 2


def _diff(parsed: Parsed, command: Command) -> bool:
    return not parsed.has("--output")


def _date(parsed: Parsed, command: Command) -> bool:
    return not parsed.has_any(("-s", "--set")) and all(isinstance(w, str) and w[:1] == "+" for w in parsed.words)


def _hostname(parsed: Parsed, command: Command) -> bool:
    return not parsed.words and not parsed.has_any(("-F", "-b"))


def _env(parsed: Parsed, command: Command) -> bool:
    return len(command.argv) == 1


def _command(parsed: Parsed, command: Command) -> bool:
    return any(word in ("-v", "-V") for word in command.argv[1:2])


def _export(parsed: Parsed, command: Command) -> bool:
    """Only variables that are known to change nothing; the shell keeps the others for what comes after."""
    words = [word for word in command.argv[1:] if not (isinstance(word, str) and word.startswith("-"))]
    return all(isinstance(word, str) and _harmless_assign(word.partition("=")[0]) for word in words)


def _git(parsed: Parsed, command: Command) -> bool:
    if any(flag in ("-c", "--exec-path", "--config-env", "--git-dir") for flag, _ in parsed.flags):
        return False
    words = parsed.words
    verb = words[0] if words and isinstance(words[0], str) else ""
    if verb == "" and parsed.has_any(("--version", "--help")):
        return True
    writing = _GIT.get(verb)
    if writing is not None:
        return not (writing and parsed.has_any(writing))
    if verb == "config":
        return parsed.has_any(("--get", "--get-all", "--list", "-l", "--get-regexp")) or (
            len(words) == 2
            and not parsed.has_any(("--unset", "--unset-all", "--edit", "-e", "--add", "--remove-section"))
        )
    listing = _GIT_LISTS.get(verb)
    if listing is None:
        return False
    if len(words) == 1:
        return verb not in ("stash", "notes") and all(flag in _GIT_LIST_FLAGS for flag, _ in parsed.flags)
    if words[1] in listing:
        return True
    return (
        verb in ("branch", "tag")
        and parsed.has_any(("--list", "-l", "--contains", "--merged"))
        and not parsed.has_any(("-d", "-D", "-m", "-M", "-f"))
    )


_OPTIONS: dict[str, Options] = {
    "git": ("gnu", (("", frozenset(["-C", "-c", "--git-dir", "--work-tree", "--format", "--sort"])),)),
    "awk": ("gnu", (("", frozenset(["-F", "-v", "-f", "-i", "-l"])),)),
    "sort": GNU,
}
_CAREFUL: dict[str, Callable[[Parsed, Command], bool]] = {
    "find": _find,
    "sed": _sed,
    "gsed": _sed,
    "sort": _sort,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "tree": _tree,
    "yq": _yq,
    "xxd": _second_word_writes,
    "history": _history,
    "rg": _rg,
    "less": _less,
    "more": _less,
    "bat": _rg,
    "man": _rg,
    "uniq": _second_word_writes,
    "date": _date,
    "hostname": _hostname,
    "env": _env,
    "command": _command,
    "export": _export,
    "declare": _export,
    "local": _export,
    "diff": _diff,
    "git": _git,
    "file": lambda parsed, command: not parsed.has_any(("-C", "--compile")),
    "base64": lambda parsed, command: not parsed.has_any(("-o",)),
    "ifconfig": lambda parsed, command: len(parsed.words) < 2,
}
