"""Owns OpenAI's and Azure's clients: which of their methods are boundaries, sync and async alike.

The three APIs themselves are `openai_chat`, `openai_responses` and `openai_embeddings`. `chat.completions.stream` and
`responses.stream` call `create` of the same object, and are recorded there.
"""

from __future__ import annotations

from typing import Any

from chrono.record.answers import Answer
from chrono.record.provider import Assembler, Method
from chrono.record.streams import ASYNC_STREAM, STREAM
from chrono_providers.clients import JsonObject, class_names, comes_from, identity, present
from chrono_providers.openai_chat import ChatAdapter, ChatAssembler
from chrono_providers.openai_embeddings import EmbeddingsAdapter
from chrono_providers.openai_responses import ResponsesAdapter, ResponsesAssembler
from chrono_providers.sdk_streams import recorded_stream


class OpenAiProvider:
    """A client of the `openai` package, or one of its resources (`client.chat.completions`, as LangChain holds it)."""

    api_version = 1

    def __init__(self, name: str, *, azure: bool) -> None:
        self.name = name
        self._azure = azure
        self.adapter = chat = ChatAdapter(name)
        responses, embeddings = ResponsesAdapter(name), EmbeddingsAdapter(name)
        self._responses = responses
        self._of_client = (
            Method("chat.completions.create", f"{name}.chat", chat),
            Method("chat.completions.parse", f"{name}.chat", chat),
            Method("beta.chat.completions.create", f"{name}.chat", chat),
            Method("beta.chat.completions.parse", f"{name}.chat", chat),
            Method("responses.create", f"{name}.responses", responses),
            Method("responses.parse", f"{name}.responses", responses),
            Method("embeddings.create", f"{name}.embeddings", embeddings),
        )
        self._of_resource = {
            "chat": self._below("chat.completions."),
            "responses": self._below("responses."),
            "embeddings": self._below("embeddings."),
        }

    def _below(self, path: str) -> tuple[Method, ...]:
        return tuple(
            one._replace(path=one.path.removeprefix(path)) for one in self._of_client if one.path.startswith(path)
        )

    def matches(self, client: object) -> bool:
        if not comes_from(client, "openai"):
            return False
        owner = client if _resource(client) is None else getattr(client, "_client", None)
        return any("Azure" in name for name in class_names(owner)) == self._azure

    def methods(self, client: object) -> tuple[Method, ...]:
        kind = _resource(client)
        return present(client, self._of_client if kind is None else self._of_resource.get(kind, ()))

    def assembler(self, method: Method) -> Assembler:
        return ResponsesAssembler() if method.adapter is self._responses else ChatAssembler()

    def replayed(self, client: object, method: Method, answer: Answer) -> Any:
        """A stream of the package itself; what `parse` made of the answer."""
        if answer.pieces is not None and answer.form in (STREAM, ASYNC_STREAM):
            return recorded_stream(client, "openai", answer.pieces, is_async=answer.is_async)
        if method.path.endswith("parse") and answer.form is None:
            return _parsed_again(answer, responses=method.adapter is self._responses)
        return None

    def identity(self, client: object) -> JsonObject:
        return identity(client, "openai", ("api.openai.com", "openai.azure.com"))


def _parsed_again(answer: Answer, *, responses: bool) -> Any:
    """The classes that `parse` answers with are made for the caller's own format; so they are here. None where this
    version of the package does it in another way."""
    try:
        if responses:
            from openai.lib._parsing._responses import parse_response
            from openai.types.responses import Response

            whole = Response.model_validate(answer.raw)
            text_format, tools = answer.kwargs.get("text_format", _omit()), answer.kwargs.get("tools")
            return parse_response(text_format=text_format, input_tools=tools or _omit(), response=whole)
        from openai.lib._parsing import parse_chat_completion
        from openai.types.chat import ChatCompletion

        return parse_chat_completion(
            response_format=answer.kwargs.get("response_format", _omit()),
            input_tools=answer.kwargs.get("tools") or _omit(),
            chat_completion=ChatCompletion.model_validate(answer.raw),
        )
    except ImportError:
        return None


def _omit() -> Any:
    """The package's own word for an argument that was not given; its name has changed."""
    import openai

    return getattr(openai, "omit", None) or openai.NOT_GIVEN


def _resource(client: object) -> str | None:
    """`chat`, `responses`, … where this is a part of a client (its `_client` is that), None for a client itself."""
    module = next((one.__module__ for one in type(client).__mro__ if ".resources." in one.__module__), None)
    return None if module is None else module.split(".resources.", 1)[1].split(".")[0]


OPENAI = OpenAiProvider("openai", azure=False)
AZURE = OpenAiProvider("azure", azure=True)
