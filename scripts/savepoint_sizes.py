"""Owns the parts of the savepoint benchmark that measure sizes: memory for large files (P8), growth of the store (P9),
and reading a store of many savepoints.

Run by `bench_savepoints`, which owns trees, rows and the git shadow.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

from savepoint_measures import Row, cpu_s, medians

from chrono.ids import CommitId, TreeId
from chrono.layout import ProjectLayout
from chrono.store import tree
from chrono.store.disk import Disk
from chrono.store.objects import NewObjects, Objects
from chrono.store.refs import Refs
from chrono.store.repository import Store
from chrono.store.savepoint import encode

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_LOOSE = 2500

_LARGE = """
import os, resource, sys, time
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/scripts"]
from bench_savepoints import roll_back, save
from chrono.layout import ProjectLayout
from chrono.store.repository import Store

root, size = sys.argv[2], int(sys.argv[3])
store = Store.create(ProjectLayout(root))
first = save(store)
time.sleep(0.05)
with open(root + "/large", "wb") as file:
    for _ in range(size >> 20):
        file.write(os.urandom(1 << 20))
idle = resource.getrusage(resource.RUSAGE_SELF)
second = save(store)
saved = resource.getrusage(resource.RUSAGE_SELF)
os.unlink(root + "/large")
roll_back(store, save(store), second)
done = resource.getrusage(resource.RUSAGE_SELF)
assert os.path.getsize(root + "/large") == size
cpu = saved.ru_utime + saved.ru_stime - idle.ru_utime - idle.ru_stime
print(idle.ru_maxrss, saved.ru_maxrss, done.ru_maxrss, cpu)
"""


def large_file(folder: str, size_mib: int) -> tuple[float, float, float]:
    """(MiB of memory above idle at the most, CPU of saving it, CPU of `git hash-object -w`)."""
    root = os.path.join(folder, "large")
    os.makedirs(root)
    command = [sys.executable, "-c", _LARGE, CHECKOUT, root, str(size_mib << 20)]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    idle_kib, saved_kib, done_kib = (int(word) for word in words[:3])
    git_dir = os.path.join(folder, "large.git")
    subprocess.run(["git", "init", "-q", "--bare", git_dir], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["git", "--git-dir", git_dir, "hash-object", "-w", root + "/large"], check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    git_cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (max(saved_kib, done_kib) - idle_kib) / 1024, float(words[3]), git_cpu


def bench_large(folder: str, size_mib: int) -> list[Row]:
    """P8."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        memory_mib, own, git = large_file(place, size_mib)
    label = f"a file of {size_mib} MiB"
    return [
        Row(label, "P8 MiB of memory above idle", memory_mib, 64.0, ""),
        Row(label, "P8 saved, CPU / git hash-object -w", own / git, 0.25, f"own {own:.2f} s, git {git:.2f} s"),
    ]


def bench_growth(root: str) -> list[Row]:
    """P9 on the tree at `root`, and what reading so long a history costs."""
    grown, most, store = grow(root, 1000, 3)
    label = "1,000 savepoints x 3 edits"
    git = ["git", "--git-dir", store.layout.repo]
    first, last = (oid for _, oid in (store.refs("refs/chrono/auto/")[1], store.refs("refs/chrono/auto/")[-1]))

    def run(*arguments: str) -> float:
        return cpu_s(lambda: subprocess.run([*git, *arguments], check=True, stdout=subprocess.DEVNULL))

    log = medians(5, {"own": lambda: cpu_s(lambda: list(store.history())), "git": lambda: run("log", "--all")})
    plan = medians(
        5,
        {
            "own": lambda: cpu_s(lambda: store.plan_restore(last, first)),
            "git": lambda: run("diff-tree", "-r", last, first),
        },
    )
    subprocess.run([*git, "fsck", "--strict"], check=True, capture_output=True)
    return [
        Row(label, "P9 MiB grown after packing", grown / (1 << 20), 8.0, ""),
        Row(label, "P9 loose objects at most", float(most), float(MOST_LOOSE), ""),
        Row(label, "P9 history / git log (less start-up)", log["own"] / log["git"], None, ""),
        Row(label, "P9 plan / git diff-tree (less start-up)", plan["own"] / plan["git"], None, ""),
    ]


class History:
    """Two projects in `folder`: one with `count` savepoints, whose middle one and last are named, one with one."""

    def __init__(self, folder: str, count: int) -> None:
        self.count = count
        self.home, self.long, self.short = (os.path.join(folder, name) for name in ("home", "long", "short"))
        self.middle, self.last = make_history(self.long, count)
        _, self.only = make_history(self.short, 1)

    def run(self, root: str, *command: str) -> float:
        environ = {**os.environ, "CHRONO_HOME": self.home}
        silent = subprocess.DEVNULL
        return cpu_s(lambda: subprocess.run(command, check=True, cwd=root, env=environ, stdout=silent, stderr=silent))


def bench_history(made: History) -> list[Row]:
    """What reading a store of many savepoints costs, whole commands. What they cost with one savepoint counts as
    their start-up: starting Python, loading chrono, looking at the files."""
    git = ["git", "--git-dir", ProjectLayout(made.long).repo]
    rows = []
    middle, only = made.middle, made.only
    between = ["diff-tree", "-r", middle, made.last]
    for name, goal, verb, alone, beside in (
        ("log / git log -n 30", 3.0, ["log"], ["log"], ["log", "--all", "-n30"]),
        ("log -n 0 / git log", 3.0, ["log", "-n", "0"], ["log", "-n", "0"], ["log", "--all"]),
        ("plan / git diff-tree", 3.0, rollback(middle), rollback(only), between),
        ("plan by a short id / git diff-tree", None, rollback(middle[:12]), rollback(only[:12]), between),
    ):
        found = medians(
            5,
            {
                "own": partial(made.run, made.long, sys.executable, "-m", "chrono", *verb),
                "start-up": partial(made.run, made.short, sys.executable, "-m", "chrono", *alone),
                "git": partial(made.run, made.long, *git, *beside),
            },
        )
        ratio = (found["own"] - found["start-up"]) / found["git"]
        detail = ", ".join(f"{what} {seconds * 1000:.1f} ms" for what, seconds in found.items())
        rows.append(Row(f"{made.count:,} savepoints", f"P9 {name}, less start-up", ratio, goal, detail))
    return rows


def rollback(commit: str) -> list[str]:
    return ["rollback", "--dry-run", commit]


def make_history(root: str, count: int) -> tuple[CommitId, CommitId]:
    """A project at `root` with `count` automatic savepoints, an edit each, and one more; the middle one and the last.

    Written without looking at the files, which are as the last holds them: ten thousand scans take minutes.
    """
    os.mkdir(root)
    store = Store.create(ProjectLayout(root))
    repo, disk = os.fsencode(store.layout.repo), Disk()
    sink = NewObjects(Objects(os.path.join(repo, b"objects"), disk))
    texts = [b"x = %d\n" % number * 60 for number in range(12 * 10)]
    folders = [[sink.put(b"blob", text) for text in texts[start : start + 10]] for start in range(0, 120, 10)]

    def made(blobs: list[bytes]) -> bytes:
        return sink.put(b"tree", tree.build((b"f%d.py" % at, tree.FILE, oid) for at, oid in enumerate(blobs)))

    trees = [made(blobs) for blobs in folders]
    refs = {}
    for number in range(1, count + 1):
        at, inside = divmod(number % 120, 10)
        texts[number % 120] = b"y = %d\n" % number * 60
        folders[at][inside] = sink.put(b"blob", texts[number % 120])
        trees[at] = made(folders[at])
        top = sink.put(b"tree", tree.build((b"d%d" % place, tree.FOLDER, oid) for place, oid in enumerate(trees)))
        trailers = savepoint_trailers(number)
        at_ns = time.time_ns() - (count - number) * 60_000_000_000
        raw = encode(TreeId(top.hex()), None, (), "bench", at_ns, f"before {number}", trailers)
        refs[f"refs/chrono/auto/{number}"] = sink.put(b"commit", raw).hex()
    sink.flush()
    Refs(repo, disk).take_in(refs)
    for number, text in enumerate(texts):
        folder = os.path.join(root, f"d{number // 10}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"f{number % 10}.py"), "wb") as file:
            file.write(text)
    last = save_unsynced(store, count)  # which leaves a cache of what the files are, as every savepoint does
    return CommitId(refs[f"refs/chrono/auto/{(count + 1) // 2}"]), last


def savepoint_trailers(number: int) -> tuple[tuple[str, str], ...]:
    return (
        ("Chrono-Kind", "auto"),
        ("Chrono-Branch", "main"),
        ("Chrono-Agent", "bench"),
        ("Chrono-Command", f"command {number}"),
    )


class Unsynced(Disk):
    """Sizes do not depend on syncs, and a thousand savepoints wait long for them."""

    def fsync(self, fd: int) -> None:
        pass

    def fsync_folder(self, name: bytes) -> None:
        pass

    def syncfs(self, fd: int) -> None:
        pass


def grow(root: str, saves: int, edits: int) -> tuple[int, int, Store]:
    """(bytes that the store grew by after packing, most loose objects ever, the store) over `saves` savepoints."""
    store = Store.create(ProjectLayout(root), disk=Unsynced())
    save_unsynced(store, 0)
    keep = store.upkeep
    keep.pack_loose(30)
    before = keep.holdings().total_bytes
    paths = sorted(
        os.path.join(place, name) for place, _, names in os.walk(root) if ".chrono" not in place for name in names
    )
    chance = random.Random(9)
    most = 0
    for number in range(1, saves + 1):
        for path in chance.sample(paths, edits):
            with open(path, "a") as file:
                file.write(f"# {number}\n")
        save_unsynced(store, number)
        if number % 4 == 0 and keep.needs_packing():  # as after savepoints
            most = max(most, keep.holdings().loose_count)
            keep.pack_loose(30)
        if number % 4 == 0 and keep.needs_ref_packing():
            keep.pack_refs(30)
    most = max(most, keep.holdings().loose_count)
    keep.pack_loose(30)
    keep.pack_refs(30)
    return keep.holdings().total_bytes - before, most, store


def save_unsynced(store: Store, number: int) -> CommitId:
    trailers = savepoint_trailers(number)
    with store.lock(30):
        capture = store.capture()
        commit = store.write_commit(
            capture, parents=(), message=f"before {number}", trailers=trailers, at_ns=time.time_ns(), author="bench"
        )
        store.move_ref(store.next_auto_ref(), None, commit)
        store.remember(capture, commit)
    return commit
