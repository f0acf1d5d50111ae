"""Claims about machine code that a program loads: where it lies counts, and the C library's `system` is a shell."""

from __future__ import annotations

import pytest

from chrono.scan.code.languages import commands_of
from tests.unit.scan.conftest import world


@pytest.mark.parametrize(
    ("language", "source", "argv"),
    [
        ("ruby", "require 'fiddle'\nFiddle.dlopen('/tmp/x.so')", ("load-library", "/tmp/x.so")),
        ("perl", "use DynaLoader; DynaLoader::dl_load_file('/tmp/x.so');", ("load-library", "/tmp/x.so")),
        ("php", "<?php FFI::load('/tmp/x.h');", ("load-library", "/tmp/x.h")),
        (
            "ruby",
            "Fiddle::Function.new(Fiddle.dlopen(nil)['system'], [], 0).call('rm -rf /home/dev')",
            ("rm", "-rf", "/home/dev"),
        ),
        ("php", "<?php FFI::cdef('int system(char*);', 'libc.so.6')->system('rm -rf /srv');", ("rm", "-rf", "/srv")),
    ],
)
def test_what_is_loaded_and_what_it_runs_is_seen(language: str, source: str, argv: tuple[str, ...]) -> None:
    found = commands_of(language, source, world=world(), name="x")
    assert argv in [command.argv for command in found.commands]
