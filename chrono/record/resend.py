"""Owns sending once more what a control plane had refused for good: after it was mended, or its limits were raised.

When a record is set aside is decided by `record.sending`; the notes are kept by `record.cursor`.
"""

from __future__ import annotations

import os

from chrono.record import frames
from chrono.record.cursor import REFUSED, Cursor, SetAside
from chrono.record.errors import ControlPlaneError
from chrono.record.frames import DamagedStore
from chrono.record.plane import Answer, Target
from chrono.record.pruning import sync_folder
from chrono.record.sending import REFUSALS
from chrono.record.storefile import StoreFile
from chrono.record.window import Item, sendable
from chrono.tuples import NamedTuple


class Resent(NamedTuple):
    """What became of the records that were set aside: `taken` by the plane, `gone` from the store since, still
    `refused` (file and note), and files whose delivery another process has in hand (`busy`)."""

    taken: int
    gone: int
    refused: tuple[tuple[str, SetAside], ...]
    busy: tuple[str, ...]


def resend(folder: str, plane: str, target: Target) -> Resent:
    """Sends each record of the store in `folder` that `plane` (its name in the store) has refused, alone.

    Raises ControlPlaneError where the plane takes nothing now; what it took until then is not sent again. OSError.
    """
    sync = sync_folder(folder, plane)
    taken = gone = 0
    refused: list[tuple[str, SetAside]] = []
    busy: list[str] = []
    for name in _noted(sync):
        cursor = Cursor.take(sync, name)
        if cursor is None:
            busy.append(name)
            continue
        try:
            left = list(cursor.refused())
            try:
                for note in tuple(left):
                    again = _again(os.path.join(folder, name), note, target)
                    left.remove(note)
                    if again is None:
                        gone += 1
                    elif again.ok:
                        taken += 1
                    else:
                        left.append(note._replace(status=again.status, detail=again.detail))
            finally:
                cursor.keep_refused(sorted(left))
            refused += [(name, note) for note in sorted(left)]
        finally:
            cursor.close()
    return Resent(taken, gone, tuple(refused), tuple(busy))


def _noted(sync: str) -> list[str]:
    """Files that something was refused of, oldest first."""
    try:
        return sorted(name.removesuffix(REFUSED) for name in os.listdir(sync) if name.endswith(REFUSED))
    except FileNotFoundError:
        return []


def _again(path: str, note: SetAside, target: Target) -> Answer | None:
    """What the plane says of the record now; None where the store does not have it any more."""
    try:
        with StoreFile(path) as file:
            record = file.record_at(note.at)
            if record is None:
                return None
            item, _ = sendable(record, file.whole(record))
    except (FileNotFoundError, DamagedStore):
        return None
    answer = _sent(item, target)
    if answer.ok or answer.status in REFUSALS or answer.status == 500:
        return answer
    raise ControlPlaneError(
        f"the control plane answered {answer.status}: {answer.detail[:300]}", status_code=answer.status
    )


def _sent(item: Item, target: Target) -> Answer:
    if item.kind == frames.TRACE:
        return target.put_trace(item.body)
    if item.kind in (frames.SPAN, frames.OPEN_SPAN):
        return target.put_span(item.trace_id, item.body)
    return target.put_envelopes([item.body])
