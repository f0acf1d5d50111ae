"""Owns the question whose a `.chrono` is: this home's own, a stranger's, another user's, a copy.

The pin is read and written by `audit.pin`; what follows for a command is said by `workspace.project`.
"""

from __future__ import annotations

import os

from chrono.layout import FORMAT_VERSION, HomeLayout, ProjectLayout
from chrono.scan.world import Read
from chrono.tuples import NamedTuple
from chrono.workspace.machine_world import read_file


class Standing(NamedTuple):
    """`kind`: "own", "moved" (own, at another path than pinned), "foreign", "fork", "other-user", "newer" or "link".

    `why` and `hint` are for people; empty for "own".
    """

    kind: str
    log: str | None = None
    why: str = ""
    hint: str = ""

    @property
    def own(self) -> bool:
        """Savepoints and records are written here."""
        return self.kind in ("own", "moved")

    @property
    def refuses(self) -> bool:
        """Nothing that is enforced may run here. The rest of what is not `own` is judged as no project at all."""
        return self.kind in ("other-user", "newer")


def standing(layout: ProjectLayout, home: HomeLayout) -> Standing:
    """Whose the project's `.chrono` is. Reads only; no git, nothing of the project is run.

    Raises AuditUnverifiable (a log or pin that cannot be read as it is).
    """
    info = os.lstat(layout.dir)
    if not os.path.isdir(layout.dir) or os.path.islink(layout.dir) or os.path.islink(layout.repo):
        return Standing("link", None, f"{layout.dir} is a link, not a folder", "remove the link, then run chrono init")
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        return Standing(
            "other-user",
            None,
            f"{layout.dir} belongs to uid {info.st_uid}: it is read, never written",
            "work in a copy of your own, or let its owner run the command",
        )
    version = _format(layout)
    if version > FORMAT_VERSION:
        return Standing(
            "newer",
            None,
            f"{layout.dir} has format {version}, this chrono writes {FORMAT_VERSION}",
            "upgrade chrono: pip install --upgrade chrono-toolkit",
        )
    return _by_pin(layout, home, info.st_ino)


def _format(layout: ProjectLayout) -> int:
    content = read_file(layout.format, 64, follow=False)
    text = content.data.strip() if isinstance(content, Read) else b""
    return int(text) if text.isdigit() else 0


def _by_pin(layout: ProjectLayout, home: HomeLayout, inode: int) -> Standing:
    from chrono.audit.pin import pin_of_path, read_pin
    from chrono.audit.place import log_id, project_place, whereabouts

    place = project_place(layout)
    log = log_id(place)
    if log is None:
        pinned = pin_of_path(home, layout.dir)
        if pinned is not None:
            return Standing("own", pinned.log)  # its log is gone: audit says so, and refuses to write
        return Standing("foreign", None, f"{layout.dir} has no audit log of this home", _ADOPT)
    pin = read_pin(home, log)
    if pin is None:
        return Standing(
            "foreign", log, f"{layout.dir} was not made by this home (no key is pinned for its log)", _ADOPT
        )
    if pin.path == layout.dir and pin.inode == inode:
        return Standing("own", log)
    if whereabouts(pin, place) == "copied":
        return Standing(
            "fork",
            log,
            f"{layout.dir} is a copy: {pin.path} has the same audit log and still exists",
            f"begin a log of its own here: chrono init --adopt (or delete {layout.dir})",
        )
    return Standing("moved", log)


_ADOPT = "if you trust where it came from: chrono init --adopt (else remove the folder and run chrono init)"
