"""Owns which lines of a continuous integration's settings send its secrets away.

What else such jobs do happens on another machine, and is no business of the guard's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SENDER = re.compile(r"\b(?:curl|wget|nc|ncat|http|https|Invoke-WebRequest|Invoke-RestMethod)\b[^\n]*")
_KEPT = r"(?:\$\{\{\s*secrets[.\[][^}]*\}\}|\$\{?(?:CI_JOB_TOKEN|CI_REGISTRY_PASSWORD|GITHUB_TOKEN)\}?)"
_BODY = r"(?:--?d(?:ata[\w-]*)?|-F|--form|--json|--post-data|-Body)[ =](?:\"[^\"\n]*|'[^'\n]*|[^\s\"']*)"
_IN_BODY = re.compile(_BODY + _KEPT)
_IN_QUERY = re.compile(r"https?://[^\s\"']*[?&/][^\s\"']*" + _KEPT)
_ALL = re.compile(r"toJSON\(\s*secrets\s*\)", re.IGNORECASE)
_WHOLE = re.compile(r"(?:^|[\s;:(-])(?:env|printenv|export -p)\b[^\n]*\|[^\n]*\b(?:curl|wget|nc|ncat)\b", re.MULTILINE)
_ASSIGNED = re.compile(r"^[ \t-]*(\w+)[ \t]*:[ \t]*[\"']?\$\{\{\s*secrets[.\[]", re.MULTILINE)


def is_workflow(path: str) -> bool:
    """Whether a service runs the jobs in a file of this path."""
    folder, _, name = path.rpartition("/")
    if folder.endswith((".github/workflows", ".gitea/workflows", ".forgejo/workflows", "/.circleci")):
        return name.endswith((".yml", ".yaml"))
    return name in (".gitlab-ci.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".travis.yml")


def sending_lines(text: str) -> Iterator[str]:
    """The commands that send secrets or the whole environment; a header with a token is how services are asked."""
    text = text.replace("\\\n", " ")
    whole = _ALL.search(text) is not None
    names = "|".join(map(re.escape, _ASSIGNED.findall(text)[:40]))
    named = re.compile(rf"{_BODY}\$\{{?(?:{names})\b|[?&][^\s\"']*\$\{{?(?:{names})\b")
    yield from (match[0].strip() for match in _WHOLE.finditer(text))
    for match in _SENDER.finditer(text):
        line = match[0]
        if whole or _IN_BODY.search(line) or _IN_QUERY.search(line) or (names and named.search(line)):
            yield line
