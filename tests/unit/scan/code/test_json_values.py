"""Claims about JSON in code: a document that is read, changed and written back is known."""

from __future__ import annotations

from chrono.scan.code.json_values import text_of_value, value_of
from chrono.scan.code.languages import commands_of
from chrono.scan.code.values import ANY, Items, Table, Text
from tests.unit.scan.conftest import PROJECT, world


def test_a_document_comes_back_as_it_was() -> None:
    text = '{"a": [1, 2.5, null, true], "b": {"c": "\\u00e9"}}'
    assert text_of_value(value_of(text)) == '{"a": [1, 2.5, null, true], "b": {"c": "é"}}'


def test_what_is_not_known_has_no_text() -> None:
    assert value_of("{") is ANY
    assert value_of(ANY) is ANY
    assert text_of_value(Table({}, True)) is ANY
    assert text_of_value(Items([ANY])) is ANY
    assert text_of_value(Items([Text(("rm -rf ", None))])) == '["rm -rf "]'


def test_a_package_that_code_rewrites_is_known_afterwards() -> None:
    python = "import json\np = json.load(open('package.json'))\np['scripts']['build'] = 'x'\n"
    node = "const fs = require('fs')\nconst p = JSON.parse(fs.readFileSync('package.json', 'utf8'))\np.scripts.build = 'x'\n"
    for language, source in (
        ("python", python + "json.dump(p, open('package.json', 'w'), indent=2)\n"),
        ("python", python + "open('package.json', 'w').write(json.dumps(p))\n"),
        ("javascript", node + "fs.writeFileSync('package.json', JSON.stringify(p, null, 2) + '\\n')\n"),
        ("javascript", node.replace("JSON.parse(fs.readFileSync('package.json', 'utf8'))", "require('./package.json')")
         + "fs.writeFileSync('package.json', JSON.stringify(p))\n"),
    ):  # fmt: skip
        found = commands_of(language, source, world=world(), name="x")
        (path, text), *_ = found.files
        assert path == f"{PROJECT}/package.json"
        assert '"build": "x"' in text
        assert '"nuke": "rm -rf ~"' in text
