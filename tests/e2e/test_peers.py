"""Claims about the real client packages: tests/peers, run in the environment that scripts/peers makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(os.environ.get("CHRONO_PEERS") or ROOT / ".venv-peers") / "bin" / "python"

HANGS_S = 3600.0
"""A bound for what takes minutes: beyond it something hangs, whatever else the machine has to do."""

pytestmark = pytest.mark.skipif(not PEERS.exists(), reason="scripts/peers has not made the peers' environment")


def run(report: Path, marked: str) -> int:
    """Runs tests/peers where they are marked so; answers how many there were. Raises where one is not green."""
    # The packages' own warnings are not ours to fail on.
    options = ["-p", "no:cacheprovider", "-o", "filterwarnings=default", "-W", "ignore", "--tb=short", "-m", marked]
    done = subprocess.run(
        [PEERS, "-m", "pytest", "tests/peers", *options, f"--junitxml={report}"],
        cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    counts = ElementTree.parse(report).getroot()[0].attrib
    assert (counts["errors"], counts["failures"], counts["skipped"]) == ("0", "0", "0")
    return int(counts["tests"])


# Not collected is not green: a client package that is gone would take its tests with it.


def test_real_clients_are_recorded_as_golden_values_say(tmp_path: Path) -> None:
    assert run(tmp_path / "peers.xml", "not slow") >= 70


@pytest.mark.slow
def test_every_package_in_every_way_each_point_of_behaviour_and_each_page_hold(tmp_path: Path) -> None:
    assert run(tmp_path / "slow.xml", "slow") >= 250
