"""Owns what an adapter for an agent client must do, and the values that pass between it and the guard.

Which adapters are installed is left to `registry`, what some offer besides to `abilities`, editing of settings files to
`settings`, deciding to `guard`.
"""

from __future__ import annotations

from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

API_VERSION = 1

EVENTS = ("pre", "post", "fail", "session.start", "session.end", "other")
"""What a client reports: before a tool runs, after it ran, after it failed, and the two ends of a session."""

KINDS = ("shell", "write", "edit", "read", "mcp", "other")

SELF_TEST = "chrono-self-test"
"""The session of every `sample`: what has it was fired by chrono itself, not by a client."""

SUBFOLDER = "a client started in a subfolder does not read the project's settings"
WORKTREE = "a linked work tree has them only where they are committed"
OPEN_FAILURE = "where the hook is killed or outlasts its time, this client lets the call run"
"""What `gaps` says of many clients, in the same words."""


class Call(NamedTuple):
    """One event of a client, in chrono's own words. Text is as the client sent it: NULs and lone surrogates survive.

    - `event` one of EVENTS, `kind` one of KINDS ("other" also for events without a tool), `tool` the client's name.
    - `commands`: texts that a shell runs; `shell` is "bash" or "powershell". For kind "mcp" they are guesses.
    - `paths`: files that the tool names, as sent (relative ones are meant from `cwd`).
    - `changes`: the tool may change files of the project by itself.
    - `cwd`: absolute; "" where the client names no folder, and the one that the hook was started in counts.
    - `can_ask`: an `ask` reaches a person now; elsewhere `ask` must become a refusal.
    - `call_id` pairs a `post` with its `pre`; None where the client has no such id.
    - `server` the MCP server; `outcome` and `dur_ms` belong to `post` and `fail`.
    - `given`: SHA-256 of all that a tool which is no shell is given before it runs; without it a person cannot approve
      such a call, since nothing would say which one.
    """

    client: str
    event: str
    kind: str = "other"
    tool: str = ""
    commands: tuple[str, ...] = ()
    shell: str = "bash"
    paths: tuple[str, ...] = ()
    changes: bool = False
    cwd: str = ""
    session: str | None = None
    agent_id: str | None = None
    call_id: str | None = None
    mode: str | None = None
    can_ask: bool = False
    server: str | None = None
    outcome: str | None = None
    dur_ms: int | None = None
    given: str = ""


class Decision(NamedTuple):
    """What the guard answers: "allow", "ask" or "block", and why, for the model and for the person.

    `reason` is never empty for "ask" and "block"; for "allow" it is text worth telling although the call may run.
    `savepoint` is the commit that undoes the call, where one was taken or already stood.
    """

    decision: str
    reason: str = ""
    savepoint: str | None = None


class Reply(NamedTuple):
    """Bytes and exit status in the client's own protocol. `exit_code` is what the client must see."""

    stdout: bytes
    stderr: bytes
    exit_code: int


class Hook(NamedTuple):
    """One place in a settings file where a hook command stands. `pointer` is for people: `hooks.PreToolUse[0]`."""

    event: str
    pointer: str
    command: str
    closed: bool


class Inspection(NamedTuple):
    """What a client makes of a settings file. `problems` are reasons for which hooks would not run, for people."""

    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]


class PayloadRefused(ChronoError):
    """A payload that is not what this client sends: the guard blocks, since it cannot tell what would run."""


class SettingsRefused(ChronoError):
    """A settings file that cannot be changed safely; nothing was written."""


class AgentAdapter(Protocol):
    """What a member of the entry-point group `chrono.agents` offers. Nothing here prints, or writes to a disk.

    `api_version` must be API_VERSION. `name` is the entry point's name and the word in the installed command;
    `title` is for people.
    """

    @property
    def api_version(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...

    @property
    def programs(self) -> tuple[str, ...]:
        """The commands by which people start the client: where one is on PATH, the client is installed."""

    def gaps(self, scope: str) -> tuple[str, ...]:
        """What hooks of this scope do not guard, and what a person must do besides, for people."""

    def decode(self, payload: bytes) -> Call:
        """The event that the client wrote to the hook's standard input. Raises PayloadRefused."""

    def encode(self, decision: Decision, call: Call | None) -> Reply:
        """`decision` in the client's protocol. `call` None: the payload was not understood; a block must still block.

        "allow" says nothing at all: an explicit word would approve what the client itself might refuse.
        """

    def outcome(self, reply: Reply) -> str:
        """What the client does on `reply` before a tool runs: "runs", "asks" or "stops"."""

    def settings_path(self, scope: str, *, project: str, user_home: str) -> str:
        """The file that holds the hooks of `scope` ("project" or "user"), absolute."""

    def hook_command(self, interpreter: str, boot: str, settings_path: str) -> str:
        """The command line to install: absolute paths, a missing file or interpreter blocks like a refusal."""

    def installed(self, settings: bytes | None, command: str) -> bytes:
        """The settings file with the hooks of `command` in it; all else as it was. Raises SettingsRefused.

        Hooks of an earlier chrono are replaced. `settings` None: there is no file yet.
        """

    def uninstalled(self, settings: bytes) -> bytes | None:
        """The settings file without chrono's hooks; None where nothing else is left. Raises SettingsRefused."""

    def inspect(self, settings: bytes | None) -> Inspection:
        """chrono's hooks in the file and what keeps the client from running them. Never raises."""

    def sample(self, command: str, *, cwd: str) -> bytes:
        """What the client would send before its shell tool runs `command`, in session SELF_TEST: for the self-test."""
