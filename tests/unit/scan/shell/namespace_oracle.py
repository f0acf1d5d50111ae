"""Owns asking a real shell in a root of its own: user, mount, process and network namespaces, where every program is a
stub that writes down its words. Texts may use absolute paths and write where they like; nothing of it is the machine's.

Texts whose programs are bare names need none of this: `bash_oracle`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.unit.scan.shell.bash_oracle import LOGGED_AND_RUN, LOGGED_ONLY, read_log
from tests.waiting import LONG_S

_START = """
mount --bind /dev/null "$1/dev/null" && mount -t proc proc "$1/proc" && cd "$1" && shift &&
exec chroot . "$@"
"""
_NAMESPACES = ("--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--uts", "--ipc")


def why_not() -> str | None:
    """What keeps this machine from running the sandbox, in words for a skipped test; None where nothing does."""
    if not shutil.which("unshare") or not shutil.which("chroot"):
        return "there is no unshare or chroot here to make a sandbox with"
    asked = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, text=True, timeout=LONG_S)
    if asked.returncode != 0:
        return f"namespaces are not allowed here: {asked.stderr.strip()[:120]}"
    return None


class Sandbox:
    """A root folder with shells and stubs; `argvs` asks."""

    def __init__(self, root: str, shells: tuple[str, ...]) -> None:
        self.root = root
        for folder in ("bin", "real", "dev", "proc", "tmp", "w", "home/u", "log"):
            os.makedirs(os.path.join(root, folder))
        Path(root, "sbin").symlink_to("bin")
        os.mkdir(os.path.join(root, "usr"))
        for name in ("bin", "sbin"):
            Path(root, "usr", name).symlink_to("../bin")
        Path(root, "dev", "fd").symlink_to("/proc/self/fd")
        with open(os.path.join(root, "dev", "null"), "w"):
            pass
        self.shells = {name: self._install(name) for name in (*shells, "bash") if shutil.which(name)}
        for name in LOGGED_ONLY:
            self._stub(name, None)
        for name in LOGGED_AND_RUN:
            if shutil.which(name):
                self._stub(name, self._install(name))

    def _install(self, name: str) -> str:
        """Copies a program with the libraries it needs."""
        source = os.path.realpath(shutil.which(name) or name)
        target = os.path.join(self.root, "real", name)
        if not os.path.exists(target):
            shutil.copy(source, target)
            listed = subprocess.run(["ldd", source], capture_output=True, text=True, timeout=LONG_S).stdout
            for word in listed.split():
                if word.startswith("/"):
                    library = os.path.join(self.root, word.lstrip("/"))
                    if not os.path.exists(library):
                        os.makedirs(os.path.dirname(library), exist_ok=True)
                        shutil.copy(word, library)
        return f"/real/{name}"

    def _stub(self, name: str, real: str | None) -> None:
        path = os.path.join(self.root, "bin", name)
        log = 'printf "%s\\0" "$#" "${0##*/}" "$@" >> /log/log'
        end = f'exec {real} "$@"' if real else "[ ! -e /log/fail ]"
        with open(path, "w") as file:
            file.write(f"#!/real/bash\n{log}\n{end}\n")
        os.chmod(path, 0o755)

    def argvs(self, text: str, shell: str = "bash") -> list[tuple[str, ...]]:
        """Every argv that was started, programs by their bare names, with all stubs succeeding and with all failing."""
        found: set[tuple[str, ...]] = set()
        for fails in (False, True):
            found.update(self._run(text, shell, fails))
        return sorted(found)

    def _run(self, text: str, shell: str, fails: bool) -> list[tuple[str, ...]]:
        for folder in ("w", "log"):
            shutil.rmtree(os.path.join(self.root, folder))
            os.mkdir(os.path.join(self.root, folder))
        if fails:
            with open(os.path.join(self.root, "log", "fail"), "w"):
                pass
        options = ["--norc", "--noprofile"] if shell == "bash" else ["-f"] if shell == "zsh" else []
        subprocess.run(
            ["unshare", *_NAMESPACES, "sh", "-c", _START, "sh", self.root, self.shells[shell], *options, "-c", f"cd /w\n{text}"],
            env={"PATH": "/bin:/usr/bin:/usr/sbin:/sbin", "HOME": "/home/u", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONG_S,
        )  # fmt: skip
        try:
            with open(os.path.join(self.root, "log", "log"), encoding="utf-8", errors="surrogateescape") as file:
                return read_log(file.read())
        except FileNotFoundError:
            return []
