"""What type checkers see of the facade; at run time `__init__.py` resolves the same names lazily."""

from chrono.record.boundaries import boundary as boundary
from chrono.record.boundaries import wrap_llm as wrap_llm
from chrono.record.counters import stats as stats
from chrono.record.drawing import chance as chance
from chrono.record.drawing import now as now
from chrono.record.drawing import uuid4 as uuid4
from chrono.record.errors import ControlPlaneError as ControlPlaneError
from chrono.record.errors import DeliveryError as DeliveryError
from chrono.record.errors import RecordedCallError as RecordedCallError
from chrono.record.errors import RegistrationError as RegistrationError
from chrono.record.errors import ReplayMismatchError as ReplayMismatchError
from chrono.record.hooks import AbortCall as AbortCall
from chrono.record.hooks import CallInfo as CallInfo
from chrono.record.hooks import FunctionHook as FunctionHook
from chrono.record.hooks import Hook as Hook
from chrono.record.hooks import HookRegistry as HookRegistry
from chrono.record.hooks import default_hooks as default_hooks
from chrono.record.http import instrument_httpx as instrument_httpx
from chrono.record.http import uninstrument_httpx as uninstrument_httpx
from chrono.record.langgraph import instrument as instrument
from chrono.record.langgraph import instrument_langgraph as instrument_langgraph
from chrono.record.middleware import ChronicleMiddleware as ChronicleMiddleware
from chrono.record.plan import ReplayPlan as ReplayPlan
from chrono.record.propagation import extract as extract
from chrono.record.propagation import inject as inject
from chrono.record.provider import register_adapter as register_adapter
from chrono.record.redact import default_redactors as default_redactors
from chrono.record.redact import redact_secrets as redact_secrets
from chrono.record.replaying import CallRecord as CallRecord
from chrono.record.replaying import ReplayRun as ReplayRun
from chrono.record.replaying import replay as replay
from chrono.record.runtime import configure as configure
from chrono.record.runtime import flush as flush
from chrono.record.runtime import is_enabled as is_enabled
from chrono.record.runtime import reset as reset
from chrono.record.runtime import shutdown as shutdown
from chrono.record.session import BoundaryMode as BoundaryMode
from chrono.record.session import RecordingSession as RecordingSession
from chrono.record.session import SessionMode as SessionMode
from chrono.record.session import attempt as attempt
from chrono.record.session import current_session as current_session
from chrono.record.sources import replay_file as replay_file
from chrono.record.sources import replay_trace as replay_trace
from chrono.record.spans import aspan as aspan
from chrono.record.spans import record as record
from chrono.record.spans import span as span
from chrono.record.wrapping import wrap as wrap

__version__: str
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
