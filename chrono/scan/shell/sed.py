"""Owns `sed` on known text: substitutions, deletions, prints and new lines, by number or pattern."""

from __future__ import annotations

import re

MAX_SUBJECT = 20_000


class _Unknown(Exception):
    pass


def sed(args: list[str], text: str) -> str | None:
    """What `sed args` writes for the text (files already taken out of `args`); None where not understood."""
    scripts: list[str] = []
    quiet = extended = False
    at = 0
    while at < len(args):
        arg = args[at]
        at += 1
        if arg in ("-e", "--expression") and at < len(args):
            scripts.append(args[at])
            at += 1
        elif arg in ("-n", "--quiet", "--silent"):
            quiet = True
        elif arg in ("-E", "-r", "--regexp-extended"):
            extended = True
        elif arg in ("-u", "-s", "--"):
            continue
        elif arg.startswith("-"):
            return None
        else:
            scripts.append(arg)
    if len(text) > MAX_SUBJECT or not scripts:
        return None
    try:
        commands = [command for script in scripts for command in _commands(script, extended)]
        return _run(commands, text, quiet)
    except (_Unknown, re.error, OverflowError, RecursionError, IndexError):
        return None


class _Command:
    __slots__ = ("address", "every", "letter", "pattern", "prints", "replacement")

    def __init__(self, address: str | re.Pattern[str], letter: str) -> None:
        self.address = address
        self.letter = letter
        self.pattern: re.Pattern[str] | None = None
        self.replacement = ""
        self.every = False
        self.prints = False


def _commands(script: str, extended: bool) -> list[_Command]:
    out: list[_Command] = []
    at = 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        address: str | re.Pattern[str] = ""
        number = re.compile(r"\d{1,6}|\$").match(script, at)
        if number:
            address, at = number.group(), number.end()
        elif script[at] == "/":
            source, at = _until(script, at + 1, "/")
            address = _expression(source, extended, "")
        while at < len(script) and script[at] in " \t":
            at += 1
        letter = script[at]
        at += 1
        command = _Command(address, letter)
        if letter == "s":
            at = _substitution(command, script, at, extended)
        elif letter in "aic":
            command.replacement, at = _line(script, at)
        elif letter not in "pdq":
            raise _Unknown
        out.append(command)
    return out


def _until(script: str, at: int, delimiter: str) -> tuple[str, int]:
    out: list[str] = []
    while script[at] != delimiter:
        if script[at] == "\\":
            following = script[at + 1]
            out.append(following if following == delimiter else "\\" + following)
            at += 2
        else:
            out.append(script[at])
            at += 1
    return "".join(out), at + 1


def _line(script: str, at: int) -> tuple[str, int]:
    """The text of `a`, `i` and `c`, on the same line or behind a backslash and a line's end; it goes on to its end."""
    end = script.find("\n", at)
    text = script[at:end] if end >= 0 else script[at:]
    if text.rstrip() == "\\" and end >= 0:
        return _line(script, end + 1)
    if text.endswith("\\"):
        raise _Unknown
    return text.lstrip().removeprefix("\\"), at + len(text)


def _substitution(command: _Command, script: str, at: int, extended: bool) -> int:
    delimiter = script[at]
    source, at = _until(script, at + 1, delimiter)
    replacement, at = _until(script, at, delimiter)
    flags = re.compile(r"[gpI]*").match(script, at)
    assert flags is not None
    at = flags.end()
    if at < len(script) and script[at] not in " \t\n;}":
        # `e` runs the result as a command, `w` writes it to a file: nothing that can be folded.
        raise _Unknown
    command.pattern = _expression(source, extended, flags.group())
    command.every = "g" in flags.group()
    command.prints = "p" in flags.group()
    command.replacement = _template(replacement)
    return at


def _template(text: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "&":
            out.append(r"\g<0>")
        elif char == "\\" and at < len(text):
            following = text[at]
            at += 1
            if following.isdigit():
                out.append(rf"\g<{following}>")
            elif following in "ULElu":
                raise _Unknown
            else:
                out.append({"n": "\n", "t": "\t", "\\": r"\\"}.get(following, following))
        else:
            out.append(char)
    return "".join(out)


def _expression(source: str, extended: bool, flags: str) -> re.Pattern[str]:
    """A POSIX expression for Python; nested repetition is refused, since matching it can take for ever."""
    if len(source) > 200:
        raise _Unknown
    out: list[str] = []
    at = 0
    while at < len(source):
        char = source[at]
        at += 1
        if char == "[":
            end = source.index("]", at + (2 if source[at : at + 1] == "^" else 1)) if "]" in source[at + 1 :] else -1
            if end < 0 or "[:" in source[at:end]:
                raise _Unknown
            out.append("[" + source[at:end].replace("\\", r"\\").replace("[", r"\[") + "]")
            at = end + 1
        elif char == "\\" and at < len(source):
            following = source[at]
            at += 1
            if following in "(){}|+?" and not extended:
                out.append(following)
            elif following in "nt":
                out.append("\\" + following)
            elif following.isalnum():
                raise _Unknown
            else:
                out.append(re.escape(following))
        elif char in "(){}|+?" and not extended:
            out.append("\\" + char)
        elif char == "*" and not out:
            out.append(r"\*")
        else:
            out.append(char)
    translated = "".join(out)
    if re.search(r"(?<!\\)\)[*+{]", translated) or translated.count("*") + translated.count("+") > 3:
        raise _Unknown
    return re.compile(translated, re.IGNORECASE if "I" in flags else 0)


def _run(commands: list[_Command], text: str, quiet: bool) -> str:
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    if any(len(line) > 2000 for line in lines):
        raise _Unknown
    out: list[str] = []
    for number, line in enumerate(lines, 1):
        stop = _one(commands, line, number, len(lines), quiet, out)
        if stop:
            break
    return "".join(line + "\n" for line in out)[: None if ended or not out else -1]


def _one(commands: list[_Command], line: str, number: int, last: int, quiet: bool, out: list[str]) -> bool:
    """One line through all commands; True where `q` ends the output."""
    behind: list[str] = []
    for command in commands:
        address = command.address
        if isinstance(address, str):
            if address and number != (last if address == "$" else int(address)):
                continue
        elif not address.search(line):
            continue
        if command.letter == "d":
            return False
        if command.letter in "ic":
            out.append(command.replacement)
            if command.letter == "c":
                return False
        elif command.letter == "a":
            behind.append(command.replacement)
        elif command.letter == "p":
            out.append(line)
        elif command.letter == "q":
            out.append(line)
            return True
        elif command.pattern is not None:
            line, changed = command.pattern.subn(command.replacement, line, count=0 if command.every else 1)
            if changed and command.prints:
                out.append(line)
    if not quiet:
        out.append(line)
    out.extend(behind)
    return False
