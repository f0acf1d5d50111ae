"""Owns who an audit record names where no hook payload says it: the account, the host, and claims of the environment.

An agent's identity out of a hook payload is put together by `guard`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.audit.record import Actor


def actor(environ: Mapping[str, str], *, source: str = "cli") -> Actor:
    """The person or program behind this process.

    CHRONO_AGENT and CHRONO_MODEL are what somebody says of themselves: with one of them `source` is "claimed".
    """
    from chrono.audit.record import Actor

    agent = environ.get("CHRONO_AGENT") or None
    model = environ.get("CHRONO_MODEL") or None
    uid = os.getuid() if hasattr(os, "getuid") else None
    return Actor(
        user=account(uid, environ),
        uid=uid,
        host=host(),
        agent=agent,
        model=model,
        pid=os.getpid(),
        source="claimed" if agent or model else source,
    )


def account(uid: int | None, environ: Mapping[str, str]) -> str:
    """The name of the account; on systems without accounts by number, what the environment says."""
    if uid is not None:
        import pwd

        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)
    return environ.get("USERNAME") or "unknown"


def host() -> str | None:
    """The name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else None
