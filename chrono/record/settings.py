"""Owns the settings of recording: names, defaults, where a value comes from. The room's only reader of the environment.

Precedence: `configure()` > CHRONO_RECORD_<NAME> > CHRONICLE_<NAME> > the file named by CHRONO_RECORD_CONFIG or
CHRONICLE_CONFIG (JSON or TOML) > default. What a setting does is said by the module that obeys it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

from chrono.errors import ChronoError
from chrono.layout import ProjectLayout, default_home

Redactor = Callable[[str], str]
"""Takes every recorded text and returns what may be kept of it."""

PREFIXES: Final = ("CHRONO_RECORD_", "CHRONICLE_")


class SettingsError(ChronoError, ValueError):
    """A setting that is unknown or cannot be meant."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """What recording obeys (specs: record A7). Seconds, bytes and counts are in the names or in the comments."""

    enabled: bool = True  # off: nothing is recorded; hooks still run
    control_plane_url: str | None = None  # none: the local store only
    api_key: str | None = None
    service_name: str = "agent"
    capture_input: bool = True
    capture_output: bool = True
    max_payload_bytes: int | None = None  # each text, UTF-8
    max_items: int = 100_000  # values kept of one input or output, all levels together
    redactors: tuple[Redactor, ...] = ()  # only in code
    default_redactors: bool = True
    extract: bool = True
    inject: bool = True
    inject_hosts: tuple[str, ...] = ()  # exact host or host:port; empty: nobody gets the header
    hooks_fail_call_on_error: bool = False
    batch_size: int = 50
    flush_interval: float = 1.0  # seconds, the age of the oldest envelope that waits
    max_queue: int = 10_000
    on_overflow: Literal["drop", "block"] = "drop"
    timeout: float = 5.0  # seconds
    fail_open: bool = True
    trace_registration: Literal["sync", "lazy"] = "sync"
    registration_fail_open: bool = True
    emit_open: bool = False
    store: str | None = None  # folder of the local store; none: the project's .chrono, else CHRONO_HOME
    store_max_bytes: int = 2 << 30  # the oldest files beyond it are removed, what a plane waits for last
    replay: str | None = None  # an exported trace: the program is answered from it (`chrono replay` sets it)
    replay_span: str | None = None  # only this span of it
    replay_run: tuple[str, ...] = ()  # calls that run for real: `name`, or `name#2` for the second
    replay_matching: str = "count"  # or input, strict
    replay_report: str | None = None  # folder into which each process writes how it differed from the recording
    record_clock: bool = False  # time.time, datetime.now and their like, inside spans (`record.patching`)
    record_random: bool = False  # the functions of random
    record_uuid: bool = False  # uuid.uuid4 and uuid1
    record_files: bool = False  # a savepoint where a span begins and ends, in a chrono project (`record.files`)
    threads: bool = True  # new threads and pool jobs stay in the span that starts them


_CHOICES: Final = {
    "on_overflow": ("drop", "block"),
    "trace_registration": ("sync", "lazy"),
    "replay_matching": ("count", "input", "strict"),
}
_BOOLEANS: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_DEFAULTS: Final = Settings()
_NAMES: Final = tuple(field.name for field in fields(Settings))
_OPTIONAL: Final = frozenset(
    {"control_plane_url", "api_key", "max_payload_bytes", "store", "replay", "replay_span", "replay_report"}
)
_POSITIVE: Final = frozenset(
    {"store_max_bytes", "max_payload_bytes", "max_items", "batch_size", "max_queue", "timeout", "flush_interval"}
)

_configured: dict[str, Any] = {}
_cached: tuple[object, Settings] | None = None


def configure_settings(given: Mapping[str, Any]) -> Settings:
    """Merge settings from code over all other sources. Raises SettingsError and then changes nothing."""
    checked = {name: _checked(name, value, "configure()") for name, value in given.items()}
    global _cached
    merged = _configured | checked
    settings = _read(merged)
    _configured.update(checked)
    _cached = None
    return settings


def forget_settings() -> None:
    """Drop what `configure_settings` was given."""
    global _cached
    _configured.clear()
    _cached = None


def get_settings() -> Settings:
    """The settings as they are now; read again where the environment or the file has changed since. Cheap otherwise."""
    global _cached
    seen = _fingerprint()
    cached = _cached
    if cached is not None and cached[0] == seen:
        return cached[1]
    settings = _read(_configured)
    _cached = (seen, settings)
    return settings


def host_allowed(settings: Settings, host: str, port: int | None) -> bool:
    """Whether a request to this host may carry the trace header (exact host, or host:port; case does not matter)."""
    wanted = {entry.lower() for entry in settings.inject_hosts}
    return host.lower() in wanted or (port is not None and f"{host}:{port}".lower() in wanted)


def store_folder(settings: Settings, cwd: str | None = None) -> str:
    """The folder of the local store: as set, else that of the project at or above `cwd`, else that of CHRONO_HOME."""
    from chrono.layout import find_project

    if settings.store is not None:
        return os.path.abspath(settings.store)
    project: ProjectLayout | None = find_project(os.path.abspath(cwd or os.getcwd()))
    if project is not None:
        return os.path.join(project.dir, "traces")
    home = os.environ.get("CHRONO_HOME") or default_home(
        platform=sys.platform,
        user_home=os.path.expanduser("~"),
        xdg_state_home=os.environ.get("XDG_STATE_HOME"),
        local_app_data=os.environ.get("LOCALAPPDATA"),
    )
    return os.path.join(home, "traces")


def _fingerprint() -> object:
    """Changes when a source outside of code changes. It is asked at each crossing outside of a span, so the bytes
    behind `os.environ` are looked at as they lie; decoding every variable would cost more than the recording."""
    raw: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
    ours = [
        (key, value)
        for key, value in list(raw.items())
        if key[:5] in (b"CHRON", "CHRON") and key[:11] != b"CHRONO_HOME"
    ]
    if not ours:
        return ()
    path = _environment("config")
    if path is None:
        return tuple(ours)
    try:
        state = os.stat(path)
    except OSError:
        return (*ours, None)
    return (*ours, state.st_mtime_ns, state.st_size, state.st_ino)


def _environment(name: str) -> str | None:
    for prefix in PREFIXES:
        value = os.environ.get(prefix + name.upper())
        if value is not None:
            return value
    return None


def _read(configured: Mapping[str, Any]) -> Settings:
    values: dict[str, Any] = {}
    path = _environment("config")
    if path:
        values.update(_from_file(path))
    for name in _NAMES:
        if name == "redactors":
            continue
        text = _environment(name)
        if text is not None:
            values[name] = _checked(name, _parsed(name, text), f"the environment variable for {name}")
    values.update(configured)
    return replace(_DEFAULTS, **values)


def _from_file(path: str) -> dict[str, Any]:
    """The settings of a JSON or TOML file; `hooks.x` may be written as a table `hooks`."""
    import json
    import tomllib

    try:
        with open(path, "rb") as file:
            data = file.read()
        found = tomllib.loads(data.decode()) if path.endswith(".toml") else json.loads(data)
    except (OSError, ValueError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise SettingsError(f"the settings file {path} holds no table of settings")
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if name == "hooks" and isinstance(value, dict):
            flat.update({f"hooks_{key}": item for key, item in value.items()})
        else:
            flat[name.replace(".", "_")] = value
    if "redactors" in flat:
        raise SettingsError(f"{path}: redactors can only be set in code")
    return {name: _checked(name, value, path) for name, value in flat.items()}


def _parsed(name: str, text: str) -> Any:
    """A variable's text as the type of the setting. An empty text is none, or no hosts."""
    default = getattr(_DEFAULTS, name)
    if isinstance(default, bool):
        return _BOOLEANS.get(text.strip().lower(), text)
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if name in _OPTIONAL and not text.strip():
        return None
    try:
        if isinstance(default, float):
            return float(text)
        if isinstance(default, int) or name == "max_payload_bytes":
            return int(text)
    except ValueError:
        pass
    return text


def _checked(name: str, value: Any, source: str) -> Any:
    """`value` in the setting's own type. Raises SettingsError."""
    if name not in _NAMES:
        raise SettingsError(f"{source}: there is no setting {name!r}", f"known: {', '.join(_NAMES)}")
    default = getattr(_DEFAULTS, name)
    if value is None and name in _OPTIONAL:
        return None
    if name in _CHOICES:
        if str(value) not in _CHOICES[name]:
            raise SettingsError(f"{source}: {name} is one of {', '.join(_CHOICES[name])}, not {value!r}")
        return str(value)
    if isinstance(default, tuple):
        return _checked_sequence(name, value, source)
    wanted: type | tuple[type, ...]
    if isinstance(default, bool):
        wanted = bool
    elif isinstance(default, float):
        wanted = (int, float)
    elif isinstance(default, int) or name == "max_payload_bytes":
        wanted = int
    else:
        wanted = str
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise SettingsError(f"{source}: {name} cannot be {value!r}")
    if name in _POSITIVE and isinstance(value, int | float) and not value > 0:
        raise SettingsError(f"{source}: {name} is more than 0, not {value!r}")
    if name == "service_name" and not value:
        raise SettingsError(f"{source}: service_name cannot be empty")
    return float(value) if isinstance(default, float) else value


def _checked_sequence(name: str, value: Any, source: str) -> tuple[Any, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple | set | frozenset):
        raise SettingsError(f"{source}: {name} is a list, not {value!r}")
    for item in value:
        if not (callable(item) if name == "redactors" else isinstance(item, str)):
            raise SettingsError(f"{source}: {name} cannot hold {item!r}")
    return tuple(value)
