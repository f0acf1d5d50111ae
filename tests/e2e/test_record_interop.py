"""Interop with the real packages, both ways: ours delivers to the real control plane, and what the real SDK recorded
comes into our store; span for span equal. `scripts/peers` makes the environment that they live in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chrono.record.exchange import fetched, import_trace
from chrono.record.plane import HttpPlane
from chrono.record.reading import read_trace, summaries
from tests.loopback import held_port
from tests.peers.answers import chat_whole
from tests.peers.fake_provider import running
from tests.waiting import LONG_S, until

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(os.environ.get("CHRONO_PEERS") or ROOT / ".venv-peers") / "bin" / "python"

pytestmark = pytest.mark.skipif(not PEERS.exists(), reason="scripts/peers has not made the peers' environment")

PROGRAM = """
import sys
{import_}
chronicle.configure(control_plane_url=sys.argv[1], fail_open=False, service_name="shop")

@chronicle.boundary("price")
def price(item, currency="EUR"):
    return {{"item": item, "price": [1, 2.5, None, "\\u20ac\\u0000"], "currency": currency}}

@chronicle.boundary("order")
def order(item):
    return {{"ok": True, "price": price(item)}}

@chronicle.boundary("fail")
def fail():
    raise FileNotFoundError("no such thing")

class Model:
    def __call__(self, model, messages):
        return {{"id": "r1", "model": "gpt-x-1", "choices": [{{"message": {{"role": "assistant", "content": "hi"}}, "finish_reason": "stop"}}],
                "usage": {{"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {{"cached_tokens": 4}}}}}}

ask = chronicle.wrap_llm("ask", Model().__call__, provider="openai")

with chronicle.record("buy", labels={{"user_id": "u1"}}) as session:
    for number in range(30):
        order("thing %d" % number)
    ask(model="gpt-x", messages=[{{"role": "user", "content": "hello " * 200}}])
    try:
        fail()
    except FileNotFoundError:
        pass
    print(session.trace_id)
chronicle.flush()
chronicle.shutdown()
"""


FIRST_STEPS = """
import asyncio, json, sys
{import_}
from {module} import ReplayPlan
from openai import OpenAI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

plane, models, trace_id = sys.argv[1:]
chronicle.configure(control_plane_url=plane, api_key="k", service_name="desk", inject_hosts=["billing.internal"])
chronicle.instrument_httpx()
client = chronicle.wrap(OpenAI(api_key="k", base_url=models))
fixed = False

@chronicle.boundary("search", kind="tool")
def search(query: str) -> dict:
    return {{"hits": [query]}}

@chronicle.boundary("delete_file")
def delete_file(path: str) -> dict:
    return {{"blocked": fixed}}

@chronicle.boundary("planner", kind="llm", provider="openai")
async def planner(model: str, messages: list) -> dict:
    return {{"model": model, "choices": [{{"message": {{"role": "assistant", "content": "search"}}, "finish_reason": "stop"}}]}}

@chronicle.boundary("send_mail")
def send_mail(to: str) -> None:
    raise AssertionError("never called")

class Governor(chronicle.Hook):
    def enter(self, call: chronicle.CallInfo):
        if call.name == "send_mail":
            raise chronicle.AbortCall("budget exhausted")

chronicle.default_hooks.register(Governor())

def handle(message):
    asked = [{{"role": "user", "content": message}}]
    asyncio.run(planner("planner-1", asked))
    said = client.chat.completions.create(model="gpt-4o-mini", messages=asked).choices[0].message.content
    search(said)
    delete_file("/srv/data")
    try:
        send_mail("everybody")
    except Exception as stopped:
        return said, str(stopped).endswith("budget exhausted")  # theirs puts the type before it, in a replay

app = Starlette(routes=[Route("/", lambda request: PlainTextResponse(handle("over HTTP")[0]))])
app.add_middleware(chronicle.ChronicleMiddleware, service="desk")
caller = {{"traceparent": f"00-{{trace_id}}-00f067aa0ba902b7-01"}}
told = [TestClient(app).get("/", headers=caller).text]
with chronicle.span(caller) as session:
    told.append(handle("from a queue"))
chronicle.flush()

fixed = True
with chronicle.replay_trace(trace_id, session.span_id, ReplayPlan().run("delete_file", 1)) as run:
    told.append(handle("from a queue"))
    assert run.captured_result("delete_file", 1)["blocked"] is True
told.append([[one.name.removeprefix("openai.").replace("chat", "llm"), one.mode.value] for one in run.call_log()])
chronicle.shutdown()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[str]:
    """The real control plane, on loopback."""
    folder = tmp_path_factory.mktemp("plane")
    environ = {**os.environ, "CONTROL_PLANE_DATABASE_URL": f"sqlite:///{folder}/plane.db"}
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [PEERS, "-m", "control_plane", "serve", "--port", str(port)],
            env=environ,
            stdout=log,
            stderr=log,
            cwd=folder,
        )
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            with urllib.request.urlopen(url + "/ready", timeout=1):
                return True
        except OSError:
            assert process.poll() is None, (folder / "log").read_text()
            return False

    try:
        until(ready)
        yield url
    finally:
        process.terminate()
        process.wait()


def run(python: Path | str, program: str, url: str, store: Path, *more: str) -> str:
    environ = {**os.environ, "CHRONO_RECORD_STORE": str(store), "PYTHONPATH": str(ROOT)}
    command = [python, "-W", "ignore", "-c", program, url, *more]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LONG_S)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def at_plane(url: str, trace_id: str) -> tuple[list[Any], list[Any]]:
    client = HttpPlane(url, timeout_s=LONG_S)
    try:
        found = fetched(client, trace_id)
    finally:
        client.close()
    return list(found.spans), list(found.envelopes)


def plain(values: Any) -> list[Any]:
    """In one order, without null members and empty lists that one side leaves out, times as moments."""
    return sorted((_plain(value) for value in values), key=lambda one: one.get("envelope_id") or one["span_id"])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _plain(item) for key, item in value.items() if item is not None and item != []}
        return {key: _moment(item) if key in ("started_at", "ended_at") else item for key, item in kept.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _moment(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def test_what_ours_records_is_at_the_real_plane_span_for_span(plane: str, tmp_path: Path) -> None:
    trace_id = run(sys.executable, PROGRAM.format(import_="from chrono import record as chronicle"), plane, tmp_path)
    ours = read_trace(str(tmp_path), trace_id)
    assert len(ours.envelopes) == 62 and len(ours.spans) == 1
    spans, envelopes = at_plane(plane, trace_id)
    assert plain(spans) == plain(ours.spans)
    assert plain(envelopes) == plain(ours.envelopes)


def test_what_the_real_sdk_recorded_comes_into_our_store_as_it_is(plane: str, tmp_path: Path) -> None:
    trace_id = run(PEERS, PROGRAM.format(import_="import chronicle"), plane, tmp_path / "unused")
    client = HttpPlane(plane, timeout_s=30)
    done = import_trace(str(tmp_path / "store"), fetched(client, trace_id))
    client.close()
    assert done.written == 64
    (listed,) = summaries(str(tmp_path / "store"))
    assert (listed.name, listed.labels, listed.envelope_count) == ("buy", {"user_id": "u1"}, 62)
    ours = read_trace(str(tmp_path / "store"), trace_id)
    spans, envelopes = at_plane(plane, trace_id)
    assert (list(ours.spans), plain(ours.envelopes)) == (spans, plain(envelopes))


@pytest.mark.slow
def test_the_same_program_records_the_same_with_both(plane: str, tmp_path: Path) -> None:
    from chrono.record.compare import differences

    ids = [
        run(python, PROGRAM.format(import_=import_), plane, tmp_path / "store")
        for python, import_ in ((sys.executable, "from chrono import record as chronicle"), (PEERS, "import chronicle"))
    ]
    client = HttpPlane(plane, timeout_s=30)
    ours, theirs = (fetched(client, trace_id) for trace_id in ids)
    client.close()
    # A default that the caller left out is part of what the call was given; the real SDK leaves it out.
    found = [(one.name, change.path) for one in differences(theirs, ours) for change in one.changes]
    assert set(found) <= {("price", "/input/raw/currency")}, found


def test_a_lone_surrogate_leaves_the_real_plane_readable(plane: str, tmp_path: Path) -> None:
    program = """
import sys
from chrono import record
record.configure(control_plane_url=sys.argv[1], fail_open=False)
with record.record("odd") as session:
    record.boundary("odd")(lambda: "a\\ud800b")()
    print(session.trace_id)
record.flush()
"""
    trace_id = run(sys.executable, program, plane, tmp_path)
    _, envelopes = at_plane(plane, trace_id)
    assert len(envelopes) == 1 and plain(envelopes) == plain(read_trace(str(tmp_path), trace_id).envelopes)


@pytest.mark.slow
def test_first_steps_with_the_real_sdk_are_those_with_ours_but_for_the_import(plane: str, tmp_path: Path) -> None:
    """What its README begins with: a client, tools, a planner, a service, a worker, a hook, and a replay that lets the
    fixed tool run. Both say the same, and ask the model only while they record."""
    found = {}
    for module, import_ in (
        ("chronicle", "import chronicle"),
        ("chrono.record", "from chrono import record as chronicle"),
    ):
        trace_id = os.urandom(16).hex()
        program = FIRST_STEPS.format(import_=import_, module=module)
        with running() as provider:
            provider.plan("/chat/completions", chat_whole())
            said = json.loads(run(PEERS, program, plane, tmp_path / module, f"{provider.url}/v1", trace_id))
            assert len(provider.asked) == 2
        spans, envelopes = at_plane(plane, trace_id)
        found[module] = said, len(spans), sorted((_kind_of(one), one["envelope_status"]["status"]) for one in envelopes)
    assert found["chrono.record"] == found["chronicle"]


def _kind_of(envelope: Any) -> str:
    """Ours names a client's calls after its provider, theirs all of them `llm`."""
    return "llm" if envelope["name"] == "openai.chat" else str(envelope["name"])
