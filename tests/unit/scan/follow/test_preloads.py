"""Claims about variables that name a file: what an interpreter loads through them is read like a script."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from tests.unit.scan.conftest import PROJECT, decision, world
from tests.unit.scan.conftest import ruleset as ruleset

WIPES = {
    f"{PROJECT}/wipe.js": "require('fs').rmSync(require('os').homedir(), {recursive: true})\n",
    f"{PROJECT}/wipe.rb": "require 'fileutils'\nFileUtils.rm_rf(Dir.home)\n",
    f"{PROJECT}/wipe.py": "import shutil, os\nshutil.rmtree(os.path.expanduser('~'))\n",
}


@pytest.mark.parametrize(
    "text",
    [
        "NODE_OPTIONS='--require ./wipe.js' npm test",
        "NODE_OPTIONS=--import=./wipe.js node safe.js",
        "export NODE_OPTIONS='-r ./wipe'; npx vitest",
        "RUBYOPT=-r./wipe ruby -v",
        "PYTHONSTARTUP=./wipe.py python3 -i",
        "ENV=scripts/wipe.sh sh -i",
        "run-parts --regex '.*' scripts",
        "PS4='$(rm -rf ~)' bash -xc true",
    ],
)
def test_what_a_variable_loads_is_read(text: str, ruleset: Ruleset) -> None:
    assert decision(scan(text, ruleset, world(**WIPES)), covered=False) == "block"


@pytest.mark.parametrize(
    "text",
    [
        "NODE_OPTIONS='--max-old-space-size=4096 -r dotenv/config' npm run build",
        "ENV=production sh scripts/build.sh",
        "ENV=scripts/wipe.sh bash -c true",
        "PYTHONSTARTUP=./wipe.py python3 safe.py",
        "run-parts --test scripts",
        "run-parts missing",
        "PS4='+ $(date) ' bash -x scripts/build.sh",
    ],
)
def test_what_nothing_loads_is_left_alone(text: str, ruleset: Ruleset) -> None:
    assert decision(scan(text, ruleset, world(**WIPES)), covered=False) == "allow"
