"""Owns what the text and list functions of Perl and PHP give, which have much in common.

Effects on the machine are left to each language's library.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.scan.code import texts
from chrono.scan.code.frames import Arguments
from chrono.scan.code.operators import over
from chrono.scan.code.paths import folder_of, last_of
from chrono.scan.code.values import ANY, Items, Table, Text, elements, pieces_of, text_of

Pure = Callable[[Arguments], object]


def pure_call(name: str, args: Arguments) -> object:
    """What a function without effect gives; None where it is not known."""
    function = _FUNCTIONS.get(name)
    return None if function is None else function(args)


def _each(function: Callable[..., object]) -> Pure:
    return lambda args: over(function, args.at(0))


def _method(name: str) -> Pure:
    def call(args: Arguments) -> object:
        value = args.at(0)
        found = over(lambda v: texts.text_method(v, name, ()), value)
        return ANY if found is None else found

    return call


def _join(args: Arguments) -> object:
    glue, rest = args.at(0), args.at(1)
    if isinstance(glue, Items):
        glue, rest = rest if isinstance(rest, str | Text) else "", glue
    if isinstance(rest, Items) and len(args.values) == 2:
        return texts.join_texts(glue, rest)
    return texts.join_texts(glue, Items(args.values[1:], ANY if args.more else None))


def _chr(value: object) -> object:
    return chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else ANY


def _ord(value: object) -> object:
    return ord(value[0]) if isinstance(value, str) and value else ANY


def _sprintf(args: Arguments) -> object:
    return texts.percent_format(args.at(0), Items(args.values[1:], ANY if args.more else None))


def _replace(args: Arguments) -> object:
    """PHP's str_replace(old, new, subject), lists included."""
    old, new, subject = args.at(0), args.at(1), args.at(2)
    pairs: list[tuple[object, object]] = [(old, new)]
    if isinstance(old, Items):
        news = new.values if isinstance(new, Items) else [new] * len(old.values)
        pairs = list(zip(old.values, [*news, *[""] * len(old.values)], strict=False))
    result = subject
    for one, other in pairs:
        found = texts.text_method(result, "replace", (one, other)) if isinstance(result, str | Text) else ANY
        result = ANY if found is None else found
    return result


def _translate(args: Arguments) -> object:
    """PHP's strtr(text, from, to) or strtr(text, table)."""
    text, old, new = args.at(0), args.at(1), args.at(2)
    if not isinstance(text, str):
        return ANY
    if isinstance(old, Table):
        for key, value in old.entries.items():
            text = text.replace(str(key), str(value))
        return text
    if isinstance(old, str) and isinstance(new, str):
        return text.translate({ord(a): b for a, b in zip(old, new, strict=False)})
    return ANY


def _split(args: Arguments) -> object:
    separator, text = args.at(0), args.at(1)
    if isinstance(separator, str) and isinstance(text, str):
        plain = separator.strip("/")
        if separator in ("", "//"):
            return Items(list(text[:4000]))
        if plain in (" ", "\\s+"):
            return Items(text.split()[:4000])
        if not any(c in plain for c in "\\^$.|?*+()[]{}"):
            return Items(text.split(plain or separator)[:4000])
    return Items((), ANY)


def _substr(args: Arguments) -> object:
    text, start, length = args.at(0), args.at(1), args.at(2)
    if not isinstance(text, str) or not isinstance(start, int):
        return ANY
    start = max(len(text) + start, 0) if start < 0 else start
    if length is None:
        return text[start:]
    return (text[start : start + length] if length >= 0 else text[start:length]) if isinstance(length, int) else ANY


def _pack(args: Arguments) -> object:
    template, value = args.at(0), args.at(1)
    if not isinstance(template, str):
        return ANY
    letter = template[:1]
    if letter == "H" and isinstance(value, str):
        found = texts.from_hex(value)
        return found.decode("latin-1") if isinstance(found, bytes) else ANY
    if letter == "A" and isinstance(value, str):
        return value
    if letter in "CUc":
        numbers = [v for v in args.values[1:] if isinstance(v, int) and 0 <= v < 0x110000]
        return "".join(map(chr, numbers)) if len(numbers) == len(args.values) - 1 else ANY
    return ANY


def _unpack(args: Arguments) -> object:
    template, value = args.at(0), args.at(1)
    if template == "u" and isinstance(value, str):
        import binascii

        try:
            return b"".join(binascii.a2b_uu(line.encode()) for line in value.split("\n") if line).decode("latin-1")
        except (ValueError, UnicodeError):
            return ANY
    return value if isinstance(template, str) and template[:1] in "aA" else ANY


def _reverse(args: Arguments) -> object:
    if len(args.values) == 1 and isinstance(args.values[0], str):
        return args.values[0][::-1]
    known, more = elements(args.values[0]) if len(args.values) == 1 else (list(args.values), None)
    return Items(known[::-1], more)


def _as_text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _base64(value: object) -> object:
    return _as_text(texts.from_base64(value))


def _hexadecimal(value: object) -> object:
    try:
        return int(value, 16) if isinstance(value, str) and len(value) < 20 else ANY
    except ValueError:
        return ANY


def _octal(value: object) -> object:
    try:
        return int(value, 0 if value[:2].lower() in ("0x", "0b") else 8) if isinstance(value, str) and value else ANY
    except ValueError:
        return ANY


def _length(value: object) -> object:
    if isinstance(value, str):
        return len(value)
    return len(value.values) if isinstance(value, Items) and value.more is None else ANY


def _merge(args: Arguments) -> object:
    values: list[object] = []
    more: object = None
    for value in args.values:
        known, rest = elements(value)
        values += known
        more = rest if more is None else more
    return Items(values, more)


def _repeat(args: Arguments) -> object:
    text, count = args.at(0), args.at(1)
    return (
        text * count if isinstance(text, str) and isinstance(count, int) and 0 <= count * len(text) < 100_000 else ANY
    )


def _slice(args: Arguments) -> object:
    listed, start, length = args.at(0), args.at(1), args.at(2)
    if isinstance(listed, Items) and isinstance(start, int):
        stop = start + length if isinstance(length, int) and length >= 0 and start >= 0 else None
        return Items(listed.values[start:stop], listed.more)
    return Items((), ANY)


def _inflated(value: object) -> object:
    data = value.encode("latin-1", "replace") if isinstance(value, str) else value
    return _as_text(texts.inflated(data))


def _url_decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    head, *rest = value.split("%")
    out = [head]
    for part in rest:
        known = len(part) >= 2 and all(c in "0123456789abcdefABCDEF" for c in part[:2])
        out.append(chr(int(part[:2], 16)) + part[2:] if known else "%" + part)
    return "".join(out)


_FUNCTIONS: dict[str, Pure] = {
    "join": _join,
    "implode": _join,
    "chr": _each(_chr),
    "ord": _each(_ord),
    "lc": _method("lower"),
    "uc": _method("upper"),
    "strtolower": _method("lower"),
    "strtoupper": _method("upper"),
    "trim": _method("strip"),
    "rtrim": _method("rstrip"),
    "chop": _method("rstrip"),
    "ltrim": _method("lstrip"),
    "strrev": _each(lambda v: v[::-1] if isinstance(v, str) else ANY),
    "reverse": _reverse,
    "array_reverse": _reverse,
    "sprintf": _sprintf,
    "str_replace": _replace,
    "strtr": _translate,
    "split": _split,
    "explode": _split,
    "preg_split": _split,
    "substr": _substr,
    "mb_substr": _substr,
    "pack": _pack,
    "unpack": _unpack,
    "hex": _each(_hexadecimal),
    "hexdec": _each(_hexadecimal),
    "oct": _each(_octal),
    "length": _each(_length),
    "strlen": _each(_length),
    "count": _each(_length),
    "str_repeat": _repeat,
    "array_merge": _merge,
    "array_slice": _slice,
    "decode_base64": _each(_base64),
    "base64_decode": _each(_base64),
    "str_rot13": _each(texts.rot13),
    "hex2bin": _each(lambda v: _as_text(texts.from_hex(v))),
    "gzinflate": _each(_inflated),
    "gzuncompress": _each(_inflated),
    "gzdecode": _each(_inflated),
    "urldecode": _each(_url_decoded),
    "rawurldecode": _each(_url_decoded),
    "dirname": _each(folder_of),
    "basename": _each(last_of),
    "strval": _each(lambda v: text_of(pieces_of(v))),
    "realpath": _each(lambda v: os.path.normpath(v) if isinstance(v, str) and v else v),
    "escapeshellarg": _each(lambda v: v),
    "quotemeta": _each(lambda v: v),
    "escapeshellcmd": _each(lambda v: v),
    "array_values": _each(lambda v: v if isinstance(v, Items) else Items(elements(v)[0], elements(v)[1])),
    "sort": _merge,
    "uniq": _merge,
}
