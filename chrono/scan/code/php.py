"""Owns what PHP consists of for us: its reader, its library, and the words that tell of effects.

Running a source is left to `reading`.
"""

from __future__ import annotations

from chrono.scan.code.php_library import PhpLibrary
from chrono.scan.code.php_reader import read_php
from chrono.scan.code.reading import Language

LANGUAGE = Language(
    "PHP",
    read_php,
    PhpLibrary,
    telling=tuple(
        (
            "unlink rmdir exec system ` eval popen proc_open rename put open delete assert query passthru "
            "Artisan call_user_func include require"
        ).split()
    ),
    loads_modules=True,
)
