"""Owns `once`: what an object works out when it is first asked for, and keeps.

As `functools.cached_property`, without the lock that Python 3.11 takes for each: a scan belongs to one thread.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property as once
else:

    class once:
        """A property whose first answer stays."""

        def __init__(self, work):
            self.work = work
            self.name = work.__name__
            self.__doc__ = work.__doc__

        def __get__(self, holder, kind):
            if holder is None:
                return self
            # The entry stands in front of this descriptor from now on.
            found = holder.__dict__[self.name] = self.work(holder)
            return found


__all__ = ("once",)
