"""Claims about the facade: a program written for the Chronicle SDK finds its names, with its parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import chrono.record
from tests.formats.signatures import names

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
THEIRS: dict[str, Any] = json.loads((HERE / "chronicle_1_1_1.json").read_text())

# Ours names a boundary after its provider, where theirs calls every one "llm" and lets them share a counter.
OTHER_DEFAULTS = {("wrap", "name")}


def takes(ours: list[list[Any]], theirs: list[list[Any]], name: str) -> None:
    """Whether every call that fits `theirs` fits `ours`."""
    by_name = {one[0]: one for one in ours}
    for parameter, kind, default in theirs:
        assert parameter in by_name, f"{name}: no parameter {parameter}"
        _, our_kind, our_default = by_name[parameter]
        assert our_kind == kind, f"{name}({parameter})"
        assert default == "(none)" or our_default != "(none)", f"{name}({parameter}) needs a value"
        if (name, parameter) not in OTHER_DEFAULTS and not str(default).startswith("("):
            assert our_default == default, f"{name}({parameter})"
    positional = [one[0] for one in theirs if one[1] == "POSITIONAL_OR_KEYWORD"]
    assert [one[0] for one in ours if one[1] == "POSITIONAL_OR_KEYWORD"][: len(positional)] == positional, name
    for parameter, kind, default in ours:
        if parameter not in {one[0] for one in theirs} and not kind.startswith("VAR_"):
            assert default != "(none)", f"{name}: {parameter} is ours and has no default"


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_a_name_of_theirs_is_here_and_takes_the_same_calls(name: str) -> None:
    ours, theirs = names(chrono.record)[name], THEIRS[name]
    assert ours.get("members") == theirs.get("members")
    if theirs.get("call") is not None:
        takes(ours["call"], theirs["call"], name)
    for method, parameters in theirs.get("methods", {}).items():
        takes(ours["methods"][method], parameters, f"{name}.{method}")
    assert set(theirs.get("bases", ())) - {"BaseEnum"} <= set(ours.get("bases", ()))


def test_a_session_has_their_attributes() -> None:
    chrono.record.configure(enabled=False)
    with chrono.record.span() as session:
        for name in (
            "trace_id", "span_id", "service", "mode", "parent_envelope_id", "sink", "settings", "hooks", "replay",
            "started_at", "metadata", "is_replay", "next_sequence", "next_invocation",
        ):  # fmt: skip
            assert hasattr(session, name), name
    chrono.record.reset()


def test_no_submodule_hides_a_public_name() -> None:
    """Importing `chrono.record.x` would replace a public `x` of the facade by the module."""
    modules = {path.stem for path in (ROOT / "chrono" / "record").iterdir()}
    assert modules.isdisjoint(chrono.record.__all__)


def test_the_facade_and_its_types_name_the_same() -> None:
    stub = (ROOT / "chrono" / "record" / "__init__.pyi").read_text()
    for name, module in chrono.record._PUBLIC.items():
        assert f"from chrono.record.{module} import {name} as {name}\n" in stub
    assert set(chrono.record.__all__) == {*chrono.record._PUBLIC, "__version__"}
    assert dir(chrono.record) == sorted(chrono.record.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = chrono.record.nothing


def test_the_facade_costs_nothing_to_import_and_recording_needs_no_pydantic() -> None:
    program = (
        "import sys, chrono.record as r; assert 'chrono.record.session' not in sys.modules\n"
        "from chrono.record.sink import MemorySink; from chrono.record.runtime import use_sink; use_sink(MemorySink())\n"
        "with r.record('x'): r.boundary('b')(len)('a')\n"
        "assert not {'pydantic', 'httpx', 'asyncio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.skipif(not PEERS.exists(), reason="scripts/peers has not been run")
def test_the_frozen_names_are_those_of_the_real_package() -> None:
    program = [str(PEERS), str(HERE / "signatures.py"), "chronicle"]
    assert json.loads(subprocess.run(program, capture_output=True, check=True).stdout) == THEIRS
