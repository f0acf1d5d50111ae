"""Owns what words become: fields, one text, or a pattern.

`${…}` with its operators is left to `parameter_values`, file names to `files`.
"""

from __future__ import annotations

from chrono.scan.command import Glob
from chrono.scan.expression import expression
from chrono.scan.shell import globs
from chrono.scan.shell.calculate import arithmetic_text
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.parameter_values import ListValue, WordValue, ifs_of, parameter
from chrono.scan.shell.state import State
from chrono.scan.shell.syntax import (
    Arith,
    ArrayValue,
    Declared,
    Param,
    Part,
    Process,
    Quoted,
    Subst,
    Text,
    Word,
)
from chrono.scan.shell.values import MANY_FIELDS, MAX_VALUE_CHARS, collapse

_MAGIC = frozenset("*?[")
DEFAULT_IFS = " \t\n"
_ASSIGNED = expression(r"[A-Za-z_][A-Za-z0-9_]*=~")


def fields(m: Machine, word: Word, state: State) -> list[str]:
    """The fields that a word becomes where it splits."""
    if word.plain is not None:
        return [word.plain]
    builder = _Fields(m, state, splits=True)
    builder.add_parts(word.parts)
    return builder.finish()


def text(m: Machine, word: Word, state: State) -> str:
    """The one text that a word becomes where it does not split (assignments, `case`, redirections, here-strings)."""
    if word.plain is not None:
        return word.plain
    builder = _Fields(m, state, splits=False)
    builder.add_parts(word.parts)
    found = builder.finish()
    if not found:
        return ""
    joined = found[0] if len(found) == 1 else " ".join(found)
    return collapse(joined) if joined != MANY_FIELDS else "\0"


def pattern(m: Machine, word: Word, state: State) -> str:
    """The pattern that a word becomes: what is quoted in it matches itself (see `globs`)."""
    out: list[str] = []
    for part in word.parts:
        kind = type(part)
        if kind is Text:
            assert isinstance(part, Text)
            out.append(globs.quote(part.text) if part.quoted else part.text)
        elif kind is Quoted:
            out.append(globs.quote(text(m, Word((part,), 0, 0), state)))
        else:
            out.append(text(m, Word((part,), 0, 0), state))
    return "".join(out)


def regex_source(m: Machine, word: Word, state: State) -> tuple[tuple[str, bool], ...]:
    """The pieces of an expression behind `=~`, each with whether it is quoted."""
    pieces: list[tuple[str, bool]] = []
    for part in word.parts:
        quoted = isinstance(part, Quoted) or (isinstance(part, Text) and part.quoted)
        value = part.text if isinstance(part, Text) else text(m, Word((part,), 0, 0), state)
        pieces.append((value, quoted))
    return tuple(pieces)


class _Fields:
    """Fields under construction. `wild`: the open one holds an unknown run that would split."""

    __slots__ = ("argument", "cur", "glob", "have", "ifs", "m", "out", "splits", "state", "wild")

    def __init__(self, m: Machine, state: State, *, splits: bool) -> None:
        self.m = m
        self.state = state
        self.splits = splits
        self.ifs = ifs_of(m, state)
        self.out: list[str] = []
        self.cur: list[str] = []
        self.have = False
        self.glob = False
        self.wild = False
        self.argument = False

    def finish(self) -> list[str]:
        self.close()
        return self.out

    def close(self) -> None:
        """Ends the open field, if there is one."""
        if self.have:
            joined = self.cur[0] if len(self.cur) == 1 else "".join(self.cur)
            if len(joined) > MAX_VALUE_CHARS:
                joined = "\0"
            if "\0" in joined:
                joined = collapse(joined)
                if self.wild and joined == "\0":
                    joined = MANY_FIELDS
            if (self.glob and self.splits) or (len(self.cur) > 1 and any(type(c) is Glob for c in self.cur)):
                joined = Glob(joined)
            self.out.append(joined)
        self.cur = []
        self.have = self.glob = self.wild = False

    def add(self, value: str) -> None:
        """Text that neither splits nor matches."""
        self.cur.append(value)
        self.have = True

    def add_parts(self, parts: tuple[Part, ...]) -> None:
        for at, part in enumerate(parts):
            kind = type(part)
            if kind is Text:
                assert isinstance(part, Text)
                if part.quoted:
                    self.add(part.text)
                else:
                    self._literal(part.text, last=at == len(parts) - 1)
            elif kind is Quoted:
                assert isinstance(part, Quoted)
                self._quoted(part.parts)
            elif kind is Param:
                assert isinstance(part, Param)
                self._param(part)
            else:
                self._other(part)

    def _other(self, part: Part) -> None:
        if isinstance(part, Subst):
            self.split(self.m.substitute(part, self.state))
        elif isinstance(part, Arith):
            self.split(arithmetic_text(self.m, text(self.m, part.expression, self.state), self.state))
        elif isinstance(part, Process):
            self.add(self.m.process(part, self.state))
        elif isinstance(part, Declared):
            self._declared(part)
        elif isinstance(part, ArrayValue):
            self.add(f"({' '.join(' '.join(fields(self.m, item[2], self.state)) for item in part.items)})")

    def _declared(self, part: Declared) -> None:
        assign = part.assign
        sign = "+=" if assign.append else "="
        subscript = f"[{text(self.m, assign.subscript, self.state)}]" if assign.subscript else ""
        shown = f"{assign.name}{subscript}{sign}{text(self.m, assign.value, self.state)}"
        self.m.declared[shown] = assign
        self.add(shown)

    def _literal(self, value: str, *, last: bool) -> None:
        """Unquoted text: a tilde in front, patterns; inside `${x:-…}` it also splits."""
        if value[0] == "~" and not self.cur and not self.out:
            value = self._tilde(value, last=last)
        elif "~" in value and not self.cur and self.m.dialect == "bash" and _ASSIGNED.match(value):
            # bash expands a tilde behind `=` in any word that looks like an assignment.
            head, _, rest = value.partition("=")
            value = f"{head}={self._tilde(rest, last=last)}"
        if "\0" in value and self.splits:
            self.split(value)
            return
        if self.argument and self.splits:
            self.split(value)
            return
        if not _MAGIC.isdisjoint(value):
            self.glob = True
        self.cur.append(value)
        self.have = True

    def _tilde(self, value: str, *, last: bool) -> str:
        name, slash, rest = value[1:].partition("/")
        if not slash and not last:
            return value
        home = home_of(self.m, name, self.state)
        return value if home is None else home + slash + rest

    def _quoted(self, parts: tuple[Part, ...]) -> None:
        if not parts:
            self.have = True
        for part in parts:
            kind = type(part)
            if kind is Text:
                assert isinstance(part, Text)
                self.add(part.text)
            elif kind is Param:
                assert isinstance(part, Param)
                value = parameter(self.m, part, self.state, _helpers(self))
                if isinstance(value, str):
                    self.add(value)
                elif isinstance(value, WordValue):
                    self._quoted(value.word.parts)
                    self.have = True
                else:
                    self._quoted_list(value)
            elif isinstance(part, Quoted):
                self._quoted(part.parts)
            elif isinstance(part, Subst):
                self.add(self.m.substitute(part, self.state))
            elif isinstance(part, Arith):
                self.add(arithmetic_text(self.m, text(self.m, part.expression, self.state), self.state))
            elif isinstance(part, Process):
                self.add(self.m.process(part, self.state))

    def _quoted_list(self, value: ListValue) -> None:
        """`"$@"` makes a field of each element, `"$*"` joins them."""
        if value.star or not self.splits:
            separator = " " if self.ifs is None or not value.star else self.ifs[:1]
            self.add(separator.join("\0" if item == MANY_FIELDS else item for item in value.items))
            return
        for at, item in enumerate(value.items):
            if at:
                self.close()
            if item == MANY_FIELDS and not self.cur:
                self.out.append(MANY_FIELDS)
                self.have = False
            else:
                self.add("\0" if item == MANY_FIELDS else item)

    def _param(self, part: Param) -> None:
        value = parameter(self.m, part, self.state, _helpers(self))
        if isinstance(value, str):
            self.split(value)
        elif isinstance(value, WordValue):
            before, self.argument = self.argument, True
            self.add_parts(value.word.parts)
            self.argument = before
        elif not self.splits:
            self._quoted_list(value)
        else:
            for at, item in enumerate(value.items):
                if at:
                    self.close()
                self.split(item)

    def split(self, value: str) -> None:
        """An unquoted value: splits at IFS, and what it holds may match file names."""
        if not value:
            return
        if not self.splits:
            self.add("\0" if value == MANY_FIELDS else value)
            return
        if value == MANY_FIELDS:
            if self.cur:
                self.cur.append("\0")
            else:
                self.out.append(MANY_FIELDS)
            return
        if self.m.dialect == "zsh" and not self.argument:
            self.add(value)
            return
        ifs = DEFAULT_IFS if self.ifs is None else self.ifs
        if not any(char in value for char in ifs):
            self._unquoted(value)
            return
        self._split_at(value, ifs)

    def _unquoted(self, value: str) -> None:
        if type(value) is Glob or not _MAGIC.isdisjoint(value):
            self.glob = True
        if "\0" in value:
            self.wild = True
        self.cur.append(value)
        self.have = True

    def _split_at(self, value: str, ifs: str) -> None:
        """POSIX 2.6.5: white space in IFS separates in runs, every other character one by one."""
        blanks = "".join(char for char in ifs if char in DEFAULT_IFS)
        hard = "".join(char for char in ifs if char not in DEFAULT_IFS)
        at, size = 0, len(value)
        while at < size:
            start = at
            while at < size and value[at] not in ifs:
                at += 1
            if at > start:
                self._unquoted(value[start:at])
            if at >= size:
                return
            seen_hard = False
            while at < size and (value[at] in blanks or (value[at] in hard and not seen_hard)):
                seen_hard = seen_hard or value[at] in hard
                at += 1
            if seen_hard:
                self.have = True
            self.close()


class _Helpers:
    """What `parameter_values` needs of this module."""

    __slots__ = ("m", "state")

    def __init__(self, m: Machine, state: State) -> None:
        self.m = m
        self.state = state

    def text(self, word: Word) -> str:
        return text(self.m, word, self.state)

    def pattern(self, word: Word) -> str:
        return pattern(self.m, word, self.state)


def _helpers(builder: _Fields) -> _Helpers:
    return _Helpers(builder.m, builder.state)


def home_of(m: Machine, name: str, state: State) -> str | None:
    """What `~name` stands for; None where it stays as it is."""
    if name == "":
        values = state.get("HOME")
        home = values[0] if len(values) == 1 else "\0"
        return home if isinstance(home, str) else m.world.home
    if name == "+":
        return state.cwds[0] if len(state.cwds) == 1 else "\0"
    if name == "-":
        values = state.get("OLDPWD")
        return values[0] if isinstance(values[0], str) else None
    if name == "root":
        return "/root"
    if name == m.world.user:
        return m.world.home
    for home in m.world.homes():
        if home.rpartition("/")[2] == name:
            return home
    return None


def assignment_text(m: Machine, word: Word, state: State) -> str:
    """The value of an assignment: as `text`, and a tilde behind `=` or `:` counts too."""
    value = word.plain
    if value is not None:
        return value
    parts = word.parts
    if any(type(part) is Text and not part.quoted and ":~" in part.text for part in parts):
        changed: list[Part] = []
        home = home_of(m, "", state) or ""
        for part in parts:
            if isinstance(part, Text) and not part.quoted:
                head, *rest = part.text.split(":~/")
                part = Text(f":{home}/".join((head, *rest)), False)
            changed.append(part)
        word = word._replace(parts=tuple(changed))
    return text(m, word, state)
