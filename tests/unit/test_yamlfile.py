"""Claims about the YAML we accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono import yamlfile


def test_values_come_with_their_lines() -> None:
    document = yamlfile.load("a: 1\nb:\n  - x\n  - y: yes\n", name="t")
    assert document.value == {"a": 1, "b": ["x", {"y": "yes"}]}
    assert document.line_of("b", 1, "y") == 4
    assert document.line_of("b", 1, "missing") == 4


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\na: 2\n", 2, "twice"),
        ("a: &x [1]\nb: *x\n", 1, "anchors"),
        ("a: [\n", 2, "stream end"),
        ("- 1\n- !!python/object/apply:os.system ['true']\n", 2, "tag"),
        ("? [a]\n: 1\n", 1, "key"),
        ("--- 1\n--- 2\n", 2, "document"),
    ],
)
def test_doubtful_text_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(yamlfile.YamlError, match=words) as caught:
        yamlfile.load(text, name="t")
    assert caught.value.line == line


def test_a_nest_without_end_is_refused() -> None:
    with pytest.raises(yamlfile.YamlError):
        yamlfile.load("[" * 5000, name="t")


@given(st.text(max_size=200))
def test_any_text_is_a_value_or_a_clear_error(text: str) -> None:
    try:
        yamlfile.load(text, name="t")
    except yamlfile.YamlError as error:
        assert error.message
