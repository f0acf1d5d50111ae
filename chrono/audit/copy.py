"""Owns holding an exported copy against the log it was made from (specs: audit section 8).

What an export keeps of a record is left to `audit.export`.
"""

from __future__ import annotations

from collections.abc import Iterable

from chrono.audit.export import copied
from chrono.audit.merkle import leaf_hash
from chrono.audit.part import numbered
from chrono.audit.place import LogPlace, open_text
from chrono.audit.record import read
from chrono.audit.report import FAIL_LIMIT, AuditFinding
from chrono.audit.text import lines
from chrono.canonical import NotCanonical


def differences(place: LogPlace, text: Iterable[str]) -> tuple[tuple[AuditFinding, ...], int]:
    """(what the copy keeps that is not the log's, how many records were compared). Holds 32 bytes a copied record.

    Raises NotACopy, FileNotFoundError, AuditUnverifiable.
    """
    wanted: dict[int, tuple[bytes, int]] = {}
    findings: list[AuditFinding] = []
    for copy in copied(text):
        n = _number(copy.line)
        if n is None:
            findings.append(_differs(None, f"line {copy.at_line} of the copy keeps what is no record"))
        elif n in wanted and wanted[n][0] != leaf_hash(copy.line):
            findings.append(_differs(n, f"the copy keeps two records {n}"))
        else:
            wanted[n] = (leaf_hash(copy.line), copy.at_line)
        if len(findings) >= FAIL_LIMIT:
            return tuple(findings), len(wanted)
    compared = len(wanted)
    with open_text(place) as text_here:
        for n, line in enumerate(lines(text_here)):
            leaf, at_line = wanted.pop(n, (line.leaf, 0))
            if leaf != line.leaf:
                findings.append(_differs(n, f"record {n} in line {at_line} of the copy is not the log's record {n}"))
    for n, (_, at_line) in sorted(wanted.items()):
        findings.append(_differs(n, f"record {n} in line {at_line} of the copy is not in the log"))
    return tuple(findings[:FAIL_LIMIT]), compared


def _number(line: bytes) -> int | None:
    found = numbered(line)
    if found is not None:
        return found[0]
    try:
        return read(line).n
    except NotCanonical:
        return None


def _differs(n: int | None, text: str) -> AuditFinding:
    return AuditFinding("copy-differs", n, text)
