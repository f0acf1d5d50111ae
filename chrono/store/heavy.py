"""Owns which folders a savepoint leaves out because a tool can make them again.

A name alone decides only where no person keeps work under it. `target` and `venv` are such folders only with evidence
beside or in them, and a folder that a savepoint already holds never becomes one: a tag dropped into `src` must not
take `src` out of the savepoints.
"""

from __future__ import annotations

import os

from chrono.store.disk import READ_FILE

HEAVY_NAMES = frozenset(
    b"node_modules bower_components .venv __pycache__ .tox .nox .gradle .eggs .mypy_cache .pytest_cache "
    b".ruff_cache".split()
)
"""Left out by name, at every depth."""

EDITOR_NAMES = frozenset(b".idea .vscode".split())
"""Editors' folders: left out too, but no tool makes a person's settings again, so they count as "ignored"."""

_BUILD_FILES = {
    b"target": (b"Cargo.toml", b"pom.xml", b"build.sbt", b"build.gradle", b"build.gradle.kts"),
}
_TAG = b"CACHEDIR.TAG"
_TAG_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_ENVIRONMENT = b"pyvenv.cfg"


def shows_heavy(name: bytes, folder_fd: int, siblings: frozenset[bytes]) -> bool:
    """Whether the folder `name` in the open folder `folder_fd` shows what it is.

    By a file beside it (`target` next to Cargo.toml), a CACHEDIR.TAG (bford.info/cachedir), or a pyvenv.cfg in it.
    """
    if not siblings.isdisjoint(_BUILD_FILES.get(name, ())):
        return True
    head = _head(name + b"/" + _TAG, folder_fd, len(_TAG_SIGNATURE))
    return head == _TAG_SIGNATURE or _head(name + b"/" + _ENVIRONMENT, folder_fd, 1) is not None


def _head(name: bytes, folder_fd: int, size: int) -> bytes | None:
    try:
        fd = os.open(name, READ_FILE, dir_fd=folder_fd)
    except OSError:
        return None
    try:
        return os.read(fd, size)
    except OSError:
        return None
    finally:
        os.close(fd)
