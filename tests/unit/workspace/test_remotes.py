"""Claims about savepoints off the machine: a real bare git repository, two machines, and remotes that lie."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.audit.place import project_place
from chrono.audit.record import Actor
from chrono.audit.verify import read_records
from chrono.errors import AuditTampered, ChronoError, Denied, NoSuchSavepoint, RemoteError, UsageError
from chrono.ids import TreeId
from chrono.workspace import blame, branches, fetch, merging, push, remotes, rollback, segments
from chrono.workspace.clone import Cloned, clone
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify
from tests.waiting import LONG_S

from .session import Session


def git(folder: Path, *words: str, **more: str) -> str:
    """The plain git program, as a host or a stranger would use it."""
    environ = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "x",
        "GIT_AUTHOR_EMAIL": "x@x",
        "GIT_COMMITTER_NAME": "x",
        "GIT_COMMITTER_EMAIL": "x@x",
        **more,
    }
    done = subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=LONG_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "there.git"
    folder.mkdir()
    git(folder, "init", "-q", "--bare")
    return folder


@pytest.fixture
def linked(ws: Workspace, by: Actor, there: Path) -> Workspace:
    """The project, with the remote `origin`."""
    remotes.add(ws, "origin", str(there), by, start="/")
    return ws


@pytest.fixture
def other(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of another machine."""
    (tmp_path / "person2").mkdir()
    return {**environ, "HOME": str(tmp_path / "person2"), "CHRONO_HOME": str(tmp_path / "state2")}


Clone = Callable[..., Cloned]


@pytest.fixture
def cloned(there: Path, tmp_path: Path, other: dict[str, str], by: Actor) -> Clone:
    def run(name: str = "elsewhere", environ: dict[str, str] | None = None, **more: str) -> Cloned:
        return clone(str(there), str(tmp_path / name), environ or other, by, start="/", **more)

    return run


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    found: dict[str, tuple[int, bytes | str]] = {}
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".chrono"]
        for name in [*folders, *files]:
            path = Path(base, name)
            mode = path.lstat().st_mode
            content: bytes | str = b""
            if path.is_symlink():
                content = str(path.readlink())
            elif path.is_file():
                content = path.read_bytes()
            found[os.path.relpath(path, folder)] = (mode, content)
    return found


def test_a_project_comes_back_whole_on_another_machine(
    linked: Workspace, by: Actor, root: Path, cloned: Clone, other: dict[str, str]
) -> None:
    one = Session(linked, "s1")
    call = one.write("src/a.txt", "one\ntwo\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o750)
    (root / "link").symlink_to("README")
    (root / "empty").mkdir(0o700)
    (root / os.fsdecode(b"na\xefve")).write_bytes(os.urandom(9 << 20))
    save(linked, "manual", "rich", by)
    one.bash("spoil", (root / "README").unlink)
    rollback.apply(linked, rollback.plan(linked), by)
    one.write("last", "only in an automatic savepoint\n")
    one.bash("true")
    report = push.push(linked, None, by)
    assert report.branches == (("main", "new", ""),) and report.savepoints >= 2 and not report.refused
    done = cloned()
    assert tree(Path(done.root)) == tree(root)
    again = Workspace.open(done.root, other)
    old = {point.id for point in linked.store.history()}
    assert old <= {point.id for point in again.store.history()}
    assert verify(again, full=True).exit_code == 0
    lines = blame.blame(again, "src/a.txt").lines
    assert lines is not None and lines[1].cause.call is not None and lines[1].cause.call.tool_use == call
    assert done.logs[0].report.exit_code in (0, 22) and done.lost == 0
    git(Path(done.root, ".chrono", "repo.git"), "fsck", "--strict")


def test_work_goes_back_and_forth_and_both_logs_hold(
    linked: Workspace, by: Actor, root: Path, cloned: Clone, other: dict[str, str]
) -> None:
    push.push(linked, None, by)
    there = Workspace.open(cloned().root, other)
    Path(there.root, "theirs").write_text("theirs\n")
    theirs = save(there, "manual", "theirs", by).commit
    push.push(there, None, by)
    (root / "mine").write_text("mine\n")
    save(linked, "manual", "mine", by)
    report = push.push(linked, None, by)
    assert [(name, state) for name, state, _ in report.branches] == [("main", "refused")]
    got = fetch.fetch(linked, None, by)
    assert [(one.name, one.commit, one.state) for one in got.branches] == [("main", theirs, "moved")]
    assert [one.log for one in got.logs] == [there.log.log_id]
    assert linked.store.resolve("remotes/origin/heads/main") == theirs
    assert (root / "mine").exists() and not (root / "theirs").exists()
    merged = merging.merge(linked, "origin/main", by)
    assert merged is not None and (root / "theirs").exists() and (root / "mine").exists()
    assert verify(linked, full=True, strict=True).exit_code == 0
    assert push.push(linked, None, by).branches == (("main", "moved", ""),)
    assert fetch.fetch(linked, None, by).branches[0].state == "same"


def test_branches_merges_and_what_is_under_way_travel_too(
    linked: Workspace, by: Actor, root: Path, cloned: Clone, other: dict[str, str]
) -> None:
    branches.create(linked, "topic", by)
    branches.checkout(linked, "topic", by)
    (root / "README").write_text("topic\n")
    save(linked, "manual", "topic", by)
    branches.checkout(linked, "main", by)
    (root / "README").write_text("main\n")
    save(linked, "manual", "main", by)
    done = merging.merge(linked, "topic", by)
    assert done is not None and done.conflicts
    push.push(linked, None, by)
    again = Workspace.open(cloned().root, other)
    assert [name for name, _ in again.store.refs("refs/heads/")] == ["refs/heads/main", "refs/heads/topic"]
    (root / "README").write_text("both\n")
    merging.end(linked, by)
    push.push(linked, None, by)
    fetch.fetch(again, None, by)
    assert verify(again, full=True).exit_code == 0


def test_a_second_push_sends_only_what_is_new(linked: Workspace, by: Actor, root: Path, there: Path) -> None:
    Session(linked, "s1").write("src/a.txt", "x\n")
    push.push(linked, None, by)
    before = git(there, "rev-parse", f"refs/chrono/logs/{linked.log.log_id}/audit")
    (root / "src" / "a.txt").write_text("y\n")
    Session(linked, "s1").bash("true")
    report = push.push(linked, None, by)
    assert report.savepoints == 1 and report.branches[0][1] == "same"
    after = git(there, "rev-parse", f"refs/chrono/logs/{linked.log.log_id}/audit")
    assert git(there, "rev-parse", f"{after}^") == before
    git(there, "fsck", "--strict")


def test_credential_files_are_listed_and_stay_until_a_person_agrees(
    linked: Workspace, by: Actor, root: Path, there: Path
) -> None:
    (root / "conf").mkdir()
    (root / "conf" / ".env.production").write_text("KEY=1\n")
    (root / "server.pem").write_text("x")
    (root / ".env.example").write_text("KEY=\n")
    save(linked, "auto", "x", by)
    (root / "server.pem").unlink()
    save(linked, "manual", "it is gone, but an old savepoint has it", by)
    with pytest.raises(Denied) as error:
        push.push(linked, None, by)
    assert "conf/.env.production" in error.value.message and "server.pem" in error.value.message
    assert ".env.example" not in error.value.message and "--include-secrets" in (error.value.hint or "")
    assert git(there, "for-each-ref") == ""
    assert push.push(linked, None, by, include_secrets=True).secrets == ("conf/.env.production", "server.pem")
    (root / "README").write_text("changed\n")
    save(linked, "manual", "no new one", by)
    push.push(linked, None, by)
    (root / "id_rsa").write_text("x")
    save(linked, "manual", "a new one", by)
    with pytest.raises(Denied, match="id_rsa"):
        push.push(linked, None, by)


def test_a_password_is_in_no_record_and_in_no_answer(ws: Workspace, by: Actor) -> None:
    url = "http://me:hunter2-hunter2@127.0.0.1:9/a.git"
    made = remotes.add(ws, "origin", url, by, start="/")
    assert "hunter2" not in made.address.shown and remotes.get(ws, None).address.text == url
    with pytest.raises(RemoteError) as error:
        push.push(ws, None, by)
    assert "hunter2" not in error.value.message
    remotes.remove(ws, "origin", by)
    for base, _, files in os.walk(ws.layout.dir):
        for name in files:
            assert b"hunter2" not in Path(base, name).read_bytes()
    path = Path(ws.home.remotes(ws.log.log_id))
    assert path.stat().st_mode & 0o077 == 0


def test_what_is_in_the_project_does_not_steer_git(
    linked: Workspace, by: Actor, root: Path, there: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho $0 >> {trap}\n")
    script.chmod(0o755)
    repo = Path(linked.layout.repo)
    config = f"""
[core]
\thooksPath = {tmp_path}/hooks
\tsshCommand = {script}
\tfsmonitor = {script}
\talternateRefsCommand = {script}
[credential]
\thelper = {script}
[remote "there"]
\turl = ext::{script}
\treceivepack = {script}
\tuploadpack = {script}
[url "ext::{script} "]
\tinsteadOf = {there}
"""
    with open(repo / "config", "a") as file:
        file.write(config)
    (repo / "hooks").mkdir()
    (tmp_path / "hooks").mkdir()
    for hook in ("pre-push", "reference-transaction", "post-checkout", "pre-auto-gc"):
        shutil.copy(script, repo / "hooks" / hook)
        shutil.copy(script, tmp_path / "hooks" / hook)
    (root / ".gitconfig").write_text(config)
    (root / "git").write_text(f"#!/bin/sh\necho git >> {trap}\n")
    (root / "git").chmod(0o755)
    linked.environ = {**linked.environ, "PATH": f".:{linked.environ['PATH']}", "GIT_DIR": str(repo)}
    push.push(linked, None, by)
    fetch.fetch(linked, None, by)
    assert not trap.exists()


def test_borrowed_objects_are_not_sent(linked: Workspace, by: Actor, tmp_path: Path) -> None:
    (Path(linked.layout.repo) / "objects" / "info" / "alternates").write_text(f"{tmp_path}\n")
    with pytest.raises(ChronoError, match="alternates"):
        push.push(linked, None, by)


def test_a_repository_of_something_else_is_left_alone(
    linked: Workspace, by: Actor, there: Path, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "-q", "-b", "main")
    (code / "x").write_text("x")
    git(code, "add", "x")
    git(code, "commit", "-q", "-m", "x")
    git(code, "push", "-q", str(there), "main")
    before = git(there, "for-each-ref")
    with pytest.raises(RemoteError, match="no chrono project"):
        push.push(linked, None, by)
    assert git(there, "for-each-ref") == before


def test_another_projects_remote_is_left_alone(
    linked: Workspace, by: Actor, there: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    push.push(linked, None, by)
    (tmp_path / "second").mkdir()
    second = initialise(str(tmp_path / "second"), environ, by).ws
    remotes.add(second, "origin", str(there), by, start="/")
    for verb in (push.push, fetch.fetch):
        with pytest.raises(RemoteError, match="another project"):
            verb(second, None, by)


def rewrite(there: Path, log: str, change: Callable[[bytes], bytes]) -> None:
    """A host that changes the log that it keeps."""
    ref = f"refs/chrono/logs/{log}/audit"
    chunk = git(there, "rev-parse", f"{ref}:log.00000000")
    raw = subprocess.run(["git", "cat-file", "blob", chunk], cwd=there, capture_output=True, check=True).stdout
    made = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=there, input=change(raw), capture_output=True, check=True
    ).stdout.decode()
    rows = git(there, "ls-tree", ref).replace(chunk, made.strip())
    tree_id = subprocess.run(
        ["git", "mktree"], cwd=there, input=rows.encode(), capture_output=True, check=True
    ).stdout.decode()
    git(there, "update-ref", ref, git(there, "commit-tree", "-m", "x", tree_id.strip()))


LIES: dict[str, Callable[[bytes], bytes]] = {
    "a word": lambda data: data.replace(b'"genesis"', b'"genesys"', 1),
    "a record less": lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
    "a record twice": lambda data: data + data.splitlines(keepends=True)[-1],
    "nothing": lambda data: b"",
}


@pytest.mark.parametrize(
    "lie", [lie if lie == "a record less" else pytest.param(lie, marks=pytest.mark.slow) for lie in LIES]
)
def test_a_host_that_changes_the_log_is_caught_and_nothing_is_kept(
    linked: Workspace, by: Actor, there: Path, cloned: Clone, other: dict[str, str], tmp_path: Path, lie: str
) -> None:
    Session(linked, "s1").write("src/a.txt", "x\n")
    Session(linked, "s1").bash("true")
    push.push(linked, None, by)
    mine = Workspace.open(cloned("first").root, other)
    save(mine, "manual", "x", by)
    rewrite(there, linked.log.log_id, LIES[lie])
    with pytest.raises(ChronoError):
        cloned("second")
    assert not (tmp_path / "second").exists()
    before = mine.store.exchange.refs()
    with pytest.raises(ChronoError):
        fetch.fetch(mine, None, by)
    assert mine.store.exchange.refs() == before and verify(mine).exit_code == 0
    assert not [name for name in os.listdir(mine.layout.dir) if name.startswith("exchange")]


def test_a_host_that_keeps_another_past_of_this_log_is_caught(linked: Workspace, by: Actor, there: Path) -> None:
    push.push(linked, None, by)
    rewrite(there, linked.log.log_id, LIES["a word"])
    for verb in (push.push, fetch.fetch):
        with pytest.raises(AuditTampered, match="other records"):
            verb(linked, None, by)


def test_a_savepoint_that_no_log_records_is_refused(
    linked: Workspace, by: Actor, there: Path, cloned: Clone, tmp_path: Path
) -> None:
    push.push(linked, None, by)
    forged = git(there, "commit-tree", "-p", "main", "-m", "slipped in", git(there, "rev-parse", "main^{tree}"))
    git(there, "update-ref", "refs/heads/main", forged)
    with pytest.raises(RemoteError, match="no audit log"):
        fetch.fetch(linked, None, by)
    with pytest.raises(RemoteError, match="no audit log"):
        cloned()
    assert not (tmp_path / "elsewhere").exists()


def test_a_key_that_changed_since_the_first_contact_is_refused(
    linked: Workspace, by: Actor, there: Path, cloned: Clone, other: dict[str, str], environ: dict[str, str], root: Path
) -> None:
    push.push(linked, None, by)
    mine = Workspace.open(cloned().root, other)
    remote = remotes.get(mine, None)
    (log, key), *_ = remote.keys
    remotes.keep(mine, remote._replace(keys=((log, key[:-6] + "AAAAA="),)))
    with pytest.raises(AuditTampered, match="another key"):
        fetch.fetch(mine, None, by)


def test_the_key_can_be_named_beforehand(linked: Workspace, by: Actor, cloned: Clone, tmp_path: Path) -> None:
    push.push(linked, None, by)
    with pytest.raises(UsageError, match="signed by key"):
        cloned("second", key="0123456789abcdef")
    assert not (tmp_path / "second").exists()
    kid = cloned("first").logs[0].key
    assert kid is not None and cloned("third", key=kid.kid[:12]).root == str(tmp_path / "third")


def test_a_machine_that_lost_its_project_learns_what_was_never_pushed(
    linked: Workspace, by: Actor, environ: dict[str, str], root: Path, cloned: Clone
) -> None:
    push.push(linked, None, by)
    (root / "README").write_text("never pushed\n")
    save(linked, "manual", "x", by)
    linked.close()
    shutil.rmtree(root)
    done = cloned("back", environ)
    assert done.lost == 2  # the push's own record and the savepoint's
    assert verify(Workspace.open(done.root, environ)).exit_code == 0


def test_a_project_that_was_deleted_comes_back_to_its_own_place(
    linked: Workspace, by: Actor, environ: dict[str, str], root: Path, cloned: Clone
) -> None:
    push.push(linked, None, by)
    old = linked.log.log_id
    linked.close()
    shutil.rmtree(root)
    done = cloned(root.name, environ)
    assert done.root == str(root)
    again = Workspace.open(str(root), environ)
    first = next(iter(read_records(project_place(again.layout))))
    origin = first.act["forked_from"] if first is not None else None
    assert isinstance(origin, dict) and origin["log"] == old and origin["note"]
    (root / "README").write_text("on it goes\n")
    save(again, "manual", "x", by)
    assert push.push(again, None, by).branches == (("main", "moved", ""),)
    assert verify(again, full=True, strict=True).exit_code == 0


def test_an_unsigned_log_comes_back_too(
    tmp_path: Path, environ: dict[str, str], by: Actor, root: Path, there: Path, cloned: Clone
) -> None:
    environ["CHRONO_AUDIT_UNSIGNED"] = "1"
    ws = initialise(str(root), environ, by).ws
    remotes.add(ws, "origin", str(there), by, start="/")
    push.push(ws, None, by)
    assert cloned().logs[0].key is None


@pytest.mark.slow
def test_deep_history_and_many_savepoints_travel(linked: Workspace, by: Actor, root: Path, cloned: Clone) -> None:
    one = Session(linked, "s1")
    for number in range(30):
        one.write("src/a.txt", f"{number}\n" * 40)
    one.bash("true")
    assert push.push(linked, None, by).savepoints >= 29
    assert cloned().savepoints >= 30


def test_a_clone_that_cannot_be_leaves_nothing(tmp_path: Path, cloned: Clone, there: Path) -> None:
    with pytest.raises(RemoteError, match="no chrono project"):
        cloned()
    (tmp_path / "kept").mkdir()
    with pytest.raises(RemoteError):
        cloned("kept")
    assert not (tmp_path / "elsewhere").exists() and list((tmp_path / "kept").iterdir()) == []
    (tmp_path / "kept" / "x").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        cloned("kept")


def test_names_and_places_that_are_not_fit_are_refused(ws: Workspace, by: Actor, root: Path) -> None:
    for name in ("", "-x", "a/b", "a..b", "x.lock", "a b"):
        with pytest.raises(UsageError):
            remotes.add(ws, name, "/srv/a", by, start="/")
    with pytest.raises(UsageError, match="inside the project"):
        remotes.add(ws, "origin", "./backup.git", by, start=str(root))
    with pytest.raises(UsageError, match="inside the project"):
        remotes.add(ws, "origin", f"file://{root}/backup.git", by, start="/")
    with pytest.raises(UsageError, match="no remote") as error:
        remotes.get(ws, None)
    assert "chrono remote add" in (error.value.hint or "")
    remotes.add(ws, "origin", "/srv/a", by, start="/")
    with pytest.raises(UsageError, match="already"):
        remotes.add(ws, "origin", "/srv/b", by, start="/")


def test_verbs_of_remotes_are_in_the_log(linked: Workspace, by: Actor, there: Path) -> None:
    push.push(linked, None, by)
    fetch.fetch(linked, None, by)
    remotes.remove(linked, "origin", by)
    told = [one for one in read_records(project_place(linked.layout)) if one and one.ev.startswith("remote.")]
    assert [(one.ev, one.act["phase"]) for one in told] == [
        ("remote.push", "add"),
        ("remote.push", "end"),
        ("remote.fetch", "end"),
        ("remote.push", "remove"),
    ]
    assert {one.act["url"] for one in told} == {str(there)}
    with pytest.raises(NoSuchSavepoint):
        linked.store.resolve("remotes/origin/heads/main")


def test_a_killed_exchange_is_swept(linked: Workspace, by: Actor) -> None:
    left = Path(linked.layout.dir, f"exchange.tmp-{2**22 + 5}-00112233")
    left.mkdir()
    (left / "HEAD").write_text("x")
    push.push(linked, None, by)
    assert not left.exists()


def test_a_host_that_checks_objects_refuses_with_an_explanation(
    linked: Workspace, by: Actor, root: Path, there: Path
) -> None:
    git(there, "config", "receive.fsckObjects", "true")
    (root / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = -evil\n')
    save(linked, "manual", "odd", by)
    with pytest.raises(RemoteError) as error:
        push.push(linked, None, by)
    assert "fsckObjects" in (error.value.hint or ""), error.value


def test_what_a_remote_has_of_the_log_counts_in_every_later_verification(linked: Workspace, by: Actor) -> None:
    push.push(linked, None, by)
    report = verify(linked)
    assert report.exit_code == 0
    assert "remote: W4" in report.integrity
    (level,) = [level for level in report.levels if level.name == "W4"]
    assert level.state == "checked"
    path = project_place(linked.layout).log
    data = Path(path).read_bytes()
    Path(path).write_bytes(data.replace(b'"genesis"', b'"heartbeat"'))
    assert {"external"} <= {finding.code for finding in verify(linked).findings}
    Path(path).write_bytes(b"".join(data.splitlines(keepends=True)[:1]))
    assert any("origin saw" in finding.text for finding in verify(linked).findings)


def test_the_log_travels_whole_from_several_files_and_after_pruning(
    linked: Workspace, by: Actor, root: Path, cloned: Clone
) -> None:
    segments.close(linked, by)
    segments.pack(linked)
    assert push.push(linked, None, by).records == verify(linked).size - 1
    segments.prune(linked, segments.plan_prune(linked, "9999-01-01T00:00:00.000000Z"), by)
    (root / "README").write_text("after\n")
    save(linked, "manual", "x", by)
    push.push(linked, None, by)
    fetch.fetch(linked, None, by)
    assert verify(linked, full=True, strict=True).exit_code == 0
    assert cloned("kept").logs


def test_a_remote_that_never_had_what_was_pruned_is_refused(linked: Workspace, by: Actor) -> None:
    segments.close(linked, by)
    segments.prune(linked, segments.plan_prune(linked, "9999-01-01T00:00:00.000000Z"), by)
    with pytest.raises(RemoteError, match="pruned"):
        push.push(linked, None, by)


def test_the_log_on_the_remote_is_moved_on_and_never_rewritten(linked: Workspace, by: Actor, there: Path) -> None:
    """Whoever moved it between our look and our push keeps what they wrote."""
    push.push(linked, None, by)
    ref = f"refs/chrono/logs/{linked.log.log_id}/audit"
    git = ["git", "-C", str(there)]
    tree = subprocess.run([*git, "rev-parse", f"{ref}^{{tree}}"], capture_output=True, text=True, check=True).stdout
    made = [*git, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "theirs", "-p", ref, tree.strip()]
    theirs = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    exchange = linked.store.exchange
    with exchange.connect(remotes.get(linked, None).address, linked.environ, push.redact, person=False) as connection:
        old = connection.listed()[ref]
        mine = exchange.write_files({"mine": b"x"}, [old], "mine", 1)
        subprocess.run([*git, "update-ref", ref, theirs], check=True)
        (done,) = connection.push({ref: mine}, forced=ref.removesuffix("audit"), grown=ref)
    assert done.state == "refused"
    now = subprocess.run([*git, "rev-parse", ref], capture_output=True, text=True, check=True).stdout.strip()
    assert now == theirs


def test_a_savepoint_made_to_fill_a_disk_is_refused(
    linked: Workspace, by: Actor, cloned: Clone, tmp_path: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One subtree named twice in each of 40 folders: a few kilobytes to send, 2**40 files to write."""
    repo = Path(linked.layout.repo)
    blob = git(repo, "hash-object", "-w", "HEAD")
    top = _mktree(repo, f"100644 blob {blob}\ta\n")
    for _ in range(40):
        top = _mktree(repo, f"040000 tree {top}\ta\n040000 tree {top}\tb\n")
    with monkeypatch.context() as forged:
        taken = linked.store.capture
        forged.setattr(linked.store, "capture", lambda **more: taken(**more)._replace(tree=TreeId(top)))
        forged.setattr(linked.store, "remember", lambda *_: None)
        save(linked, "manual", "bomb", by)
    push.push(linked, None, by)
    with pytest.raises(RemoteError, match="over and over"):
        cloned()
    assert not (tmp_path / "elsewhere").exists()


def _mktree(repo: Path, rows: str) -> str:
    done = subprocess.run(["git", "mktree"], cwd=repo, input=rows, capture_output=True, text=True, check=True)
    return done.stdout.strip()
