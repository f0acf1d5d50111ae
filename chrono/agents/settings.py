"""Owns writing a client's settings file: a plan, its application, and the way back to the same bytes.

What belongs into the file is said by the adapter. Links are never followed: a settings file that is a link may be
shared with other machines or other projects.
"""

from __future__ import annotations

import base64
import binascii
import errno
import json
import os
import stat

from chrono.agents.abilities import DeniesShells
from chrono.agents.protocol import AgentAdapter, SettingsRefused
from chrono.canonical import canonical_bytes, sha256_hex
from chrono.errors import Conflict, UsageError
from chrono.files import atomic_write, own_folder
from chrono.layout import HomeLayout
from chrono.tuples import NamedTuple

MAX_SETTINGS_BYTES = 4_000_000
MEMORY_FORMAT = 1


class SettingsPlan(NamedTuple):
    """A change of one settings file, not made yet. `before` and `after` None: no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int

    @property
    def changes(self) -> bool:
        return self.before != self.after


class Memory(NamedTuple):
    """What stood in a settings file before chrono's hooks, and the digest of what chrono wrote.

    `denied`: the entries by which chrono took the client's own shell tools away.
    """

    path: str
    client: str
    original: bytes | None
    installed_sha256: str
    denied: tuple[str, ...] = ()


def read_settings(path: str) -> bytes | None:
    """The bytes of the settings file, None where there is none. Raises SettingsRefused where it is no plain file."""
    return _read(path)[0]


def plan_install(adapter: AgentAdapter, path: str, command: str) -> SettingsPlan:
    """The plan that puts the hooks of `command` into `path`. Raises SettingsRefused."""
    before, mode = _read(path)
    after = adapter.installed(before, command)
    return SettingsPlan(path, before, after, mode | 0o111 if after.startswith(b"#!") else mode)


def plan_uninstall(adapter: AgentAdapter, path: str, home: HomeLayout) -> SettingsPlan:
    """The plan that takes chrono's hooks out of `path`. Raises SettingsRefused.

    Where nobody touched the file since, its old bytes come back; otherwise only chrono's entries go.
    """
    before, mode = _read(path)
    if before is None:
        return SettingsPlan(path, None, None, mode)
    memory = recall(home, path)
    if memory is not None and memory.installed_sha256 == sha256_hex(before):
        return SettingsPlan(path, before, memory.original, mode)
    after = adapter.uninstalled(before)
    if after is not None and memory is not None and memory.denied and isinstance(adapter, DeniesShells):
        after = adapter.with_shells(after, memory.denied)
    if after is None and memory is not None and memory.original is not None:
        after = memory.original
    return SettingsPlan(path, before, after, mode)


def apply(plan: SettingsPlan) -> None:
    """Writes what the plan says. Raises Conflict where the file changed since, SettingsRefused where it is no file."""
    now, _ = _read(plan.path)
    if now != plan.before:
        raise Conflict(f"{plan.path} changed meanwhile", "run the command again")
    if plan.after is None:
        if now is not None:
            os.unlink(plan.path)
            for folder in _hidden_folders(plan.path):
                _remove_if_empty(folder)
    elif plan.after != now:
        os.makedirs(os.path.dirname(plan.path), exist_ok=True)
        atomic_write(plan.path, plan.after, mode=plan.mode)


def undone(plan: SettingsPlan) -> SettingsPlan:
    """The plan that leads back from `plan`."""
    return SettingsPlan(plan.path, plan.after, plan.before, plan.mode)


def deny_shells(adapter: AgentAdapter, plan: SettingsPlan) -> tuple[SettingsPlan, tuple[str, ...]]:
    """`plan` (an installation) with the client's own shell tools denied, and the entries for it. Raises UsageError."""
    if not isinstance(adapter, DeniesShells) or plan.after is None:
        raise UsageError(f"chrono cannot take the shell of {adapter.title} away", "leave out --deny-raw-shell")
    after, added = adapter.without_shells(plan.after)
    return plan._replace(after=after), added


def remember(home: HomeLayout, adapter: AgentAdapter, plan: SettingsPlan, denied: tuple[str, ...] = ()) -> None:
    """Keeps what `plan` (an installation) replaced, so that `plan_uninstall` can bring back the same bytes."""
    assert plan.after is not None
    old = recall(home, plan.path)
    denied = tuple(dict.fromkeys((*(old.denied if old is not None else ()), *denied)))
    original = plan.before
    if old is not None and plan.before is not None and old.installed_sha256 == sha256_hex(plan.before):
        original = old.original  # chrono over an earlier chrono: the person's own bytes are the older ones
    elif plan.before is not None and adapter.inspect(plan.before).hooks:
        original = adapter.uninstalled(plan.before)
    own_folder(home.installs)
    data = canonical_bytes(
        {
            "client": adapter.name,
            "denied": [*denied],
            "fmt": MEMORY_FORMAT,
            "installed_sha256": sha256_hex(plan.after),
            "original": None if original is None else base64.b64encode(original).decode("ascii"),
            "path": base64.b64encode(os.fsencode(plan.path)).decode("ascii"),
        }
    )
    atomic_write(_memory_path(home, plan.path), data)


def forget(home: HomeLayout, path: str) -> None:
    """Drops what `remember` kept about `path`."""
    try:
        os.unlink(_memory_path(home, path))
    except FileNotFoundError:
        pass


def recall(home: HomeLayout, path: str) -> Memory | None:
    """What `remember` kept about `path`; None where there is nothing that can be read."""
    return _memory(_memory_path(home, path))


def remembered(home: HomeLayout) -> tuple[Memory, ...]:
    """Every settings file that chrono's hooks were written to and not taken out of, in the order of their paths."""
    try:
        names = os.listdir(home.installs)
    except OSError:
        return ()
    found = (_memory(os.path.join(home.installs, name)) for name in names if not name.startswith("."))
    return tuple(sorted((memory for memory in found if memory is not None), key=lambda memory: memory.path))


def _memory(path: str) -> Memory | None:
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(2 * MAX_SETTINGS_BYTES))
        if value["fmt"] != MEMORY_FORMAT:
            return None
        kept = value["original"]
        return Memory(
            os.fsdecode(base64.b64decode(value["path"], validate=True)),
            str(value["client"]),
            None if kept is None else base64.b64decode(kept, validate=True),
            str(value["installed_sha256"]),
            tuple(map(str, value.get("denied", ()))),
        )
    except (OSError, ValueError, KeyError, TypeError, binascii.Error):
        return None


def _memory_path(home: HomeLayout, path: str) -> str:
    return os.path.join(home.installs, sha256_hex(os.fsencode(path))[:32])


def _read(path: str) -> tuple[bytes | None, int]:
    """(bytes or None, mode bits for the next write)."""
    folder = os.path.dirname(path)
    if os.path.islink(folder):
        raise SettingsRefused(
            f"{folder} is a link to {os.path.realpath(folder)}",
            "chrono does not write through links; add the hook there",
        )
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, 0o644
    except NotADirectoryError:
        raise SettingsRefused(f"{folder} is not a folder") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SettingsRefused(
                f"{path} is a link to {os.path.realpath(path)}",
                "chrono does not write through links; add the hook there",
            ) from None
        raise SettingsRefused(f"{path} cannot be read: {error.strerror}") from None
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise SettingsRefused(f"{path} is not a file")
    with os.fdopen(fd, "rb") as file:
        data = file.read(MAX_SETTINGS_BYTES + 1)
    if len(data) > MAX_SETTINGS_BYTES:
        raise SettingsRefused(f"{path} is larger than {MAX_SETTINGS_BYTES // 1_000_000} MB")
    return data, stat.S_IMODE(found.st_mode)


def _hidden_folders(path: str) -> list[str]:
    """The folders of a settings file, innermost first, up to the client's own (`.claude`); none outside such a one."""
    folders = []
    folder = os.path.dirname(path)
    for _ in range(4):
        folders.append(folder)
        if os.path.basename(folder).startswith("."):
            return folders
        folder = os.path.dirname(folder)
    return []


def _remove_if_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass  # it holds something else
