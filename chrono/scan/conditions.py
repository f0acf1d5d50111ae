"""Owns what each kind of condition in a compiled rule asks of one command.

Going through the commands and keeping what an earlier one did is left to `scan.match`, putting conditions together to
`scan.ready`; the form in YAML to `rulepack.compile`, whose output this reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache

from chrono.scan.command import Command, Many, Pattern, Redirect, Word
from chrono.scan.options import Parsed, flag_is, parse, program_names
from chrono.scan.paths import Ground, Spot, Touch
from chrono.scan.rule import GNU, Options, Text
from chrono.scan.touch import options_of as usual_options
from chrono.scan.wintouch import POWERSHELL, is_windows_tool

MAX_SQL_FILE_BYTES = 1_000_000


class Case:
    """One command, asked by many rules; `hits` are the places that the conditions of the rule at hand matched, `words`
    all arguments as they stand, to rule out quickly what is not among them.

    `fetched` are the URLs of what the command runs and the same text has fetched before; None where it runs nothing
    such.
    """

    __slots__ = (
        "_parsed", "_usual", "command", "fetched", "fold", "ground", "hits", "names", "options", "skip", "touches",
        "words",
    )  # fmt: skip

    def __init__(
        self, command: Command, ground: Ground, touches: tuple[Touch, ...], fetched: tuple[str, ...] | None = None
    ) -> None:
        self.command = command
        self.ground = ground
        self.touches = touches
        self.fetched = fetched
        self.names = program_names(command.argv[0])
        self._usual, self.fold = habits_of(self.names)
        if command.windows and command.builtin:
            self.fold = True
        if self._usual is GNU and command.windows and command.builtin and "-" in "".join(self.names[-1:]):
            self._usual = POWERSHELL
        self.options = self._usual
        self.skip = 0
        self.hits: list[Spot] = []
        self._parsed: dict[int, Parsed] = {}
        self.words = frozenset(command.argv[1:])

    def begin(self, options: Options | None) -> None:
        """Forgets what the last rule matched, and reads options the way the next one's pack says."""
        self.hits = []
        self.skip = 0
        self.options = options or self._usual

    @property
    def parsed(self) -> Parsed:
        # By identity: the tables live as long as their rules, and hashing them costs more than the look-up saves.
        known = self._parsed.get(id(self.options))
        if known is None:
            known = self._parsed[id(self.options)] = parse(self.command.argv, self.options)
        return known

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the subcommand."""
        return self.parsed.words[self.skip :]


@lru_cache(maxsize=4096)
def habits_of(names: tuple[str, ...]) -> tuple[Options, bool]:
    """How a program of these names reads its options, and whether capitals do not matter to it."""
    usual = next((options for options in map(usual_options, names) if options is not GNU), GNU)
    return usual, any(map(is_windows_tool, names))


def text_matches(text: Text, word: Word, fold: bool = False) -> bool:
    """Whether a word fits a text pattern whatever its unknown parts turn out to be; `fold`: capitals do not matter."""
    if isinstance(word, Many):
        return text in (("", ""), ("", "", ""))
    value = word if isinstance(word, str) else "".join("\0" if piece is None else piece for piece in word.pieces)
    if fold:
        value, text = value.lower(), tuple(map(str.lower, text))
    if len(text) == 1:
        return value == text[0]
    first, last = text[0], text[-1]
    if len(value) < len(first) + len(last) or not value.startswith(first) or not value.endswith(last):
        return False
    at = len(first)
    end = len(value) - len(last)
    for piece in text[1:-1]:
        found = value.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


class Texts(tuple[Text, ...]):
    """Text patterns sorted by form, so that a known word is held against many of them at once.

    `exact` have no `*`, `heads` end with one, `tails` begin with one, `inner` do both; `wild` are the others, each
    behind its longest piece.
    """

    exact: frozenset[str]
    heads: tuple[str, ...]
    tails: tuple[str, ...]
    inner: tuple[str, ...]
    wild: tuple[tuple[str, Text], ...]

    def __new__(cls, texts: Iterable[Text]) -> Texts:
        made = super().__new__(cls, texts)
        forms: dict[str, list[Text]] = {"exact": [], "heads": [], "tails": [], "inner": [], "wild": []}
        for text in made:
            forms[_form(text)].append(text)
        made.exact = frozenset(text[0] for text in forms["exact"])
        made.heads = tuple(text[0] for text in forms["heads"])
        made.tails = tuple(text[1] for text in forms["tails"])
        made.inner = tuple(text[1] for text in forms["inner"])
        made.wild = tuple((max(text, key=len), text) for text in forms["wild"])
        return made

    def fit(self, word: str) -> bool:
        """Whether a known word fits one of the patterns."""
        if word in self.exact or word.startswith(self.heads) or word.endswith(self.tails):
            return True
        for piece in self.inner:
            if piece in word:
                return True
        for longest, text in self.wild:  # noqa: SIM110 - a generator costs more than the comparison
            if longest in word and text_matches(text, word):
                return True
        return False

    @cached_property
    def small(self) -> Texts:
        """The same in small letters."""
        return Texts(tuple(map(str.lower, text)) for text in self)


def _form(text: Text) -> str:
    if len(text) == 1:
        return "exact"
    if len(text) == 2 and not text[1]:
        return "heads"
    if len(text) == 2 and not text[0]:
        return "tails"
    return "inner" if len(text) == 3 and not text[0] and not text[2] else "wild"


def any_matches(texts: tuple[Text, ...], word: Word, fold: bool = False) -> bool:
    """Whether a word fits one of the patterns."""
    if isinstance(word, str) and isinstance(texts, Texts):
        return texts.small.fit(word.lower()) if fold else texts.fit(word)
    for text in texts:  # noqa: SIM110 - a generator costs more than the comparison
        if text_matches(text, word, fold):
            return True
    return False


# --- kinds


def names_fit(found: tuple[str, ...], names: tuple[str, ...], prefixes: tuple[str, ...]) -> bool:
    """Whether a program that has the names `found` is one of those that a rule names."""
    return any(name in names or (prefixes and name.startswith(prefixes)) for name in found)


_SMALL: dict[int, tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]] = {}


def _in_small_letters(verbs: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Subcommands in small letters; kept by identity, since they live as long as their rules."""
    known = _SMALL.get(id(verbs))
    if known is None or known[0] is not verbs:
        if len(_SMALL) > 2_000:
            _SMALL.clear()
        known = _SMALL[id(verbs)] = (verbs, tuple(tuple(map(str.lower, verb)) for verb in verbs))
    return known[1]


def _subcommand(case: Case, verbs: tuple[tuple[str, ...], ...], firsts: frozenset[str]) -> bool:
    if not case.fold and firsts.isdisjoint(case.words):
        return False
    words = case.parsed.words
    if case.fold:
        words = tuple(word.lower() if isinstance(word, str) else word for word in words)
        verbs = _in_small_letters(verbs)
    for verb in verbs:
        if words[: len(verb)] == verb:
            case.skip = len(verb)
            return True
    return False


def _flag(case: Case, names: tuple[str, ...], values: tuple[Text, ...] | None) -> bool:
    parsed = case.parsed
    if values is None:
        return parsed.has_any(names)
    return any(any_matches(values, value, case.fold) for value in parsed.values(*names))


def _argument(case: Case, where: str, texts: tuple[Text, ...] | None, places: tuple[str, ...] | None) -> bool:
    matched = False
    for word in _at(case.arguments, where):
        if texts is not None and not any_matches(texts, word, case.fold):
            continue
        if places is None:
            matched = True
            continue
        spots = case.ground.spots(word, case.command.cwd, windows=case.command.windows)
        found = [s for s in spots if s.target.place in places]
        case.hits.extend(found)
        matched = matched or bool(found)
    return matched


def _at(words: tuple[Word, ...], where: str) -> tuple[Word, ...]:
    if where == "any":
        return words
    if where == "first":
        return words[:1]
    if where == "last":
        return words[-1:]
    if where == "rest":
        return words[1:]
    return words[int(where) - 1 : int(where)]


def _count(case: Case, least: int, most: int) -> bool:
    return least <= len(case.arguments) <= most


def _word(case: Case, texts: tuple[Text, ...]) -> bool:
    """Any argument as it stands, options among them."""
    return any(any_matches(texts, word, case.fold) for word in case.command.argv[1:])


def _last_word(case: Case, texts: tuple[Text, ...]) -> bool:
    """The last argument as it stands, where it looks like an option too."""
    return len(case.command.argv) > 1 and any_matches(texts, case.command.argv[-1], case.fold)


def _redirect(case: Case, ops: tuple[str, ...], texts: tuple[Text, ...] | None, places: tuple[str, ...] | None) -> bool:
    matched = False
    for redirect in case.command.redirects:
        if ops and redirect.op not in ops:
            continue
        if texts is not None and not any_matches(texts, redirect.target, case.fold):
            continue
        if places is None:
            matched = True
            continue
        found = [s for s in _redirect_spots(case, redirect) if s.target.place in places]
        case.hits.extend(found)
        matched = matched or bool(found)
    return matched


def _redirect_spots(case: Case, redirect: Redirect) -> tuple[Spot, ...]:
    return case.ground.spots(redirect.target, case.command.cwd, windows=case.command.windows)


def _touches(
    case: Case,
    hows: tuple[str, ...],
    places: tuple[str, ...] | None,
    exists: bool | None,
    sweep: bool | None,
    committed: bool | None,
    paths: tuple[Text, ...] | None = None,
) -> bool:
    found = []
    for how, spot in case.touches:
        if how not in hows or (places is not None and spot.target.place not in places):
            continue
        if paths is not None and not any_matches(paths, spot.target.path or ""):
            continue
        # What the world cannot tell counts as there.
        if exists is not None and (spot.exists is not False) != exists:
            continue
        if sweep is not None and _sweeps(spot, case.ground) != sweep:
            continue
        if committed is not None and _is_committed(spot, case.ground) != committed:
            continue
        found.append(spot)
    case.hits.extend(found)
    return bool(found)


def _sweeps(spot: Spot, ground: Ground) -> bool:
    """Whether it comes from a glob over everything at the top of the project."""
    return spot.sweep and (spot.base is None or spot.base == ground.root or spot.base == spot.target.path)


def _is_committed(spot: Spot, ground: Ground) -> bool:
    from chrono.scan.gitindex import is_committed

    path = spot.target.path
    return spot.kind == "file" and path is not None and is_committed(path, ground.root, ground.world)


def _assigns(case: Case, names: tuple[Text, ...]) -> bool:
    """`NAME`, or `NAME=value` where the value counts: set in front of the command, or exported before."""
    return any(
        any_matches(names, name) or (isinstance(value, str) and any_matches(names, f"{name}={value}"))
        for name, value in (*case.command.assigns, *case.command.env)
    )


def _stage(case: Case, stages: tuple[str, ...]) -> bool:
    """The environment of an application that the command says it works in."""
    from chrono.scan.stage import stage_of

    return stage_of(case.command, case.parsed) in stages


def _upstream(case: Case, programs: tuple[str, ...], hosts: tuple[Text, ...], known: bool | None) -> bool:
    for argv in case.command.upstream:
        if not argv:
            continue
        named = any(name in programs or _begins(name, argv, programs) for name in program_names(argv[0]))
        if not named and "*" not in programs:
            continue
        if known is None:
            return True
        urls = [url for url in argv[1:] if host_of(url) is not None]
        is_known = bool(urls) and all(any_matches(hosts, host_of(url) or "") for url in urls)
        if is_known == known:
            return True
    return False


def _begins(name: str, argv: tuple[Word, ...], texts: tuple[str, ...]) -> bool:
    """Whether one of the texts is the program with the words behind it (`docker compose ps`), or with one word that
    holds a text (`awk *gone]*`)."""
    words = [name, *(word for word in argv[1:5] if isinstance(word, str))]
    for text in texts:
        head, _, rest = text.partition(" ")
        if rest[:1] == "*" == rest[-1:] and head == name and any(rest[1:-1] in word for word in words[1:]):
            return True
        if rest and words[: text.count(" ") + 1] == text.split():
            return True
    return False


def _url(case: Case, hosts: tuple[Text, ...], known: bool) -> bool:
    """Whether one of the command's own arguments is a URL whose host is (not) in a list."""
    found = [host for host in (host_of(word) for word in case.command.argv[1:]) if host is not None]
    return any(any_matches(hosts, host) == known for host in found)


def host_of(word: Word) -> str | None:
    """The host of a URL (with the first part of its path, for hosts that many people share), None of other words."""
    text = word if isinstance(word, str) else word.pieces[0] if isinstance(word, Pattern) else None
    if not text:
        return None
    scheme, marks, rest = text.partition("://")
    if not marks:
        head = text.split("/", 1)[0]
        if text.startswith(("-", ".")) or "." not in head or " " in head or "/" not in text:
            return None
        rest = text
    elif scheme.lower() not in ("http", "https", "ftp", "ftps"):
        return None
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    authority, _, path = rest.partition("/")
    host = authority.rsplit("@", 1)[-1].split(":", 1)[0].lower()
    return f"{host}/{path}" if host else ""


def _stdin(case: Case, state: str, texts: tuple[Text, ...] | None = None) -> bool:
    """Whether the text that it reads is known, cannot be told, or (state "text") fits a pattern."""
    text = case.command.stdin
    if texts is not None:
        return text is not None and any_matches(texts, text)
    if state == "known":
        return isinstance(text, str)
    # Decoding that yields nothing is decoding that was not understood.
    unknown = text is not None and (not isinstance(text, str) or text == "")
    return unknown or (text is None and bool(case.command.upstream))


def _fetched(case: Case, hosts: tuple[Text, ...], known: bool | None) -> bool:
    """Whether it runs what the same text has fetched, from a host that is (not) in a list."""
    if case.fetched is None:
        return False
    is_known = bool(case.fetched) and all(any_matches(hosts, host_of(url) or "") for url in case.fetched)
    return known is None or is_known == known


def _unknown(case: Case, what: str) -> bool:
    """Whether the program, or one of the arguments, comes from a value that is not known."""
    if what == "program":
        return not case.names
    return any(not isinstance(word, str) for word in case.arguments)


def _via(case: Case, texts: tuple[Text, ...]) -> bool:
    return any(any_matches(texts, link) for link in case.command.via)


def _cwd(case: Case, places: tuple[str, ...]) -> bool:
    spots = case.ground.spots(case.command.cwd, "/")
    return any(spot.target.place in places for spot in spots)


def _shown(case: Case, shown: bool) -> bool:
    """Whether what it prints gets to be seen (`scan.showing`)."""
    return case.command.seen == shown


def _sql(
    case: Case,
    language: str,
    effects: tuple[str, ...],
    flags: tuple[str, ...],
    start: int,
    files: tuple[str, ...],
) -> bool:
    return any(_destroys(language, text, effects) for text in _sql_texts(case, language, flags, start, files))


def _sql_texts(
    case: Case, language: str, flags: tuple[str, ...], start: int, files: tuple[str, ...]
) -> Iterable[str | tuple[str, ...]]:
    parsed = case.parsed
    for value in parsed.values(*flags) if flags else ():
        yield _known(value)
    if start > 0:
        words = case.arguments[start - 1 :]
        if language == "redis":
            yield tuple(_known(word) for word in words)
        else:
            for word in words:
                yield _known(word)
    if case.command.stdin is not None:
        yield _known(case.command.stdin)
    for value in parsed.values(*files) if files else ():
        text = _file_text(case, value)
        yield text
        # psql's `\i`, sqlite's `.read`, mysql's `source`: another file in the place of the line.
        for line in text.splitlines()[:200] if text.isascii() else ():
            word, _, name = line.strip().rstrip(";").partition(" ")
            if word in ("\\i", "\\ir", "\\include", ".read", "source", "\\.") and name:
                yield _file_text(case, name.strip())
    for redirect in case.command.redirects:
        if redirect.op == "<":
            yield _file_text(case, redirect.target)


def _file_text(case: Case, word: Word) -> str:
    from chrono.scan.world import Read

    for spot in case.ground.spots(word, case.command.cwd):
        written = case.ground.written.get(spot.target.path or "")
        if written is None and isinstance(word, str):
            written = case.ground.written.get(word)
        if written is not None:
            return written
        if spot.target.path is not None and spot.kind == "file":
            answer = case.ground.world.read(spot.target.path, MAX_SQL_FILE_BYTES)
            if isinstance(answer, Read):
                return answer.data.decode("utf-8", "surrogateescape")
    return ""


def _known(word: Word) -> str:
    if isinstance(word, str):
        return word
    return "?" if isinstance(word, Many) else "".join("?" if piece is None else piece for piece in word.pieces)


def _destroys(language: str, text: str | tuple[str, ...], effects: tuple[str, ...]) -> bool:
    from chrono.scan.code.nosql import mongo_effects, redis_effects, redis_script_effects
    from chrono.scan.code.sql import destroys, statements

    if language == "redis":
        found = redis_effects(text) if isinstance(text, tuple) else redis_script_effects(text)
    elif isinstance(text, tuple):
        return False
    elif language == "mongo":
        found = mongo_effects(text)
    else:
        found = statements(_without_settings(text))
    return any(effect.kind in effects and destroys(effect) for effect in found)


def _without_settings(text: str) -> str:
    """Without lines of the client itself (`.mode column`, `\\dt`), which are no SQL; those that run a shell stay."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    own = [line.lstrip()[:1] in (".", "\\") and not line.lstrip().startswith(_SHELL_LINES) for line in lines]
    return "\n".join(line for line, is_own in zip(lines, own, strict=True) if not is_own)


_SHELL_LINES = (".shell", ".system", "\\!", ".read", ".once |", ".output |")


def _regex(case: Case, pattern: str, where: str) -> bool:
    from chrono.scan.patterns import found

    words = case.command.argv if where == "any" else case.command.argv[int(where) : int(where) + 1]
    return any(isinstance(word, str) and found(pattern, word) for word in words)


_OFF = ("none", "false", "no", "0")


def _acts(case: Case, *harmless: tuple[tuple[tuple[str, ...], frozenset[str]], ...]) -> bool:
    """Whether the program does what it is asked, and does not only tell what it would do (`--dry-run`, `--help`);
    `harmless` are, for each of its names, the words that make it tell, by the subcommand that they stand behind."""
    parsed = case.parsed
    for by_verb in harmless:
        told: frozenset[str] = frozenset()
        depth = -1
        for path, words in by_verb:
            if len(path) > depth and parsed.words[: len(path)] == path:
                told, depth = words, len(path)
        if not told:
            continue
        for written, value in parsed.flags:
            if value not in _OFF and any(flag_is(parsed.style, written, flag) for flag in told):
                return False
        last = parsed.words[-1] if parsed.words else None
        if isinstance(last, str) and last[:1] != "-" and last in told:
            return False
    return True


KINDS: dict[str, Callable[..., bool]] = {
    "subcommand": _subcommand,
    "flag": _flag,
    "argument": _argument,
    "count": _count,
    "word": _word,
    "last_word": _last_word,
    "redirect": _redirect,
    "touches": _touches,
    "assigns": _assigns,
    "stage": _stage,
    "upstream": _upstream,
    "url": _url,
    "stdin": _stdin,
    "fetched": _fetched,
    "unknown": _unknown,
    "via": _via,
    "cwd": _cwd,
    "shown": _shown,
    "sql": _sql,
    "regex": _regex,
    "acts": _acts,
}
"""What each kind of condition asks; `program`, `any`, `all` and `unless` are bound by `scan.ready`."""
