"""Owns a fake model that speaks what the clients speak: Anthropic's interface, OpenAI's two, and Gemini's.

It plays planned tool calls, one turn after the other, then says "done". Which client talks to it is `other_clients`'.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.loopback import Loopback, Quiet

Json = dict[str, Any]


class ToolUse(NamedTuple):
    """One tool call that the model asks for. `namespace`: under which OpenAI's interface lists the tools of a server."""

    name: str
    input: dict[str, object]
    namespace: str = ""


Turn = list[ToolUse]
Before = Callable[[], None]


class FakeModel:
    """Plays `turns`. What was asked stays in `requests`; `heard` is everything the client ever sent, as text.

    `before` maps a turn's number to something that is done just before that turn is answered: what the test changes
    in the middle of a session. `asides` maps a mark to other turns: a conversation that begins with a message in which
    the mark stands, say a subagent's, plays those.
    """

    def __init__(
        self, turns: list[Turn], before: dict[int, Before] | None = None, asides: dict[str, list[Turn]] | None = None
    ) -> None:
        self.turns = turns
        self.before = before or {}
        self.asides = asides or {}
        self.requests: list[Json] = []
        self.port = 0
        self._lock = threading.Lock()
        self._prepared: set[int] = set()

    @property
    def heard(self) -> str:
        return json.dumps(self.requests, ensure_ascii=False)

    def tool_results(self) -> list[str]:
        """What a client of Anthropic's interface reported back for each tool call, in order, as text."""
        found: dict[str, str] = {}
        for request in self.requests:
            for message in request.get("messages", ()):
                content = message.get("content")
                for block in content if isinstance(content, list) else ():
                    if block.get("type") == "tool_result":
                        found[block["tool_use_id"]] = json.dumps(block.get("content"), ensure_ascii=False)
        return [found[key] for key in sorted(found)]

    def mark(self, opening: object) -> str:
        """The mark of the aside that a conversation with this opening is; "" for the session itself."""
        said = json.dumps(opening)
        return next((mark for mark in self.asides if mark in said), "")

    def turn(self, request: Json, done: int, opening: object) -> list[ToolUse]:
        """The tool calls for a request whose history holds `done` turns with calls; [] for the end.

        `opening`: what was said before the model first answered.
        """
        mark = self.mark(opening)
        turns = self.asides.get(mark, self.turns)
        with self._lock:
            self.requests.append(request)
            if not _offers_tools(request) or done >= len(turns):
                return []
            first = not mark and done not in self._prepared
            if first:
                self._prepared.add(done)
        if first and done in self.before:
            self.before[done]()
        return turns[done]


def _until(messages: list[Json], role: str) -> list[Json]:
    """The messages before the first one of `role`."""
    at = next((at for at, message in enumerate(messages) if message.get("role") == role), len(messages))
    return messages[:at]


def messages(model: FakeModel, request: Json) -> Json:
    """The message of Anthropic's interface."""
    given = request.get("messages") or []
    done = sum(
        message.get("role") == "assistant"
        and isinstance(message.get("content"), list)
        and any(block.get("type") == "tool_use" for block in message["content"])
        for message in given
    )
    opening = _until(given, "assistant")
    mark = model.mark(opening)
    blocks: list[Json] = [
        {"type": "tool_use", "id": f"toolu_{mark}{done:03d}_{at:02d}", "name": use.name, "input": use.input}
        for at, use in enumerate(model.turn(request, done, opening))
    ]
    return {
        "id": f"msg_{len(model.requests):04d}",  # a repeated id is taken for one message
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "fake"),
        "content": blocks or [{"type": "text", "text": "done"}],
        "stop_reason": "tool_use" if blocks else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def message_events(message: Json) -> Iterator[Json]:
    """A message as the events of a streamed answer."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: Json = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": message["usage"],
    }
    yield {"type": "message_stop"}


def _offers_tools(request: Json) -> bool:
    tools = request.get("tools") or [item for item in _items(request) if item.get("type") == "additional_tools"]
    return any(tool.get("functionDeclarations", True) for tool in tools)


def _items(request: Json) -> list[Json]:
    given = request.get("input")
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def responses(model: FakeModel, request: Json) -> list[Json]:
    """The events of a streamed answer of OpenAI's Responses interface."""
    calls = [str(item.get("type", "")).endswith("_call") for item in _items(request)]
    done = sum(now and not before for before, now in zip([False, *calls], calls, strict=False))
    out: list[Json] = []
    opening = _until(_items(request), "assistant")
    opening = opening[: next((at for at, call in enumerate(calls) if call), len(opening))]
    for at, use in enumerate(model.turn(request, done, opening)):
        ids: Json = {"id": f"fc_{done}_{at}", "call_id": f"call_{done:03d}_{at:02d}", "status": "completed"}
        if use.namespace:
            ids["namespace"] = use.namespace
        if isinstance(use.input.get("raw"), str):
            out.append({"type": "custom_tool_call", "name": use.name, "input": use.input["raw"], **ids})
        else:
            out.append({"type": "function_call", "name": use.name, "arguments": json.dumps(use.input), **ids})
    if not out:
        text = {"type": "output_text", "text": "done", "annotations": []}
        out = [{"type": "message", "id": "msg_0", "role": "assistant", "status": "completed", "content": [text]}]
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    whole: Json = {"id": f"resp_{len(model.requests)}", "object": "response", "created_at": 0, "status": "completed"}
    whole.update(model="fake", output=out, parallel_tool_calls=True, tools=[], tool_choice="auto", usage=usage)
    events: list[Json] = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
    for at, item in enumerate(out):
        events.append({"type": "response.output_item.added", "output_index": at, "item": item})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def chat(model: FakeModel, request: Json) -> tuple[Json, str]:
    """The message and the finish reason of OpenAI's chat interface."""
    done = sum(
        message.get("role") == "assistant" and bool(message.get("tool_calls")) for message in request["messages"]
    )
    calls = [
        {
            "index": at,
            "id": f"call_{done:03d}_{at:02d}",
            "type": "function",
            "function": {"name": use.name, "arguments": json.dumps(use.input)},
        }
        for at, use in enumerate(model.turn(request, done, _until(request["messages"], "assistant")))
    ]
    if calls:
        return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    return {"role": "assistant", "content": "done"}, "stop"


def gemini(model: FakeModel, request: Json) -> Json:
    """The whole answer of Gemini's generateContent."""
    contents = request.get("contents") or []
    done = sum(
        content.get("role") == "model" and any("functionCall" in part for part in content.get("parts", ()))
        for content in contents
    )
    parts: list[Json] = [
        {"functionCall": {"id": f"fc{done}{at}", "name": use.name, "args": use.input}, "thoughtSignature": "c2ln"}
        for at, use in enumerate(model.turn(request, done, _until(contents, "model")))
    ]
    if not parts:
        shaped = (request.get("generationConfig") or {}).get("responseMimeType") == "application/json"
        # Side questions of the client: who speaks next, which model is worth it.
        side = {"next_speaker": "user", "reasoning": "x", "model_choice": "flash", "complexity_score": 1}
        parts = [{"text": json.dumps(side) if shaped else "done"}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake", "responseId": "r"}


@contextmanager
def serving(model: FakeModel) -> Iterator[FakeModel]:
    """Serves `model` on a free port of 127.0.0.1 for the length of the block."""

    class Handler(_Handler):
        served = model

    with Loopback(Handler) as server:
        model.port = server.server_port
        yield model


class _Handler(Quiet):
    protocol_version = "HTTP/1.1"
    served: FakeModel

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        listed = [{"id": "fake", "object": "model", "created": 1, "owned_by": "x"}] if "/models" in self.path else []
        self._json({"object": "list", "data": listed, "models": [], "has_more": False})

    def do_POST(self) -> None:
        request = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        streamed = bool(request.get("stream"))
        if path.endswith("/messages"):
            message = messages(self.served, request)
            if streamed:
                self._events([(event["type"], json.dumps(event)) for event in message_events(message)])
            else:
                self._json(message)
        elif path.endswith("/count_tokens"):
            self._json({"input_tokens": 100})
        elif path.endswith("/responses"):
            events = responses(self.served, request)
            if streamed:
                self._events([(event["type"], json.dumps(event)) for event in events])
            else:
                self._json(events[-1]["response"])
        elif path.endswith("/chat/completions"):
            self._chat(request, streamed)
        elif ":countTokens" in path:
            self._json({"totalTokens": 1})
        elif "GenerateContent" in path:
            self._events([("", json.dumps(gemini(self.served, request)))])
        elif "generateContent" in path:
            self._json(gemini(self.served, request))
        else:
            self._json({})

    def _chat(self, request: Json, streamed: bool) -> None:
        message, finish = chat(self.served, request)
        base: Json = {"id": f"chatcmpl-{len(self.served.requests)}", "created": 1, "model": "fake"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not streamed:
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._json({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        chunk = {**base, "object": "chat.completion.chunk"}
        pieces: list[Json] = [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {**chunk, "choices": [], "usage": usage},
        ]
        self._events([*(("", json.dumps(piece)) for piece in pieces), ("", "[DONE]")])

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _events(self, events: list[tuple[str, str]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.close_connection = True
        self.end_headers()
        for name, data in events:
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode())

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
