"""Owns running the git program: for talking to remotes only, never in the project and never with its configuration.

It runs in a throw-away repository whose configuration is written here, so no hook, credential helper, alias, filter or
address of the project or of the hidden repository counts; the person's own git configuration (proxies, credential
helpers, ssh) does. What is sent and fetched is left to `store.exchange`. Why a program and not libgit2:
docs/decisions/0043-git-for-remotes.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

from chrono.errors import RemoteError, UsageError
from chrono.tuples import NamedTuple

REMOTE = "there"
"""What the throw-away repository calls the remote: its address is in a file, not in the list of processes."""

_KEPT = (
    "HOME PATH USER LOGNAME USERPROFILE APPDATA LOCALAPPDATA SYSTEMROOT TEMP TMP TMPDIR TERM SSH_AUTH_SOCK "
    "SSH_AGENT_PID SSH_ASKPASS SSH_ASKPASS_REQUIRE DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_CONFIG_HOME XDG_RUNTIME_DIR "
    "DBUS_SESSION_BUS_ADDRESS http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY "
    "SSL_CERT_FILE SSL_CERT_DIR KRB5CCNAME"
).split()
"""Variables that git and ssh may see. None of GIT_*: they would bring hooks, programs and folders back."""

_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=:",
    "core.attributesFile=" + os.devnull,
    "core.bigFileThreshold=8m",
    "submodule.recurse=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "push.gpgSign=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "fetch.prune=false",
    "fetch.fsckObjects=true",
    "fetch.unpackLimit=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=120",
    # A project's odd .gitmodules is none of git's business here (docs/formats/savepoint.md).
    *(f"fetch.fsck.gitmodules{what}=ignore" for what in ("Name", "Url", "Path", "Parse", "Symlink", "Blob", "Missing")),
)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/@]*)@)?([^/:@\[\]]*|\[[0-9A-Fa-f:.]+\])(?::(\d+))?(/.*)?")
_SCP = re.compile(r"(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?!//)(.+)")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]")
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_FORMS = "use https://…, ssh://…, user@host:path, file:///… or the path of a bare repository"


class Address(NamedTuple):
    """Where a remote is. `text` is what git gets; `shown` has no password in it; `protocol` is the one allowed."""

    text: str
    shown: str
    protocol: str


def address(typed: str) -> Address:
    """Reads what a person typed. Raises UsageError for everything that git would run as a program or send in clear.

    https, ssh and files are fine; http and git only to this very machine. A path must be absolute.
    """
    if not typed or typed[0] == "-" or any(ord(char) < 0x21 or ord(char) == 0x7F for char in typed if char != " "):
        raise UsageError("that is not the address of a remote", _FORMS)
    if _HELPER.match(typed):
        raise UsageError(f"{typed.partition(':')[0]}:: starts a program; chrono runs none for a remote", _FORMS)
    if os.path.isabs(typed):
        return Address(typed, typed, "file")
    match = _SCHEME.fullmatch(typed)
    if match is None:
        return _scp(typed)
    scheme, user, host = match[1].lower(), match[2], match[3]
    if scheme == "file":
        if host not in ("", "localhost") or user or not match[5]:
            raise UsageError("a file:// address has no host", "for example file:///srv/backup/project.git")
        return Address(typed, typed, "file")
    if scheme not in ("https", "ssh", "http", "git"):
        raise UsageError(f"{scheme}:// is not supported", _FORMS)
    if not _HOST.fullmatch(host):
        raise UsageError("that address has no proper host", _FORMS)
    if scheme in ("http", "git") and host.lower() not in _LOOPBACK:
        raise UsageError(f"{scheme}:// is neither encrypted nor proves who answers", "use https:// or ssh")
    if user and user.startswith("-"):
        raise UsageError("that address has no proper user", _FORMS)
    return Address(typed, _shown(typed, user), scheme)


def _scp(typed: str) -> Address:
    match = _SCP.fullmatch(typed)
    if match is None or match[2].startswith("-") or (match[1] or "").startswith("-"):
        raise UsageError(f"{typed!r} is not the address of a remote", _FORMS)
    return Address(typed, typed, "ssh")


def _shown(typed: str, user: str | None) -> str:
    """Without the password; a user that is a token, as code hosts give them out, is one too."""
    if not user:
        return typed
    name, colon, _ = user.partition(":")
    plain = "[redacted]" if (not colon and len(name) >= 20) or (colon and name in ("", "x-access-token")) else name
    safe = f"{plain}:[redacted]" if colon and plain != "[redacted]" else plain
    return typed.replace(f"//{user}@", f"//{safe}@", 1)


class Git:
    """The git program for one remote.

    `folder` is the throw-away repository. `person`: somebody can be asked for a password or a passphrase. `redact`
    takes secrets out of what git says.
    """

    def __init__(
        self, folder: str, place: Address, environ: Mapping[str, str], redact: Callable[[str], str], *, person: bool
    ) -> None:
        self._folder = folder
        self._place = place
        self._person = person
        self._redact = redact
        self._program = _program(environ)
        self._environ = {name: environ[name] for name in _KEPT if name in environ}
        self._environ.update(
            GIT_DIR=folder,
            GIT_ALLOW_PROTOCOL=place.protocol,
            GIT_TERMINAL_PROMPT="1" if person else "0",
            GIT_NO_REPLACE_OBJECTS="1",
            GIT_ATTR_NOSYSTEM="1",
            GIT_OPTIONAL_LOCKS="0",
            LC_ALL="C",
        )

    def run(self, *arguments: str, fine: Sequence[int] = (0,)) -> bytes:
        """Standard output of one call. Raises RemoteError with what git said, no password in it."""
        done = self._call(arguments)
        if done.returncode not in fine:
            raise self.failed(done.stderr)
        return done.stdout

    def attempt(self, *arguments: str) -> tuple[bytes, bytes]:
        """(standard output, standard error) of a call that may fail in part (exit code 1). Raises RemoteError."""
        done = self._call(arguments)
        if done.returncode not in (0, 1):
            raise self.failed(done.stderr)
        return done.stdout, done.stderr

    def failed(self, said: bytes) -> RemoteError:
        """What git said on standard error, as an error with a hint."""
        text = self._clean(said)
        return RemoteError(f"{self._place.shown}: {_essence(text)}", _hint(text, self._place))

    def _call(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        try:
            return subprocess.run(
                [self._program, *settings, *arguments],
                cwd=self._folder,
                env=self._environ,
                stdin=None if self._person else subprocess.DEVNULL,
                capture_output=True,
                check=False,
                # Without a terminal of its own neither git nor ssh can wait for a password that nobody types.
                start_new_session=not self._person,
            )
        except OSError as error:
            raise RemoteError(f"{self._program} could not be run: {error.strerror}", _INSTALL) from None

    def _clean(self, data: bytes) -> str:
        return self._redact(data.decode("utf-8", "replace").replace(self._place.text, self._place.shown))


_INSTALL = "remotes need the git program, 2.29 or newer: install git"


def _program(environ: Mapping[str, str]) -> str:
    """git from an absolute folder of PATH; never one that lies in the current folder. Raises RemoteError."""
    folders = [folder for folder in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    found = shutil.which("git", path=os.pathsep.join(folders)) if folders else None
    if found is None:
        raise RemoteError("there is no git program here", _INSTALL)
    return found


def write_config(place: Address) -> bytes:
    """The configuration of the throw-away repository: bare, and where the remote is."""
    quoted = place.text.replace("\\", "\\\\").replace('"', '\\"')
    text = f'[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n[remote "{REMOTE}"]\n\turl = "{quoted}"\n'
    return text.encode("utf-8", "surrogateescape")


_NOISE = re.compile(r"^(?:remote: )?(?:warning|hint|To |Everything up-to-date|Cloning|Enumerating|Counting)")


def _essence(said: str) -> str:
    """The lines that tell what failed, at most four."""
    rows = [row.strip() for row in said.splitlines() if row.strip() and not _NOISE.match(row)]
    return "; ".join(rows[:4]) or "git failed and did not say why"


def _hint(said: str, place: Address) -> str:
    lower = said.lower()
    if "fsck" in lower or ("unpack" in lower and "error" in lower):
        return (
            "the host checks every object (receive.fsckObjects) and refuses one of a savepoint, often a .gitmodules "
            "file; use a host that does not, or a bare repository of your own"
        )
    if any(words in lower for words in ("permission denied", "authentication failed", "could not read username")):
        return "log in first as you would for git: an ssh key in the agent, or a credential helper of your own git"
    if "host key verification failed" in lower:
        return f"connect once by hand to check the host's key, for example: ssh -T {_ssh_host(place)}"
    absent = ("not found", "does not exist", "not appear to be a git repository", "no such repository")
    if any(words in lower for words in absent):
        return "make an empty bare repository there first: git init --bare PATH, or a new one on the host's web page"
    return "look at the address (chrono remote list) and at the network, then try again"


def _ssh_host(place: Address) -> str:
    match = _SCHEME.fullmatch(place.text) or _SCP.fullmatch(place.text)
    if match is None:
        return "HOST"
    return match[3] if match.re is _SCHEME else match[2]
