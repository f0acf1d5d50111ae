"""Claims about taking an argv apart: what is kept from one asking to the next never answers for another argv."""

from __future__ import annotations

from chrono.scan.command import Glob
from chrono.scan.options import MAX_KEPT, parse
from chrono.scan.rule import Options

VALUED: Options = ("gnu", (("", frozenset(["-o"])),))


def test_equal_words_of_two_kinds_are_not_taken_for_each_other() -> None:
    quoted, unquoted = ("git", "add", "*.pyc"), ("git", "add", Glob("*.pyc"))
    kinds = [[type(word) for word in parse(argv).words] for argv in (quoted, unquoted, quoted)]
    assert kinds == [[str, str], [str, Glob], [str, str]]


def test_the_same_argv_is_read_by_each_table_of_its_own() -> None:
    argv = ("tool", "-o", "file")
    assert [parse(argv, table).words for table in (VALUED, ("gnu", ()), VALUED)] == [(), ("file",), ()]


def test_asking_twice_gives_the_same_object_and_many_argvs_none_of_another() -> None:
    argv = ("tool", "-o", "file")
    assert parse(argv, VALUED) is parse(argv, VALUED)
    for number in range(3 * MAX_KEPT):
        assert parse(("tool", str(number))).words == (str(number),)
    assert parse(argv, VALUED).values("-o") == ("file",)
