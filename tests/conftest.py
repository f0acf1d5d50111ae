"""Owns the walls around every test: a home, a CHRONO_HOME and a git configuration of its own, and nothing real.

Rooms add fixtures in their own conftest. A test that writes to a real project or home fails at once.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from chrono.cli.render import AGENT_MARKS

ROOT = Path(__file__).resolve().parents[1]
REAL_HOME = os.path.realpath(os.path.expanduser("~"))

# The normal tier is a gate and draws the same cases everywhere; the slow tier searches with new ones each time.
# Neither is a judge of how fast this machine draws them.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", derandomize=True, **UNTIMED)
settings.register_profile("search", **UNTIMED)
settings.load_profile("search" if os.environ.get("CHRONO_TEST_SEARCH") else "gate")

# A shell without job control starts what runs in the background with these ignored, and `nohup` does, too; the programs
# that tests start and interrupt would inherit that.
for _signal in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, signal.default_int_handler if _signal is signal.SIGINT else lambda *_: None)

_KEPT = ("CHRONO_VENV", "CHRONO_PEERS", "CHRONO_TEST_")
_SCRATCH = tempfile.mkdtemp(prefix="chrono-tests-")
_WRITES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}


def _real_places() -> tuple[str, ...]:
    """What no test may write to: the real homes of chrono and its clients, and any project around this checkout."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(REAL_HOME, ".local", "state")
    places = [os.path.join(state, "chrono"), os.path.join(REAL_HOME, ".claude"), str(ROOT / ".claude")]
    if os.environ.get("CHRONO_HOME"):
        places.append(os.path.realpath(os.environ["CHRONO_HOME"]))
    places += [str(folder / ".chrono") for folder in (ROOT, *ROOT.parents)]
    return tuple(places)


_REAL = _real_places()
_REAL_AND_BELOW = tuple(place + os.sep for place in _REAL)


def _refuse_real_places(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, mode, flags = arguments
        writes = (isinstance(mode, str) and any(char in mode for char in "wax+")) or (
            mode is None and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        paths: tuple[Any, ...] = (path,) if writes else ()
    elif event in _WRITES:
        paths = arguments[:2]
    else:
        return
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike):
            where = os.path.normpath(os.fsdecode(path))
            # A relative name may be meant from a dir_fd, which the event does not tell; chrono's own are absolute.
            if where in _REAL or where.startswith(_REAL_AND_BELOW):
                raise RuntimeError(f"a test touches something real: {event} {where}")


def pytest_configure(config: pytest.Config) -> None:
    for name in list(os.environ):
        if name.startswith(("CHRONO", "CLAUDE", "GIT_", "XDG_")) and not name.startswith(_KEPT):
            del os.environ[name]
    # A CI machine, or an agent that runs this suite, is nobody who can be asked; the tests say so themselves.
    for name in ("CI", *AGENT_MARKS, "NO_COLOR", "COLUMNS", "BASH_ENV", "ENV"):
        os.environ.pop(name, None)
    os.environ.update(
        CHRONO_SERVICE="off",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
        GIT_TERMINAL_PROMPT="0",
        # A repository that lies around the temporary folder by chance is not one of a test's.
        GIT_CEILING_DIRECTORIES=os.path.realpath(tempfile.gettempdir()),
        GIT_AUTHOR_NAME="A Test",
        GIT_AUTHOR_EMAIL="test@example.invalid",
        GIT_COMMITTER_NAME="A Test",
        GIT_COMMITTER_EMAIL="test@example.invalid",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
    )
    os.umask(0o022)  # what a test makes is as open as it says
    _enter_scratch("session")
    sys.addaudithook(_refuse_real_places)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_SCRATCH, ignore_errors=True)


def _enter_scratch(name: str) -> None:
    home = os.path.join(_SCRATCH, name, "home")
    os.makedirs(home, exist_ok=True)
    os.environ["HOME"] = home
    os.environ["CHRONO_HOME"] = os.path.join(_SCRATCH, name, "state")


_counter = iter(range(10**9))


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A fresh HOME (existing) and CHRONO_HOME (not yet existing) for each test."""
    folder = os.path.join(_SCRATCH, str(next(_counter)))
    os.makedirs(os.path.join(folder, "home"))
    monkeypatch.setenv("HOME", os.path.join(folder, "home"))
    monkeypatch.setenv("CHRONO_HOME", os.path.join(folder, "state"))
    yield
    shutil.rmtree(folder, ignore_errors=True)
