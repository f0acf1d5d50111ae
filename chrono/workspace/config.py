"""Owns what holds here: where CHRONO_HOME is, the effective policy under the trust rule, the compiled rules.

Parsing is left to `policy.load`, layering to `policy.layers`, compiling to `rulepack`. The environment comes in as a
mapping: the resident service answers for the environment of the call.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from chrono.errors import ChronoError, PolicyError
from chrono.layout import HomeLayout, ProjectLayout, default_home
from chrono.policy.model import DEFAULTS, Policy, PolicyFile

if TYPE_CHECKING:
    pass

MAX_POLICY_BYTES = 1_000_000

_NAME_IT = "set CHRONO_HOME= to a folder that you can write and that lies outside every project"


def user_home(environ: Mapping[str, str]) -> str:
    """The home folder of the person. Raises ChronoError, naming `CHRONO_HOME=`, where there is none."""
    home = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME") or ""
    if not home and hasattr(os, "getuid"):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not os.path.isabs(home):
        raise ChronoError("there is no home folder for chrono's keys and witness", _NAME_IT)
    return home


def home_layout(environ: Mapping[str, str]) -> HomeLayout:
    """Where CHRONO_HOME is; nothing is created. Raises ChronoError where it cannot be told."""
    chosen = environ.get("CHRONO_HOME")
    if chosen:
        if not os.path.isabs(chosen):
            raise ChronoError(f"CHRONO_HOME={chosen} is not an absolute path", _NAME_IT)
        return HomeLayout(os.path.normpath(chosen))
    return HomeLayout(
        default_home(
            platform=sys.platform,
            user_home=user_home(environ),
            xdg_state_home=environ.get("XDG_STATE_HOME"),
            local_app_data=environ.get("LOCALAPPDATA"),
        )
    )


def ensure_home(home: HomeLayout) -> None:
    """Creates CHRONO_HOME and its folders, 0700. Raises ChronoError, naming `CHRONO_HOME=`, where that fails."""
    try:
        os.makedirs(home.root, mode=0o700, exist_ok=True)
        for folder in (home.keys, home.witness, home.trust, home.cache, home.run, home.machine):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if not os.access(home.root, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13), home.root)
    except OSError as error:
        raise ChronoError(
            f"chrono cannot keep its keys and witness in {home.root}: {error.strerror}", _NAME_IT
        ) from None


class ProjectPolicy(NamedTuple):
    """A project's policy file as found: `file` None where there is none; `trusted` whether its loosening keys count."""

    file: PolicyFile | None
    trusted: bool


def read_policy(path: str, name: str, layer: str) -> PolicyFile | None:
    """The checked policy file at `path`, None where there is none.

    A link, a folder or a FIFO in its place is refused, never waited for. Raises PolicyError.
    """
    from chrono.policy.load import parse
    from chrono.scan.world import Read
    from chrono.workspace.machine_world import read_file

    if not os.path.lexists(path):
        return None
    answer = read_file(path, MAX_POLICY_BYTES, follow=False)
    if not isinstance(answer, Read):
        raise PolicyError(f"{name} cannot be read: {answer.reason}", "a policy is a regular file of at most 1 MB")
    try:
        text = answer.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = answer.data.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{name}:{line}: the policy is not UTF-8 text", line=line) from None
    return parse(text, name, layer=layer, sha256=hashlib.sha256(answer.data).hexdigest())


def project_policy(layout: ProjectLayout, home: HomeLayout) -> ProjectPolicy:
    """The project's file and whether a person has trusted exactly this content. Raises PolicyError."""
    from chrono.policy.pin import is_trusted

    file = read_policy(layout.policy, os.path.basename(layout.policy), "project")
    return ProjectPolicy(file, file is not None and is_trusted(home, file.sha256))


def effective_policy(layout: ProjectLayout | None, home: HomeLayout) -> Policy:
    """The policy that holds in the project (or outside every project where `layout` is None).

    Raises PolicyError: a broken policy blocks all that is enforced until it is fixed.
    """
    from chrono.policy.layers import effective

    user = read_policy(home.policy, home.policy, "user")
    project = project_policy(layout, home) if layout is not None else ProjectPolicy(None, False)
    if user is None and project.file is None:
        return effective(DEFAULTS, None, None, project_trusted=False)
    return effective(DEFAULTS, user, project.file, project_trusted=project.trusted)
