"""Owns the table of commands: names, summaries, and where each one is. A verb's module is loaded when it is used.

What a verb does is in `cli.commands`; errors become exit codes in `cli.main`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from chrono.cli.forgotten import VerbCommand
from chrono.cli.gates import gated
from chrono.tuples import NamedTuple


class Verb(NamedTuple):
    """One command. `module` is under `chrono.cli.commands` and has a function `run`, or `run_<sub>` for each of
    `subs` (name, summary); `default` is the sub that runs where none is named."""

    name: str
    summary: str
    module: str
    subs: tuple[tuple[str, str], ...] = ()
    default: str | None = None


SECTIONS: tuple[tuple[str, tuple[Verb, ...]], ...] = (
    (
        "Set up",
        (
            Verb("init", "Make this folder a project and take its first savepoint.", "init"),
            Verb(
                "guard",
                "Put the guard into an agent client, take it out, or test it.",
                "guard",
                (
                    ("install", "Install the hook into the agent client's settings, and test it."),
                    ("status", "Fire the installed hook and say what the client would do."),
                    ("uninstall", "Remove the hook; the settings are as they were before."),
                    ("hook", "Answer one hook call on standard input; clients run this, people do not."),
                ),
            ),
            Verb(
                "git",
                "Tie git commits to savepoints; keep secrets out of them.",
                "git",
                (
                    ("install-hook", "Put chrono's hooks into the git repository here."),
                    ("uninstall", "Take them out; hooks that stood there before come back."),
                    ("status", "Say which git hooks there are, and whose they are."),
                    ("log", "List git commits with the agent session that made each."),
                    ("hook", "Answer one git hook; git runs this, people do not."),
                ),
                default="status",
            ),
            Verb("mcp", "Serve this project's tools to an agent (MCP).", "mcp"),
            Verb("doctor", "Say what protects you here, and what to do about each gap.", "doctor"),
            Verb("completion", "Print a script that completes chrono's words in your shell.", "completion"),
            Verb("uninstall", "Remove every installed hook; --purge: savepoints, too.", "uninstall"),
        ),
    ),
    (
        "Save and go back",
        (
            Verb("run", "Run a command with a savepoint before it and a way back.", "run"),
            Verb("snapshot", "Take a savepoint of the project.", "snapshot"),
            Verb("status", "Say what changed since the newest savepoint.", "status"),
            Verb("log", "List savepoints, newest first.", "log"),
            Verb("show", "Show one savepoint and what it changed.", "show"),
            Verb("diff", "Show what differs between savepoints, or to the files now.", "diff"),
            Verb("rollback", "Bring files back as they were at a savepoint.", "rollback"),
            Verb("undo", "Take back the last rollback, checkout, merge or branch.", "undo"),
            Verb("redo", "Take back the last undo.", "redo"),
            Verb(
                "op",
                "List what moved files or branches.",
                "op",
                (("log", "List operations, newest first."),),
                default="log",
            ),
            Verb("branch", "List, make or delete branches.", "branch"),
            Verb("checkout", "Switch to another branch, with all files.", "checkout"),
            Verb("merge", "Bring another branch's work into this one.", "merge"),
            Verb("prune", "Remove old automatic savepoints.", "prune"),
            Verb("stats", "Say what the savepoints take, and what could go.", "stats"),
            Verb(
                "worktree",
                "Look at a savepoint in a folder of its own.",
                "worktree",
                (
                    ("add", "Check a savepoint out into a folder outside the project."),
                    ("list", "List the folders that savepoints were checked out into."),
                    ("remove", "Delete such a folder."),
                ),
                default="list",
            ),
        ),
    ),
    (
        "Off this machine",
        (
            Verb(
                "remote",
                "Say where savepoints are kept, too.",
                "remote",
                (
                    ("add", "Add a remote: any git repository, by ssh, https or path."),
                    ("list", "List remotes."),
                    ("remove", "Forget a remote; over there nothing changes."),
                ),
                default="list",
            ),
            Verb("push", "Send savepoints and audit log to a remote.", "push"),
            Verb("fetch", "Fetch what other machines pushed, and verify it.", "fetch"),
            Verb("clone", "Bring a project back from a remote.", "clone"),
        ),
    ),
    (
        "Find out",
        (
            Verb(
                "trace",
                "Look at what programs recorded, and take it elsewhere.",
                "trace",
                (
                    ("list", "List traces, newest first."),
                    ("show", "Show one trace: its spans and calls."),
                    ("export", "Write one trace as one file."),
                    ("import", "Take in a trace, from a file or a control plane."),
                    ("resend", "Send again what a control plane had refused."),
                    ("diff", "Show what two traces did differently."),
                ),
                default="list",
            ),
            Verb("replay", "Run a program answered from what was recorded.", "replay"),
            Verb(
                "bisect",
                "Find the tool call that broke something.",
                "bisect",
                (("run", "Find the first savepoint where a command fails."),),
            ),
            Verb("blame", "Say which tool call, or who, last wrote each line.", "blame"),
        ),
    ),
    (
        "Judge",
        (
            Verb("scan", "Say what the guard would decide about a command.", "scan"),
            Verb(
                "rules",
                "Show or test the rules, or begin a pack of your own.",
                "rules",
                (
                    ("list", "List all rules."),
                    ("show", "Show one rule."),
                    ("test", "Run the hits and misses that come with each rule pack."),
                    ("new", "Begin a rule pack of your own: a distribution with a test."),
                    ("schema", "Print the JSON schema of a pack's files, for editors."),
                ),
                default="list",
            ),
            Verb(
                "policy",
                "Show, check, trust or pin the policy that holds here.",
                "policy",
                (
                    ("show", "Show the policy that holds here."),
                    ("check", "Check the policy files."),
                    ("trust", "Let this project's policy file loosen, too, as it is now."),
                    ("untrust", "Take the trust back: the policy file only tightens again."),
                    ("pin", "Hold this project to the policy and rule packs that hold now."),
                    ("schema", "Print the JSON schema of the policy file, for editors."),
                ),
                default="show",
            ),
            Verb(
                "approvals",
                "Answer what agents ask for when nobody is at their client.",
                "approvals",
                (
                    ("list", "List what waits for a person."),
                    ("approve", "Allow exactly one call, once."),
                    ("deny", "Say no; the agent is told so."),
                    ("watch", "Follow what agents ask for, and answer it."),
                    ("enroll", "Enrol your key: approvals are signed with it."),
                ),
                default="list",
            ),
            Verb(
                "team",
                "Say who may approve, and in which role.",
                "team",
                (
                    ("list", "List the team."),
                    ("add", "Enrol somebody who may approve."),
                    ("remove", "Take somebody out of the team."),
                ),
                default="list",
            ),
        ),
    ),
    (
        "Prove",
        (
            Verb(
                "audit",
                "Show the audit log, or prove that nobody changed it.",
                "audit",
                (
                    ("show", "Show or verify the log; chrono audit alone does this."),
                    ("prove", "Prove one record to somebody who does not have the log."),
                    ("verify-proof", "Check a proof of one record."),
                    ("checkpoint", "Export the newest signed checkpoint."),
                    ("timestamp", "Have an authority date the newest checkpoint."),
                    ("export", "Export records for a spreadsheet or a SIEM."),
                    ("reveal", "Show what a command was before its secrets were taken out."),
                    ("erase", "Delete what was taken out of a command and kept."),
                    ("segments", "Show the files that a long log lies in; close or pack them."),
                    ("prune", "Take the text of old records away; what is left still verifies."),
                    ("witness-daemon", "Run the witness that another account keeps on this machine."),
                ),
                default="show",
            ),
            Verb(
                "service",
                "Look at or stop the process that makes the hook fast.",
                "service",
                (
                    ("status", "Say whether the service runs."),
                    ("stop", "Stop the service; the next hook call judges by itself."),
                    ("logs", "Show why the service came, left and sent somebody away."),
                ),
                default="status",
            ),
        ),
    ),
)

VERBS: dict[str, Verb] = {verb.name: verb for _, verbs in SECTIONS for verb in verbs}

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class VerbGroup(TyperGroup):
    """A group whose commands are built from their module when they are asked for."""

    def __init__(self, sections: tuple[tuple[str, tuple[Verb, ...]], ...], **attrs: Any) -> None:
        super().__init__(rich_markup_mode=None, context_settings=dict(_SETTINGS), **attrs)
        self._sections = sections
        # Names only: what the base class looks at for suggestions.
        self.commands = {verb.name: None for _, verbs in sections for verb in verbs}  # type: ignore[misc]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for _, verbs in self._sections:
            for verb in verbs:
                if verb.name == cmd_name:
                    return _built(verb)
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The sections of the table, without loading a single verb."""
        for title, verbs in self._sections:
            with formatter.section(title):
                formatter.write_dl([(verb.name, verb.summary) for verb in verbs])


class SubGroup(TyperGroup):
    """The subs of one verb; `default` runs where none is named."""

    def __init__(self, verb: Verb, **attrs: Any) -> None:
        module = importlib.import_module(f"chrono.cli.commands.{verb.module}")
        self._default, self._subs = verb.default, verb.subs
        super().__init__(
            name=verb.name,
            help=_group_help(verb),
            rich_markup_mode=None,
            context_settings=dict(_SETTINGS),
            commands={
                name: _command(f"{verb.name} {name}", summary, getattr(module, f"run_{name.replace('-', '_')}"))
                for name, summary in verb.subs
            },
            no_args_is_help=verb.default is None,
            **attrs,
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self._default is not None and (not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The summaries of the table in full; the base class would cut them."""
        with formatter.section("Commands"):
            formatter.write_dl(self._subs)


def _built(verb: Verb) -> Any:
    if verb.subs:
        return SubGroup(verb)
    module = importlib.import_module(f"chrono.cli.commands.{verb.module}")
    return _command(verb.name, verb.summary, module.run)


def _command(path: str, summary: str, run: Callable[..., int | None]) -> Any:
    """The command at `path`, "verb" or "verb sub"; what agents may not give is refused before it runs."""
    settings: dict[str, Any] = {**_SETTINGS, **getattr(run, "settings", {})}
    name = path.rpartition(" ")[2]
    callback = gated(path, run)
    info = CommandInfo(name, cls=VerbCommand, help=_help(run, summary), callback=callback, context_settings=settings)
    return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)


def _group_help(verb: Verb) -> str:
    """The summary of the table, and what the verb does by itself."""
    if verb.default is None:
        return verb.summary
    alone = f"`chrono {verb.name}` alone, or with an option, is `chrono {verb.name} {verb.default}`"
    return f"{verb.summary}\n\n{alone}, whose --help lists the options."


def _help(thing: object, summary: str) -> str:
    """The summary of the table, then what the docstring says after its first paragraph."""
    _, _, rest = (inspect.getdoc(thing) or "").partition("\n\n")
    return f"{summary}\n\n{rest}".strip()


def _version(ctx: typer.Context, value: bool) -> None:
    if value:
        from chrono import __version__

        ctx.obj.line(f"chrono {__version__}")
        raise typer.Exit


def _debug(ctx: typer.Context, value: bool) -> None:
    ctx.obj.traceback = ctx.obj.traceback or value


def build() -> TyperGroup:
    """The whole command line; its context wants a Screen as `obj`."""
    from typer.core import TyperOption

    return VerbGroup(
        SECTIONS,
        name="chrono",
        help=(
            "Stands between an AI coding agent and the machine: stops dangerous commands before they run, makes every "
            "change reversible, and proves what happened.\n\n"
            "Start with `chrono init`, then `chrono guard install`."
        ),
        epilog="chrono COMMAND --help says more. Every command that people type has --json.",
        no_args_is_help=True,
        params=[
            TyperOption(
                param_decls=["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=lambda ctx, param, value: _version(ctx, value),
                help="Print name and version.",
            ),
            TyperOption(
                param_decls=["--debug"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=lambda ctx, param, value: _debug(ctx, value),
                help="Print the traceback of an error in chrono itself.",
            ),
        ],
    )
