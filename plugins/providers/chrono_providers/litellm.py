"""Owns LiteLLM: the module's own functions and its Router, which answer in OpenAI's shapes."""

from __future__ import annotations

from types import ModuleType

from chrono.record.provider import Assembler, Method
from chrono_providers.clients import JsonObject, comes_from, identity, present
from chrono_providers.openai_chat import ChatAdapter, ChatAssembler
from chrono_providers.openai_embeddings import EmbeddingsAdapter
from chrono_providers.openai_responses import ResponsesAdapter, ResponsesAssembler


class LiteLlmProvider:
    """`litellm` itself (`wrap(litellm)`; functions imported from it before stay as they are) or a `litellm.Router`."""

    api_version = 1
    name = "litellm"
    adapter = ChatAdapter("litellm")
    _responses = ResponsesAdapter("litellm")
    _methods = (
        Method("completion", "litellm.chat", adapter),
        Method("acompletion", "litellm.chat", adapter),
        Method("responses", "litellm.responses", _responses),
        Method("aresponses", "litellm.responses", _responses),
        Method("embedding", "litellm.embeddings", EmbeddingsAdapter("litellm")),
        Method("aembedding", "litellm.embeddings", EmbeddingsAdapter("litellm")),
    )

    def matches(self, client: object) -> bool:
        return client.__name__ == "litellm" if isinstance(client, ModuleType) else comes_from(client, "litellm")

    def methods(self, client: object) -> tuple[Method, ...]:
        return present(client, self._methods)

    def assembler(self, method: Method) -> Assembler:
        return ResponsesAssembler() if method.adapter is self._responses else ChatAssembler()

    def identity(self, client: object) -> JsonObject:
        return identity(None, "litellm", ())


PROVIDER = LiteLlmProvider()
