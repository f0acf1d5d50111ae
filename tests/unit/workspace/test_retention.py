"""Claims about which savepoints may go: the ladder, the floors that nobody can lower, clocks that are set."""

from __future__ import annotations

from chrono.ids import CommitId
from chrono.workspace.retention import DAY_NS, HOUR_NS, Aged, Rules, jump, removable

NOW = 400 * DAY_NS
NOBODY: frozenset[CommitId] = frozenset()
LADDER = Rules()


def line(ages_h: list[float], kind: str = "auto", branch: str = "main") -> list[Aged]:
    """Savepoints of these ages in hours, given as they were taken: the oldest first."""
    return [
        Aged(f"refs/chrono/{kind}/{number}", CommitId(f"{number:040x}"), NOW - int(age * HOUR_NS), branch)
        for number, age in enumerate(ages_h, 1)
    ]


def recent(count: int = 200) -> list[float]:
    """Enough young savepoints that the floor of 200 holds nothing else."""
    return [1 - number / count for number in range(count)]


def gone(autos: list[Aged], rules: Rules = LADDER, **more: list[Aged]) -> set[int]:
    found = removable(autos, more.get("rescues", []), NOW, rules, NOBODY)
    return {int(one.ref.rpartition("/")[2]) for one in found}


def test_the_last_two_hundred_stay_whatever_the_rules_say() -> None:
    autos = line([10_000.0 - number for number in range(200)])
    for rules in (LADDER, Rules(0, None), Rules(None, 0), Rules(0, 0)):
        assert gone(autos, rules) == set()
    more = line([20_000.0, *(10_000.0 - number for number in range(200))])
    for rules in (LADDER, Rules(0, None), Rules(None, 0), Rules(0, 0)):
        assert gone(more, rules) == {1}


def test_all_of_a_day_one_an_hour_of_a_week_one_a_day_of_a_month_stay() -> None:
    ages = [float(hours) / 4 for hours in range(45 * 24 * 4, 4, -1)]  # one each quarter of an hour, for 45 days
    autos = line([*ages, *recent()])
    removed = gone(autos)
    kept = [one for one in autos if int(one.ref.rpartition("/")[2]) not in removed]
    old = [(NOW - one.at_ns) / DAY_NS for one in kept if NOW - one.at_ns > HOUR_NS]
    assert sum(age <= 1 for age in old) == 23 * 4
    assert 6 * 24 <= sum(1 < age <= 7 for age in old) <= 6 * 24 + 2
    assert 23 <= sum(7 < age <= 30 for age in old) <= 24
    assert not [age for age in old if age > 30]


def test_thinning_twice_removes_no_more_than_thinning_once() -> None:
    ages = [float(hours) / 4 for hours in range(45 * 24 * 4, 4, -1)]
    autos = line([*ages, *recent()])
    first = gone(autos)
    left = [one for one in autos if int(one.ref.rpartition("/")[2]) not in first]
    assert gone(left) == set()


def test_both_options_remove_only_what_both_allow() -> None:
    autos = line([100.0 * 24, 90.0 * 24, 5.0 * 24, *(1.0 for _ in range(300))])
    assert gone(autos, Rules(keep_auto=301)) == {1, 2}
    assert gone(autos, Rules(keep_auto=302)) == {1}
    assert gone(autos, Rules(None, 10)) == {1, 2}
    assert gone(autos, Rules(302, 10)) == {1}
    assert gone(autos, Rules(250, 10)) == {1, 2}
    assert len(gone(autos, Rules(keep_auto=0))) == 103


def test_the_newest_of_each_branch_stays() -> None:
    autos = [*line([2000.0, 1900.0], branch="old"), *line([0.0] * 250)[2:]]
    assert gone(autos) == {1}


def test_rescues_live_thirty_days_and_the_last_fifty_longer() -> None:
    rescues = line([*(40.0 * 24 for _ in range(60)), *(1.0 for _ in range(20))], kind="rescue")
    assert gone([], rescues=rescues) == set(range(1, 31))
    young = line([29.0 * 24 for _ in range(80)], kind="rescue")
    assert gone([], rescues=young) == set()
    assert gone([], Rules(0, 0), rescues=young) == set()
    assert gone([], Rules(0, 60), rescues=rescues) == set()


def test_what_an_undo_needs_stays() -> None:
    autos = line([2000.0, 1900.0, *recent()])
    assert {one.ref for one in removable(autos, [], NOW, LADDER, frozenset((autos[1].commit,)))} == {autos[0].ref}


def test_ages_count_against_the_newest_savepoint_not_against_now() -> None:
    """A project that nobody touched for a year loses nothing by that."""
    autos = line([400.0 * 24 + 1 - number / 300 for number in range(300)])
    assert removable(autos, [], autos[-1].at_ns, LADDER, NOBODY) == ()


def test_a_savepoint_from_the_future_is_young() -> None:
    autos = line([-5000.0, *recent(250)])
    assert gone(autos) == set()


def test_a_clock_that_was_set_is_seen_in_both_directions() -> None:
    assert jump(line([50.0, 40.0, 1.0])) is None
    forward = jump(line([300.0, 299.0, 1.0, 0.0]))
    assert forward is not None and 12 < forward.days < 13 and forward.after.ref.endswith("/3")
    back = jump(line([5.0, -400.0, 4.0]))
    assert back is not None and back.days < -16 and back.before.ref.endswith("/2")
