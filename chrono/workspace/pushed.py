"""Owns what a git push would do that cannot be taken back: secrets that leave, commits that are thrown away there.

What one file may hold is said by `workspace.staged`; whether an overwriting push is refused, by the policy's gate.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from chrono.tuples import NamedTuple
from chrono.workspace.staged import Trouble, blobs, secret_in
from chrono.workspace.usergit import NoGit, UserRepo, ask

MAX_OBJECTS = 20_000
"""Of a larger push only the names of files are looked at."""


class Update(NamedTuple):
    """One line that git hands to `pre-push`: what the remote's ref `there` is to become. None for "no object"."""

    here: str
    new: str | None
    there: str
    old: str | None


def updates(data: bytes) -> tuple[Update, ...]:
    """The lines of a `pre-push` hook's input; lines of another form are left out."""
    found = []
    for line in data.splitlines():
        words = os.fsdecode(line).split()
        if len(words) == 4:
            here, new, there, old = words
            found.append(Update(here, _object(new), there, _object(old)))
    return tuple(found)


def overwriting(repo: UserRepo, asked: Iterable[Update], environ: Mapping[str, str]) -> tuple[Update, ...]:
    """The updates that delete a ref over there, or throw away commits that it holds."""
    return tuple(one for one in asked if one.old is not None and not _keeps(repo, one, environ))


def troubles(repo: UserRepo, asked: Iterable[Update], environ: Mapping[str, str]) -> tuple[Trouble, ...]:
    """Secrets in the commits that the remote does not have yet. Raises NoGit."""
    listed = [one for one in asked if one.new is not None]
    new = [one.new for one in listed if one.new is not None]
    known = [one.old for one in listed if one.old is not None and _is_here(repo, one.old, environ)]
    if not new:
        return ()
    tips = "".join(f"{oid}\n" for oid in (*new, *(f"^{oid}" for oid in known)))
    only_files = "--filter=object:type=blob"
    data = ask(
        ["rev-list", "--objects", only_files, "--stdin", "--not", "--remotes"], repo.top, environ, given=tips.encode()
    )
    named = list(_named(data))
    held = blobs(repo, (oid for oid, _ in named), environ) if len(named) <= MAX_OBJECTS else {}
    found: dict[str, Trouble] = {}
    for oid, path in named:
        trouble = secret_in(path, None, held.get(oid))
        if trouble is not None:
            found.setdefault(path, trouble)
    return tuple(found.values())


def _keeps(repo: UserRepo, update: Update, environ: Mapping[str, str]) -> bool:
    """Whether all that the remote's ref holds is still in what it is to become."""
    if update.new is None or update.old is None:
        return False
    if update.there.startswith("refs/tags/"):
        return update.new == update.old
    try:
        ask(["merge-base", "--is-ancestor", update.old, update.new], repo.top, environ)
    except NoGit:
        return False
    return True


def _is_here(repo: UserRepo, oid: str, environ: Mapping[str, str]) -> bool:
    try:
        ask(["cat-file", "-e", oid], repo.top, environ)
    except NoGit:
        return False
    return True


def _named(data: bytes) -> Iterator[tuple[str, str]]:
    """(object, path) of the files in the output of `rev-list --objects`."""
    for line in data.splitlines():
        oid, space, path = line.partition(b" ")
        if space and path:
            yield oid.decode("ascii"), os.fsdecode(path)


def _object(oid: str) -> str | None:
    return None if not oid.strip("0") else oid
