"""Claims about wrapping a client that no provider knows; the real ones are in tests/peers."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from chrono import record
from chrono.plugins import PluginGroup
from chrono.record import wrapping
from chrono.record.sink import MemorySink


class Client:
    """As OpenAI's: one method in the usual place, copies on request."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=lambda **given: {"said": given["prompt"]}))

    def with_options(self) -> Client:
        return Client()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, sink: MemorySink) -> None:
    """As after an installation of chrono without its providers."""
    wrapping._say_that_none_is_installed.cache_clear()
    monkeypatch.setattr(wrapping, "PROVIDERS", PluginGroup("chrono.none_such", api_version=1))


def test_a_client_of_nobody_we_know_is_recorded_by_its_usual_method(sink: MemorySink) -> None:
    client: Any = record.wrap(Client())
    assert record.wrap(client) is client
    assert client.chat.completions.create(prompt="hi") == {"said": "hi"}
    (entry,) = sink.envelopes
    assert (entry.name, entry.kind, entry.input["raw"]) == ("llm", "llm", {"prompt": "hi"})
    assert entry.output is not None and entry.output["raw"] == {"said": "hi"}


@pytest.mark.usefixtures("alone")
def test_that_no_provider_is_installed_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """The first call of a newcomer who installed chrono alone: tokens would be missing without a word."""
    with caplog.at_level(logging.WARNING):
        client = record.wrap(Client())
        client.with_options(), record.wrap(Client())
        (said,) = caplog.messages
    assert "the calls of Client are recorded as they are" in said and "chrono-providers" in said


@pytest.mark.usefixtures("alone")
def test_a_client_that_cannot_be_wrapped_says_what_to_install() -> None:
    with pytest.raises(TypeError, match=r"wrap_llm\(name, function\), or install chrono-providers"):
        record.wrap(object())


def test_an_adapter_of_the_program_s_own_needs_no_provider(
    alone: None, caplog: pytest.LogCaptureFixture, sink: MemorySink
) -> None:
    class Adapter:
        provider = "mine"

        def to_canonical_input(self, raw: Any) -> Any:
            return {"messages": [{"role": "user", "content": raw["prompt"]}]}

        def to_canonical_output(self, raw: Any, requested_model: str | None) -> Any:
            return {"provider": "mine", "content": [{"type": "text", "text": raw["said"]}]}

    record.wrap(Client(), adapter=Adapter()).chat.completions.create(prompt="hi")
    assert sink.envelopes[0].output is not None
    assert sink.envelopes[0].output["content"] == [{"type": "text", "text": "hi"}]
    assert not caplog.messages
