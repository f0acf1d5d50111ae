"""Owns a World that is told what it holds: for cases of rule packs, for tests, for a verdict on a made-up machine.

The World over the real machine is left to `workspace.machine_world`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from chrono.scan.world import MAX_PATH, Read, Stat, Unreadable
from chrono.tuples import NamedTuple


class Link(NamedTuple):
    """A symbolic link to `target`, as written."""

    target: str


Node = str | bytes | Link | None
"""The text or bytes of a file, a link, or None for a folder."""

_MAX_LINKS = 40


class DictWorld:
    """A machine made of a dict from absolute path to Node; the folders above each path exist too.

    `too_large` are paths of files whose content is not to be had.
    """

    def __init__(
        self,
        files: Mapping[str, Node] | None = None,
        *,
        cwd: str = "/home/dev/proj",
        home: str = "/home/dev",
        user: str = "dev",
        uid: int = 1000,
        platform: str = "linux",
        project: str | None = None,
        chrono_home: str = "/home/dev/.local/state/chrono",
        environ: Mapping[str, str] | None = None,
        homes: Sequence[str] = (),
        executable: Sequence[str] = (),
        too_large: Sequence[str] = (),
    ) -> None:
        self.cwd = cwd
        self.home = home
        self.user = user
        self.uid = uid
        self.platform = platform
        self.project = project
        self.chrono_home = chrono_home
        self._environ = {"HOME": home, "USER": user, "PWD": cwd} if environ is None else dict(environ)
        self._homes = tuple(dict.fromkeys((home, *homes)))
        self._executable = frozenset(executable)
        self._too_large = frozenset(too_large)
        self._nodes: dict[str, Node] = {"/": None}
        self._names: dict[str, set[str]] = {"/": set()}
        for path, node in {**dict.fromkeys((cwd, home)), **(files or {})}.items():
            self._add(os.path.normpath(path), node)

    def _add(self, path: str, node: Node) -> None:
        self._nodes[path] = node
        if node is None:
            self._names.setdefault(path, set())
        while path != "/":
            above, name = os.path.split(path)
            self._names.setdefault(above, set()).add(name)
            self._nodes.setdefault(above, None)
            path = above

    def env(self, name: str) -> str | None:
        return self._environ.get(name)

    def read(self, path: str, limit_bytes: int) -> Read | Unreadable:
        real = self.realpath(path)
        if real not in self._nodes:
            return Unreadable("missing")
        node = self._nodes[real]
        if node is None or isinstance(node, Link):
            return Unreadable("not a file")
        data = node if isinstance(node, bytes) else node.encode("utf-8", "surrogateescape")
        if real in self._too_large or len(data) > limit_bytes:
            return Unreadable("too large")
        return Read(data)

    def head(self, path: str, size_bytes: int) -> Read | Unreadable:
        node = self._nodes.get(self.realpath(path))
        if isinstance(node, str | bytes):
            data = node if isinstance(node, bytes) else node.encode("utf-8", "surrogateescape")
            return Read(data[:size_bytes])
        return Unreadable("not a file" if self.realpath(path) in self._nodes else "missing")

    def lstat(self, path: str) -> Stat | None:
        above, name = os.path.split(os.path.normpath(path))
        real = os.path.join(self.realpath(above), name) if name else "/"
        if real not in self._nodes:
            return None
        node = self._nodes[real]
        if node is None:
            return Stat("dir", 4096, 0o755, self.uid)
        if isinstance(node, Link):
            return Stat("link", len(node.target), 0o777, self.uid)
        mode = 0o755 if real in self._executable else 0o644
        return Stat("file", len(node), mode, self.uid)

    def realpath(self, path: str) -> str:
        if len(path) > MAX_PATH:
            return os.path.normpath(path)
        left = [part for part in path.split("/") if part]
        left.reverse()
        real = "/"
        links = 0
        while left:
            part = left.pop()
            if part == ".":
                continue
            if part == "..":
                real = os.path.dirname(real)
                continue
            here = os.path.join(real, part)
            node = self._nodes.get(here)
            if isinstance(node, Link) and links < _MAX_LINKS:
                links += 1
                if node.target.startswith("/"):
                    real = "/"
                left.extend(reversed([piece for piece in node.target.split("/") if piece]))
                continue
            real = here
        return real

    def listdir(self, path: str) -> tuple[str, ...] | None:
        names = self._names.get(self.realpath(path))
        return None if names is None else tuple(sorted(names))

    def homes(self) -> tuple[str, ...]:
        return self._homes
