"""chrono.record: what an agent did at each boundary, recorded where it happened and replayed without a model.

This facade owns the public names, those of the Chronicle SDK, and resolves them lazily (PEP 562): `from chrono import
record as chronicle` is all that a program written for that SDK changes.
"""

# name -> module of this room that defines it; type checkers read __init__.pyi
_PUBLIC: dict[str, str] = {
    "AbortCall": "hooks",
    "BoundaryMode": "session",
    "CallInfo": "hooks",
    "CallRecord": "replaying",
    "ChronicleMiddleware": "middleware",
    "ControlPlaneError": "errors",
    "DeliveryError": "errors",
    "FunctionHook": "hooks",
    "Hook": "hooks",
    "HookRegistry": "hooks",
    "RecordedCallError": "errors",
    "RecordingSession": "session",
    "RegistrationError": "errors",
    "ReplayMismatchError": "errors",
    "ReplayPlan": "plan",
    "ReplayRun": "replaying",
    "SessionMode": "session",
    "aspan": "spans",
    "attempt": "session",
    "boundary": "boundaries",
    "chance": "drawing",
    "configure": "runtime",
    "current_session": "session",
    "default_hooks": "hooks",
    "default_redactors": "redact",
    "extract": "propagation",
    "flush": "runtime",
    "inject": "propagation",
    "instrument": "langgraph",
    "instrument_httpx": "http",
    "instrument_langgraph": "langgraph",
    "is_enabled": "runtime",
    "now": "drawing",
    "record": "spans",
    "redact_secrets": "redact",
    "register_adapter": "provider",
    "replay": "replaying",
    "replay_file": "sources",
    "replay_trace": "sources",
    "reset": "runtime",
    "shutdown": "runtime",
    "span": "spans",
    "stats": "counters",
    "uninstrument_httpx": "http",
    "uuid4": "drawing",
    "wrap": "wrapping",
    "wrap_llm": "boundaries",
}

__all__ = [
    "AbortCall",
    "BoundaryMode",
    "CallInfo",
    "CallRecord",
    "ChronicleMiddleware",
    "ControlPlaneError",
    "DeliveryError",
    "FunctionHook",
    "Hook",
    "HookRegistry",
    "RecordedCallError",
    "RecordingSession",
    "RegistrationError",
    "ReplayMismatchError",
    "ReplayPlan",
    "ReplayRun",
    "SessionMode",
    "__version__",
    "aspan",
    "attempt",
    "boundary",
    "chance",
    "configure",
    "current_session",
    "default_hooks",
    "default_redactors",
    "extract",
    "flush",
    "inject",
    "instrument",
    "instrument_httpx",
    "instrument_langgraph",
    "is_enabled",
    "now",
    "record",
    "redact_secrets",
    "register_adapter",
    "replay",
    "replay_file",
    "replay_trace",
    "reset",
    "shutdown",
    "span",
    "stats",
    "uninstrument_httpx",
    "uuid4",
    "wrap",
    "wrap_llm",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from chrono import __version__

        return __version__
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'chrono.record' has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(f"chrono.record.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
