"""Claims about programs that were written for the Chronicle SDK: with the import changed they record the same.

Each program runs under the real package and under ours, in the environment that scripts/peers makes; both hand what
they record to one client of the program's own, and the two records are compared.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG_S

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"

pytestmark = pytest.mark.skipif(not PEERS.exists(), reason="scripts/peers has not been run")

RUNNER = """
import asyncio, json, sys

class Plane:
    def __init__(self):
        self.traces, self.spans, self.envelopes = [], {}, {}
    def upsert_trace(self, trace):
        self.traces.append(trace)
    def upsert_span(self, span):
        self.spans[span.span_id] = span
    def append_envelopes(self, envelopes):
        self.envelopes.update((one.envelope_id, one) for one in envelopes)
    def read_span_envelopes(self, trace_id, span_id):
        return [one for one in self.envelopes.values() if one.span_id == span_id]
    def close(self):
        pass

def plain(model):
    return json.loads(model.model_dump_json(exclude_none=True))

found = []
for program in json.load(sys.stdin):
    plane = Plane()
    chronicle.configure(client=plane, service_name="support-agent", fail_open=False)
    exec(program, {"chronicle": chronicle, "asyncio": asyncio, "__name__": "program"})
    chronicle.shutdown()
    chronicle.reset()
    chronicle.default_hooks.clear()
    found.append({
        "traces": [plain(one) for one in plane.traces],
        "spans": [plain(one) for one in plane.spans.values()],
        "envelopes": [plain(one) for one in plane.envelopes.values()],
    })
json.dump(found, sys.stdout)
"""

PROGRAMS = {
    "boundaries of every kind, nested, async and failing": """
@chronicle.boundary("search", kind="tool")
def search(query, *tags, limit, **more):
    return {"hits": [query, None, 1.5, True], "more": more}

@chronicle.boundary("planner", kind="llm", provider="openai")
async def planner(model, messages):
    return {"id": "r1", "model": "gpt-4o-2024", "choices": [{"finish_reason": "stop",
            "message": {"role": "assistant", "content": "done"}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5}}

@chronicle.boundary("outer")
def outer(name):
    return search(name, "t", limit=2, colour="red")

@chronicle.boundary("fails")
def fails(path):
    raise FileNotFoundError(2, "No such file", path)

with chronicle.record("request", labels={"session_id": "s1"}, metadata={"a": [1, None]}):
    outer("x")
    asyncio.run(planner(model="gpt-4o", messages=[{"role": "user", "content": "hi"}]))
    try:
        fails("/x")
    except FileNotFoundError:
        pass
""",
    "attempts and spans that join": """
@chronicle.boundary("call")
def call(number):
    return number
header = {"traceparent": "00-0123456789abcdef0123456789abcdef-fedcba9876543210-01"}
with chronicle.span(header, service="billing") as session:
    assert session.trace_id == "0123456789abcdef0123456789abcdef"
    call(number=1)
    first = chronicle.current_session()
    with chronicle.attempt(2, of="00000000000000aa"):
        call(number=2)
""",
    "hooks": """
events = []
class Stop(chronicle.Hook):
    def enter(self, call):
        events.append(("enter", call.name, call.kind.value, dict(call.arguments), call.invocation_index))
        if call.arguments.get("stop"):
            raise chronicle.AbortCall("no")
    def leave(self, call):
        events.append(("leave", call.name))
    def record(self, envelope):
        events.append(("record", envelope.name))
chronicle.default_hooks.register(Stop())
@chronicle.boundary("call")
def call(stop):
    return stop
with chronicle.record():
    call(stop=False)
    try:
        call(stop=True)
    except chronicle.AbortCall as error:
        assert str(error) == "no"
assert [one[0] for one in events] == ["enter", "record", "leave", "enter", "record"], events
""",
    "a model by hand, and the header of a call": """
chat = chronicle.wrap_llm("llm.chat", lambda model, messages: "an answer")
@chronicle.boundary("peer")
def peer():
    sent = chronicle.inject({"a": "b"})
    return sorted(sent)
with chronicle.record():
    chat(model="m", messages=[{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}])
    peer()
""",
    "values that JSON does not know": """
import dataclasses, datetime, decimal, enum, uuid
class Colour(enum.Enum):
    RED = "red"
@dataclasses.dataclass
class Point:
    x: int
    y: int
@chronicle.boundary("values")
def values(**given):
    return given
with chronicle.record():
    values(a=(1, 2), b={3}, c=Colour.RED, d=Point(1, 2), e=datetime.datetime(2026, 5, 1), f=decimal.Decimal("1.5"),
           g=uuid.UUID(int=5), h={1: "x"}, i=float("nan"))
""",
}


def run(begin: str, folder: Path) -> dict[str, Any]:
    """What each program records, by its name."""
    done = subprocess.run(
        [str(PEERS), "-c", begin + RUNNER], cwd=folder, input=json.dumps(list(PROGRAMS.values())),
        capture_output=True, text=True, timeout=LONG_S,
        env={"HOME": str(folder), "CHRONO_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(PROGRAMS, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """(what ours records, what theirs records)"""
    ours = run("from chrono import record as chronicle\n", tmp_path_factory.mktemp("ours"))
    return ours, run("import chronicle\n", tmp_path_factory.mktemp("theirs"))


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """What does not differ from run to run: ids become the names or places of what they stand for, times go."""
    names = {one["envelope_id"]: f"{one['name']} {one['metadata']['chronicle.sequence']}" for one in found["envelopes"]}
    for one in [*found["spans"], *found["envelopes"], *found["traces"]]:
        for key in ("trace_id", "span_id", "envelope_id", "started_at", "ended_at", "schema_version"):
            one.pop(key, None)
        if one.get("parent_envelope_id") in names:
            one["parent_envelope_id"] = names[one["parent_envelope_id"]]
        one.get("envelope_status", {}).pop("started_at", None)
        one.get("envelope_status", {}).pop("ended_at", None)
        one["metadata"] = {key: value for key, value in one["metadata"].items() if not key.startswith("chrono.")}
        one.pop("state", None)
    found["envelopes"].sort(key=lambda one: one["metadata"]["chronicle.sequence"])
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_records_the_same_under_both(name: str, both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    ours, theirs = both[0][name], both[1][name]
    assert len({one["trace_id"] for one in [*ours["spans"], *ours["envelopes"]]}) == 1
    assert comparable(ours) == comparable(theirs)
