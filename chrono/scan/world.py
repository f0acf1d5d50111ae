"""Owns the Protocol through which scanning sees the machine; `scan` itself opens nothing.

The guard implements it over the real file system (memoised, with hashes of what was read); tests over a dict.
"""

from __future__ import annotations

from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

MAX_PATH = 8_192
"""Longer paths name nothing on any machine (PATH_MAX is 4,096): looking at them link by link only costs time."""


class Read(NamedTuple):
    """The whole content of a regular file."""

    data: bytes


class Unreadable(NamedTuple):
    """Why a file could not be read: "missing", "too large", "not a file", "denied"."""

    reason: str


class Stat(NamedTuple):
    """`kind`: "file", "dir", "link" or "other"."""

    kind: str
    size_bytes: int
    mode: int
    uid: int


class World(Protocol):
    """What a scan may ask. Paths are absolute `str`; answers about missing things are None, never exceptions."""

    @property
    def cwd(self) -> str: ...
    @property
    def home(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def uid(self) -> int: ...
    @property
    def platform(self) -> str:
        """As `sys.platform`: "linux", "darwin", "win32"."""

    @property
    def project(self) -> str | None:
        """Root of the chrono project around `cwd`, else None."""

    @property
    def chrono_home(self) -> str: ...
    def env(self, name: str) -> str | None: ...
    def read(self, path: str, limit_bytes: int) -> Read | Unreadable: ...
    def head(self, path: str, size_bytes: int) -> Read | Unreadable:
        """The first `size_bytes` of a regular file, whatever its size (to tell a script from a compiled program)."""

    def lstat(self, path: str) -> Stat | None: ...
    def realpath(self, path: str) -> str:
        """Links resolved as far as the path exists."""

    def listdir(self, path: str) -> tuple[str, ...] | None: ...
    def homes(self) -> tuple[str, ...]:
        """Home folders of the machine's people (for `~name` and for `rm -rf /home/x`)."""
