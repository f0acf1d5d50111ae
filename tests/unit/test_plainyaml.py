"""Claims about the fast reader of YAML: it gives what the full parser gives, or leaves the text to it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chrono import plainyaml, yamlfile
from chrono.rulepack.discover import discover

PACKS = {source.name: source for source in discover()}
PIECES = (
    "a: b", "- a", "- a: 1", "  b: [x, y]", "  - {k: v, w: [1, 2]}", "c:", '"q": "x\\n"', "'s': 'it''s'", "  # note",
    "d: x # y", "e: x#y", "f: a:b", "g: -rf", "- - z", "h: 0777", "i: 1.5", "j: yes", "k: true", "l: ~", "m: 2001-01-01",
    "n: [", "]", "{a: b", "}", "o: |", "  text", "p: >-", "q: &a x", "r: *a", "s: !t x", "? x", ": y", "t: 'x", 'u: "x',
    "---", "...", "-", "- ", "v: [a b, 'c', \"d\"]", "w: {x: [y]} # z", "   - deep", "", " ", "<<: x", "x: =", "y: 1_0",
    "z: 0x1F", "aa: .5", "ab: ._", "ac: +1", "ad: [a: b]", "ae: {a}", "af: [a, ]", "ag: $HOME/x", "ah: a b  c ", "ai: ,",
    "aj: @x", "ak: %x", "al: x: y", "/p/q.r: t", "am: [-a, --b, -]", "an: [*.zip]", "\tao: x", "ap: [x,y]", "aq: {a: b,c: d}",
    "ar: a::b", "as: a:#b", "at: a#b:c", "au: s/^#x/", "{a: 1, b: [2]}", "[1, 2]", "av: {a: 1,", "aw: a :b", "ax: a: :b",
    "[1,", "2]", "- {a: b}", "- [x]", "ay: ::", "az: a:: b",
)  # fmt: skip


def agree(text: str) -> bool:
    """Whether the fast reader read the text; where it did, it must give what the full parser gives."""
    try:
        value, lines = plainyaml.read(text)
    except plainyaml.NotPlain:
        return False
    fully = yamlfile.load_fully(text, name="t")
    assert repr(fully.value) == repr(value), text
    assert fully.lines == lines, text
    return True


@pytest.mark.parametrize("name", sorted(PACKS))
def test_every_pack_is_plain(name: str) -> None:
    source = PACKS[name]
    plainyaml.read(source.data.decode())
    with open(source.cases_path, encoding="utf-8") as file:
        plainyaml.read(file.read())


def test_a_pack_reads_the_same_either_way() -> None:
    assert agree(PACKS["git"].data.decode())


@given(st.lists(st.sampled_from(PIECES), max_size=7), st.lists(st.sampled_from(["", " ", "  ", "    "]), max_size=7))
@settings(max_examples=400, deadline=None)
def test_any_lines_read_as_the_full_parser_reads_them(pieces: list[str], indents: list[str]) -> None:
    indents = indents + [""] * len(pieces)
    agree("".join(f"{indent}{piece}\n" for piece, indent in zip(pieces, indents, strict=False)))


@given(st.text(alphabet="ab:-# \n'\"[]{},1.~&*|>!?\\", max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_characters_read_as_the_full_parser_reads_them(text: str) -> None:
    agree(text)


@pytest.mark.slow
def test_a_damaged_pack_reads_the_same_either_way() -> None:
    chance = random.Random(7)
    read = 0
    for _ in range(3000):
        lines = chance.choice(list(PACKS.values())).data.decode().split("\n")
        start = chance.randrange(len(lines))
        text = "\n".join(lines[start : start + chance.randrange(2, 25)])
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(":-# \n'\"[]{},a1.~&*|>!\\\t") + text[at + chance.randrange(2) :]
        read += agree(text)
    assert read > 300


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  x\n",
        "a: &b c\n",
        "a: *b\n",
        "a: x\n  y\n",
        "a: 1\na: 2\n",
        "a: 0x1f\n",
        "a: [b\n]\n",
        "a: \tb\n",
        "a: !b c\n",
    ],
)
def test_what_is_not_plain_is_left_alone(text: str) -> None:
    with pytest.raises(plainyaml.NotPlain):
        plainyaml.read(text)


def test_a_deep_nest_is_left_alone() -> None:
    with pytest.raises(plainyaml.NotPlain):
        plainyaml.read("a: " + "[" * 60 + "]" * 60)
