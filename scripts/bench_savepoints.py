"""Owns the savepoint benchmark: CPU of savepoints and restores as ratios to a bare walk and to a git shadow.

All of a row is measured in one run on one tree, interleaved, and the medians are compared, and a goal counts as met in
so many of the runs. Each run has a store of its own; on a large tree, which takes minutes to save for the first time,
later runs go on with that of the first. P4 needs a file system that tells of every change; P6 empties the
kernel's cache, which takes root and slows everybody down, so it is measured only where it is asked for (--cold). P8
and P9 are left to `savepoint_sizes`.
Usage: bench_savepoints.py [--files N ...] [--source REQUIREMENT | --no-source] [--rows P1 ...] [--runs N] [--rounds N]
                           [--large MIB] [--cold] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import savepoint_sizes
from savepoint_measures import Row, cpu_s, medians

from chrono.ids import CommitId, OpId
from chrono.layout import ProjectLayout
from chrono.store.repository import Store


class Tree(NamedTuple):
    """What is measured on: a folder, how the report calls it, which rows are wanted, and how often each is repeated."""

    root: str
    label: str
    wanted: frozenset[str]
    rounds: int

    def row(self, name: str, ratio: float, goal: float | None, found: dict[str, float]) -> Row:
        detail = ", ".join(f"{what} {seconds * 1000:.1f} ms" for what, seconds in found.items())
        return Row(self.label, name, ratio, goal, detail)


LARGE_FILES = 50_000
"""From so many files on a tree's stores stay from run to run, and thousands of its files are not restored in memory."""

EVERY = ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9")


def make_tree(root: str, files: int) -> None:
    """A source tree: 20 files a folder, three levels deep, of 0.5 to 8 kB."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(500)]
    lines = [f"{chance.choice(words)} = {chance.random()}\n" for _ in range(20_000)]
    for number in range(files):
        folder = f"{root}/pkg{number // 400:03}/mod{number // 100 % 4}/part{number // 20:05}"
        if number % 20 == 0:
            os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/file_{number}.py", "w") as file:
            file.write("".join(chance.choices(lines, k=chance.randrange(15, 250))))


def walk(root: str) -> None:
    """The bare cost of looking: scandir and a stat of each entry."""
    stack = [root]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False) and entry.name != ".chrono":
                    stack.append(entry.path)


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


def scan(store: Store, last: CommitId, *, hinted: bool = False) -> None:
    """A scan of a tree that is as `last` holds it: no commit follows."""
    with store.lock(30):
        capture = store.capture(hinted=hinted)
        assert capture.full is not hinted
        store.remember(capture, last)


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


MEMORY = "/dev/shm"
"""Where thousands of files are restored if the trees lie on an ext4 without a journal. That one does not use an inode
again within 35 s of its deletion, and looks at each such one anew whenever a file is made. Nobody restores thousands
of files twice in that time, except a benchmark."""


def remembers_deletions(root: str) -> bool:
    """Whether `root` lies on an ext4 without a journal."""
    with open("/proc/mounts") as file:
        mounts = [line.split()[:3] for line in file]
    inside = [mount for mount in mounts if os.path.commonpath((root, mount[1])) == mount[1]]
    device, _, kind = max(inside, key=lambda mount: len(mount[1]))
    name = os.path.basename(device)
    journals = os.listdir("/proc/fs/jbd2") if os.path.isdir("/proc/fs/jbd2") else []
    return kind == "ext4" and not any(journal.startswith(name + "-") for journal in journals)


def bench_first(tree: Tree, shadow: Shadow | None) -> tuple[list[Row], Store]:
    store = Store.create(ProjectLayout(tree.root))
    own = cpu_s(lambda: save(store))
    if shadow is None:
        return [], store
    git = cpu_s(shadow.save)
    if "P5" not in tree.wanted:
        return [], store
    sizes = [size_on_disk(os.path.join(place, "objects")) for place in (store.layout.repo, shadow.git_dir)]
    rows = [
        tree.row("P5 first savepoint, CPU / git shadow", own / git, 0.60, {"own": own, "git": git}),
        Row(tree.label, "P5 first savepoint, size / git shadow", sizes[0] / sizes[1], 0.60, f"{sizes[0] >> 10} KiB"),
    ]
    return rows, store


def bench_changes(tree: Tree, store: Store, shadow: Shadow | None) -> list[Row]:
    """P1 to P3. P1 and P3 have goals for trees of 10,000 files and more: below, what a call costs by itself shows."""
    paths = all_files(tree.root)
    is_large = len(paths) >= 10_000
    rows = []
    walked = {"walk": lambda: cpu_s(lambda: walk(tree.root))}
    if "P1" in tree.wanted:
        time.sleep(0.05)
        last = save(store)
        found = medians(tree.rounds, {**walked, "own": lambda: cpu_s(lambda: scan(store, last))})
        rows.append(tree.row("P1 no change / walk", found["own"] / found["walk"], 0.85 if is_large else None, found))
    for label, count, against_walk, against_git in (("P2", 1, 0.90, 0.75), ("P3", 100, None, 0.70)):
        if label not in tree.wanted or shadow is None:
            continue
        number = 0

        def edited(action: Callable[[], object], count: int = count) -> float:
            nonlocal number
            number += 1
            change(random.Random(number).sample(paths, count), str(number))
            time.sleep(0.03)  # as between an edit and the next command: older than the racy window
            return cpu_s(action)

        found = medians(
            tree.rounds,
            {
                **walked,
                "own": partial(edited, lambda: save(store)),
                "git": partial(edited, shadow.save),
            },
        )
        many = f"{label} {count} change{'s' if count > 1 else ''}, synced"
        rows.append(tree.row(f"{many} / walk", found["own"] / found["walk"], against_walk, found))
        goal = against_git if count == 1 or is_large else None
        rows.append(tree.row(f"{many} / git shadow", found["own"] / found["git"], goal, found))
    return rows


def bench_hints(tree: Tree, store: Store) -> list[Row]:
    """P4, whose goals are for 100,000 files; the check in the background is a row of its own: nobody waits for it."""
    paths = all_files(tree.root)
    goals = (0.002, 0.03, 0.15) if len(paths) >= 100_000 else (None, None, None)
    hints = store.use_hints()
    save(store)
    time.sleep(0.05)
    last = save(store)
    if not hints.check().done:
        print(f"P4 is not measured: {hints.stopped}", file=sys.stderr)
        return []
    rows = []
    for count, goal in zip((0, 1, 100), goals, strict=True):
        number = 0

        def own(count: int = count) -> float:
            nonlocal number, last
            number += 1
            change(random.Random(-number).sample(paths, count), f"hinted {number}")
            time.sleep(0.03)
            if count:
                spent = cpu_s(lambda: save(store, hinted=True))
                last = store.refs("refs/chrono/auto/")[-1][1]
            else:
                spent = cpu_s(lambda: scan(store, last, hinted=True))
            time.sleep(0.03)
            found = hints.check()
            assert found.done
            assert found.missed == ()
            return spent

        found = medians(tree.rounds, {"walk": lambda: cpu_s(lambda: walk(tree.root)), "own": own})
        many = {0: "no change", 1: "1 change, synced"}.get(count, f"{count} changes, synced")
        rows.append(tree.row(f"P4 hints, {many} / walk", found["own"] / found["walk"], goal, found))
    found = medians(3, {"walk": lambda: cpu_s(lambda: walk(tree.root)), "own": lambda: cpu_s(hints.check)})
    rows.append(tree.row("P4 the check in the background / walk", found["own"] / found["walk"], None, found))
    store.close()
    return rows


def bench_restore(tree: Tree, store: Store, shadow: Shadow) -> list[Row]:
    """P7."""
    rows = []
    for count, goal in ((1, 0.2), (100, 0.8), (3000, 1.0)):
        files = len(all_files(tree.root))
        if count > files or (count >= 1000 and files >= LARGE_FILES):
            continue
        if count >= 1000 and remembers_deletions(os.path.realpath(tree.root)):
            rows += restore_in_memory(tree, count, goal)
        else:
            rows.append(restore_row(tree, store, shadow, count, goal))
    return rows


def restore_in_memory(tree: Tree, count: int, goal: float) -> list[Row]:
    """`restore_row` of a copy in memory; none where there is no room for it."""
    needed = 4 * size_on_disk(tree.root)
    if not os.path.isdir(MEMORY) or shutil.disk_usage(MEMORY).free < needed:
        print(f"P7 is not measured for {count:,} files: {MEMORY} has no {needed >> 20} MiB", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory(prefix="chrono-bench-", dir=MEMORY) as folder:
        root = os.path.join(folder, "tree")
        shutil.copytree(tree.root, root, symlinks=True, ignore=shutil.ignore_patterns(".chrono"))
        shadow = Shadow(root, os.path.join(folder, "shadow.git"))
        row = restore_row(tree._replace(root=root), Store.create(ProjectLayout(root)), shadow, count, goal)
    return [row._replace(name=f"{row.name}, in memory")]


def restore_row(tree: Tree, store: Store, shadow: Shadow, count: int, goal: float) -> Row:
    chosen = random.Random(count).sample(all_files(tree.root), count)
    first = save(store)
    shadow.save()
    change(chosen, "restored")
    time.sleep(0.05)
    second = shadow.save()

    def own() -> float:
        pre = save(store)
        return cpu_s(lambda: roll_back(store, pre, first))

    def git() -> float:
        shadow.run("add", "-A")  # git's index as of now, so that it restores what differs only
        return cpu_s(lambda: shadow.restore(second))

    found = medians(max(3, tree.rounds // (5 if count >= 1000 else 2)), {"own": own, "git": git})
    return tree.row(f"P7 restore {count} / read-tree -u --reset", found["own"] / found["git"], goal, found)


def bench_cold(tree: Tree, store: Store, shadow: Shadow) -> list[Row]:
    """P6 by the clock, since it is the disk that is waited for."""
    time.sleep(0.05)
    last = save(store)
    shadow.save()

    def cold(action: Callable[[], object]) -> float:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("2\n")
        started = time.perf_counter()
        action()
        return time.perf_counter() - started

    found = medians(
        3, {"own": lambda: cold(lambda: scan(store, last)), "git": lambda: cold(lambda: shadow.run("add", "-A"))}
    )
    return [tree.row("P6 cold, no change / git add -A, by the clock", found["own"] / found["git"], 1.0, found)]


def fetch_source(folder: str, requirement: str) -> str:
    """The unpacked source archive of a published package, as a tree that somebody really works in."""
    place = os.path.join(folder, "download")
    name = requirement.partition("==")[0]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", place]
    subprocess.run([*command, requirement], check=True)
    root = os.path.join(folder, "source")
    os.mkdir(root)
    with tarfile.open(os.path.join(place, os.listdir(place)[0])) as archive:
        archive.extractall(root, filter="data")
    return root


class Stores(NamedTuple):
    """What a tree is saved into: ours, and git's where a row compares with it."""

    own: Store
    shadow: Shadow | None


def begin(tree: Tree) -> tuple[list[Row], Stores]:
    """New stores for the tree, in place of those of an earlier run, and what filling them cost."""
    git_dir = tree.root + ".git"
    for place in (git_dir, os.path.join(tree.root, ".chrono")):
        shutil.rmtree(place, ignore_errors=True)
    walk(tree.root)
    shadow = Shadow(tree.root, git_dir) if not tree.wanted.isdisjoint(("P2", "P3", "P5", "P6", "P7")) else None
    rows, store = bench_first(tree, shadow)
    return rows, Stores(store, shadow)


def measure(tree: Tree, stores: Stores) -> Iterator[Row]:
    """One run on one tree, which is left as it was but for some lines at the ends of files."""
    store, shadow = stores
    yield from bench_changes(tree, store, shadow)
    if "P4" in tree.wanted:
        yield from bench_hints(tree, store)
    if "P6" in tree.wanted and shadow is not None:
        yield from bench_cold(tree, store, shadow)
    if "P7" in tree.wanted and shadow is not None:
        yield from bench_restore(tree, store, shadow)


def run(options: argparse.Namespace) -> Iterator[Row]:
    """All rows of all runs, as they come."""
    wanted = frozenset(options.rows) - (frozenset() if options.cold else {"P6"})
    with tempfile.TemporaryDirectory(prefix="chrono-bench-") as folder:
        trees = []
        if not wanted <= {"P8", "P9"}:
            for files in options.files:
                root = os.path.join(folder, f"tree-{files}")
                os.mkdir(root)
                make_tree(root, files)
                trees.append(
                    Tree(root, f"{files:,} files", wanted, options.rounds or (9 if files < LARGE_FILES else 3))
                )
            if options.source:
                root = fetch_source(folder, options.source)
                trees.append(Tree(root, options.source, wanted, options.rounds or 9))
        long = savepoint_sizes.History(folder, 10_000) if "P9" in wanted else None
        kept: dict[str, Stores] = {}
        for number in range(options.runs):
            for tree in trees:
                stores = kept.get(tree.root)
                if stores is None:
                    first, stores = begin(tree)
                    yield from first
                if len(all_files(tree.root)) >= LARGE_FILES:
                    kept[tree.root] = stores
                yield from measure(tree, stores)
            if "P8" in wanted:
                yield from savepoint_sizes.bench_large(folder, options.large)
            if "P9" in wanted and number == 0:  # sizes do not depend on how busy the machine is
                root = os.path.join(folder, "growing")
                os.mkdir(root)
                make_tree(root, 10_000)
                yield from savepoint_sizes.bench_growth(root)
            if long is not None:
                yield from savepoint_sizes.bench_history(long)


def report(rows: list[Row]) -> str:
    """A line for each row of each tree: what each run measured, and in how many of them the goal was met."""
    lines = []
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.tree, row.name), []).append(row)
    shown = None
    for (tree, name), same in sorted(found.items(), key=lambda item: list(found).index((item[0][0], item[0][1]))):
        if tree != shown:
            lines.append(f"\n{tree}")
            shown = tree
        ratios = " ".join((f"{row.ratio:.2g}" if row.ratio < 100 else f"{row.ratio:,.0f}").rjust(6) for row in same)
        goal = same[0].goal
        verdict = ""
        if goal is not None:
            met = sum(row.ratio <= goal for row in same)
            word = "met   " if 3 * met >= 2 * len(same) else "MISSED"
            verdict = f"{word} goal {goal:<6g} in {met} of {len(same)} runs"
        lines.append(f"  {name:54} {ratios}  {verdict:34}  {same[-1].detail}".rstrip())
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="*", default=[1000, 10_000, 100_000], help="sizes of made trees")
    parser.add_argument("--source", metavar="REQUIREMENT", default="Django==5.1", help="a published source tree")
    parser.add_argument("--no-source", dest="source", action="store_const", const="")
    parser.add_argument("--rows", nargs="+", choices=EVERY, default=EVERY)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, help="repetitions within a run; 9, for large trees 3")
    parser.add_argument("--large", type=int, default=1024, metavar="MIB", help="size of the large file of P8")
    parser.add_argument("--cold", action="store_true", help="P6 too; needs root, and slows the whole machine")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    rows = []
    for row in run(options):
        rows.append(row)
        if sys.stderr.isatty():
            told = f"\r{len(rows)} measured, {row.tree}: {row.name}"
            print(told.ljust(100)[:100], end="\r", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
        return 0
    print("Ratios of CPU time (user and system), medians of interleaved rounds; one column a run")
    print(report(rows))
    print(f"\n{options.runs} runs in {(time.monotonic() - started) / 60:.0f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
