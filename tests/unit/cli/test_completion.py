"""Claims about completing words: in a real bash, and in zsh and fish where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.cli.app import VERBS, build
from chrono.cli.completion import SHELLS, script, tree_of


def completed(folder: Path, *words: str) -> set[str]:
    """What bash offers for the last of `words` (the first is `chrono`)."""
    (folder / "chrono.bash").write_text(script("bash", tree_of(build())))
    line = " ".join(f"'{word}'" for word in words)
    text = (
        f"set -u; source chrono.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        "$(complete -p chrono | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' \"${COMPREPLY[@]:-}\""
    )
    done = subprocess.run(["bash", "--norc", "-c", text], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return {word for word in done.stdout.split("\n") if word}


def test_bash_offers_what_may_come_next(tmp_path: Path) -> None:
    assert completed(tmp_path, "chrono", "gua") == {"guard"}
    assert set(VERBS) <= completed(tmp_path, "chrono", "")
    assert completed(tmp_path, "chrono", "guard", "inst") == {"install"}
    assert {"--scope", "--all", "--json", "--help"} <= completed(tmp_path, "chrono", "guard", "install", "--")
    assert completed(tmp_path, "chrono", "--debug", "git", "install-hook", "--tr") == {"--trailer"}
    assert completed(tmp_path, "chrono", "scan", "no-such-word") == set()  # then bash offers files


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_its_shell_can_read(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script(shell, tree_of(build())))
    subprocess.run([shell, "-n", str(file)], check=True)
