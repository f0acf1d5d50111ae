"""Owns the errors that a program using the recorder may see; they are Chronicle's, by name and by base."""

from __future__ import annotations

from chrono.errors import ChronoError


class ControlPlaneError(ChronoError):
    """The control plane refused or could not be reached; `status_code` where it answered."""

    def __init__(self, message: str, hint: str | None = None, *, status_code: int | None = None) -> None:
        super().__init__(message, hint)
        self.status_code = status_code


class DeliveryError(ControlPlaneError):
    """What was recorded could not be delivered and `fail_open` is off. It is still in the local store."""


class RegistrationError(ControlPlaneError):
    """A trace could not be registered and `registration_fail_open` is off."""


class RecordedCallError(Exception):
    """A recorded call that had failed, met again in replay; the class that is raised also derives from the original."""

    def __init__(self, error_type: str, message: str, *, name: str, invocation_index: int) -> None:
        super().__init__(f"{error_type}: {message}")
        self.error_type = error_type
        self.error_message = message
        self.name = name
        self.invocation_index = invocation_index


class ReplayMismatchError(LookupError):
    """A call in replay that the recording does not have."""
