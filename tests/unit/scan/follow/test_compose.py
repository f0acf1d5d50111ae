"""Claims about services of a compose file."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict


def service(*lines: str) -> str:
    body = "\\n".join(f"    {line}" for line in ("image: alpine", *lines))
    return f"printf 'services:\\n  web:\\n{body}\\n' > compose.yaml && docker compose up -d"


@pytest.mark.parametrize(
    "lines",
    [
        ("privileged: true",),
        ("volumes:", "  - /:/host"),
        ('volumes: ["~/.ssh:/keys"]',),
        ("volumes:", "  - type: bind", "    source: /etc", "    target: /e"),
        ("volumes:", "  - /var/run/docker.sock:/s"),
        ("cap_add: [SYS_ADMIN]",),
        ("pid: host",),
    ],
)
def test_what_a_service_gets_of_the_machine_is_judged_as_by_run(lines: tuple[str, ...], ruleset: Ruleset) -> None:
    assert verdict(service(*lines), ruleset, covered=True) != "allow"


@pytest.mark.parametrize(
    "lines",
    [
        ("volumes:", "  - .:/app", "  - data:/var/lib/data"),
        ('ports: ["80:80"]', "command: rm -rf /tmp/cache"),
        ("pid: service:db",),
    ],
)
def test_a_service_with_files_of_the_project_may_start(lines: tuple[str, ...], ruleset: Ruleset) -> None:
    assert verdict(service(*lines), ruleset, covered=True) == "allow"


def test_a_file_is_read_only_where_services_start(ruleset: Ruleset) -> None:
    text = service("privileged: true")
    assert verdict(text.replace("up -d", "config"), ruleset, covered=True) == "allow"
