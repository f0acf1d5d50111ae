"""Owns what an adapter may offer besides what `protocol` asks of all; whoever needs one asks with `isinstance`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class AsksClient(Protocol):
    """The client's own word about the hooks that it would run."""

    def client_problems(self, settings_path: str, project: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Why the client would not run chrono's hooks in that file, for people; it may start the client to ask.

        Empty where it would, or where it cannot be asked. Writes nothing.
        """
        ...


@runtime_checkable
class DeniesShells(Protocol):
    """Taking the client's own shell tools away, so that only chrono's are left."""

    def without_shells(self, settings: bytes) -> tuple[bytes, tuple[str, ...]]:
        """The settings file with its shell tools denied, and the entries that were added. Raises SettingsRefused."""
        ...

    def with_shells(self, settings: bytes, added: tuple[str, ...]) -> bytes | None:
        """The settings file without exactly those entries; None where nothing else is left. Raises SettingsRefused."""
        ...
