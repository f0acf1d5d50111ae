"""Claims about the copy of a log that travels: whatever the lines are, cutting and joining gives them back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chrono.workspace.logcopy import CHUNK_BYTES, LogCopy, files, joined

LINES = st.lists(st.integers(0, 70_000), max_size=12)


@settings(max_examples=60, deadline=None)
@given(sizes=LINES, more=LINES, head=st.binary(max_size=50))
def test_a_log_is_joined_as_it_was_cut_and_its_old_chunks_never_change(
    sizes: list[int], more: list[int], head: bytes
) -> None:
    lines = b"".join(b"x" * size + b"\n" for size in sizes)
    grown = lines + b"".join(b"y" * size + b"\n" for size in more)
    first, second = files(LogCopy(lines, head, "main")), files(LogCopy(grown, head, "main"))
    assert joined(first) == LogCopy(lines, head, "main") and joined(second).lines == grown
    chunks = sorted(name for name in first if name.startswith("log."))
    for name in chunks[:-1]:
        assert first[name] == second[name] and len(first[name]) > CHUNK_BYTES
    assert all(data.endswith(b"\n") for name, data in first.items() if name.startswith("log."))
