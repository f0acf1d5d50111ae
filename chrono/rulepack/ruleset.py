"""Owns the compiled ruleset of this machine: one cache file behind a MAC, rebuilt whenever anything is in doubt.

Finding and compiling packs is left to `discover`. A warm call imports neither YAML nor `importlib.metadata`.
"""

from __future__ import annotations

import gc
import marshal
import os
import stat
import sys

from chrono.errors import PluginError
from chrono.layout import HomeLayout
from chrono.scan.rule import PackStamp, Rule, Ruleset
from chrono.tuples import NamedTuple

FORMAT = 1
KEY_BYTES = 32
MAC_BYTES = 32
MAX_CACHE_BYTES = 32_000_000

_CAREFULLY = ("NOFOLLOW", "CLOEXEC", "NONBLOCK")
"""No link is followed, and nobody who lays a fifo there makes a hook wait."""

Stamp = tuple[str, int, int, int]
"""(path, mtime in ns, size, inode); -1 for what is not there."""


def ruleset(home: HomeLayout) -> Ruleset:
    """All installed rules, compiled.

    Kept in `CHRONO_HOME/cache`, one file for each Python version, chrono version and search path. It is used only
    where its MAC is right and the folders on the search path and the pack files still have the stamps they had. A home
    that cannot be written costs time, not safety. Raises PluginError where a pack is broken: the guard blocks then.
    """
    path = os.path.join(home.cache, _cache_name())
    known, stamp = _known.get(path), _stamp(path)
    if known is not None and known[0] == stamp and all(_stamp(one[0]) == one for one in known[1].stamps):
        return known[1].ruleset
    key = _read_key(home)
    cached = _read(path, key) if key is not None else None
    if cached is not None and all(_stamp(one[0]) == one for one in cached.stamps):
        _known.clear()  # one is enough: a process works with one home
        _known[path] = stamp, cached
        return cached.ruleset
    return _rebuild(home, path, key, cached.ruleset if cached is not None else None)


def warm(home: HomeLayout) -> None:
    """Compiles all rules ahead of time, so that the first command of a session does not wait for it.

    A broken pack is left to that command, which says so. Nothing is raised.
    """
    try:
        ruleset(home)
    except PluginError:
        return


class _Cached(NamedTuple):
    """A cache file whose MAC is right; whether it is stale is told by its stamps."""

    stamps: tuple[Stamp, ...]
    ruleset: Ruleset


_known: dict[str, tuple[Stamp, _Cached]] = {}
"""What this process read last: a resident one reads the file again only where it, or what it was made from, changed."""


def _rebuild(home: HomeLayout, path: str, key: bytes | None, cached: Ruleset | None) -> Ruleset:
    from chrono.rulepack.discover import compile_packs, digest_of, discover

    # Stamped before reading: a pack that changes meanwhile is seen at the next call.
    folders = tuple(_stamp(folder) for folder in dict.fromkeys(sys.path))
    sources = discover()
    files = tuple((source.path, *source.stamp) for source in sources)
    # An installation elsewhere on the search path changes stamps, not packs: then nothing is compiled anew.
    same = cached is not None and cached.digest == digest_of(sources)
    built = cached if same and cached is not None else compile_packs(sources)
    if key is None:
        key = _make_key(home)
    if key is not None:
        _write(path, key, (*folders, *files), built)
    return built


def _cache_name() -> str:
    from _blake2 import blake2s

    from chrono import __version__

    # What compiles is part of the name: in an editable install it changes without a new version.
    here = os.path.dirname(__file__)
    compiler = [_stamp(os.path.join(here, name)) for name in ("compile.py", "../plainyaml.py", "../scan/rule.py")]
    cwd = os.getcwd() if "" in sys.path else ""
    parts = (str(FORMAT), sys.version, __version__, str(compiler), cwd, *sys.path)
    digest = blake2s("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return f"rules-{digest}.bin"


# --- the file


def _read(path: str, key: bytes) -> _Cached | None:
    """What the cache file holds, None where it is missing, foreign or damaged."""
    data = _read_own(path, MAX_CACHE_BYTES)
    if data is None or len(data) <= MAC_BYTES:
        return None
    mac, body = data[:MAC_BYTES], data[MAC_BYTES:]
    if not _same(mac, _mac(key, body)):
        return None
    # Tens of thousands of small tuples would set the collector going several times, for 6 of 8 ms.
    collects = gc.isenabled()
    gc.disable()
    try:
        stamps, rules, tables, packs, digest = marshal.loads(body)  # noqa: S302 - behind the MAC just checked
    except (ValueError, EOFError, TypeError):
        return None
    finally:
        if collects:
            gc.enable()
    by_program, by_prefix, by_touch, everywhere = tables
    built = Ruleset(
        tuple(map(Rule._make, rules)),
        by_program,
        by_prefix,
        by_touch,
        everywhere,
        tuple(map(PackStamp._make, packs)),
        digest,
    )
    return _Cached(stamps, built)


def _write(path: str, key: bytes, stamps: tuple[Stamp, ...], built: Ruleset) -> None:
    tables = (built.by_program, built.by_prefix, built.by_touch, built.everywhere)
    rules = tuple(tuple(rule) for rule in built.rules)
    packs = tuple(tuple(pack) for pack in built.packs)
    body = marshal.dumps((stamps, rules, tables, packs, built.digest))  # type: ignore[arg-type]
    from chrono.files import atomic_write

    try:
        atomic_write(path, _mac(key, body) + body, mode=0o600, durable=False)
        _drop_old(os.path.dirname(path), os.path.basename(path))
    except OSError:
        return


def _drop_old(folder: str, kept: str) -> None:
    """A new chrono or Python leaves a file behind each time; only a few are kept."""
    names = [n for n in os.listdir(folder) if n.startswith("rules-") and n.endswith(".bin") and n != kept]
    if len(names) > 8:
        names.sort(key=lambda name: os.stat(os.path.join(folder, name)).st_mtime_ns)
        for name in names[:-8]:
            os.unlink(os.path.join(folder, name))


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path or ".")
    except OSError:
        return (path, -1, -1, -1)
    return (path, found.st_mtime_ns, found.st_size, found.st_ino)


def _mac(key: bytes, body: bytes) -> bytes:
    from _blake2 import blake2b

    return bytes(blake2b(body, key=key, digest_size=MAC_BYTES, person=b"chrono-rules").digest())


def _same(one: bytes, other: bytes) -> bool:
    from _operator import _compare_digest

    return bool(_compare_digest(one, other))


# --- the key


def _key_path(home: HomeLayout) -> str:
    return os.path.join(home.cache, "rules.key")


def _read_key(home: HomeLayout) -> bytes | None:
    key = _read_own(_key_path(home), KEY_BYTES)
    return key if key is not None and len(key) == KEY_BYTES else None


def _make_key(home: HomeLayout) -> bytes | None:
    from chrono.files import atomic_write, own_folder

    key = os.urandom(KEY_BYTES)
    try:
        own_folder(home.cache)
        atomic_write(_key_path(home), key, mode=0o600, durable=False)
    except OSError:
        return None
    return key


def _read_own(path: str, limit_bytes: int) -> bytes | None:
    """A regular file that only its owner can read or write and that is ours; None for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | sum(getattr(os, f"O_{name}", 0) for name in _CAREFULLY))
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit_bytes:
            return None
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            return None
        data = bytearray()
        while len(data) <= limit_bytes:
            piece = os.read(fd, 1 << 20)
            if not piece:
                return bytes(data)
            data += piece
        return None
    except OSError:
        return None
    finally:
        os.close(fd)
