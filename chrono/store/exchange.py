"""Owns moving objects and refs between the hidden repository and a remote: one connection, one throw-away repository.

What arrives waits in quarantine until the caller has looked at it. Which refs travel under which names, and what may be
believed of a remote, is decided by `workspace.remotes` and its verbs. The layout is in docs/formats/remote.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from chrono.errors import StoreError
from chrono.layout import ProjectLayout
from chrono.store import gitprogram, tree
from chrono.store.checkout import remove_tree
from chrono.store.disk import Disk
from chrono.store.gitprogram import REMOTE, Address, Git
from chrono.store.leftovers import lives
from chrono.store.objects import NewObjects, Objects
from chrono.store.refs import Refs, check_name
from chrono.store.savepoint import Savepoint, decode, encode
from chrono.tuples import NamedTuple

_PREFIX = "exchange.tmp-"
_IN = "refs/in/"
_HAVE = "refs/have/"
_MOST_HAVES = 400


class Pushed(NamedTuple):
    """What became of one ref. `state`: "new", "moved", "same" or "refused"; `why` for the last."""

    name: str
    state: str
    why: str


class Layered:
    """Objects of the quarantine, and those of the project behind them."""

    def __init__(self, first: Objects, second: Objects) -> None:
        self._layers = (first, second)

    def read(self, oid: str, kind: bytes) -> bytes:
        """Raises StoreError where there is no such object of this kind."""
        for layer in self._layers:
            try:
                found, data = layer.read(bytes.fromhex(oid))
            except KeyError:
                continue
            if found != kind:
                raise StoreError(f"object {oid} is a {found.decode()}, not a {kind.decode()}")
            return data
        raise StoreError(f"object {oid} is missing")

    def is_new(self, oid: str) -> bool:
        """Whether the project has no such object itself."""
        return self._layers[1].head(bytes.fromhex(oid)) is None

    def commit(self, oid: str) -> Savepoint:
        return decode_commit(oid, self.read(oid, b"commit"))


def decode_commit(oid: str, raw: bytes) -> Savepoint:
    from chrono.ids import CommitId

    return decode(CommitId(oid), raw)


class Connection:
    """One remote, as long as the context lasts. All methods that talk raise RemoteError."""

    def __init__(self, folder: str, git: Git, objects: Objects, disk: Disk) -> None:
        self._folder = folder
        self._git = git
        self._mine = objects
        self._disk = disk
        self._quarantine = Objects(os.path.join(os.fsencode(folder), b"objects"), disk)
        self._refs = Refs(os.fsencode(folder), disk)
        self.objects = Layered(self._quarantine, objects)

    @property
    def folder(self) -> str:
        """The throw-away repository; files may be laid into it while the connection lasts."""
        return self._folder

    def listed(self) -> dict[str, str]:
        """All refs of the remote, and `HEAD` as the name that it stands for ("refs/heads/main")."""
        text = self._git.run("ls-remote", "--symref", "--", REMOTE).decode("utf-8", "surrogateescape")
        found = {}
        for row in text.splitlines():
            value, _, name = row.partition("\t")
            if name == "HEAD":
                if value.startswith("ref: "):
                    found["HEAD"] = value[5:]
            elif name.endswith("^{}") or not _is_oid(value):
                continue
            else:
                found[name] = value
        return found

    def fetch(self, specs: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Fetches refs: (pattern there, prefix); the result names them by prefix and what the `*` stood for.

        Everything that arrives is checked by git's fsck and stays in quarantine.
        """
        words = [f"+{there}:{_IN}{prefix}{'*' if there.endswith('*') else ''}" for there, prefix in specs]
        quiet = ("--no-tags", "--no-write-fetch-head", "--quiet", "--no-auto-maintenance", "--no-recurse-submodules")
        self._git.run("fetch", *quiet, "--", REMOTE, *words)
        return {name[len(_IN) :]: oid for name, oid in self._refs.below(_IN)}

    def push(self, refs: Mapping[str, str], *, forced: str, grown: str) -> tuple[Pushed, ...]:
        """Sends refs under their names; only those below `forced`, `grown` aside, may be anything but a fast-forward.

        So `grown` only moves on from the commit that its new one was made on: whoever moved it meanwhile is not undone.
        """
        self._write_packed(refs)
        free = {name.removeprefix(forced) for name in refs if name.startswith(forced) and name != grown}
        folders = {f"{name.partition('/')[0]}/*" if "/" in name else name for name in free}
        specs = [f"{name}:{name}" for name in refs if not name.startswith(forced) or name == grown]
        specs += [f"+{forced}{name}:{forced}{name}" for name in sorted(folders)]
        out, said = self._git.attempt("push", "--porcelain", "--no-verify", "--", REMOTE, *specs)
        done = tuple(_pushed(row) for row in out.decode("utf-8", "surrogateescape").splitlines() if "\t" in row)
        if not done or any("unpacker error" in one.why for one in done):
            raise self._git.failed(said)
        return done

    def _write_packed(self, refs: Mapping[str, str]) -> None:
        rows = sorted((check_name(name).encode("utf-8", "surrogateescape"), oid) for name, oid in refs.items())
        data = b"".join(b"%s %s\n" % (oid.encode("ascii"), name) for name, oid in rows)
        with open(os.path.join(self._folder, "packed-refs"), "wb") as file:
            file.write(b"# pack-refs with: sorted \n" + data)

    def know(self, refs: Iterable[tuple[str, str]]) -> None:
        """Tells git which commits need not be sent again."""
        self._write_packed({f"{_HAVE}{number}": oid for number, (_, oid) in enumerate(refs) if number < _MOST_HAVES})

    def accept(self) -> None:
        """Moves what has arrived from quarantine into the store, durable. Under the store lock. Raises StoreError."""
        source = os.path.join(os.fsencode(self._folder), b"objects", b"pack")
        names = sorted(os.listdir(source))
        try:
            for ending in (b".pack", b".idx"):  # an index makes its pack visible
                for name in names:
                    if name.endswith(ending):
                        self._move(os.path.join(source, name), os.path.join(self._mine.pack_folder, name))
            self._disk.fsync_folder(self._mine.pack_folder)
        except OSError as error:
            raise StoreError(f"what was fetched could not be kept: {error.strerror}") from error
        self._quarantine.close()

    def _move(self, source: bytes, target: bytes) -> None:
        fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._disk.fsync(fd)
        finally:
            os.close(fd)
        if not os.path.lexists(target):
            self._disk.rename(source, target)


class Exchange:
    """The store's side of every remote."""

    def __init__(self, layout: ProjectLayout, objects: Objects, refs: Refs, disk: Disk) -> None:
        self._layout = layout
        self._objects = objects
        self._refs = refs
        self._disk = disk

    @contextmanager
    def connect(
        self, place: Address, environ: Mapping[str, str], redact: Callable[[str], str], *, person: bool
    ) -> Iterator[Connection]:
        """A connection with a quarantine of its own, which is gone afterwards. Raises RemoteError, StoreError."""
        self._sweep()
        folder = os.path.join(self._layout.dir, f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
        try:
            self._lay(folder, place)
            connection = Connection(
                folder, Git(folder, place, environ, redact, person=person), self._objects, self._disk
            )
            yield connection
        finally:
            if os.path.isdir(folder):
                remove_tree(os.fsencode(folder))

    def _lay(self, folder: str, place: Address) -> None:
        objects = os.fsdecode(self._objects.folder)
        if "\n" in objects:
            raise StoreError(f"{objects} has a line break in its name: git cannot borrow objects from there")
        try:
            for name in ("", "refs", "objects", "objects/info", "objects/pack"):
                os.mkdir(os.path.join(folder, name), 0o700)
            for name, data in (
                ("HEAD", b"ref: refs/heads/nowhere\n"),
                ("config", gitprogram.write_config(place)),
                ("objects/info/alternates", os.fsencode(objects) + b"\n"),
            ):
                fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
        except OSError as error:
            raise StoreError(f"{folder} could not be made: {error.strerror}") from error
        for name in ("alternates", "http-alternates"):
            if os.path.lexists(os.path.join(objects, "info", name)):
                raise StoreError(f"{objects}/info/{name} exists: somebody added objects from elsewhere", "remove it")

    def _sweep(self) -> None:
        """What killed processes left."""
        for name in os.listdir(self._layout.dir):
            pid = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and pid.isdigit() and not lives(int(pid)):
                remove_tree(os.fsencode(os.path.join(self._layout.dir, name)))

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """All refs below `prefix`, of whatever kind."""
        return dict(self._refs.below(prefix))

    def set_refs(self, values: Mapping[str, str]) -> None:
        """Sets refs, whatever they were. Under the store lock; for refs that only remotes' verbs write."""
        self._refs.take_in(dict(values))

    def drop_refs(self, names: Iterable[str]) -> None:
        """Deletes refs. Under the store lock."""
        self._refs.remove({name: oid for name in names if (oid := self._refs.read(name)) is not None})

    def write_files(self, files: Mapping[str, bytes], parents: Sequence[str], message: str, at_ns: int) -> str:
        """A durable commit that holds `files` (names without "/"); under the store lock. Raises StoreError."""
        from chrono.ids import CommitId, TreeId

        sink = NewObjects(self._objects)
        entries = [(name.encode(), tree.FILE, sink.put(b"blob", data)) for name, data in sorted(files.items())]
        root = sink.put(b"tree", tree.build(entries))
        ids = tuple(CommitId(parent) for parent in parents)
        kind = (("Chrono-Kind", "audit"),)
        raw = encode(TreeId(root.hex()), None, ids, "chrono", at_ns, message, kind)
        commit = sink.put(b"commit", raw)
        sink.flush()
        return commit.hex()

    @property
    def objects(self) -> Layered:
        """The store's own objects."""
        return Layered(self._objects, self._objects)


def read_files(objects: Layered, commit: str) -> dict[str, bytes]:
    """The files of a commit of `write_files`. Raises StoreError."""
    root = objects.commit(commit).tree
    entries = tree.parse(objects.read(root, b"tree"))
    return {
        entry.name.decode("utf-8", "surrogateescape"): objects.read(entry.oid.hex(), b"blob")
        for entry in entries
        if entry.mode == tree.FILE
    }


def _pushed(row: str) -> Pushed:
    """One line of `git push --porcelain`: flag, from:to, summary."""
    flag, names, summary = [*row.split("\t"), "", ""][:3]
    name = names.rpartition(":")[2]
    if flag == "!":
        return Pushed(name, "refused", summary.strip())
    return Pushed(name, {"*": "new", "=": "same"}.get(flag, "moved"), "")


def _is_oid(text: str) -> bool:
    return len(text) == 40 and all(char in "0123456789abcdef" for char in text)
