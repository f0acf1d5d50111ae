"""Claims about what the parser takes and refuses: as `bash -n` does, on awkward texts and on damaged ones."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from chrono.scan.shell.lexer import Budget
from chrono.scan.shell.parser import parse
from tests.unit.scan.shell.grammar import Grammar
from tests.waiting import LONG_S

BASH = shutil.which("bash") or ""
needs_bash = pytest.mark.skipif(not BASH, reason="there is no bash here to ask")
_BAD_FORM = re.compile(
    r"\$\{(?!#?!?[A-Za-z_@*#?$!0-9-]+(?:\[[^\]]*\])?(?:[}:#%/^,@+=?-]))|\$\{[^}]*\[[^\]}]*\}|\$\{\w+ "
)
_SIGNS = "'\"`$(){}[]|&;<>\\\n #=*!~"


def bash_takes(text: str) -> bool:
    asked = subprocess.run(
        [BASH, "--norc", "-O", "extglob", "-n", "-c", text],
        capture_output=True,
        timeout=LONG_S,
        errors="surrogateescape",
    )
    # A here-document that ends with the text is only warned about.
    return asked.returncode == 0


def we_take(text: str) -> bool:
    return parse(text, "bash", Budget()).fault is None


def damaged(seed: int, count: int) -> Iterator[str]:
    """Random texts with one to three signs taken out, put in or changed."""
    chance = random.Random(seed)
    grammar = Grammar(seed)
    for _ in range(count):
        text = list(grammar.text())
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text))
            text[at : at + chance.randint(0, 1)] = chance.choice(("", chance.choice(_SIGNS), chance.choice(_SIGNS)))
        found = "".join(text)
        # bash reads what stands in backticks, and bad forms of `${…}`, only when it runs them.
        if "`" not in found and _BAD_FORM.search(found) is None:
            yield found


def compare(texts: Iterator[str]) -> tuple[int, list[str], list[str]]:
    """(how many texts, those that only bash takes, those that only we take)."""
    count, only_bash, only_we = 0, [], []
    for text in texts:
        count += 1
        theirs, ours = bash_takes(text), we_take(text)
        if theirs and not ours:
            only_bash.append(text)
        elif ours and not theirs:
            only_we.append(text)
    return count, only_bash, only_we


VALID = (
    "r\\\nm x", "coproc rm x", "coproc W { a; }", "! ! a", "time -p a | b", "time", "cat <<A <<B\n1\nA\n2\nB", "cat <<-E\n\tx\n\tE\n",
    "cat <<'E' | sh\n$(\nE", "cat <<E\n${x:-`echo 1`}\nE", "cat <<\\E\n(\nE", "a <<E && b\nx\nE\nc", "case x in (a) b;; c|d) e;& *) f;;& esac",
    "case x in esac", "case $(case a in b) c;; esac) in *) d; esac", "echo $(case x in x) y;; esac)", "for ((i=0;i<3;i++)) { a; }", "for ((;;)); do a; done",
    "for i do a; done", "for i in; do a; done", "for i\nin a b\ndo c; done", "select x in a; do b; done", "while a; b; do c; done", "until a\ndo b\ndone",
    "if a; then b; elif c; then d; else e; fi", "if (a) then b; fi", "{ a; } > x 2>&1", "( a ) < x", "(( x = 1, y++ ))", "((a)) && b", "( (a); (b) )", "$(( (1+2) * 3 ))",
    "echo $((1 << 2)) $(( x ? y : z ))", "echo $[1+2]", "[[ a =~ ^(b|c)$ ]]", "[[ -f x && ( a < b || ! -z c ) ]]", "[[ $x == *.@(a|b) ]]", "shopt -s extglob; rm !(a|b)",
    "f() { a; }", "f () ( a )", "function f { a; }", "function f() { a; } > x", "f() if a; then b; fi", "f() [[ a ]]", "a=(b [3]=c $(d))", "a+=(b)", "a[1]=b c", "a[$((1+1))]=b",
    "declare -A m=([a b]=c)", "export A=(1 2)", "x=$(a) y=`b` c", "${x} ${x:-y} ${x:+\"$y\"} ${x#*/} ${x##*/} ${x%.*} ${x/a/b} ${x//a} ${x^^} ${x,} ${#x} ${!x} ${x:1:2} ${x@Q}",
    "echo ${x:-${y:-$(z)}} \"${a[@]}\" ${#a[@]} ${!p*} ${a[*]:1}", "echo \"${x:-\"a b\"}\"", "echo $'a\\'b\\x41' $\"t\"", "echo a\\ b 'c'\"d\"", "echo \"$(echo \"$(echo \"x\")\")\"",
    "diff <(a) <(b) > >(c)", "a >&2 2>&1 >| x <> y &> z &>> w", "a 3< x {fd}> y >&- <&3-", "a <<< 'b c'", "a <<<$(b)", "a & b & wait", "a && b || c; d", "a &&\nb ||\n# c\nd", "a |& b", "a |\n\n b",
    "# only a comment", "a # b", "a#b", "a; # b\nc", "\n\n", "a\\\n b", "{a,b}{1..3} {a..z..2} {,x}", "echo {", "echo }", "echo a{b", "echo [ ]", "alias a='b c'", "x= y", "x=~/a:~/b", "~+ ~- ~u/x",
    "if true; then :; fi;", "while ((x)) do a; done", "if [[ x ]] then a; fi", "if { a; } then b; fi", "echo if then else fi done", "echo !x !", "! [ -f x ]", "trap 'a' EXIT", "a 2>/dev/null <x >>y", "<x a", ">x", "2>x", "x=1 >y z", "echo \\\\ \\' \\\" \\$", "echo 'a\nb'",
    "cat <<E\n\\$x \\` \\\\ \"\nE", "cat <<E\nE", "cat <<''\nx\n\n", "f() { cat <<E\nx\nE\n}", "$(cat <<E\nx\nE\n)", "a $(b # )\n) c", "echo $(( $(a) + `b` ))", "a() { b() { c; }; b; }; a", "exec 3<>x", "a;\tb\t;c",
)  # fmt: skip
INVALID = (
    "a (b", "a )", "( a", "{ a", "if a; then b", "if a; fi", "if; then a; fi", "then a", "fi", "done", "esac", "for", "for i in a; b; done", "for i in a; dob; done", "while; do a; done",
    "case x in a b) c;; esac", "case x", "a && && b", "a | | b", "| a", "&& a", "; a", "a ;; b", "f( ) { a; } }", "f() ", "function", "[[ a",   "a <", "a >", "a <<", "a > > b", "'a", "\"a",
    "$(a", "${a", "`a", "$((1+", "a $(b; c", "a <(b", "x=(a", "{ a; } b", "( a ) b", "if a; then b; fi c", "for ((i=0; i<3)); do a; done", "until", "select", "a & & b", "! | a",
)  # fmt: skip


@needs_bash
def test_awkward_texts_are_taken_as_bash_takes_them() -> None:
    assert [text for text in VALID if not bash_takes(text)] == []
    assert [text for text in VALID if not we_take(text)] == []


@needs_bash
def test_texts_that_bash_refuses_are_not_understood() -> None:
    assert [text for text in INVALID if bash_takes(text)] == []
    assert [text for text in INVALID if we_take(text)] == []


@needs_bash
def test_what_bash_takes_is_not_refused() -> None:
    count, only_bash, only_we = compare(damaged(3, 120))
    assert len(only_bash) <= count * 0.02, only_bash
    assert len(only_we) <= count * 0.02, only_we


@needs_bash
@pytest.mark.slow
def test_what_bash_takes_is_not_refused_in_thousands_of_texts() -> None:
    count, only_bash, only_we = compare(damaged(5, 3_000))
    assert len(only_bash) <= count * 0.005, only_bash
    assert len(only_we) <= count * 0.01, only_we
