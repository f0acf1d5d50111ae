"""Claims about JSON that is changed in place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.agents import jsontext
from chrono.agents.jsontext import NotJson

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def plain(node: jsontext.Node) -> object:
    if node.kind == "object":
        return dict(zip(node.keys, map(plain, node.children), strict=True))
    if node.kind == "array":
        return [plain(child) for child in node.children]
    return node.scalar


@given(JSON, st.sampled_from([None, 2, "\t"]))
def test_it_reads_what_the_json_module_writes(value: object, indent: object) -> None:
    assert plain(jsontext.read(json.dumps(value, indent=indent))) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  // note\n  "a": 1}', "line 2, column 3: a comment"),
        ('{"a": 1 /* x */}', "a comment"),
        ('{"a": 1} // x', "a comment"),
        ('{"a": [1,]}', "line 1, column 9: a trailing comma"),
        ('{"a": 1,\n}', "a trailing comma"),
        ('{"a": 1, "a": 2}', "a second time"),
        ("{'a': 1}", "no key in double quotes"),
        ("{\"a\": 'x'}", "where a value is expected"),
        ('{"a": "x\ty"}', "bare control character"),
        ('{"a": NaN}', "where a value is expected"),
        ('{"a": 01}', "no `,` or `}`"),
        ('{"a" 1}', "no `:`"),
        ('{"a": 1', "no `,` or `}`"),
        ("", "ends too early"),
        ("{} {}", "something after the end"),
        ("[" * 1000, "nested too deeply"),
    ],
)
def test_what_a_strict_reader_drops_is_named_with_its_place(text: str, why: str) -> None:
    with pytest.raises(NotJson) as caught:
        jsontext.read(text)
    assert why in str(caught.value)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.sampled_from([None, 2, 4, "\t"]), JSON)
def test_an_inserted_member_is_there_and_all_else_is_as_it_was(value: dict, indent: object, new: object) -> None:
    text = json.dumps(value, indent=indent)
    key = "new" + "".join(value)
    longer = jsontext.insert_member(text, jsontext.read(text), key, new, 0)
    assert json.loads(longer) == {**value, key: new}
    if value:
        root = jsontext.read(longer)
        assert jsontext.remove_child(longer, root, len(value)) == text


@given(st.lists(JSON, min_size=1, max_size=4), st.sampled_from([None, 2]), st.data())
def test_removing_a_child_leaves_the_others(value: list, indent: object, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent)
    index = data.draw(st.integers(0, len(value) - 1))
    shorter = jsontext.remove_child(text, jsontext.read(text), index)
    assert json.loads(shorter) == value[:index] + value[index + 1 :]
