"""Claims about the bytes between the hook's client and the resident service."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chrono
from chrono.guard import wire
from chrono.workspace.config import home_layout

PACKAGE = os.path.dirname(os.path.abspath(chrono.__file__))
KEY = b"k" * wire.KEY_BYTES


@given(st.lists(st.binary(max_size=300), max_size=12))
def test_fields_come_back_as_they_were(fields: list[bytes]) -> None:
    assert wire.unpack(wire.pack(tuple(fields)), len(fields)) == fields


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_a_cut_or_prolonged_message_is_malformed(fields: list[bytes], data: st.DataObject) -> None:
    packed = wire.pack(tuple(fields))
    cut = data.draw(st.integers(0, len(packed) - 1))
    for wrong in (packed[:cut], packed + b"x"):
        with pytest.raises(wire.Malformed):
            wire.unpack(wrong, len(fields))


@given(st.binary(max_size=100), st.binary(max_size=50), st.integers(0, 10**6))
def test_one_changed_bit_breaks_the_seal(body: bytes, bound: bytes, where: int) -> None:
    sealed = wire.sealed(KEY, body, bound)[4:]
    assert wire.opened(KEY, sealed, bound) == body
    flipped = bytearray(sealed)
    flipped[where % len(flipped)] ^= 1
    assert wire.opened(KEY, bytes(flipped), bound) is None
    assert wire.opened(b"x" * wire.KEY_BYTES, sealed, bound) is None
    assert wire.opened(KEY, sealed, bound + b"x") is None
    assert wire.opened(KEY, sealed, bound, b"") is None


@given(
    st.dictionaries(
        st.sampled_from(["HOME", "XDG_STATE_HOME", "CHRONO_HOME"]),
        st.sampled_from(["/h", "/h/.state", "/h/./x", "/h/../x", "relative", "", "/h//x", "/h/"]),
    )
)
def test_the_client_finds_the_same_home_as_the_workspace_or_says_that_it_cannot_tell(environ: dict[str, str]) -> None:
    found = wire.chrono_home({os.fsencode(key): os.fsencode(value) for key, value in environ.items()}, sys.platform)
    if found is not None:
        assert os.path.normpath(os.fsdecode(found)) == os.path.normpath(home_layout(environ).root)


def test_the_build_names_version_interpreter_and_place(tmp_path: Path) -> None:
    build = wire.build_id(PACKAGE)
    assert len(build) == 12
    assert build == wire.build_id(PACKAGE)
    (tmp_path / "__init__.py").write_text('__version__ = "9"\n')
    other = wire.build_id(str(tmp_path))
    (tmp_path / "__init__.py").write_text('__version__ = "10"\n')
    assert len({build, other, wire.build_id(str(tmp_path))}) == 3
    assert wire._version(PACKAGE) == chrono.__version__


def test_a_long_home_gets_a_socket_elsewhere() -> None:
    assert wire.socket_path(b"/h", "0" * 12, 7) == b"/h/run/000000000000.sock"
    path = wire.socket_path(b"/h" * 60, "0" * 12, 7)
    assert path.startswith(b"/tmp/chrono-7/")
    assert len(path) < wire.MAX_SOCKET_PATH


def test_client_and_wire_load_no_module_that_costs() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        f"sys.path.insert(0, {os.path.dirname(PACKAGE)!r})\n"
        "sys.path.insert(0, sys.path[0] + '/chrono/guard')\n"
        "import client, wire\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"client", "wire", "_blake2", "_operator"}
