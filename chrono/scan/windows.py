"""Owns splitting PowerShell and cmd.exe text into commands: quotes, pipes, variables, the parts that hide a name.

It is a reading, not an evaluation: loops, functions and objects are left out, and what cannot be read is unparsed.
What the commands do is left to `scan.touch` and the rules.
"""

from __future__ import annotations

import os

from chrono.scan.command import UNKNOWN, Command, Evaluation, Pattern, Redirect, Refusal, Word
from chrono.scan.world import World

_POSIX_SHELLS = frozenset(["powershell", "pwsh"])
_SPLITS = (";", "\n", "&&", "||")


def commands_of_windows(
    text: str,
    world: World,
    *,
    shell: str,
    via: tuple[str, ...] = (),
    cwd: str | None = None,
    span: tuple[int, int] | None = None,
    depth: int = 0,
) -> Evaluation:
    """What a text runs under "powershell" or "cmd". Never raises; what is not read is a Refusal "unparsed"."""
    where = span or (0, len(text))
    if depth > 6:
        return Evaluation((), (Refusal("limit", "it is nested too deeply", where),))
    reader = _PowerShell(text, world) if shell in _POSIX_SHELLS else _Cmd(text, world)
    try:
        pipelines = reader.pipelines()
    except _Unread as error:
        return Evaluation((), (Refusal("unparsed", str(error), where),))
    commands: list[Command] = []
    refusals: list[Refusal] = []
    for pipeline in pipelines:
        upstream: tuple[tuple[Word, ...], ...] = ()
        for argv, redirects in pipeline:
            if argv:
                if not upstream and _runs_text(argv) and UNKNOWN in argv:
                    # What stands in parentheses yields the text that runs.
                    upstream = tuple(command.argv for command in commands)
                command = Command(argv, via, where, cwd or world.cwd, redirects, None, upstream)
                commands.append(command)
                inner = _inner(argv, shell)
                if inner is not None:
                    language, code = inner
                    found = commands_of_windows(
                        code, world, shell=language, via=(*via, _label(argv)), cwd=cwd, span=where, depth=depth + 1
                    )
                    commands.extend(found.commands)
                    refusals.extend(found.refusals)
            upstream = (*upstream, argv) if argv else upstream
    return Evaluation(tuple(commands), tuple(refusals))


class _Unread(Exception):
    """Text that is not understood."""


Pipeline = list[tuple[tuple[Word, ...], tuple[Redirect, ...]]]


def _label(argv: tuple[Word, ...]) -> str:
    return " ".join(word for word in argv[:2] if isinstance(word, str))


def _inner(argv: tuple[Word, ...], shell: str) -> tuple[str, str] | None:
    """Text that a command hands to another shell: `cmd /c …`, `powershell -Command …`, `iex '…'`."""
    name = argv[0].lower().removesuffix(".exe") if isinstance(argv[0], str) else ""
    name = name.rsplit("\\", 1)[-1].rsplit("/", 1)[-1]
    words = [word for word in argv[1:] if isinstance(word, str)]
    lower = [word.lower() for word in words]
    if name == "cmd":
        for at, word in enumerate(lower):
            if word in ("/c", "/k", "/r"):
                return "cmd", " ".join(words[at + 1 :])
        return None
    if name in _POSIX_SHELLS:
        for at, word in enumerate(lower):
            if len(word) > 1 and "-command".startswith(word):
                return "powershell", " ".join(words[at + 1 :])
            if (len(word) > 1 and "-encodedcommand".startswith(word)) or word == "-ec":
                return "powershell", _decoded(words[at + 1] if at + 1 < len(words) else "")
        plain = [word for word in words if not word.startswith("-")]
        return ("powershell", " ".join(plain)) if plain and " " in plain[0] else None
    if name in ("iex", "invoke-expression") and words and shell != "cmd":
        return ("powershell", words[0]) if not words[0].startswith("-") else None
    return None


def _runs_text(argv: tuple[Word, ...]) -> bool:
    return isinstance(argv[0], str) and argv[0].lower() in ("iex", "invoke-expression")


def _decoded(text: str) -> str:
    """The text of -EncodedCommand: base64 of UTF-16."""
    from binascii import Error, a2b_base64

    try:
        return a2b_base64(text).decode("utf-16-le")
    except (Error, ValueError):
        return ""


class _PowerShell:
    """Reads PowerShell: statements, pipelines, quotes, simple variables, `& name`, `-f`-free string concatenation."""

    def __init__(self, text: str, world: World) -> None:
        self.text = text
        self.world = world
        self.at = 0
        self.variables: dict[str, Word] = {
            "home": world.home,
            "env:userprofile": world.env("USERPROFILE") or world.home,
            "env:home": world.home,
            "env:homepath": world.home,
            "env:systemdrive": "C:",
            "env:systemroot": "C:\\Windows",
            "env:windir": "C:\\Windows",
            "env:programfiles": "C:\\Program Files",
            "env:appdata": f"{world.home}/AppData/Roaming",
            "env:localappdata": f"{world.home}/AppData/Local",
            "env:temp": "C:\\Users\\x\\AppData\\Local\\Temp\\x",
            "pwd": world.cwd,
            "null": "",
            "true": "$true",
            "false": "$false",
        }

    def pipelines(self) -> list[Pipeline]:
        found: list[Pipeline] = []
        while self.at < len(self.text):
            found.extend(self._statement())
        return found

    def _statement(self) -> list[Pipeline]:
        nested: list[Pipeline] = []
        pipeline: Pipeline = []
        argv: list[Word] = []
        redirects: list[Redirect] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            two = self.text[self.at : self.at + 2]
            if char in " \t\r":
                self.at += 1
            elif char == "#" and not argv:
                self._skip_line()
            elif char in ";\n" or two in ("&&", "||"):
                self.at += 2 if two in ("&&", "||") else 1
                break
            elif char == "|":
                self.at += 1
                pipeline.append((tuple(argv), tuple(redirects)))
                argv, redirects = [], []
            elif char in "{}":
                # The body of a block runs like any other text.
                self.at += 1
                if argv or pipeline:
                    pipeline.append((tuple(argv), tuple(redirects)))
                    argv, redirects = [], []
                    nested.append(pipeline)
                    pipeline = []
            elif char == "(":
                inner = self._parenthesis()
                found, value = self._nested(inner)
                nested.extend(found)
                argv.append(value)
            elif char == ">" or (
                char in "123456*" and self.text[self.at + 1 : self.at + 2] == ">" and self._at_word_start()
            ):
                self.at += 1 if char == ">" else 2
                op = ">"
                if self.text[self.at : self.at + 1] == ">":
                    op, self.at = ">>", self.at + 1
                if self.text[self.at : self.at + 1] == "&":
                    self.at += 2
                    continue
                self._blanks()
                redirects.append(Redirect(op, 1, self._word()))
            elif (char == "&" and not argv) or (
                char == "." and not argv and self.text[self.at + 1 : self.at + 2] == " "
            ):
                self.at += 1
            elif char == "&":
                self.at += 1
                break
            elif char == ",":
                self.at += 1
            elif char == "=" and len(argv) == 1 and self._names_variable:
                self.at += 1
                self._assign(nested)
                argv = []
            else:
                self._names_variable = char == "$"
                start = self.at
                argv.append(self._word())
                if self._names_variable and len(argv) == 1:
                    self._variable = self.text[start + 1 : self.at].lower().strip("{}")
        if argv or pipeline or redirects:
            pipeline.append((tuple(argv), tuple(redirects)))
        return [*nested, pipeline] if pipeline else nested

    _names_variable = False
    _variable = ""

    def _at_word_start(self) -> bool:
        return self.at == 0 or self.text[self.at - 1] in " \t"

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _blanks(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t") and self.at < len(self.text):
            self.at += 1

    def _assign(self, nested: list[Pipeline]) -> None:
        """`$name = value`: a constant is remembered, a command in its place runs."""
        self._blanks()
        name = self._variable
        start = self.at
        if self.text[self.at : self.at + 1] in ("'", '"'):
            self.variables[name] = self._word()
            return
        self.variables[name] = UNKNOWN
        found = self._statement()
        nested.extend(found)
        raw = self.text[start : self.at].strip().rstrip(";")
        if found and len(found[-1]) == 1 and len(found[-1][0][0]) == 1 and " " not in raw:
            value = found[-1][0][0][0]
            nested.pop()
            self.variables[name] = value

    def _parenthesis(self) -> str:
        depth = 0
        start = self.at + 1
        quote = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            if quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    self.at += 1
                    return self.text[start : self.at - 1]
            self.at += 1
        raise _Unread("a parenthesis is not closed")

    def _nested(self, inner: str) -> tuple[list[Pipeline], Word]:
        """A parenthesis: its commands run; a sum of constant strings is one word."""
        parts = _sum_of_strings(inner)
        if parts is not None:
            return [], parts
        reader = _PowerShell(inner, self.world)
        reader.variables = self.variables
        found = reader.pipelines()
        return found, Pattern((None,))

    def _word(self) -> Word:
        pieces: list[str | None] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r\n;|,{}>" or (char == "&" and pieces):
                break
            if char == "=" and len(pieces) == 1 and self._names_variable:
                break
            if char == ")":
                self.at += 1
                break
            if char == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise _Unread("a quote is not closed")
                pieces.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                pieces.extend(self._double())
            elif char == "`":
                pieces.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$":
                pieces.append(self._expansion())
            elif char == "(":
                self._parenthesis()
                pieces.append(None)
            else:
                pieces.append(char)
                self.at += 1
        return _word_of(pieces)

    def _double(self) -> list[str | None]:
        self.at += 1
        pieces: list[str | None] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return pieces
            if char == "`":
                pieces.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$":
                pieces.append(self._expansion())
            else:
                pieces.append(char)
                self.at += 1
        raise _Unread("a quote is not closed")

    def _expansion(self) -> str | None:
        self.at += 1
        if self.text[self.at : self.at + 1] == "(":
            self._parenthesis()
            return None
        start = self.at
        if self.text[self.at : self.at + 1] == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                raise _Unread("a brace is not closed")
            name = self.text[self.at + 1 : end]
            self.at = end + 1
        else:
            while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_:?"):
                self.at += 1
            name = self.text[start : self.at]
        if not name:
            return "$"
        value = self.variables.get(name.lower())
        return value if isinstance(value, str) else None


class _Cmd:
    """Reads cmd.exe: `&`, `&&`, `|`, double quotes, carets, `%VAR%`."""

    def __init__(self, text: str, world: World) -> None:
        self.text = self._expanded(text, world)

    def _expanded(self, text: str, world: World) -> str:
        known = {
            "userprofile": world.env("USERPROFILE") or world.home,
            "homepath": world.home,
            "systemdrive": "C:",
            "homedrive": "C:",
            "systemroot": "C:\\Windows",
            "windir": "C:\\Windows",
            "cd": world.cwd,
        }
        out: list[str] = []
        parts = text.split("%")
        at = 0
        while at < len(parts):
            out.append(parts[at])
            if at + 2 < len(parts) and parts[at + 1].replace("_", "").isalnum():
                name = parts[at + 1]
                out.append(known.get(name.lower()) or world.env(name) or "\0")
            elif at + 1 < len(parts):
                out.append("%" + parts[at + 1])
            at += 2
        return "".join(out)

    def pipelines(self) -> list[Pipeline]:
        found: list[Pipeline] = []
        pipeline: Pipeline = []
        argv: list[Word] = []
        redirects: list[Redirect] = []
        word: list[str | None] | None = None
        target = ""
        quoted = False

        def close_word() -> None:
            nonlocal word, target
            if word is None:
                return
            value = _word_of([None if piece == "\0" else piece for piece in word])
            if target:
                redirects.append(Redirect(target, 1, value))
                target = ""
            else:
                argv.append(value)
            word = None

        def close_command() -> None:
            nonlocal argv, redirects
            close_word()
            if argv or redirects:
                pipeline.append((_split_switches(argv), tuple(redirects)))
            argv, redirects = [], []

        at = 0
        while at < len(self.text):
            char = self.text[at]
            if char == '"':
                quoted = not quoted
                word = word or []
            elif char == "^" and not quoted:
                at += 1
                word = [*(word or []), self.text[at : at + 1]]
            elif quoted or char not in " \t&|<>\n\r();,=@":
                word = [*(word or []), char]
            elif char in "=" and word is not None:
                word.append(char)
            elif char in "&\n|":
                close_command()
                double = self.text[at : at + 2] in ("&&", "||")
                if char != "|" or double:
                    found.append(pipeline)
                    pipeline = []
                at += double
            elif char in "<>":
                if word is not None and len(word) == 1 and word[0] in ("1", "2"):
                    word = None
                close_word()
                double = self.text[at : at + 2] == ">>"
                if self.text[at + 1 + double : at + 2 + double] == "&":
                    at += 2
                else:
                    target = ">>" if double else char
                at += double
            else:
                close_word()
            at += 1
        close_command()
        found.append(pipeline)
        return found


def _split_switches(argv: list[Word]) -> tuple[Word, ...]:
    """`rd/s/q` is `rd /s /q`."""
    first = argv[0] if argv else ""
    if isinstance(first, str) and "/" in first[1:] and "\\" not in first and not os.path.isabs(first):
        name, *switches = first.split("/")
        if all(0 < len(switch) < 3 for switch in switches):
            return (name, *(f"/{switch}" for switch in switches), *argv[1:])
    return tuple(argv)


def _sum_of_strings(text: str) -> str | None:
    """`'Remove'+'-Item'` as one string, None of anything else."""
    out = []
    for part in text.split("+"):
        part = part.strip()
        if len(part) < 2 or part[0] not in "'\"" or part[-1] != part[0] or part[0] in part[1:-1] or "$" in part:
            return None
        out.append(part[1:-1])
    return "".join(out)


def _word_of(pieces: list[str | None]) -> Word:
    joined: list[str | None] = []
    for piece in pieces:
        if piece is not None and joined and joined[-1] is not None:
            joined[-1] += piece
        else:
            joined.append(piece)
    if all(isinstance(piece, str) for piece in joined):
        return "".join(piece for piece in joined if piece is not None)
    return Pattern(tuple(joined))
