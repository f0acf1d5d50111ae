"""Claims about docs/howto/write-a-provider.md: who copies its text has a distribution that records its client."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "howto" / "write-a-provider.md").read_text()

PROGRAM = """
import json
from acme import Acme
from chrono import record
from chrono.record.runtime import use_sink
from chrono.record.sink import MemorySink
from chrono.record.entry import wire

sink = MemorySink()
use_sink(sink)
client = record.wrap(Acme())
with record.record("two questions"):
    client.ask("acme-1", "The capital of France?")
    list(client.ask("acme-1", "The capital of France?", stream=True))
print(json.dumps([{"name": one.name, **one.output} for one in sink.envelopes]))
"""
CLIENT = """
class Acme:
    def ask(self, model, prompt, stream=False):
        used = {"in": 5, "out": 2}
        if not stream:
            return {"model": "acme-1-2024", "text": "Paris.", "done": True, "tokens": used}
        return iter([{"model": "acme-1-2024", "text": "Par"}, {"text": "is."}, {"done": True, "tokens": used}])
"""


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_text_alone_makes_a_distribution_that_records(tmp_path: Path) -> None:
    (project,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    provider, suite = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(project)
    (source / "chrono_provider_acme.py").write_text(provider)
    run(source, "-m", "hatchling", "build", "-t", "wheel")
    (wheel,) = source.glob("dist/*.whl")
    with zipfile.ZipFile(wheel) as archive:  # a pure wheel is installed by unpacking it
        archive.extractall(tmp_path / "site")
    (tmp_path / "site" / "acme.py").write_text(CLIENT)
    (tmp_path / "test_acme.py").write_text(suite)

    told = run(tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_acme.py")
    assert " passed" in told

    whole, stream = json.loads(run(tmp_path, "-c", PROGRAM))
    assert whole["name"] == stream["name"] == "acme.ask"
    for one in (whole, stream):
        assert one["provider"] == "acme" and one["model"] == "acme-1-2024"
        assert one["content"] == [{"type": "text", "text": "Paris."}]
        assert one["usage"] == {"input": 5, "output": 2}


def test_the_modules_it_names_exist() -> None:
    for name in set(re.findall(r"`(chrono\.[a-z_.]+[a-z])[.`]", TEXT)) - {"chrono.providers"}:
        importlib.import_module(name)
