"""Owns what SQL text destroys: a lexer for literals, comments and dollar quotes, and the few statements that matter.

Other databases' languages are left to `nosql`; which programs take SQL to the rules.
"""

from __future__ import annotations

from chrono.scan.stage import TEST, stage_named
from chrono.tuples import NamedTuple

MAX_TOKENS = 60_000
MAX_EFFECTS = 200


class SqlEffect(NamedTuple):
    """One statement that destroys something.

    - `kind`: "drop", "truncate", "delete", "update", "alter-drop", "grant" (rights for everybody, or all rights),
      "disconnect" (ends the sessions of others), "shell" (psql's `\\!` and its like) or "limit" (the text is longer
      than is read).
    - `object`: what it destroys, lower case: "table users", "database app", "column t.c"; the command for "shell".
    - `has_where`: True where a condition limits it; a condition that always holds does not count.
    - `span`: character offsets of the statement in the text.
    """

    kind: str
    object: str
    has_where: bool
    span: tuple[int, int]


class _Token(NamedTuple):
    kind: str
    """"word", "quoted" (a quoted name), "literal", "number" or "sign"."""
    text: str
    start: int
    end: int


def statements(text: str) -> tuple[SqlEffect, ...]:
    """The destructive statements in SQL text, in order; DELETE and UPDATE with a condition are among them.

    Never raises. specs: scanner section 4.
    """
    effects = list(_shell_escapes(text))
    tokens, whole = _tokens(text)
    at = 0
    while at < len(tokens) and len(effects) < MAX_EFFECTS:
        stop = at
        while stop < len(tokens) and tokens[stop].text != ";":
            stop += 1
        if stop > at:
            effects.extend(_effects(tokens[at:stop]))
        at = stop + 1
    if not whole:
        effects.append(SqlEffect("limit", "text", False, (0, len(text))))
    return tuple(sorted(effects, key=lambda effect: effect.span))


def destroys(effect: SqlEffect) -> bool:
    """True of everything but a DELETE or UPDATE that a condition limits, and a database that its name says is for
    tests."""
    kind, _, name = effect.object.partition(" ")
    if effect.kind == "drop" and kind == "database" and stage_named(name) == TEST:
        return False
    return not (effect.kind in ("delete", "update") and effect.has_where)


# --- the lexer --------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> tuple[list[_Token], bool]:
    """Tokens without comments; False if there are more than are read."""
    tokens: list[_Token] = []
    at, end = 0, len(text)
    while at < end:
        if len(tokens) >= MAX_TOKENS:
            return tokens, False
        letter = text[at]
        if letter.isspace():
            at += 1
        elif text.startswith("--", at) or (letter == "#" and (at == 0 or text[at - 1].isspace())):
            newline = text.find("\n", at)
            at = end if newline < 0 else newline
        elif text.startswith("/*", at):
            at = _after_comment(text, at, tokens)
        elif letter == "\\" and (at == 0 or text[at - 1] == "\n"):
            # A line for the client (psql's `\c db`), not for the server.
            newline = text.find("\n", at)
            at = end if newline < 0 else newline
        elif letter in "'\"`[":
            at = _quoted(text, at, tokens)
        elif letter == "$" and (stop := _dollar_quote(text, at)):
            tokens.append(_Token("literal", "", at, stop))
            at = stop
        elif letter.isalpha() or letter == "_":
            stop = at + 1
            while stop < end and (text[stop].isalnum() or text[stop] in "_$"):
                stop += 1
            prefixed = stop < end and text[stop] == "'" and text[at:stop].lower() in ("e", "n", "b", "x", "u", "q")
            if prefixed:
                at = _quoted(text, stop, tokens, escapes=text[at:stop].lower() == "e")
            else:
                tokens.append(_Token("word", text[at:stop].lower(), at, stop))
                at = stop
        elif letter.isdigit():
            stop = at + 1
            while stop < end and (text[stop].isalnum() or text[stop] == "."):
                stop += 1
            tokens.append(_Token("number", text[at:stop], at, stop))
            at = stop
        else:
            tokens.append(_Token("sign", letter, at, at + 1))
            at += 1
    return tokens, True


def _after_comment(text: str, at: int, tokens: list[_Token]) -> int:
    """The end of a `/* … */`, which nests; MySQL runs what is in `/*! … */`."""
    if text.startswith("/*!", at):
        at += 3
        while at < len(text) and text[at].isdigit():
            at += 1
        return at
    depth = 0
    while at < len(text):
        opening, closing = text.find("/*", at), text.find("*/", at)
        if closing < 0:
            return len(text)
        if 0 <= opening < closing:
            depth += 1
            at = opening + 2
        else:
            depth -= 1
            at = closing + 2
            if depth == 0:
                return at
    return len(text)


_ANY_HOST = "%"
"""The one literal that is told: in `'app'@'%'` it stands for every machine."""


def _quoted(text: str, at: int, tokens: list[_Token], escapes: bool = False) -> int:
    opener = text[at]
    closer = "]" if opener == "[" else opener
    if opener == "[" and (at + 1 >= len(text) or not (text[at + 1].isalpha() or text[at + 1] == "_")):
        tokens.append(_Token("sign", "[", at, at + 1))
        return at + 1
    stop = at + 1
    while True:
        stop = text.find(closer, stop)
        if stop < 0:
            stop = len(text)
            break
        if escapes and _is_escaped(text, at, stop):
            stop += 1
        elif text.startswith(closer * 2, stop) and opener != "[":
            stop += 2
        else:
            break
    kind, inner = "literal" if opener == "'" else "quoted", text[at + 1 : stop].lower()
    told = inner if kind == "quoted" or inner == _ANY_HOST else ""
    tokens.append(_Token(kind, told, at, min(stop + 1, len(text))))
    return min(stop + 1, len(text))


def _is_escaped(text: str, start: int, at: int) -> bool:
    """True if an odd number of backslashes stands in front of `at`."""
    place = at
    while place > start and text[place - 1] == "\\":
        place -= 1
    return (at - place) % 2 == 1


def _dollar_quote(text: str, at: int) -> int:
    """The end of `$tag$ … $tag$`, or 0 if none starts here."""
    stop = at + 1
    while stop < len(text) and (text[stop].isalnum() or text[stop] == "_"):
        stop += 1
    if stop >= len(text) or text[stop] != "$" or (stop > at + 1 and text[at + 1].isdigit()):
        return 0
    tag = text[at : stop + 1]
    closing = text.find(tag, stop + 1)
    return len(text) if closing < 0 else closing + len(tag)


def _shell_escapes(text: str) -> list[SqlEffect]:
    """Lines by which a client runs a program: psql `\\! x`, `\\o | x`; mysql `system x`; sqlite3 `.shell x`."""
    found: list[SqlEffect] = []
    at = 0
    for line in text.split("\n"):
        bare = line.strip()
        lower = bare.lower()
        command = ""
        if bare.startswith("\\!"):
            command = bare[2:]
        elif lower.startswith((".shell ", ".system ", "system ")):
            command = bare.partition(" ")[2]
        elif bare.startswith(("\\o |", "\\g |", "\\copy ")) and ("|" in bare or " program " in lower):
            command = bare.rpartition("|")[2] if "|" in bare else _program_of(bare)
        elif "\\!" in bare and not bare.startswith("--") and "'" not in bare:
            command = bare.partition("\\!")[2]
        if command.strip() and len(found) < MAX_EFFECTS:
            found.append(SqlEffect("shell", command.strip().rstrip(";").strip(), False, (at, at + len(line))))
        at += len(line) + 1
    return found


def _program_of(line: str) -> str:
    rest = line[line.lower().index(" program ") + 9 :].strip()
    return rest.strip("'").partition("'")[0]


# --- statements -------------------------------------------------------------------------------------------------------

_OBJECTS = frozenset(
    (
        "table database schema view index sequence user role type function procedure trigger domain extension keyspace "
        "tablespace column materialized foreign temporary owned collection policy publication subscription server rule "
        "aggregate operator cast routine event package synonym login partition constraint"
    ).split()
)
_FILLERS = frozenset("if exists only ignore low_priority quick from table concurrently global temp unique".split())
# Things that can be made again from the schema alone.
_HARMLESS = frozenset(
    "index trigger function procedure view policy rule cast operator aggregate routine constraint".split()
)


_LOGS = frozenset(("master", "binary", "replica", "slave"))
"""What `RESET` and `PURGE` of MySQL delete: the log of changes that copies and restores are made from."""


def _effects(tokens: list[_Token]) -> list[SqlEffect]:
    """What one statement destroys. A WITH, EXPLAIN or DO in front is looked through."""
    span = (tokens[0].start, tokens[-1].end)
    first = _verb_at(tokens)
    found: list[SqlEffect] = []
    words = [token.text if token.kind == "word" else "" for token in tokens]
    if first is None:
        return found
    verb = words[first]
    if verb == "explain" and "analyze" not in words[: first + 3]:
        return found
    if verb in ("with", "explain"):
        # A changing part may stand in any of the parts: `WITH x AS (DELETE FROM t RETURNING *) …`.
        for at in range(first + 1, len(tokens)):
            if words[at] in ("delete", "update", "truncate") and _begins(tokens, at):
                found.extend(_one(tokens[at : _closing(tokens, at)], words[at], span))
        return found
    return _one(tokens[first:], verb, span)


def _verb_at(tokens: list[_Token]) -> int | None:
    for at, token in enumerate(tokens[:4]):
        if token.kind == "word":
            # `BEGIN DROP TABLE x`, `EXEC …`: blocks of procedures start so.
            if token.text in ("begin", "declare", "do") and at + 1 < len(tokens):
                continue
            return at
        if token.text not in ("(", "{"):
            return None
    return None


def _begins(tokens: list[_Token], at: int) -> bool:
    before = tokens[at - 1]
    return before.text in ("(", ")", "as", "analyze", "verbose")


def _closing(tokens: list[_Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if depth < 0:
            return place
    return len(tokens)


def _one(tokens: list[_Token], verb: str, span: tuple[int, int]) -> list[SqlEffect]:
    rest = tokens[1:]
    if verb == "drop":
        kinds = [token.text for token in rest[:3] if token.kind == "word" and token.text in _OBJECTS]
        kind = kinds[0] if kinds else ""
        if not kind or kind in _HARMLESS or (kind == "materialized"):
            return []
        after = next(at for at, token in enumerate(rest) if token.text == kind) + 1
        return [SqlEffect("drop", f"{kind} {_object(rest[after:])}".strip(), False, span)]
    if verb == "truncate":
        if rest[:1] and rest[0].text == "(":
            return []
        return [SqlEffect("truncate", f"table {_object(rest)}".strip(), False, span)]
    if verb in ("delete", "update"):
        if not rest:
            return []
        if verb == "delete" and not any(t.text == "from" for t in rest[:4]) and rest[0].kind == "sign":
            return []
        if verb == "update" and not any(t.text == "set" for t in rest):
            return []
        return [SqlEffect(verb, f"table {_object(rest)}".strip(), _limited(rest), span)]
    if verb == "select" and _ends_sessions(rest):
        return [SqlEffect("disconnect", "sessions", False, span)]
    if verb in ("grant", "create", "alter") and _opens(verb, [t.text for t in rest if t.kind != "quoted"]):
        return [SqlEffect("grant", f"rights {_object(rest[1:])}".strip(), False, span)]
    if verb == "alter":
        return _alter(rest, span)
    if verb in ("reset", "purge") and rest[:1] and rest[0].text in _LOGS:
        return [SqlEffect("drop", f"logs {_object(rest)}".strip(), False, span)]
    if verb == "replace" and rest[:1] and rest[0].text == "into":
        return []
    if verb == "copy" and any(t.text == "program" for t in rest):
        return [SqlEffect("shell", "copy … program", False, span)]
    return []


_CHANGING = frozenset(("all", "insert", "update", "delete", "truncate"))


def _opens(verb: str, texts: list[str]) -> bool:
    """Rights to change things for everybody or from everywhere, a role that may do everything, rows shown to all."""
    if verb == "grant":
        everywhere = texts[-3:].count(_ANY_HOST) or _has(texts, _ANY_HOST, "with", "grant", "option")
        all_data = _has(texts, "on", "*", ".", "*") and everywhere
        return bool(all_data) or (not _CHANGING.isdisjoint(texts) and _has(texts, "to", "public"))
    if texts[:1] in (["role"], ["user"]):
        return "superuser" in texts[2:]
    return verb == "alter" and _has(texts, "disable", "row", "level", "security")


def _has(texts: list[str], *run: str) -> bool:
    return any(texts[at : at + len(run)] == list(run) for at in range(len(texts)))


def _ends_sessions(rest: list[_Token]) -> bool:
    """`pg_terminate_backend(pid)` over what a table gives; of one session that is named by its number it is no."""
    return any(
        token.text == "pg_terminate_backend" and rest[at + 2 : at + 3] and rest[at + 2].kind != "number"
        for at, token in enumerate(rest)
    )


def _alter(rest: list[_Token], span: tuple[int, int]) -> list[SqlEffect]:
    found = []
    table = _object(rest[1:])
    verbs = [at for at, token in enumerate(rest) if token.kind == "word" and token.text == "delete" and at > 1]
    if verbs and _has([t.text for t in rest], "delete", "where"):
        # ClickHouse deletes rows so.
        found.append(SqlEffect("delete", f"table {table}", _limited(rest), span))
    for at, token in enumerate(rest):
        if token.kind == "word" and token.text == "drop" and at > 1:
            following = [t for t in rest[at + 1 : at + 5] if t.text not in ("if", "exists")]
            if not following:
                continue
            if following[0].text == "column" and following[0].kind == "word":
                following = following[1:]
            elif following[0].kind == "word" and following[0].text in (
                *_HARMLESS, "primary", "foreign", "key", "default", "not", "check", "identity", "expression", "owned",
            ):  # fmt: skip
                continue
            kind = "partition" if following and following[0].text == "partition" else "column"
            name = _object(following[1:] if kind == "partition" else following)
            found.append(SqlEffect("alter-drop", f"{kind} {table}.{name}", False, span))
    return found


def _object(tokens: list[_Token]) -> str:
    """The name at the front, with its schema: `public.users`."""
    at = 0
    while at < len(tokens) and tokens[at].kind == "word" and tokens[at].text in _FILLERS:
        at += 1
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in ("word", "quoted"):
        parts.append(tokens[at].text)
        if at + 1 < len(tokens) and tokens[at + 1].text == ".":
            at += 2
        else:
            break
    return ".".join(parts)


def _limited(tokens: list[_Token]) -> bool:
    """True if a WHERE (outside brackets) or a LIMIT is there that does not hold for every row."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.kind == "word" and token.text == "where":
            return not _always(tokens[at + 1 :])
    return False


def _always(condition: list[_Token]) -> bool:
    """True of `1=1`, `true`, `1`, `'a'='a'`, `x = x`, in brackets or followed by `or …`."""
    texts = [t for t in condition if t.text not in ("(", ")")]
    cut = next((at for at, t in enumerate(texts) if t.text in ("returning", "limit", "order")), len(texts))
    texts = texts[:cut]
    if not texts:
        return True
    for part in _split(texts, "or"):
        if any(t.text == "and" for t in part):
            if all(_holds(one) for one in _split(part, "and")):
                return True
        elif _holds(part):
            return True
    return False


def _split(tokens: list[_Token], word: str) -> list[list[_Token]]:
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind == "word" and token.text == word:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _holds(part: list[_Token]) -> bool:
    if len(part) == 1:
        only = part[0]
        return only.text == "true" or (only.kind == "number" and only.text.strip("0.") != "")
    if len(part) == 3 and part[1].text == "=":
        left, right = part[0], part[2]
        if left.kind == "literal" == right.kind:
            return left.end - left.start == right.end - right.start
        return left.kind == right.kind and left.text == right.text
    if len(part) == 4 and part[1].text == "<" and part[2].text == ">":
        return part[0].kind == part[3].kind == "number" and part[0].text != part[3].text
    return [t.text for t in part[1:]] == ["is", "not", "null"] and part[0].text in (
        "id",
        "rowid",
        "_rowid_",
        "ctid",
    )
