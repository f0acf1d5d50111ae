"""Claims about patches word by word: unchanged words stay plain, and no text is lost."""

from __future__ import annotations

from chrono.cli.text import Styled
from chrono.cli.words import word_rows

HEAD = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n"


def shown(patch: str) -> list[str]:
    return ["".join(part.text if isinstance(part, Styled) else part for part in row) for row in word_rows(patch)][4:]


def test_only_the_words_that_differ_are_marked() -> None:
    assert shown(HEAD + " same\n-a long line\n+a short line\n") == ["same", "a [-long-]{+short+} line"]


def test_lines_that_only_come_or_go_are_marked_whole() -> None:
    assert shown(HEAD + "+one\n+two\n rest\n-three\n") == ["{+one+}", "{+two+}", "rest", "[-three-]"]


def test_removed_lines_keep_their_ends() -> None:
    rows = shown(HEAD + "-x = 1\n-y = 2\n-z = 3\n+z = 4\n")
    assert rows[0].startswith("[-x") and "[-3-]{+4+}" in rows[-1]
    assert len(rows) == 3


def test_long_blocks_are_not_compared_word_by_word() -> None:
    old = "".join(f"-{'word ' * 50}{number}\n" for number in range(100))
    new = "".join(f"+{'other ' * 50}{number}\n" for number in range(100))
    assert len(shown(HEAD + old + new)) == 200
