"""Owns every path under `.chrono/` and CHRONO_HOME; nobody else spells one.

Reading the environment is left to `workspace.config`, `guard.boot` and `audit.keys`. Paths are `str` (bytes that are
not UTF-8 travel as surrogate escapes), because `pathlib` costs the hook more than the whole of this module.
"""

from __future__ import annotations

import errno
import os
import stat

from chrono.tuples import NamedTuple

PROJECT_DIR = ".chrono"
POLICY_FILE = "chrono-policy.yaml"
IGNORE_FILE = ".chronoignore"
FORMAT_VERSION = 1


class ProjectLayout(NamedTuple):
    """Paths of one project; `root` is the folder that holds `.chrono`."""

    root: str

    @property
    def dir(self) -> str:
        return os.path.join(self.root, PROJECT_DIR)

    @property
    def repo(self) -> str:
        return os.path.join(self.dir, "repo.git")

    @property
    def format(self) -> str:
        return os.path.join(self.dir, "format")

    @property
    def lock(self) -> str:
        return os.path.join(self.dir, "lock")

    @property
    def audit_log(self) -> str:
        return os.path.join(self.dir, "audit.jsonl")

    @property
    def audit_head(self) -> str:
        return os.path.join(self.dir, "audit.head")

    @property
    def transaction_lock(self) -> str:
        """Held by the program whose transaction is open; nobody else waits for it."""
        return os.path.join(self.dir, "transaction.lock")

    @property
    def audit_lock(self) -> str:
        return os.path.join(self.dir, "audit.lock")

    @property
    def audit_pub(self) -> str:
        return os.path.join(self.dir, "audit.pub")

    @property
    def stat_cache(self) -> str:
        return os.path.join(self.dir, "stat.cache")

    @property
    def tick(self) -> str:
        """Touched at scan start: its mtime is the file system's own clock (racy rule)."""
        return os.path.join(self.dir, "tick")

    @property
    def journal(self) -> str:
        return os.path.join(self.dir, "restore.journal")

    @property
    def clock_confirmed(self) -> str:
        """Number of the automatic savepoint up to which a person has confirmed the times (pruning)."""
        return os.path.join(self.dir, "clock.confirmed")

    @property
    def upkeep_lock(self) -> str:
        """Held by the one process that packs and prunes by itself."""
        return os.path.join(self.dir, "upkeep.lock")

    @property
    def upkeep_stamp(self) -> str:
        """Its mtime says when budget and retention were last looked at."""
        return os.path.join(self.dir, "upkeep")

    @property
    def stage(self) -> str:
        return os.path.join(self.dir, "stage")

    @property
    def worktrees(self) -> str:
        """One file for each folder that a savepoint was checked out into."""
        return os.path.join(self.dir, "worktrees")

    @property
    def git_pointer(self) -> str:
        """`.chrono/.git`: makes git take the folder for a nested repository and leave it alone."""
        return os.path.join(self.dir, ".git")

    @property
    def git_ignore(self) -> str:
        return os.path.join(self.dir, ".gitignore")

    @property
    def policy(self) -> str:
        return os.path.join(self.root, POLICY_FILE)

    @property
    def chronoignore(self) -> str:
        return os.path.join(self.root, IGNORE_FILE)


class HomeLayout(NamedTuple):
    """Paths of one CHRONO_HOME: keys, witness, trust, cache, run, machine log."""

    root: str

    @property
    def keys(self) -> str:
        return os.path.join(self.root, "keys")

    @property
    def audit_key(self) -> str:
        return os.path.join(self.keys, "audit.pem")

    def audit_key_of(self, kid: str) -> str:
        """A key that the home's own has replaced, kept for the logs that are still pinned to it."""
        return os.path.join(self.keys, f"{kid}.pem")

    @property
    def witness(self) -> str:
        return os.path.join(self.root, "witness")

    def witness_log(self, log_id: str) -> str:
        return os.path.join(self.witness, f"{log_id}.log")

    def witness_lock(self, log_id: str) -> str:
        return os.path.join(self.witness, f"{log_id}.lock")

    def external(self, log_id: str) -> str:
        """Checkpoints of one log that others, elsewhere, have seen and kept."""
        return os.path.join(self.witness, f"{log_id}.external")

    def verified(self, log_id: str) -> str:
        """How far one log was verified, signed."""
        return os.path.join(self.witness, f"{log_id}.verified")

    @property
    def reveal(self) -> str:
        """What was taken out of commands, where a person asked to keep it."""
        return os.path.join(self.root, "reveal")

    def revealed(self, commitment: str) -> str:
        return os.path.join(self.reveal, commitment)

    @property
    def trust(self) -> str:
        return os.path.join(self.root, "trust")

    def pin(self, log_id: str) -> str:
        """The pinned public key, path and inode of one log."""
        return os.path.join(self.trust, log_id)

    def trusted_policy(self, sha256: str) -> str:
        return os.path.join(self.trust, f"policy-{sha256}")

    def pinned_policy(self, log_id: str) -> str:
        """The policy and rule packs that one project was pinned to."""
        return os.path.join(self.trust, f"pinned-{log_id}")

    def pinned_rules(self, log_id: str) -> str:
        """What the rules said when one project was pinned: only to show what changed."""
        return os.path.join(self.trust, f"pinned-{log_id}.rules")

    def audit_index(self, log_id: str) -> str:
        """What makes searching one log fast; made again where it is missing."""
        return os.path.join(self.cache, f"audit-{log_id}.index")

    def seen_policy(self, log_id: str) -> str:
        """The policy that one log's newest decision was made under."""
        return os.path.join(self.cache, f"policy-{log_id}")

    def remotes(self, log_id: str) -> str:
        """The remotes of the project that has this log: outside of it, so that nothing there can redirect them."""
        return os.path.join(self.root, "remotes", log_id)

    @property
    def cache(self) -> str:
        return os.path.join(self.root, "cache")

    @property
    def run(self) -> str:
        return os.path.join(self.root, "run")

    @property
    def installs(self) -> str:
        """What stood in each client's settings file before chrono's hooks."""
        return os.path.join(self.root, "installs")

    @property
    def git_hooks(self) -> str:
        """The work trees whose git repositories got chrono's hooks."""
        return os.path.join(self.root, "git-hooks")

    @property
    def approvals(self) -> str:
        """What waits for a person's word, and the words given."""
        return os.path.join(self.root, "approvals")

    def approval_request(self, request_id: str) -> str:
        return os.path.join(self.approvals, f"{request_id}.request")

    def approval_grant(self, request_id: str) -> str:
        return os.path.join(self.approvals, f"{request_id}.grant")

    @property
    def team(self) -> str:
        """Who may approve, in which role, with which public key."""
        return os.path.join(self.root, "team.json")

    def approver_key(self, name: str) -> str:
        """The private key of one approver, where chrono keeps it: locked with a passphrase."""
        return os.path.join(self.keys, f"approver-{name}.pem")

    @property
    def machine(self) -> str:
        """Audit log of calls outside every project."""
        return os.path.join(self.root, "machine")

    @property
    def policy(self) -> str:
        return os.path.join(self.root, "policy.yaml")


def default_home(*, platform: str, user_home: str, xdg_state_home: str | None, local_app_data: str | None) -> str:
    """Where CHRONO_HOME is when the variable is not set.

    Never `~/.chrono`: a search upward for a project must not mistake the home for one.
    """
    if platform == "win32":
        return os.path.join(local_app_data or os.path.join(user_home, "AppData", "Local"), "chrono")
    if platform == "darwin":
        return os.path.join(user_home, "Library", "Application Support", "chrono")
    if xdg_state_home and os.path.isabs(xdg_state_home):
        return os.path.join(xdg_state_home, "chrono")
    return os.path.join(user_home, ".local", "state", "chrono")


def find_project(start: str) -> ProjectLayout | None:
    """The nearest folder at or above `start` (absolute) that holds `.chrono/repo.git`, or None."""
    folder = start
    while True:
        candidate = ProjectLayout(folder)
        if _is_project(candidate):
            return candidate
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _is_project(candidate: ProjectLayout) -> bool:
    """A `.chrono` that this user may not look into is somebody's project all the same, never none."""
    try:
        if not stat.S_ISDIR(os.lstat(candidate.dir).st_mode):
            return False
    except (OSError, ValueError):
        return False
    try:
        return stat.S_ISDIR(os.stat(candidate.repo).st_mode)
    except OSError as error:
        return error.errno == errno.EACCES
