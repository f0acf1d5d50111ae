"""Claims about variables that neither the text nor the environment sets: empty is one reading, anything another."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf $DIR",
        'rm -rf "$DIR"',
        "rm -rf $DIR/*",
        'rm -rf "$BUILD_DIR"/*',
        'rm -rf "${TARGET%/}/"',
        "rm -rf $A$B",
        "rm -rf /$DIR",
        'cd "$DIR" && rm -rf ./*',
        'find "$DIR" -type f -delete',
        'sudo rm -rf "$INSTALL_DIR"',
        "$CMD -rf /",
        "$RM ~",
        'bash -c "$CMD /"',
        "sudo chown -R $OWNER /usr",
        'git clean -fdx "$DIR"',
    ],
)
def test_a_destroyer_is_stopped_whatever_the_variable_holds(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) != "allow"


@pytest.mark.parametrize(
    "text",
    [
        "echo $FOO",
        'rm -rf "${BUILD_DIR:-build}"',
        "rm -rf dist/$VERSION",
        'rm -rf "/tmp/build-$$"',
        "rm -f /tmp/$X.txt",
        "find $DIR -name '*.py'",
        "find \"$DIR\" -name '*.pyc' -delete",
        'mkdir -p "$DIR" && ls "$DIR"',
        "chmod +x $BIN",
        "git push origin $BRANCH",
        'git checkout -b "$BRANCH"',
        "$PYTHON -m pytest",
        "./$SCRIPT",
        "kubectl get pods -n $NS",
        "docker run --rm -e FOO=$FOO app",
        "echo hi > $OUT",
    ],
)
def test_everything_else_is_left_alone(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) == "allow"
