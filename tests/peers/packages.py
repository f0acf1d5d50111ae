"""Owns how each real package is asked the same things: whole or in pieces, waiting or awaiting, with tries and a limit
of time. What is claimed of all of them is `test_matrix`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would ask a server at import otherwise

import litellm
from anthropic import Anthropic, AsyncAnthropic
from google import genai
from google.genai import types
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import AsyncOpenAI, OpenAI

from chrono import record
from tests.peers import answers
from tests.peers.fake_provider import FakeProvider, Pieces, Whole


class Limits(NamedTuple):
    """How often a client tries again by itself, and how long it waits for an answer."""

    retries: int = 0
    timeout_s: float = 20.0


class Talk(NamedTuple):
    """One client, wrapped: the four ways to put a question to it."""

    ask: Callable[[str], Any]
    stream: Callable[[str], Iterator[Any]]
    aask: Callable[[str], Any]
    astream: Callable[[str], AsyncIterator[Any]]  # of an awaitable of it, where the package has it so


class Package(NamedTuple):
    """One package: its clients, and what the provider answers them at `path` (streams at `stream_path`)."""

    client: Callable[[FakeProvider, Limits], Talk]
    path: str
    stream_path: str
    whole: Callable[[], Whole]
    pieces: Callable[[], Pieces]
    call_whole: Callable[[], Whole]
    call_pieces: Callable[[], Pieces]
    usage: dict[str, int]
    around: tuple[str, ...] = ()  # the boundaries that a call to the provider lies within, the innermost first


def _said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def _openai(provider: FakeProvider, limits: Limits) -> Talk:
    options: Any = {
        "api_key": "k", "base_url": f"{provider.url}/v1", "max_retries": limits.retries, "timeout": limits.timeout_s,
    }  # fmt: skip
    client = cache(lambda: record.wrap(OpenAI(**options)))
    later = cache(lambda: record.wrap(AsyncOpenAI(**options)))

    def given(text: str, **more: Any) -> dict[str, Any]:
        return {"model": "gpt-4o-mini", "messages": _said(text), **more}

    return Talk(
        lambda text: client().chat.completions.create(**given(text)),
        lambda text: client().chat.completions.create(**given(text, stream=True)),
        lambda text: later().chat.completions.create(**given(text)),
        lambda text: later().chat.completions.create(**given(text, stream=True)),
    )


def _responses(provider: FakeProvider, limits: Limits) -> Talk:
    options: Any = {
        "api_key": "k", "base_url": f"{provider.url}/v1", "max_retries": limits.retries, "timeout": limits.timeout_s,
    }  # fmt: skip
    client = cache(lambda: record.wrap(OpenAI(**options)))
    later = cache(lambda: record.wrap(AsyncOpenAI(**options)))

    def given(text: str, **more: Any) -> dict[str, Any]:
        return {"model": "gpt-4o-mini", "input": text, **more}

    return Talk(
        lambda text: client().responses.create(**given(text)),
        lambda text: client().responses.create(**given(text, stream=True)),
        lambda text: later().responses.create(**given(text)),
        lambda text: later().responses.create(**given(text, stream=True)),
    )


def _anthropic(provider: FakeProvider, limits: Limits) -> Talk:
    options: Any = {
        "api_key": "k", "base_url": provider.url, "max_retries": limits.retries, "timeout": limits.timeout_s,
    }  # fmt: skip
    client = cache(lambda: record.wrap(Anthropic(**options)))
    later = cache(lambda: record.wrap(AsyncAnthropic(**options)))

    def given(text: str, **more: Any) -> dict[str, Any]:
        return {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": _said(text), **more}

    return Talk(
        lambda text: client().messages.create(**given(text)),
        lambda text: client().messages.create(**given(text, stream=True)),
        lambda text: later().messages.create(**given(text)),
        lambda text: later().messages.create(**given(text, stream=True)),
    )


def _litellm(provider: FakeProvider, limits: Limits) -> Talk:
    wrapped: Any = record.wrap(litellm)

    def given(text: str, **more: Any) -> dict[str, Any]:
        return {
            "model": "openai/gpt-4o-mini", "messages": _said(text), "api_key": "k", "api_base": f"{provider.url}/v1",
            "max_retries": limits.retries, "timeout": limits.timeout_s, **more,
        }  # fmt: skip

    pieces: Any = {"stream": True, "stream_options": {"include_usage": True}}
    return Talk(
        lambda text: wrapped.completion(**given(text)),
        lambda text: wrapped.completion(**given(text, **pieces)),
        lambda text: wrapped.acompletion(**given(text)),
        lambda text: wrapped.acompletion(**given(text, **pieces)),
    )


def chat_model(provider: FakeProvider, limits: Limits) -> Any:
    """LangChain's model over OpenAI's clients, which are wrapped."""
    chat: Any = ChatOpenAI(
        model="gpt-4o-mini", api_key="k", base_url=f"{provider.url}/v1", max_retries=limits.retries,
        timeout=limits.timeout_s,
    )  # type: ignore[arg-type]  # fmt: skip
    record.wrap(chat.root_client)
    record.wrap(chat.root_async_client)
    return chat


def _langchain(provider: FakeProvider, limits: Limits) -> Talk:
    chat = chat_model(provider, limits)
    return Talk(chat.invoke, chat.stream, chat.ainvoke, chat.astream)


def thinking(chat: Any, *, awaits: bool) -> Any:
    """A LangGraph of one node, `think`, that asks the model; it is instrumented."""

    def think(state: Any) -> Any:
        return {"messages": [chat.invoke(state["messages"])]}

    async def athink(state: Any) -> Any:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("think", athink if awaits else think)
    builder.add_edge(START, "think")
    builder.add_edge("think", END)
    return record.instrument(builder.compile())


def state_of(text: str) -> Any:
    """What a graph begins with. A message without an id gets another one in each run, which a replay tells."""
    return {"messages": [HumanMessage(text, id="asked")]}


def _langgraph(provider: FakeProvider, limits: Limits) -> Talk:
    chat = chat_model(provider, limits)
    graph, later = thinking(chat, awaits=False), thinking(chat, awaits=True)
    tokens: Any = {"stream_mode": "messages"}  # of the model, where it would be whole states otherwise
    return Talk(
        lambda text: graph.invoke(state_of(text)),
        lambda text: graph.stream(state_of(text), **tokens),
        lambda text: later.ainvoke(state_of(text)),
        lambda text: later.astream(state_of(text), **tokens),
    )


def _google(provider: FakeProvider, limits: Limits) -> Talk:
    client: Any = record.wrap(
        genai.Client(
            api_key="k",
            http_options=types.HttpOptions(
                base_url=provider.url,
                timeout=int(limits.timeout_s * 1000),
                retry_options=types.HttpRetryOptions(attempts=limits.retries + 1, initial_delay=0.01, max_delay=0.02),
            ),
        )
    )
    model: Any = {"model": "gemini-2.5-flash"}
    return Talk(
        lambda text: client.models.generate_content(**model, contents=text),
        lambda text: client.models.generate_content_stream(**model, contents=text),
        lambda text: client.aio.models.generate_content(**model, contents=text),
        lambda text: client.aio.models.generate_content_stream(**model, contents=text),
    )


_CHAT: Any = {
    "path": "/chat/completions",
    "stream_path": "/chat/completions",
    "whole": answers.chat_whole,
    "pieces": answers.chat_pieces,
    "call_whole": lambda: answers.chat_whole(answers.CHAT_CALL, "tool_calls"),
    "call_pieces": answers.chat_call_pieces,
    "usage": {"input": 12, "cached_read": 8, "cache_write": 0, "output": 5, "reasoning": 4},
}

PACKAGES = {
    "openai": Package(_openai, **_CHAT),
    "litellm": Package(_litellm, **_CHAT),
    "langchain-openai": Package(_langchain, **_CHAT),
    "langgraph": Package(_langgraph, **_CHAT, around=("think",)),
    "openai responses": Package(
        _responses,
        "/responses",
        "/responses",
        answers.response_whole,
        answers.response_pieces,
        answers.response_call_whole,
        answers.response_call_pieces,
        {"input": 20, "cached_read": 10, "cache_write": 0, "output": 5, "reasoning": 2},
    ),
    "anthropic": Package(
        _anthropic,
        "/v1/messages",
        "/v1/messages",
        answers.message_whole,
        answers.message_pieces,
        lambda: answers.message_whole(answers.MESSAGE_CALL, "tool_use"),
        answers.message_call_pieces,
        {"input": 11, "cached_read": 6, "cache_write": 3, "output": 5, "reasoning": 0},
    ),
    "google-genai": Package(
        _google,
        ":generateContent",
        ":streamGenerateContent",
        answers.gemini_whole,
        answers.gemini_pieces,
        answers.gemini_call_whole,
        answers.gemini_call_pieces,
        {"input": 10, "cached_read": 4, "cache_write": 0, "output": 6, "reasoning": 3},
    ),
}
