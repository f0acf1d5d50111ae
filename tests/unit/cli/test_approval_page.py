"""Claims about the page: it opens once, answers only its own forms, and shows an agent's words as words."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from chrono.cli.approval_page import _text, serving
from chrono.errors import Denied
from chrono.policy.approvals import Grant, Request
from tests.waiting import LONG_S

EVIL = "echo '</pre><script>alert(1)</script>' \u202e hidden\x1b[2J"


def request(text: str = EVIL) -> Request:
    return Request(
        "ab12cd34ef56", "n" * 32, "d" * 64, 0, 2**62, "<b>codex</b>", "s", "Bash", text, "/p", "/p", "l", ("why & so",),
        (("/p/<x>.sh", "e" * 64),), (),
    )  # fmt: skip


class Desk:
    def __init__(self) -> None:
        self.answers: list[tuple[str, str, str]] = []
        self.refuses = False

    def pending(self) -> tuple[tuple[Request, str], ...]:
        return ((request(), "waits"),)

    def answer(self, request_id: str, nonce: str, decision: str) -> Grant:
        if self.refuses:
            raise Denied("sara has no key", "enrol it")
        self.answers.append((request_id, nonce, decision))
        return Grant(request_id, nonce, "d" * 64, decision, "sara", 0, 1)


class Browser:
    """Requests as a browser sends them."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.first, self.cookie = parts.netloc, f"{parts.path}?{parts.query}", ""

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, str, Any]:
        sent = {
            "Host": self.host,
            "Cookie": self.cookie,
            **{key.replace("_", "-"): value for key, value in headers.items()},
        }
        connection = http.client.HTTPConnection(self.host, timeout=LONG_S)
        try:
            connection.request(method, path, body, {key: value for key, value in sent.items() if value})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def open(self) -> str:
        status, _, headers = self.ask("GET", self.first)
        assert status == 303 and headers["Location"] == "/"
        assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        return self.ask("GET", "/")[1]

    def post(self, page: str, decision: str = "approve", **headers: str) -> int:
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
        body = urlencode({**fields, "decision": decision})
        return self.ask("POST", "/", body, **{"Origin": f"http://{self.host}", **headers})[0]


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def browser(desk: Desk) -> Iterator[Browser]:
    with serving(desk) as url:
        yield Browser(url)


def test_the_page_shows_an_agents_words_as_words_and_runs_nothing(browser: Browser) -> None:
    page = browser.open()
    assert "<script" not in page and "&lt;script&gt;" in page and "<b>codex</b>" not in page
    assert "\u202e" not in page and "\x1b" not in page
    policy = browser.ask("GET", "/")[2]["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy


def test_a_word_with_a_hyphen_is_kept_whole_and_a_line_without_one_is_text_alone() -> None:
    shown = _text("rm --one-file-system a 'b'\n  c/d", lines=True)
    assert shown == "rm <span>--one-file-system</span> a &#x27;b&#x27;\n  <span>c/d</span>"
    assert re.sub("</?span>", "", shown) == "rm --one-file-system a &#x27;b&#x27;\n  c/d"
    assert _text("</span><i>-") == "<span>&lt;/span&gt;&lt;i&gt;-</span>"


def test_an_answer_reaches_the_desk(browser: Browser, desk: Desk) -> None:
    page = browser.open()
    assert browser.post(page) == 303 and browser.post(page, "deny") == 303
    assert [answer[2] for answer in desk.answers] == ["approve", "deny"]
    assert desk.answers[0][:2] == ("ab12cd34ef56", "n" * 32)


def test_the_address_opens_once(browser: Browser) -> None:
    browser.open()
    browser.cookie = ""
    assert browser.ask("GET", browser.first)[0] == 403


@pytest.mark.parametrize("address", ["/", "/?token=", "/?token=wrong", "/other"])
def test_without_the_token_nothing_is_shown(browser: Browser, address: str) -> None:
    status, page, _ = browser.ask("GET", address)
    assert status in (403, 404) and "echo" not in page


def test_what_is_not_the_pages_own_form_is_refused(browser: Browser, desk: Desk) -> None:
    page = browser.open()
    assert browser.post(page, Origin="http://evil.example") == 403
    assert browser.post(page, Origin="null") == 403
    assert browser.post(page, Origin="") == 403
    assert browser.post(page, Cookie="chrono_approvals=guess") == 403
    assert browser.post(page, Cookie="") == 403
    assert browser.post(page.replace('name="form" value="', 'name="form" value="x')) == 403
    assert browser.post(page, decision="delete") == 403
    assert browser.ask("POST", "/", "x" * 5000, Origin=f"http://{browser.host}")[0] == 403
    assert desk.answers == []


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1"])
def test_a_name_that_was_pointed_here_is_refused(browser: Browser, host: str) -> None:
    browser.open()
    assert browser.ask("GET", "/", Host=host)[0] == 403


def test_a_refused_answer_is_told(browser: Browser, desk: Desk) -> None:
    page = browser.open()
    desk.refuses = True
    assert browser.post(page) == 409


def test_a_server_that_ended_answers_nobody(desk: Desk) -> None:
    with serving(desk) as url:
        browser = Browser(url)
    with pytest.raises(OSError):
        browser.ask("GET", "/")
