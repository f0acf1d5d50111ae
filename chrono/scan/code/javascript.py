"""Owns what JavaScript consists of for us: its reader, its library, and the words that tell of effects.

Running a source is left to `reading`.
"""

from __future__ import annotations

from chrono.scan.code.javascript_library import JavaScriptLibrary
from chrono.scan.code.javascript_reader import read_javascript
from chrono.scan.code.reading import Language

LANGUAGE = Language(
    "JavaScript",
    read_javascript,
    JavaScriptLibrary,
    telling=tuple(
        (
            "child_process fs exec spawn eval Function require rimraf Deno Bun shelljs zx del fetch net sql "
            "query import"
        ).split()
    ),
    loads_modules=True,
)
