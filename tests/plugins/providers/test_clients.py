"""Claims about telling whose a client is, and what is said of it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from chrono_providers.clients import comes_from, has, identity
from chrono_providers.litellm import PROVIDER as LITELLM
from chrono_providers.openai import AZURE, OPENAI
from tests.plugins.providers.examples import client_of


def test_a_package_of_a_longer_name_is_another() -> None:
    assert comes_from(client_of("openai"), "openai")
    assert comes_from(client_of("openai._client"), "openai")
    assert not comes_from(client_of("openai_extras"), "openai")


def test_a_class_derived_from_a_client_is_one() -> None:
    base = type(client_of("openai"))
    assert comes_from(type("Mine", (base,), {"__module__": "mine"})(), "openai")


def test_a_part_that_cannot_be_made_is_not_there() -> None:
    class Client:
        @property
        def chat(self) -> Any:
            raise ImportError("pip install extra")

    assert not has(Client(), "chat.create")
    assert not has(Client(), "nothing.at.all")


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("https://api.openai.com/v1/", None),
        ("https://eu.api.openai.com/v1", None),
        ("https://notapi.openai.com.example/v1", "https://notapi.openai.com.example/v1"),
        ("http://me:secret@proxy:8080/v1/?key=k#f", "http://proxy:8080/v1"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("", None),
        ("nonsense", None),
        (7, None),
    ],
)
def test_where_a_client_calls_is_said_without_credentials(base_url: Any, said: str | None) -> None:
    known = identity(client_of("openai", base_url=base_url), "openai", ("api.openai.com",))
    assert known.get("client.base_url") == said


@pytest.mark.parametrize("base_url", ["http://[::1", "http://host:notaport/", "http://host:99999/"])
def test_an_address_that_is_none_is_left_out(base_url: str) -> None:
    assert "client.base_url" not in identity(client_of("openai", base_url=base_url), "openai", ())


def test_a_resource_belongs_to_the_provider_of_its_client() -> None:
    for owner, provider, other in (("OpenAI", OPENAI, AZURE), ("AzureOpenAI", AZURE, OPENAI)):
        held = client_of("openai", name=owner)
        resource = client_of("openai.resources.chat.completions", "create", name="Completions", _client=held)
        assert provider.matches(resource) and not other.matches(resource)
        assert [one.path for one in provider.methods(resource)] == ["create"]


def test_litellm_is_the_module_or_its_router() -> None:
    assert LITELLM.matches(ModuleType("litellm"))
    assert not LITELLM.matches(ModuleType("litellm_proxy"))
    assert LITELLM.matches(client_of("litellm.router", "completion", name="Router"))
