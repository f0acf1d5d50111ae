"""Claims about the quick reading in stretches and by several processes: it finds what the slow one finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit import chain, spread
from chrono.audit.merkle import CompactRange, Subtree, leaf_hash
from chrono.audit.part import FULL, Asked, numbered, read_part
from chrono.audit.record import Act, Entry
from chrono.audit.report import Report
from chrono.audit.text import Text
from chrono.signing import PublicKey, public_key_of_text

from .conftest import BOB, Ground, codes


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs are read as big ones are."""
    monkeypatch.setattr(chain, "QUICK_BYTES", 0)
    monkeypatch.setattr(chain, "WORTH_BYTES", (0, 0, 0))
    monkeypatch.setattr(spread, "SPANS", (3000, 3000, 3000))


def both(ground: Ground, monkeypatch: pytest.MonkeyPatch, **more: object) -> tuple[Report, Report]:
    found = ground.verify(**more)
    with monkeypatch.context() as slow:
        slow.setattr(chain, "QUICK_BYTES", 1 << 40)
        return found, ground.verify(**{**more, "workers": 1})


def filled(ground: Ground) -> None:
    ground.begin(20)
    for number in range(3):
        ground.savepoint(f"s{number}")
        ground.command('says "anchor":{ and "ev":"key.add')
        ground.log.append(Entry("session.start", BOB), timeout_s=5)
    ground.log.append(Entry("prune", BOB, Act(more=(("commits", ["1" * 40]),))), timeout_s=5)
    for number in range(20):
        ground.command(f"echo {number}")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("more", [{}, {"strict": True}, {"full": True}])
@pytest.mark.usefixtures("quick")
def test_a_good_log_is_found_good_in_the_same_words(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, workers: int, more: dict[str, object]
) -> None:
    filled(ground)
    quick, slow = both(ground, monkeypatch, workers=workers, **more)
    assert quick == slow
    assert quick.exit_code == 0
    assert quick.open_sessions == 1


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("quick")
def test_every_kind_of_damage_is_found_in_the_same_words(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    filled(ground)
    good = ground.lines()

    def damaged(lines: list[bytes], more: dict[str, object]) -> Report:
        ground.write_lines(lines)
        quick, slow = both(ground, monkeypatch, workers=workers, **more)
        assert quick == slow
        assert quick.findings
        return quick

    middle = len(good) // 2
    changed = [*good]
    changed[middle] = changed[middle].replace(b'"bob"', b'"eve"')
    assert "signature" in codes(damaged(changed, {}))
    assert "chain" in codes(damaged([*good[:middle], *good[middle + 1 :]], {"strict": True}))
    spaced = [*good]
    spaced[-3] = spaced[-3].replace(b'"uid":1000', b'"uid": 1000')
    assert "non-canonical" in codes(damaged(spaced, {"full": True}))
    assert "truncated" in codes(damaged(good[:-1], {}))
    assert "too-long" in codes(damaged([*good[:9], b"x" * 200_000, *good[9:]], {}))
    assert codes(damaged([*good, b"\0" * 4096], {})) >= {"malformed"}


@pytest.mark.usefixtures("quick")
def test_a_changed_signature_is_found_only_by_the_full_reading_of_a_stretch(ground: Ground) -> None:
    """A signature is inside the leaf, so the chain shows it too; the last record has nothing after it."""
    ground.begin(5)
    lines = ground.lines()
    with open(ground.place.log, "rb") as file:
        text = Text.of(file.fileno())
        start = len(lines[0]) + 1
        key = public_key_of_text(Path(ground.place.pub).read_text().strip())
        asked = Asked(start, text.end, 1, leaf_hash(lines[0]).hex(), ground.log.log_id, key, FULL, (3, 6))
        found = read_part(text, asked)
        assert found is not None
        assert (found.records, found.leaf) == (5, leaf_hash(lines[-1]).hex())
        assert read_part(text, asked._replace(key=PublicKey(bytes(32)))) is None
        assert read_part(text, asked._replace(first=2)) is None
        assert read_part(text, asked._replace(prev="0" * 64)) is None
        assert read_part(text, asked._replace(log="0" * 32)) is None
    assert [at.size for at in found.at] == [3, 6]
    assert numbered(lines[3]) == (3, leaf_hash(lines[2]).hex())
    assert numbered(b"{}") is None


def test_subtrees_of_any_stretch_fold_to_the_same_root() -> None:
    leaves = [bytes((n,)) * 32 for n in range(70)]
    whole = CompactRange()
    for leaf in leaves:
        whole.add(leaf)
    tree = CompactRange()
    for leaf in leaves[:4]:
        tree.add(leaf)
    other = CompactRange()
    for leaf in leaves[4:8]:
        other.add(leaf)
    tree.add_subtree(Subtree(2, other.root()))
    for leaf in leaves[8:]:
        tree.add(leaf)
    assert tree.root() == whole.root()
    with pytest.raises(ValueError, match="no subtree"):
        tree.add_subtree(Subtree(3, bytes(32)))


@pytest.mark.usefixtures("quick")
def test_a_helper_that_dies_costs_no_finding(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(ground)
    monkeypatch.setattr(spread, "_START", "raise SystemExit")
    assert ground.verify(workers=2, full=True).exit_code == 0
    lines = ground.lines()
    lines[9] = lines[9].replace(b'"bob"', b'"eve"')
    ground.write_lines(lines)
    assert "signature" in codes(ground.verify(workers=2))
