"""Owns the compiled rules that the tests of this room share: compiling them anew in each home would take seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.layout import HomeLayout
from chrono.rulepack.ruleset import ruleset


@pytest.fixture(scope="session")
def compiled_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `cache` folder of CHRONO_HOME that holds the compiled rules."""
    home = HomeLayout(str(tmp_path_factory.mktemp("rules")))
    ruleset(home)
    return Path(home.cache)
