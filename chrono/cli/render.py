"""Owns everything the command line prints and asks; no other module of this room touches a stream.

What is said is left to the commands, what is safe to show to `cli.text`.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

from chrono.cli.text import Part, Styled, columns, cut, safe, wrap
from chrono.errors import Denied

if TYPE_CHECKING:
    import subprocess

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

AGENT_MARKS = (
    "CHRONO_AGENT",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "GEMINI_CLI",
    "QWEN_CODE",
    "CURSOR_AGENT",
    "OPENCODE",
    "COPILOT_CLI",
    "CLINE_ACTIVE",
)
"""Variables that agent clients set for the commands they run. A hint that nobody is there to answer, never a proof
that somebody is."""

MAX_PROSE_COLUMNS = 100
ANSWER_WAIT_S = 120.0
SHOW_WORK_AFTER_S = 0.4


class Screen:
    """The two streams of one run, and what is known about who reads them.

    `json`: results are JSON on standard output, and nothing else goes there. `width`: columns of the terminal, None
    where standard output is not one (nothing is cut then). `person`: somebody can be asked. `environ`: the
    environment of the run, which the verbs hand on.
    """

    def __init__(self, out: TextIO, err: TextIO, source: TextIO | None, environ: dict[str, str]) -> None:
        self.json = False
        self.traceback = False
        self.environ = environ
        self._out, self._err, self._source = out, err, source
        for stream in (out, err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        self.width = _width(out, environ)
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        self._colour_out = _is_terminal(out) and not plain
        self._colour_err = _is_terminal(err) and not plain
        self.agent = next((name for name in AGENT_MARKS if environ.get(name)), None)
        self.person = _is_terminal(source) and _is_terminal(err) and not self.agent and not environ.get("CI")

    @classmethod
    def of_process(cls) -> Screen:
        """The screen of this process."""
        return cls(sys.stdout, sys.stderr, sys.stdin, dict(os.environ))

    # --- results, on standard output

    def line(self, *parts: Part) -> None:
        """One line; every part is made safe, only styles given here reach the terminal."""
        self._put(self._out, self._joined(parts, self._colour_out))

    def text(self, *parts: Part, indent: int = 0) -> None:
        """One paragraph, wrapped to the terminal; further lines are indented by `indent` columns."""
        self._put(self._out, "\n".join(self._wrapped(parts, indent, self.width, self._colour_out)))

    def block(self, text: str) -> None:
        """Text of several lines, as it is except for what a terminal would obey."""
        self._out.write(safe(text, lines=True))
        if text and not text.endswith("\n"):
            self._out.write("\n")

    def patch(self, text: str) -> None:
        """A unified diff, coloured on a terminal."""
        for row in text.splitlines():
            style = _patch_style(row)
            self.line(Styled(row, style) if style else row)

    def table(self, rows: Sequence[Sequence[Part]], *, gap: int = 2, indent: int = 0) -> None:
        """Rows in aligned columns; on a terminal the last column is cut to fit."""
        cells = [[safe(_plain(cell)) for cell in row] for row in rows]
        widths = [max(map(columns, texts)) + gap for texts in zip_longest(*cells, fillvalue="")]
        lines = []
        for row, texts in zip(rows, cells, strict=True):
            room = self.width - indent - sum(widths[: len(row) - 1]) if self.width is not None else None
            line = " " * indent
            for cell, text, width in zip(row[:-1], texts, widths, strict=False):
                line += self._styled(text, cell, self._colour_out) + " " * (width - columns(text))
            for cell, text in zip(row[-1:], texts[-1:], strict=True):
                line += self._styled(text if room is None else cut(text, max(room, 8)), cell, self._colour_out)
            lines.append(line.rstrip(" "))
        if lines:
            self._put(self._out, "\n".join(lines))

    def facts(self, rows: Sequence[tuple[Part, Part]], *, indent: int = 0) -> None:
        """A label and what is said of it in each row; on a terminal a long text goes on below itself, uncut."""
        sizes = [columns(safe(_plain(label))) for label, _ in rows]
        widest = max(sizes, default=0) + 2
        for (label, said), taken in zip(rows, sizes, strict=True):
            self.text(" " * indent, label, " " * (widest - taken), said, indent=indent + widest)

    def value(self, value: object) -> None:
        """One JSON value on one line: ASCII only, so that no name can break it."""
        self._put(self._out, json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False))

    def flush(self) -> None:
        """Hands over what is buffered: for output that somebody reads line by line."""
        self._out.flush()

    def raw(self, out: bytes, err: bytes) -> None:
        """Bytes of somebody else's protocol, as they are."""
        for stream, data in ((self._out, out), (self._err, err)):
            if data:
                stream.flush()
                stream.buffer.write(data)
                stream.buffer.flush()

    def payload(self) -> bytes | None:
        """All of standard input, None where it is a terminal or closed: nobody is going to type a payload."""
        if self._source is None or _is_terminal(self._source):
            return None
        return self._source.buffer.read()

    @contextmanager
    def paged(self) -> Iterator[None]:
        """Long results go through a pager where a person sits at a terminal: $CHRONO_PAGER, $PAGER or less.

        Never for JSON, for pipes or for agents; CHRONO_PAGER= or PAGER=cat turns it off. Whoever leaves the pager
        early has seen enough: that is no error.
        """
        command = None if self.json or self.agent or not _is_terminal(self._out) else _pager(self.environ)
        process = _started(command, self.environ) if command else None
        if process is None or process.stdin is None:
            yield
            return
        own, self._out = self._out, io.TextIOWrapper(process.stdin, "utf-8", "backslashreplace", write_through=False)
        try:
            yield
        except BrokenPipeError:
            pass
        finally:
            paged, self._out = self._out, own
            try:
                paged.close()
            except BrokenPipeError:
                pass
            process.wait()

    # --- what is said beside the result, on standard error

    def note(self, *parts: Part) -> None:
        """A remark for people; not part of the result."""
        self._put(self._err, "\n".join(self._wrapped(parts, 0, self._err_width(), self._colour_err)))

    def warning(self, message: str, hint: str | None = None) -> None:
        """Something that went on but deserves a look, and what to do about it."""
        self._labelled("warning", "yellow", message)
        if hint:
            self._labelled("hint", "cyan", hint)

    def error(self, message: str, hint: str | None, exit_code: int) -> None:
        """What failed and what to do about it; as JSON on standard output where the result is JSON."""
        if self.json:
            self.value({"error": message, "hint": hint, "exit_code": exit_code})
            return
        self._out.flush()
        self._labelled("error", "red", message)
        if hint:
            self._labelled("hint", "cyan", hint)

    def trace(self, text: str) -> None:
        """A Python traceback."""
        self._err.write(safe(text, lines=True))

    def _labelled(self, label: str, style: str, message: str) -> None:
        rows = message.splitlines() or [""]
        parts: tuple[Part, ...] = (Styled(f"{label}:", style), f" {rows[0]}")
        self._put(self._err, "\n".join(self._wrapped(parts, len(label) + 2, self._err_width(), self._colour_err)))
        for row in rows[1:]:
            self._put(self._err, " " * (len(label) + 2) + safe(row))

    # --- asking and waiting

    def confirm(self, question: str) -> bool:
        """Whether a person says yes. Never call it unless `person`; no answer for two minutes is a no."""
        answer = self.ask(f"{question} [y/N] ")
        return answer is not None and answer.lower() in ("y", "yes")

    def agrees(
        self, question: str, *, yes: bool, hint: str = "add --yes", why: str = "nobody is there to be asked"
    ) -> bool:
        """Whether to go on: with `yes`, or where a person says so. Raises Denied where neither is there."""
        if not yes and not self.person:
            raise Denied(why, hint)
        if yes or self.confirm(question):
            return True
        self.note("nothing was changed")
        return False

    def ask(self, question: str) -> str | None:
        """What a person answers; None at the end of input, or after two minutes. Never call it unless `person`."""
        assert self.person and self._source is not None
        self._out.flush()
        self._err.write(safe(question))
        self._err.flush()
        answer = _answer(self._source, ANSWER_WAIT_S)
        if answer is None:
            self._err.write("\n")
            return None
        return answer.strip()

    def secret(self, question: str) -> str | None:
        """What a person types without it being shown, None where they give up. Never call it unless `person`."""
        from getpass import getpass

        assert self.person
        self._out.flush()
        try:
            return getpass(safe(question), self._err)
        except EOFError:
            return None

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Says on a terminal, after a moment, that `what` is going on and for how long."""
        if self.json or not _is_terminal(self._err):
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(what, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()

    def _tick(self, what: str, done: threading.Event) -> None:
        begin = time.monotonic()
        pause_s, shown = SHOW_WORK_AFTER_S, False
        while not done.wait(pause_s):
            self._err.write(f"\r{safe(what)} {time.monotonic() - begin:.0f} s ")
            self._err.flush()
            pause_s, shown = 1.0, True
        if shown:
            self._err.write("\r\x1b[K")
            self._err.flush()

    # --- streams

    def _put(self, stream: TextIO, line: str) -> None:
        stream.write(line + "\n")

    def _err_width(self) -> int | None:
        return self.width if _is_terminal(self._err) else None

    def _wrapped(self, parts: Sequence[Part], indent: int, width: int | None, colour: bool) -> list[str]:
        """Wraps what the parts say; a style holds for the words it was given for."""
        plain = "".join(safe(_plain(part)) for part in parts)
        limit = None if width is None else min(width, MAX_PROSE_COLUMNS)
        rows = wrap(plain, limit, indent=indent)
        if len(rows) == 1 or not colour:
            return [self._joined(parts, colour)] if len(rows) == 1 else rows
        head = parts[0]
        if isinstance(head, Styled) and rows[0].startswith(safe(head.text)):
            rest = rows[0][len(safe(head.text)) :]
            rows[0] = self._styled(safe(head.text), head, colour) + rest
        return rows

    def _joined(self, parts: Sequence[Part], colour: bool) -> str:
        return "".join(self._styled(safe(_plain(part)), part, colour) for part in parts)

    def _styled(self, text: str, part: Part, colour: bool) -> str:
        if not colour or not isinstance(part, Styled) or not text:
            return text
        return f"\x1b[{_CODES[part.style]}m{text}\x1b[0m"


def _pager(environ: dict[str, str]) -> str | None:
    chosen = environ.get("CHRONO_PAGER")
    if chosen is None:
        chosen = environ.get("PAGER", "less")
    return chosen if chosen.strip() not in ("", "cat") and environ.get("TERM") != "dumb" else None


def _started(command: str, environ: dict[str, str]) -> subprocess.Popen[bytes] | None:
    """The pager, None where it cannot be started: the result is printed as it is then."""
    import shlex
    import subprocess

    try:
        # -F: leave at once where it fits the screen; -R: colours; -X: leave the text on the screen.
        return subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, env={"LESS": "FRX", **environ})
    except (OSError, ValueError):
        return None


def _plain(part: Part) -> str:
    return part.text if isinstance(part, Styled) else part


def _patch_style(row: str) -> str | None:
    if row.startswith(("diff ", "--- ", "+++ ", "index ", "old mode", "new mode", "deleted file", "new file")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(row[:1])


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _width(out: TextIO, environ: dict[str, str]) -> int | None:
    if not _is_terminal(out):
        return None
    given = environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return max(int(given), 20)
    try:
        return max(os.get_terminal_size(out.fileno()).columns, 20)
    except (OSError, ValueError):
        return 80


def _answer(source: TextIO, wait_s: float) -> str | None:
    """One line from `source`, None at its end or after `wait_s` seconds."""
    if os.name != "nt":
        import select

        waiting = select.poll()  # select() knows no descriptor above 1023
        try:
            waiting.register(source, select.POLLIN | select.POLLHUP)
            if not waiting.poll(wait_s * 1000):
                return None
        except (OSError, ValueError):
            return None
    return source.readline() or None
