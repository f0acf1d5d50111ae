"""Owns asking the kernel whether known folders and files are still what the stat cache says: the bulk of every scan.

What follows from an answer is decided by `store.scanning`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter

from chrono.store.disk import unshare_cwd
from chrono.store.reading import key_of
from chrono.store.statcache import Folder, Key

THREADS = 4
COLD_NS = 15_000
COLD_WORK_NS = 7_000
"""A call that takes longer, by the clock and of the processor's time, finds nothing in the kernel's cache: then several
threads ask at once. Warm it is 2 to 5 us of the processor, cold 9 to 28 (measured)."""
_CALLS_A_WAIT = 40
"""A block of a disk holds the inodes of about so many files at most."""
_names_of = attrgetter("st_nlink")
_FIRST = 200
_SHARE = 64
_FEW = 8
"""So few folders are not worth a thread."""

Doubts = dict[bytes, Sequence[Key] | None]
"""Folders that are not as known, by path: the keys of their files as they are now, or None where the folder itself
must be listed anew. One that is missing is as known."""


def ask(root: bytes, folders: Sequence[Folder], shared: list[bytes] | None = None) -> Doubts:
    """Which of `folders` are not as known: changed, gone or closed to us.

    `shared`, where given, gets the folders that hold a file with more names than one.

    It is asked in threads of their own, whose working directory is theirs alone: a name in the current folder costs
    the kernel half of what a path does. Where the system has no such threads, paths are used.
    """
    doubts: Doubts = {folder.path: None for folder in folders}  # until the kernel says that nothing changed
    if len(folders) <= _FEW:
        _ask_part(root, folders, doubts, shared, private=False)
        return doubts
    error: list[BaseException] = []

    def work() -> None:
        try:
            _ask_all(root, folders, doubts, shared)
        except BaseException as raised:
            error.append(raised)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if error:
        raise error[0]
    return doubts


def _ask_all(root: bytes, folders: Sequence[Folder], doubts: Doubts, shared: list[bytes] | None) -> None:
    private = unshare_cwd()
    waiting = iter(folders)
    asked = 0
    started, worked = time.perf_counter_ns(), time.thread_time_ns()
    while asked < _FIRST:
        part = list(islice(waiting, 8))
        if not part:
            return
        _ask_part(root, part, doubts, shared, private)
        asked += sum(1 + len(folder.names) for folder in part)
    took_ns, worked_ns = time.perf_counter_ns() - started, time.thread_time_ns() - worked
    if took_ns > COLD_NS * asked and (worked_ns > COLD_WORK_NS * asked or _gave_way(asked)):
        _ask_in_threads(root, list(waiting), doubts, shared)
    else:
        _ask_part(root, list(waiting), doubts, shared, private)


def _gave_way(asked: int) -> bool:
    """Whether this thread, which has only asked so far, often waited of its own accord: for a disk. What it waits for
    its turn on a busy machine does not count, and more threads would make that worse."""
    import resource

    who = getattr(resource, "RUSAGE_THREAD", None)  # Linux has it
    return who is None or resource.getrusage(who).ru_nvcsw * _CALLS_A_WAIT > asked


def _ask_in_threads(root: bytes, folders: list[Folder], doubts: Doubts, shared: list[bytes] | None) -> None:
    shares = iter([folders[start : start + _SHARE] for start in range(0, len(folders), _SHARE)])

    def work() -> None:
        private = unshare_cwd()
        for share in shares:  # `next` of a list iterator is one step: no share is taken twice
            _ask_part(root, share, doubts, shared, private)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _ask_part(
    root: bytes, folders: Sequence[Folder], doubts: Doubts, shared: list[bytes] | None, private: bool
) -> None:
    lstat, chdir = os.lstat, os.chdir
    for folder in folders:
        place = root + b"/" + folder.path if folder.path else root
        try:
            if private:
                chdir(place)
                if key_of(lstat(".")) != folder.key:
                    continue
                stats = list(map(lstat, folder.names))
            else:
                if key_of(lstat(place)) != folder.key:
                    continue
                prefix = place + b"/"
                stats = list(map(lstat, [prefix + name for name in folder.names]))
        except OSError:
            continue
        keys = list(map(key_of, stats))
        if keys == folder.keys:
            del doubts[folder.path]
        else:
            doubts[folder.path] = keys
        if shared is not None and any(map((1).__lt__, map(_names_of, stats))):
            shared.append(folder.path)
