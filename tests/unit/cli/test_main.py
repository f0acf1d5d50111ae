"""Claims about the way out: each error has its exit code, and nothing that goes wrong is a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from chrono import __version__, errors
from chrono.cli import app
from chrono.cli.main import main
from chrono.cli.render import Screen
from tests.waiting import LONG_S

ROOT = Path(__file__).resolve().parents[3]


def run(*args: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(list(args), Screen(out, err, None, {}))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes `chrono status` raise."""

    def plant(error: BaseException) -> None:
        def status(json: bool = False) -> None:
            raise error

        monkeypatch.setattr(app.importlib, "import_module", lambda name: SimpleNamespace(run=status))

    return plant


def test_version_is_one_line() -> None:
    assert run("--version") == (0, f"chrono {__version__}\n", "")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ChronoError("x"), 1),
        (errors.UsageError("x"), 2),
        (errors.PolicyError("x"), 3),
        (errors.Denied("x"), 4),
        (errors.NoWorkspace("x"), 10),
        (errors.Locked("x"), 11),
        (errors.NoSuchSavepoint("x"), 12),
        (errors.Conflict("x"), 13),
        (errors.AuditTampered("x"), 20),
        (errors.AuditUnverifiable("x"), 21),
        (errors.PluginError("x"), 30),
        (OSError(28, "No space left on device", "/x"), 1),
        (ZeroDivisionError("x"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_code(verb: Callable[[BaseException], None], error: BaseException, code: int) -> None:
    verb(error)
    got, out, err = run("status")
    assert got == code
    assert out == "" and err.startswith("error: ") and "Traceback" not in err


def test_a_full_disk_says_what_to_do(verb: Callable[[BaseException], None]) -> None:
    verb(OSError(28, "No space left on device", "/x"))
    assert (
        run("status")[2]
        == "error: /x: No space left on device\nhint: free some space on that disk, then run it again\n"
    )


def test_debug_prints_the_traceback(verb: Callable[[BaseException], None]) -> None:
    verb(ZeroDivisionError("x"))
    assert "Traceback" in run("--debug", "status")[2]


@pytest.mark.parametrize("args", [("statsu",), ("status", "--nope"), ("rules", "nope"), ("--nope",)])
def test_wrong_usage_is_2_with_a_hint(args: tuple[str, ...]) -> None:
    code, out, err = run(*args)
    assert code == 2 and out == ""
    assert err.startswith("error: no such ") and "hint: see chrono" in err
    assert not err.splitlines()[0].endswith(".")


def test_a_file_that_is_not_there_is_said_with_what_to_do() -> None:
    code, out, err = run("scan", "--batch", "/nowhere/lines.jsonl")
    assert (code, out) == (1, "")
    assert err.startswith("error: /nowhere/lines.jsonl: ") and "hint: look at how it is spelled" in err


@pytest.mark.parametrize(
    "args",
    [("status", "--nope", "--json"), ("--json", "status"), ("--json",), ("replay", "x", "--json", "--", "true")],
    ids=" ".join,
)
def test_wrong_usage_is_json_where_json_is_asked_for(args: tuple[str, ...]) -> None:
    code, out, err = run(*args)
    assert code == 2 and json.loads(out)["exit_code"] == 2 and err == ""


def test_what_follows_the_dashes_asks_for_nothing() -> None:
    code, out, err = run("run", "--nope", "--", "npm", "ls", "--json")
    assert code == 2 and out == "" and err.startswith("error: ")


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("snapshot", "-m"), "see chrono snapshot --help"),
        (("audit", "prove", "--nope"), "see chrono audit prove --help"),
        (("--json", "status"), "chrono status --json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_the_hint_names_the_command_that_was_meant(args: tuple[str, ...], named: str) -> None:
    assert named in run(*args)[1] + run(*args)[2]


def test_a_typo_gets_a_suggestion() -> None:
    assert "'status'" in run("statsu")[2]


def test_a_reader_that_leaves_is_no_error() -> None:
    code = "import sys; from chrono.cli.main import main; sys.exit(main(['--help']))"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.stdin.read(); {code}"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stdin and process.stderr
    process.stdout.close()
    process.stdin.close()
    assert process.wait(LONG_S) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_module_of_the_current_folder_is_never_imported(tmp_path: Path) -> None:
    for name in ("json", "typing", "typer", "signal"):
        (tmp_path / f"{name}.py").write_text("import os\nos.write(1, b'planted\\n')\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "chrono", "--version"]
    result = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert (result.stdout, result.stderr, result.returncode) == (f"chrono {__version__}\n", "", 0)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (errors.UsageError("x"), "see chrono status --help"),
        (errors.StoreError("x"), "run chrono doctor"),
        (errors.KeyRefused("x"), "look at chrono audit --keys"),
        (errors.StoreError("x", "its own"), "its own"),
    ],
)
def test_an_error_without_advice_gets_that_of_its_kind(
    verb: Callable[[BaseException], None], error: errors.ChronoError, hint: str
) -> None:
    verb(error)
    assert run("status")[2].startswith(f"error: x\nhint: {hint}")


def test_the_fault_of_the_system_below_an_error_gives_the_advice(verb: Callable[[BaseException], None]) -> None:
    error = errors.ChronoError("/x cannot be written: No space left on device")
    error.__context__ = OSError(28, "No space left on device")
    verb(error)
    assert "hint: free some space" in run("status")[2]
