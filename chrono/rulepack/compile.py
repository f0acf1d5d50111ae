"""Owns turning the YAML of a rule pack into compiled rules; every mistake is named with its file and line.

Finding packs is left to `discover`, proving their cases to `check`. docs/formats/rule-pack.md describes the form.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.errors import PluginError
from chrono.rulepack.regex import regex_problem
from chrono.scan.rule import Condition, Matcher, Options, Rule, Text
from chrono.scan.stage import STAGES
from chrono.scan.touch import KINDS
from chrono.tuples import NamedTuple
from chrono.yamlfile import Document, YamlError, load

REVERSIBLE = ("files", "ask", "no")
TARGETS = ("matched", "worktree", "none")
PLACES = (
    "root system home dotfile startup credential other-repo project project-root worktree git control regenerable temp "
    "outside above device null unknown"
).split()
LANGUAGES = ("sql", "mongo", "redis")
SQL_EFFECTS = ("drop", "truncate", "delete", "update", "alter-drop", "grant", "disconnect", "shell", "limit")
POSITIONS = ("any", "first", "last", "rest")
STYLES = ("gnu", "powershell", "slash")
FORMAT = 1
STATES = ("known", "unknown")
PARTS = ("program", "arguments")

_RULE_KEYS = (
    "id",
    "title",
    "score",
    "why",
    "safer",
    "reversible",
    "references",
    "match",
    "unless",
    "targets",
)
_PACK_KEYS = ("pack", "title", "lists", "programs", "rules", "format")

Path = tuple[str | int, ...]

Harmless = tuple[tuple[str, frozenset[str]], ...]
"""For each subcommand the options, and last words, with which a program only tells what it would do."""


class RulePackError(PluginError):
    """A rule pack (or a policy's own rules) that is not valid; `line` is 1-based where known."""

    def __init__(self, message: str, hint: str | None = None, *, line: int | None = None) -> None:
        super().__init__(message, hint)
        self.line = line


class Pack(NamedTuple):
    """One compiled pack."""

    name: str
    title: str
    rules: tuple[Rule, ...]


def compile_pack(text: str, name: str, *, pack: str) -> Pack:
    """The rules of one `pack.yaml`; `name` is used in messages, `pack` is the entry point's name.

    Raises RulePackError.
    """
    try:
        document = load(text, name=name)
    except YamlError as error:
        raise RulePackError(error.message, error.hint, line=error.line) from None
    reader = _Reader(document, name, pack)
    body = reader.mapping(document.value, (), _PACK_KEYS)
    if body.get("format", FORMAT) != FORMAT:
        reader.fail(("format",), f"format {body['format']!r} is not known", "this chrono reads format 1; upgrade it")
    if reader.text(body.get("pack"), ("pack",)) != pack:
        reader.fail(("pack",), f"the pack calls itself {body.get('pack')!r} but is registered as {pack!r}")
    reader.lists = _lists(reader, body.get("lists", {}))
    _programs(reader, body.get("programs", {}))
    title = reader.text(body.get("title"), ("title",))
    return Pack(pack, title, _rules(reader, body.get("rules"), ("rules",), custom=False))


def compile_rules(document: Document, name: str, *, pack: str) -> tuple[Rule, ...]:
    """The rules of a policy: a list in the form of a pack's `rules`, where all but `id` and `match` may be missing.

    Raises RulePackError.
    """
    return _rules(_Reader(document, name, pack), document.value, (), custom=True)


class _Reader:
    """Takes values of a document apart and says where one is wrong."""

    def __init__(self, document: Document, name: str, pack: str) -> None:
        self.document = document
        self.name = name
        self.pack = pack
        self.lists: dict[str, tuple[str, ...]] = {}
        self.options: dict[str, Options] = {}
        self.harmless: dict[str, Harmless] = {}

    def fail(self, path: Path, message: str, hint: str | None = None) -> RulePackError:
        line = self.document.line_of(*path)
        raise RulePackError(f"{self.name}:{line}: {message}", hint, line=line)

    def mapping(self, value: object, path: Path, keys: tuple[str, ...] | None) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self.fail(path, "expected a mapping (key: value)")
        for key in value:
            if keys is not None and key not in keys:
                raise self.fail((*path, key), f"unknown key {key!r}", _nearest(key, keys))
        return value

    def text(self, value: object, path: Path) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.fail(path, f"{_last(path)} must be text")
        return value

    def number(self, value: object, path: Path, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.fail(path, f"{_last(path)} must be a whole number from {least} to {most}")
        return value

    def truth(self, value: object, path: Path) -> bool:
        if not isinstance(value, bool):
            raise self.fail(path, f"{_last(path)} must be true or false")
        return value

    def texts(self, value: object, path: Path) -> tuple[str, ...]:
        """One text or a list of texts."""
        items = value if isinstance(value, list) else [value]
        if not items:
            raise self.fail(path, f"{_last(path)} must not be empty")
        return tuple(
            self.text(str(item) if isinstance(item, int) and not isinstance(item, bool) else item, path)
            for item in items
        )

    def word(self, value: object, path: Path, known: tuple[str, ...]) -> str:
        """Exactly one word of a known set."""
        if isinstance(value, list):
            raise self.fail(path, f"{_last(path)} is one word, not a list")
        return self.words(value, path, known)[0]

    def words(self, value: object, path: Path, known: tuple[str, ...] | list[str]) -> tuple[str, ...]:
        """One word or a list of words of a known set."""
        found = self.texts(value, path)
        for word in found:
            if word not in known:
                raise self.fail(path, f"unknown {_last(path)} {word!r}", _nearest(word, known))
        return found


def _lists(reader: _Reader, value: object) -> dict[str, tuple[str, ...]]:
    found = reader.mapping(value, ("lists",), None)
    return {name: reader.texts(items, ("lists", name)) for name, items in found.items()}


def _programs(reader: _Reader, value: object) -> None:
    """How the options of programs are read, and with which of them a program only tells what it would do."""
    for names, body in reader.mapping(value, ("programs",), None).items():
        path: Path = ("programs", names)
        fields = reader.mapping(body, path, ("style", "values", "harmless"))
        style = reader.word(fields.get("style", "gnu"), (*path, "style"), STYLES)
        options: Options = (style, _by_verb(reader, fields.get("values", {}), (*path, "values")))
        harmless: Harmless = _by_verb(reader, fields.get("harmless", {}), (*path, "harmless"))
        for name in names.split():
            reader.options[name] = options
            if harmless:
                reader.harmless[name] = harmless


def _by_verb(reader: _Reader, value: object, path: Path) -> Harmless:
    """Words for each subcommand: `a b c`, or a mapping from subcommand ("" for the program itself) to such words."""
    tables = {"": value} if isinstance(value, list | str) else value
    return tuple(
        (verb.strip(), frozenset(_split(reader.texts(items, (*path, verb)) if items else ())))
        for verb, items in reader.mapping(tables, path, None).items()
    )


def _split(texts: tuple[str, ...]) -> list[str]:
    return [word for text in texts for word in text.split()]


# --- rules


def _rules(reader: _Reader, value: object, at: Path, *, custom: bool) -> tuple[Rule, ...]:
    if not isinstance(value, list) or not value:
        raise reader.fail(at, "expected a list of rules")
    rules: list[Rule] = []
    for index, item in enumerate(value):
        rule = _rule(reader, item, (*at, index), custom=custom)
        if any(other.id == rule.id for other in rules):
            raise reader.fail((*at, index, "id"), f"rule {rule.id!r} stands twice")
        rules.append(rule)
    return tuple(rules)


def _rule(reader: _Reader, value: object, path: Path, *, custom: bool) -> Rule:
    body = reader.mapping(value, path, _RULE_KEYS)
    for key in ("id", "match") if custom else ("id", "title", "score", "why", "safer", "reversible", "match"):
        if key not in body:
            raise reader.fail(path, f"a rule needs `{key}`")
    rule_id = reader.text(body["id"], (*path, "id"))
    if not all(char.isalnum() or char in ".-_" for char in rule_id):
        raise reader.fail((*path, "id"), f"{rule_id!r}: an id is made of letters, digits, `.`, `-` and `_`")
    if not custom and not rule_id.startswith(reader.pack + "."):
        raise reader.fail((*path, "id"), f"{rule_id!r}: the ids of this pack begin with `{reader.pack}.`")

    def optional(key: str, otherwise: str) -> str:
        return reader.text(body[key], (*path, key)) if key in body else otherwise

    alternatives = body["match"] if isinstance(body["match"], list) else [body["match"]]
    if not alternatives:
        raise reader.fail((*path, "match"), "a rule without a matcher matches nothing")
    single = not isinstance(body["match"], list)
    matchers = [
        _matcher(reader, item, (*path, "match") if single else (*path, "match", index))
        for index, item in enumerate(alternatives)
    ]
    programs, touches = _dispatch(matchers)
    matchers = [_acting(reader, matcher) for matcher in matchers]
    excuse = (_several("unless")(reader, body["unless"], (*path, "unless")),) if "unless" in body else ()
    return Rule(
        id=rule_id,
        title=optional("title", rule_id),
        score=reader.number(body.get("score", 70), (*path, "score"), 0, 100),
        why=optional("why", "the policy has a rule for it" if custom else ""),
        safer=optional("safer", ""),
        reversible=reader.word(body.get("reversible", "no"), (*path, "reversible"), REVERSIBLE),
        references=reader.texts(body["references"], (*path, "references")) if "references" in body else (),
        pack=reader.pack,
        programs=programs,
        touches=touches,
        matcher=(*(matchers[0] if len(matchers) == 1 else (("any", *matchers),)), *excuse),
        targets=reader.word(body.get("targets", "matched"), (*path, "targets"), TARGETS),
        options=tuple((name, reader.options[name]) for name in _named(matchers) if name in reader.options),
    )


def _named(matchers: list[Matcher]) -> tuple[str, ...]:
    """Every program that a rule names, as its pack spells it."""
    found: list[str] = []
    for matcher in matchers:
        for condition in matcher:
            if condition[0] == "program":
                found.extend(condition[1])  # type: ignore[arg-type]
                found.extend(f"{prefix}*" for prefix in condition[2])  # type: ignore[attr-defined]
    return tuple(dict.fromkeys(found))


def _dispatch(matchers: list[Matcher]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that select a rule: programs, else touches; none where an alternative can match without either."""
    programs: list[str] = []
    touches: list[str] = []
    for matcher in matchers:
        named = [condition for condition in matcher if condition[0] == "program"]
        touched = [condition for condition in matcher if condition[0] == "touches"]
        if named:
            for _, names, prefixes in named:
                programs.extend(names)  # type: ignore[arg-type]
                programs.extend(f"{prefix}*" for prefix in prefixes)  # type: ignore[attr-defined]
        elif touched:
            touches.extend(touched[0][1])  # type: ignore[arg-type]
        else:
            return (), ()
    return tuple(dict.fromkeys(programs)), tuple(dict.fromkeys(touches))


def _acting(reader: _Reader, matcher: Matcher) -> Matcher:
    """The matcher, which does not hold where one of its programs is called with a harmless option."""
    named = [name for condition in matcher if condition[0] == "program" for name in condition[1]]  # type: ignore[attr-defined]
    known = tuple((name, reader.harmless[name]) for name in named if name in reader.harmless)
    return (*matcher, ("acts", known)) if known else matcher


def _matcher(reader: _Reader, value: object, path: Path) -> Matcher:
    body = reader.mapping(value, path, tuple(_CONDITIONS))
    if not body:
        raise reader.fail(path, "a matcher without a condition would match every command")
    # In the order of the table: what is cheap and rarely so first, and the subcommand before the words behind it.
    return tuple(
        compiled
        for key, compile_condition in _CONDITIONS.items()
        if key in body
        for compiled in (compile_condition(reader, body[key], (*path, key)),)
    )


def _program(reader: _Reader, value: object, path: Path) -> Condition:
    names = reader.texts(value, path)
    exact = tuple(name for name in names if not name.endswith("*"))
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    if any(not prefix for prefix in prefixes) or any("*" in name for name in (*exact, *prefixes)):
        raise reader.fail(path, "a program is a name, or the beginning of names and `*`")
    return ("program", exact, prefixes)


def _subcommand(reader: _Reader, value: object, path: Path) -> Condition:
    return ("subcommand", tuple(tuple(verb.split()) for verb in reader.texts(value, path)))


def _flag(reader: _Reader, value: object, path: Path) -> Condition:
    if isinstance(value, dict):
        body = reader.mapping(value, path, ("names", "value"))
        names = _flag_names(reader, body.get("names"), (*path, "names"))
        if "value" not in body:
            return ("flag", names, None)
        return ("flag", names, _patterns(reader, body["value"], (*path, "value")))
    return ("flag", _flag_names(reader, value, path), None)


def _flag_names(reader: _Reader, value: object, path: Path) -> tuple[str, ...]:
    names = reader.texts(value, path)
    for name in names:
        if name[0] not in "-/+" or " " in name:
            raise reader.fail(path, f"{name!r} is not an option: it begins with `-` or `/`")
    return names


def _patterns(reader: _Reader, value: object, path: Path) -> tuple[Text, ...]:
    return tuple(tuple(text.split("*")) for text in reader.texts(value, path))


def _argument(reader: _Reader, value: object, path: Path) -> Condition:
    if not isinstance(value, dict):
        return ("argument", "any", _patterns(reader, value, path), None)
    body = reader.mapping(value, path, ("text", "place", "position"))
    where = body.get("position", "any")
    if isinstance(where, int) and not isinstance(where, bool):
        position = str(reader.number(where, (*path, "position"), 1, 99))
    else:
        position = reader.word(where, (*path, "position"), POSITIONS)
    texts = _patterns(reader, body["text"], (*path, "text")) if "text" in body else None
    places = reader.words(body["place"], (*path, "place"), PLACES) if "place" in body else None
    return ("argument", position, texts, places)


def _count(reader: _Reader, value: object, path: Path) -> Condition:
    if isinstance(value, dict):
        body = reader.mapping(value, path, ("least", "most"))
        least = reader.number(body.get("least", 0), (*path, "least"), 0, 99)
        return ("count", least, reader.number(body.get("most", 9999), (*path, "most"), 0, 9999))
    number = reader.number(value, path, 0, 99)
    return ("count", number, number)


def _word(reader: _Reader, value: object, path: Path) -> Condition:
    return ("word", _patterns(reader, value, path))


def _last_word(reader: _Reader, value: object, path: Path) -> Condition:
    return ("last_word", _patterns(reader, value, path))


def _redirect(reader: _Reader, value: object, path: Path) -> Condition:
    body = reader.mapping(value, path, ("op", "text", "place"))
    ops = reader.texts(body["op"], (*path, "op")) if "op" in body else ()
    texts = _patterns(reader, body["text"], (*path, "text")) if "text" in body else None
    places = reader.words(body["place"], (*path, "place"), PLACES) if "place" in body else None
    return ("redirect", ops, texts, places)


def _touches(reader: _Reader, value: object, path: Path) -> Condition:
    body = reader.mapping(value, path, ("how", "place", "path", "exists", "sweep", "committed"))
    hows = reader.words(body.get("how"), (*path, "how"), (*KINDS, "delete-moved"))
    places = reader.words(body["place"], (*path, "place"), PLACES) if "place" in body else None
    flags = tuple(
        reader.truth(body[key], (*path, key)) if key in body else None for key in ("exists", "sweep", "committed")
    )
    paths = _patterns(reader, body["path"], (*path, "path")) if "path" in body else None
    return ("touches", hows, places, *flags, paths)


def _assigns(reader: _Reader, value: object, path: Path) -> Condition:
    return ("assigns", _patterns(reader, value, path))


def _stage(reader: _Reader, value: object, path: Path) -> Condition:
    return ("stage", reader.words(value, path, STAGES))


def _shown(reader: _Reader, value: object, path: Path) -> Condition:
    if not isinstance(value, bool):
        raise reader.fail(path, "shown is true or false")
    return ("shown", value)


def _hosts(reader: _Reader, value: object, path: Path) -> tuple[tuple[Text, ...], bool]:
    """`{in: LIST}` or `{not_in: LIST}`; a list is a name from `lists` or stands there itself."""
    body = reader.mapping(value, path, ("in", "not_in"))
    if len(body) != 1:
        raise reader.fail(path, "a host is `in` one list or `not_in` one list")
    key, items = next(iter(body.items()))
    if isinstance(items, str):
        if items not in reader.lists:
            raise reader.fail((*path, key), f"no list is called {items!r}", _nearest(items, tuple(reader.lists)))
        hosts = reader.lists[items]
    else:
        hosts = reader.texts(items, (*path, key))
    patterns: list[Text] = []
    for host in hosts:
        # An entry without a path stands for the whole host.
        patterns.append(tuple((host if "/" in host else host + "/*").split("*")))
    return tuple(patterns), key == "in"


def _upstream(reader: _Reader, value: object, path: Path) -> Condition:
    if not isinstance(value, dict):
        return ("upstream", reader.texts(value, path), (), None)
    body = reader.mapping(value, path, ("program", "host"))
    programs = reader.texts(body.get("program"), (*path, "program"))
    if "host" not in body:
        return ("upstream", programs, (), None)
    return ("upstream", programs, *_hosts(reader, body["host"], (*path, "host")))


def _url(reader: _Reader, value: object, path: Path) -> Condition:
    return ("url", *_hosts(reader, value, path))


def _fetched(reader: _Reader, value: object, path: Path) -> Condition:
    if value is True:
        return ("fetched", (), None)
    return ("fetched", *_hosts(reader, value, path))


def _stdin(reader: _Reader, value: object, path: Path) -> Condition:
    if isinstance(value, dict):
        body = reader.mapping(value, path, ("text",))
        return ("stdin", "text", _patterns(reader, body.get("text"), (*path, "text")))
    return ("stdin", reader.word(value, path, STATES))


def _via(reader: _Reader, value: object, path: Path) -> Condition:
    return ("via", _patterns(reader, value, path))


def _cwd(reader: _Reader, value: object, path: Path) -> Condition:
    return ("cwd", reader.words(value, path, PLACES))


def _sql(reader: _Reader, value: object, path: Path) -> Condition:
    body = reader.mapping(value, path, ("language", "effects", "flags", "from", "files"))
    language = reader.word(body.get("language", "sql"), (*path, "language"), LANGUAGES)
    effects = reader.words(body.get("effects", list(SQL_EFFECTS)), (*path, "effects"), SQL_EFFECTS)
    flags = _flag_names(reader, body["flags"], (*path, "flags")) if "flags" in body else ()
    files = _flag_names(reader, body["files"], (*path, "files")) if "files" in body else ()
    start = reader.number(body.get("from", 0), (*path, "from"), 0, 99)
    return ("sql", language, effects, flags, start, files)


def _regex(reader: _Reader, value: object, path: Path) -> Condition:
    body = reader.mapping(value, path, ("pattern", "argument"))
    pattern = reader.text(body.get("pattern"), (*path, "pattern"))
    problem = regex_problem(pattern)
    if problem is not None:
        raise reader.fail((*path, "pattern"), f"the pattern is refused: {problem}")
    where = body.get("argument", "any")
    position = "any" if where == "any" else str(reader.number(where, (*path, "argument"), 0, 99))
    return ("regex", pattern, position)


def _unknown(reader: _Reader, value: object, path: Path) -> Condition:
    return ("unknown", reader.word(value, path, PARTS))


def _several(kind: str) -> Callable[[_Reader, object, Path], Condition]:
    def compile_several(reader: _Reader, value: object, path: Path) -> Condition:
        if isinstance(value, list):
            if not value:
                raise reader.fail(path, f"{kind} must not be empty")
            return (kind, *(_matcher(reader, item, (*path, index)) for index, item in enumerate(value)))
        return (kind, _matcher(reader, value, path))

    return compile_several


_CONDITIONS: dict[str, Callable[[_Reader, object, Path], Condition]] = {
    "program": _program,
    "subcommand": _subcommand,
    "unknown": _unknown,
    "stdin": _stdin,
    "upstream": _upstream,
    "fetched": _fetched,
    "via": _via,
    "arguments": _count,
    "flag": _flag,
    "word": _word,
    "last_word": _last_word,
    "assigns": _assigns,
    "url": _url,
    "argument": _argument,
    "redirect": _redirect,
    "touches": _touches,
    "cwd": _cwd,
    "regex": _regex,
    "stage": _stage,
    "shown": _shown,
    "sql": _sql,
    "all": _several("all"),
    "any": _several("any"),
    "unless": _several("unless"),
}


def _nearest(word: str, known: tuple[str, ...] | list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"


def _last(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    return f"`{names[-1]}`" if names else "the value"
