"""Owns reading an argv as options and words, in the way the program itself would read it.

Which options take a value is said by the rule packs and by `scan.touch`; what the words mean is left to them too.
"""

from __future__ import annotations

from chrono.scan.command import Command, Many, Pattern, Word
from chrono.scan.rule import GNU, Options
from chrono.tuples import NamedTuple

_ABBREVIATED = 5
"""The shortest `--abc` that counts as the abbreviation of a long option."""

_WHOLE = frozenset(
    ["--force", "--all", "--delete", "--prune", "--hard", "--soft", "--tags", "--mirror", "--no-verify", "--dry"]
)


class Parsed(NamedTuple):
    """An argv taken apart.

    `flags` are (option as written, value); a cluster `-rf` stands there whole and letter by letter. `words` are the
    other arguments, subcommands first. `after_dashes`: how many of `words` stand in front of `--`, None without one.
    """

    style: str
    flags: tuple[tuple[str, Word | None], ...]
    words: tuple[Word, ...]
    after_dashes: int | None

    def has(self, name: str) -> bool:
        """Whether an option is given, in any spelling the program would take for it."""
        return any(flag_is(self.style, written, name) for written, _ in self.flags)

    def has_any(self, names: tuple[str, ...]) -> bool:
        """Whether one of several options is given."""
        for written, _ in self.flags:
            if written in names:
                return True
            if self.style == "gnu" and (len(written) < _ABBREVIATED or written[:2] != "--"):
                continue
            for name in names:
                if flag_is(self.style, written, name):
                    return True
        return False

    def values(self, *names: str) -> tuple[Word, ...]:
        """The known values of options, in order."""
        return tuple(
            value
            for written, value in self.flags
            if value is not None and any(flag_is(self.style, written, name) for name in names)
        )


def flag_is(style: str, written: str, name: str) -> bool:
    """Whether an option as written stands for the option `name`."""
    if written == name:
        return True
    if style == "gnu":
        return (
            len(written) >= _ABBREVIATED
            and written.startswith("--")
            and name.startswith(written)
            and written not in _WHOLE
        )
    if style == "slash":
        return written.lower() == name.lower()
    lower, wanted = written.lower(), name.lower()
    return lower == wanted or (len(lower) > 1 and wanted.startswith(lower))


MAX_KEPT = 8

_PARSED: dict[tuple[int, int], tuple[tuple[Word, ...], Options, Parsed]] = {}
"""What was taken apart last, by identity, which the entry itself keeps: the touches of a command and its rules ask for
the same, and equal words need not be of one kind (`*.pyc`, quoted and not)."""


def parse(argv: tuple[Word, ...], options: Options = GNU) -> Parsed:
    """Takes an argv (with its program) apart."""
    key = (id(argv), id(options))
    known = _PARSED.get(key)
    if known is None:
        if len(_PARSED) >= MAX_KEPT:
            _PARSED.clear()
        known = _PARSED[key] = (argv, options, _parse(argv, options))
    return known[2]


def _parse(argv: tuple[Word, ...], options: Options) -> Parsed:
    style, tables = options
    if style == "slash":
        return _parse_slashes(argv)
    given = argv[1:]
    for word in given:
        if not isinstance(word, str) or word[:1] == "-":
            break
    else:
        return Parsed(style, (), given, None)
    by_verb = _tables(tables)
    with_value = by_verb.get("", _NONE)
    of_verbs = len(by_verb) > ("" in by_verb)
    flags: list[tuple[str, Word | None]] = []
    words: list[Word] = []
    at, count = 1, len(argv)
    while at < count:
        word = argv[at]
        at += 1
        text = word if isinstance(word, str) else _known_head(word)
        if text[:1] != "-" or text == "-":
            words.append(word)
            if of_verbs and len(words) <= 2 and isinstance(word, str):
                first = words[0]
                verb = word if len(words) < 2 or not isinstance(first, str) else f"{first} {word}"
                with_value = by_verb.get(verb, with_value)
            continue
        if text == "--":
            dashes = len(words)
            words.extend(argv[at:])
            return Parsed(style, tuple(flags), tuple(words), dashes)
        name, value = _split(text, word, style)
        if value is None and name in with_value:
            value = argv[at] if at < count else None
            at += 1
        elif style == "gnu" and value is None and len(name) > 2 and name[1] != "-":
            at = _cluster(name, argv, at, with_value, flags)
        flags.append((name, value))
        if style == "gnu" and value is not None and len(name) > 2 and name[1] != "-":
            _cluster(name, (), 0, _NONE, flags)
    return Parsed(style, tuple(flags), tuple(words), None)


_NONE: frozenset[str] = frozenset()

_TABLES: dict[int, tuple[object, dict[str, frozenset[str]]]] = {}
"""Options by subcommand, by the identity of what they are made from, which the entry itself keeps."""


def _tables(tables: tuple[tuple[str, frozenset[str]], ...]) -> dict[str, frozenset[str]]:
    known = _TABLES.get(id(tables))
    if known is None:
        if len(_TABLES) > 2_000:
            _TABLES.clear()
        known = _TABLES[id(tables)] = (tables, dict(tables))
    return known[1]


def _known_head(word: Pattern | Many) -> str:
    """What a word that is not known as a whole is known to begin with."""
    return (word.pieces[0] or "") if isinstance(word, Pattern) and word.pieces else ""


def _split(text: str, word: Word, style: str) -> tuple[str, Word | None]:
    """An option and the value that is written into it (`--name=value`, `-Name:value`)."""
    sign = ":" if style == "powershell" else "="
    name, found, value = text.partition(sign)
    if not found:
        return text, None
    if isinstance(word, Pattern):
        return name, Pattern((value, *word.pieces[1:]))
    return name, value


def _cluster(
    name: str, argv: tuple[Word, ...], at: int, with_value: frozenset[str], flags: list[tuple[str, Word | None]]
) -> int:
    """Adds the letters of `-rf`, `-n5`, `-fx FILE`; answers where the arguments go on."""
    for place, letter in enumerate(name[1:], 1):
        option = "-" + letter
        if option in with_value:
            rest = name[place + 1 :]
            if rest:
                flags.append((option, rest))
                return at
            flags.append((option, argv[at] if at < len(argv) else None))
            return at + 1
        flags.append((option, None))
    return at


def _parse_slashes(argv: tuple[Word, ...]) -> Parsed:
    """cmd.exe's way: `/s /q`, `/s/q`, `/name:value`; dashes too, since many tools take both."""
    flags: list[tuple[str, Word | None]] = []
    words: list[Word] = []
    for word in argv[1:]:
        if _is_switch(word) and isinstance(word, str) and "\\" not in word.partition(":")[0]:
            for part in (word[1:],) if ":" in word else word[1:].split("/"):
                name, found, value = part.partition(":")
                flags.append(("/" + name, value if found else None))
        elif isinstance(word, str) and word[:1] == "-" and len(word) > 1:
            flags.append((word, None))
            flags.append(("/" + word[1:], None))
        else:
            words.append(word)
    return Parsed("slash", tuple(flags), tuple(words), None)


def _is_switch(word: Word) -> bool:
    """`/s`, `/s/q`, `/name:value`; `/home/dev` is a path."""
    if not isinstance(word, str) or word[:1] != "/" or len(word) < 2:
        return False
    parts = word.partition(":")[0].split("/")[1:]
    return len(parts) == 1 or all(len(part) < 3 for part in parts)


def program_names(word: Word) -> tuple[str, ...]:
    """Names under which a program is known: without folder, `.exe` and version; as it is first."""
    known = _NAMES.get(word)
    if known is not None:
        return known
    if isinstance(word, Many):
        return ()
    if isinstance(word, Pattern):
        tail = word.pieces[-1] if word.pieces else None
        if tail is None or "/" not in tail:
            return ()
        word = tail
    if len(_NAMES) > 2000:
        _NAMES.clear()
    known = _NAMES[word] = _names_of(word)
    return known


_ENDINGS = (".exe", ".cmd", ".bat", ".com")
_NAMES: dict[Word, tuple[str, ...]] = {}
_SHORT_NAMES: dict[Word, str] = {}


def _names_of(word: str) -> tuple[str, ...]:
    name = word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1] or word
    names = [name]
    lower = _plain(name)
    if lower not in names:
        names.append(lower)
    bare = lower.rstrip("0123456789.").rstrip("-")
    if len(bare) > 2 and bare != lower and not lower.endswith("."):
        names.append(bare)
    return tuple(names)


def name_of(command: Command) -> str:
    """The program's name in small letters, without folder and `.exe`; "" where it is not known."""
    word = command.argv[0]
    known = _SHORT_NAMES.get(word)
    if known is None:
        if len(_SHORT_NAMES) > 2000:
            _SHORT_NAMES.clear()
        names = program_names(word)
        small = len(names) > 1 and names[1] == _plain(names[0])
        known = _SHORT_NAMES[word] = "" if not names else names[1] if small else names[0]
    return known


def _plain(name: str) -> str:
    lower = name.lower()
    for ending in _ENDINGS:
        if lower.endswith(ending) and len(lower) > len(ending):
            return lower[: -len(ending)]
    return lower
