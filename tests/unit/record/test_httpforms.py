"""Claims about httpx values that are recorded: what a program asks of an answer, it can ask of the recorded one."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from chrono import record
from chrono.record.rebuild import rebuild
from chrono.record.redact import is_secret_key, redact_default
from chrono.record.serialise import Rules, write
from chrono.record.sink import MemorySink

RULES = Rules(redact_default, is_secret_key)


class Refused(Exception):
    def __init__(self, response: Any) -> None:
        super().__init__("slow down")
        self.response = response


@pytest.fixture(params=("httpx", "httpx2"))
def http(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def answer(http: Any, **more: Any) -> Any:
    request = http.Request(
        "POST", "http://models.test/v1?api_key=hunter2hunter2", headers={"Authorization": "Bearer k"}
    )
    return http.Response(429, headers={"Retry-After": "3", "Set-Cookie": "hunter2"}, request=request, **more)


def test_a_response_comes_back_with_status_headers_body_and_request(http: Any) -> None:
    written = write(answer(http, json={"error": "slow down"}), RULES)
    back = rebuild(written.json, written.notes).value
    assert type(back) is http.Response
    assert (back.status_code, back.headers["retry-after"], back.json()) == (429, "3", {"error": "slow down"})
    assert (back.request.method, back.request.url.host) == ("POST", "models.test")
    with pytest.raises(http.HTTPStatusError):
        back.raise_for_status()


def test_no_secret_of_a_response_or_its_request_is_recorded(http: Any) -> None:
    written = write(answer(http, json={"password": "hunter2", "note": "token sk-" + "a" * 30}), RULES)
    assert "hunter2" not in repr(written) and "Bearer k" not in repr(written) and "sk-a" not in repr(written)


def test_a_response_that_nobody_has_read_is_not_read(http: Any) -> None:
    taken: list[int] = []

    def body() -> Any:
        taken.append(1)
        yield b"never"

    written = write(answer(http, content=body()), RULES)
    assert written.json["body"] is None and taken == []


def test_a_file_that_names_another_class_as_a_response_makes_none() -> None:
    importlib.import_module("subprocess")
    note = {"type": "http response", "class": "subprocess:Popen"}
    found = rebuild({"status_code": 200, "args": ["true"]}, {"": note})
    assert found.left == {"": note} and found.value.status_code == 200


def test_an_error_that_holds_a_response_holds_it_in_replay(http: Any, sink: MemorySink) -> None:
    @record.boundary("ask")
    def ask() -> None:
        raise Refused(answer(http, json={}))

    def pause() -> str:
        try:
            ask()
        except Refused as error:
            return str(error.response.headers["retry-after"])
        return ""

    with record.record("live"):
        assert pause() == "3"
    with record.replay(list(sink.envelopes)):
        assert pause() == "3"
