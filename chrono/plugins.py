"""Owns the door for plugins: finds entry points of a group, loads one by name, refuses doubtful ones.

What a group's objects must do is said by the room that owns the group (`agents`, `databases`, `rulepack`).
"""

from __future__ import annotations

import os
import sys

from chrono.errors import PluginError
from chrono.tuples import NamedTuple


class Found(NamedTuple):
    """One entry point: `value` is `package.module:attr` or, for data, a package path that is read, never imported."""

    name: str
    value: str
    distribution: str
    version: str


class PluginGroup(NamedTuple):
    """An entry-point group such as `chrono.agents`, and the api_version its objects must declare."""

    group: str
    api_version: int

    def found(self) -> tuple[Found, ...]:
        """All entry points, sorted by name. Nothing is imported.

        Reads the metadata of every installed distribution, again only after one came or went. Raises PluginError
        where two distributions claim one name: which of them wins must never depend on the order of `sys.path`.
        """
        stamp = _stamp()
        known = _known.get(self.group)
        if known is None or known[0] != stamp:
            known = _known[self.group] = (stamp, self._read())
        return known[1]

    def _read(self) -> tuple[Found, ...]:
        from importlib.metadata import entry_points

        seen: dict[str, Found] = {}
        for point in entry_points(group=self.group):
            dist = point.dist
            entry = Found(point.name, point.value, dist.name if dist else "?", dist.version if dist else "?")
            other = seen.get(entry.name)
            if other is not None and other != entry:
                raise PluginError(
                    f"two installed distributions claim {self.group} '{entry.name}': "
                    f"{other.distribution} and {entry.distribution}",
                    f"uninstall one of them: pip uninstall {entry.distribution}",
                )
            seen[entry.name] = entry
        return tuple(seen[name] for name in sorted(seen))

    def load(self, name: str) -> object:
        """The object behind entry point `name`.

        Raises PluginError where it is missing, cannot be imported, or declares another `api_version`.
        """
        from importlib.metadata import EntryPoint

        for entry in self.found():
            if entry.name == name:
                try:
                    plugin: object = EntryPoint(entry.name, entry.value, self.group).load()
                except Exception as error:
                    raise PluginError(
                        f"{self.group} '{name}' of {entry.distribution} cannot be loaded: {error!r}",
                        f"upgrade or uninstall {entry.distribution}",
                    ) from error
                version = getattr(plugin, "api_version", None)
                if version != self.api_version:
                    raise PluginError(
                        f"{self.group} '{name}' of {entry.distribution} speaks api_version {version}, "
                        f"this chrono speaks {self.api_version}",
                        f"upgrade {entry.distribution} or chrono-toolkit",
                    )
                return plugin
        known = ", ".join(entry.name for entry in self.found()) or "none"
        raise PluginError(f"no {self.group} plugin is called '{name}' (installed: {known})")


_known: dict[str, tuple[tuple[tuple[str, int], ...], tuple[Found, ...]]] = {}
"""What each group's reading found, and under which `_stamp`."""


def _stamp() -> tuple[tuple[str, int], ...]:
    """The folders that distributions are looked for in, with their mtimes in ns: what is installed makes an entry."""
    return tuple((folder, _mtime_ns(folder)) for folder in sys.path)


def _mtime_ns(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except (OSError, ValueError):
        return -1
