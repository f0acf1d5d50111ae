"""Owns the trust of project policies: one file `CHRONO_HOME/trust/policy-<SHA-256>` for each content a person trusted.

Who may trust (never an agent) is decided by `cli` and the rules; the audit record is written by `workspace.config`.
"""

from __future__ import annotations

import os

from chrono.clock import rfc3339
from chrono.files import atomic_write
from chrono.layout import HomeLayout


def is_trusted(home: HomeLayout, sha256: str) -> bool:
    """Whether a person trusted the policy file with this SHA-256 (64 hex digits). A link in its place is no trust."""
    path = home.trusted_policy(sha256)
    return len(sha256) == 64 and os.path.isfile(path) and not os.path.islink(path)


def trust(home: HomeLayout, sha256: str, *, source: str, at_ns: int) -> None:
    """Trusts the content with this SHA-256, read from path `source`. Raises OSError where the home is not writable."""
    os.makedirs(home.trust, mode=0o700, exist_ok=True)
    note = f"chrono-policy-trust/v1\n{rfc3339(at_ns)}\n{source}\n"
    atomic_write(home.trusted_policy(sha256), note.encode("utf-8", "surrogateescape"))


def distrust(home: HomeLayout, sha256: str) -> bool:
    """Takes the trust back; False where there was none."""
    try:
        os.unlink(home.trusted_policy(sha256))
    except FileNotFoundError:
        return False
    return True
