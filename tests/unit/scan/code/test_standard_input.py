"""Claims about code that runs what it is fed: the text on its standard input counts as code."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import ruleset as ruleset
from tests.unit.scan.conftest import verdict

WIPE = "'import shutil; shutil.rmtree(\"/home/dev\")'"


@pytest.mark.parametrize(
    "text",
    [
        f"python3 -c 'import sys; exec(sys.stdin.read())' <<< {WIPE}",
        f"""python3 -c "exec(open('/dev/stdin').read())" <<< {WIPE}""",
        "echo 'rm -rf ~' | python3 -c 'import os; os.system(input())'",
        "node -e \"eval(require('fs').readFileSync('/dev/stdin'))\" <<< 'require(\"fs\").rmSync(\"/home/dev\",{recursive:true})'",
    ],
)
def test_what_code_is_fed_and_runs_is_read(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=True) == "block"


def test_what_code_is_fed_and_prints_is_data(ruleset: Ruleset) -> None:
    assert verdict("echo 'rm -rf ~' | python3 -c 'print(input())'", ruleset, covered=False) == "allow"


@pytest.mark.parametrize(
    "call", ["boto3.resource('s3').Bucket('x').objects.all().delete()", "docker.from_env().volumes.prune()"]
)
def test_a_cloud_library_that_deletes_is_stopped(call: str, ruleset: Ruleset) -> None:
    text = f'python3 -c "import boto3, docker; {call}"'
    assert verdict(text, ruleset, covered=True) != "allow"


def test_a_cloud_library_that_lists_is_left_alone(ruleset: Ruleset) -> None:
    text = "python3 -c \"import boto3; print(list(boto3.resource('s3').Bucket('x').objects.all()))\""
    assert verdict(text, ruleset, covered=False) == "allow"
