"""Owns what Perl consists of for us: its reader, its library, and the words that tell of effects.

Running a source is left to `reading`.
"""

from __future__ import annotations

from chrono.scan.code.perl_library import PerlLibrary
from chrono.scan.code.perl_reader import read_perl
from chrono.scan.code.reading import Language

LANGUAGE = Language(
    "Perl",
    read_perl,
    PerlLibrary,
    telling=tuple(("unlink rmdir tree system exec ` qx eval open rename move Socket do use require").split()),
    loads_modules=True,
)
