"""Owns what Python consists of for us: its reader, its library, and the words that tell of effects.

Running a source is left to `reading`.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.modules import Reader
from chrono.scan.code.python_library import PythonLibrary
from chrono.scan.code.python_reader import read_python
from chrono.scan.code.reading import Language


def _read_otherwise(source: str, read: Reader, telling: tuple[str, ...]) -> tuple[tree.Node, ...]:
    from chrono.scan.code.python_versions import read_tolerantly

    return read_tolerantly(source, read, telling)


LANGUAGE = Language(
    "Python",
    read_python,
    PythonLibrary,
    telling=tuple(
        (
            "rmtree remove unlink rmdir system popen subprocess exec spawn eval __import__ getattr importlib "
            "shutil pathlib b64decode socket write open truncate chmod sql pickle marshal .run( .sudo("
        ).split()
    ),
    loads_modules=True,
    read_otherwise=_read_otherwise,
    longest=300_000,  # compiling costs 3 us a byte
)
