"""Owns a whole program under replay: begun by the setting `replay`, told to whoever started it when it ends.

`chrono replay` starts such programs and reads what they report; a replay inside a program is `record.replaying`.
"""

from __future__ import annotations

import atexit
import json
import os
from typing import Any

from chrono.record.divergence import LEFTOVER, Divergence, as_json, of_json
from chrono.record.hooks import log
from chrono.record.replaying import ReplayRun, opened
from chrono.record.session import RecordingSession
from chrono.record.settings import Settings
from chrono.record.sources import read_file, recording_from
from chrono.tuples import NamedTuple


class Report(NamedTuple):
    """How the processes of a program differed from the recording: `calls` were answered or run."""

    processes: int
    calls: int
    divergences: tuple[Divergence, ...]


def begin(settings: Settings) -> RecordingSession:
    """The session that answers this process's calls from the file that `settings.replay` names. Raises OSError,
    NotATrace, BadRecording: a program that should be replayed must not run for real instead."""
    from chrono.record.plan import ReplayPlan

    assert settings.replay is not None
    plan = ReplayPlan()
    for name, number in map(numbered, settings.replay_run):
        plan.run(name, number)
    recording = recording_from(read_file(settings.replay), settings.replay_span)
    run = opened(recording, plan, settings.replay_matching)
    if settings.replay_report is not None:
        atexit.register(_report, run, settings.replay_report)
    return run.session


def read_report(folder: str) -> Report:
    """What all processes of a program have reported into `folder`. A recorded call is left over where none made it."""
    reports = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            reports.append(json.loads(file.read()))
    per_process = [of_json(one["divergences"]) for one in reports]
    left = [{one.envelope_id for one in found if one.kind == LEFTOVER} for found in per_process]
    everywhere = set.intersection(*left) if left else set()
    seen: set[Any] = set()
    divergences = []
    for one in (one for found in per_process for one in found):
        if one.kind == LEFTOVER:
            if one.envelope_id not in everywhere or one.envelope_id in seen:
                continue
            seen.add(one.envelope_id)
        divergences.append(one)
    return Report(len(reports), sum(one["calls"] for one in reports), tuple(divergences))


def numbered(text: str) -> tuple[str, int | None]:
    """What of a plan is written as `name`, or `name#2` for the second call."""
    name, hash_sign, number = text.rpartition("#")
    return (name, int(number)) if hash_sign and name and number.isdecimal() else (text, None)


def _report(run: ReplayRun, folder: str) -> None:
    try:
        value = {"calls": len(run.state.calls), "divergences": as_json(run.divergences)}
        path = os.path.join(folder, f"{os.getpid()}-{os.urandom(4).hex()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file, default=repr)
    except Exception:
        log.exception("the report of the replay could not be written")
