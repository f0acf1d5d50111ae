"""Claims about `chrono replay`: real programs, recorded once, answered from that afterwards."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import LONG_S

ROOT = Path(__file__).resolve().parents[2]

AGENT = """
import os, pathlib, sys, threading
from chrono import record

made = pathlib.Path("made.txt")

@record.boundary("tool")
def tool(name):
    with made.open("a") as file:
        file.write(name + "\\n")
    return len(name)

with record.record("the agent"):
    print(tool(sys.argv[1]))
    thread = threading.Thread(target=lambda: print(tool("in a thread")))
    thread.start()
    thread.join()
tool("outside")
sys.exit(int(os.environ.get("CODE", "0")))
"""


def run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CHRON", "PYTEST"))}
    environment |= {"PYTHONPATH": str(ROOT), "CHRONO_HOME": str(folder / "home"), **more}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=LONG_S
    )


def recorded(folder: Path) -> str:
    (folder / "agent.py").write_text(AGENT)
    assert run(folder, "agent.py", "abc").stdout == "3\n11\n"
    assert (folder / "made.txt").read_text().count("\n") == 3
    (folder / "made.txt").unlink()
    listed = json.loads(run(folder, "-m", "chrono", "trace", "list", "the agent", "--json").stdout)
    return str(listed["traces"][0]["trace_id"])


def test_a_program_is_answered_and_told_apart(tmp_path: Path) -> None:
    trace = recorded(tmp_path)
    replayed = ["-m", "chrono", "replay", "--json", trace, "--", sys.executable, "agent.py"]
    done = run(tmp_path, *replayed, "abcd")
    assert not (tmp_path / "made.txt").exists(), done.stderr
    assert done.stdout.startswith("3\n11\n") and "ReplayMismatchError" in done.stderr
    value = json.loads(done.stdout.partition("11\n")[2])
    assert [(one["kind"], one["name"]) for one in value["divergences"]] == [("changed", "tool"), ("missing", "tool")]
    assert value["divergences"][0]["changes"] == [{"path": "/name", "left": "abc", "right": "abcd"}]
    assert (value["calls"], value["exit_code"], done.returncode) == (3, 1, 1)


def test_an_exported_file_replays_on_a_machine_that_has_nothing_else(tmp_path: Path) -> None:
    trace = recorded(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT.replace('tool("outside")', ""))
    run(tmp_path, "-m", "chrono", "trace", "export", trace, "-o", "incident.json")
    there = {"CHRONO_HOME": str(tmp_path / "elsewhere")}
    command = ["-m", "chrono", "replay", "incident.json", "--", sys.executable, "agent.py", "abc"]
    done = run(tmp_path, *command, **there)
    assert (done.returncode, done.stdout) == (0, "3\n11\n"), done.stderr
    assert "as recorded: 2 calls" in done.stderr and not (tmp_path / "made.txt").exists()
    assert run(tmp_path, *command, CODE="7", **there).returncode == 7
    some = run(tmp_path, *command[:3], "--run", "tool#1", *command[3:], **there)
    assert some.returncode == 0 and (tmp_path / "made.txt").read_text() == "abc\n"


FILES = """
import pathlib
from chrono import record

@record.boundary("edit")
def edit(text):
    pathlib.Path("notes.txt").write_text(pathlib.Path("notes.txt").read_text() + text)

with record.record("notes"):
    print(pathlib.Path("notes.txt").read_text())
    edit("two")
"""


def test_a_request_runs_again_on_the_files_as_they_were(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "below").mkdir(parents=True)
    notes = project / "below" / "notes.txt"
    notes.write_text("one")
    home = {"CHRONO_HOME": str(tmp_path / "home")}
    assert run(project, "-m", "chrono", "init", **home).returncode == 0
    program = str(tmp_path / "program.py")
    Path(program).write_text(FILES)
    assert run(notes.parent, program, CHRONO_RECORD_RECORD_FILES="on", **home).stdout == "one\n"
    notes.write_text("something else")
    listed = json.loads(run(project, "-m", "chrono", "trace", "list", "--json", **home).stdout)
    trace = listed["traces"][0]["trace_id"]

    def replayed(*options: str) -> tuple[str, dict[str, Any]]:
        command = ("-m", "chrono", "replay", "--files", "--json", *options, trace, "--", sys.executable, program)
        done = run(notes.parent, *command, **home)
        assert done.returncode == 0, done.stderr
        first, _, rest = done.stdout.partition("\n")
        return first, json.loads(rest)

    said, value = replayed()
    assert said == "one" and value["files"] == [{"path": "below/notes.txt", "kind": "modified"}]
    said, value = replayed("--run", "edit")
    assert said == "one" and value["files"] == [] and len(value["savepoint"]) == 40
    assert notes.read_text() == "something else"

    # on a machine that has nothing but the exported file
    run(project, "-m", "chrono", "trace", "export", trace, "--with-files", "-o", "../incident.json", **home)
    elsewhere = {"CHRONO_HOME": str(tmp_path / "elsewhere")}
    there = tmp_path / "there"
    there.mkdir()
    assert run(there, "-m", "chrono", "trace", "import", "../incident.json", **elsewhere).returncode == 0
    for named in ("../incident.json", trace):
        command = ("-m", "chrono", "replay", "--files", "--run", "edit", named, "--", sys.executable, program)
        done = run(there, *command, **elsewhere)
        assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr
    incident = json.loads((tmp_path / "incident.json").read_text())
    incident["files"]["objects"].pop()
    (tmp_path / "incident.json").write_text(json.dumps(incident))
    for command, rest in ((("trace", "import"), ()), (("replay", "--files"), ("--", sys.executable, program))):
        done = run(there, "-m", "chrono", *command, "../incident.json", *rest, **elsewhere)
        assert done.returncode == 1 and done.stdout == "" and "lack" in done.stderr

    without = recorded(tmp_path)
    done = run(tmp_path, "-m", "chrono", "replay", "--files", without, "--", sys.executable, "agent.py", "abc")
    assert done.returncode == 1 and "does not say how the files were" in done.stderr


def test_what_cannot_be_replayed_runs_nothing(tmp_path: Path) -> None:
    trace = recorded(tmp_path)
    program = ["--", sys.executable, "agent.py", "abc"]
    for arguments in (["beef"], [trace, "1234567890abcdef"], ["agent.py"]):
        done = run(tmp_path, "-m", "chrono", "replay", *arguments, *program)
        assert done.returncode == 1 and done.stderr.startswith("error: "), done.stderr
    assert run(tmp_path, "-m", "chrono", "replay", trace).returncode == 2
    late = run(tmp_path, "-m", "chrono", "replay", trace, "--run", "tool", *program)
    assert late.returncode == 2 and "chrono replay --run tool TRACE -- CMD..." in late.stderr
    assert not (tmp_path / "made.txt").exists()


def test_the_how_to_runs_from_top_to_bottom(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "howto" / "replay-a-program.md").read_text()
    *blocks, last = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "program.py").write_text("\n".join(blocks))
    done = run(tmp_path, "program.py")
    assert done.returncode == 0, done.stderr
    shown = re.search(r"```\n(changed: .*?)```", text, re.DOTALL)
    assert shown is not None and done.stdout.startswith(shown[1])
    listed = json.loads(run(tmp_path, "-m", "chrono", "trace", "list", "clean up", "--json").stdout)
    trace = listed["traces"][0]["trace_id"]
    assert run(tmp_path, "-m", "chrono", "trace", "export", trace, "-o", "incident.json").returncode == 0
    (tmp_path / "test_it.py").write_text(blocks[0].split("with record.record")[0] + last)
    options = ["-q", "-p", "chrono.record.pytest_plugin", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=."]
    done = run(tmp_path, "-m", "pytest", *options, "test_it.py", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "1 passed" in done.stdout, done.stdout
