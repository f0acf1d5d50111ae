"""Claims about agents that talk by A2A: the trace header goes with each message, whole and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Role, SendMessageRequest
from starlette.applications import Starlette

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers.serving import serving

pytestmark = pytest.mark.live_only


@record.boundary("capital")
def capital(country: str) -> str:
    return {"France": "Paris."}[country]


class Agent(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await event_queue.enqueue_event(new_text_message(capital(context.get_user_input())))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def agent(card: AgentCard) -> Starlette:
    handler = DefaultRequestHandler(Agent(), InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    app.add_middleware(record.ChronicleMiddleware, service="geographer")
    return app


@pytest.mark.parametrize("streaming", [False, True])
def test_what_an_agent_does_for_another_is_in_the_other_s_trace(streaming: bool, sink: MemorySink) -> None:
    record.configure(inject_hosts=["127.0.0.1"])
    record.instrument_httpx()
    card = AgentCard(
        name="geographer", description="knows capitals", version="1", default_input_modes=["text/plain"],
        default_output_modes=["text/plain"], capabilities=AgentCapabilities(streaming=streaming),
    )  # fmt: skip

    async def ask(url: str) -> list[str]:
        card.supported_interfaces.append(AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0"))
        async with httpx.AsyncClient() as http, record.aspan():
            client: Any = await create_client(card, ClientConfig(streaming=streaming, httpx_client=http))
            asked = SendMessageRequest(message=new_text_message("France", role=Role.ROLE_USER))
            return [get_stream_response_text(one) async for one in client.send_message(asked)]

    try:
        with serving(agent(card)) as url:
            assert asyncio.run(ask(url)) == ["Paris."]
    finally:
        record.uninstrument_httpx()
    assert len({one.trace_id for one in (*sink.spans, *sink.envelopes)}) == 1
    (message,) = (one for one in sink.envelopes if one.name.startswith("http POST"))
    spans = {one.service: one for one in sink.spans}
    assert spans["geographer"].parent_envelope_id == message.envelope_id
    (known,) = (one for one in sink.envelopes if one.name == "capital")
    assert known.span_id == spans["geographer"].span_id
    assert "Paris." in str(message.output)
