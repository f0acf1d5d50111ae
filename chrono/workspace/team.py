"""Owns the team of this home: names, roles and public keys, and how a person's private key is found.

What a role may do is said by `policy.roles`, what a key signs by `policy.approvals`. Each change is recorded first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from chrono.audit.keys import KeySettings, read_key_file
from chrono.audit.sshagent import openssh_line, openssh_public
from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import KeyRefused, PolicyError, UsageError
from chrono.files import atomic_write, file_lock, own_folder, read_own
from chrono.layout import HomeLayout
from chrono.policy.approvals import Member
from chrono.policy.roles import BUILT_IN
from chrono.signing import PublicKey, Signer, generate, public_key_of_text

if TYPE_CHECKING:
    from chrono.audit.log import AuditLog
    from chrono.audit.record import Actor

_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_MAX_KEY_BYTES = 16 * 1024
_WAIT_S = 10.0
_MAX_BYTES = 1 << 20


def members(home: HomeLayout) -> tuple[Member, ...]:
    """The team, by name. Raises PolicyError where its file is damaged."""
    try:
        data = read_own(home.team, _MAX_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _damaged(home, error.strerror or "unreadable") from None
    try:
        value = parse(data.removesuffix(b"\n"))
        if not isinstance(value, dict) or value.get("fmt") != _FORMAT or not isinstance(value.get("members"), dict):
            raise NotCanonical("members are missing")
        return tuple(_member(name, one) for name, one in sorted(value["members"].items()))  # type: ignore[union-attr]
    except (NotCanonical, KeyRefused) as error:
        raise _damaged(home, str(error)) from None


def member(home: HomeLayout, name: str) -> Member | None:
    """The person called `name`. Raises PolicyError."""
    return next((one for one in members(home) if one.name == name), None)


def add(home: HomeLayout, log: AuditLog, by: Actor, new: Member, *, replace: bool = False) -> None:
    """Enrols a person. `replace`: another role or key for one who is there; a key is never replaced by none.

    Raises UsageError (a name or role that there is not, a name that is taken), PolicyError, Locked.
    """
    if not _NAME.fullmatch(new.name):
        raise UsageError(f"{new.name!r} is no name", "letters, digits and . _ @ - ; at most 64")
    if new.role not in BUILT_IN:
        raise UsageError(f"there is no role {new.role!r}", f"roles: {', '.join(BUILT_IN)}")
    with file_lock(f"{home.team}.lock", timeout_s=_WAIT_S):
        known = {one.name: one for one in members(home)}
        old = known.get(new.name)
        if old is not None and not replace:
            raise UsageError(f"{new.name} is in the team already", "chrono team list; to change: add --replace")
        if old is not None and new.key is None:
            new = new._replace(key=old.key)
        other = next((one.name for one in known.values() if one.key == new.key and one.name != new.name), None)
        if new.key is not None and other is not None:
            raise UsageError(f"this key is enrolled for {other}", "each person has a key of their own")
        known[new.name] = new
        _record(log, by, "add" if old is None else "change", new)
        _write(home, tuple(known.values()))


def remove(home: HomeLayout, log: AuditLog, by: Actor, name: str) -> None:
    """Takes a person out; what they have approved and was not used yet ends with it. Raises UsageError, Locked."""
    with file_lock(f"{home.team}.lock", timeout_s=_WAIT_S):
        known = {one.name: one for one in members(home)}
        gone = known.pop(name, None)
        if gone is None:
            raise UsageError(f"{name!r} is not in the team", "chrono team list")
        _record(log, by, "remove", gone)
        _write(home, tuple(known.values()))
    try:
        os.unlink(home.approver_key(name))
    except FileNotFoundError:
        pass


def public_key_in(path: str) -> PublicKey:
    """The public key in file `path`: one line of OpenSSH, or base64 of 32 bytes. Raises KeyRefused."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_KEY_BYTES)
    except OSError as error:
        raise KeyRefused(f"the key file {path} cannot be read: {error.strerror}") from None
    if b"PRIVATE KEY" in data:
        raise KeyRefused(f"{path} is a private key", "give the public one, which ends in .pub")
    words = data.split()
    if words[:1] == [b"ssh-ed25519"]:
        return openssh_public(data)
    if words and words[0].startswith((b"ssh-", b"ecdsa-", b"sk-")):
        kind = words[0].decode("ascii", "replace")
        raise KeyRefused(f"{path} is a key of kind {kind}; approvals are signed with Ed25519", "ssh-keygen -t ed25519")
    return public_key_of_text(data.decode("ascii", "replace").strip())


def new_key(home: HomeLayout, name: str, passphrase: str) -> PublicKey:
    """Makes a key for `name`, kept locked with `passphrase`. Raises UsageError (there is one, an empty passphrase)."""
    path = home.approver_key(name)
    if os.path.lexists(path):
        raise UsageError(f"there is a key of {name} already: {path}", "chrono team remove takes both away")
    if not passphrase:
        raise UsageError("an approver's key needs a passphrase", "else whatever runs as you could sign with it")
    signer = generate()
    own_folder(home.keys)
    atomic_write(path, signer.pem(passphrase.encode("utf-8", "surrogateescape")), mode=0o600)
    return signer.public


def signer_of(
    home: HomeLayout,
    who: Member,
    agent: str | None,
    passphrase: Callable[[str], str | None],
    *,
    key_file: str | None = None,
) -> Signer:
    """The private key of `who`: in `key_file`, else in this home, else in the ssh-agent at socket `agent`.

    `passphrase` is asked, with a question, only where the key is locked. Raises KeyRefused.
    """
    if who.key is None:
        raise KeyRefused(f"no key is enrolled for {who.name}", f"chrono approvals enroll {who.name}")
    path = key_file or home.approver_key(who.name)
    if key_file is None and not os.path.lexists(path):
        from chrono.audit.sshagent import agent_signer

        return agent_signer(openssh_line(who.key).encode("ascii"), agent)
    if _is_locked(path):
        word = passphrase(f"Passphrase of {who.name}'s key: ")
        if not word:
            raise KeyRefused("no passphrase was given, so nothing was signed")
        try:
            signer = read_key_file(path, KeySettings(agent=agent, passphrase=word))
        except KeyRefused:
            raise KeyRefused(f"{path} is not opened by that passphrase", "nothing was signed; try again") from None
    else:
        signer = read_key_file(path, KeySettings(agent=agent))
    if signer.public != who.key:
        raise KeyRefused(f"{path} is not the key that is enrolled for {who.name}", "chrono team list shows key ids")
    return signer


def _is_locked(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(64).startswith(b"-----BEGIN ENCRYPTED")
    except OSError:
        return False  # reading the key says why


def _member(name: str, value: Json) -> Member:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        raise NotCanonical(f"{name} has no role")
    key = value.get("key")
    return Member(name, str(value["role"]), public_key_of_text(key) if isinstance(key, str) else None)


def _write(home: HomeLayout, team: tuple[Member, ...]) -> None:
    listed: dict[str, Json] = {}
    for one in team:
        entry: dict[str, Json] = {"role": one.role}
        if one.key is not None:
            entry["key"] = one.key.text
        listed[one.name] = entry
    atomic_write(home.team, canonical_bytes({"fmt": _FORMAT, "members": listed}) + b"\n")


def _record(log: AuditLog, by: Actor, what: str, who: Member) -> None:
    from chrono.audit.record import Act, Entry

    more: list[tuple[str, Json]] = [("name", who.name), ("role", who.role)]
    if who.key is not None:
        more += [("kid", who.key.kid), ("pub", who.key.text)]
    log.append(Entry("team.change", by, Act(op=what, more=tuple(more))), timeout_s=_WAIT_S)


def _damaged(home: HomeLayout, why: str) -> PolicyError:
    return PolicyError(f"the team in {home.team} cannot be used: {why}", "move the file away and enrol everybody again")
