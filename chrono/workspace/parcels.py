"""Owns how the files of a savepoint are written into an exported trace, and read from one that came.

What may be in them is decided by `store.parcel`, the file around them by `record.exchange`.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from chrono.errors import Denied
from chrono.store.parcel import MOST_BYTES, BadParcel, Object, opened
from chrono.workspace.credentials import credential_files

if TYPE_CHECKING:
    from chrono.store.parcel import Opened
    from chrono.workspace.project import Workspace

SHOWN = 10
_KINDS = (b"commit", b"tree", b"blob")


def packed(ws: Workspace, savepoint: str, *, include_secrets: bool = False) -> dict[str, Any]:
    """The savepoint as JSON. Raises NoSuchSavepoint, StoreError where it is larger than others take, Denied where it
    holds credential-class files and nobody agreed to `include_secrets`."""
    commit = ws.store.resolve(savepoint)
    secrets = credential_files(ws.store.exchange.objects, (commit,), ws.store.savepoint(commit).parents)
    if secrets and not include_secrets:
        shown = "".join(f"\n  {path}" for path in secrets[:SHOWN])
        rest = f"\n  and {len(secrets) - SHOWN} more" if len(secrets) > SHOWN else ""
        raise Denied(
            f"the savepoint holds files that usually keep secrets; nothing was written:\n{shown[1:]}{rest}",
            "where whoever gets the file may have them: --include-secrets",
        )
    objects = [
        base64.b64encode(zlib.compress(b"%s %d\0%s" % (one.kind, len(one.data), one.data))).decode("ascii")
        for one in ws.store.parcel(commit)
    ]
    return {"savepoint": commit, "objects": objects}


def unpacked(files: Mapping[str, Any]) -> Opened:
    """What `packed` wrote, looked at. Raises BadParcel."""
    savepoint, objects = files.get("savepoint"), files.get("objects")
    if not isinstance(savepoint, str) or not isinstance(objects, list):
        raise BadParcel("the files in the trace are not written as chrono writes them")
    return opened(savepoint, _objects(objects))


@contextmanager
def scratch(files: Opened) -> Iterator[str]:
    """A folder with the files while this runs. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="chrono-replay-", ignore_cleanup_errors=True) as outer:
        folder = os.path.join(outer, "files")
        os.mkdir(folder, 0o700)
        files.check_out(folder)
        yield folder


def _objects(texts: list[Any]) -> Iterator[Object]:
    left = MOST_BYTES
    for text in texts:
        try:
            inflate = zlib.decompressobj()
            raw = inflate.decompress(base64.b64decode(text, validate=True), left + 64)
        except (TypeError, ValueError, binascii.Error, zlib.error):
            raise BadParcel("an object of the files is not written as chrono writes them") from None
        head, end, data = raw.partition(b"\0")
        kind, _, size = head.partition(b" ")
        if not inflate.eof or not end or kind not in _KINDS or size != b"%d" % len(data):
            raise BadParcel("an object of the files is cut, too large, or of no known kind")
        left -= len(data)
        if left < 0:
            raise BadParcel(f"the files are more than {MOST_BYTES >> 20} MiB")
        yield Object(kind, data)
