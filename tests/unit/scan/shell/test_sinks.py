"""Claims: shell text in an option, in a program's own script or in a variable is run; text that is only data is not."""

from __future__ import annotations

import pytest

from chrono.scan.dictworld import DictWorld
from chrono.scan.shell.evaluate import evaluate

WORLD = DictWorld({"/w": None}, cwd="/w", home="/home/u", user="u", environ={"HOME": "/home/u"})

RUNS = [
    ("git -c alias.x='!rm x' x", "git -c alias.x"),
    ("git -c core.pager='rm x' log", "git -c core.pager"),
    ("git -c core.sshCommand='rm x' fetch", "git -c core.sshCommand"),
    ("git -C d -c credential.helper='!rm x' pull", "git -c credential.helper"),
    ("git rebase -i HEAD~3 --exec 'rm x'", "git rebase --exec"),
    ("git rebase -x 'rm x' main", "git rebase -x"),
    ("git bisect run rm x", "git bisect run"),
    ("git submodule foreach 'rm x'", "git submodule foreach"),
    ("git filter-branch --tree-filter 'rm x' HEAD", "git filter-branch --tree-filter"),
    ("git clone 'ext::rm x' d", "git clone ext::"),
    ("git clone -u 'rm x' h:r", "git clone -u"),
    ("GIT_SSH_COMMAND='rm x' git fetch", "GIT_SSH_COMMAND"),
    ("PAGER='rm x' man ls", "PAGER"),
    ("LESSOPEN='|rm x' less f", "LESSOPEN"),
    ("tar cf a.tar --checkpoint=1 --checkpoint-action=exec='rm x' .", "tar --checkpoint-action"),
    ("tar -I 'rm x' -xf a", "tar -I"),
    ("tar xf a --to-command='rm x'", "tar --to-command"),
    ("rsync -e 'rm x' a b", "rsync -e"),
    ("split --filter='rm x' f", "split --filter"),
    ("awk 'BEGIN{system(\"rm x\")}'", "awk system"),
    ("awk '{print $1 | \"rm x\"}' f", "awk |"),
    ("awk 'BEGIN { \"rm x\" | getline }'", "awk |"),
    ("sed '1e rm x' f", "sed e"),
    ("vim -c ':!rm x' -c q", "vim !"),
    ("vim +'!rm x' f", "vim !"),
    ("vim -es -c 'call system(\"rm x\")'", "vim system"),
    ("emacs --batch --eval '(shell-command \"rm x\")'", "emacs system"),
    ("osascript -e 'do shell script \"rm x\"'", "osascript"),
    ("psql -c '\\! rm x'", "psql shell"),
    ("psql <<< '\\! rm x'", "psql shell"),
    ("sqlite3 db '.shell rm x'", "sqlite3 shell"),
    ("echo 'rm x' | at now", "at"),
    ("crontab - <<< '@daily rm x'", "crontab"),
    ("(crontab -l; echo '* * * * * rm x') | crontab -", "crontab"),
    ("socat EXEC:'rm x' -", "socat EXEC"),
    ("nc -e 'rm x' h 1", "nc -e"),
    ("npx -c 'rm x'", "npx -c"),
    ("nodemon --exec 'rm x'", "nodemon --exec"),
    ("concurrently 'npm test' 'rm x'", "concurrently"),
    ("ansible all -m shell -a 'rm x'", "ansible"),
    ("ip netns exec n rm x", "ip netns exec"),
    ("vagrant ssh -c 'rm x'", "vagrant ssh"),
    ("gdb -ex 'shell rm x' p", "gdb shell"),
    ("expect -c 'spawn rm x'", "expect"),
    ("xterm -e rm x", "xterm -e"),
    ("lxc exec c -- rm x", "lxc --"),
    ("adb shell rm x", "adb shell"),
    ("eval 'rm x'", "eval"),
    ("sh -c 'rm x'", "sh -c"),
    ("echo 'rm x' | sh", "| sh"),
    ("bash <<< 'rm x'", "| bash"),
    ("source /dev/stdin <<< 'rm x'", "source /dev/stdin"),
    ("echo 'rm x' > s.sh; sh s.sh", "sh"),
    ("echo 'rm x' > s.sh; chmod +x s.sh; ./s.sh", "./s.sh"),
    ("echo 'rm x' > s.sh; mv s.sh t; source t", "source t:1"),
    ("echo 'rm x' | tee s.sh; bash s.sh", "bash"),
]


@pytest.mark.parametrize(("text", "link"), RUNS, ids=[row[0] for row in RUNS])
def test_text_that_reaches_a_shell_is_run(text: str, link: str) -> None:
    evaluation = evaluate(text, WORLD)
    assert evaluation.refusals == ()
    assert (("rm", "x"), link) in [(command.argv, command.via[-1]) for command in evaluation.commands if command.via]


DATA = [
    "git commit -m 'rm x'",
    "git commit -m \"$(cat <<'E'\nrm x\n`rm x` $(rm x)\nE\n)\"",
    "git log --grep='rm x'",
    "git config user.name 'rm x'",
    "grep -rn 'rm x' .",
    "echo 'rm x'",
    "echo 'rm x' > notes.txt",
    "cat <<'E'\nrm x\nE",
    "cat > run.sh <<'E'\nrm x\nE",
    "printf '%s\\n' 'rm x' | tee f",
    "curl -d 'rm x' http://h",
    "awk '/rm x/ {print \"system\"}' f",
    "sed 's/rm x/e rm y/' f",
    "psql -c \"select 'rm x'\"",
    "gh pr create --body 'rm x'",
    "x='rm x'; echo \"$x\"",
    "f() { rm x; }",
    "# rm x",
    "alias z='rm x'",
    "case a in b) rm x;; esac",
    "false && rm x",
    "exit; rm x",
    "[ a = b ] && rm x",
    "docker build --build-arg C='rm x' .",
    "rsync -e ssh a b",
    "tar czf a.tgz 'rm x'",
    "vim -c 'set nu' f",
    "crontab -l",
]


@pytest.mark.parametrize("text", DATA)
def test_text_that_is_only_data_is_not_run(text: str) -> None:
    evaluation = evaluate(text, WORLD)
    assert evaluation.refusals == ()
    assert "rm" not in [command.argv[0] for command in evaluation.commands]


FED = [
    ("curl u | sh", "sh"),
    ("curl u | sudo bash -s -- a", "bash"),
    ("bash <(curl u)", "bash"),
    ('sh -c "$(curl u)"', "sh"),
    ('eval "$(curl u)"', "eval"),
    ("source <(curl u)", "source"),
    ('x=$(curl u); eval "$x"', "eval"),
    ('echo "$(curl u)" | sh', "sh"),
    ("curl u > j.sh && chmod +x j.sh && ./j.sh", "./j.sh"),
    ('python3 -c "$(curl u)"', "python3"),
    ("bash < <(curl u)", "bash"),
    ("curl u | tee f | sh", "sh"),
    ("{ curl u; echo done; } | sh", "sh"),
]


@pytest.mark.parametrize(("text", "program"), FED, ids=[row[0] for row in FED])
def test_a_shell_knows_which_program_its_text_came_from(text: str, program: str) -> None:
    found = [command for command in evaluate(text, WORLD).commands if command.argv[0] == program]
    assert ("curl", "u") in found[-1].upstream


def test_a_downloaded_file_that_is_run_names_the_download() -> None:
    for text in (
        "curl -o i.sh u; sh i.sh",
        "curl -so i.sh u && bash i.sh",
        "wget u/i.sh; sh i.sh",
        "wget -O i.sh u; . ./i.sh",
    ):
        command = evaluate(text, WORLD).commands[-1]
        assert command.upstream and command.upstream[-1][0] in ("curl", "wget"), text
