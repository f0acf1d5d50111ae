"""Claims about the pages of docs/howto on each framework: their code runs as it stands, and prints what they show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers import answers
from tests.peers.fake_provider import FakeProvider

PAGES = Path(__file__).resolve().parents[2] / "docs" / "howto"

pytestmark = pytest.mark.slow


class Reader:
    """A person who has copied a page's code into a file, and runs it."""

    def __init__(self, folder: Path, provider: FakeProvider) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "CHRONO_HOME": str(folder / "state"), "COLUMNS": "200",
            "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_BASE": f"{provider.url}/v1",
            "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": provider.url, "MODELS_URL": provider.url,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LANGSMITH_TRACING": "false",
        }  # fmt: skip

    def python(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *arguments], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def chrono(self, *arguments: str) -> str:
        return self.python("-m", "chrono", *arguments)


@pytest.fixture
def reader(tmp_path: Path, provider: FakeProvider) -> Reader:
    provider.plan("/chat/completions", answers.chat_whole())
    provider.plan("/v1/messages", answers.message_whole())
    return Reader(tmp_path, provider)


def without_chance(shown: str) -> str:
    """`shown` without what is different each time: ids and durations."""
    return re.sub(r"  +[\d.,]+ m?s$", "  TIME", re.sub(r"\b[0-9a-f]{16,32}\b", "ID", shown), flags=re.MULTILINE).strip()


def read(page: str, reader: Reader) -> list[str]:
    """Runs all code of `page` as one program; answers with what the page shows of `chrono trace show`."""
    text = (PAGES / f"{page}.md").read_text()
    program = "\n\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    (reader.folder / "program.py").write_text(program)
    reader.python("program.py")
    return re.findall(r"```text\n(.*?)```", text, re.DOTALL)


def newest(reader: Reader) -> str:
    listed: str = json.loads(reader.chrono("trace", "list", "--json"))["traces"][0]["trace_id"]
    return listed


STREAMS = {
    "record-openai": ("/chat/completions", answers.chat_whole(), answers.chat_pieces()),
    "record-anthropic": ("/v1/messages", answers.message_whole(), answers.message_pieces()),
    "record-fastapi": ("/chat/completions", answers.chat_pieces()),
}


LONGER = ("record-plain-http",)


@pytest.mark.parametrize(
    "page", [one for one in sorted(PAGES.glob("*.md")) if re.search(r"\bwrap\(|provider=", one.read_text())]
)
def test_a_page_that_needs_a_provider_installs_them(page: Path) -> None:
    """Without them a client of OpenAI is recorded all the same, but without tokens where every reader looks for them."""
    (installed, *_) = re.findall(r"^pip install .*", page.read_text(), re.MULTILINE)
    assert "'.[record]' ./plugins/providers" in installed


@pytest.mark.parametrize(
    "page",
    ["record-quickstart", "record-openai", "record-anthropic", "record-litellm", "record-langchain", "record-fastapi",
     "record-plain-http"],
)  # fmt: skip
def test_a_page_s_code_prints_what_the_page_shows(page: str, reader: Reader, provider: FakeProvider) -> None:
    if page in STREAMS:
        path, *planned = STREAMS[page]
        provider.plan(path, *planned)
    (promised,) = read(page, reader)
    shown = without_chance(reader.chrono("trace", "show", newest(reader)))
    # A page may leave out what happens below the calls that it is about.
    assert shown.startswith(without_chance(promised)) and (
        page in LONGER or len(shown) == len(without_chance(promised))
    )


def test_the_page_on_langgraph_shows_nodes_tools_and_models(reader: Reader, provider: FakeProvider) -> None:
    provider.plan("/chat/completions", answers.chat_whole(answers.CHAT_CALL, "tool_calls"), answers.chat_whole())
    read("record-langgraph", reader)
    envelopes = json.loads(reader.chrono("trace", "show", newest(reader), "--json"))["envelopes"]
    names = {one["envelope_id"]: one["name"] for one in envelopes}
    assert sorted((one["name"], names.get(one.get("parent_envelope_id"))) for one in envelopes) == [
        ("ask", None), ("ask", None), ("ask:route", None), ("ask:route", None), ("openai.chat", "ask"),
        ("openai.chat", "ask"), ("tools", None), ("weather", "tools"),
    ]  # fmt: skip


def test_the_page_on_langgraph_replays_its_tools_without_a_difference(reader: Reader, provider: FakeProvider) -> None:
    page = (PAGES / "record-langgraph.md").read_text()
    assert "CHRONO_RECORD_RECORD_UUID=on python agent.py" in page
    assert "chrono replay --run tools --run weather TRACE -- python agent.py" in page
    provider.plan("/chat/completions", answers.chat_whole(answers.CHAT_CALL, "tool_calls"), answers.chat_whole())
    reader.environment["CHRONO_RECORD_RECORD_UUID"] = "on"
    read("record-langgraph", reader)
    del reader.environment["CHRONO_RECORD_RECORD_UUID"]
    asked = len(provider.asked)
    command = [sys.executable, "-W", "ignore", "program.py"]
    options = ["--json", "--run", "tools", "--run", "weather"]
    report = json.loads(reader.chrono("replay", *options, newest(reader), "--", *command))
    assert (report["divergences"], report["exit_code"], report["calls"] >= 6) == ([], 0, True)
    assert len(provider.asked) == asked


def test_the_page_on_chronicle_runs_and_is_recorded(reader: Reader) -> None:
    assert read("move-from-chronicle", reader) == []
    assert "a request" in reader.chrono("trace", "list")


def test_plain_requests_go_with_a_header_and_without_what_opens_doors(reader: Reader) -> None:
    read("record-plain-http", reader)
    traces = json.loads(reader.chrono("trace", "list", "a request", "--json"))["traces"]
    shown = reader.chrono("trace", "show", traces[0]["trace_id"], "--json")
    (envelope,) = json.loads(shown)["envelopes"]
    assert envelope["name"].endswith("/v1/chat/completions")
    assert "Bearer" not in shown
    assert "Paris." in shown
