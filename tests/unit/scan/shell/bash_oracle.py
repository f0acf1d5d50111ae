"""Owns asking a real shell which programs a text starts: every program on PATH is a stub that writes down its words.

A text for it must name programs by their bare names only: PATH holds nothing but stubs, the folder is a temporary one.
Stubs of programs that start or feed others (env, xargs, find, sh, …) run the real one after they have logged.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from tests.waiting import LONG_S

LOGGED_ONLY = (
    "rm", "git", "mv", "cp", "curl", "docker", "npm", "make", "ls", "chmod", "kubectl", "psql", "node", "foo", "bar",
    "touch", "grep", "tool", "x", "y",
)  # fmt: skip
LOGGED_AND_RUN = (
    "sh", "bash", "env", "xargs", "find", "cat", "base64", "rev", "tr", "cut", "head", "tail", "sort", "uniq", "tac",
    "sed", "seq", "timeout", "nice", "setsid", "nohup", "stdbuf", "tee", "dirname", "basename", "sleep", "expr",
)  # fmt: skip


class Oracle:
    """Stubs in a folder of their own; `argvs` asks."""

    def __init__(self, folder: str, asked: tuple[str, ...] = ("bash", "--norc", "--noprofile")) -> None:
        """`asked` is the shell that is asked, with options that keep its start-up files out."""
        self.folder = folder
        self.stubs = os.path.join(folder, "stubs")
        self.work = os.path.join(folder, "w")
        self.log = os.path.join(folder, "log")
        os.mkdir(self.stubs)
        os.mkdir(self.work)
        self.asked = (shutil.which(asked[0]) or "", *asked[1:])
        shell = shutil.which("sh") or ""
        for name in LOGGED_ONLY:
            self._stub(name, shell, None)
        for name in LOGGED_AND_RUN:
            real = shutil.which(name)
            if real:
                self._stub(name, shell, real)

    def _stub(self, name: str, shell: str, real: str | None) -> None:
        path = os.path.join(self.stubs, name)
        # One printf is one write, so that lines of programs that run at once stay whole.
        log = f'printf "%s\\0" "$#" "${{0##*/}}" "$@" >> "{self.log}"'
        end = f'exec "{real}" "$@"' if real else f'[ ! -e "{self.folder}/fail" ]'
        with open(path, "w") as file:
            file.write(f"#!{shell}\n{log}\n{end}\n")
        os.chmod(path, 0o755)

    def argvs(self, text: str) -> list[tuple[str, ...]]:
        """Every argv that was started, with all stubs succeeding and with all failing; each once, sorted."""
        found: set[tuple[str, ...]] = set()
        for fails in (False, True):
            found.update(self._run(text, fails))
        return sorted(found)

    def _run(self, text: str, fails: bool) -> list[tuple[str, ...]]:
        fail = os.path.join(self.folder, "fail")
        for path in (self.log, fail):
            if os.path.exists(path):
                os.unlink(path)
        if fails:
            with open(fail, "w"):
                pass
        shutil.rmtree(self.work)
        os.mkdir(self.work)
        environment = {"PATH": self.stubs, "HOME": "/home/u", "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [*self.asked, "-c", text],
            env=environment,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONG_S,
        )
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8", errors="surrogateescape") as file:
            return read_log(file.read())


def read_log(text: str) -> list[tuple[str, ...]]:
    """The argvs that stubs wrote down."""
    words = text.split("\0")[:-1]
    out = []
    at = 0
    while at < len(words):
        count = int(words[at]) + 1
        out.append(tuple(words[at + 1 : at + 1 + count]))
        at += 1 + count
    return out
