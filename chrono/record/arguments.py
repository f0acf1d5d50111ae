"""Owns arguments by name: how a call's positional and keyword arguments are named, defaulted and patched.

How the values become JSON is `record.serialise`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from chrono.tuples import NamedTuple

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)


class Shape(NamedTuple):
    """What is known of a function once: `names` that positions fill, `defaults` by name; None where it takes *args."""

    names: tuple[str, ...]
    skipped: int  # self or cls at the front
    positional_only: frozenset[str]
    keyword_only: frozenset[str]
    defaults: Kwargs
    rest: str | None  # the name of *args
    takes_any: bool  # **kwargs

    def by_name(self, args: Args, kwargs: Kwargs) -> Kwargs:
        """Arguments by name (specs: record A10): declared ones and defaults, *args as a list, **kwargs flattened."""
        names = self.names
        if len(args) == len(names) and not kwargs and not self.keyword_only and self.rest is None:
            return dict(zip(names[self.skipped :], args[self.skipped :], strict=False))
        found = dict(zip(names[self.skipped :], args[self.skipped :], strict=False))
        if self.rest is not None:
            found[self.rest] = list(args[len(names) :])
        elif len(args) > len(names):
            return {"args": list(args), "kwargs": kwargs}
        if kwargs:
            found.update(kwargs)
        for name, value in self.defaults.items():
            found.setdefault(name, value)
        return found

    def patched(self, args: Args, kwargs: Kwargs, patches: Mapping[str, Any]) -> tuple[Args, Kwargs, list[str]]:
        """The call with `patches` in their places, positional ones too, and the names that it does not take."""
        changed, named, refused = list(args), dict(kwargs), []
        for name, value in patches.items():
            place = self.names.index(name) if name in self.names else -1
            if 0 <= place < len(changed) and name not in named:
                changed[place] = value
            elif name in self.positional_only:
                refused.append(name)
            elif place >= 0 or name in self.keyword_only or self.takes_any:
                named[name] = value
            else:
                refused.append(name)
        return tuple(changed), named, refused


class Unknown:
    """The shape of a function whose signature cannot be read."""

    def by_name(self, args: Args, kwargs: Kwargs) -> Kwargs:
        return {**({"args": list(args)} if args else {}), **kwargs}

    def patched(self, args: Args, kwargs: Kwargs, patches: Mapping[str, Any]) -> tuple[Args, Kwargs, list[str]]:
        return args, {**kwargs, **patches}, []


def shape_of(function: Callable[..., Any]) -> Shape | Unknown:
    """Read the signature of `function`. Never raises."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return Unknown()
    positional = [one for one in parameters if one.kind in _PLAIN[::2]]
    skipped = 1 if positional and positional[0].name in ("self", "cls") else 0
    return Shape(
        names=tuple(one.name for one in positional),
        skipped=skipped,
        positional_only=frozenset(one.name for one in parameters if one.kind is inspect.Parameter.POSITIONAL_ONLY),
        keyword_only=frozenset(one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY),
        defaults={
            one.name: one.default
            for one in parameters[skipped:]
            if one.kind in _PLAIN and one.default is not inspect.Parameter.empty
        },
        rest=next((one.name for one in parameters if one.kind is inspect.Parameter.VAR_POSITIONAL), None),
        takes_any=any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters),
    )
