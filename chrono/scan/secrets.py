"""Owns what a command does to secrets beyond their own files: folders that hold them, and what it sends away.

Which names are secret is in `scan.places`, which words of a program are paths in `scan.touch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chrono.scan import hosts, issuers, places
from chrono.scan.command import Command, Pattern, Word
from chrono.scan.finding import Target
from chrono.scan.options import parse, program_names
from chrono.scan.paths import Ground, Spot, Touch, glob_match
from chrono.scan.rule import Options

_TAKES = frozenset(("read", "move", "mode", "mode-tree", "owner", "owner-tree", "link"))
_PRINTS_ENVIRONMENT = frozenset(("env", "printenv", "set", "export", "declare", "typeset"))
_KEYS = ("id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".netrc", ".pgpass", ".git-credentials", "credentials", ".npmrc")
_ACCOUNTS = frozenset(("/etc/passwd", "/etc/group", "/etc/sudoers", "/etc/shadow", "/etc/gshadow"))
"""Files that anybody here may read, and nobody elsewhere needs."""
_UNKNOWN = Target(None, "the environment", "credential", True)

Read = Callable[[Command], tuple[Touch, ...]]
"""What a command does to files (`scan.touch.touches_of`), for the programs that feed this one."""


HELD_BY = frozenset(("dotfile", "home"))
"""Classes of folders that may hold secrets."""


def with_folders(touch: Touch, ground: Ground) -> Touch:
    """The touch with a folder of secrets taken for the secrets in it (`tar c ~/.ssh`, `chmod -R o+r ~/.ssh`)."""
    how, spot = touch
    path = spot.target.path
    if how not in _TAKES or path is None or spot.target.place not in HELD_BY:
        return touch
    several = spot.kind == "dir" or spot.base is not None or spot.exists is None
    if several and _is_vault(path, ground) and not spot.target.shown.endswith(
        (".pub", "config", "known_hosts")
    ):  # fmt: skip
        return Touch(how, _secret(spot))
    return touch


def sought(find: Command, ground: Ground) -> Iterator[Touch]:
    """Secrets that a `find` looks for by name and hands to the program that it starts (`find ~ -name 'id_*'`)."""
    argv = find.argv
    for at, word in enumerate(argv[:-1]):
        name = argv[at + 1]
        if word not in ("-name", "-iname") or not isinstance(name, str) or name.strip("*?") == "":
            continue
        if any(glob_match(name, key) for key in _KEYS) or name.endswith((".pem", ".key", ".kdbx")):
            for start in argv[1:at]:
                for spot in ground.spots(start, find.cwd) if start[:1] not in ("-", "!", "(") else ():
                    if spot.target.place in ("home", "root", "above", "dotfile"):
                        yield Touch("read", _secret(spot))


def sent(command: Command, ground: Ground, read: Read) -> Iterator[Touch]:
    """Secrets that a command sends to another machine, as touches of kind "send"."""
    names = program_names(command.argv[0])
    if "git" in names and "push" in command.argv[1:]:
        # Its words become names of branches there: `git push origin HEAD:refs/heads/$(base64 .env)`.
        for argv in command.upstream:
            yield from _of_feeding(Command(argv, cwd=command.cwd), ground, read)
    if _SENDS.keys().isdisjoint(names) or any(_is_here(word) for word in command.argv[1:]):
        return
    name = next(name for name in names if name in _SENDS)
    for word in _SENDS[name](command):
        yield from as_sent(ground.spots(word, command.cwd, windows=command.windows), ground)
    yield from _project(name, command, ground, read)
    if name not in _BY_WORDS:
        return
    for redirect in command.redirects:
        if redirect.op == "<":
            yield from as_sent(ground.spots(redirect.target, command.cwd, windows=command.windows), ground)
    for argv in command.upstream:
        if issuers.issuer_of(argv) is not None:
            if name not in _WITH_ADDRESS or issuers.goes_abroad(argv, command):
                yield Touch("send", Spot(_UNKNOWN._replace(shown=_token_shown(argv)), None))
            continue
        if _is_password(argv):
            if issuers.stands_in_foreign_address(command):
                yield Touch("send", Spot(_UNKNOWN._replace(shown=_token_shown(argv)), None))
            continue
        if _is_token(argv):
            if name not in _WITH_ADDRESS or (_is_all_it_posts(command) and issuers.names_foreign_host(command)):
                yield Touch("send", Spot(_UNKNOWN._replace(shown=_token_shown(argv)), None))
            continue
        yield from _of_feeding(Command(argv, cwd=command.cwd, windows=command.windows), ground, read)


def _project(name: str, command: Command, ground: Ground, read: Read) -> Iterator[Touch]:
    """The project itself on its way to a machine that nobody here knows: copied, or packed in front of `ssh`."""
    if (name != "ssh" and name not in COPIES) or not hosts.sends_to_stranger(command, ground):
        return
    if name == "ssh":
        spots = [t.spot for argv in command.upstream for t in read(Command(argv, cwd=command.cwd)) if t.how == "read"]
    else:
        spots = [spot for word in _SENDS[name](command) for spot in ground.spots(word, command.cwd)]
    yield from (Touch("send", spot) for spot in spots if spot.target.place == "project-root")


def told(command: Command) -> Iterator[Touch]:
    """Secrets of the environment that a command shows by name (`echo $GITHUB_TOKEN`), as touches of kind "read"."""
    if not command.seen or any(redirect.op[:1] in ">&" and redirect.fd != 2 for redirect in command.redirects):
        return
    if command.windows or TELLERS.isdisjoint(program_names(command.argv[0])):
        return
    for source in (command.argv, *command.upstream):
        if source[0] == "printenv" and (_is_password(source) or issuers.issuer_of(source) is not None):
            yield Touch("read", Spot(_UNKNOWN._replace(shown=_token_shown(source)), None))


def _is_password(source: tuple[Word, ...]) -> bool:
    name = source[1] if len(source) == 2 and source[0] == "printenv" else None
    return isinstance(name, str) and issuers.is_password(name)


def _is_token(source: tuple[Word, ...]) -> bool:
    name = source[1] if len(source) == 2 and source[0] == "printenv" else None
    return isinstance(name, str) and issuers.is_token(name)


def _is_all_it_posts(command: Command) -> bool:
    """Whether the body is one value with nothing around it: whoever asks for a token gives it a field or a header."""
    bodies = parse(command.argv, _CURL).values("-d", "--data", "--data-binary", "--data-raw", "--data-ascii")
    return any(isinstance(body, Pattern) and not any(body.pieces) for body in bodies)


TELLERS = frozenset(("printenv", "echo", "printf", "cat"))
"""Programs that show what they are given."""


def _token_shown(source: tuple[Word, ...]) -> str:
    words = [word for word in source if isinstance(word, str)]
    return f"${words[1]}" if words[0] == "printenv" else f"what `{' '.join(words)}` prints"


def _of_feeding(command: Command, ground: Ground, read: Read) -> Iterator[Touch]:
    if any(name in _PRINTS_ENVIRONMENT for name in program_names(command.argv[0])):
        if prints_environment(command):
            yield Touch("send", Spot(_UNKNOWN, None))
        return
    if is_sender(command):
        return
    yield from as_sent(tuple(touch.spot for touch in read(command) if touch.how == "read"), ground)


def prints_environment(command: Command) -> bool:
    """Whether it prints all variables (`env`, `export -p`)."""
    return any(n in _PRINTS_ENVIRONMENT for n in program_names(command.argv[0])) and not parse(command.argv).words


def is_sender(command: Command) -> bool:
    """Whether it is a program that sends what it is given to another machine."""
    return any(name in _SENDS for name in program_names(command.argv[0]))


def words_sent(command: Command) -> Iterator[Word]:
    """The words that name what a command sends to another machine, of files that programs in front of it have read
    too."""
    name = next((name for name in program_names(command.argv[0]) if name in _SENDS), None)
    if name is None or any(_is_here(word) for word in command.argv[1:]):
        return
    yield from _SENDS[name](command)
    if name in _BY_WORDS:
        yield from (redirect.target for redirect in command.redirects if redirect.op == "<")
        for argv in command.upstream:
            yield from argv[1:]


def as_sent(spots: tuple[Spot, ...], ground: Ground) -> Iterator[Touch]:
    """Those of them that are secret, as touches of kind "send"; a whole home holds secrets."""
    for spot in spots:
        target = spot.target
        if target.place == "credential":
            yield Touch("send", spot)
        elif target.path is not None and (
            target.path in ground.homes or _is_vault(target.path, ground) or _is_secret_file(target.path)
        ):
            yield Touch("send", _secret(spot))


def _is_secret_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return places.is_secret_name(name) or places.is_history(name) or path in _ACCOUNTS


def _is_vault(path: str, ground: Ground) -> bool:
    parts = path.lower().split("/", 3)
    if len(parts) == 4 and parts[0][1:] == ":" and parts[1] == "users":
        return parts[3].rstrip("/") in places.VAULTS
    return any(
        path.startswith(home + "/") and path[len(home) + 1 :].rstrip("/").lower() in places.VAULTS
        for home in (*ground.homes, "/root")
        if home != "/"
    )


def _secret(spot: Spot) -> Spot:
    return spot._replace(target=spot.target._replace(place="credential"))


def _is_here(word: Word) -> bool:
    """Whether a word names this machine as the other end."""
    if isinstance(word, Pattern):
        head = word.pieces[0]
        word = head if head is not None else ""
    if not isinstance(word, str):
        return False
    host = word.partition("://")[2] or word
    host = host.rpartition("@")[2] if "/" not in host.partition("@")[0] else host
    return host.startswith(("localhost", "127.0.0.1", "[::1]", "0.0.0.0", "::1"))  # noqa: S104


# --- senders


def _nothing(command: Command) -> Iterator[Word]:
    return iter(())


_CURL: Options = ("gnu", (("", frozenset("-T --upload-file -d --data --data-binary --data-raw --data-ascii "
                  "--data-urlencode -F --form --json -H --header -X --request -u -o".split())),))  # fmt: skip


def _curl(command: Command) -> Iterator[Word]:
    parsed = parse(command.argv, _CURL)
    yield from parsed.values("-T", "--upload-file")
    for word in parsed.values("-d", "--data", "--data-binary", "--data-ascii", "--json", "-H", "--header"):
        if isinstance(word, str) and word[:1] == "@":
            yield word[1:]
    for word in parsed.values("--data-urlencode"):
        name, mark, file = word.partition("@") if isinstance(word, str) else ("", "", "")
        if mark and "=" not in name:
            yield file
    for word in parsed.values("-F", "--form"):
        file = word.partition("=")[2].partition(";")[0] if isinstance(word, str) else ""
        if file[:1] in ("@", "<"):
            yield file[1:]


_WGET: Options = ("gnu", (("", frozenset(["--post-file", "--body-file", "-O", "-o"])),))


def _wget(command: Command) -> Iterator[Word]:
    yield from parse(command.argv, _WGET).values("--post-file", "--body-file")


def _socat(command: Command) -> Iterator[Word]:
    """`socat FILE:… TCP:…`."""
    for word in command.argv[1:]:
        if isinstance(word, str) and word.lower().startswith(("file:", "open:", "gopen:")):
            yield word.partition(":")[2].partition(",")[0]


def _httpie(command: Command) -> Iterator[Word]:
    for word in command.argv[1:]:
        if isinstance(word, str) and "@" in word and "://" not in word:
            yield word.partition("@")[2]


COPIES = ("scp", "rsync", "sftp")
_COPY: Options = ("gnu", (("", frozenset("-e --rsh -i -P -p -F -o -J -c -l --exclude --include --profile --region "
                  "--acl --storage-class".split())),))  # fmt: skip


def _to_host(command: Command) -> Iterator[Word]:
    """`scp FILE host:`, `rsync FILES host:dir`."""
    words = parse(command.argv, _COPY).words
    if len(words) > 1 and _is_remote(words[-1]):
        yield from (word for word in words[:-1] if not _is_remote(word))


def _sftp(command: Command) -> Iterator[Word]:
    """`sftp host <<< 'put FILE'`."""
    yield from _to_host(command)
    for line in command.stdin.splitlines() if isinstance(command.stdin, str) else ():
        words = line.split()
        if words[:1] in (["put"], ["mput"], ["reput"]):
            yield from (word.strip("'\"") for word in words[1:] if word[:1] != "-")


def _is_remote(word: Word) -> bool:
    if not isinstance(word, str):
        return isinstance(word, Pattern) and any(piece and ":" in piece for piece in word.pieces)
    return ":" in word and "/" not in word.partition(":")[0]


def _to_bucket(command: Command) -> Iterator[Word]:
    """`aws s3 cp FILE s3://…`, `gsutil cp`, `rclone copy`, `mc cp`, `s3cmd put`, `az storage blob upload -f`."""
    words = parse(command.argv, _COPY).words
    copies = any(word in ("cp", "sync", "mv", "put", "copy", "copyto", "move", "mirror") for word in words[:3])
    if copies and len(words) > 2 and (_is_remote(words[-1]) or command.argv[0] == "mc"):
        yield from words[1:-1]
    for at, word in enumerate(command.argv[:-1]):
        if word in ("--file", "-f", "--body", "--source") and command.argv[0] in ("az", "aws"):
            yield command.argv[at + 1]


def _to_hub(command: Command) -> Iterator[Word]:
    """`gh gist create FILE`, `gh release upload TAG FILE`."""
    words = parse(command.argv, ("gnu", (("", frozenset(["-d", "--desc", "-R", "--repo", "-n", "-t", "-F"])),))).words
    if words[:2] in (("gist", "create"), ("release", "upload"), ("release", "create"), ("snippet", "create")):
        yield from words[2:]


def _web(command: Command) -> Iterator[Word]:
    """PowerShell's own: what they send is named by the file that it was read from."""
    parsed = parse(command.argv, ("powershell", ()))
    yield from parsed.values("-InFile", "-Attachments")


def _files(command: Command) -> Iterator[Word]:
    """Tools that hand files to somebody: `croc send FILE`, `slackcat -c general FILE`."""
    yield from (word for word in command.argv[1:] if not (isinstance(word, str) and word[:1] == "-"))


_SENDS: dict[str, Callable[[Command], Iterator[Word]]] = {
    **dict.fromkeys(("slackcat", "croc", "wormhole", "ffsend", "ncftpput", "gist", "tftp", "magic-wormhole"), _files),
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(("http", "https", "xh"), _httpie),
    **dict.fromkeys(
        "send-data nc ncat netcat telnet openssl dig nslookup host drill ping whois mail mailx sendmail mutt "
        "ssh".split(),
        _nothing,
    ),
    "socat": _socat,
    **dict.fromkeys(("invoke-webrequest", "invoke-restmethod", "send-mailmessage"), _web),
    **dict.fromkeys(COPIES, _to_host),
    "sftp": _sftp,
    **dict.fromkeys(("aws", "gsutil", "gcloud", "rclone", "mc", "s3cmd", "s5cmd", "az", "b2"), _to_bucket),
    **dict.fromkeys(("gh", "glab"), _to_hub),
}
SENDERS = frozenset((*_SENDS, "git"))
"""Programs of which `sent` knows something."""

_WITH_ADDRESS = frozenset("curl wget http https xh gh glab ssh invoke-webrequest invoke-restmethod".split())
"""Senders that say in an address whom they send to; a token may go to its own issuer."""

_BY_WORDS = frozenset(
    "send-data curl wget http https xh nc ncat netcat telnet socat openssl dig nslookup host drill ping whois mail "
    "mailx sendmail mutt gh glab ssh invoke-webrequest invoke-restmethod send-mailmessage".split()
)
"""Senders whose standard input and command substitutions leave the machine."""
