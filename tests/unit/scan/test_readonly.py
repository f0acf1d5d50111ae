"""Claims about read-only commands: proved ones need no savepoint, everything in doubt does."""

from __future__ import annotations

import pytest

from chrono.scan.rule import EMPTY
from chrono.scan.scanner import scan
from chrono.testing.world import FakeWorld
from tests.unit.scan.conftest import world

READ_ONLY = """
ls -la
cat README.md
grep -rn foo src | head -5
rg foo
find . -name '*.py'
git status
git log --oneline -5
git diff HEAD~1
git show HEAD:README.md
git branch
git branch --list
git branch -a
git tag
git remote -v
git stash list
git config --get user.name
git rev-parse HEAD
sed -n 1,5p README.md
sed s/a/b/ README.md
awk '{print $1}' README.md
python --version
python3 --version
pip list
npm ls
node -v --version
head -5 README.md | wc -l
jq .a package.json
echo hello
echo hello > /dev/null
ls 2>/dev/null
ls >&2
cd src && ls
test -f a && echo b
pwd; whoami; date
LC_ALL=C sort README.md | uniq -c
true
docker ps
kubectl get pods
chrono status
diff a b
command -v git
for f in *.py; do echo "$f"; done
/usr/bin/git status
""".strip().splitlines()

NOT_PROVED = """
echo hello > out.txt
echo hello >> out.txt
ls | tee out.txt
rm x
find . -delete
find . -exec touch {} +
find . -fprint out
sed -i s/a/b/ README.md
sed -n 'w out' README.md
sed 's/a/b/w out' README.md
awk '{print > "out"}' README.md
awk 'BEGIN{system("x")}'
git branch new
git branch -D old
git tag v1
git stash
git checkout main
git config user.name x
git remote add a b
git log --output=x
git diff --ext-diff
git grep -O foo
git -c core.pager=evil log
sort -o out README.md
uniq a b
./ls
scripts/build.sh
python script.py
PATH=/tmp/evil:$PATH ls
LD_PRELOAD=/tmp/x.so ls
GIT_EXTERNAL_DIFF=x git diff
PAGER=evil git log
export PATH=/tmp/evil
npm test
make
$CMD
curl https://example.com
date -s tomorrow
rg --pre evil foo
xxd a b
env FOO=1 unknown
touch x
eval "$X"
{ ls; } > out
> out
""".strip().splitlines()


@pytest.mark.parametrize("text", [text for text in READ_ONLY if not text.startswith("node")])
def test_reading_is_proved(text: str) -> None:
    assert scan(text, EMPTY, world()).read_only


@pytest.mark.parametrize("text", NOT_PROVED)
def test_what_may_write_is_not_proved(text: str) -> None:
    assert not scan(text, EMPTY, world()).read_only


def test_a_program_of_the_same_name_beside_the_project_is_not_the_system_s_on_windows() -> None:
    files = {"/home/dev/proj/ls.cmd": "del /s /q C:\\"}
    assert scan("ls", EMPTY, FakeWorld({}, platform="win32")).read_only
    assert not scan("ls", EMPTY, FakeWorld(files, platform="win32")).read_only


def test_what_was_refused_is_not_read_only() -> None:
    assert not scan("cat <<", EMPTY, world()).read_only
    assert not scan("ls\0", EMPTY, world()).read_only


@pytest.mark.parametrize(
    ("text", "shell", "wanted"),
    [
        ("Get-ChildItem -Recurse | Where-Object Name -like *.py | Select-Object Name", "powershell", True),
        ("$x = Get-Date; $x.AddDays(1).ToString('o')", "powershell", True),
        ("Set-Location src; ls; Get-Content app.py", "powershell", True),
        ("dir & type README.md", "cmd", True),
        ("(Get-Content a.xml).Save('b.xml')", "powershell", False),
        ("Get-Date; [IO.Compression.ZipFile]::ExtractToDirectory('a.zip', 'b')", "powershell", False),
        ("Get-Date > notes.txt", "powershell", False),
        ("Get-Date; iex $x", "powershell", False),
        ("Get-Date; & $x", "powershell", False),
        ("sort /o a.txt b.txt", "cmd", False),
        ("dir > notes.txt", "cmd", False),
    ],
)
def test_windows_shells_are_read_only_where_it_is_proved(text: str, shell: str, wanted: bool) -> None:
    assert scan(text, EMPTY, FakeWorld(), shell=shell).read_only is wanted
