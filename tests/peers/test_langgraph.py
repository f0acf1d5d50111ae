"""Claims about the real `langgraph`: what lies within what, and what becomes of a run that is left or tried again.

What it shares with the other packages is claimed in `test_matrix`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.conftest import only, said
from tests.peers.fake_provider import FakeProvider, Whole
from tests.peers.packages import Limits, chat_model, state_of, thinking

QUESTION = "The weather in Paris?"
TOKENS: Any = {"stream_mode": "messages"}


@tool
@record.boundary("weather")
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def agent(provider: FakeProvider, *, awaits: bool) -> Any:
    """Asks the model, and does what it calls for until it has an answer. The graph gives each message without an id one
    by chance, which is recorded as well: the same ids in a replay are the same states."""
    record.configure(record_uuid=True)
    provider.plan("/chat/completions", answers.chat_whole(answers.CHAT_CALL, "tool_calls"), answers.chat_whole())
    model = chat_model(provider, Limits()).bind_tools([weather])

    def think(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    async def athink(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("think", athink if awaits else think)
    builder.add_node("tools", ToolNode([weather]))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "think")
    return record.instrument(builder.compile())


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
def test_a_graph_with_tools_has_each_call_below_its_node(way: str, provider: FakeProvider, sink: MemorySink) -> None:
    graph, asked = agent(provider, awaits=way.startswith("a")), {"messages": [("user", QUESTION)]}

    async def arun() -> None:
        async with record.aspan():
            if way == "ainvoke":
                await graph.ainvoke(asked)
            else:
                assert [list(step) async for step in graph.astream(asked)] == [["think"], ["tools"], ["think"]]

    if way.startswith("a"):
        asyncio.run(arun())
    else:
        with record.record("graph"):
            graph.invoke(asked) if way == "invoke" else list(graph.stream(asked))
    names = {one.envelope_id: one.name for one in sink.envelopes}
    within = [(one.name, names.get(one.parent_envelope_id or "")) for one in sink.envelopes]
    assert [one for one in within if one[0] not in ("think:condition", "uuid.uuid4")] == [
        ("openai.chat", "think"), ("think", None), ("weather", "tools"), ("tools", None), ("openai.chat", "think"),
        ("think", None),
    ]  # fmt: skip
    assert len({one.span_id for one in sink.envelopes}) == 1
    calls = [one for one in sink.envelopes if one.kind == "llm"]
    assert [said(one)["content"][0]["type"] for one in calls] == ["tool_call", "text"]


@pytest.mark.live_only  # has a replay of its own
def test_a_tool_that_runs_in_a_replay_gets_what_the_recorded_model_asked_for(
    provider: FakeProvider, sink: MemorySink
) -> None:
    """What a fixed tool is tried with: its node and itself run, the model's nodes are answered."""
    graph = agent(provider, awaits=False)
    with record.record("graph"):
        first = graph.invoke({"messages": [("user", QUESTION)]})
    assert len(provider.asked) == 2
    plan = record.ReplayPlan().run("tools").run("weather")
    with record.replay(list(sink.envelopes), plan) as run:
        again = graph.invoke({"messages": [("user", QUESTION)]})
    assert len(provider.asked) == 2 and not run.divergences, run.report()
    assert run.captured_input("weather") == {"city": "Paris"}
    assert [one.content for one in again["messages"]] == [one.content for one in first["messages"]]


def test_each_try_of_a_node_is_a_call_of_its_own(provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", Whole({"error": {"message": "busy"}}, 503), answers.chat_whole())
    chat = chat_model(provider, Limits())

    def think(state: Any) -> Any:
        return {"messages": [chat.invoke(state["messages"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("think", think, retry_policy=RetryPolicy(initial_interval=0.01, retry_on=Exception))
    builder.add_edge(START, "think")
    record.instrument(builder.compile()).invoke(state_of(QUESTION))
    assert [(one.name, one.status) for one in sink.envelopes] == [
        ("openai.chat", "failure"), ("think", "failure"), ("openai.chat", "success"), ("think", "success"),
    ]  # fmt: skip


def test_a_stream_that_is_left_is_recorded_to_where_its_node_came(provider: FakeProvider, sink: MemorySink) -> None:
    """A node that has begun runs to its end: leaving a graph's stream asks for no further node, and stops none."""
    provider.plan("/chat/completions", answers.chat_pieces())
    stream = thinking(chat_model(provider, Limits()), awaits=False).stream(state_of(QUESTION), **TOKENS)
    next(stream)
    stream.close()
    entry = only(sink, "think")
    assert (entry.status, said(entry)["content"]) == ("success", [{"type": "text", "text": "Paris."}])


@pytest.mark.slow  # when the graph's tasks end is its own affair: no gate for a change of ours
@pytest.mark.live_only  # in a replay the node is answered at once, so there is nothing to leave
def test_a_stream_that_is_left_while_it_is_awaited_is_cancelled_and_partial(
    provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    provider.go_on.clear()  # the last piece does not come

    async def leave() -> None:
        stream = thinking(chat_model(provider, Limits()), awaits=True).astream(state_of(QUESTION), **TOKENS)
        assert [(await anext(stream))[0].content for _ in range(3)] == ["", "Par", "is."]
        await stream.aclose()

    asyncio.run(leave())
    entry, node = only(sink, "think"), sink.envelopes[1]
    assert (node.status, said(node)["error"]["type"]) == ("failure", "CancelledError")
    # What comes to the chat first, the cancelling while it waits or the closing, is up to the graph's tasks.
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == [{"type": "text", "text": "Paris."}]
