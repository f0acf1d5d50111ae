"""Claims about exports: each form is its own, nothing in it computes, and each keeps lines that can be verified."""

from __future__ import annotations

import csv
import io
import json

import pytest

from chrono.audit.export import COLUMNS, FORMATS, NotACopy, copied, lines_of
from chrono.audit.record import Act, Anchor, Entry, Record, read

from .conftest import BOB, Ground

EVIL = "=cmd|' /C calc'!A0"


@pytest.fixture
def records(ground: Ground) -> list[Record]:
    ground.begin()
    entries = [
        Entry("command", BOB, Act(tool="Bash", cmd=EVIL, decision="block", rules=("a", "b"), score=90, exit=-9)),
        Entry("command", BOB, Act(tool="mcp__x__y", cmd='a "b", \\ | = \r\n\x1b[31m\u202e', decision="ask")),
        Entry("file", BOB, Act(tool="Write", decision="allow", files=(("src/é.py", "0" * 64),))),
        Entry("savepoint", BOB, Act(message="+1"), Anchor("1" * 40, "2" * 64, "3" * 40)),
    ]
    for entry in entries:
        ground.log.append(entry, timeout_s=5)
    return [read(line) for line in ground.lines()]


def lines(form: str, records: list[Record]) -> list[str]:
    text = "".join(FORMATS[form](records))
    return list(io.StringIO(text, newline=""))


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_form_keeps_lines_that_are_the_logs_own(form: str, records: list[Record]) -> None:
    assert [copy.line for copy in copied(lines(form, records))] == [record.line for record in records]


def test_csv_computes_nothing_and_has_one_row_a_record(records: list[Record]) -> None:
    text = "".join(FORMATS["csv"](records))
    assert text.count("\r\n") >= 6
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert [row["n"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert rows[1]["cmd"] == "'" + EVIL
    assert rows[1]["exit"] == "'-9"
    assert rows[4]["message"] == "'+1"
    assert rows[3]["paths"] == "src/é.py"
    # A signature may begin with "+", and is then marked as text like any other cell.
    assert all(len(row["sig"].removeprefix("'")) == 88 and len(row["prev"]) == 64 for row in rows)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for row in rows for cell in row.values())


def test_ocsf_classes_follow_the_tool(records: list[Record]) -> None:
    events = [json.loads(line) for line in lines("ocsf", records)]
    assert [event["class_uid"] for event in events] == [0, 1007, 6003, 1001, 0]
    assert [event["type_uid"] for event in events] == [0, 100701, 600399, 100103, 0]
    assert events[1]["metadata"]["sequence"] == 1
    assert events[1]["metadata"]["uid"] == f"{records[1].log}:1"
    assert (events[1]["severity_id"], events[1]["disposition_id"]) == (4, 2)
    assert events[1]["process"]["cmd_line"] == EVIL
    assert events[3]["file"] == {"path": "src/é.py", "name": "é.py", "type_id": 1}


def test_cef_escapes_what_would_end_a_field(records: list[Record]) -> None:
    found = lines("cef", records)
    assert len(found) == len(records)
    assert found[1].startswith("CEF:0|chrono|chrono-toolkit|2|command|command block|8|rt=")
    assert "msg=\\=cmd|' /C calc'!A0 " in found[1]
    assert "\\\\ | \\= \\r\\n" in found[2]


def test_cloudevents_and_otlp_are_as_their_specifications_want(records: list[Record]) -> None:
    event = json.loads(lines("cloudevents", records)[1])
    assert event["specversion"] == "1.0" and event["data"]["act"]["cmd"] == EVIL
    assert event["id"] == f"{records[1].log}:1" and event["type"] == "dev.chrono.audit.command"
    (request,) = [json.loads(line) for line in lines("otlp", records)]
    found = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert [record["severityNumber"] for record in found] == [9, 17, 13, 9, 9]
    assert found[1]["eventName"] == "chrono.command" and found[1]["timeUnixNano"].endswith("000")


@pytest.mark.parametrize(
    "text",
    [
        "hello\n",
        "{}\n",
        "CEF:0|x\n",
        '{"resourceLogs":[{}]}\n',
        '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":7}}]}]}]}\n',
        "n,at,ev\n1,2,3\n",
        f'n,at,raw\n1,2,"{"x" * 200_000}"\n',
        "[1]\n",
        "[" * 100_000,
    ],
    ids=range(9),
)
def test_what_keeps_no_record_is_no_copy(text: str) -> None:
    with pytest.raises(NotACopy):
        list(copied(io.StringIO(text)))
    assert list(copied([])) == []


def test_a_copy_is_read_in_bounded_memory_and_whatever_it_holds() -> None:
    with pytest.raises(NotACopy, match="line 2 is too long"):
        list(lines_of(io.StringIO("x\n" + "\0" * (1 << 24))))
    assert list(lines_of(io.StringIO("a\r\n\nb", newline=""))) == ["a\r\n", "\n", "b"]
    assert [copy.line for copy in copied(['{"raw_data":"\\ud800"}'])] == [b"\xed\xa0\x80"]


def test_a_request_of_long_records_holds_few_of_them(records: list[Record]) -> None:
    long = records[1]._replace(line=records[1].line + b" " * (1 << 19))
    assert [
        len(json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]) for line in lines("otlp", [long] * 5)
    ] == [2, 2, 1]
