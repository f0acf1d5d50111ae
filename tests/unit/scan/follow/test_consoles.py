"""Claims about consoles of frameworks, and about variables that hold commands."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict

GONE_RB = "FileUtils.rm_rf(Dir.home)"
GONE_PY = 'import shutil, os; shutil.rmtree(os.path.expanduser("~"))'
GONE_PHP = 'system("rm -rf ~");'


@pytest.mark.parametrize(
    "text",
    [
        f"echo '{GONE_RB}' | rails console",
        f"bin/rails runner '{GONE_RB}'",
        f"echo '{GONE_RB}' | bundle exec rails runner -",
        f"echo '{GONE_RB}' | irb",
        f"pry -e '{GONE_RB}'",
        f"echo '{GONE_PY}' | python manage.py shell",
        f"./manage.py shell -c '{GONE_PY}'",
        f"django-admin shell --command='{GONE_PY}'",
        f"echo '{GONE_PY}' | flask shell",
        f"echo '{GONE_PHP}' | php artisan tinker",
        f"php artisan tinker --execute='{GONE_PHP}'",
        f"echo '{GONE_PHP}' | php -a",
        "echo 'os.execute(\"rm -rf ~\")' | lua -",
        'osascript -e \'tell app "Terminal" to do script "rm -rf ~/Documents"\'',
        "osascript <<'E'\ndo shell script \"rm -rf ~/Documents\"\nE",
        "PROMPT_COMMAND='rm -rf ~'",
        "set -a; GIT_PAGER='rm -rf ~'",
        "export PS4='$(rm -rf ~)'",
        "export GIT_SSH_COMMAND='sh -c \"rm -rf ~\"'",
        "echo \"export PROMPT_COMMAND='rm -rf ~'\" >> ~/.bash_aliases_of_mine; . ~/.bash_aliases_of_mine",
    ],
)
def test_code_for_a_console_is_read(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=True) == "block"


@pytest.mark.parametrize(
    "text",
    [
        "echo 'puts User.count' | rails console",
        "bin/rails runner 'puts Rails.root'",
        "echo 'print(1)' | python manage.py shell",
        "python manage.py shell -c 'from shop.models import Order; print(Order.objects.count())'",
        "php artisan tinker --execute='dump(App\\Models\\User::count());'",
        "osascript -e 'display notification \"done\"'",
        "PROMPT_COMMAND='history -a'",
        "export EDITOR=vim PAGER=less GIT_PAGER=cat",
        "PS1='\\u@\\h:\\w\\$ '",
        "export PS1='$(git branch --show-current) $ '",
    ],
)
def test_a_look_into_the_data_is_left_alone(text: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=True) == "allow"


@pytest.mark.parametrize("name", ["precmd", "preexec", "chpwd", "zshexit", "TRAPEXIT"])
def test_a_function_that_zsh_calls_by_itself_is_run(name: str, ruleset: Ruleset) -> None:
    text = f"{name}() {{ rm -rf ~ }}"
    assert verdict(text, ruleset, covered=True, shell="zsh") == "block"
    assert verdict(text.replace("rm -rf", "ls"), ruleset, covered=True, shell="zsh") == "allow"
    assert verdict(text.replace(name, "mine"), ruleset, covered=True, shell="zsh") == "allow"
