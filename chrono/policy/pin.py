"""Owns a person's word on policies: contents that were trusted, and what one project was pinned to.

Trust is one file `CHRONO_HOME/trust/policy-<SHA-256>` a content; a pin one file `pinned-<log id>` a project. Who may
give it (never an agent) is decided by `cli` and the rules; the audit record is written by `workspace.trust`.
"""

from __future__ import annotations

import os

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.clock import rfc3339
from chrono.errors import PolicyError
from chrono.files import atomic_write, fsync_dir, own_folder, read_own
from chrono.layout import HomeLayout
from chrono.tuples import NamedTuple

_MAX_PIN_BYTES = 1 << 20
_MAX_NOTE_BYTES = 1 << 16
_PIN_FORMAT = 1


class PolicyPin(NamedTuple):
    """What a project is held to: the digest of its effective policy, (layer, SHA-256) of each file that took part,
    (name, SHA-256) of each rule pack and of each adapter's code; `adapters` is empty in a pin that is older."""

    sha256: str
    files: tuple[tuple[str, str], ...]
    packs: tuple[tuple[str, str], ...]
    adapters: tuple[tuple[str, str], ...] = ()


def is_trusted(home: HomeLayout, sha256: str) -> bool:
    """Whether a person trusted the policy file with this SHA-256 (64 hex digits). A link in its place is no trust."""
    path = home.trusted_policy(sha256)
    return len(sha256) == 64 and os.path.isfile(path) and not os.path.islink(path)


def trust(home: HomeLayout, sha256: str, *, source: str, at_ns: int) -> None:
    """Trusts the content with this SHA-256, read from path `source`. Raises OSError where the home is not writable."""
    own_folder(home.trust)
    note = f"chrono-policy-trust/v1\n{rfc3339(at_ns)}\n{source}\n"
    atomic_write(home.trusted_policy(sha256), note.encode("utf-8", "surrogateescape"))


def trusted_from(home: HomeLayout, source: str) -> tuple[str, ...]:
    """SHA-256 of every content that was last trusted as the policy at path `source`, in order of the digits."""
    found = []
    try:
        names = os.listdir(home.trust)
    except FileNotFoundError:
        return ()
    for name in names:
        sha256 = name.removeprefix("policy-")
        if name == sha256 or not is_trusted(home, sha256):
            continue
        try:
            note = read_own(home.trusted_policy(sha256), _MAX_NOTE_BYTES).split(b"\n", 2)
        except OSError:
            continue  # nobody can say where it was read
        if note[2:] == [os.fsencode(source) + b"\n"]:
            found.append(sha256)
    return tuple(sorted(found))


def untrust(home: HomeLayout, sha256: str) -> bool:
    """Takes back the trust in the content with this SHA-256, durable before the return; False where there was none."""
    try:
        os.unlink(home.trusted_policy(sha256))
    except FileNotFoundError:
        return False
    fsync_dir(home.trust)
    return True


def read_policy_pin(home: HomeLayout, log_id: str) -> PolicyPin | None:
    """What the project with this log is pinned to, None where it is not. Raises PolicyError (a damaged pin)."""
    path = home.pinned_policy(log_id)
    try:
        data = read_own(path, _MAX_PIN_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, error.strerror or "unreadable") from None
    try:
        value = parse(data.removesuffix(b"\n"))
    except NotCanonical as error:
        raise _damaged(path, str(error)) from None
    sha256 = value.get("policy") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(sha256, str):
        raise _damaged(path, "members are missing")
    return PolicyPin(sha256, _pairs(value.get("files")), _pairs(value.get("packs")), _pairs(value.get("adapters")))


def write_policy_pin(home: HomeLayout, log_id: str, pin: PolicyPin) -> None:
    """Pins a project, durable before the return. Raises OSError where the home is not writable."""
    value: dict[str, Json] = {
        "adapters": dict(pin.adapters),
        "files": dict(pin.files),
        "fmt": _PIN_FORMAT,
        "packs": dict(pin.packs),
        "policy": pin.sha256,
    }
    own_folder(home.trust)
    atomic_write(home.pinned_policy(log_id), canonical_bytes(value) + b"\n")


def remove_policy_pin(home: HomeLayout, log_id: str) -> bool:
    """Ends the pin; False where there was none."""
    try:
        os.unlink(home.pinned_policy(log_id))
    except FileNotFoundError:
        return False
    try:
        os.unlink(home.pinned_rules(log_id))
    except FileNotFoundError:
        pass  # pinned before rules were noted
    fsync_dir(home.trust)
    return True


def write_pinned_rules(home: HomeLayout, log_id: str, rules: Json) -> None:
    """Notes what the rules say as they are pinned, so that a later change can be shown. Raises OSError."""
    atomic_write(home.pinned_rules(log_id), canonical_bytes({"fmt": _PIN_FORMAT, "rules": rules}) + b"\n")


def read_pinned_rules(home: HomeLayout, log_id: str) -> Json | None:
    """What was noted, None where nothing was or it cannot be read: then only the packs can be compared."""
    try:
        value = parse(read_own(home.pinned_rules(log_id), _MAX_PIN_BYTES).removesuffix(b"\n"))
    except (OSError, NotCanonical):
        return None
    return value.get("rules") if isinstance(value, dict) else None


def _pairs(value: Json | None) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        return ()
    return tuple((name, digest) for name, digest in value.items() if isinstance(digest, str))


def _damaged(path: str, why: str) -> PolicyError:
    return PolicyError(f"the pin of this project's policy {path} cannot be used: {why}", "chrono policy pin")
