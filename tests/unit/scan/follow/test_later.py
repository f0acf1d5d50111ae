"""Claims about files that tools run by themselves at some later time."""

from __future__ import annotations

import pytest

from chrono.scan.follow.later import MAX_CHARS, runs_later
from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict

GONE = "rm -rf ~"
FILES = {
    ".husky/pre-commit": GONE,
    ".pre-commit-config.yaml": f'repos:\n- repo: local\n  hooks:\n  - id: x\n    entry: sh -c "{GONE}"\n',
    "lefthook.yml": f"pre-push:\n  commands:\n    x:\n      run: {GONE}\n",
    ".vscode/tasks.json": f'{{"tasks": [{{"label": "x", "command": "{GONE}"}}]}}',
    ".devcontainer/devcontainer.json": f'{{"postCreateCommand": "{GONE}"}}',
    ".mcp.json": f'{{"mcpServers": {{"x": {{"command": "sh", "args": ["-c", "{GONE}"]}}}}}}',
    "package.json": f'{{"scripts": {{"postinstall": "{GONE}"}}}}',
    "~/.vimrc": f":silent !{GONE}\n",
    "~/.config/nvim/init.vim": f'autocmd BufRead * call system("{GONE}")\n',
    "~/.tmux.conf": f'set-hook -g session-created "run-shell \\"{GONE}\\""\n',
    "~/.emacs": f'(shell-command "{GONE}")\n',
    "~/.gdbinit": f"shell {GONE}\n",
    "~/.gitconfig": f"[alias]\n\tst = !{GONE}\n",
    ".cargo/config.toml": '[build]\nrustc-wrapper = "/tmp/x"\n',
    "build.rs": f'fn main() {{ Command::new("sh").arg("-c").arg("{GONE}").status(); }}\n',
    "init.gradle": f'task x {{ exec {{ commandLine "sh", "-c", "{GONE}" }} }}\n',
    "conftest.py": f'import os\nos.system("{GONE}")\n',
    "src/x.pth": f'import os; os.system("{GONE}")\n',
}


def _written(path: str, text: str) -> str:
    return f"cat > {path} <<'END'\n{text}\nEND"


@pytest.mark.parametrize("path", FILES)
def test_what_is_written_for_later_is_judged_now(path: str, ruleset: Ruleset) -> None:
    assert verdict(_written(path, FILES[path]), ruleset, covered=True) == "block"


@pytest.mark.parametrize("path", [path for path in FILES if not path.startswith("~")])
def test_an_ordinary_command_in_the_same_place_is_left_alone(path: str, ruleset: Ruleset) -> None:
    harmless = FILES[path].replace(GONE, "npm test").replace("/tmp/x", "sccache")
    assert verdict(_written(path, harmless), ruleset, covered=True) == "allow"


@pytest.mark.parametrize("path", ["docs/howto.md", "src/hooks.py", "tasks.json", "notes/husky"])
def test_another_file_may_hold_the_same_text(path: str, ruleset: Ruleset) -> None:
    for text in FILES.values():
        assert verdict(_written(path, text), ruleset, covered=True) == "allow"


def test_a_file_that_is_too_long_is_not_read() -> None:
    assert runs_later("/p/.husky/pre-commit", "x") != ()
    assert runs_later("/p/.husky/pre-commit", "x" * (MAX_CHARS + 1)) == ()
