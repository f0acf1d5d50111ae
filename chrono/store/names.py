"""Owns names: how a file's name is written in a tree, how a path is written in text, and which names are never ours.

Names and paths are bytes; paths are relative to the project and "/"-separated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from chrono.layout import POLICY_FILE, PROJECT_DIR

GIT = b".git"
CHRONO = PROJECT_DIR.encode()
STAGE_PREFIX = b".chrono-stage-"
"""Files under way beside their target, where the stage is on another file system."""

ESCAPE = b"chrono-escaped-"
"""How the name of a tree entry begins that stands for another name."""

# Code points that HFS+ ignores inside a name, as UTF-8 (git: utf8.c, next_hfs_char).
_HFS_IGNORED = re.compile(rb"\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf")
# What git's fsck takes for ".git" on some file system; after a backslash too (git: path.c, is_ntfs_dotgit).
_DOT_GIT = re.compile(rb"(?:^|\\)(?:\.git|git~1)[ .]*(?:$|[\\:])", re.IGNORECASE)
_DOT_CHRONO = re.compile(rb"(?:^|\\)(?:\.chrono|chrono~[1-9])[ .]*(?:$|[\\:])", re.IGNORECASE)
FOLDS = sys.platform in ("darwin", "win32")
"""Whether the file systems here take other names for `.git` and `.chrono`, too."""

_DOT_GITMODULES = re.compile(rb"^(?:\.gitmodules|gitmod~|gi7eba)", re.IGNORECASE)
_DOT_GITATTRIBUTES = re.compile(rb"^(?:\.gitattributes|gitatt~|gi7d29)", re.IGNORECASE)
_SUSPECT = re.compile(rb"^\.?[gG]|[~\\\xe2\xef]|^chrono-escaped-")
_ANY_SUSPECT = re.compile(rb"\0(?:\.?[gG]|chrono-escaped-)|[~\\\xe2\xef]")


def tree_name(name: bytes, *, is_link: bool = False, forced: bool = False) -> bytes:
    """The name of a tree entry for the file `name`: itself, unless git's fsck would call the tree broken for it.

    Escaped names are "chrono-escaped-" and the name in hexadecimal; a name that already looks so is escaped too, so
    `file_name` is the exact inverse.
    """
    if forced or (_SUSPECT.search(name) is not None and _offends(name, is_link)):
        return ESCAPE + name.hex().encode()
    return name


def has_suspects(names: Sequence[bytes]) -> bool:
    """Whether any of `names` may need another form in a tree; mostly none does, and asking each takes longer."""
    return _ANY_SUSPECT.search(b"\0" + b"\0".join(names)) is not None


def file_name(entry: bytes) -> bytes:
    """The file's name for a tree entry. An escape that is not well-formed, or of what no file can be called, is an
    ordinary name: git's fsck does not see a way out of the folder in it."""
    if not entry.startswith(ESCAPE):
        return entry
    digits = entry[len(ESCAPE) :]
    try:
        name = bytes.fromhex(digits.decode("ascii"))
    except (ValueError, UnicodeDecodeError):
        return entry
    return name if name.hex().encode() == digits and is_file_name(name) else entry


def is_file_name(name: bytes) -> bool:
    """Whether a file can be called so: one step down, never up, past a link or to nowhere."""
    return name not in (b"", b".", b"..") and b"/" not in name and b"\0" not in name


def is_forged(entry: bytes) -> bool:
    """Whether a tree entry is an escape that we never write: of nothing, or of what no file can be called."""
    return entry.startswith(ESCAPE) and file_name(entry) == entry


def _offends(name: bytes, is_link: bool) -> bool:
    bare = _HFS_IGNORED.sub(b"", name)
    if name.startswith(ESCAPE) or _DOT_GIT.search(name) or _DOT_GIT.search(bare):
        return True
    return is_link and _DOT_GITMODULES.match(bare) is not None


def fsck_reads(name: bytes) -> bool:
    """Whether git's fsck looks into the content of a file called so."""
    return _SUSPECT.search(name) is not None and _DOT_GITATTRIBUTES.match(_HFS_IGNORED.sub(b"", name)) is not None


def fsck_refuses(data: bytes) -> bool:
    """Whether fsck would refuse this content of a `.gitattributes` (git: lines under 2048 bytes)."""
    return any(len(line) >= 2048 for line in data.split(b"\n"))


# Control files by the folder they are in: the hook settings of agents' clients, and chrono's own policy.
# A folder named here ("hooks", "plugins") is control data as a whole.
_CONTROL = (
    (b".claude", rb"settings.*\.json"),
    (b".codex", rb"hooks\.json|config\.toml"),
    (b".gemini", rb"settings\.json"),
    (b".gemini/config", rb"hooks\.json"),
    (b".qwen", rb"settings\.json"),
    (b".github/hooks", rb".*\.json"),
    (b".copilot", rb"settings\.json|hooks"),
    (b".clinerules", rb"hooks"),
    (b".cline", rb"hooks"),
    (b".opencode", rb"plugins?"),
    (b".kilo", rb"plugins?"),
    (b".factory", rb"hooks\.json|settings.*\.json"),
    (b".cursor", rb"hooks\.json"),
    (b".windsurf", rb"hooks\.json"),
    (b".codeium", rb"hooks\.json"),
    (b".codeium/windsurf", rb"hooks\.json"),
    (b".kiro", rb"hooks"),
    (b".amp", rb"plugins"),
)
_ROOT_CONTROL = re.compile(re.escape(POLICY_FILE.encode()) + rb"|\.?crush\.json")
_BY_FOLDER = {folder: re.compile(names, re.DOTALL) for folder, names in _CONTROL}


def control_names(folder: bytes) -> re.Pattern[bytes] | None:
    """What is control data directly in `folder`, to be tried with `fullmatch`; None where nothing can be.

    Clients also read the settings of the folder they are started in, so theirs count at every depth.
    """
    if not folder:
        return _ROOT_CONTROL
    parent, _, last = folder.rpartition(b"/")
    return _BY_FOLDER.get(last) or _BY_FOLDER.get(parent.rpartition(b"/")[2] + b"/" + last)


def _folds_into_ours(name: bytes) -> bool:
    bare = _HFS_IGNORED.sub(b"", name)
    return any(shape.search(one) is not None for one in (name, bare) for shape in (_DOT_GIT, _DOT_CHRONO))


def is_ours_to_leave(path: bytes) -> bool:
    """Whether `path` names something that no savepoint may change: git's data, chrono's, or control data.

    Also true for names that are no names ("", ".", "..", with NUL), which only a forged tree holds.
    """
    anchored = b"/" + path
    if not FOLDS and b"/." not in anchored and b"//" not in anchored + b"/" and b"\0" not in path:
        # Below the root every name that is not ours begins with a dot.
        return _ROOT_CONTROL.fullmatch(path.partition(b"/")[0]) is not None
    folder = b""
    for name in path.split(b"/"):
        if name in (b"", b".", b"..") or b"\0" in name:
            return True
        if name.lower() in (GIT, CHRONO) or name.startswith(STAGE_PREFIX) or (FOLDS and _folds_into_ours(name)):
            return True
        control = control_names(folder)
        if control is not None and control.fullmatch(name):
            return True
        folder = folder + b"/" + name if folder else name
    return False


_UNPRINTABLE = re.compile("[%\x00-\x1f\x7f\udc80-\udcff]")


def quote(path: bytes) -> bytes:
    """`path` as one line of UTF-8: `%`, control characters and bytes that are not UTF-8 become `%XX`."""

    def percent(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))

    return _UNPRINTABLE.sub(percent, path.decode("utf-8", "surrogateescape")).encode("utf-8")


def unquote(text: bytes) -> bytes:
    """The inverse of `quote`. Raises ValueError for a `%` without two hexadecimal digits."""
    head, *rest = text.split(b"%")
    parts = [head]
    for part in rest:
        if len(part) < 2:
            raise ValueError(f"cut escape in {text!r}")
        parts.append(bytes((int(part[:2], 16),)) + part[2:])
    return b"".join(parts)
