"""Owns what a git commit would bring in that must not be there: chrono's own folder, secrets, scripts that destroy.

Only what is staged counts, not the files as they lie there. Who is told, and what a person may do about it, is left to
`cli`; what is about to be pushed to `workspace.pushed`.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping

from chrono.audit.redact import issued, redact
from chrono.layout import PROJECT_DIR
from chrono.scan.places import in_home, is_secret_name
from chrono.tuples import NamedTuple
from chrono.workspace.usergit import UserRepo, ask

MAX_BYTES = 1_000_000
"""Larger files are judged by their name only."""
MAX_SCRIPTS = 20
MAX_SCRIPT_BYTES = 200_000

_NOTHING = "0" * 40
_SUBMODULE = b"160000"
_ENCODINGS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SHELLS = {"sh": "sh", "bash": "bash", "dash": "sh", "ksh": "bash", "zsh": "zsh"}
_SCRIPT_ENDS = {".sh": "bash", ".bash": "bash", ".zsh": "zsh", ".ksh": "bash"}
_SETTINGS_FILES = (".npmrc", ".yarnrc.yml", ".pypirc", ".dockercfg", ".tfvars", ".ovpn")
_SAMPLE = "example"


class Change(NamedTuple):
    """One staged file: its path in the repository, the object it was (None: new) and the object it is to be."""

    path: str
    old: str | None
    new: str


class Trouble(NamedTuple):
    """One thing that stands against a commit or a push. `kind`: "chrono", "secret" or "script"; `why` for people."""

    path: str
    kind: str
    why: str


def changes(repo: UserRepo, environ: Mapping[str, str]) -> tuple[Change, ...]:
    """The files that are staged as new or changed. `environ` as the hook got it: it names the index. Raises NoGit."""
    options = ["--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=dirty", "--diff-filter=ACMT"]
    data = ask(["diff", "--cached", *options], repo.top, environ)
    return tuple(_changes(data))


def troubles(repo: UserRepo, staged: Iterable[Change], environ: Mapping[str, str]) -> tuple[Trouble, ...]:
    """What among the staged files must not be committed, or should not. Raises NoGit, PolicyError, PluginError."""
    found: list[Trouble] = []
    scripts: list[tuple[Change, str, str]] = []
    for change, old, new in _contents(repo, staged, environ):
        trouble = secret_in(change.path, old, new)
        if trouble is not None:
            found.append(trouble)
        shell = _shell_of(change.path, new)
        if shell is not None and len(scripts) < MAX_SCRIPTS:
            scripts.append((change, shell, _text(new)))
    found.extend(_script_troubles(repo, scripts, environ))
    return tuple(found)


def secret_in(path: str, old: bytes | None, new: bytes | None) -> Trouble | None:
    """What makes a file unfit to leave the machine. `old` None: it is new; `new` None: too large to look into."""
    parts = path.split("/")
    if PROJECT_DIR in parts:
        return Trouble(path, "chrono", f"{PROJECT_DIR} is chrono's own folder: it holds savepoints of everything")
    text = _text(new)
    fresh = {one for one in issued(text) - issued(_text(old)) if _SAMPLE not in one.lower()}
    if fresh:
        what = "a private key" if "PRIVATE KEY-----" in text else "a token or key"
        return Trouble(path, "secret", f"it holds {what} in line {_line_of(text, min(fresh, key=text.find))}")
    if old is None and _is_credential(path) and not _is_public(path, new):
        return Trouble(path, "secret", "files of this name hold credentials")
    return None


def _is_credential(path: str) -> bool:
    return is_secret_name(path.rpartition("/")[2]) or in_home(path) == "credential"


def _is_public(path: str, content: bytes | None) -> bool:
    """Whether a file with a name for credentials is seen to hold none: a certificate, settings without a value."""
    if content is None or b"\0" in content:
        return False
    text = _text(content)
    lower = path.lower()
    if not text.strip():
        return True
    if lower.endswith(".pem"):
        return "-----BEGIN" in text and "PRIVATE" not in text
    return lower.endswith(_SETTINGS_FILES) and not redact(text)[1]


def _script_troubles(
    repo: UserRepo, scripts: list[tuple[Change, str, str]], environ: Mapping[str, str]
) -> Iterator[Trouble]:
    """Scripts that would be blocked if somebody ran them here, for what the staged change brought in."""
    if not scripts:
        return
    from chrono.workspace.assess import Assessor

    assessor = Assessor.open(repo.top, environ)
    for change, shell, text in scripts:
        verdict = assessor.assess(text, shell=shell).verdict
        if verdict.decision != "block" or not verdict.findings:
            continue
        judged = next(one for one in verdict.findings if one.decision == "block")
        finding = judged.finding
        line = text.count("\n", 0, finding.span[0]) + 1
        yield Trouble(change.path, "script", f"line {line} {finding.title} ({finding.rule})")


def _shell_of(path: str, content: bytes | None) -> str | None:
    """The shell that a file is a script of, None for anything else."""
    if content is None or len(content) > MAX_SCRIPT_BYTES or b"\0" in content:
        return None
    if content.startswith(b"#!"):
        words = _text(content.split(b"\n", 1)[0][2:]).split()
        names = [word.rpartition("/")[2] for word in words[:3]]
        return next((_SHELLS[name] for name in names if name in _SHELLS), None)
    return _SCRIPT_ENDS.get(os.path.splitext(path)[1].lower())


def _contents(
    repo: UserRepo, staged: Iterable[Change], environ: Mapping[str, str]
) -> Iterator[tuple[Change, bytes | None, bytes | None]]:
    """Each change with its old and new bytes; None for new files and for what is too large."""
    listed = list(staged)
    wanted = [oid for change in listed for oid in (change.old, change.new) if oid is not None]
    held = blobs(repo, wanted, environ)
    for change in listed:
        old = held.get(change.old, b"") if change.old is not None else None
        yield change, old, held.get(change.new)


def blobs(repo: UserRepo, oids: Iterable[str], environ: Mapping[str, str]) -> dict[str, bytes]:
    """The bytes of those files that are no larger than MAX_BYTES; others, and objects that are no files, are left out.

    Raises NoGit.
    """
    unique = list(dict.fromkeys(oids))
    sizes = ask(["cat-file", "--batch-check"], repo.top, environ, given=_lines(unique)).split(b"\n")
    small = []
    for oid, line in zip(unique, sizes, strict=False):
        words = line.split()
        if len(words) == 3 and words[1] == b"blob" and int(words[2]) <= MAX_BYTES:
            small.append((oid, int(words[2])))
    if not small:
        return {}
    data = ask(["cat-file", "--batch"], repo.top, environ, given=_lines([oid for oid, _ in small]))
    found, at = {}, 0
    for oid, size in small:
        at = data.index(b"\n", at) + 1
        found[oid] = data[at : at + size]
        at += size + 1
    return found


def _changes(data: bytes) -> Iterator[Change]:
    parts = data.split(b"\0")
    for head, path in zip(parts[::2], parts[1::2], strict=False):
        words = head.split()
        # A submodule holds no bytes of this repository, but `.chrono` must not become one: git would look into it.
        if len(words) == 5 and (words[1] != _SUBMODULE or PROJECT_DIR.encode("ascii") in path.split(b"/")):
            old, new = words[2].decode("ascii"), words[3].decode("ascii")
            yield Change(os.fsdecode(path), None if old.startswith(_NOTHING) else old, new)


def _lines(oids: Iterable[str]) -> bytes:
    return "".join(oid + "\n" for oid in oids).encode("ascii")


def _text(data: bytes | None) -> str:
    """The text of a file: UTF-8, or UTF-16 where it says so in front, as PowerShell writes it."""
    for mark, encoding in _ENCODINGS:
        if data is not None and data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return (data or b"").decode("utf-8", "surrogateescape")


def _line_of(text: str, part: str) -> int:
    return text.count("\n", 0, max(text.find(part), 0)) + 1
