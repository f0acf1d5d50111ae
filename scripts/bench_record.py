"""Owns the measurement of what recording costs the caller, beside the real Chronicle SDK in the same run.

Both sides cross the same boundaries, in processes of their own that take turns; a figure is the median over the turns,
a verdict a ratio, so that machines compare. Where the difference is small beside what surrounds it, both take turns
call by call in one process (`chats`); the wait for a core, which is the machine's, is taken off single calls (`Wait`).
Delivery is `bench_delivery.py`. Usage: bench_record.py [--turns N] [--calls N] [--json]
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# what is measured -> (its name in words, the most that ours may take of the real one)
RATIOS = {
    "on_cpu_us": ("recording on, tool boundary, CPU of the caller", 1.0),
    "off_cpu_us": ("recording off", 1.2),
    "model_cpu_us": ("recording on, model boundary, 2 kB of messages", 1.0),
    "span_cpu_us": ("a whole span with one call", 1.0),
    "sdk_cpu_us": ("a chat through the openai package, wrapped minus bare", 0.6),
    "replay_cpu_us": ("replay, a call answered from the recording", 1.2),
}


def main() -> int:
    """Prints the table; exit status 1 where a ratio or the tail is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", choices=["ours", "real", "both"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        cost = chats(arguments.calls // 10) if arguments.side == "both" else turn(arguments.side, arguments.calls)
        print(json.dumps(cost))
        return 0
    return compare(arguments.turns, arguments.calls, as_json=arguments.json)


def compare(turns: int, calls: int, *, as_json: bool) -> int:
    made = subprocess.run([str(ROOT / "scripts" / "peers")], check=False, capture_output=True, text=True)
    if made.returncode:
        print(f"error: the real package cannot be installed\n{made.stderr}", file=sys.stderr)
        return 1
    python = made.stdout.strip().splitlines()[-1]
    found: dict[str, list[dict[str, float]]] = {"ours": [], "real": [], "both": []}
    for number in range(turns):
        for side in ("ours", "real", "both") if number % 2 else ("real", "ours", "both"):
            with tempfile.TemporaryDirectory(prefix="chrono-bench-") as folder:
                command = [python, __file__, "--side", side, "--calls", str(calls)]
                environment = {**os.environ, "CHRONO_HOME": folder, "HOME": folder}
                done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=environment)
                found[side].append(json.loads(done.stdout))
    median = {
        side: {name: statistics.median(one[name] for one in rows) for name in rows[0]} for side, rows in found.items()
    }
    costs = {side: {**median[side], "sdk_cpu_us": median["both"][f"{side}_us"]} for side in ("ours", "real")}
    rows: list[dict[str, Any]] = [
        {"what": words, "ours_us": ours, "real_us": real, "limit": limit, "ratio": ours / real}
        for name, (words, limit) in RATIOS.items()
        for ours, real in [(costs["ours"][name], costs["real"][name])]
    ]  # fmt: skip
    tail = max(median["ours"][name] / median["ours"]["p50_us"] for name in ("p99_us", "steady_p99_us"))
    met = all(row["ratio"] <= row["limit"] for row in rows) and tail <= 5
    if as_json:
        print(json.dumps({"rows": rows, "p99_to_p50": tail, "latency": median, "met": met}, indent=2))
        return 0 if met else 1
    print(f"{'':48} {'ours us':>9} {'real us':>9} {'ratio':>6} {'limit':>6}")
    for row in rows:
        mark = "" if row["ratio"] <= row["limit"] else "  MISSED"
        figures = f"{row['ours_us']:9.1f} {row['real_us']:9.1f} {row['ratio']:6.2f} {row['limit']:6.2f}"
        print(f"{row['what']:48} {figures}{mark}")
    for side in ("ours", "real"):
        p50, p99, steady, clock = (median[side][f"{name}_us"] for name in ("p50", "p99", "steady_p99", "clock_p99"))
        print(f"latency of a call while delivering, {side}: p50 {p50:.0f} us, p99 {p99:.0f} us; call after call "
              f"{steady:.0f} us; with the wait for a core {clock:.0f} us")  # fmt: skip
    print(f"p99 to p50 of ours: {tail:.1f} (limit 5){'' if tail <= 5 else '  MISSED'}")
    return 0 if met else 1


class Client:
    """A control plane that takes everything at once, so that only the recorder is measured."""

    def upsert_trace(self, trace: Any) -> None: ...

    def upsert_span(self, span: Any) -> None: ...

    def append_envelopes(self, envelopes: Any) -> None: ...

    def read_span_envelopes(self, trace_id: str, span_id: str) -> list[Any]:
        return []

    def close(self) -> None: ...


def turn(side: str, calls: int) -> dict[str, float]:
    """Cost of one side, in microseconds a call."""
    chronicle: Any
    if side == "real":
        import chronicle
    else:
        sys.path.insert(0, str(ROOT))
        from chrono import record as chronicle
    # Ours keeps everything in the local store; theirs keeps nothing without a plane, so it gets one.
    chronicle.configure(**({"client": Client(), "trace_registration": "lazy"} if side == "real" else {}))

    def plain(query: str, limit: int = 10, filters: Any = None) -> dict[str, Any]:
        return {"results": [{"title": "a title", "score": 0.5, "url": "https://example.com/a"}] * 3}

    tool = chronicle.boundary("search")(plain)
    model = chronicle.wrap_llm("chat", lambda model, messages: {"role": "assistant", "content": "an answer " * 20})
    messages = [
        {"role": role, "content": "some words that a person or a model said " * 6} for role in ("user", "assistant")
    ]
    messages = messages * 4

    def search(number: int) -> None:
        tool(f"weather in Berlin {number}", limit=5, filters={"lang": "de", "year": [2024, 2025]})

    def bare(number: int) -> None:
        plain(f"weather in Berlin {number}", limit=5, filters={"lang": "de", "year": [2024, 2025]})

    def request(number: int) -> None:
        with chronicle.record("request"):
            search(number)

    result = {}
    with chronicle.record("warm"):
        cpu(search, calls // 10)
        result["on_cpu_us"] = cpu(search, calls) - cpu(bare, calls)
        result["model_cpu_us"] = cpu(lambda _: model("a-model", messages), calls // 4)
    result["span_cpu_us"] = cpu(request, calls // 10)
    result["replay_cpu_us"] = replayed(chronicle, side, calls)
    if side == "ours":
        chronicle.configure(client=Client())
    with chronicle.record("load"):
        result.update(latency(search, calls))
        result["steady_p99_us"] = latency(search, calls, pause_s=0)["p99_us"]
    chronicle.configure(enabled=False)
    with chronicle.record("off"):
        result["off_cpu_us"] = cpu(search, calls * 5) - cpu(bare, calls * 5)
    return result


def replayed(chronicle: Any, side: str, calls: int) -> float:
    """CPU of one answered call, the least of three replays of `calls` equal ones."""
    if side == "real":
        from agentplane_primitives.models.envelope import Envelope
    else:
        from chrono.trace.entities import Envelope
    trace_id, span_id, at = "ab" * 16, "cd" * 8, "2026-01-02T03:04:05Z"
    answer = {"results": [{"title": "a title", "score": 0.5, "url": "https://example.com/a"}] * 3}
    status = {"state": "closed", "status": "success", "started_at": at, "ended_at": at}

    def given(number: int) -> dict[str, Any]:
        return {"query": f"weather in Berlin {number}", "limit": 5, "filters": {"lang": "de", "year": [2024, 2025]}}

    envelopes = [
        Envelope.model_validate(
            {"trace_id": trace_id, "span_id": span_id, "envelope_id": f"{number + 1:016x}", "name": "again",
             "kind": "tool", "envelope_status": status, "input": {"raw": given(number)}, "output": {"raw": answer},
             "metadata": {"chronicle.sequence": number + 1, "chronicle.invocation_index": number + 1}}
        )
        for number in range(calls)
    ]  # fmt: skip

    @chronicle.boundary("again")
    def tool(query: str, limit: int = 10, filters: Any = None) -> dict[str, Any]:
        raise AssertionError("a replay calls nothing")

    goes = []
    for _ in range(3):
        with chronicle.replay(envelopes):
            began = time.thread_time_ns()
            for number in range(calls):
                tool(f"weather in Berlin {number}", limit=5, filters={"lang": "de", "year": [2024, 2025]})
            goes.append((time.thread_time_ns() - began) / calls / 1000)
    return min(goes)


def chat(wrap: Any) -> Any:
    """A call of a model through the real `openai` package, answered without a network."""
    import httpx
    from openai import OpenAI

    said = {"role": "assistant", "content": "an answer " * 20}
    answer = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini-2024",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29},
    }  # fmt: skip
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    client = wrap(OpenAI(api_key="k", base_url="http://models.test/v1", http_client=httpx.Client(transport=transport)))
    question = [{"role": "user", "content": "some words that a person said " * 6}]
    return lambda _: client.chat.completions.create(model="gpt-4o-mini", messages=question)


def cpu(call: Any, calls: int) -> float:
    """CPU of the calling thread, the least of three goes."""
    goes = []
    for _ in range(3):
        began = time.thread_time_ns()
        for number in range(calls):
            call(number)
        goes.append((time.thread_time_ns() - began) / calls / 1000)
    return min(goes)


def chats(rounds: int) -> dict[str, float]:
    """What each side adds to a chat through the `openai` package, in microseconds of the calling thread's CPU.

    Bare, ours and theirs follow each other call by call, in each of their six orders as often: who comes next finds
    the code warm that both use. The figure is the median of the differences to the bare call of the same round, so that
    what slows the machine for a while slows all three.
    """
    import chronicle

    sys.path.insert(0, str(ROOT))
    from chrono import record

    chronicle.configure(client=Client(), trace_registration="lazy")
    calls = {"bare": chat(lambda client: client), "ours": chat(record.wrap), "real": chat(chronicle.wrap)}
    orders = list(itertools.permutations(calls))
    taken: dict[str, list[int]] = {name: [] for name in calls}
    with chronicle.record("sdk"), record.record("sdk"):
        for number in range(rounds + rounds // 10):
            for name in orders[number % len(orders)]:
                began = time.thread_time_ns()
                calls[name](number)
                taken[name].append(time.thread_time_ns() - began)

    def added(side: str) -> float:
        pairs = list(zip(taken[side], taken["bare"], strict=True))[rounds // 10 :]  # the first ones load modules
        return statistics.median(with_us - bare for with_us, bare in pairs) / 1000

    return {"ours_us": added("ours"), "real_us": added("real")}


class Wait:
    """How long the calling thread has waited for a core, ready to run, by the kernel's count (Linux; else always 0).

    It is asked without giving up the interpreter: a call that gave it up between two measured ones would let the
    delivery thread in where nobody measures.
    """

    def __init__(self) -> None:
        self._libc, self._buffer = ctypes.PyDLL(None), ctypes.create_string_buffer(100)
        try:
            self._fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._fd = -1

    def so_far_ns(self) -> int:
        size = self._libc.pread(self._fd, self._buffer, 99, 0) if self._fd >= 0 else 0
        return int(self._buffer.raw[:size].split()[1]) if size > 0 else 0


def latency(call: Any, calls: int, pause_s: float = 0.002) -> dict[str, float]:
    """What single calls take while the delivery thread works, less the wait for a core; `clock_p99_us` with it. After
    ten calls there is a pause, as for the answer of a model; 0: none."""
    taken, by_clock, wait = [], [], Wait()
    for number in range(calls):
        waited, began = wait.so_far_ns(), time.perf_counter_ns()
        call(number)
        took = time.perf_counter_ns() - began
        by_clock.append(took / 1000)
        taken.append((took - (wait.so_far_ns() - waited)) / 1000)
        if pause_s and number % 10 == 9:
            time.sleep(pause_s)
    p99 = calls * 99 // 100
    return {"p50_us": sorted(taken)[calls // 2], "p99_us": sorted(taken)[p99], "clock_p99_us": sorted(by_clock)[p99]}


if __name__ == "__main__":
    sys.exit(main())
