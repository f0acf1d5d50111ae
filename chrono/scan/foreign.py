"""Owns the signs by which code of any language is told to be a reverse shell, a fork bomb, a sender of secrets.

Single calls of languages without a reader are left to `foreign_calls`, languages with one to `scan.code`.
"""

from __future__ import annotations

import re

MAX_CHARS = 20_000

_CONNECTING = ("socket", "fsockopen", "createconnection", "net.connect", "net.dial", "tcpclient", "gen_tcp", "/inet/")
_CONNECTING_FORM = re.compile(r"require\s*\(\s*[\"']net[\"']|\bztcp\b")
_SHELL = re.compile(
    r"(?:^|[\"'`/\s(\[{])(?:ba|z|da|k|a|c|tc|fi)?sh(?=[\"'`\s,;)\]}<-]|$)|cmd\.exe|powershell", re.MULTILINE
)
_JOINS = re.compile(
    r"dup2|fdopen|\bpipe\s*\(|proc_open|popen|<&|>&|<@|>@|STD(?:IN|OUT)|\bstdin\b|spawn|exec|system|getline"
)
_RUNS_WHAT_COMES = re.compile(
    r"(?:\b(?:system|popen|p?open3?|exec\w*|eval|shell_exec|passthru|check_output|run|call|Popen)\s*[(\s]?\s*[$@]?[A-Za-z_]"
    r"\w*\s*(?:[,().]|while\b|;|$))|\|&\s*getline|\|\s*getline|`\s*#?[${]"
)
_RECEIVES = re.compile(r"\bgets\b|\brecv\b|\breadline\b|getline|<\$?\w*>|\bread\(|\.on\(|receive|fgets|\bread_line\b")
_FORKS = re.compile(
    r"\bfork\b[\s();&]*while\b|\bwhile\b[\s(]*(?:1|[Tt]rue|fork)\b[^\n]{0,60}\bfork\b|\bloop\b[\s{do]*(?:Process\.)?fork|"
    r"\bfork\(\)\s+for\b|\bfork\(\)\s*while\b|for\s*\(;;\)[^\n]{0,40}?\b(?:pcntl_)?fork\(|\bfork\s*\{\s*fork"
)
_FETCHES = re.compile(
    r"urlopen|urlretrieve|\brequests\.\w|httpx?\.(?:get|post|request)|https?['\")]*\)?\.(?:get|request)|\bfetch\s*\(|"
    r"URI\.open|open-uri|LWP|file_get_contents\s*\(\s*['\"]http|curl_exec|Net::HTTP|axios|HTTP::Tiny|\bsendall\b"
)
_EVALUATES = re.compile(
    r"\beval\b|(?<![\w.])exec\s*\(|new Function\b|\brunIn\w+Context|instance_eval|(?<![\w.])compile\s*\("
)
_ENVIRONMENT = re.compile(
    r"(?:\b(?:str|dict|repr|dumps|stringify|urlencode|to_json|json_encode|http_build_query|inspect|[Bb]uffer\.from)\s*\(\s*"
    r"(?:dict\s*\()?\s*(?:os\.environ|process\.env|ENV|\$_ENV|getenv\(\))\s*[),]|ENV\.(?:to_h|inspect|to_a|map|to_json)"
    r"|(?:data|json|params|body)\s*[=:]\s*(?:dict\s*\()?(?:os\.environ|process\.env)(?![.\[\w]))"
)
_SDK_DELETES = re.compile(
    r"\.(delete_(?:bucket|objects?|table|db_\w+|stack|user|function|cluster|topics?|queue|volume|snapshot|secret|role"
    r"|file_system|log_group|hosted_zone|security_group|vpc|subnet|repository|image|instances?|blobs?|container"
    r"|namespace|namespaced_\w+|collection_\w+|database|project|repo)|terminate_instances|drop_database|purge_queue"
    r"|schedule_key_deletion|deleteBucket|deleteObjects|terminateInstances|deleteTable|dropDatabase|deleteTopics"
    r"|(?<=containers\.)prune|(?<=volumes\.)prune|(?<=images\.)prune|(?<=indices\.)delete|remove(?=\(force=True)"
    r"|(?:objects|object_versions)(?=(?:\.(?:all|filter)\([^()]{0,80}\))?\.delete\())[.(\s]"
)


_TO_EVALUATE = ("eval", "exec", "compile", "Function", "Context")
_TO_NAME_IT = ("environ", "process.env", "ENV", "getenv")
_TO_DELETE = ("delet", "terminate", "drop", "purge", "prune", "remove")
"""Words of which what an expression looks for has one: looking for them first costs a tenth, and most code has none."""


def is_reverse_shell(code: str) -> bool:
    """Whether code of any language connects to somebody and puts a shell, or what it receives, on that connection."""
    if len(code) > MAX_CHARS or not _connects(code):
        return False
    if _SHELL.search(code) is not None and _JOINS.search(code) is not None:
        return True
    return _RECEIVES.search(code) is not None and _RUNS_WHAT_COMES.search(code) is not None


def _connects(code: str) -> bool:
    """Whether it speaks of a connection, in capitals or not."""
    folded = code.casefold()
    if _has_one(folded, _CONNECTING):
        return True
    return _has_one(folded, ("require", "ztcp")) and _CONNECTING_FORM.search(folded) is not None


def _has_one(code: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - a generator costs more than the look
        if word in code:
            return True
    return False


def runs_download(code: str) -> bool:
    """Whether code runs, as code, what it gets over the network."""
    if len(code) > MAX_CHARS or not _has_one(code, _TO_EVALUATE):
        return False
    return _EVALUATES.search(code) is not None and _FETCHES.search(code) is not None


def sends_environment(code: str) -> bool:
    """Whether code sends the whole environment over the network."""
    if len(code) > MAX_CHARS or not _has_one(code, _TO_NAME_IT):
        return False
    return _ENVIRONMENT.search(code) is not None and _FETCHES.search(code) is not None


_ADDRESS = re.compile(r"https?://([^/\"'`\s?]+)")
_POSTS = re.compile(r"\b(?:post|put|patch)\b|\b(?:data|files|body|json|content)\s*[:=]", re.IGNORECASE)


def posts_to_strangers(code: str) -> bool:
    """Whether code sends something to another machine over HTTP."""
    if len(code) > MAX_CHARS or _FETCHES.search(code) is None or _POSTS.search(code) is None:
        return False
    hosts = _ADDRESS.findall(code)
    return not hosts or any(not host.startswith(("localhost", "127.0.0.1", "[::1]")) for host in hosts)


def is_fork_bomb(code: str) -> bool:
    """Whether code starts copies of itself without end."""
    return len(code) <= MAX_CHARS and "fork" in code and _FORKS.search(code) is not None


def cloud_deletions(code: str) -> tuple[str, ...]:
    """Names of calls that delete through a library of a cloud, a cluster or a database."""
    if len(code) > MAX_CHARS or not _has_one(code, _TO_DELETE):
        return ()
    return tuple(dict.fromkeys(_SDK_DELETES.findall(code)))
