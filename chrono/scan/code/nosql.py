"""Owns what Redis commands and MongoDB shell code destroy. SQL is left to `sql`."""

from __future__ import annotations

from chrono.scan.code.sql import SqlEffect

_MONGO = (
    # method, kind, what
    ("dropDatabase", "drop", "database"),
    ("shutdownServer", "drop", "server"),
    ("dropUser", "drop", "user"),
    ("dropAllUsersFromDatabase", "drop", "user"),
    ("dropIndexes", "", ""),
    ("drop", "drop", "collection"),
    ("deleteMany", "delete", "collection"),
    ("remove", "delete", "collection"),
    ("updateMany", "update", "collection"),
)


def redis_effects(words: tuple[str, ...]) -> tuple[SqlEffect, ...]:
    """What one Redis command destroys; its words come from the command line or from a line of a script."""
    if not words:
        return ()
    name = words[0].lower()
    span = (0, 0)
    if name in ("flushall", "flushdb"):
        return (SqlEffect("truncate", "database", False, span),)
    if name == "config" and len(words) > 1 and words[1].lower() == "set":
        # Writing the dump elsewhere is how a server is made to overwrite a file.
        if len(words) > 2 and words[2].lower() in ("dir", "dbfilename"):
            return (SqlEffect("shell", "config set " + words[2].lower(), False, span),)
        return ()
    second = words[1].lower() if len(words) > 1 else ""
    if name in ("replicaof", "slaveof") and second not in ("", "no"):
        return (SqlEffect("truncate", "database", False, span),)
    if (name, second) in (("debug", "segfault"), ("cluster", "reset"), ("acl", "deluser")):
        return (SqlEffect("drop", f"{name} {second}", False, span),)
    if name == "acl" and second == "setuser" and {"+@all", "allcommands", "nopass"} & set(words):
        return (SqlEffect("grant", "all commands", False, span),)
    if (name, second) == ("module", "load"):
        return (SqlEffect("shell", "module load", False, span),)
    if name == "shutdown" and any(word.lower() == "nosave" for word in words[1:]):
        return (SqlEffect("drop", "unsaved data", False, span),)
    if name in ("eval", "eval_ro") and len(words) > 1:
        lowered = words[1].lower()
        found = "keys" in lowered and ("'del'" in lowered or "'unlink'" in lowered)
        emptied = found or "flushall" in lowered or "flushdb" in lowered
        return (SqlEffect("truncate", "database", False, span),) if emptied else ()
    return ()


def redis_script_effects(text: str) -> tuple[SqlEffect, ...]:
    """The same for lines on standard input."""
    found: list[SqlEffect] = []
    at = 0
    for line in text.split("\n"):
        found += [e._replace(span=(at, at + len(line))) for e in redis_effects(tuple(line.split()))]
        at += len(line) + 1
    return tuple(found[:200])


def mongo_effects(text: str) -> tuple[SqlEffect, ...]:
    """What mongosh code destroys: calls outside strings and comments."""
    code = _without_strings(text)
    found: list[SqlEffect] = []
    at = 0
    while (at := code.find(".", at)) >= 0 and len(found) < 200:
        for method, kind, what in _MONGO:
            if code.startswith(method, at + 1) and code[at + 1 + len(method) :].lstrip()[:1] == "(":
                if kind:
                    opening = code.index("(", at)
                    start = at
                    while start > 0 and (code[start - 1].isalnum() or code[start - 1] in "_.$"):
                        start -= 1
                    owner = code[start:at].removeprefix("db.").strip(".")
                    limited = kind != "drop" and _has_filter(code, opening)
                    name = f"{what} {owner}".strip() if what == "collection" else what
                    found.append(SqlEffect(kind, name, limited, (start, opening + 1)))
                break
        at += 1
    return tuple(found)


def _has_filter(code: str, opening: int) -> bool:
    """True if the first argument is a filter that holds something."""
    rest = code[opening + 1 :].lstrip()
    if not rest or rest[0] == ")":
        return False
    if rest[0] != "{":
        return True
    return rest[1:].lstrip()[:1] != "}"


def _without_strings(text: str) -> str:
    """The text with strings and comments blanked, so that offsets stay."""
    out: list[str] = []
    at, end = 0, len(text)
    while at < end:
        letter = text[at]
        if letter in "'\"`":
            stop = at + 1
            while stop < end and text[stop] != letter:
                stop += 2 if text[stop] == "\\" else 1
            stop = min(stop + 1, end)
            out.append(letter + " " * (stop - at - 2) + (letter if stop - at > 1 else ""))
            at = stop
        elif text.startswith("//", at) or text.startswith("/*", at):
            mark = "\n" if text.startswith("//", at) else "*/"
            stop = text.find(mark, at)
            stop = end if stop < 0 else stop + (len(mark) if mark == "*/" else 0)
            out.append(" " * (stop - at))
            at = stop
        else:
            out.append(letter)
            at += 1
    return "".join(out)
