"""Owns filters on known text: base64, tr, rev, cut, sed, head, tail, sort, xxd and their kin."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable

from chrono.scan.shell.ansi import decode_printf, from_bytes, to_bytes
from chrono.scan.shell.sed import sed
from chrono.tuples import NamedTuple

Options = list[str]


class Filter(NamedTuple):
    """`split` tells (options, files); `run` answers the output or None; unknown runs may pass if `keeps_unknown`."""

    split: Callable[[list[str]], tuple[Options, list[str]]]
    run: Callable[[Options, str], str | None]
    keeps_unknown: bool = False


def _splitter(with_value: str = "", operands: int = 0) -> Callable[[list[str]], tuple[Options, list[str]]]:
    """Options in front or between; letters in `with_value` take a word; the first `operands` words are no files."""

    def split(args: list[str]) -> tuple[Options, list[str]]:
        options: Options = []
        files: list[str] = []
        left = operands
        at = 0
        while at < len(args):
            arg = args[at]
            at += 1
            if arg == "--":
                rest = args[at:]
                options += rest[:left]
                files += rest[left:]
                break
            if arg.startswith("-") and len(arg) > 1:
                options.append(arg)
                if len(arg) == 2 and arg[1] in with_value and at < len(args):
                    options.append(args[at])
                    at += 1
            elif left:
                options.append(arg)
                left -= 1
            else:
                files.append(arg)
        return options, files

    return split


def _base64(options: Options, text: str) -> str | None:
    if any(option in ("-d", "-D", "--decode", "-di", "-id", "--d") for option in options):
        kept = re.sub(r"[^A-Za-z0-9+/=]", "", text)
        kept = kept.rstrip("=")
        try:
            return from_bytes(binascii.a2b_base64(kept + "=" * (-len(kept) % 4)))
        except (binascii.Error, ValueError):
            return None
    if any(option not in ("-w0", "-w", "0", "--wrap=0") for option in options):
        return None
    encoded = binascii.b2a_base64(to_bytes(text), newline=False).decode()
    if options:
        return encoded
    return "".join(encoded[at : at + 76] + "\n" for at in range(0, len(encoded), 76))


def _base32(options: Options, text: str) -> str | None:
    if not any(option in ("-d", "--decode", "-di") for option in options):
        return None
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    bits = size = 0
    out = bytearray()
    for char in text:
        value = alphabet.find(char)
        if value < 0:
            continue
        bits, size = bits << 5 | value, size + 5
        if size >= 8:
            size -= 8
            out.append(bits >> size & 0xFF)
            bits &= (1 << size) - 1
    return from_bytes(bytes(out))


def _xxd(options: Options, text: str) -> str | None:
    letters = "".join(option.lstrip("-") for option in options)
    if "r" in letters and "p" in letters:
        kept = re.sub(r"[^0-9A-Fa-f]", "", text)
        return from_bytes(binascii.unhexlify(kept[: len(kept) // 2 * 2]))
    if "r" not in letters and letters in ("p", "ps", "plain"):
        encoded = binascii.hexlify(to_bytes(text)).decode()
        return "".join(encoded[at : at + 60] + "\n" for at in range(0, len(encoded), 60))
    return None


def _gunzip(options: Options, text: str) -> str | None:
    """Decompression, at most a megabyte (imported when needed: the module costs time at every start)."""
    import zlib

    if any(option not in ("-d", "-c", "-dc", "-cd", "-f", "--decompress", "--stdout", "-q") for option in options):
        return None
    try:
        data = zlib.decompressobj(31).decompress(to_bytes(text), 1_000_000)
    except zlib.error:
        return None
    return from_bytes(data)


def _gzip(options: Options, text: str) -> str | None:
    decompresses = any("d" in option for option in options if not option.startswith("--"))
    return _gunzip(options, text) if decompresses or "--decompress" in options else None


def _rev(options: Options, text: str) -> str | None:
    lines = text.split("\n")
    return "\n".join(line[::-1] for line in lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def _unlines(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _tac(options: Options, text: str) -> str | None:
    return None if options else _unlines(_lines(text)[::-1])


def _sort(options: Options, text: str) -> str | None:
    letters = "".join(option[1:] for option in options)
    if letters.strip("ru"):
        return None
    lines = sorted(set(_lines(text)) if "u" in letters else _lines(text), reverse="r" in letters)
    return _unlines(lines)


def _uniq(options: Options, text: str) -> str | None:
    if options:
        return None
    lines = _lines(text)
    return _unlines([line for at, line in enumerate(lines) if not at or line != lines[at - 1]])


_CLASSES = {
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "lower": "abcdefghijklmnopqrstuvwxyz", "digit": "0123456789",
    "space": " \t\n\r\v\f", "blank": " \t",
}  # fmt: skip
_CLASSES["alpha"] = _CLASSES["upper"] + _CLASSES["lower"]
_CLASSES["alnum"] = _CLASSES["digit"] + _CLASSES["alpha"]


def _tr_set(text: str) -> list[str] | None:
    """The characters a set of `tr` stands for, in order."""
    text = decode_printf(text)
    out: list[str] = []
    at = 0
    while at < len(text):
        named = re.match(r"\[:([a-z]+):\]", text[at:])
        if named:
            if named[1] not in _CLASSES:
                return None
            out += _CLASSES[named[1]]
            at += named.end()
        elif at + 2 < len(text) and text[at + 1] == "-":
            first, last = ord(text[at]), ord(text[at + 2])
            if last < first or last - first > 300:
                return None
            out += [chr(code) for code in range(first, last + 1)]
            at += 3
        else:
            out.append(text[at])
            at += 1
    return out


def _tr(options: Options, text: str) -> str | None:
    flags = "".join(option[1:] for option in options if option.startswith("-") and len(option) > 1)
    sets = [_tr_set(option) for option in options if not (option.startswith("-") and len(option) > 1)]
    if not sets or len(sets) > 2 or flags.strip("dscC"):
        return None
    first = sets[0]
    second = sets[1] if len(sets) == 2 else None
    if first is None or (len(sets) == 2 and second is None):
        return None
    complement = "c" in flags or "C" in flags
    if "d" in flags:
        chosen = set(first)
        return "".join(char for char in text if (char in chosen) == complement)
    if second is None:
        return re.sub(f"([{re.escape(''.join(first))}])\\1+", r"\1", text) if flags == "s" and first else None
    if not second:
        return None
    if complement:
        kept = set(first)
        changed = "".join(char if char in kept else second[-1] for char in text)
    else:
        padded = second + [second[-1]] * (len(first) - len(second))
        table = dict(zip(first[::-1], padded[: len(first)][::-1], strict=True))
        changed = "".join(table.get(char, char) for char in text)
    if "s" in flags:
        changed = re.sub(f"([{re.escape(''.join(second))}])\\1+", r"\1", changed)
    return changed


def _count(options: Options, default: int) -> tuple[str, str] | None:
    """(unit, number) of head and tail."""
    unit, number = "n", str(default)
    at = 0
    while at < len(options):
        option = options[at]
        at += 1
        if option in ("-n", "-c") and at < len(options):
            unit, number = option[1], options[at]
            at += 1
        elif re.fullmatch(r"-[nc][+-]?\d{1,9}", option):
            unit, number = option[1], option[2:]
        elif re.fullmatch(r"-\d{1,9}", option):
            number = option[1:]
        elif re.fullmatch(r"--(lines|bytes)=[+-]?\d{1,9}", option):
            unit = "n" if option[2] == "l" else "c"
            number = option.partition("=")[2]
        elif option not in ("-q", "--quiet"):
            return None
    return (unit, number) if re.fullmatch(r"[+-]?\d{1,9}", number) else None


def _head(options: Options, text: str) -> str | None:
    count = _count(options, 10)
    if count is None:
        return None
    number = int(count[1])
    if count[0] == "c":
        return None if "\0" in text else text[:number]
    lines = text.splitlines(keepends=True) if "\r" not in text else re.findall(r"[^\n]*\n|[^\n]+", text)
    head = "".join(lines[:number])
    return "\0" if "\0" in head else head


def _tail(options: Options, text: str) -> str | None:
    count = _count(options, 10)
    if count is None:
        return None
    from_start = count[1].startswith("+")
    number = abs(int(count[1]))
    if count[0] == "c":
        return text[number - 1 if number else 0 :] if from_start else text[-number:] if number else ""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if from_start:
        return "".join(lines[max(number - 1, 0) :])
    return "".join(lines[-number:]) if number else ""


def _ranges(text: str) -> list[tuple[int, int]] | None:
    out: list[tuple[int, int]] = []
    for item in text.split(","):
        match = re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", item)
        if match is None or not item or item == "-":
            return None
        first = int(match[1] or "1")
        out.append((first, (int(match[3]) if match[3] else 1_000_000) if match[2] else first))
    return out


def _cut(options: Options, text: str) -> str | None:
    delimiter, listed, kind = "\t", "", ""
    at = 0
    while at < len(options):
        option = options[at]
        at += 1
        letter, value = option[1:2], option[2:]
        if letter in ("d", "f", "c", "b"):
            if not value:
                value = options[at] if at < len(options) else ""
                at += 1
            if letter == "d":
                delimiter = value
            else:
                kind, listed = letter, value
        elif option not in ("-s", "-n"):
            return None
    ranges = _ranges(listed)
    if ranges is None or len(delimiter) != 1:
        return None
    only = "-s" in options
    out: list[str] = []
    for line in _lines(text):
        if kind in ("c", "b"):
            out.append("".join(char for at, char in enumerate(line[:5000], 1) if _within(at, ranges)))
        elif delimiter not in line:
            out += [] if only else [line]
        else:
            cells = line.split(delimiter)
            out.append(delimiter.join(cell for at, cell in enumerate(cells, 1) if _within(at, ranges)))
    return _unlines(out)


def _within(at: int, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= at <= last for first, last in ranges)


def _awk(options: Options, text: str) -> str | None:
    """`{print}` and `{print $1, $2}` alone."""
    separator: str | None = None
    program = ""
    at = 0
    while at < len(options):
        option = options[at]
        at += 1
        if option == "-F" and at < len(options):
            separator = options[at]
            at += 1
        elif option.startswith("-F"):
            separator = option[2:]
        elif option.startswith("-"):
            return None
        else:
            program = option
    match = re.fullmatch(r"\s*\{\s*print\s*((?:\$\d{1,3}|\$NF)(?:\s*,\s*(?:\$\d{1,3}|\$NF))*)?\s*;?\s*\}\s*", program)
    if match is None or (separator is not None and len(separator) != 1):
        return None
    wanted = re.findall(r"\$(\d+|NF)", match[1] or "$0")
    out: list[str] = []
    for line in _lines(text):
        cells = line.split(separator) if separator not in (None, " ") else line.split()
        out.append(" ".join(_cell(line, cells, name) for name in wanted))
    return _unlines(out)


def _cell(line: str, cells: list[str], name: str) -> str:
    if name == "0":
        return line
    number = len(cells) if name == "NF" else int(name)
    return cells[number - 1] if 0 < number <= len(cells) else ""


def _paste(options: Options, text: str) -> str | None:
    """`paste -s -d X`: lines become one."""
    letters = "".join(option for option in options)
    match = re.fullmatch(r"-s-?d(.)|-d(.)-s", letters)
    if letters == "-s":
        return "\t".join(_lines(text)) + "\n"
    return (match[1] or match[2]).join(_lines(text)) + "\n" if match else None


def _split_sed(args: list[str]) -> tuple[Options, list[str]]:
    """The first word is the script unless `-e` gives one."""
    given = any(arg in ("-e", "--expression") for arg in args)
    return _splitter("ef", 0 if given else 1)(args)


FILTERS: dict[str, Filter] = {
    "base64": Filter(_splitter("w"), _base64),
    "base32": Filter(_splitter("w"), _base32),
    "xxd": Filter(_splitter("cls"), _xxd),
    "gunzip": Filter(_splitter(), _gunzip),
    "zcat": Filter(_splitter(), _gunzip),
    "gzip": Filter(_splitter(), _gzip),
    "rev": Filter(_splitter(), _rev),
    "tac": Filter(_splitter(), _tac, True),
    "sort": Filter(_splitter("kt"), _sort, True),
    "uniq": Filter(_splitter(), _uniq, True),
    "tr": Filter(_splitter(operands=2), _tr),
    "head": Filter(_splitter("nc"), _head, True),
    "tail": Filter(_splitter("nc"), _tail),
    "cut": Filter(_splitter("dfcb"), _cut),
    "awk": Filter(_splitter("F", 1), _awk),
    "gawk": Filter(_splitter("F", 1), _awk),
    "mawk": Filter(_splitter("F", 1), _awk),
    "sed": Filter(_split_sed, sed),
    "gsed": Filter(_split_sed, sed),
    "paste": Filter(_splitter("d"), _paste),
}
