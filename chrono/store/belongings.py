"""Owns what a file has besides content and permission bits, and hands it to the file that takes its place.

No savepoint holds owner, group, access list and user attributes, so they are taken from the file that is replaced.
Putting the new file in its place is left to `store.apply`.
"""

from __future__ import annotations

import os
import stat

from chrono.store.disk import Disk

SET_ID = stat.S_ISUID | stat.S_ISGID
"""Bits that let a program run as its owner or group. Nothing says whose they were when a savepoint saw them, and a
savepoint may come from elsewhere: a restore clears them, and never gives them."""

_ACL = "system.posix_acl_access"

Owner = tuple[int, int]
"""The numbers of a user and a group."""


def hand_over(
    disk: Disk,
    old: tuple[bytes, int],
    new: tuple[bytes, int],
    mode: int,
    owner: Owner,
    trusted: frozenset[int],
) -> None:
    """Gives the file `new` (name, descriptor of its folder) what the file `old` has, as far as this user may.

    `mode` are the permission bits of `new`, `owner` is whose it is. A content that not everybody may read is only
    handed to an owner in `trusted`: whoever can put a file of their own in its place must not come to read it so.
    """
    try:
        found = os.stat(old[0], dir_fd=old[1], follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or (not mode & stat.S_IROTH and found.st_uid not in trusted):
        return
    changed = _hand_attributes(disk, old, new)
    if (found.st_uid, found.st_gid) != owner:
        changed = _hand_owner(disk, new, found.st_uid, found.st_gid) or changed
    if changed and stat.S_IMODE(os.stat(new[0], dir_fd=new[1], follow_symlinks=False).st_mode) != mode:
        disk.chmod(new[0], mode, new[1])


def _hand_owner(disk: Disk, new: tuple[bytes, int], uid: int, gid: int) -> bool:
    for owner in (uid, -1):  # most users may only hand over to another group of theirs
        try:
            disk.chown(new[0], owner, gid, new[1])
        except PermissionError:
            continue
        return True
    return False


def _hand_attributes(disk: Disk, old: tuple[bytes, int], new: tuple[bytes, int]) -> bool:
    if not hasattr(os, "listxattr"):
        return False
    source = _by_descriptor(old)
    changed = False
    try:
        for name in os.listxattr(source, follow_symlinks=False):
            if name.startswith("user.") or name == _ACL:
                disk.setxattr(_by_descriptor(new), name, os.getxattr(source, name, follow_symlinks=False))
                changed = True
    except OSError:  # a file system without them, or no /proc: the content is what counts
        pass
    return changed


def _by_descriptor(place: tuple[bytes, int]) -> bytes:
    """A path for calls that know no `dir_fd`; the folder is reached without following a link."""
    return b"/proc/self/fd/%d/%s" % (place[1], place[0])
