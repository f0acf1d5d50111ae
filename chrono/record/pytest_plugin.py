"""Owns the pytest plugin: tests that are answered from an exported trace, and recording one (entry point `pytest11`).

Replaying is left to `record.replaying`; everything of the recorder is imported when a test asks for it only. The plugin
is there in every project of an environment: where one has an option or a mark of the same name, that one counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from chrono.record.replaying import ReplayRun

MODES: Final = ("none", "once", "new", "all")
MARK: Final = "replay"
_FLAG: Final = "--record"
_OPTION: Final = "chrono_record_mode"
_MARKER: Final = (
    f"{MARK}(path, run=(), span=None, matching='count'): answer the test's recorded calls from an exported trace; "
    "a divergence fails it"
)


class _Test:
    """What a marked test is run with: one block around its fixtures, its body and their end."""

    def __init__(self, item: pytest.Item, mark: pytest.Mark) -> None:
        path, given = _arguments(mark)
        self.path = os.path.join(os.path.dirname(str(item.path)), path)
        self.run: list[str] = list(given.pop("run", ()))
        self.span: str | None = given.pop("span", None)
        self.matching: Any = given.pop("matching", "count")
        if given:
            raise pytest.UsageError(f"@pytest.mark.replay knows no {', '.join(given)}")
        mode = item.config.getoption(_OPTION, "none")
        exists = os.path.exists(self.path)
        self.records = mode == "all" or (mode in ("once", "new") and not exists)
        self.adds = mode == "new" and exists
        if not self.records and not exists:
            raise pytest.UsageError(f"there is no {self.path}; record it with: pytest --record=once")
        self.replay: ReplayRun | None = None
        self.stack = ExitStack()
        self._kept: Any = None

    def begin(self, item: pytest.Item) -> None:
        from chrono.record import record
        from chrono.record.plan import ReplayPlan
        from chrono.record.program import numbered
        from chrono.record.replaying import replay_recording
        from chrono.record.runtime import use_sink
        from chrono.record.sink import MemorySink
        from chrono.record.sources import read_file, recording_from

        if self.records or self.adds:
            self._kept = MemorySink()
        if self.records:
            use_sink(self._kept)
            self.stack.callback(use_sink, None)
            self.stack.enter_context(record(item.name))
            return
        plan = ReplayPlan()
        for name, number in map(numbered, self.run):
            plan.run(name, number)
        recording = recording_from(read_file(self.path), self.span)
        self.replay = self.stack.enter_context(replay_recording(recording, plan, matching=self.matching, checked=False))
        if self.adds:
            self.replay.state.record_missing(self._kept)

    def end(self, *, passed: bool) -> None:
        """Close the block; of a test that has passed, keep what was recorded."""
        self.stack.close()
        if self._kept is not None and self._kept.envelopes and passed:
            _write(self.path, self._kept, add=self.adds)


_KEY: Final = pytest.StashKey[_Test]()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> Generator[None, Any, Any]:
    """Offers the option once all others have theirs."""
    result = yield
    if _is_free(parser):
        parser.getgroup("chrono").addoption(
            _FLAG,
            dest=_OPTION,
            choices=MODES,
            default="none",
            help="recordings of @pytest.mark.replay tests: none (only replay), once (record where there is no file), "
            "new (run and add what is not recorded), all (record again)",
        )
    return result


def _is_free(parser: pytest.Parser) -> bool:
    """Whether nobody else has an option of this name."""
    asked = f"{_FLAG}=none"
    try:
        return asked in parser.parse_known_and_unknown_args([asked])[1]
    except (pytest.UsageError, SystemExit):
        return False


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def _is_ours(config: pytest.Config) -> bool:
    """Whether nobody else has a mark of this name."""
    return not any(line != _MARKER and re.match(rf"{MARK}\s*(\W|$)", line) for line in config.getini("markers"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    mark = item.get_closest_marker(MARK)
    if mark is not None and _is_ours(item.config):
        test = _Test(item, mark)
        item.stash[_KEY] = test
        test.begin(item)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    test = item.stash.get(_KEY, None)
    try:
        result = yield
    except BaseException:
        report = test.replay.report() if test is not None and test.replay is not None else ""
        if report:
            item.add_report_section("call", "replay", report)
        raise
    if test is not None:
        item.stash[_PASSED] = True
        if test.replay is not None and not test.adds:
            report = test.replay.report()
            if report:
                pytest.fail(f"the run differed from {test.path}\n{report}", pytrace=False)
    return result


_PASSED: Final = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    finally:
        test = item.stash.get(_KEY, None)
        if test is not None:
            del item.stash[_KEY]
            test.end(passed=item.stash.get(_PASSED, False))


@pytest.fixture
def chrono_replay(request: pytest.FixtureRequest) -> Iterator[ReplayRun | None]:
    """The replay of this test; None while it is recorded."""
    test = request.node.stash.get(_KEY, None)
    if test is None:
        raise pytest.UsageError("chrono_replay is for tests with @pytest.mark.replay(PATH)")
    yield test.replay


def _arguments(mark: pytest.Mark) -> tuple[str, dict[str, Any]]:
    if len(mark.args) != 1 or not isinstance(mark.args[0], str | os.PathLike):
        raise pytest.UsageError("@pytest.mark.replay needs the path of an exported trace")
    return os.fspath(mark.args[0]), dict(mark.kwargs)


def _write(path: str, kept: Any, *, add: bool) -> None:
    """The recording as an exported trace, beside what the file has already where it is added to."""
    from chrono.record.entry import wire
    from chrono.record.exchange import exported
    from chrono.record.reading import StoredTrace
    from chrono.record.sources import read_file

    envelopes = [wire(one) for one in kept.envelopes]
    spans = {one.span_id: wire(one) for one in kept.spans}
    if add:
        before = read_file(path)
        trace = StoredTrace(before.trace_id, before.trace, before.spans, (*before.envelopes, *envelopes))
    else:
        first = kept.envelopes[0].trace_id
        announced = next((wire(one) for one in kept.traces if one.trace_id == first), None)
        mine = [one for one in envelopes if one["trace_id"] == first]
        of_it = tuple(one for one in spans.values() if one["trace_id"] == first)
        trace = StoredTrace(first, announced, of_it, tuple(mine))
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(exported(trace))
    os.replace(temporary, path)
