"""Owns `chrono git`: hooks in the user's own repository, what they answer, and which session made which commit.

Where hooks go is decided by `workspace.githooks`, what stands against a commit or push by `workspace.staged` and
`workspace.pushed`, who made a commit by `guard.commits`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here, workspace
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count, one_line
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.guard.commits import Made
    from chrono.workspace.githooks import HookChange, HooksPlan
    from chrono.workspace.staged import Trouble
    from chrono.workspace.usergit import UserRepo

_MANAGERS = {
    "git": "git's own folder",
    "folder": "a folder that core.hooksPath names",
    "global": "a folder for every repository (core.hooksPath)",
    "husky": "husky",
    "lefthook": "lefthook",
    "pre-commit": "pre-commit",
}


def run_install_hook(
    ctx: typer.Context,
    trailer: Annotated[bool, typer.Option("--trailer", help="Commits name their savepoint: Chrono-Savepoint.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also where core.hooksPath serves every repository.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before files of the project change.")] = False,
    json: Json = False,
) -> int:
    """Install git hooks.

    A hook that stands there already runs first, with the same arguments and input. Files that belong to the project
    (husky) change only if you agree. Where lefthook or pre-commit manage the hooks, the lines for their configuration
    are printed and nothing is written.
    """
    from chrono.workspace import githooks
    from chrono.workspace.config import ensure_home, home_layout
    from chrono.workspace.usergit import find

    screen = screen_of(ctx)
    repo = find(here(), screen.environ)
    plan = githooks.plan_install(repo, os.path.abspath(sys.executable), trailer=trailer, force=force)
    if plan.snippet is not None:
        return _print_snippet(screen, plan, json=json)
    if plan.shared and not yes and not _agrees(screen, plan):
        return 1
    home = home_layout(screen.environ)
    ensure_home(home)
    changed = plan.changes
    githooks.apply(plan)
    githooks.remember(home, repo)
    if changed:
        _note(screen, "guard.install", repo)
    if json:
        screen.value({"manager": plan.manager, "changed": [_change_json(one) for one in changed], "snippet": None})
        return 0
    screen.line(Styled("installed" if changed else "installed already", "green"), f"  {_folder_of(plan)}")
    for one in changed:
        screen.line(f"  {one.name}", "" if one.moved is None else f"   (after the one that was there: {one.moved[1]})")
    screen.note("which session made which commit: chrono git log")
    return 0


def run_uninstall(ctx: typer.Context, json: Json = False) -> None:
    """Take git hooks out.

    Only what chrono wrote goes; hooks that stood there before are back under their names.
    """
    from chrono.workspace import githooks
    from chrono.workspace.config import home_layout
    from chrono.workspace.usergit import find

    screen = screen_of(ctx)
    repo = find(here(), screen.environ)
    plan = githooks.plan_uninstall(repo)
    if plan.changes:
        _note(screen, "guard.uninstall", repo)
        githooks.apply(plan)
    home = home_layout(screen.environ)
    if repo.top in githooks.remembered(home):
        githooks.forget(home, repo)
    if json:
        screen.value({"changed": [_change_json(one) for one in plan.changes]})
        return
    for one in plan.changes:
        screen.line(Styled("removed", "green"), f"  {one.path}", "  (the former one is back)" if one.moved else "")
    if not plan.changes:
        screen.line("no hook of chrono's is here")


def run_status(ctx: typer.Context, json: Json = False) -> int:
    """Show git hooks.

    Leaves with 1 where chrono's hooks are not all there.
    """
    from chrono.layout import find_project
    from chrono.workspace import githooks
    from chrono.workspace.usergit import configured_hooks, find, setting

    screen = screen_of(ctx)
    repo = find(here(), screen.environ)
    states = githooks.states(repo)
    strict = setting(repo, "chrono.strict", screen.environ) == "true"
    others = configured_hooks(repo, screen.environ)
    layout = find_project(repo.top)
    complete = all(state.owner == "chrono" for state in states if state.name in githooks.HOOKS)
    if json:
        screen.value(
            {
                "installed": complete,
                "top": repo.top,
                "hooks_folder": repo.hooks,
                "manager": githooks.manager_of(repo),
                "strict": strict,
                "linked_worktree": repo.linked,
                "project": layout.root if layout is not None else None,
                "hooks": [
                    {"name": one.name, "path": one.path, "owner": one.owner, "chained": one.chained} for one in states
                ],
                "configured": [{"name": name, "event": event} for name, event in others],
            }
        )
        return 0 if complete else 1
    screen.line(f"hooks    {repo.hooks}  ({_MANAGERS[githooks.manager_of(repo)]})")
    words = {"chrono": Styled("chrono", "green"), "other": Styled("other", "yellow"), "nobody": Styled("-", "dim")}
    rows = [(one.name, words[one.owner], f"then {one.chained}" if one.chained else "") for one in states]
    screen.table(rows, indent=2)
    for name, event in others:
        screen.line(f"  git's configuration also runs hook.{name} at {event}")
    if layout is None:
        where = "this linked work tree" if repo.linked else "this repository"
        screen.warning(f"{where} is no chrono project: commits are checked, but tied to no savepoint (chrono init)")
    if strict:
        screen.line("strict: where chrono cannot check, the commit is refused")
    if not complete:
        screen.line(Styled("not installed", "yellow"), "   chrono git install-hook")
    return 0 if complete else 1


def run_log(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, metavar="N", help="At most so many; 0 for all.")] = 20,
    json: Json = False,
) -> None:
    """List git commits.

    Newest first, with the agent session and the tool call that made each one, and the savepoint of the files right
    after it. Told by the audit log, which the hook post-commit writes to.
    """
    from chrono.guard.commits import listed

    screen = screen_of(ctx)
    ws = workspace(screen)
    made = listed(ws, limit)
    if json:
        screen.value({"commits": [_made_json(one) for one in made]})
        return
    screen.table([_made_row(one) for one in made])
    if not made:
        screen.note("no git commit is recorded yet; the hooks do that: chrono git install-hook")


def run_hook(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="HOOK", help="Which hook git runs.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGUMENT]...", help="What git hands it.")] = None,
) -> int:
    """Answer one git hook.

    Leaves with 43 where the commit or push is refused.
    """
    from chrono.workspace.usergit import find

    screen = screen_of(ctx)
    run = _ANSWERS.get(name)
    if run is None:
        raise UsageError(f"chrono has no answer for the git hook '{name}'", f"it has for: {', '.join(_ANSWERS)}")
    return run(screen, find(here(), screen.environ), arguments or [])


run_hook.settings = {"ignore_unknown_options": True}  # type: ignore[attr-defined]


def _pre_commit(screen: Screen, repo: UserRepo, arguments: list[str]) -> int:
    return _look_at_staged(screen, repo, "take a file out: git restore --staged -- PATH")


def _pre_merge_commit(screen: Screen, repo: UserRepo, arguments: list[str]) -> int:
    """What a merge brings to this branch. Git leaves a refused one under way, for a person to end."""
    return _look_at_staged(screen, repo, "give the merge up: git merge --abort")


def _look_at_staged(screen: Screen, repo: UserRepo, instead: str) -> int:
    from chrono.workspace import staged

    changes = staged.changes(repo, screen.environ)
    found = staged.troubles(repo, changes, screen.environ)
    _warn_of_lost_hooks(screen, repo)
    closed = _gate(screen, repo, "git.script") == "block"
    refused = [one for one in found if one.kind != "script" or closed]
    for one in found:
        if one not in refused:
            screen.warning(f"{one.path}: {one.why}; nobody has run it yet")
    return _refuse(screen, "commit", refused, instead)


def _commit_message(screen: Screen, repo: UserRepo, arguments: list[str]) -> int:
    """Adds the trailers to the file that holds the message."""
    from chrono.audit.place import project_place
    from chrono.errors import NoWorkspace
    from chrono.guard.commits import author
    from chrono.guard.install import programs
    from chrono.workspace.history import newest
    from chrono.workspace.project import Workspace
    from chrono.workspace.usergit import ask, outside

    try:
        ws = Workspace.open(repo.top, screen.environ)
    except NoWorkspace:
        return 0
    saved = newest(ws)
    if saved is None or not arguments:
        return 0
    trailers = [f"Chrono-Savepoint: {saved}"]
    call = author(project_place(ws.layout), marked=screen.agent is not None, programs=programs(), pid=os.getppid())
    if call is not None:
        trailers.append(f"Chrono-Session: {call.client} {call.session or '-'}")
    options = [word for one in trailers for word in ("--trailer", one)]
    path = os.path.join(here(), arguments[0])
    where = outside(screen.environ)
    ask(["interpret-trailers", "--in-place", "--if-exists", "doNothing", *options, path], repo.top, where)
    return 0


def _post_commit(screen: Screen, repo: UserRepo, arguments: list[str]) -> int:
    from chrono.audit.place import project_place
    from chrono.errors import NoWorkspace
    from chrono.guard import commits
    from chrono.guard.install import programs
    from chrono.workspace.actors import actor
    from chrono.workspace.project import Workspace
    from chrono.workspace.usergit import ask

    try:
        ws = Workspace.open(repo.top, screen.environ)
    except NoWorkspace:
        return 0
    data = ask(["log", "-1", "--no-show-signature", "--format=%H%x00%T%x00%s"], repo.top, screen.environ)
    commit, tree, subject = os.fsdecode(data.rstrip(b"\n")).split("\0", 2)
    ref = _branch(repo, screen.environ)
    log = project_place(ws.layout)
    call = commits.author(log, marked=screen.agent is not None, programs=programs(), pid=os.getppid())
    commit_seen = commits.GitCommit(commit, tree, subject, ref)
    commits.record(ws, actor(screen.environ), call, commit_seen, mark=screen.agent)
    return 0


def _post_change(screen: Screen, repo: UserRepo, arguments: list[str]) -> int:
    """After `git switch`, `git checkout` and `git merge`: files may have gone, and with them an agent's hook."""
    _warn_of_lost_hooks(screen, repo)
    return 0


def _pre_push(screen: Screen, repo: UserRepo, arguments: list[str]) -> int:
    from chrono.workspace import pushed

    asked = pushed.updates(screen.payload() or b"")
    remote = arguments[0] if arguments else "the remote"
    gate = _gate(screen, repo, "git.push-force")
    refused = list(pushed.troubles(repo, asked, screen.environ))
    if gate != "allow" or screen.agent:
        from chrono.workspace.staged import Trouble

        why = "an agent must not" if gate == "allow" else "the policy says no (gates: git.push-force)"
        for one in pushed.overwriting(repo, asked, screen.environ):
            what = "delete it" if one.new is None else "throw away commits that it holds"
            refused.append(Trouble(f"{one.there} at {remote}", "force", f"this would {what}: {why}"))
    return _refuse(
        screen,
        "push",
        refused,
        "take it out of the commits first (git rebase -i); a secret that was pushed once is known",
    )


_ANSWERS = {
    "pre-commit": _pre_commit,
    "pre-merge-commit": _pre_merge_commit,
    "commit-msg": _commit_message,
    "post-commit": _post_commit,
    "post-checkout": _post_change,
    "post-merge": _post_change,
    "pre-push": _pre_push,
}


def _refuse(screen: Screen, what: str, refused: list[Trouble], instead: str) -> int:
    from chrono.workspace.githooks import BLOCKED

    if not refused:
        return 0
    for one in refused[:20]:
        screen.note(Styled("chrono: ", "red"), f"{one.path}: {one.why}")
    if len(refused) > 20:
        screen.note(f"chrono: and {count(len(refused) - 20, 'file')} more")
    screen.note(f"chrono: this {what} is refused")
    if any(one.kind != "force" for one in refused):
        screen.note(instead)
    if not screen.agent:
        screen.note(f"if you mean it: git {what} --no-verify")
    return BLOCKED


def _warn_of_lost_hooks(screen: Screen, repo: UserRepo) -> None:
    from chrono.guard.install import lost_hooks

    for lost in lost_hooks(repo.top, screen.environ):
        screen.warning(
            f"{lost.client} is NOT guarded here any more: {lost.path} lost chrono's hook "
            "(a git switch, or another program). Put it back: chrono guard install " + lost.client
        )


def _gate(screen: Screen, repo: UserRepo, action: str) -> str:
    from chrono.layout import find_project
    from chrono.policy.roles import gate
    from chrono.workspace.config import effective_policy, home_layout

    return gate(effective_policy(find_project(repo.top), home_layout(screen.environ)), action)


def _branch(repo: UserRepo, environ: dict[str, str]) -> str | None:
    from chrono.workspace.usergit import NoGit, ask

    try:
        return os.fsdecode(ask(["symbolic-ref", "-q", "HEAD"], repo.top, environ).strip()) or None
    except NoGit:
        return None


def _note(screen: Screen, ev: str, repo: UserRepo) -> None:
    """Into the project's own log, where there is a project of this home's."""
    from chrono.audit.record import Act, Entry
    from chrono.errors import NoWorkspace
    from chrono.workspace.actors import actor
    from chrono.workspace.project import CLI_WAIT_S, Workspace

    try:
        ws = Workspace.open(repo.top, screen.environ)
    except NoWorkspace:
        return
    if ws.standing().own:
        act = Act(more=(("client", "git"), ("path", repo.hooks)))
        ws.log.append(Entry(ev, actor(screen.environ), act), timeout_s=CLI_WAIT_S)


def _agrees(screen: Screen, plan: HooksPlan) -> bool:
    """Shows what would change in files that others get, too; whether a person wants that."""
    import difflib

    for one in plan.changes:
        if one.shared:
            before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (one.before, one.after))
            name = os.path.relpath(one.path, plan.repo.top)
            screen.patch("\n".join(difflib.unified_diff(before, after, name, name, lineterm="")))
    return screen.agrees(
        "These files are part of the project: others get the change, too. Change them?",
        yes=False,
        why="these files belong to the project, and nobody is there to be asked",
    )


def _print_snippet(screen: Screen, plan: HooksPlan, *, json: bool) -> int:
    assert plan.snippet is not None
    file, text = plan.snippet
    if json:
        screen.value({"manager": plan.manager, "changed": [], "snippet": {"file": file, "text": text}})
        return 1
    screen.note(f"{plan.manager} manages the hooks here; nothing was written. Add this to {file}:")
    screen.block(text)
    return 1


def _folder_of(plan: HooksPlan) -> str:
    return os.path.dirname(plan.files[0].path)


def _made_row(one: Made) -> tuple[Styled | str, ...]:
    who = f"{one.agent} {one.session or '?'}" if one.agent else one.user or "a person"
    if one.mark and not one.agent:
        who = f"an agent ({one.mark})"
    saved = one.savepoint[:10] if one.savepoint else "-"
    when = one.at[:16].replace("T", " ")
    return (Styled(one.commit[:10], "yellow"), when, who, saved, one_line(one.subject))


def _made_json(one: Made) -> dict[str, shapes.Json]:
    return {**one._asdict()}


def _change_json(one: HookChange) -> dict[str, shapes.Json]:
    return {"hook": one.name, "path": one.path, "chained": one.moved[1] if one.moved is not None else None}
