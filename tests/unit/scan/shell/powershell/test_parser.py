"""Claims about reading PowerShell: everyday text is understood, and what is not understood is said to be."""

from __future__ import annotations

import pytest

from chrono.scan.command import LimitReached, Unparsed
from chrono.scan.shell.powershell.parser import parse
from chrono.scan.shell.powershell.syntax import Assign, Call, Foreach, Function, If, Mixed, Pipeline, Text, Try, Value

EVERYDAY = [
    "Get-ChildItem -Recurse -Filter *.cs | Select-String 'TODO'",
    "if (Test-Path dist) { Remove-Item dist -r } elseif ($x) { 'a' } else { 'no' }",
    "foreach ($f in Get-ChildItem *.txt) { $f.Name }",
    "for ($i = 0; $i -lt 10; $i++) { $s += [char]($b[$i] -bxor 3) }",
    "do { $x-- } until ($x -eq 0)",
    "switch -Regex ($x) { '^a' { 1 } default { 2 } }",
    "try { a } catch [IO.IOException], [Exception] { b } finally { c }",
    "function f([string]$x, [int]$y = 3) { $x } f 'a' 4",
    "function g { [CmdletBinding()] param([Parameter(Mandatory)][string]$Path = 'x', [switch]$Force) process { $Path } }",
    "$h = [ordered]@{ a = 1; 'b' = if ($x) { 2 } else { 3 } }",
    '"a $($x.y) ${z} `n $env:PATH"',
    "@'\nanything \" ' goes\n'@ | Out-File x.txt",
    '@"\nHello $name\n"@',
    "$x = $a ? 'b' : 'c'",
    "Get-Process |\n  Sort-Object CPU |\n  Select-Object -First 5",
    "Get-Process\n| Sort-Object CPU",
    'git commit -m "fix: a" && git push || echo failed',
    "npm run build > out.txt 2>&1",
    "git stash drop stash@{0}",
    "cmd --% /c dir & echo x",
    "[void](New-Item x)",
    "[System.Collections.Generic.List[string]]::new()",
    "$a, $b = 1, 2",
    "${env:ProgramFiles(x86)}",
    "class A { [string]$x = 'a'; A([int]$n) { $this.x = $n }; static [void] Go() { Get-Date } }",
    "enum Color { Red; Green = 2 }",
    "using namespace System.IO\nGet-Date",
    "1..5 | % { $_ * 2 }",
    "7z x a.zip",
    "& 'C:\\Program Files\\x.exe' --flag=value -x:1",
    "'{0:x2}' -f 255",
    "-join ('a', 'b')",
    "$x?.Length ?? 0",
    "Get-Date # a comment\n<# another\n one #> Get-Host",
    "Remove-Item `\n  -Recurse `\n  dist",
    ".\\build.ps1 -Target Release; . .\\lib.ps1",
    "$x.Where({ $_ -gt 1 }).ForEach('ToString')",
    "Start-Job { npm run dev } | Out-Null",
    "$i++ ; --$i; $h['a'].b[0] += 1",
    "return $x | Where-Object Name -in 'a', 'b'",
    "docker run --rm -v ${PWD}:/app -e A=1 node:20 npm test",
    "$ErrorActionPreference='Stop';$x=5;if($x){'y'}",
    'Write-Host "Done" -ForegroundColor Green -NoNewline:$false',
]


@pytest.mark.parametrize("text", EVERYDAY)
def test_everyday_text_is_understood(text: str) -> None:
    assert parse(text)


@pytest.mark.parametrize(
    "text",
    ["Remove-Item 'C:\\", 'echo "a', "if ($x) { a", "$(", "@{ a = 1", "a | | b", ")", "foreach ($x on $y) {}", "&"],
)
def test_broken_text_is_not_understood(text: str) -> None:
    with pytest.raises(Unparsed):
        parse(text)


@pytest.mark.parametrize(
    "text", ["(" * 500, "{" * 500, "$(" * 500, "@(" * 500, "if(1){" * 500, "!" * 500, "a;" * 20_000]
)
def test_nesting_and_length_have_limits(text: str) -> None:
    with pytest.raises(LimitReached):
        parse(text)


def test_a_number_in_front_of_a_longer_word_is_a_program() -> None:
    (pipeline,) = parse("7z x a.zip")
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline.elements[0], Call)


def test_a_value_that_is_not_called_is_no_command() -> None:
    (pipeline,) = parse("'Remove-Item'")
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline.elements[0], Value)


def test_a_path_behind_a_variable_is_one_word() -> None:
    (pipeline,) = parse("ri $env:TEMP\\x")
    word = pipeline.elements[0].words[1]
    assert isinstance(word, Mixed) and word.parts[1] == "\\x"


def test_single_quotes_hold_dollars_and_double_ones_do_not() -> None:
    (pipeline,) = parse("echo '$x' \"$x\"")
    _, single, double = pipeline.elements[0].words
    assert single == Text("$x")
    assert isinstance(double, Mixed)


def test_curly_quotes_and_long_dashes_count_as_quotes_and_dashes() -> None:
    (pipeline,) = parse("ri \u2013Recurse \u201ca b\u201d")
    assert pipeline.elements[0].words[2] == Text("a b")


def test_statements_have_their_own_nodes() -> None:
    kinds = [type(node) for node in parse("$x = 1; if ($x) {}; foreach ($y in $x) {}; function f {}; try {} catch {}")]
    assert kinds == [Assign, If, Foreach, Function, Try]
