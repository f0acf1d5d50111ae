"""Claims about our own providers, those of the suite that strangers' providers pass as well."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from chrono.testing.providers import ProviderConformance
from chrono_providers import anthropic, bedrock, gemini, litellm, openai
from tests.plugins.providers import examples
from tests.plugins.providers.examples import client_of

_OPENAI = ("chat.completions.create", "chat.completions.parse", "responses.create", "embeddings.create")
_LITELLM = ("completion", "acompletion", "embedding", "responses")


class TestOpenAi(ProviderConformance):
    provider = openai.OPENAI
    exchanges = (examples.CHAT, examples.RESPONSE, examples.EMBEDDINGS)

    def client(self) -> object:
        return client_of("openai", *_OPENAI, base_url="https://me:secret@proxy.example/v1")


class TestAzure(ProviderConformance):
    """The same adapters and assemblers as OpenAI's, under another name."""

    provider = openai.AZURE
    exchanges = (examples.CHAT._replace(chunks=()),)

    def client(self) -> object:
        return client_of("openai.lib.azure", *_OPENAI, name="AzureOpenAI")


class TestLiteLlm(ProviderConformance):
    provider = litellm.PROVIDER
    exchanges = (
        examples.CHAT._replace(method="completion", chunks=()),
        examples.RESPONSE._replace(method="responses", chunks=()),
        examples.EMBEDDINGS._replace(method="embedding"),
    )

    def client(self) -> object:
        module: Any = ModuleType("litellm")
        for name in _LITELLM:
            setattr(module, name, lambda **given: None)
        return module


class TestAnthropic(ProviderConformance):
    provider = anthropic.PROVIDER
    exchanges = (examples.MESSAGES,)

    def client(self) -> object:
        return client_of("anthropic", "messages.create", "messages.stream", "beta.messages.create")


class TestGoogle(ProviderConformance):
    provider = gemini.PROVIDER
    exchanges = (examples.GENERATE, examples.EMBED)

    def client(self) -> object:
        return client_of("google.genai.client", "models.generate_content", "models.embed_content")


class TestBedrock(ProviderConformance):
    provider = bedrock.PROVIDER
    exchanges = (examples.CONVERSE,)

    def client(self) -> object:
        return client_of("botocore.client", "converse", "converse_stream", name="BedrockRuntime")
