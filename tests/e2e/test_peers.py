"""Claims about the real client packages: tests/peers, run in the environment that scripts/peers makes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(os.environ.get("CHRONO_PEERS") or ROOT / ".venv-peers") / "bin" / "python"

pytestmark = pytest.mark.skipif(not PEERS.exists(), reason="scripts/peers has not made the peers' environment")


def test_real_clients_are_recorded_as_golden_values_say() -> None:
    # The packages' own warnings are not ours to fail on.
    options = ["-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default", "-W", "ignore", "--tb=short"]
    done = subprocess.run(
        [PEERS, "-m", "pytest", "tests/peers", *options], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    summary = re.search(r"(\d+) passed(, \d+ warnings?)? in ", done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert summary is not None and int(summary[1]) >= 60, done.stdout[-2000:]
