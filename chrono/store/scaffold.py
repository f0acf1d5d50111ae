"""Owns the files around the objects: a new bare repository, and whether an existing one may be opened.

Nothing here or elsewhere in this room reads the repository's own configuration: a `.chrono/repo.git` that came with a
cloned project can name no program, include no file and lead out of itself through no link.
"""

from __future__ import annotations

import os
import stat

from chrono.errors import NoWorkspace, StoreError
from chrono.layout import FORMAT_VERSION, ProjectLayout
from chrono.store.disk import READ_FILE, Disk

# For people's own git only. The fsck entries: a user's odd .gitmodules must not make `git fsck --strict` fail.
_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tlogAllRefUpdates = false
\thooksPath = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fsck]
\tgitmodulesName = ignore
\tgitmodulesUrl = ignore
\tgitmodulesPath = ignore
\tgitmodulesParse = ignore
\tgitmodulesSymlink = ignore
"""

_FOLDERS = (b"objects", b"objects/info", b"objects/pack", b"refs", b"refs/heads", b"refs/tags", b"refs/chrono")
_GIT_DATA = (b"HEAD", b"objects", b"refs", b"packed-refs")
_ALTERNATES = (b"objects/info/alternates", b"objects/info/http-alternates")
_MUST_BE_FOLDERS = (b"", b"objects", b"refs")
_MUST_NOT_BE_LINKS = (b"objects/pack", b"refs/heads", b"refs/chrono", b"refs/chrono/auto", b"refs/chrono/rescue")


def create(layout: ProjectLayout, disk: Disk) -> None:
    """Makes `.chrono` and `.chrono/repo.git`; the repository appears whole or not at all. Raises StoreError."""
    folder = os.fsencode(layout.dir)
    repo = os.fsencode(layout.repo)
    if os.path.lexists(repo):
        raise StoreError(f"{layout.repo} exists already", "this folder is a chrono project; run chrono status")
    temp = repo + b".tmp-" + os.urandom(4).hex().encode()
    try:
        if not os.path.lexists(folder):
            disk.mkdir(folder, 0o700)
        elif os.path.islink(folder):
            raise StoreError(f"{layout.dir} is a symbolic link", "remove it; chrono follows no link there")
        disk.mkdir(temp, 0o700)
        for name in _FOLDERS:
            disk.mkdir(os.path.join(temp, name), 0o700)
        _write(os.path.join(temp, b"config"), _CONFIG, disk)
        _write(os.path.join(temp, b"HEAD"), b"ref: refs/heads/main\n", disk)
        _write(temp + b".format", b"%d\n" % FORMAT_VERSION, disk)
        disk.rename(temp + b".format", os.fsencode(layout.format))
        for name in reversed(_FOLDERS):
            disk.fsync_folder(os.path.join(temp, name))
        disk.fsync_folder(temp)
        disk.rename(temp, repo)
        disk.fsync_folder(folder)
    except OSError as error:
        raise StoreError(f"{layout.repo} could not be made: {error.strerror}") from error


def disarm(layout: ProjectLayout, disk: Disk) -> str | None:
    """Gives a stranger's repository our configuration, and moves aside all that is neither an object nor a ref.

    A person's own git obeys what lies there: hooks, a configuration that names programs, alternates outside the
    project. Nothing is deleted. Returns the folder that now holds what was moved, None where there was nothing.
    Raises StoreError.
    """
    repo = os.fsencode(layout.repo)
    aside = b"%s.aside-%s" % (repo, os.urandom(4).hex().encode())
    strange = [name for name in os.listdir(repo) if name not in _GIT_DATA]
    strange += [name for name in _ALTERNATES if os.path.lexists(os.path.join(repo, name))]
    try:
        if strange:
            disk.mkdir(aside, 0o700)
        for name in strange:
            disk.rename(os.path.join(repo, name), os.path.join(aside, name.replace(b"/", b"-")))
        _write(repo + b".config", _CONFIG, disk)
        disk.rename(repo + b".config", os.path.join(repo, b"config"))
        disk.fsync_folder(repo)
    except OSError as error:
        raise StoreError(f"{layout.repo} could not be taken over: {error.strerror}") from error
    return os.fsdecode(aside) if strange else None


def check(layout: ProjectLayout) -> bool:
    """Whether the repository may be written; it may be read where this returns.

    False where a part belongs to another user. Raises NoWorkspace, and StoreError for links in its structure or a
    newer format.
    """
    folder = os.fsencode(layout.dir)
    repo = os.fsencode(layout.repo)
    if not os.path.isdir(repo):
        if not os.access(folder, os.X_OK) and os.path.isdir(folder):
            raise StoreError(f"{layout.dir} is closed to this user", "let its owner run the command")
        raise NoWorkspace(f"{layout.root} is not a chrono project", "run chrono init")
    writable = _own_folder(folder)
    for name in _MUST_BE_FOLDERS:
        writable = _own_folder(os.path.join(repo, name) if name else repo) and writable
    for name in _MUST_NOT_BE_LINKS:
        path = os.path.join(repo, name)
        if os.path.lexists(path) and not stat.S_ISDIR(os.lstat(path).st_mode):
            raise StoreError(f"{os.fsdecode(path)} is not a folder", "chrono follows no link in its store")
    if _format(layout) > FORMAT_VERSION:
        raise StoreError(f"{layout.dir} was written by a newer chrono", "upgrade chrono-toolkit")
    return writable


def _own_folder(path: bytes) -> bool:
    try:
        found = os.lstat(path)
    except OSError as error:
        raise StoreError(f"{os.fsdecode(path)} cannot be read: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise StoreError(f"{os.fsdecode(path)} is not a folder", "chrono follows no link in its store")
    return found.st_uid == os.geteuid()


_WRITE_FORMAT = f"write {FORMAT_VERSION} into it; if more is damaged, {StoreError.BRING_BACK}"


def _format(layout: ProjectLayout) -> int:
    try:
        fd = os.open(layout.format, READ_FILE)
    except FileNotFoundError:
        raise StoreError(f"{layout.format} is missing", _WRITE_FORMAT) from None
    except OSError as error:
        raise StoreError(f"{layout.format} cannot be read: {error.strerror}") from None
    try:
        text = os.read(fd, 32).strip()
    except OSError as error:
        raise StoreError(f"{layout.format} cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)
    if not (text.isdigit() and text.isascii()):
        raise StoreError(f"{layout.format} holds no version", _WRITE_FORMAT)
    return int(text)


def _write(path: bytes, data: bytes, disk: Disk) -> None:
    fd = disk.create(path, 0o600)
    try:
        disk.write(fd, data)
        disk.fsync(fd)
    finally:
        os.close(fd)
