"""Owns following requests as they come: shown, asked about on a terminal, told to the desktop, served on a page.

Answering is left to `cli.approving`, the page to `cli.approval_page`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from chrono.cli import approving
from chrono.cli.text import Styled, one_line
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.cli.approving import Approver
    from chrono.cli.render import Screen
    from chrono.layout import HomeLayout
    from chrono.policy.approvals import Grant, Request

POLL_S = 0.5
MINUTES = 15


class Watch:
    """One person's watch over the requests of a home. `approver` None: it only shows."""

    def __init__(self, screen: Screen, home: HomeLayout, approver: Approver | None, *, notify: bool) -> None:
        self._screen, self._home, self._approver, self._notify = screen, home, approver, notify
        self._one_at_a_time = threading.Lock()
        self._seen: dict[str, str] = {}

    def pending(self) -> tuple[tuple[Request, str], ...]:
        """What waits now, with its state."""
        from chrono.workspace.approvals import answer_of, pending

        now_ns = time.time_ns()
        return tuple(
            (one, approving.state_of(answer_of(self._home, one), now_ns)) for one in pending(self._home, now_ns)
        )

    def answer(self, request_id: str, nonce: str, decision: str) -> Grant:
        """Answers one request that is still the one that was shown. Raises ChronoError."""
        from chrono.workspace.approvals import find

        assert self._approver is not None
        with self._one_at_a_time:
            request = find(self._home, request_id, time.time_ns())
            if request.nonce != nonce:
                raise ChronoError("this is another request now", "look at it again")
            return approving.answer(self._screen, self._approver, request, decision, minutes=MINUTES)

    def follow(self, *, page_port: int | None, seconds: float | None) -> int:
        """Until Ctrl-C, or for so many seconds. `page_port` None: no page."""
        from contextlib import ExitStack, suppress

        until = None if seconds is None else time.monotonic() + seconds
        with ExitStack() as stack:
            if page_port is not None:
                from chrono.cli.approval_page import serving

                url = stack.enter_context(serving(self, page_port))
                self._say({"event": "page", "url": url}, "answer in a browser: ", url)
            elif not self._screen.json:
                self._screen.note("waiting for requests; Ctrl-C ends it")
            with suppress(KeyboardInterrupt):  # how it is meant to end, no accident
                self._look()  # at least once, however short the time is
                while until is None or time.monotonic() < until:
                    time.sleep(POLL_S if until is None else min(POLL_S, max(0.0, until - time.monotonic())))
                    self._look()
        return 0

    def _look(self) -> None:
        from chrono.workspace.approvals import answer_of

        now = {one.nonce: (one, state) for one, state in self.pending()}
        for nonce, (request, state) in now.items():
            before = self._seen.get(nonce)
            self._seen[nonce] = state
            if before is None and state == "waits":
                self._arrived(request)
            elif before is not None and before != state and self._screen.json:
                grant = answer_of(self._home, request)
                self._screen.value({"event": state, **approving.as_json(request, grant, time.time_ns())})
        for nonce in [nonce for nonce in self._seen if nonce not in now]:
            state = self._seen.pop(nonce)
            self._say({"event": "gone", "nonce": nonce, "was": state}, None)
        self._screen.flush()

    def _arrived(self, request: Request) -> None:
        now_ns = time.time_ns()
        if self._notify:
            from chrono.cli.desktop import notify

            notify(f"{request.client or 'An agent'} asks", one_line(request.text))
        if self._screen.json:
            self._screen.value({"event": "asked", **approving.as_json(request, None, now_ns)})
            return
        approving.show(self._screen, request, now_ns)
        if self._screen.person and self._approver is not None:
            self._ask(request)

    def _ask(self, request: Request) -> None:
        word = self._screen.ask("[a]pprove once, [d]eny, anything else leaves it: ")
        decision = {"a": "approve", "d": "deny"}.get((word or "")[:1].lower())
        if decision is None:
            return
        try:
            grant = self.answer(request.id, request.nonce, decision)
        except ChronoError as error:
            self._screen.warning(error.message)
            return
        self._seen[request.nonce] = "approved" if decision == "approve" else "denied"
        self._screen.line(Styled("approved" if decision == "approve" else "denied", "green"), f"  by {grant.name}")

    def _say(self, value: dict[str, str], words: str | None, more: str = "") -> None:
        if self._screen.json:
            self._screen.value(value)
        elif words is not None:
            self._screen.line(words, Styled(more, "bold"))
        self._screen.flush()
