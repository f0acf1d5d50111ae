"""Owns the savepoint benchmark: CPU of savepoints and restores as ratios to a bare walk and to a git shadow.

Everything is measured in the same run on the same tree, interleaved, and the medians are compared. P4 needs a file
system that tells of every change, P6 root, to empty the kernel's cache. Sizes are left to `savepoint_sizes`.
Usage: bench_savepoints.py [--files N] [--source REQUIREMENT] [--rounds N] [--sizes] [--large MIB] [--cold] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import savepoint_sizes

from chrono.ids import CommitId, OpId
from chrono.layout import ProjectLayout
from chrono.store.repository import Store


class Row(NamedTuple):
    """One line of the report; `target` is an upper bound of `ratio`, None where none is set."""

    name: str
    ratio: float
    target: float | None
    detail: str


def make_tree(root: str, files: int) -> None:
    """A source tree: 20 files a folder, three levels deep, of 0.5 to 8 kB."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(500)]
    for number in range(files):
        folder = f"{root}/pkg{number // 400:03}/mod{number // 100 % 4}/part{number // 20:05}"
        if number % 20 == 0:
            os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/file_{number}.py", "w") as file:
            file.write(
                "".join(f"{chance.choice(words)} = {chance.random()}\n" for _ in range(chance.randrange(15, 250)))
            )


def walk(root: str) -> None:
    """The bare cost of looking: scandir and a stat of each entry."""
    stack = [root]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False) and entry.name != ".chrono":
                    stack.append(entry.path)


def cpu_s(action: Callable[[], object]) -> float:
    """User and system time of this process and of the children it waited for."""
    before = _usage()
    action()
    return _usage() - before


def _usage() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class Shadow:
    """Git with a GIT_DIR of its own, as other tools take snapshots."""

    def __init__(self, root: str, git_dir: str) -> None:
        self.git_dir = git_dir
        self._env = {**os.environ, "GIT_DIR": git_dir, "GIT_WORK_TREE": root, "GIT_CONFIG_NOSYSTEM": "1"}
        self._root = root
        subprocess.run(["git", "init", "-q", "--bare", git_dir], check=True)
        subprocess.run(["git", "--git-dir", git_dir, "config", "core.bare", "false"], check=True)
        with open(f"{git_dir}/info/exclude", "w") as file:
            file.write("/.chrono\n")

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self._root, env=self._env, check=True, capture_output=True, text=True
        ).stdout.strip()

    def save(self) -> str:
        self.run("add", "-A")
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        commit = self.run(*identity, "commit-tree", "-m", "bench", self.run("write-tree"))
        self.run("update-ref", "refs/heads/shadow", commit)
        return commit

    def restore(self, commit: str) -> None:
        self.run("read-tree", "-u", "--reset", commit)


def save(store: Store, *, hinted: bool = False) -> CommitId:
    """A whole savepoint as the ring takes it, without the audit record: objects, commit, ref, cache, each synced."""
    with store.lock(30):
        capture = store.capture(hinted=hinted)
        assert capture.full is not hinted
        commit = store.write_commit(
            capture,
            parents=(),
            message="bench",
            trailers=(("Chrono-Kind", "auto"),),
            at_ns=time.time_ns(),
            author="bench",
        )
        store.move_ref(store.next_auto_ref(), None, commit)
        store.remember(capture, commit)
    return commit


def scan(store: Store, *, hinted: bool = False) -> None:
    """A scan of an unchanged tree: no commit follows."""
    with store.lock(30):
        capture = store.capture(hinted=hinted)
        assert capture.full is not hinted
        store.remember(capture, store.refs("refs/chrono/auto/")[-1][1])


def roll_back(store: Store, pre: CommitId, target: CommitId) -> None:
    with store.lock(30):
        plan = store.plan_restore(pre, target)
        journal = store.begin(plan, OpId("0" * 32))
        store.apply(plan, journal)
        store.finish(journal)


def all_files(root: str) -> list[str]:
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".chrono"]
        found += [os.path.join(folder, name) for name in files]
    return sorted(found)


def change(paths: list[str], mark: str) -> None:
    for path in paths:
        with open(path, "a") as file:
            file.write(f"# {mark}\n")


def size_on_disk(folder: str) -> int:
    """What `du` says: blocks, not bytes."""
    total = 0
    for place, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(place, name)).st_blocks * 512 for name in files)
    return total


FORGETS_S = 36
"""ext4 without a journal does not use an inode again within 35 s of its deletion, and looks at each such one anew
whenever a file is made. Nobody restores thousands of files twice in that time, except a benchmark."""


def remembers_deletions(root: str) -> bool:
    """Whether `root` lies on an ext4 without a journal."""
    with open("/proc/mounts") as file:
        mounts = [line.split()[:3] for line in file]
    inside = [mount for mount in mounts if os.path.commonpath((root, mount[1])) == mount[1]]
    device, _, kind = max(inside, key=lambda mount: len(mount[1]))
    name = os.path.basename(device)
    journals = os.listdir("/proc/fs/jbd2") if os.path.isdir("/proc/fs/jbd2") else []
    return kind == "ext4" and not any(journal.startswith(name + "-") for journal in journals)


def medians(rounds: int, actions: dict[str, Callable[[], float]]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            found[name].append(action())
    return {name: statistics.median(values) for name, values in found.items()}


def bench_first(folder: str, root: str) -> tuple[list[Row], Store, Shadow]:
    store = Store.create(ProjectLayout(root))
    shadow = Shadow(root, os.path.join(folder, "shadow.git"))
    git_cpu = cpu_s(shadow.save)
    own_cpu = cpu_s(lambda: save(store))
    own_size = size_on_disk(os.path.join(store.layout.repo, "objects"))
    git_size = size_on_disk(os.path.join(shadow.git_dir, "objects"))
    rows = [
        Row("P5 first savepoint, CPU / git shadow", own_cpu / git_cpu, 0.60, f"{own_cpu:.2f} s, {git_cpu:.2f} s"),
        Row("P5 first savepoint, size / git shadow", own_size / git_size, 0.60, f"{own_size >> 10} KiB"),
    ]
    return rows, store, shadow


def bench_changes(root: str, store: Store, shadow: Shadow, rounds: int) -> list[Row]:
    paths = all_files(root)
    rows = []
    time.sleep(0.05)
    scan(store)
    found = medians(rounds, {"walk": lambda: cpu_s(lambda: walk(root)), "own": lambda: cpu_s(lambda: scan(store))})
    rows.append(Row("P1 no change / walk", found["own"] / found["walk"], 0.85, _ms(found)))
    for count, against_walk, against_git in ((1, 0.90, 0.75), (100, None, 0.70)):
        number = 0

        def edited(action: Callable[[], object], count: int = count) -> float:
            nonlocal number
            number += 1
            change(random.Random(number).sample(paths, count), str(number))
            time.sleep(0.03)  # as between an edit and the next command: older than the racy window
            return cpu_s(action)

        found = medians(
            rounds,
            {
                "walk": lambda: cpu_s(lambda: walk(root)),
                "own": lambda edited=edited: edited(lambda: save(store)),
                "git": lambda edited=edited: edited(shadow.save),
            },
        )
        label = "P2" if count == 1 else "P3"
        many = "1 change" if count == 1 else f"{count} changes"
        rows.append(Row(f"{label} {many}, synced / walk", found["own"] / found["walk"], against_walk, _ms(found)))
        rows.append(Row(f"{label} {many}, synced / git shadow", found["own"] / found["git"], against_git, _ms(found)))
    return rows


def bench_hints(root: str, store: Store, rounds: int) -> list[Row]:
    """P4; the check that follows in the background is a row of its own, since nobody waits for it."""
    paths = all_files(root)
    hints = store.use_hints()
    save(store)
    time.sleep(0.05)
    scan(store)
    if not hints.check().done:
        print(f"P4 is not measured: {hints.stopped}", file=sys.stderr)
        return []
    rows = []
    for count, target in ((0, 0.002), (1, 0.03), (100, 0.15)):
        number = 0

        def own(count: int = count) -> float:
            nonlocal number
            number += 1
            change(random.Random(-number).sample(paths, count), f"hinted {number}")
            time.sleep(0.03)
            spent = cpu_s(lambda: save(store, hinted=True) if count else scan(store, hinted=True))
            time.sleep(0.03)
            found = hints.check()
            assert found.done
            assert found.missed == ()
            return spent

        found = medians(rounds, {"walk": lambda: cpu_s(lambda: walk(root)), "own": own})
        many = {0: "no change", 1: "1 change, synced"}.get(count, f"{count} changes, synced")
        rows.append(Row(f"P4 hints, {many} / walk", found["own"] / found["walk"], target, _ms(found)))
    checked = medians(rounds, {"walk": lambda: cpu_s(lambda: walk(root)), "own": lambda: cpu_s(hints.check)})
    rows.append(Row("   the check in the background / walk", checked["own"] / checked["walk"], None, _ms(checked)))
    store.close()
    return rows


def bench_restore(root: str, store: Store, shadow: Shadow, rounds: int) -> list[Row]:
    paths = all_files(root)
    rows = []
    wait_s = FORGETS_S if remembers_deletions(os.path.realpath(root)) else 0
    for count, target in ((1, 0.2), (100, 0.8), (3000, 1.0)):
        if count > len(paths):
            continue
        chosen = random.Random(count).sample(paths, count)
        first = save(store)
        shadow.save()
        change(chosen, "restored")
        time.sleep(0.05)
        git_second = shadow.save()

        def own(first: CommitId = first, wait_s: int = wait_s if count >= 1000 else 0) -> float:
            pre = save(store)
            time.sleep(wait_s)
            return cpu_s(lambda: roll_back(store, pre, first))

        def git(git_second: str = git_second, wait_s: int = wait_s if count >= 1000 else 0) -> float:
            shadow.run("add", "-A")  # git's index as of now, so that it restores what differs only
            time.sleep(wait_s)
            return cpu_s(lambda: shadow.restore(git_second))

        found = medians(3 if count >= 1000 else max(3, rounds // 2), {"own": own, "git": git})
        rows.append(Row(f"P7 restore {count} / read-tree -u --reset", found["own"] / found["git"], target, _ms(found)))
    return rows


def bench_cold(root: str, store: Store, shadow: Shadow, rounds: int) -> list[Row]:
    """P6 by the clock, since it is the disk that is waited for."""

    def cold(action: Callable[[], object]) -> float:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("2\n")
        started = time.perf_counter()
        action()
        return time.perf_counter() - started

    found = medians(
        max(3, rounds // 3),
        {"own": lambda: cold(lambda: scan(store)), "git": lambda: cold(lambda: shadow.run("add", "-A"))},
    )
    return [Row("P6 cold, no change / git add -A, by the clock", found["own"] / found["git"], 1.0, _ms(found))]


def bench_sizes(folder: str, files: int, large_mib: int) -> list[Row]:
    rows = []
    if large_mib:
        memory_mib, own_cpu, git_cpu = savepoint_sizes.large_file(folder, large_mib)
        detail = f"own {own_cpu:.2f} s, git {git_cpu:.2f} s"
        rows.append(Row(f"P8 {large_mib} MiB file, MiB of memory above idle", memory_mib, 64.0, ""))
        rows.append(Row("P8 incompressible, CPU / git hash-object -w", own_cpu / git_cpu, 0.25, detail))
    root = os.path.join(folder, "growing")
    os.mkdir(root)
    make_tree(root, files)
    grown, most, store = savepoint_sizes.grow(root, 1000, 3)
    rows.append(Row("P9 1,000 savepoints x 3 edits, MiB grown", grown / (1 << 20), 8.0, ""))
    rows.append(Row("P9 loose objects at most", float(most), float(savepoint_sizes.MOST_LOOSE), ""))
    git = ["git", "--git-dir", store.layout.repo]
    first, last = (oid for _, oid in (store.refs("refs/chrono/auto/")[1], store.refs("refs/chrono/auto/")[-1]))

    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([*git, *arguments], check=True, stdout=subprocess.DEVNULL)

    found = medians(5, {"own": lambda: cpu_s(lambda: list(store.history())), "git": lambda: cpu_s(run("log", "--all"))})
    rows.append(
        Row("   1,000 savepoints: history / git log (less start-up)", found["own"] / found["git"], None, _ms(found))
    )
    found = medians(
        5,
        {
            "own": lambda: cpu_s(lambda: store.plan_restore(last, first)),
            "git": lambda: cpu_s(run("diff-tree", "-r", last, first)),
        },
    )
    rows.append(
        Row("   1,000 savepoints: plan / git diff-tree (less start-up)", found["own"] / found["git"], None, _ms(found))
    )
    run("fsck", "--strict")()
    return rows


def fetch_source(folder: str, requirement: str) -> str:
    """The unpacked source archive of a published package, as a tree that somebody really works in."""
    place = os.path.join(folder, "download")
    name = requirement.partition("==")[0]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", place]
    subprocess.run([*command, requirement], check=True)
    root = os.path.join(folder, "tree")
    os.mkdir(root)
    with tarfile.open(os.path.join(place, os.listdir(place)[0])) as archive:
        archive.extractall(root, filter="data")
    return root


def _ms(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in found.items())


def run(options: argparse.Namespace) -> list[Row]:
    folder = tempfile.mkdtemp(prefix="chrono-bench-")
    try:
        if options.source:
            root = fetch_source(folder, options.source)
        else:
            root = os.path.join(folder, "tree")
            os.mkdir(root)
            make_tree(root, options.files)
        walk(root)
        rows, store, shadow = bench_first(folder, root)
        rows += bench_changes(root, store, shadow, options.rounds)
        rows += bench_hints(root, store, options.rounds)
        if options.cold:
            rows += bench_cold(root, store, shadow, options.rounds)
        rows += bench_restore(root, store, shadow, options.rounds)
        return rows + (bench_sizes(folder, options.files, options.large) if options.sizes else [])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--source", metavar="REQUIREMENT", help="measure a published source tree, such as Django==5.1")
    parser.add_argument("--sizes", action="store_true", help="P8 and P9 too, which take some minutes")
    parser.add_argument("--large", type=int, default=1024, metavar="MIB")
    parser.add_argument("--cold", action="store_true", help="P6 too; needs root")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = run(options)
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
        return 0
    tree = options.source or f"{options.files} files"
    print(f"{tree}, medians of {options.rounds} interleaved rounds, CPU of user and system")
    for row in rows:
        verdict = "" if row.target is None else ("  ok" if row.ratio <= row.target else "  OVER")
        bound = "" if row.target is None else f"<= {row.target:.2f}"
        print(f"{row.name:46} {row.ratio:6.3f} {bound:8}{verdict:6}  {row.detail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
