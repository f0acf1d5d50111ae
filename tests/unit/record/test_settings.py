"""Claims about settings: precedence, names, and what cannot be meant."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from chrono.record.settings import (
    Settings,
    SettingsError,
    configure_settings,
    forget_settings,
    get_settings,
    host_allowed,
    store_folder,
)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.startswith("CHRON"):
            monkeypatch.delenv(name)
    forget_settings()
    yield
    forget_settings()


def test_each_source_gives_way_to_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_settings().service_name == "agent"
    file = tmp_path / "settings.toml"
    file.write_text('service_name = "file"\nbatch_size = 7\n[hooks]\nfail_call_on_error = true\n')
    monkeypatch.setenv("CHRONICLE_CONFIG", str(file))
    assert get_settings() == Settings(service_name="file", batch_size=7, hooks_fail_call_on_error=True)
    monkeypatch.setenv("CHRONICLE_SERVICE_NAME", "theirs")
    assert get_settings().service_name == "theirs"
    monkeypatch.setenv("CHRONO_RECORD_SERVICE_NAME", "ours")
    assert get_settings().service_name == "ours"
    configure_settings({"service_name": "code"})
    assert get_settings().service_name == "code"
    forget_settings()
    assert get_settings().service_name == "ours"


def test_a_changed_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"batch_size": 3}))
    monkeypatch.setenv("CHRONO_RECORD_CONFIG", str(file))
    assert get_settings().batch_size == 3
    file.write_text(json.dumps({"batch_size": 30}))
    assert get_settings().batch_size == 30


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ENABLED", "off", False),
        ("EMIT_OPEN", "Yes", True),
        ("INJECT_HOSTS", " a.example, b:80 ,", ("a.example", "b:80")),
        ("MAX_PAYLOAD_BYTES", "12", 12),
        ("MAX_PAYLOAD_BYTES", "", None),
        ("FLUSH_INTERVAL", "2", 2.0),
        ("CONTROL_PLANE_URL", "http://x", "http://x"),
        ("ON_OVERFLOW", "block", "block"),
    ],
)
def test_a_variable_is_read_in_the_type_of_its_setting(
    name: str, text: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CHRONICLE_{name}", text)
    assert getattr(get_settings(), name.lower()) == value


@pytest.mark.parametrize(
    "given",
    [
        {"colour": 1},
        {"enabled": "yes"},
        {"batch_size": True},
        {"batch_size": 0},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"on_overflow": "wait"},
        {"inject_hosts": "one"},
        {"redactors": [1]},
        {"service_name": ""},
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        configure_settings({"service_name": "changed"} | given)
    assert get_settings().service_name == "agent"


def test_unknown_variables_are_ignored_and_unknown_keys_of_the_file_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHRONICLE_COLOUR", "red")
    assert get_settings() == Settings()
    for name, text in (("a.json", '{"colour": 1}'), ("b.json", '{"redactors": []}'), ("c.toml", "="), ("d.json", "[]")):
        (tmp_path / name).write_text(text)
        monkeypatch.setenv("CHRONICLE_CONFIG", str(tmp_path / name))
        with pytest.raises(SettingsError):
            get_settings()


def test_every_setting_of_the_suite_has_its_name_and_default() -> None:
    theirs = {
        "enabled": True, "control_plane_url": None, "api_key": None, "service_name": "agent", "capture_input": True,
        "capture_output": True, "max_payload_bytes": None, "redactors": (), "extract": True, "inject": True,
        "inject_hosts": (), "hooks_fail_call_on_error": False, "batch_size": 50, "flush_interval": 1.0,
        "max_queue": 10000, "on_overflow": "drop", "timeout": 5.0, "fail_open": True, "trace_registration": "sync",
        "registration_fail_open": True, "emit_open": False,
    }  # fmt: skip
    ours = {field.name: getattr(Settings(), field.name) for field in fields(Settings)}
    assert theirs.items() <= ours.items()
    assert ours["default_redactors"] is True  # theirs is off


def test_a_host_is_allowed_by_its_exact_name() -> None:
    settings = Settings(inject_hosts=("Billing.internal", "peer:8080"))
    assert host_allowed(settings, "billing.INTERNAL", 443)
    assert host_allowed(settings, "peer", 8080)
    for host, port in (("peer", 80), ("peer", None), ("x.billing.internal", 443), ("billing.internal.evil", 443)):
        assert not host_allowed(settings, host, port)


def test_the_store_is_the_projects_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHRONO_HOME", str(tmp_path / "home"))
    assert store_folder(Settings(), str(tmp_path)) == str(tmp_path / "home" / "traces")
    (tmp_path / "p" / ".chrono" / "repo.git").mkdir(parents=True)
    assert store_folder(Settings(), str(tmp_path / "p")) == str(tmp_path / "p" / ".chrono" / "traces")
    assert store_folder(Settings(store=str(tmp_path / "s")), str(tmp_path / "p")) == str(tmp_path / "s")
