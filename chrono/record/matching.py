"""Owns finding the recording of a call: by the recorded calls it is made within, its name, its arguments and its count.
Pure; whoever calls from several threads holds a lock.

A recording is a tree: each call hangs on the call it was made within. What is below an answered call is answered with
it; what is below a call that ran waits for its own calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from chrono.record.entry import JsonObject
from chrono.record.plan import Matching
from chrono.record.recording import Recorded
from chrono.tuples import NamedTuple

Same = Callable[[Recorded], bool]
"""Whether the live call has the arguments of this recorded one."""


class Place:
    """A recorded call (None: the span itself) and, by name, the calls that were made directly within it."""

    __slots__ = ("below", "call", "ran", "taken")

    def __init__(self, call: Recorded | None) -> None:
        self.call = call
        self.below: dict[str, Calls] = {}
        self.taken = False
        self.ran = call is None


class Calls:
    """The recorded calls of one name at one place, in order, and which of them are still to come."""

    __slots__ = ("_by_input", "_patched", "first", "places")

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.first = 0  # all before it are taken
        self._by_input: dict[str, list[Place]] | None = None
        self._patched: frozenset[str] = frozenset()

    def next(self) -> Place | None:
        places = self.places
        while self.first < len(places) and places[self.first].taken:
            self.first += 1
        return places[self.first] if self.first < len(places) else None

    def with_input(self, given: JsonObject) -> Place | None:
        """The first that is still to come with these arguments."""
        if self._by_input is None:
            self._by_input = {}
            self._patched = frozenset().union(*(place.call.patched for place in self.places if place.call is not None))
            for place in reversed(self.places):
                if place.call is not None and not place.taken:
                    self._by_input.setdefault(_key(place.call.given, self._patched), []).append(place)
        waiting = self._by_input.get(_key(given, self._patched), [])
        while waiting and waiting[-1].taken:
            waiting.pop()
        return waiting[-1] if waiting else None


class Match(NamedTuple):
    """`place`: the recorded call, None where there is none. `same`: its arguments are those of the live call;
    `late`: in the recording it was over before something began that was called earlier now."""

    place: Place | None
    same: bool = True
    late: bool = False


class Matcher:
    """The calls of one recorded span, each to be taken once."""

    def __init__(self, calls: Sequence[Recorded], matching: Matching = "count") -> None:
        self.matching = matching
        self.root = Place(None)
        self._latest: Recorded | None = None
        places = {call.envelope_id: Place(call) for call in calls}
        self._parents: dict[str, Place] = {}
        for call in calls:
            parent = self.root if call.parent_id is None else places.get(call.parent_id, self.root)
            if parent is not self.root and _within_itself(call, places):
                parent = self.root
            self._parents[call.envelope_id] = parent
            parent.below.setdefault(call.name, Calls()).places.append(places[call.envelope_id])

    def take(self, place: Place, name: str, same: Same, given: Callable[[], JsonObject]) -> Match:
        """The recording of a call of `name` made within `place`, which counts as taken from then on. `same` compares
        its arguments, `given` tells them as JSON. Without one of equal arguments, and with `count` only, the next one
        is taken whatever its arguments."""
        calls = place.below.get(name)
        following = calls.next() if calls is not None else None
        if calls is None or following is None or following.call is None:
            return Match(None)
        if same(following.call):
            return self._taken(following, same=True)
        if following is not calls.places[-1]:
            other = calls.with_input(given())
            if other is not None:
                return self._taken(other, same=True)
        if self.matching == "count":
            return self._taken(following, same=False)
        return Match(None, same=False)

    def expected(self, place: Place, name: str) -> Recorded | None:
        """The recorded call of `name` that would be next within `place`."""
        calls = place.below.get(name)
        following = calls.next() if calls is not None else None
        return following.call if following is not None else None

    def _taken(self, place: Place, *, same: bool) -> Match:
        place.taken = True
        call, latest = place.call, self._latest
        assert call is not None
        if latest is None or call.started_s >= latest.started_s:
            self._latest = call
            return Match(place, same)
        late = call.ended_s <= latest.started_s and call.sequence < latest.sequence
        return Match(place, same, late)

    def leftovers(self) -> Iterator[Recorded]:
        """Recorded calls that nobody made, without those within a call that was answered or is itself left over."""
        open_places = [self.root]
        while open_places:
            for calls in open_places.pop().below.values():
                for place in calls.places:
                    if not place.taken and place.call is not None:
                        yield place.call
                    elif place.ran:
                        open_places.append(place)

    def path(self, place: Place | None) -> tuple[str, ...]:
        """The names from the span to `place`."""
        names: list[str] = []
        while place is not None and place.call is not None:
            names.append(place.call.name)
            place = self._parents[place.call.envelope_id]
        return tuple(reversed(names))

    def path_of(self, call: Recorded) -> tuple[str, ...]:
        """The names of the calls that `call` was made within."""
        return self.path(self._parents[call.envelope_id])

    def around(self, envelope_id: str) -> set[str]:
        """The ids of the calls that the recorded call `envelope_id` was made within."""
        found: set[str] = set()
        place = self._parents.get(envelope_id)
        while place is not None and place.call is not None:
            found.add(place.call.envelope_id)
            place = self._parents[place.call.envelope_id]
        return found


def _within_itself(call: Recorded, places: dict[str, Place]) -> bool:
    """A forged file may have calls within each other."""
    seen = {call.envelope_id}
    parent_id = call.parent_id
    while parent_id is not None and parent_id in places:
        if parent_id in seen:
            return True
        seen.add(parent_id)
        above: Any = places[parent_id].call
        parent_id = above.parent_id
    return False


def _key(given: JsonObject, without: frozenset[str]) -> str:
    return json.dumps(without_names(given, without), sort_keys=True, default=repr)


def without_names(given: JsonObject, names: frozenset[str]) -> JsonObject:
    """The arguments but for those of `names`."""
    return {name: value for name, value in given.items() if name not in names} if names else given
