"""Owns a fake language model on loopback: it answers the Messages API with the tool calls that a test has planned.

Which client talks to it, and with what settings, is left to `real_client`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class ToolUse(NamedTuple):
    """One tool call that the model asks for. `namespace`: under which OpenAI's interface lists the tools of a server."""

    name: str
    input: dict[str, object]
    namespace: str = ""


Turn = list[ToolUse]
Before = Callable[[], None]


class FakeLlm:
    """Plays `turns` one after the other, then says "done".

    `before` maps a turn's number to something that is done just before that turn is answered: what the test changes
    in the middle of a session. `asides` maps a mark to other turns: a conversation that begins with a message in which
    the mark stands, say a subagent's, plays those.
    """

    def __init__(
        self, turns: list[Turn], before: dict[int, Before] | None = None, asides: dict[str, list[Turn]] | None = None
    ) -> None:
        self.turns = turns
        self.asides = asides or {}
        self.before = before or {}
        self.requests: list[dict[str, Any]] = []
        self.port = 0
        self._lock = threading.Lock()
        self._done: set[int] = set()

    def tool_results(self) -> list[str]:
        """What the client reported back for each tool call, in order, as text."""
        found: dict[str, str] = {}
        for request in self.requests:
            for message in request.get("messages", ()):
                content = message.get("content")
                for block in content if isinstance(content, list) else ():
                    if block.get("type") == "tool_result":
                        found[block["tool_use_id"]] = json.dumps(block.get("content"), ensure_ascii=False)
        return [found[key] for key in sorted(found)]

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """The content blocks for one request."""
        with self._lock:
            self.requests.append(request)
            turn = sum(_asks_for_tools(message) for message in request.get("messages", ()))
            opening = json.dumps(request.get("messages", [None])[0])
            mark = next((mark for mark in self.asides if mark in opening), "")
            turns = self.asides.get(mark, self.turns)
            if not request.get("tools") or turn >= len(turns):
                return [{"type": "text", "text": "done"}]
            if not mark and turn in self.before and turn not in self._done:
                self._done.add(turn)
                self.before[turn]()
            return [
                {"type": "tool_use", "id": f"toolu_{mark}{turn:03d}_{index:02d}", "name": use.name, "input": use.input}
                for index, use in enumerate(turns[turn])
            ]


def _asks_for_tools(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return (
        message.get("role") == "assistant"
        and isinstance(content, list)
        and any(block.get("type") == "tool_use" for block in content)
    )


@contextmanager
def serving(llm: FakeLlm) -> Iterator[FakeLlm]:
    """Serves `llm` on a free port of 127.0.0.1 for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._json({})

        def do_GET(self) -> None:
            self._json({"data": [], "has_more": False})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._json({"input_tokens": 100})
            elif path.endswith("/messages"):
                self._message(body)
            else:
                self._json({})

        def _message(self, body: dict[str, Any]) -> None:
            blocks = llm.answer(body)
            stop = "tool_use" if blocks[0]["type"] == "tool_use" else "end_turn"
            message = {
                "id": f"msg_{len(llm.requests):04d}",  # a repeated id is taken for one message
                "type": "message",
                "role": "assistant",
                "model": body.get("model", "fake"),
                "content": blocks,
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            if not body.get("stream"):
                self._json(message)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.close_connection = True
            self.end_headers()
            for event in message_events(message):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def _json(self, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    llm.port = server.server_address[1]
    try:
        yield llm
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def message_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message as the events of a streamed answer."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
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
