"""Owns the door of this room: one project's hidden repository, from capture to restore.

The work is done by the modules beside it. Audit records, the order of the ring and what people are told are left to
`workspace`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chrono.errors import NoSuchSavepoint, StoreError, UsageError
from chrono.files import file_lock
from chrono.ids import CommitId, OpId, TreeId
from chrono.layout import ProjectLayout
from chrono.store import checkout, diff, journal, leftovers, restore, scaffold, tree
from chrono.store.apply import Applier, Stage
from chrono.store.checkout import CheckedOut, Checkout
from chrono.store.contents import Contents, Entry, within
from chrono.store.diff import Change, LineCount
from chrono.store.disk import READ_FILE, Disk
from chrono.store.handles import FolderHandles
from chrono.store.history import History
from chrono.store.journal import Journal
from chrono.store.memory import Memory, open_contents, read_rules
from chrono.store.metadata import EMPTY
from chrono.store.metadata import parse as parse_metadata
from chrono.store.objects import HashOnly, NewObjects, Objects
from chrono.store.parcel import Object, gather
from chrono.store.reading import FileReader
from chrono.store.refresh import Refresh
from chrono.store.refs import AUTO, META, OPERATIONS, RESCUE, Refs
from chrono.store.restore import Restored, RestorePlan
from chrono.store.savepoint import Savepoint, encode
from chrono.store.scanning import RACY_NS, Found, Rules, Scan, without_collector
from chrono.store.snapshot import Capture, Content, Skip, Survey
from chrono.store.statcache import Folder, Key
from chrono.store.tracing import Tracer

if TYPE_CHECKING:
    from chrono.store.bases import Parents
    from chrono.store.exchange import Exchange
    from chrono.store.filemerge import Labels
    from chrono.store.hints import Hints
    from chrono.store.union import MergeResult
    from chrono.store.upkeep import Upkeep

_NEVER_RACY_NS = 1 << 62
_WORTH_A_WAIT = 50
"""After a restore of so many files the next scan is spared reading them."""


class Store:
    """One project's savepoints.

    Reading needs no lock. Every method that writes (capture, write_commit, move_ref, remember, begin, apply,
    finish) must run inside `with store.lock(timeout_s):`. A Store may live as long as a resident process: what other
    processes wrote is noticed at the next call. Raises StoreError where the repository cannot be read or written.
    `stays`: the process will call `settle` soon after each savepoint, so a ref may wait for that (`move_ref`).
    """

    def __init__(self, layout: ProjectLayout, *, writable: bool, disk: Disk) -> None:
        self.layout = layout
        self._root = os.fsencode(layout.root)
        self._writable = writable
        self._disk = disk
        repo = os.fsencode(layout.repo)
        self._objects = Objects(os.path.join(repo, b"objects"), disk)
        self._refs = Refs(repo, disk)
        self._history = History(self._objects, self._refs)
        self._memory = Memory(layout, self._objects, self._history, disk)
        self._holder: int | None = None
        self._swept = False
        self._captured: tuple[Capture, Found, Rules] | None = None
        self._new: NewObjects | None = None
        self.stays = False
        self._hints: Hints | None = None

    @classmethod
    def create(cls, layout: ProjectLayout, *, disk: Disk | None = None) -> Store:
        """Makes `.chrono/repo.git`, `.chrono/format`, and opens them. Raises StoreError where one exists."""
        scaffold.create(layout, disk or Disk())
        return cls.open(layout, disk=disk)

    @classmethod
    def open(cls, layout: ProjectLayout, *, disk: Disk | None = None) -> Store:
        """Opens an existing repository with neutral configuration: none of its own settings is read.

        Raises NoWorkspace where there is none, StoreError where `.chrono/format` is newer than this chrono or a
        part of the repository is a link.
        """
        return cls(layout, writable=scaffold.check(layout), disk=disk or Disk())

    @staticmethod
    def disarm(layout: ProjectLayout, *, disk: Disk | None = None) -> str | None:
        """Makes a stranger's repository harmless to people's own git; see `scaffold.disarm`. Raises StoreError."""
        scaffold.check(layout)
        return scaffold.disarm(layout, disk or Disk())

    def close(self) -> None:
        """Ends hints; nothing else stays open from call to call."""
        if self._hints is not None:
            self._hints.close()
            self._hints = None

    @property
    def writable(self) -> bool:
        """False where `.chrono` belongs to another user: it is read, never written."""
        return self._writable

    @contextmanager
    def lock(self, timeout_s: float) -> Iterator[None]:
        """Holds the store lock. Not re-entrant. Raises Locked, naming the holder, or StoreError if not writable."""
        if not self._writable:
            raise StoreError(f"{self.layout.dir} belongs to another user", "only its owner takes savepoints")
        with file_lock(self.layout.lock, timeout_s=timeout_s):
            self._holder = threading.get_ident()
            try:
                if not self._swept:
                    leftovers.sweep(self.layout, self._disk)
                    self._swept = True
                yield
            finally:
                self._holder = None
                self._new = None
                if self._captured is not None:
                    # Folders scanned in place, whose objects no savepoint is known to hold.
                    self._captured = None
                    self._memory.forget()

    def _require_lock(self) -> None:
        if self._holder != threading.get_ident():
            raise StoreError("the store is written without its lock")

    # --- capture

    def capture(self, *, hinted: bool = False) -> Capture:
        """Scans the whole work tree; what is new becomes durable with the commit that holds it (`write_commit`).

        `hinted`: folders that the kernel would have told of need not be looked at, if `hints` are to be had.
        """
        self._require_lock()
        rules = read_rules(self.layout)
        sink = NewObjects(self._objects)
        hints = self._hints
        is_hinted = False
        try:
            racy_from_ns = self._tick_ns() - RACY_NS
            if hints is not None:
                is_hinted = hints.begin(self._memory.known(rules) if hinted else None)
            unchanged = hints.unchanged() if hints is not None else None
            if unchanged is not None:
                found = unchanged
            else:
                found = Scan(self._root, self._memory.base(rules), rules, sink, racy_from_ns, hints).run()
                if sink.is_packing:
                    sink.flush()  # much to write: not while the audit log is held
        except BaseException as error:
            self._captured = self._new = None
            self._memory.forget()
            sink.abandon()
            if isinstance(error, OSError):
                raise StoreError(f"the work tree could not be captured: {error}") from error
            raise
        capture = Capture(
            TreeId(found.tree.hex()),
            found.meta.hex() if found.meta is not None else None,
            found.skips,
            found.excluded,
            found.live,
            found.file_count,
            found.changed_count,
            found.written,
            not is_hinted,
        )
        self._captured, self._new = (capture, found, rules), sink
        return capture

    def _tick_ns(self) -> int:
        """The file system's own clock now."""
        tick = os.fsencode(self.layout.tick)
        self._disk.touch(tick)
        return os.lstat(tick).st_mtime_ns

    def survey(self) -> Survey:
        """What a capture would leave out. Writes nothing and needs no lock."""
        found = self._look(HashOnly())
        return Survey(found.excluded, found.skips, found.file_count)

    def _look(self, sink: HashOnly) -> Found:
        rules = read_rules(self.layout)
        base = self._memory.base(rules, fresh=True)
        return Scan(self._root, base, rules, sink, _NEVER_RACY_NS).run()

    def remember(self, capture: Capture, commit: CommitId) -> None:
        """Keeps the stat cache of the latest `capture`, whose content `commit` holds. The ring's last step."""
        self._require_lock()
        if self._captured is None or self._captured[0] is not capture:
            raise StoreError("only the capture just taken can be remembered")
        if self.content(commit) != capture.content:
            raise StoreError(f"savepoint {commit} does not hold this capture")
        _, found, rules = self._captured
        self._flush()
        self._captured = None
        self._memory.keep(found.root, found.touched, found.gone, commit, rules)
        if self._hints is not None:
            self._hints.settle(found)

    @property
    def hints(self) -> Hints | None:
        """Those of `use_hints`."""
        return self._hints

    def use_hints(self) -> Hints:
        """From now on captures may be `hinted`: for a process that stays."""
        from chrono.store.hints import Hints

        if self._hints is None:
            self._hints = Hints(self._root, os.fsencode(self.layout.tick))
        return self._hints

    # --- commits

    def write_commit(
        self,
        content: Content | Capture,
        *,
        parents: tuple[CommitId, ...],
        message: str,
        trailers: tuple[tuple[str, str], ...],
        at_ns: int,
        author: str,
    ) -> CommitId:
        """Writes a commit; it and what was captured for it are durable when it returns, and no ref names it yet.

        The refs that waited for a sync (`move_ref`) are durable then, too. `trailers` must hold `Chrono-Kind`.
        Whatever `message` and the values contain, they cannot forge a trailer. Raises ValueError for a malformed
        trailer key, StoreError where the commit cannot be written.
        """
        self._require_lock()
        raw = encode(TreeId(content.tree), content.meta, parents, author, at_ns, message, trailers)
        if content.meta is not None:
            self._hold_metadata(content.meta)
        if self._new is None:
            self._new = NewObjects(self._objects)
        commit = CommitId(self._new.put(b"commit", raw).hex())
        self._flush()
        return commit

    def _flush(self) -> None:
        """Makes what was captured durable, and the refs that wait for it."""
        sink, self._new, late = self._new, None, self._refs.late
        if sink is not None:
            sink.flush(tuple(late))
            self._refs.caught_up(late)

    def _put(self, kind: bytes, data: bytes) -> str:
        sink = NewObjects(self._objects)
        oid = sink.put(kind, data)
        sink.flush()
        return oid.hex()

    def _hold_metadata(self, meta: str) -> None:
        """A metadata blob is named by a trailer only; the tree at refs/chrono/meta keeps git from pruning it."""
        old = self._refs.read(META)
        entries = tree.parse(self._objects.read_as(bytes.fromhex(old), b"tree")) if old is not None else []
        name = meta.encode()
        if any(entry.name == name for entry in entries):
            return
        self._flush()
        entries.append(tree.TreeEntry(name, tree.FILE, bytes.fromhex(meta)))
        self._refs.update(META, old, self._put(b"tree", tree.build(entries)))

    def raw_commit(self, commit: CommitId) -> bytes:
        """The raw commit object, without git's header. Raises NoSuchSavepoint."""
        return self._history.raw(commit)

    def savepoint(self, commit: CommitId) -> Savepoint:
        """The commit, read. Raises NoSuchSavepoint."""
        return self._history.read(commit)

    def content(self, commit: CommitId) -> Content:
        """What the commit holds, to be compared with `capture.content`. Raises NoSuchSavepoint."""
        found = self._history.read(commit)
        return Content(found.tree, found.meta)

    def skips(self, commit: CommitId) -> tuple[Skip, ...]:
        """Paths that the commit could not hold as they were. Raises NoSuchSavepoint."""
        return self._contents(commit).meta.skips

    # --- refs

    def ref(self, name: str) -> CommitId | None:
        """The commit that `name` ("refs/heads/main") points to, or None."""
        oid = self._refs.read(name)
        return CommitId(oid) if oid is not None else None

    def refs(self, prefix: str) -> tuple[tuple[str, CommitId], ...]:
        """All refs below `prefix` ("refs/chrono/auto/"), sorted by name; numbers by value."""
        return tuple((name, CommitId(oid)) for name, oid in self._refs.below(prefix) if name != META)

    def newest_refs(self, prefix: str) -> Iterator[tuple[str, CommitId]]:
        """The refs directly below `prefix`, the last number first; each is read only when it is its turn."""
        return ((name, CommitId(oid)) for name, oid in self._refs.newest_first(prefix))

    def head_ref(self) -> str:
        """The ref of the current branch: "refs/heads/main" after create."""
        return self._refs.head()

    def move_ref(self, name: str, old: CommitId | None, new: CommitId | None, *, may_wait: bool = False) -> None:
        """Compare and swap; `old` None: it must not exist, `new` None: delete it. Raises Conflict.

        `may_wait`: where the process `stays`, a new ref becomes durable with the next commit, or by `settle`. Only
        for a ref that can be made again, from the log: a power cut may take it.
        """
        self._require_lock()
        if new is not None:
            self._history.raw(new)
        self._refs.update(name, old, new, durable=not (may_wait and self.stays and old is None))

    def doubt_ref(self, name: str) -> None:
        """Another process may have moved `name` and ended before it was durable: the next commit sees to it."""
        self._refs.doubt(name)

    def settle(self) -> None:
        """Makes the refs durable that wait for it. Needs no lock. Raises StoreError."""
        late = self._refs.late
        if late:
            NewObjects(self._objects).flush(tuple(late))
            self._refs.caught_up(late)

    def set_head(self, name: str) -> None:
        """Makes `name` ("refs/heads/x") the current branch. Raises StoreError."""
        self._require_lock()
        try:
            self._refs.set_head(name)
        except OSError as error:
            raise StoreError(f"HEAD could not be written: {error.strerror}") from error

    def remove_refs(self, expected: dict[str, CommitId]) -> int:
        """Deletes the refs that still hold what is expected of them; returns how many. Raises Conflict, StoreError."""
        self._require_lock()
        return self._refs.remove({name: str(commit) for name, commit in expected.items()})

    @property
    def upkeep(self) -> Upkeep:
        """Packing, and removing what no ref leads to."""
        from chrono.store.upkeep import Upkeep

        return Upkeep(self.layout, self._objects, self._refs, self.lock, self._under_way)

    @property
    def exchange(self) -> Exchange:
        """What travels to remotes and comes from them."""
        from chrono.store.exchange import Exchange

        return Exchange(self.layout, self._objects, self._refs, self._disk)

    def _under_way(self) -> list[str]:
        """The commits that a restore under way still needs."""
        begun = self.pending()
        return [begun.pre, begun.target] if begun is not None else []

    def next_auto_ref(self) -> str:
        """The name for the next automatic savepoint: "refs/chrono/auto/<seq>"."""
        return f"{AUTO}{self._refs.last_number(AUTO) + 1}"

    def next_rescue_ref(self) -> str:
        """The name for the next rescue: "refs/chrono/rescue/<seq>"."""
        return f"{RESCUE}{self._refs.last_number(RESCUE) + 1}"

    # --- reading

    def resolve(self, text: str) -> CommitId:
        """A commit by id, unique prefix (4 or more digits), branch, ref, `HEAD`, each with `~N` and `^`.

        Raises NoSuchSavepoint, also where a prefix fits several.
        """
        return self._history.resolve(text)

    def history(self, *, kinds: frozenset[str] | None = None) -> Iterator[Savepoint]:
        """Every savepoint on a branch, automatic, rescue or other, newest first, each once."""
        return (found for found in self._history.walk() if kinds is None or found.kind in kinds)

    def operations(self) -> Iterator[Savepoint]:
        """The operation log, newest first: commits that hold no files, only what a verb moved."""
        return self._history.chain(OPERATIONS)

    def changes(self, old: CommitId, new: CommitId | None, paths: tuple[str, ...] = ()) -> tuple[Change, ...]:
        """What differs from `old` to `new` (None: the work tree), sorted by path; `paths` limit it."""
        before, after = self._contents(old), self._side(new)
        scopes = _scopes(paths)
        return tuple(
            Change(os.fsdecode(path), kind, a, b)
            for path, kind, a, b in diff.shown(before.differences(after))
            if within(path, scopes)
        )

    def patch(self, old: CommitId, new: CommitId | None, paths: tuple[str, ...] = ()) -> str:
        """The same as a unified diff in git's form."""
        before, after = self._contents(old), self._side(new)
        scopes = _scopes(paths)
        changed = (item for item in diff.shown(before.differences(after)) if within(item[0], scopes))
        return diff.patch(changed, self._stored, self._stored if new is not None else self._on_disk)

    def line_counts(self, old: CommitId, new: CommitId | None, paths: tuple[str, ...] = ()) -> tuple[LineCount, ...]:
        """The same, with how many lines each path adds and deletes."""
        before, after = self._contents(old), self._side(new)
        scopes = _scopes(paths)
        read_new = self._stored if new is not None else self._on_disk
        found = []
        for path, kind, a, b in diff.shown(before.differences(after)):
            if within(path, scopes):
                counted = diff.line_count(path, a, b, self._stored, read_new)
                added, deleted = counted if counted is not None else (None, None)
                found.append(LineCount(Change(os.fsdecode(path), kind, a, b), added, deleted))
        return tuple(found)

    def entries(self, commit: CommitId, paths: tuple[str, ...]) -> tuple[Entry | None, ...]:
        """What `commit` holds at each of `paths`, folders by their tree; None where it holds nothing."""
        contents = self._contents(commit)
        return tuple(contents.find(path) for path in _scopes(paths))

    def _contents(self, commit: CommitId) -> Contents:
        content = self.content(commit)
        return open_contents(self._objects, content.tree, content.meta)

    def _side(self, commit: CommitId | None) -> Contents:
        if commit is not None:
            return self._contents(commit)
        sink = HashOnly()
        found = self._look(sink)

        def read_tree(oid: bytes) -> bytes:
            data = sink.trees.get(oid)
            return data if data is not None else self._objects.read_as(oid, b"tree")

        meta = parse_metadata(found.meta_text) if found.meta_text else EMPTY
        return Contents(found.tree, meta, read_tree)

    def _stored(self, _: bytes, entry: Entry) -> bytes | None:
        oid = bytes.fromhex(entry.oid)
        head = self._objects.head(oid)
        if head is not None and head[1] > diff.SHOW_AT_MOST_BYTES:
            return None
        return self._objects.read_as(oid, b"blob")

    def _on_disk(self, path: bytes, entry: Entry) -> bytes | None:
        """A file of the work tree, or what the store has of it where it cannot be read just now."""
        folder, _, name = path.rpartition(b"/")
        try:
            with FolderHandles(self._root) as handles:
                fd = handles.fd(folder)
                if entry.is_link:
                    return os.readlink(name, dir_fd=fd)
                file = os.open(name, READ_FILE, dir_fd=fd)
                with os.fdopen(file, "rb") as stream:
                    data = stream.read(diff.SHOW_AT_MOST_BYTES + 1)
        except OSError:
            return self._stored(path, entry)
        return data if len(data) <= diff.SHOW_AT_MOST_BYTES else None

    def tracer(self) -> Tracer:
        """For looking one path up in many savepoints."""
        return Tracer(self._objects)

    def read(self, commit: CommitId, path: str) -> bytes:
        """A file's bytes (a link's target) as of `commit`. Raises NoSuchSavepoint where it holds no such file."""
        (name,) = _scopes((path,)) or (b"",)
        entry = self._contents(commit).find(name)
        if entry is None or entry.is_folder:
            raise NoSuchSavepoint(f"savepoint {commit[:12]} holds no file {path!r}")
        return self._objects.read_as(bytes.fromhex(entry.oid), b"blob")

    # --- outside the project

    def check_out(self, commit: CommitId, folder: str) -> CheckedOut:
        """Writes all that `commit` holds into `folder`, an empty one. Raises NoSuchSavepoint, StoreError."""
        made = Checkout(self._root, self._contents(commit), self._objects.blob, self._disk)
        return made.into(os.fsencode(folder))

    def parcel(self, commit: CommitId) -> Iterator[Object]:
        """The objects of a savepoint, to be taken elsewhere. Raises NoSuchSavepoint, StoreError."""
        self._history.raw(commit)
        return gather(self._objects, commit)

    def changed_in(self, folder: str, commit: CommitId) -> tuple[Change, ...]:
        """What differs in `folder` from `commit`, which was checked out there; modes do not count."""
        return checkout.changed(os.fsencode(folder), self._contents(commit))

    # --- merge

    def merge(self, ours: CommitId, theirs: CommitId, labels: Labels, parents: Parents) -> MergeResult:
        """Merges two commits in memory; the result is durable, but no commit holds it yet.

        `labels` name the sides, `parents` is the graph in which their base is looked for. Raises StoreError.
        """
        from chrono.store.union import Union

        self._require_lock()
        return Union(self._objects, self.content, parents).merge(ours, theirs, labels)

    def nothing(self) -> Content:
        """The content of a commit that holds no files. Durable when it returns."""
        self._require_lock()
        return Content(TreeId(self._put(b"tree", b"")), None)

    # --- restore

    @without_collector()
    def plan_restore(self, pre: CommitId, target: CommitId, paths: tuple[str, ...] = ()) -> RestorePlan:
        """The plan from `pre` (the savepoint of the present state) to `target`; changes nothing.

        `paths` are relative to the project, each a file or a folder with all below it. Raises NoSuchSavepoint, and
        UsageError for a path that leads out of the project.
        """
        scopes = _scopes(paths)
        planner = restore.Planner(self._root, self._contents(pre), self._contents(target))
        steps, left = planner.plan(scopes)
        return RestorePlan(pre, target, tuple(map(os.fsdecode, scopes)), steps, left)

    def begin(self, plan: RestorePlan, op: OpId, note: tuple[tuple[str, str], ...] = ()) -> Journal:
        """Checks that the work tree still is `plan.pre` where it would change, then writes the journal with `note`.

        Order: rescue savepoint, plan, begin, audit "restore begin", apply, audit "restore end", finish.
        Raises Conflict where a file changed since; nothing was touched then.
        """
        self._require_lock()
        if self.pending() is not None:
            raise StoreError("another restore is under way", "run chrono doctor to finish or abort it")
        restore.check(self._root, plan, self._memory.vouching(plan.pre))
        made = Journal(op, plan.pre, plan.target, plan.paths, note)
        try:
            journal.write(self._journal_path, made, self._disk)
        except OSError as error:
            raise StoreError(f"the restore was not begun: {error.strerror}", "nothing was touched") from error
        return made

    @without_collector()
    def apply(self, plan: RestorePlan, under: Journal) -> Restored:
        """Stages, syncs, then renames into place; durable when it returns.

        Where staging fails nothing was touched, and the journal is gone if the plan was its first. Raises StoreError
        otherwise, and leaves the journal: `plan_restore` from a new savepoint to `under.target` (go on) or
        `under.pre` (abort), then apply and finish.
        """
        self._require_lock()
        if self.pending() != under or plan.target not in (under.pre, under.target):
            raise StoreError("this plan is not of the restore that is under way", "make a plan from the journal")
        stage = self._stage(under.op)
        try:
            if not os.path.isdir(self.layout.stage):
                self._disk.mkdir(os.fsencode(self.layout.stage), 0o700)
            stage.fill(plan, self._objects.blob)
        except (OSError, StoreError) as error:
            if plan.pre == under.pre:
                self.finish(under)
            else:
                stage.remove()
            raise StoreError(f"the restore could not be prepared: {error}", "nothing was touched") from error
        applier = Applier(self._root, plan, stage, self._disk)
        try:
            done = applier.run()
        except OSError as error:
            raise StoreError(
                f"the restore stopped half-way: {error}", "run chrono doctor to go on with it or to abort it"
            ) from error
        if self._hints is not None:
            self._hints.lapse()
        if len(done.left) == len(plan.left):
            self._memory.follow(plan.target, lambda base: self._refreshed(base, plan, applier.placed))
        else:
            self._memory.forget()  # the work tree is no state that a savepoint holds
        return done

    def _refreshed(self, base: Folder, plan: RestorePlan, placed: dict[int, Key]) -> tuple[bytes, ...]:
        if len(plan.writes) - len(placed) > _WORTH_A_WAIT:
            # What is younger than this is not believed, and would be read once more; the clock of files may be a tick
            # of 10 ms behind.
            time.sleep(RACY_NS / 1e9 + 0.01)
        reader = FileReader(HashOnly(), self._tick_ns() - RACY_NS)
        return Refresh(self._root, base, reader, placed).run(plan.steps)

    def finish(self, done: Journal) -> None:
        """Removes the journal and the stage; the restore is over."""
        self._require_lock()
        try:
            self._stage(done.op).remove()
            journal.remove(self._journal_path, self._disk)
        except OSError as error:
            raise StoreError(f"the end of the restore could not be noted: {error.strerror}") from error

    def pending(self) -> Journal | None:
        """The restore that a crash left under way, or None. Raises StoreError for a journal that cannot be read."""
        return journal.read(self._journal_path)

    @property
    def _journal_path(self) -> bytes:
        return os.fsencode(self.layout.journal)

    def _stage(self, op: OpId) -> Stage:
        return Stage(os.path.join(os.fsencode(self.layout.stage), os.fsencode(op)), self._disk)


def _scopes(paths: tuple[str, ...]) -> tuple[bytes, ...]:
    """Paths as this room writes them. The root itself means everything. Raises UsageError."""
    scopes = []
    for path in paths:
        parts = os.path.normpath(path).split("/")
        if os.path.isabs(path) or ".." in parts:
            raise UsageError(f"{path!r} is not a path in the project", "give paths relative to the project folder")
        if parts == ["."]:
            return ()
        scopes.append(os.fsencode("/".join(parts)))
    return tuple(scopes)
