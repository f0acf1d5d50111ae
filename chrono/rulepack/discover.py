"""Owns finding rule packs: entry points whose value names a package that is read, never imported.

Compiling what is found is left to `compile`, keeping the result to `ruleset`.
"""

from __future__ import annotations

import os

from chrono.errors import PluginError
from chrono.plugins import Found, PluginGroup
from chrono.rulepack.compile import Pack, RulePackError, compile_pack
from chrono.scan.rule import PackStamp, Rule, Ruleset, ruleset_of
from chrono.tuples import NamedTuple

GROUP = PluginGroup("chrono.rule_packs", 1)
PACK_FILE = "pack.yaml"
CASES_FILE = "cases.yaml"
MAX_PACK_BYTES = 1_000_000

BUILT_IN = (
    "accounts",
    "aws",
    "azure",
    "backups",
    "boot",
    "containers",
    "coordination",
    "credentials",
    "database",
    "defender",
    "disk",
    "exfiltration",
    "filesystem",
    "firewall",
    "git",
    "google-cloud",
    "hosting",
    "infrastructure",
    "kubernetes",
    "network",
    "orm",
    "packages",
    "permissions",
    "persistence",
    "platforms",
    "processes",
    "powershell",
    "publishing",
    "queues",
    "remote-code",
    "registry",
    "reverse-shell",
    "self-protection",
    "services",
    "system",
    "traces",
    "windows",
)
"""Packs without which nothing is guarded: where one is missing, nothing is compiled."""

_OWN = "chrono-toolkit"
_REINSTALL = "reinstall chrono-toolkit; until then every enforced command is blocked"


class PackSource(NamedTuple):
    """One pack as found: `path` of its `pack.yaml`, the bytes and their SHA-256 hex, the distribution it came with.

    `stamp` is (mtime in ns, size, inode) of the file that was opened, taken before it was read.
    """

    name: str
    path: str
    data: bytes
    sha256: str
    distribution: str
    stamp: tuple[int, int, int] = (-1, -1, -1)

    @property
    def cases_path(self) -> str:
        return os.path.join(os.path.dirname(self.path), CASES_FILE)


def discover() -> tuple[PackSource, ...]:
    """All installed packs by name. Nothing of them is imported.

    Raises PluginError, naming the pack, where one cannot be found or read, where a built-in one is missing, or where
    a pack lies in two places.
    """
    found = GROUP.found()
    missing = sorted(set(BUILT_IN) - {entry.name for entry in found})
    if missing:
        raise PluginError(f"built-in rule packs are not installed: {', '.join(missing)}", _REINSTALL)
    for entry in found:
        if entry.name in BUILT_IN and _plain(entry.distribution) != _OWN:
            raise PluginError(
                f"{entry.distribution} claims the built-in rule pack '{entry.name}'",
                f"uninstall it: pip uninstall {entry.distribution}",
            )
    return tuple(_source(entry) for entry in found)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _source(entry: Found) -> PackSource:
    import hashlib

    path = _locate(entry)
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            data = file.read(MAX_PACK_BYTES + 1)
    except OSError as error:
        raise _broken(entry, f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_PACK_BYTES:
        raise _broken(entry, f"{path} is larger than {MAX_PACK_BYTES} bytes")
    stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
    return PackSource(entry.name, path, data, hashlib.sha256(data).hexdigest(), entry.distribution, stamp)


def _locate(entry: Found) -> str:
    """The one `pack.yaml` that a value such as `chrono_rules.git` names.

    Only the first part is looked up, and of that only where it lies: importing it would run what a guard must not run.
    """
    from importlib.util import find_spec

    top, *rest = parts = entry.value.split(".")
    # One value that is no object reference makes `importlib_metadata` refuse every entry point of the environment.
    if not all(part.isidentifier() for part in parts):
        raise _broken(entry, f"its entry point {entry.value!r} does not name a package")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError) as error:
        raise _broken(entry, f"package {top} cannot be found ({error})") from None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [path for place in places if os.path.isfile(path := os.path.join(place, *rest, PACK_FILE))]
    distinct = list(dict.fromkeys(os.path.realpath(path) for path in found))
    if not distinct:
        raise _broken(entry, f"{entry.value} has no {PACK_FILE}")
    if len(distinct) > 1:
        raise _broken(entry, f"it lies in two places, {distinct[0]} and {distinct[1]}")
    return distinct[0]


def _broken(entry: Found, why: str) -> PluginError:
    remedy = _REINSTALL if entry.name in BUILT_IN else f"upgrade or uninstall it: pip uninstall {entry.distribution}"
    return PluginError(f"rule pack '{entry.name}' of {entry.distribution} is broken: {why}", remedy)


def compile_packs(sources: tuple[PackSource, ...]) -> Ruleset:
    """One ruleset of all packs; a pack can only add rules.

    Raises PluginError, naming the pack, where one is not valid or repeats another's rule id.
    """
    rules: list[Rule] = []
    owner: dict[str, str] = {}
    for source in sources:
        pack = _compiled(source)
        for rule in pack.rules:
            if rule.id in owner:
                raise PluginError(f"rule {rule.id!r} stands in pack '{owner[rule.id]}' and in pack '{source.name}'")
            owner[rule.id] = source.name
        rules.extend(pack.rules)
    stamps = tuple(PackStamp(source.name, source.sha256, source.distribution) for source in sources)
    return ruleset_of(tuple(rules), stamps, digest_of(sources))


_MEMO: dict[tuple[str, str], Pack] = {}
"""Packs compiled by this process: the resident service meets the same bytes again and again."""


def _compiled(source: PackSource) -> Pack:
    known = _MEMO.get((source.path, source.sha256))
    if known is not None and known.name == source.name:
        return known
    try:
        pack = compile_pack(source.data.decode("utf-8"), source.path, pack=source.name)
    except UnicodeDecodeError:
        raise PluginError(f"rule pack '{source.name}' of {source.distribution} is not UTF-8 text") from None
    except RulePackError as error:
        message = f"rule pack '{source.name}' of {source.distribution} is broken: {error.message}"
        raise RulePackError(message, error.hint, line=error.line) from None
    if len(_MEMO) >= 64:
        _MEMO.clear()
    _MEMO[(source.path, source.sha256)] = pack
    return pack


def digest_of(sources: tuple[PackSource, ...]) -> str:
    """SHA-256 hex over the names and contents of all packs."""
    import hashlib

    total = hashlib.sha256(b"chrono-rules/v1\n")
    for source in sources:
        total.update(f"{source.name}\t{source.distribution}\t{source.sha256}\n".encode())
    return total.hexdigest()
