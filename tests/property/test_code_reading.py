"""Whatever text comes, reading it as code or following it raises nothing and ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chrono.scan.code.javascript_reader import read_javascript
from chrono.scan.code.languages import LANGUAGES, commands_of
from chrono.scan.code.nosql import mongo_effects, redis_script_effects
from chrono.scan.code.perl_reader import read_perl
from chrono.scan.code.php_reader import read_php
from chrono.scan.code.ruby_reader import read_ruby
from chrono.scan.code.sql import statements
from chrono.scan.command import MANY, UNKNOWN, Command, Pattern, Refusal
from chrono.scan.follow.started import Started, started
from chrono.testing.world import FakeWorld

PROJECT = "/home/dev/proj"

# Pieces of which real programs consist, so that more than the first error is reached.
PIECES = st.sampled_from(
    """
    ( ) { } [ ] " ' ` \\ $ @ % # ; , . -> => :: : ? / // /* */ << <<~EOT <<<EOT EOT ${ #{ <?php ?> = == =~ + - * | & &&
    || ! ~ ^ < > if else elsif elseif unless for foreach while until do end def sub function class return yield begin rescue
    ensure case when switch try catch finally lambda => async await new import from require use package my const let var
    qw( q{ s/a/b/ m/x/ tr/a/b/ %w[ %x( :sym 0x1f 1.5 0777 $x @x %x $x{k} $x->[0] $ENV{HOME} x y f self this
    rm unlink rmtree exec system eval open fs.rmSync os.system shutil.rmtree FileUtils.rm_rf __import__ getattr
    """.split()
) | st.sampled_from(
    [
        "\n",
        " ",
        "\t",
        "\r\n",
        "\ufeff",
        "\u202e",
        "\ud800",
        "é",
        "'x'",
        '"y"',
        "\n  ",
        "\n=pod\n",
        "\n=begin\n",
    ]
)
SOURCES = (
    st.lists(PIECES, max_size=40).map(" ".join) | st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200)
)


@pytest.mark.parametrize("language", LANGUAGES)
@given(source=SOURCES)
@settings(max_examples=120, deadline=None)
def test_no_source_raises_or_is_left_half_read(language: str, source: str) -> None:
    found = commands_of(language, source, world=FakeWorld({}, cwd=PROJECT), name="x", args=("a", MANY))
    assert not [refusal for refusal in found.refusals if "could not be read" in refusal.why]


@pytest.mark.parametrize("read", [read_javascript, read_ruby, read_perl, read_php])
@given(source=SOURCES)
@settings(max_examples=120, deadline=None)
def test_no_reader_raises(read: object, source: str) -> None:
    assert callable(read)
    read(source)


@given(
    text=SOURCES
    | st.lists(st.sampled_from("DROP DELETE FROM TABLE WHERE ' \" $$ -- /* */ ; ( ) x = 1 \\! \n".split(" "))).map(
        " ".join
    )
)
@settings(max_examples=200, deadline=None)
def test_no_query_raises(text: str) -> None:
    for effect in (*statements(text), *mongo_effects(text), *redis_script_effects(text)):
        start, end = effect.span
        assert 0 <= start <= end <= len(text)


MAKE_PIECES = st.sampled_from(
    ["x:", "\n", "\t", "$(", ")", "${", "}", "$@", "$<", "=", ":=", "+=", "?=", "!=", "ifeq (a,b)", "else", "endif", "define a", "endef",
     "include x", "%.o: %.c", "a", " ", "\\\n", "#", ";", "|", "$(shell ls)", "$(call a,b)", "$(foreach a,b,c)", "{{", "}}", "'", '"', "`",
     "(a b)", "alias", "set shell := ['sh']", "&&", "*a:", "$", ","]
)  # fmt: skip


@given(
    text=st.lists(MAKE_PIECES, max_size=40).map("".join),
    line=st.sampled_from(["make", "make x", "make a.o x=1", "just", "just x a b"]),
)
@settings(max_examples=200, deadline=None)
def test_no_makefile_raises(text: str, line: str) -> None:
    world = FakeWorld({f"{PROJECT}/Makefile": text, f"{PROJECT}/justfile": text}, cwd=PROJECT)
    answers = started(Command(tuple(line.split()), cwd=PROJECT), world, depth=0)
    assert not [a for a in answers if isinstance(a, Refusal) and a.kind == "unparsed"]


WORDS = st.sampled_from(
    ["python", "python3", "node", "npm", "yarn", "pnpm", "bun", "deno", "ruby", "perl", "php", "sh", "bash", "uv", "poetry", "hatch", "make",
     "just", "npx", "pwsh", "cmd", "composer", "pip", "run", "test", "install", "-c", "-e", "-m", "-r", "-f", "-C", "-w", "--", "-", "x.py", "x.sh",
     "--prefix", "--prefix=a", "-lne", "/c", "-File", "", ".", "..", "/", "x\ud800", "exec", "workspace", UNKNOWN, MANY, Pattern(("a", None))]
)  # fmt: skip


UNDECODED = "its encoded command cannot be decoded"


@given(
    argv=st.lists(WORDS, min_size=1, max_size=6).map(tuple),
    manifest=st.text(max_size=60)
    | st.just('{"scripts": {"test": "x", "run": 1}, "workspaces": {"packages": ["a/*", 3]}}'),
)
@settings(max_examples=400, deadline=None)
def test_no_command_line_raises(argv: tuple[object, ...], manifest: str) -> None:
    files = {
        f"{PROJECT}/{name}": manifest
        for name in (
            "package.json",
            "pyproject.toml",
            "deno.json",
            "composer.json",
            "x.py",
            "x.sh",
            "setup.py",
        )
    }
    command = Command(argv, cwd=PROJECT)  # type: ignore[arg-type]
    for answer in started(command, FakeWorld(files, cwd=PROJECT), depth=0):
        assert isinstance(answer, Started | Refusal)
        # Text that is no encoded command after all is not understood, and says so.
        assert not isinstance(answer, Refusal) or answer.kind != "unparsed" or answer.why == UNDECODED
