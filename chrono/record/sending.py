"""Owns how a window is sent: what an answer means, how a batch is halved until the record that spoils it stands alone,
and when that record is set aside.

What is in a window is left to `record.window`, when to try again to `record.delivery`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from chrono.record.counters import Counters
from chrono.record.cursor import Cursor
from chrono.record.errors import ControlPlaneError
from chrono.record.plane import Answer, Limits, PlaneSilent, Target
from chrono.record.window import Item, Window

T = TypeVar("T")

REFUSALS = frozenset({400, 413, 415, 422})
"""Answers about what was sent, not about the plane: sending the same again would be refused again."""

SUSPICIOUS_FAULTS = 3
"""So many 500s for one window, and its records are tried apart: one of them may be what the plane trips over."""
LONELY_FAULTS = 6
"""So many 500s for a record that was sent alone, with pauses between, and it is set aside. A database that is locked
now and then answers 500, too."""


class PlaneTrouble(ControlPlaneError):
    """The plane does not take anything now. `retry_after_s` is what it asked for."""

    retry_after_s: float | None = None


class Sender:
    """Sends windows to one target; remembers its limits and what it tripped over."""

    def __init__(
        self, target: Target, counters: Counters, *, warn: Callable[[str], None], rest: Callable[[], None]
    ) -> None:
        """`warn` takes what a person should know, `rest` is called before each request (`record.courtesy`)."""
        self._target = target
        self._rest = rest
        self._counters = counters
        self._warn = warn
        self._limits: Limits | None = None
        self._most = 1 << 30  # of items, lowered while the plane is slow
        self._batch_faults = 0
        self._faults: Counter[int] = Counter()  # by place; of the window that is being sent
        self._settled: set[tuple[str, int]] = set()  # files and places of it that were taken, or set aside
        self.refused: list[str] = []

    def limits(self) -> Limits:
        """What a window may hold now. Raises PlaneTrouble."""
        if self._limits is None:
            self._limits = self._asked(self._target.limits)
        return Limits(min(self._limits.items, self._most), self._limits.body_bytes)

    def send(self, window: Window, cursor: Cursor) -> None:
        """Returns once the plane has, or has refused for good, everything in `window`. Raises PlaneTrouble; sent
        again, the window goes on where it stopped."""
        target = self._target
        for item in window.traces:
            self._one(item, partial(target.put_trace, item.body), cursor)
        if window.envelopes:
            self._batch([item for item in window.envelopes if (cursor.name, item.place) not in self._settled], cursor)
        for item in window.spans:
            self._one(item, partial(target.put_span, item.trace_id, item.body), cursor)
        self._batch_faults = 0
        self._faults.clear()
        self._settled.clear()
        self._most = min(self._most * 2, 1 << 30)

    def close(self) -> None:
        self._target.close()

    def forked(self) -> None:
        self._target.forked()

    def _one(self, item: Item, put: Callable[[], Answer], cursor: Cursor) -> None:
        if (cursor.name, item.place) in self._settled:
            return
        answer = self._asked(put)
        if answer.ok:
            self._settled.add((cursor.name, item.place))
            self._counters.delivered += 1
            self._counters.deduplicated += answer.status == 200 and b'"deduped"' in answer.body
        elif answer.status in REFUSALS or self._gives_up_on(item, answer):
            self._set_aside(item, answer, cursor)
        else:
            raise _trouble(answer)

    def _batch(self, items: Sequence[Item], cursor: Cursor) -> None:
        if not items:
            return
        answer = self._post(items, cursor)
        if answer.ok:
            return
        if answer.status in REFUSALS:
            if answer.status == 413 or b"batch max" in answer.body:
                self._limits = None  # other ones than thought
            self._halved(items, answer, cursor)
            return
        self._batch_faults += answer.status == 500
        if answer.status == 500 and self._batch_faults >= SUSPICIOUS_FAULTS:
            self._told_apart(items, answer, cursor)
        else:
            raise _trouble(answer)

    def _halved(self, items: Sequence[Item], answer: Answer, cursor: Cursor) -> None:
        if len(items) == 1:
            self._set_aside(items[0], answer, cursor)
            return
        middle = len(items) // 2
        for part in (items[:middle], items[middle:]):
            self._batch(part, cursor)

    def _told_apart(self, items: Sequence[Item], answer: Answer, cursor: Cursor) -> None:
        """Finds the records that the plane fails on; sets those aside that it has failed on often enough."""
        failing: Answer | None = None
        waiting = [items]
        while waiting:
            part = waiting.pop()
            if len(part) > 1 or part is not items:
                answer = self._post(part, cursor)
            if answer.ok:
                continue
            if answer.status != 500 and answer.status not in REFUSALS:
                raise _trouble(answer)
            if len(part) > 1:
                waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
            elif answer.status in REFUSALS or self._gives_up_on(part[0], answer):
                self._set_aside(part[0], answer, cursor)
            else:
                failing = answer
        if failing is not None:
            raise _trouble(failing)

    def _gives_up_on(self, item: Item, answer: Answer) -> bool:
        if answer.status != 500:
            return False
        self._faults[item.place] += 1
        return self._faults[item.place] >= LONELY_FAULTS

    def _post(self, items: Sequence[Item], cursor: Cursor) -> Answer:
        answer = self._asked(lambda: self._target.put_envelopes([item.body for item in items]), items=len(items))
        if answer.ok:
            self._settled.update((cursor.name, item.place) for item in items)
            self._counters.delivered += len(items)
            self._counters.deduplicated += _deduplicated(answer)
        return answer

    def _asked(self, ask: Callable[[], T], items: int = 0) -> T:
        self._rest()
        try:
            return ask()
        except ControlPlaneError as error:
            if isinstance(error, PlaneSilent) and items > 1:
                self._most = items // 2  # it may be too slow for so many
            self._limits = None
            raise PlaneTrouble(error.message, error.hint, status_code=error.status_code) from error

    def _set_aside(self, item: Item, answer: Answer, cursor: Cursor) -> None:
        said = f"the control plane refuses a record for good ({answer.status}: {answer.detail[:300]})"
        self._settled.add((cursor.name, item.place))
        cursor.set_aside(item.place, item.kind.decode(), answer.status, answer.detail)
        self._counters.set_aside += 1
        self._counters.last_error = said
        self.refused.append(said)
        self._warn(f"{said}; it stays in the local store: {cursor.name} at {item.place}")


def _deduplicated(answer: Answer) -> int:
    try:
        return int(json.loads(answer.body).get("deduped", 0))
    except (ValueError, AttributeError, TypeError):
        return 0


def _trouble(answer: Answer) -> PlaneTrouble:
    hints = {401: "set the API key", 403: "the API key needs the scope ingest", 404: "look at the URL"}
    trouble = PlaneTrouble(
        f"the control plane answered {answer.status}: {answer.detail[:300]}",
        hints.get(answer.status),
        status_code=answer.status,
    )
    trouble.retry_after_s = answer.retry_after_s
    return trouble
