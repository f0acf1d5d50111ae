"""Owns Python's own clock, chance and ids while they are recorded: `time`, `datetime`, `random` and `uuid` ask here.

On request only (settings `record_clock`, `record_random`, `record_uuid`), while a span that wants them is open, and
only for code of that span: every other caller gets what Python gives (decision 0094). A program that asks by itself
finds `now`, `chance` and `uuid4` in `record.drawing`.
"""

from __future__ import annotations

import datetime
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from datetime import date as _date
from datetime import datetime as _datetime
from types import ModuleType
from typing import Any, Final

from chrono.record.drawing import drawn
from chrono.record.session import AT_WORK, CLOCK, HERE, RANDOM, UUID, RecordingSession
from chrono.tuples import NamedTuple

Function = Callable[..., Any]

_NUMBERS: Final = (
    "random", "uniform", "triangular", "randint", "randrange", "getrandbits", "randbytes", "gauss", "normalvariate",
    "lognormvariate", "expovariate", "vonmisesvariate", "gammavariate", "betavariate", "paretovariate",
    "weibullvariate", "binomialvariate",
)  # fmt: skip

_PICKS: Final = ("choice", "choices", "sample", "shuffle")
_IDS: Final = ("uuid4", "uuid1")
GROUPS: Final = {
    **dict.fromkeys(("time.time_ns", "datetime.now", "datetime.local"), CLOCK),
    **dict.fromkeys((f"random.{name}" for name in (*_NUMBERS, *_PICKS)), RANDOM),
    **dict.fromkeys((f"uuid.{name}" for name in _IDS), UUID),
}
"""What a recorded call's name says that it drew from."""


def _recorded(group: str) -> bool:
    """Whether the caller of the caller is code of a span that wants this. The standard library's own calls are not the
    program's, and the recorder's must not be recorded."""
    session = HERE.get().session
    if session is None or group not in session.draws or AT_WORK.get():
        return False
    return _of_the_program(sys._getframe(2).f_globals.get("__name__"))


def _of_the_program(module: Any) -> bool:
    if not isinstance(module, str):
        return True
    root = module.partition(".")[0]
    return root == "__main__" or (root != "chrono" and root not in sys.stdlib_module_names)


def _plain(group: str, name: str, real: Function) -> Function:
    """Stands in for a function whose result can be written down as it is."""
    asked: Function = drawn(name)(real)

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return asked(*args, **kwargs) if _recorded(group) else real(*args, **kwargs)

    stand_in.__name__, stand_in.__doc__ = name.rpartition(".")[2], real.__doc__
    return stand_in


# -- clock

_time_ns: Final[Function] = drawn("time.time_ns")(time.time_ns)
_now_utc: Final[Function] = drawn("datetime.now")(lambda: _datetime.now(datetime.UTC))
_now_local: Final[Function] = drawn("datetime.local")(_datetime.now)


def _time(real: Callable[[], float] = time.time) -> float:
    return int(_time_ns()) / 1_000_000_000 if _recorded(CLOCK) else real()


class _Known(type):
    """Classes that stand in for `datetime` and `date`: instances are Python's own, and count as theirs."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        stands_in = cls is _Datetime or cls is _Date  # not a program's own class that was made meanwhile
        return issubclass(subclass, cls.__base__) if stands_in and cls.__base__ else super().__subclasscheck__(subclass)


class _Datetime(_datetime, metaclass=_Known):
    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _datetime.__new__(_datetime if cls is _Datetime else cls, *args, **kwargs)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        if not _recorded(CLOCK):
            return _datetime.now(tz)
        return _now_local() if tz is None else _now_utc().astimezone(tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _now_utc().replace(tzinfo=None) if _recorded(CLOCK) else _datetime.now(datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return _now_local() if _recorded(CLOCK) else _datetime.now()


class _Date(_date, metaclass=_Known):
    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _date.__new__(_date if cls is _Date else cls, *args, **kwargs)

    @classmethod
    def today(cls) -> Any:
        return _now_local().date() if _recorded(CLOCK) else _date.today()


# -- chance: of what picks among a program's objects the places are recorded, so that it gets its own objects back


def _choice(real: Function) -> Function:
    asked: Function = drawn("random.choice")(lambda size: real(range(size)))

    def choice(seq: Any) -> Any:
        return seq[asked(len(seq))] if _recorded(RANDOM) and len(seq) else real(seq)

    return choice


def _choices(real: Function) -> Function:
    def places(size: int, weights: Any, cum_weights: Any, k: int) -> list[int]:
        return list(real(range(size), weights, cum_weights=cum_weights, k=k))

    asked = drawn("random.choices")(places)

    def choices(population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        if not (_recorded(RANDOM) and len(population)):
            return real(population, weights, cum_weights=cum_weights, k=k)
        return [population[at] for at in asked(len(population), weights, cum_weights, k)]

    return choices


def _sample(real: Function) -> Function:
    asked: Function = drawn("random.sample")(lambda size, k, counts: real(range(size), k, counts=counts))

    def sample(population: Any, k: int, *, counts: Any = None) -> Any:
        if not _recorded(RANDOM):
            return real(population, k, counts=counts)
        return [population[at] for at in asked(len(population), k, counts)]

    return sample


def _shuffle(real: Function) -> Function:
    def order_of(size: int) -> list[int]:
        order = list(range(size))
        real(order)
        return order

    asked: Function = drawn("random.shuffle")(order_of)

    def shuffle(x: Any) -> None:
        if not _recorded(RANDOM):
            real(x)
            return
        for at, value in enumerate([x[at] for at in asked(len(x))]):
            x[at] = value

    return shuffle


class _StandIn(NamedTuple):
    module: ModuleType
    name: str
    real: Any
    ours: Any


def _stand_ins() -> list[_StandIn]:
    found = [
        _StandIn(time, "time", time.time, _time),
        _StandIn(time, "time_ns", time.time_ns, _plain(CLOCK, "time.time_ns", time.time_ns)),
        _StandIn(datetime, "datetime", _datetime, _Datetime),
        _StandIn(datetime, "date", _date, _Date),
    ]
    for name in _NUMBERS:
        real = getattr(random, name, None)  # Python 3.11 has no binomialvariate
        if real is not None:
            found.append(_StandIn(random, name, real, _plain(RANDOM, f"random.{name}", real)))
    for name, make in zip(_PICKS, (_choice, _choices, _sample, _shuffle), strict=True):
        real = getattr(random, name)
        found.append(_StandIn(random, name, real, make(real)))
    for name in _IDS:
        real = getattr(uuid, name)
        found.append(_StandIn(uuid, name, real, _plain(UUID, f"uuid.{name}", real)))
    return found


class _Patches:
    """Puts the stand-ins in the place of what they stand for, in every module that holds it, and takes them out."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open = 0
        self._stand_ins: list[_StandIn] = []
        self._places: list[tuple[dict[str, Any], str, _StandIn]] = []
        self._looked_at: set[str] = set()

    def install(self) -> None:
        with self._lock:
            self._open += 1
            if self._open > 1:
                return
            if not self._stand_ins:
                self._stand_ins = _stand_ins()
                self._places = [(vars(one.module), one.name, one) for one in self._stand_ins]
            self._look_for({id(one.real): one for one in self._stand_ins})
            for names, name, one in self._places:
                if names.get(name) is one.real:
                    names[name] = one.ours

    def uninstall(self) -> None:
        with self._lock:
            self._open -= 1
            if self._open:
                return
            # What was imported meanwhile holds a stand-in.
            self._look_for({id(one.ours): one for one in self._stand_ins})
            for names, name, one in self._places:
                if names.get(name) is one.ours:
                    names[name] = one.real

    def _look_for(self, wanted: dict[int, _StandIn]) -> None:
        """Find the places in modules that were not there before: `from time import time`."""
        for module_name, module in list(sys.modules.items()):
            if module_name in self._looked_at:
                continue
            if module_name != "__main__":  # an interactive one gets more names
                self._looked_at.add(module_name)
            if isinstance(module, ModuleType) and _of_the_program(module_name):
                names = vars(module)
                self._places += [
                    (names, name, wanted[id(value)]) for name, value in list(names.items()) if id(value) in wanted
                ]


_patches: Final = _Patches()


def opened(session: RecordingSession) -> None:
    """A span, or a replay, begins. `closed` takes it back."""
    if session.draws:
        _patches.install()


def closed(session: RecordingSession) -> None:
    """A span, or a replay, ends: with the last one Python's own are back in their places."""
    if session.draws:
        _patches.uninstall()


def groups_in(names: Iterable[str]) -> frozenset[str]:
    """What calls of these names drew from: clock, random, uuid."""
    return frozenset(GROUPS[name] for name in names if name in GROUPS)
