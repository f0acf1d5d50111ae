"""Owns what Ruby consists of for us: its reader, its library, and the words that tell of effects.

Running a source is left to `reading`.
"""

from __future__ import annotations

from chrono.scan.code.reading import Language
from chrono.scan.code.ruby_library import RubyLibrary
from chrono.scan.code.ruby_reader import read_ruby

LANGUAGE = Language(
    "Ruby",
    read_ruby,
    RubyLibrary,
    telling=tuple(
        ("rm delete unlink system exec spawn ` %x eval open write move mv Dir send Socket fork remove").split()
    ),
    loads_modules=True,
)
