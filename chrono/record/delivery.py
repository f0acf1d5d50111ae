"""Owns the thread that brings what was recorded to the disk for good and to the control plane: when it wakes, which
files it takes, when it tries again.

The caller's thread only says `added`. What is sent is left to `record.window` and `record.sending`, how far a file has
come to `record.cursor`, removing old files to `record.pruning`, sparing the program to `record.courtesy`. The file is
the queue: nothing waits in memory.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import weakref

from chrono.record.counters import COUNTERS
from chrono.record.courtesy import Courtesy
from chrono.record.cursor import Cursor, delivered_to
from chrono.record.errors import DeliveryError
from chrono.record.frames import DamagedStore
from chrono.record.local import StoreWriter, Written
from chrono.record.plane import Target
from chrono.record.pruning import Bounds, prune, sync_folder
from chrono.record.sending import PlaneTrouble, Sender
from chrono.record.storefile import StoreFile, file_names, writer_lives
from chrono.record.window import next_window
from chrono.tuples import NamedTuple

LOG = logging.getLogger("chrono.record")

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
LOOK_AROUND_S = 30.0
"""So often files that other processes left are looked for."""
PRUNE_EVERY_S = 600.0
WARN_EVERY_S = 60.0
LONGEST_RETRY_AFTER_S = 300.0
LOOK_AGAIN_S = 1.0
LAST_WAIT_S = 1.0
"""So long the end of the process waits for a plane that takes nothing."""


class Pace(NamedTuple):
    """When records leave: `batch_size` of them, or the oldest `interval_s` old. `timeout_s` bounds a `flush` that
    makes no progress, and a `put` that waits because more than `max_waiting` records do (0: it never waits)."""

    batch_size: int = 50
    interval_s: float = 1.0
    timeout_s: float = 5.0
    max_waiting: int = 0


class Delivery:
    """Delivers what `writer` writes, and what ended processes left in the same folder for the same plane.

    Without a `target` it only makes records durable and removes old files. `plane` is the name of the target in the
    store.
    """

    def __init__(
        self,
        writer: StoreWriter,
        target: Target | None,
        plane: str | None,
        pace: Pace,
        bounds: Bounds | None = None,
        courtesy: Courtesy | None = None,
    ) -> None:
        self._writer = writer
        self._plane = plane
        self._pace = pace
        self._bounds = bounds or Bounds()
        self._courtesy = courtesy or Courtesy(writer)
        rest = self._courtesy.rest
        self._sender = Sender(target, COUNTERS, warn=LOG.warning, rest=rest) if target is not None else None
        self._begin()
        _deliveries.add(self)

    def _begin(self) -> None:
        self._guard = threading.RLock()
        self._changed = threading.Condition(self._guard)
        self._running = threading.Lock()  # held by the thread, so that one that hangs and its successor do not overlap
        self._thread: threading.Thread | None = None
        self._leases: dict[str, Cursor] = {}
        self._own: dict[str, None] = {}  # paths of this process's files that are not delivered yet, oldest first
        self._done: set[str] = set()  # names of others' files that need no second look
        self._added = 0  # since the thread last looked
        self._armed_at: float | None = None
        self._urgent = False
        self._pause_until = 0.0
        self._failures = 0
        self._trouble: PlaneTrouble | None = None
        self._progress = 0
        self._busy = False
        self._looked_around = self._pruned = self._warned = float("-inf")

    # --- the caller's side

    def added(self, written: Written) -> None:
        """A record was appended. Wakes the thread for the first of a batch, and when a batch is full."""
        with self._guard:  # the condition's own lock, without the condition's two calls around it
            self._own[written.path] = None
            self._added += 1
            COUNTERS.written += 1
            if self._sender is not None:
                COUNTERS.waiting += 1
            if self._armed_at is None:
                self._armed_at = time.monotonic()
                self._awake()
            elif self._added == self._pace.batch_size:
                self._awake()
            if 0 < self._pace.max_waiting < COUNTERS.waiting:
                with self._courtesy.awaited():
                    self._changed.wait_for(lambda: COUNTERS.waiting <= self._pace.max_waiting, self._pace.timeout_s)

    def nudge(self) -> None:
        """Deliver now, in the background."""
        with self._changed:
            self._urgent = True
            self._awake()

    def flush(self) -> None:
        """Waits until the plane has everything that was written before this call.

        Raises DeliveryError where it refuses records for good, or where nothing was delivered for `timeout_s`.
        """
        if self._sender is None:
            return
        if not self._delivered(self._writer.written, self._pace.timeout_s):
            trouble = self._trouble
            said = trouble.message if trouble else f"nothing was delivered for {self._pace.timeout_s:g} s"
            raise DeliveryError(said, (trouble and trouble.hint) or "the records are kept here and delivered later")
        refused, self._sender.refused = self._sender.refused, []
        if refused:
            raise DeliveryError(refused[0], f"{len(refused)} records were set aside; they are in the local store")

    def close(self) -> None:
        """Delivers as long as the plane takes something, what other processes left for at most `timeout_s`, and ends;
        idempotent. Another process delivers the rest."""
        answers = self._trouble is None or self._trouble.status_code is not None
        if self._sender is not None and self._thread is not None and answers:
            patience_s = min(LAST_WAIT_S, self._pace.timeout_s)
            if self._delivered(self._writer.written, patience_s):
                self._others_delivered(patience_s)
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(0.1)  # where it hangs in a request it ends after that

    def _delivered(self, wanted: Written, patience_s: float) -> bool:
        """Whether everything up to `wanted` was delivered; False after `patience_s` without progress."""
        with self._changed, self._courtesy.awaited():
            self._urgent = True
            self._pause_until, self._failures = 0.0, 0
            self._awake()
            until = time.monotonic() + patience_s
            while not self._has(wanted):
                left_s = until - time.monotonic()
                if left_s <= 0:
                    return False
                seen = self._progress
                self._changed.wait(left_s)
                if self._progress != seen:
                    until = time.monotonic() + patience_s
        return True

    def _others_delivered(self, patience_s: float) -> None:
        """Waits for the end of a round that is on its way through files of ended processes."""
        with self._changed, self._courtesy.awaited():
            until = time.monotonic() + self._pace.timeout_s
            while self._busy and time.monotonic() < until:
                seen = self._progress
                if not self._changed.wait(patience_s) or (self._trouble is not None and self._progress == seen):
                    return

    def _has(self, wanted: Written) -> bool:
        if not wanted.path or wanted.path not in self._own:
            return True
        name = os.path.basename(wanted.path)
        lease = self._leases.get(name)
        return (lease.offset if lease else delivered_to(self._cursors, name)) >= wanted.end

    def _awake(self) -> None:
        """With the lock held: starts the thread where there is none, wakes it where it waits."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="chrono-delivery", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is ending: the store has everything
                self._thread = None
        self._changed.notify_all()

    # --- the thread's side

    def _run(self) -> None:
        with self._running:
            try:
                while self._next_turn():
                    self._busy = True
                    try:
                        self._round()
                    except OSError as error:
                        self._failed(PlaneTrouble(f"the local store cannot be read or written: {error}"))
                    except Exception as error:
                        # A fault of ours or of the disk must not end delivery for the rest of the process.
                        LOG.exception("delivery failed; it will be tried again")
                        self._failed(PlaneTrouble(f"delivery failed: {error}"))
                    with self._changed:
                        self._busy = False
                        self._changed.notify_all()
            finally:
                self._busy = False
                self._give_up_leases()
                if self._sender is not None:
                    self._sender.close()

    def _next_turn(self) -> bool:
        """Waits until there is something to do; False where this thread is to end."""
        with self._changed:
            while self._is_current() and (pause_s := self._pause_s()) > 0:
                self._changed.wait(pause_s)
            self._added, self._armed_at, self._urgent = 0, None, False
            return self._is_current()

    def _is_current(self) -> bool:
        return self._thread is threading.current_thread()

    def _pause_s(self) -> float:
        """Seconds until there is something to do."""
        now = time.monotonic()
        if now < self._pause_until:
            return self._pause_until - now
        if self._urgent or self._failures or self._added >= self._pace.batch_size:
            return 0.0
        until = self._looked_around + LOOK_AROUND_S if self._sender is not None else now + PRUNE_EVERY_S
        if self._armed_at is not None:
            until = min(until, self._armed_at + self._pace.interval_s)
        return until - now

    def _round(self) -> None:
        try:
            self._writer.sync()
        except OSError as error:  # what is there can be delivered all the same
            self._warn(f"what was recorded may not survive a loss of power: {error}")
        if time.monotonic() - self._pruned > PRUNE_EVERY_S:
            self._pruned = time.monotonic()
            pruned = prune(self._writer.folder, self._bounds, self._courtesy.rest)
            if pruned.undelivered_bytes:
                COUNTERS.pruned_undelivered += pruned.undelivered_bytes
                LOG.warning("the local store is full: %d bytes were removed undelivered", pruned.undelivered_bytes)
        if self._sender is None:
            with self._changed:
                self._own.clear()
            return
        try:
            for path in list(self._own):
                self._deliver_own(path, self._sender)
            if time.monotonic() - self._looked_around > LOOK_AROUND_S:
                self._looked_around = time.monotonic()
                for name in file_names(self._writer.folder):
                    self._courtesy.rest()
                    self._deliver_left(name, self._sender)
        except PlaneTrouble as trouble:
            self._failed(trouble)
        else:
            self._failures, self._trouble = 0, None

    def _failed(self, trouble: PlaneTrouble) -> None:
        self._warn(f"{trouble.message}; the records are kept and delivered later")
        self._trouble = trouble
        self._failures += 1
        COUNTERS.retries += 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures - 1, 20))
        pause_s *= random.uniform(0.5, 1.0)  # noqa: S311 - so that many processes do not come back at once
        self._pause_until = time.monotonic() + max(pause_s, min(trouble.retry_after_s or 0.0, LONGEST_RETRY_AFTER_S))

    def _warn(self, said: str) -> None:
        COUNTERS.last_error = said
        if time.monotonic() - self._warned > WARN_EVERY_S:
            self._warned = time.monotonic()
            LOG.warning("%s", said)

    def _deliver_own(self, path: str, sender: Sender) -> None:
        name = os.path.basename(path)
        lease = self._lease(name)
        if lease is None:
            return  # another process took it after our writer had left it
        try:
            complete = self._deliver(path, lease, sender, own=True)
        except FileNotFoundError:
            complete = True  # removed with its folder
        if complete and path != self._writer.written.path:
            with self._changed:
                self._own.pop(path, None)
            self._leases.pop(name).close()

    def _deliver_left(self, name: str, sender: Sender) -> None:
        """Delivers a file of an ended process, if it was meant for our plane."""
        path = os.path.join(self._writer.folder, name)
        if name in self._done or path in self._own:
            return
        try:
            if writer_lives(path):
                return
            with StoreFile(path) as file:
                header, size = file.header(), file.size
            if header is None or header.plane != self._plane or delivered_to(self._cursors, name) >= size:
                self._done.add(name)
                return
            lease = self._lease(name)
            if lease is None:
                # Whoever has it is at work, or is just ending: look again before long.
                self._looked_around = min(self._looked_around, time.monotonic() - LOOK_AROUND_S + LOOK_AGAIN_S)
                return
            try:
                if self._deliver(path, lease, sender, own=False):
                    self._done.add(name)
            finally:
                self._leases.pop(name).close()
        except FileNotFoundError:
            return
        except DamagedStore as error:
            self._done.add(name)
            COUNTERS.damaged += 1
            LOG.warning("%s", error.message)

    def _deliver(self, path: str, lease: Cursor, sender: Sender, *, own: bool) -> bool:
        """Delivers what is in the file now; whether it got to its end. Raises PlaneTrouble."""
        with StoreFile(path) as file:
            while self._is_current():
                window = next_window(file, lease.offset, sender.limits(), self._courtesy.rest)
                if window.end == lease.offset:
                    return True
                if window.count:
                    sender.send(window, lease)
                lease.advance(window.end)
                COUNTERS.damaged += window.damaged
                COUNTERS.repaired += window.repaired
                with self._changed:
                    if own:
                        COUNTERS.waiting -= window.count
                    self._progress += 1
                    self._failures = 0
                    self._changed.notify_all()
        return False

    def _lease(self, name: str) -> Cursor | None:
        lease = self._leases.get(name)
        if lease is None:
            lease = Cursor.take(self._cursors, name)
            if lease is not None:
                self._leases[name] = lease
        return lease

    @property
    def _cursors(self) -> str:
        return sync_folder(self._writer.folder, self._plane or "")

    def _give_up_leases(self) -> None:
        leases, self._leases = self._leases, {}
        for lease in leases.values():
            lease.close()

    def _forked(self) -> None:
        """In the child: files and leases stay the parent's; a connection must not be shared."""
        self._courtesy.forked()
        self._give_up_leases()
        if self._sender is not None:
            self._sender.forked()
        self._begin()


_deliveries: weakref.WeakSet[Delivery] = weakref.WeakSet()


def _leave_delivery_to_the_parent() -> None:
    for delivery in list(_deliveries):
        delivery._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_delivery_to_the_parent)
