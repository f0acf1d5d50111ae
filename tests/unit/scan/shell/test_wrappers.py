"""Claims: a program that starts another one is reported, and so is the other one, with the chain that leads to it."""

from __future__ import annotations

import pytest

from chrono.scan.command import MANY, UNKNOWN, Command, Pattern, Word
from chrono.scan.dictworld import DictWorld
from chrono.scan.shell.evaluate import evaluate

WORLD = DictWorld({"/w": None}, cwd="/w", home="/home/u", user="u", environ={"HOME": "/home/u"})
RM = ("rm", "x")


def commands(text: str) -> tuple[Command, ...]:
    evaluation = evaluate(text, WORLD)
    assert evaluation.refusals == ()
    return tuple(command for command in evaluation.commands if not command.builtin)


def below(*pieces: str | None) -> Pattern:
    return Pattern(pieces)


INNER: list[tuple[str, tuple[Word, ...], tuple[str, ...]]] = [
    ("sudo rm x", RM, ("sudo",)),
    ("sudo -u root -E FOO=1 rm x", RM, ("sudo",)),
    ("sudo -n -- rm x", RM, ("sudo",)),
    ("sudo -s rm x", RM, ("sudo",)),
    ("sudo -D /tmp rm x", RM, ("sudo",)),
    ("sudo bash -c 'rm x'", RM, ("sudo", "bash -c")),
    ("doas -u a rm x", RM, ("doas",)),
    ("nohup nice -n5 ionice -c2 -n7 rm x", RM, ("nohup", "nice", "ionice")),
    ("timeout -k 5 10 rm x", RM, ("timeout",)),
    ("timeout --foreground 10s sudo rm x", RM, ("timeout", "sudo")),
    ("stdbuf -oL -eL rm x", RM, ("stdbuf",)),
    ("/usr/bin/time -v rm x", RM, ("time",)),
    ("strace -f -o log rm x", RM, ("strace",)),
    ("chroot /mnt rm -rf /", ("rm", "-rf", "/"), ("chroot /mnt",)),
    ("busybox rm x", RM, ("busybox",)),
    ("busybox sh -c 'rm x'", RM, ("busybox", "sh -c")),
    ("/lib64/ld-linux-x86-64.so.2 rm x", RM, ("ld-linux-x86-64.so.2",)),
    ("env -i A=1 rm x", RM, ("env",)),
    ("env -S 'rm -f' x", ("rm", "-f", "x"), ("env",)),
    ("env --unset HOME -- rm x", RM, ("env",)),
    ("setsid -w rm x", RM, ("setsid",)),
    ("command rm x", RM, ("command",)),
    ("chrono run rm x", RM, ("chrono run",)),
    ("chrono run -- rm x", RM, ("chrono run",)),
    ("chrono run --shell 'rm x'", RM, ("chrono run",)),
    ("chrono run --json --shell='rm x'", RM, ("chrono run",)),
    ("chrono run -- bash -c 'rm x' --shell", RM, ("chrono run", "bash -c")),
    ("chrono bisect run -- rm x", RM, ("chrono bisect run",)),
    ("chrono --debug bisect run --from ab12 --link node_modules rm x", RM, ("chrono bisect run",)),
    ("/opt/bin/chrono bisect run sh -c 'rm x'", RM, ("chrono bisect run", "sh -c")),
    ("python3 -P -m chrono bisect run -- rm x", RM, ("chrono bisect run",)),
    ("python3.12 -X dev -Pm chrono run rm x", RM, ("chrono run",)),
    ("uvx --from chrono-toolkit chrono run -- rm x", RM, ("chrono run",)),
    ("sudo chrono run rm x", RM, ("sudo", "chrono run")),
    ("command -p sudo rm x", RM, ("command", "sudo")),
    ("exec rm x", RM, ("exec",)),
    ("builtin eval rm x", RM, ("builtin", "eval")),
    ("echo x | xargs rm", RM, ("xargs",)),
    ("echo x | xargs -I{} sh -c 'rm {}'", RM, ("xargs", "sh -c")),
    ("xargs -a list rm", ("rm", MANY), ("xargs",)),
    ("cat list | xargs -0 rm -rf", ("rm", "-rf", MANY), ("xargs",)),
    ("find . -name '*.pyc' -exec rm {} +", ("rm", below("./", None, ".pyc")), ("find -exec",)),
    ("find / -type f -name core -exec rm -f {} \\;", ("rm", "-f", below("/", None, "core")), ("find -exec",)),
    ("find a -mindepth 1 -maxdepth 1 -exec rm {} +", ("rm", below("a/", None)), ("find -exec",)),
    ("find / -maxdepth 0 -exec rm {} \\;", ("rm", "/"), ("find -exec",)),
    ("find src -maxdepth 0 -execdir git add {} \\;", ("git", "add", "./src"), ("find -execdir",)),
    ("find . -maxdepth 1 -name x | xargs rm", ("rm", "./x"), ("xargs",)),
    ("find . -name '*.o' -print0 | xargs -0 rm", ("rm", below("./", None, ".o")), ("xargs",)),
    (
        "find . -name '*.o' -o -type f -name '*.a' | xargs rm",
        ("rm", below("./", None, ".o"), below("./", None, ".a")),
        ("xargs",),
    ),
    ("fd -e pyc -x rm", ("rm", below("./", None, ".pyc")), ("fd -x",)),
    ("parallel rm ::: x", RM, ("parallel",)),
    ("parallel -j2 'git {}; rm {}' ::: x", RM, ("parallel",)),
    ("ls | parallel rm", ("rm", MANY), ("parallel",)),
    ("watch -n1 rm x", RM, ("watch",)),
    ("watch -x rm x", RM, ("watch",)),
    ("ssh host rm x", RM, ("ssh host",)),
    ("ssh -p 22 -i k me@host 'cd /x && rm x'", RM, ("ssh me@host",)),
    ("ssh host <<< 'rm x'", RM, ("ssh host",)),
    ("ssh -o ProxyCommand='rm x' h", RM, ("ssh ProxyCommand",)),
    ("docker run --rm -v /:/h alpine rm x", RM, ("docker run -v alpine",)),
    ("docker exec -it c sh -c 'rm x'", RM, ("docker exec c", "sh -c")),
    ("docker compose exec -T db rm x", RM, ("docker exec db",)),
    ("docker-compose run --rm web rm x", RM, ("docker-compose run -v web",)),
    ("docker run --entrypoint rm img x", RM, ("docker run img",)),
    ("podman exec c rm x", RM, ("podman exec c",)),
    ("kubectl exec pod -- rm x", RM, ("kubectl exec",)),
    ("kubectl exec -it -n ns pod -c c -- sh -c 'rm x'", RM, ("kubectl exec", "sh -c")),
    ("su -c 'rm x'", RM, ("su -c",)),
    ("su - user -c 'rm x'", RM, ("su -c",)),
    ("runuser -u a -- rm x", RM, ("runuser",)),
    ("script -c 'rm x' /dev/null", RM, ("script -c",)),
    ("script -q /dev/null rm x", RM, ("script",)),
    ("flock l rm x", RM, ("flock",)),
    ("flock -n l -c 'rm x'", RM, ("flock -c",)),
    ("tmux new-session -d 'rm x'", RM, ("tmux new-session",)),
    ("tmux send-keys -t a 'rm x' Enter", RM, ("tmux send-keys",)),
    ("screen -dmS n rm x", RM, ("screen",)),
    ("systemd-run --user rm x", RM, ("systemd-run",)),
    ("taskset -c 0 rm x", RM, ("taskset",)),
    ("unshare -m rm x", RM, ("unshare",)),
    ("bwrap --ro-bind / / --dev /dev rm x", RM, ("bwrap",)),
    ("capsh -- -c 'rm x'", RM, ("capsh", "bash -c")),
    ("hyperfine 'rm x'", RM, ("hyperfine",)),
    ("ls | entr rm x", RM, ("entr",)),
    ("op run -- rm x", RM, ("op run",)),
    ("start-stop-daemon -S -x rm -- x", RM, ("start-stop-daemon",)),
    ("trap 'rm x' EXIT", RM, ("trap",)),
    ("coproc rm x", RM, ()),
    ("time -p rm x", RM, ()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "argv", "via"), INNER, ids=[row[0] for row in INNER])
def test_what_a_wrapper_starts_is_reported_with_its_chain(
    text: str, argv: tuple[Word, ...], via: tuple[str, ...]
) -> None:
    assert (argv, via) in [(command.argv, command.via) for command in commands(text)]


@pytest.mark.parametrize(
    "text", [row[0] for row in INNER if row[2] and row[2][0] not in ("command", "exec", "builtin", "trap")]
)
def test_the_wrapper_itself_is_reported_too(text: str) -> None:
    first = text.split(" | ")[-1].split()[0].split("=")[0]
    assert first in [command.argv[0] for command in commands(text)]


HARMLESS = [
    "sudo -l",
    "sudo -v",
    "command -v rm",
    "env",
    "docker ps",
    "docker build -t rm .",
    "kubectl get pods",
    "git commit -m 'sudo rm x'",
    "echo sudo rm x",
    "tmux ls",
    "ssh-keygen -t rsa -f rm",
    "rbenv versions",
    "perf list",
    "gdb prog",
    "bash -n script.sh",
    "bash --version",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_starts_nothing_else_reports_nothing_else(text: str) -> None:
    assert len(commands(text)) <= 1


def test_another_machine_has_no_known_folder() -> None:
    for text in ("ssh host rm x", "docker exec c rm x", "kubectl exec p -- rm x", "chroot /mnt rm x"):
        assert commands(text)[-1].cwd == UNKNOWN


def test_a_wrapper_that_changes_the_folder_changes_it_for_what_it_starts() -> None:
    assert commands("env -C /tmp rm x")[-1].cwd == "/tmp"
    assert commands("sudo -D sub rm x")[-1].cwd == "/w/sub"
    assert commands("env rm x; rm y")[-1].cwd == "/w"


def test_xargs_splits_as_it_does() -> None:
    def started(text: str) -> list[tuple[Word, ...]]:
        return [command.argv for command in commands(text) if command.via == ("xargs",)]

    assert started("echo \"'a b' c\\ d\" | xargs rm") == [("rm", "a b", "c d")]
    assert started("printf 'a\\0b c\\0' | xargs -0 rm") == [("rm", "a", "b c")]
    assert started("printf 'a b\\nc\\n' | xargs -I% rm %") == [("rm", "a b"), ("rm", "c")]
    assert started("echo a b c | xargs -n2 rm") == [("rm", "a", "b"), ("rm", "c")]
    assert started("printf 'a b\\nc\\n' | xargs -L1 rm") == [("rm", "a", "b"), ("rm", "c")]
    assert started("printf a:b | xargs -d: rm") == [("rm", "a", "b")]
    assert started("printf '' | xargs -r rm") == []
    assert started("printf '' | xargs rm") == [("rm",)]
    assert started("echo a | xargs") == [("echo", "a")]


def test_a_variable_before_an_unknown_wrapper_does_not_hide_the_program() -> None:
    argvs = [command.argv for command in commands("read w; $w rm -rf /")]
    assert argvs == [(MANY, "rm", "-rf", "/"), ("rm", "-rf", "/")]


def test_assignments_of_a_wrapper_reach_the_shell_it_starts() -> None:
    assert commands("env T=/etc sh -c 'rm $T'")[-1].argv == ("rm", "/etc")
    assert commands("sudo T=/etc sh -c 'rm $T'")[-1].argv == ("rm", "/etc")
