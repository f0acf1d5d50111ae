"""Owns hooks: what may look at a crossing, change its arguments, or stop it, and in which order they are asked.

When they are asked is `record.crossing`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chrono.record.entry import JsonObject

if TYPE_CHECKING:
    from chrono.trace.entities import Envelope
    from chrono.trace.enums import Kind

log = logging.getLogger("chrono.record")


class AbortCall(Exception):
    """Raised by a hook to stop the call on purpose; always reaches the caller."""


@dataclass(frozen=True, slots=True)
class CallInfo:
    """What a hook is told of a call. `arguments` is the JSON by name, before redaction: never store it."""

    name: str
    kind: Kind
    arguments: JsonObject
    invocation_index: int
    attempt: int
    trace_id: str
    span_id: str
    envelope_id: str


class Hook:
    """Base of hooks; each method does nothing until it is overridden."""

    def enter(self, call: CallInfo) -> Mapping[str, Any] | None:
        """Before the call. Answers arguments to change, by name; raises AbortCall to stop it."""
        return None

    def leave(self, call: CallInfo) -> None:
        """After everything, exactly once for each `enter` that returned."""

    def crossing(self, call: CallInfo, result: Any) -> None:
        """After a call that returned, with its live result."""

    def record(self, envelope: Envelope) -> None:
        """After the envelope was written, as it was written."""


class FunctionHook(Hook):
    """A hook made of functions."""

    def __init__(
        self,
        *,
        enter: Callable[[CallInfo], Mapping[str, Any] | None] | None = None,
        leave: Callable[[CallInfo], None] | None = None,
        crossing: Callable[[CallInfo, Any], None] | None = None,
        record: Callable[[Envelope], None] | None = None,
    ) -> None:
        self._enter, self._leave, self._crossing, self._record = enter, leave, crossing, record

    def enter(self, call: CallInfo) -> Mapping[str, Any] | None:
        return self._enter(call) if self._enter is not None else None

    def leave(self, call: CallInfo) -> None:
        if self._leave is not None:
            self._leave(call)

    def crossing(self, call: CallInfo, result: Any) -> None:
        if self._crossing is not None:
            self._crossing(call, result)

    def record(self, envelope: Envelope) -> None:
        if self._record is not None:
            self._record(envelope)

    @property
    def wants_record(self) -> bool:
        return self._record is not None


class HookRegistry:
    """Hooks in the order of their registration. Threads may share it: the tuple is replaced, never changed."""

    __slots__ = ("hooks",)

    def __init__(self, hooks: list[Hook] | None = None) -> None:
        self.hooks: tuple[Hook, ...] = tuple(hooks or ())

    def register(self, hook: Hook) -> Hook:
        self.hooks = (*self.hooks, hook)
        return hook

    def unregister(self, hook: Hook) -> None:
        """Forget `hook`; unknown ones are ignored."""
        self.hooks = tuple(one for one in self.hooks if one is not hook)

    def clear(self) -> None:
        self.hooks = ()

    def copy(self) -> HookRegistry:
        return HookRegistry(list(self.hooks))

    def __len__(self) -> int:
        return len(self.hooks)

    def __iter__(self) -> Any:
        return iter(self.hooks)


default_hooks = HookRegistry()
"""Copied into every new span; the ambient span uses it as it is."""


def wants_record(hooks: Iterable[Hook]) -> bool:
    """Whether any hook looks at envelopes: only then one is built as a model."""
    return any(
        one.wants_record if isinstance(one, FunctionHook) else type(one).record is not Hook.record for one in hooks
    )


class Entered:
    """The hooks of one crossing: all of them, and those that were entered and still have their leave to come."""

    __slots__ = ("call", "entered", "hooks", "strict")

    def __init__(self, call: CallInfo, hooks: tuple[Hook, ...], strict: bool) -> None:
        self.call = call
        self.hooks = hooks
        self.entered: list[Hook] = []
        self.strict = strict

    def enter(self) -> dict[str, Any]:
        """Ask each hook in order; the later patch of an argument wins. What is raised here stops the call, and the
        caller owes `leave`: hooks before the one that raised may hold something."""
        patches: dict[str, Any] = {}
        for hook in self.hooks:
            try:
                patch = hook.enter(self.call)
            except AbortCall:
                raise
            except Exception:
                self.failed(hook, "enter")
                continue
            self.entered.append(hook)
            if patch:
                patches.update(patch)
        return patches

    def crossing(self, result: Any) -> None:
        self._each("crossing", lambda hook: hook.crossing(self.call, result))

    def record(self, envelope: Envelope) -> None:
        self._each("record", lambda hook: hook.record(envelope))

    def leave(self) -> None:
        """Give every entered hook its leave, also when one of them raises; the first error is raised afterwards."""
        hooks, self.entered = self.entered, []
        first: BaseException | None = None
        for hook in hooks:
            try:
                hook.leave(self.call)
            except Exception as error:
                if isinstance(error, AbortCall) or self.strict:
                    first = first or error
                else:
                    log.warning("hook %r failed in leave", hook, exc_info=True)
            except BaseException as error:
                first = first or error
        if first is not None:
            raise first

    def _each(self, moment: str, tell: Callable[[Hook], None]) -> None:
        for hook in self.hooks:
            try:
                tell(hook)
            except AbortCall:
                raise
            except Exception:
                self.failed(hook, moment)

    def failed(self, hook: Hook, moment: str) -> None:
        """Called while the hook's error is handled: raised on with `hooks_fail_call_on_error`, otherwise logged."""
        if self.strict:
            raise  # noqa: PLE0704  (inside the handlers above)
        log.warning("hook %r failed in %s", hook, moment, exc_info=True)
