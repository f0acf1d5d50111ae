"""Claims about what a cmd.exe text comes to: names, variables, loops, branches and labels."""

from __future__ import annotations

import pytest

from chrono.scan.command import Evaluation, Pattern
from chrono.scan.shell.cmdexe.evaluate import evaluate_cmd, without_outer_quotes
from chrono.testing.world import FakeWorld

WORLD = FakeWorld({"/home/dev/proj/build.cmd": "@echo off\n", "/home/dev/proj/words.txt": "first word\n"})
WIPE = ("rd", "/s", "/q", "C:\\Users")


def read(text: str, *, script: bool = False, args: tuple[str, ...] = ()) -> Evaluation:
    return evaluate_cmd(text, WORLD, script=script, args=args)


def argvs(text: str, *, script: bool = False, args: tuple[str, ...] = ()) -> list[tuple[object, ...]]:
    found = read(text, script=script, args=args)
    assert found.refusals == (), (text, found.refusals)
    return [command.argv for command in found.commands]


@pytest.mark.parametrize(
    "text",
    [
        "rd /s /q C:\\Users",
        "RMDIR /s /q C:\\Users",
        "rd/s/q C:\\Users",
        'rd /s /q "C:\\Users"',
        "r^d /s /q C:\\Users",
        '"rd" /s /q C:\\Users',
        "@rd /s /q C:\\Users",
        "(rd /s /q C:\\Users)",
        "echo x & rd /s /q C:\\Users",
        "echo x&&rd /s /q C:\\Users",
        "dir || rd /s /q C:\\Users",
        "if exist x rd /s /q C:\\Users",
        "if not exist x (echo a) else (rd /s /q C:\\Users)",
        'if /i "%x%"=="y" rd /s /q C:\\Users',
        "if 1 lss 2 (\n  rd /s /q C:\\Users\n)",
        "for %i in (C:\\Users) do rd /s /q %i",
        "for %i in (Users) do @(rd /s /q C:\\%i)",
        "for /l %i in (1,1,2) do rd /s /q C:\\Users",
        'for /f "tokens=1" %i in ("C:\\Users x") do rd /s /q %i',
        "set X=C:\\Users& call rd /s /q %X%",
        "set X=C:\\Users\nrd /s /q %X%",
        'set "X=rd /s /q C:\\Users"\n%X%',
        "set X=C:\\Usxrs\nrd /s /q %X:x=e%",
        "set X=zzC:\\Userszz\nrd /s /q %X:~2,8%",
        "setlocal enabledelayedexpansion\nset X=C:\\Users\nrd /s /q !X!",
        "call rd /s /q C:\\Users",
        "rd /s ^\n/q C:\\Users",
    ],
)
def test_every_spelling_comes_to_the_same_command(text: str) -> None:
    assert WIPE in argvs(text)


@pytest.mark.parametrize(
    "text",
    [
        "rem rd /s /q C:\\Users",
        "echo rd /s /q C:\\Users",
        "echo rd /s /q C:\\Users > notes.txt",
        ":: rd /s /q C:\\Users",
        "set X=rd /s /q C:\\Users",
        'git commit -m "x & rd /s /q C:\\Users"',
        "echo a ^& rd /s /q C:\\Users",
    ],
)
def test_text_that_does_not_run_is_no_command(text: str) -> None:
    assert not any(argv[0] == "rd" for argv in argvs(text))


def test_what_nobody_has_set_is_unknown() -> None:
    assert ("rd", "/s", Pattern((None, "\\x"))) in argvs("rd /s %NOBODY%\\x")


def test_a_script_gets_its_arguments_and_calls_its_labels() -> None:
    text = "@echo off\ncall :wipe C:\\Users\ngoto :eof\n:wipe\nrd /s /q %1\nexit /b\n"
    assert WIPE in argvs(text, script=True)
    assert WIPE in argvs("rd /s /q %1", script=True, args=("C:\\Users",))
    assert WIPE in argvs("for %%i in (C:\\Users) do rd /s /q %%i", script=True)


def test_listings_keep_their_ending() -> None:
    assert ("del", Pattern(("./", None, ".pyc"))) in argvs("for /r . %f in (*.pyc) do del %f")
    assert ("del", Pattern(("C:/x/", None, ".tmp"))) in argvs("for /f %f in ('dir /b /s C:\\x\\*.tmp') do del %f")


def test_the_folder_is_followed() -> None:
    found = read("cd /d C:\\x & del a & pushd D:\\y & del b & popd & del c")
    assert [c.cwd for c in found.commands if c.argv[0] == "del"] == ["C:/x", "D:/y", "C:/x"]


def test_another_shell_gets_its_text_whole() -> None:
    assert ("cmd", "/c", '"rd /s /q "C:\\a b""') in argvs('cmd /c "rd /s /q "C:\\a b""')
    assert ("powershell", "-Command", "ri 'C:\\a b'") in argvs("powershell -Command \"ri 'C:\\a b'\"")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('"rd /s /q "C:\\a b""', 'rd /s /q "C:\\a b"'),
        ('"rd /s /q C:\\x"', "rd /s /q C:\\x"),
        ('"C:\\a b\\x.exe" /s', '"C:\\a b\\x.exe" /s'),
        ("rd /s /q C:\\x", "rd /s /q C:\\x"),
        ('"rd', "rd"),
        ('"taskkill /f /im lsass.exe"', "taskkill /f /im lsass.exe"),
    ],
)
def test_the_outer_quotes_of_cmd_c_go(text: str, rest: str) -> None:
    assert without_outer_quotes(text) == rest


def test_start_takes_a_title_and_options() -> None:
    for text in (
        'start "" /b rd /s /q C:\\Users',
        "start /wait rd /s /q C:\\Users",
        'start "a title" rd /s /q C:\\Users',
    ):
        assert WIPE in argvs(text)


def test_a_file_that_is_written_can_be_followed() -> None:
    assert ("/home/dev/proj/x.bat", "@rd /s /q C:\\Users\n") in read("echo @rd /s /q C:\\Users > x.bat & x.bat").files
    assert ("./x.bat",) in argvs("echo a > x.bat & x.bat")
    assert ("./build.cmd",) in argvs("build")


def test_a_pipe_feeds_what_it_says() -> None:
    last = read("echo y| format E:").commands[-1]
    assert last.stdin == "y\n"
    assert last.upstream == (("echo", "y"),)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("for %i in (a", "unparsed"),
        ("(" * 3_000, "limit"),
        ("if 1==1 (" * 200 + "x" + ")" * 200, "limit"),
        ("a" * 70_000, "limit"),
        (":a\ncall :a\n", "limit"),
        ("a&" * 20_000, "limit"),
        ("a b " * 2_000, "limit"),
    ],
)
def test_limits_and_faults_are_decisions(text: str, kind: str) -> None:
    assert kind in [refusal.kind for refusal in read(text).refusals]


def test_links_and_drives_of_the_text_are_seen_through() -> None:
    for text in ("mklink /j dist C:\\Users & rd /s /q dist\\dev", "subst X: C:\\Users & rd /s /q X:\\dev"):
        assert ("rd", "/s", "/q", "C:/Users/dev") in argvs(text)
    assert ("rd", "/s", "/q", "other\\dev") in argvs("mklink /j dist C:\\Users & rd /s /q other\\dev")


@pytest.mark.parametrize(
    ("loop", "wanted"),
    [
        ("for /f %a in ('echo one two') do x %a", ("x", "one")),
        ("for /f \"tokens=*\" %a in ('echo rd /s /q C:\\Users') do %a", WIPE),
        ('for /f "delims=" %a in ("rd /s /q C:\\Users") do call %a', WIPE),
        ("for /f \"tokens=2\" %a in ('echo one two') do x %a", ("x", "two")),
        ("for /f \"tokens=1,3\" %a in ('echo p q r') do x %a %b", ("x", "p", "r")),
        ("for /f \"tokens=2-3\" %a in ('echo p q r') do x %b %a", ("x", "r", "q")),
        ("for /f \"tokens=1*\" %a in ('echo p q r') do x %b", ("x", "q", "r")),
        ("for /f \"tokens=2 delims=:\" %a in ('echo p:q') do x %a", ("x", "q")),
        ("for /f \"skip=1\" %a in ('(echo p^&echo q)') do x %a", ("x", "q")),
        ('for /f "usebackq" %a in (`echo p`) do x %a', ("x", "p")),
        ("for /f %a in (words.txt) do x %a", ("x", "first")),
        ("for /f %a in ('type words.txt') do x %a", ("x", "first")),
        ("(echo a&echo b) > f.txt & for /f %a in (f.txt) do x %a", ("x", "b")),
        ("echo rd /s /q C:\\Users> f.txt & set /p z=< f.txt & call %z%", WIPE),
        ("for /r %a in (*.md) do x %a", ("x", Pattern(("./", None, ".md")))),
        ("for /f \"delims=\" %a in ('dir /b /s *.md') do x %a", ("x", Pattern(("./", None, ".md")))),
        ("for /f \"delims=\" %a in ('dir /b /s /ad logs') do x %a", ("x", Pattern(("./", None, "/logs")))),
        ("for /d /r %a in (bin obj) do x %a", ("x", Pattern(("./", None, "/obj")))),
    ],
)
def test_loops_cut_what_they_go_through(loop: str, wanted: tuple[object, ...]) -> None:
    assert wanted in argvs(loop)


def test_a_token_of_an_unknown_line_is_unknown() -> None:
    assert ("x", Pattern((None,)), Pattern((None,))) in argvs("for /f \"tokens=1,2\" %a in ('prog') do x %a %b")
    assert read("for /f %a in ('prog') do x %a").commands[-1].upstream == (("prog",),)
    assert read("for /f %a in (unseen.txt) do x %a").commands[-1].upstream == (("type", "unseen.txt"),)


def test_bin_beside_obj_is_what_a_build_makes() -> None:
    assert argvs("for %a in (bin obj) do x %a") == [("x", "obj")]
    assert argvs("for %a in (bin) do x %a") == [("x", "bin")]


def test_a_script_that_starts_itself_beside_itself_is_told() -> None:
    for text in ("%0|%0", "start %0", "start /b %0"):
        found = evaluate_cmd(text, WORLD, script=True, via=("f.bat",))
        assert ("fork-bomb",) in [command.argv for command in found.commands], text
    assert ("fork-bomb",) not in argvs("%0", script=True) + argvs("f.bat|more", script=True)


def test_what_nobody_has_set_is_left_to_the_inner_shell() -> None:
    inner = '"set a=r&call %a%d /s /q C:\\Users"'
    assert argvs(f"cmd /c {inner}") == [("cmd", "/c", inner)]
    assert argvs("echo %a%")[0] == ("echo", Pattern((None,)))
    assert argvs("cmd /c echo %a%", script=True)[0] == ("cmd", "/c", Pattern(("echo ", None)))


def test_a_line_that_another_command_puts_out_is_code_from_there() -> None:
    last = read("for /f \"delims=\" %a in ('curl -s http://x.example') do %a").commands
    assert ("run-code", "cmd", Pattern((None,))) in [command.argv for command in last]
    assert "run-code" not in [argv[0] for argv in argvs("for /f %a in ('echo ver') do %a") + argvs("%a%")]
