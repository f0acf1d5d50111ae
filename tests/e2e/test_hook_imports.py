"""A hook that evaluates by itself loads what its call needs and nothing else: each module costs all calls their time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chrono.guard.install import boot_path
from tests.e2e.hooked import Hooked

PYTHON = set(
    """
    __future__ _abc _bisect _blake2 _cffi_backend _codecs _collections _collections_abc _frozen_importlib_external
    _functools _io _json _operator _sha1 _sha2 _sha256 _signal _sitebuiltins _sre _stat _struct abc binascii bisect
    codecs collections collections.abc copyreg encodings encodings.aliases encodings.ascii encodings.utf_8 enum errno
    fcntl functools gc genericpath io itertools json json.decoder
    json.encoder json.scanner keyword marshal operator os posix posixpath pwd re re._casefix
    re._compiler re._constants re._parser reprlib site stat struct time types winreg zipimport zlib
    """.split()
)
"""Of Python itself. `typing`, `hashlib`, `threading`, `contextlib`, `base64` and `importlib` are not among them."""

SITE = ("sitecustomize", "usercustomize", "_distutils_hack", "_virtualenv", "__editable__")
"""What the installation around chrono may load at its start."""

CRYPTOGRAPHY = {
    "cryptography",
    "cryptography.__about__",
    "cryptography.hazmat",
    "cryptography.hazmat.bindings",
    "cryptography.hazmat.bindings._rust",
}

CHRONO = {
    "": "canonical clock digest errors files ids layout plugins signing tuples",
    "agents": "claude_code payload protocol registry",
    "audit": """append checkpoint compare durable external head keys log merkle opened pin place record redact tail text
        witness""",
    "guard": "caller effects engine local resources wording",
    "policy": "allow cover decide layers model pin protect",
    "rulepack": "ruleset",
    "scan": """command conditions expression file_options finding gitindex gitremotes gitwork holding hosts installing
        issuers listing match once options paths places readonly ready rule scanner secrets showing stage sweeping
        touch usage wintouch world""",
    "scan.follow": "programs",
    "scan.shell": """ansi arithmetic assignments braces builtins calculate choices conditions effects elsewhere evaluate
        expand files_found globbing globs interpret lexer loops machine origin parameter_values parameters parser plain
        printing redirections redirects shells simple sinks starting state syntax values variables words
        wrapper_options wrappers xargs zsh zsh_blocks""",
    "workspace": "actors config machine_world project standing trust",
}
"""By room. Whoever adds one says here that every call of every agent shall load it; what only some calls need is better
imported in the function that needs it."""


def loaded(hooked: Hooked, command: str) -> set[str]:
    """The modules that the hook's own process imports for a call of Bash."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", boot_path(), "claude-code"],
        cwd=hooked.project,
        env=hooked.environ,
        input=hooked.payload("Bash", {"command": command}),
        capture_output=True,
    )
    assert done.returncode == 0, done
    rows = [row for row in done.stderr.decode().splitlines() if row.startswith("import time:")]
    return {row.rpartition("|")[2].strip() for row in rows[1:]}


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Hooked:
    made = Hooked(tmp_path_factory.mktemp("imports"), service="off")
    made.chrono("init")
    loaded(made, "git status")  # compiles rules, where nobody has yet
    return made


def test_a_call_that_only_reads_loads_the_modules_named_here(hooked: Hooked) -> None:
    allowed = PYTHON | CRYPTOGRAPHY | {f"chrono.{room}" for room in CHRONO if room}
    allowed |= {f"chrono.{room}.{name}".replace("..", ".") for room, names in CHRONO.items() for name in names.split()}
    found = {name for name in loaded(hooked, "git status") if not name.startswith(SITE)}
    assert sorted(found - allowed) == []


@pytest.mark.parametrize("command", ["ls -l sub && grep -n x a.txt", "cat a.txt | head -3", "cd sub; test -f c.txt"])
def test_a_reading_command_loads_neither_store_nor_yaml_nor_typing(hooked: Hooked, command: str) -> None:
    found = loaded(hooked, command)
    rooms = {".".join(name.split(".")[:2]) for name in found}
    assert not rooms & {"chrono.store", "chrono.yamlfile", "chrono.plainyaml", "chrono.record", "chrono.server"}
    assert not found & {
        "pygit2",
        "typing",
        "hashlib",
        "threading",
        "subprocess",
        "pathlib",
        "importlib.metadata",
    }


def test_whoever_takes_a_savepoint_loads_the_store(hooked: Hooked) -> None:
    assert "chrono.store.repository" in loaded(hooked, "touch made")
