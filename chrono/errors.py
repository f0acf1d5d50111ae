"""Owns the error tree: one class an outcome, each with its exit code.

Who turns an error into text and an exit status is `cli.main`; the hook maps to the client's own codes.
"""

from __future__ import annotations


class ChronoError(Exception):
    """Base of every error that chrono raises on purpose.

    `message` says what happened and to what; `hint` (optional) says what to do next. They are shown as
    `error: …` and `hint: …` (design: message and hint are apart).
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ChronoError):
    """Arguments that cannot be meant."""

    exit_code = 2


class PolicyError(ChronoError):
    """A policy file that cannot be read or is not valid; `line` is 1-based where known."""

    exit_code = 3

    def __init__(self, message: str, hint: str | None = None, *, line: int | None = None) -> None:
        super().__init__(message, hint)
        self.line = line


class Denied(ChronoError):
    """The policy, a role or a gate refuses the action."""

    exit_code = 4


class NoWorkspace(ChronoError):
    """No initialised project here or above."""

    exit_code = 10


class Locked(ChronoError):
    """A lock was not free within its timeout; `holder` names who has it, where known."""

    exit_code = 11

    def __init__(self, message: str, hint: str | None = None, *, holder: str | None = None) -> None:
        super().__init__(message, hint)
        self.holder = holder


class NoSuchSavepoint(ChronoError):
    """A savepoint id or name that resolves to nothing, or to more than one."""

    exit_code = 12


class Conflict(ChronoError):
    """The work tree or a ref is not what the plan was made for."""

    exit_code = 13


class StoreError(ChronoError):
    """The hidden repository cannot be read or written. A savepoint that did not happen is never reported."""

    exit_code = 1
    BRING_BACK = "bring .chrono back from a backup, or the project from a remote: chrono clone URL DIR"
    """The hint where something of the repository is lost or damaged."""


class RemoteError(ChronoError):
    """A remote that cannot be reached, refuses, or holds something that it must not."""

    exit_code = 1


class AuditTampered(ChronoError):
    """The audit log is not what was written; `record` is the first offending record number where known."""

    exit_code = 20

    def __init__(self, message: str, hint: str | None = None, *, record: int | None = None) -> None:
        super().__init__(message, hint)
        self.record = record


class AuditUnverifiable(ChronoError):
    """The audit log cannot be checked (no pin, no key, unreadable)."""

    exit_code = 21


class KeyRefused(ChronoError):
    """A key that is missing, weak, malformed or stored where others can read it."""

    exit_code = 21


class PluginError(ChronoError):
    """A plugin that is missing, duplicated, broken or made for another api_version."""

    exit_code = 30
