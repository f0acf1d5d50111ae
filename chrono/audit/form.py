"""Owns the quick proof that a line has its one form: a pattern that only canonical lines of the usual members fit.

What does not fit is not wrong: it is parsed and written again (`canonical.parse`), which decides. The pattern says less
than that, never more; a property test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from chrono.audit.record import Act, Actor

# Text: what the encoder escapes, escaped as it does; everything else as it is. That bytes above 0x7f are UTF-8 is for
# the caller to know. NUL has no form.
_TEXT = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\bfnrt]|u00(?:0[1-7be-f]|1[0-9a-f]))[^"\\\x00-\x1f]*+)*+"'
_NUMBER = rb"(?:0|-?[1-9][0-9]{0,14})"
_TEXTS = rb"\[(?:" + _TEXT + rb"(?:," + _TEXT + rb")*+)?\]"
_VALUE = rb"(?:" + _TEXT + rb"|" + _NUMBER + rb"|" + _TEXTS + rb"|true|false|null)"
_ACT = frozenset(Act._fields[:-1]) | {"cmd_chars", "cmd_sha256", "mode", "paths", "server", "subagent"}


def _members(names: frozenset[str]) -> bytes:
    """An object of some of `names`, in their order, each at most once, with a comma between two and nowhere else."""
    parts = [rb'(?:"%b":%b(?:,(?=")|(?=\})))?+' % (name.encode("ascii"), _VALUE) for name in sorted(names)]
    return rb"\{" + b"".join(parts) + rb"(?<!,)\}"


_DAY = (  # the 29th of February is for the parser
    rb"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
)
_TIME = rb"[1-9]\d{3}-" + _DAY + rb"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z"
_HEAD = (
    rb'\{(?:"act":' + _members(_ACT) + rb',)?"at":"(' + _TIME + rb')","by":'
    + _members(frozenset(Actor._fields)) + rb',"ev":"[a-z._]+'
)  # fmt: skip
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SIGNATURE_BYTES = 86  # in base64, without the two signs of equality


@cache
def usual_head() -> Callable[[bytes, int, int], re.Match[bytes] | None]:
    """Matches what a line begins with, up to its kind without the quotation mark behind, in its one form; group 1 is
    the time stamp. None says nothing. Arguments: line, start, end. The line must be UTF-8."""
    return re.compile(_HEAD).fullmatch


def signatures_in_form(lines: list[bytes]) -> bool:
    """Whether what stands where the signature of each line must is base64 of 64 bytes, without stray bits. What
    surrounds it is for the caller to know."""
    text = b"".join([line[-_SIGNATURE_BYTES - 4 : -4] for line in lines])
    last = text[_SIGNATURE_BYTES - 1 :: _SIGNATURE_BYTES]
    return len(text) == _SIGNATURE_BYTES * len(lines) and not (text.translate(None, _BASE64) or last.strip(b"AQgw"))
