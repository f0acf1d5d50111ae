"""Claims about programs that are handed every file of a folder."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict


@pytest.mark.parametrize(
    "text",
    [
        "find . -type f -exec sed -i s/a/b/ {} +",
        "find . -type f ! -name '*.md' | xargs sed -i s/a/b/",
        "grep -rl foo . | xargs perl -pi -e s/foo/bar/",
    ],
)
def test_git_s_own_data_is_among_all_files(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) != "allow"


@pytest.mark.parametrize(
    "text",
    [
        "find . -type f -not -path './.git/*' -exec sed -i s/a/b/ {} +",
        "find . -name '*.py' -exec sed -i s/a/b/ {} +",
        "find src -type f | xargs sed -i s/a/b/",
        "grep -rl foo . --include '*.py' | xargs sed -i s/foo/bar/",
        "find . -type f -exec sed -n 1p {} +",
    ],
)
def test_files_that_were_chosen_may_be_edited(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) == "allow"
