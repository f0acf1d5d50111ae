"""Claims about folders and files that a text makes for itself: work in them is its own, a folder that may be missing is
not one of them."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p /tmp/demo && cd /tmp/demo && git init -q && git reset --hard",
        "mkdir -p /tmp/demo && cd /tmp/demo\ngit init -q\ngit reset --hard HEAD",
        "mkdir -p /tmp/demo\ncd /tmp/demo\ngit init -q\ngit clean -fdx",
        "cd /tmp && git init demo && cd demo\ngit reset --hard",
        "git clone https://github.com/a/b /tmp/b\ncd /tmp/b\ngit checkout .",
        'cd "$(mktemp -d)"\ngit init -q\ngit clean -fdx',
        'd=$(mktemp -d)\ncd "$d"\ngit init -q\ngit reset --hard',
        'cd "$(mktemp -d)" && echo hi > f && rm -rf ./f',
        "mkdir -p /tmp/w\ncd /tmp/w\nrm -rf ./*",
    ],
)
def test_work_in_a_folder_of_its_own_is_left_alone(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "cd /tmp/missing; git reset --hard",
        "cd /tmp/missing\nrm -rf *",
        'cd "$(pick-a-folder)"; git reset --hard',
        "mkdir /tmp/x; cd /tmp/x/y; rm -rf *",
        "mkdir README.md/x; cd README.md/x; rm -rf *",
        "mkdir /proc/x; cd /proc/x; git clean -fdx",
        "mkdir -p /proc/x || rm -rf ~",
        'cd "$(mktemp -d)"; rm -rf ../../home',
        "mkdir -p /tmp/w && cd /tmp/w\ncd /home/dev/proj\ngit reset --hard",
    ],
)
def test_a_folder_that_may_be_missing_is_not_trusted(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=False) != "allow"


@pytest.mark.parametrize(
    "text",
    [
        't=$(mktemp)\necho \'rm -rf ~\' > "$t"\nbash "$t"',
        "echo 'rm -rf $D' > x.sh; D=~ sh x.sh",
        "export D=/home/dev; envsubst <<< 'rm -rf $D' | sh",
        "npm pkg set scripts.x='rm -rf ~'",
    ],
)
def test_a_file_with_a_random_name_is_followed_too(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=True) == "block"
