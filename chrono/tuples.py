"""Owns `NamedTuple` as this house makes it: the values of `typing.NamedTuple`, made without compiling anything.

`typing` compiles a constructor for every class, which costs a hook that starts anew more than all it does with them.
Here a constructor is one of those below with the names of the fields put in. Left to type checkers: everything that
they see anyway (a field without a default behind one with a default, a field that begins with `_`).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    _new = tuple.__new__
    _function = type(lambda: None)

    # fmt: off
    _CONSTRUCTORS = (
        lambda _: _new(_, ()),
        lambda _, a: _new(_, (a,)),
        lambda _, a, b: _new(_, (a, b)),
        lambda _, a, b, c: _new(_, (a, b, c)),
        lambda _, a, b, c, d: _new(_, (a, b, c, d)),
        lambda _, a, b, c, d, e: _new(_, (a, b, c, d, e)),
        lambda _, a, b, c, d, e, f: _new(_, (a, b, c, d, e, f)),
        lambda _, a, b, c, d, e, f, g: _new(_, (a, b, c, d, e, f, g)),
        lambda _, a, b, c, d, e, f, g, h: _new(_, (a, b, c, d, e, f, g, h)),
        lambda _, a, b, c, d, e, f, g, h, i: _new(_, (a, b, c, d, e, f, g, h, i)),
        lambda _, a, b, c, d, e, f, g, h, i, j: _new(_, (a, b, c, d, e, f, g, h, i, j)),
        lambda _, a, b, c, d, e, f, g, h, i, j, k: _new(_, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda _, a, b, c, d, e, f, g, h, i, j, k, m: _new(_, (a, b, c, d, e, f, g, h, i, j, k, m)),
        lambda _, a, b, c, d, e, f, g, h, i, j, k, m, n: _new(_, (a, b, c, d, e, f, g, h, i, j, k, m, n)),
    )
    # fmt: on

    def _constructor(fields, defaults):
        """A `__new__` with these parameters; that of a class with many fields is compiled, there are few of them."""
        if len(fields) < len(_CONSTRUCTORS):
            made = _CONSTRUCTORS[len(fields)]
        else:
            letters = ", ".join(f"a{at}" for at in range(len(fields)))
            made = eval(f"lambda _, {letters}: _new(_, ({letters},))", {"_new": _new})  # noqa: S307 - our own text
        code = made.__code__.replace(co_varnames=("_cls", *fields), co_name="__new__", co_qualname="__new__")
        return _function(code, made.__globals__, "__new__", defaults)

    class _Values(tuple):
        """What all of them can do."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            made = _new(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            inside = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self):
            return tuple(self)

    class _Maker(type):
        """Turns `class Name(NamedTuple)` into a subclass of `tuple`."""

        def __new__(cls, name, bases, space):
            if not bases:
                return super().__new__(cls, name, bases, space)
            if len(bases) != 1 or ("__annotations__" not in space and "__annotate_func__" in space):
                raise TypeError(f"{name}: a NamedTuple has no other bases, and its module annotates by text")
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space[field] for field in fields if field in space}
            for at, field in enumerate(fields):
                space[field] = _tuplegetter(at, "")
            space |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            space["__new__"] = _constructor(fields, tuple(defaults.values()))
            return type(name, (_Values,), space)

    class NamedTuple(metaclass=_Maker):
        """Base of classes whose fields are annotated; see `typing.NamedTuple`."""
