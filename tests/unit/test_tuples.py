"""Claims about the house's own NamedTuple: it is what `typing.NamedTuple` makes, and costs a start little."""

from __future__ import annotations

import copy
import subprocess
import sys
import typing
from collections.abc import Callable
from typing import Any

import pytest

from chrono.tuples import NamedTuple


class Ours(NamedTuple):
    """A place."""

    path: str
    kind: str = "file"
    size: int = 0

    @property
    def empty(self) -> bool:
        return self.size == 0


class Theirs(typing.NamedTuple):
    """A place."""

    path: str
    kind: str = "file"
    size: int = 0

    @property
    def empty(self) -> bool:
        return self.size == 0


BOTH = pytest.mark.parametrize("made", [Ours, Theirs])


class Long(NamedTuple):
    """More fields than there are constructors."""

    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    g: int
    h: int
    i: int
    j: int
    k: int
    m: int
    n: int
    o: int
    p: int = 16


class Empty(NamedTuple):
    """No fields."""


@BOTH
@pytest.mark.parametrize(
    "ask",
    [
        lambda made: made("a"),
        lambda made: made("a", size=3),
        lambda made: made(path="a", kind="dir"),
        lambda made: made._make(("a", "b", 1)),
        lambda made: made("a")._replace(size=2),
        lambda made: made("a")._asdict(),
        lambda made: made("a").empty,
        lambda made: copy.deepcopy(made("a", "b")),
        lambda made: hash(made("a")) == hash(("a", "file", 0)),
        lambda made: (made._fields, made._field_defaults, made.__match_args__, made.__doc__, made.__module__),
        lambda made: repr(made("a")).partition("(")[2],
    ],
)
def test_it_answers_as_typing_s_own(made: Any, ask: Callable[[Any], object]) -> None:
    assert ask(made) == ask(Theirs)


@BOTH
@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda made: made(), TypeError),
        (lambda made: made("a", "b", 1, 2), TypeError),
        (lambda made: made("a", colour=1), TypeError),
        (lambda made: made._make(("a",)), TypeError),
        (
            lambda made: made("a")._replace(colour=1),
            ValueError if sys.version_info < (3, 13) else (TypeError, ValueError),
        ),
        (lambda made: setattr(made("a"), "path", "b"), AttributeError),
        (lambda made: setattr(made("a"), "colour", "b"), AttributeError),
    ],
)
def test_it_refuses_what_typing_s_own_refuses(made: Any, ask: Callable[[Any], object], error: Any) -> None:
    with pytest.raises(error):
        ask(made)


def test_an_error_names_the_missing_field() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'path'"):
        Ours()  # type: ignore[call-arg]


def test_a_class_may_have_many_fields_or_none() -> None:
    assert Long(*range(1, 15)) == (*range(1, 15), 16)
    assert Long(*range(1, 15))._replace(o=0).o == 0
    assert Empty() == ()


def test_it_is_matched_by_position() -> None:
    match Ours("a", "dir"):
        case Ours(path, "dir"):
            assert path == "a"
        case _:
            raise AssertionError


def test_it_imports_one_module_that_is_built_in() -> None:
    code = "import sys; before = set(sys.modules); import chrono.tuples; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['_collections', 'chrono', 'chrono.tuples']"
