"""Owns the door to ruamel.yaml: plain values with their line numbers, and round-trip edits.

The plain part of YAML is read by `plainyaml`, forty times as fast, which leaves all else to ruamel. What a document
must contain is said by `policy.load` and `rulepack.compile`.
"""

from __future__ import annotations

from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

MAX_BYTES = 1_000_000
MAX_DEPTH = 32


class YamlError(ChronoError):
    """Text that is not the YAML we accept; `line` is 1-based where known."""

    def __init__(self, message: str, hint: str | None = None, *, line: int | None = None) -> None:
        super().__init__(message, hint)
        self.line = line


class Document(NamedTuple):
    """`value` is made of dict, list, str, int, float, bool and None only; `lines` maps a path to a 1-based line."""

    value: object
    lines: dict[tuple[str | int, ...], int]

    def line_of(self, *path: str | int) -> int | None:
        """The line of the node at `path` (of its key, where it has one), or of its nearest known parent."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return self.lines.get(())


def load(text: str, *, name: str) -> Document:
    """Parses YAML 1.2 text; `name` is used in messages.

    Refused: duplicate keys, anchors and aliases (a few bytes can stand for gigabytes), custom tags, more than one
    document, non-text keys, over 1 MB, nesting over 32. Raises YamlError.
    """
    if len(text) > MAX_BYTES:
        raise YamlError(f"{name} is larger than {MAX_BYTES} bytes")
    # Its patterns take longer to compile than a hook without any policy file has in all.
    from chrono import plainyaml

    try:
        return Document(*plainyaml.read(text))
    except plainyaml.NotPlain:
        return load_fully(text, name=name)


def load_fully(text: str, *, name: str) -> Document:
    """What `load` gives, by the full parser alone. Raises YamlError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

    yaml = YAML(typ="safe", pure=True)
    try:
        _check_events(yaml, text, name)
        node = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise YamlError(f"{name}:{line}: {error.problem or error.context}", line=line) from None
    except (YAMLError, ValueError) as error:
        raise YamlError(f"{name}: {error}") from None
    lines: dict[tuple[str | int, ...], int] = {}

    def build(node: Node, path: tuple[str | int, ...]) -> object:
        line = node.start_mark.line + 1
        lines.setdefault(path, line)
        if isinstance(node, MappingNode | SequenceNode) and _kind(node) not in ("map", "seq"):
            raise YamlError(f"{name}:{line}: tag !{_kind(node)} is not accepted", line=line)
        if isinstance(node, MappingNode):
            mapping: dict[str, object] = {}
            for key_node, value_node in node.value:
                key_line = key_node.start_mark.line + 1
                if not isinstance(key_node, ScalarNode):
                    raise YamlError(f"{name}:{key_line}: a key must be text", line=key_line)
                key = key_node.value
                if key in mapping:
                    raise YamlError(f"{name}:{key_line}: key {key!r} stands twice", line=key_line)
                lines[(*path, key)] = key_line
                mapping[key] = build(value_node, (*path, key))
            return mapping
        if isinstance(node, SequenceNode):
            return [build(child, (*path, index)) for index, child in enumerate(node.value)]
        return _scalar(yaml, node, name)

    return Document(build(node, ()) if node is not None else None, lines)


def _check_events(yaml: object, text: str, name: str) -> None:
    """Refuses what must never reach composition, which takes quadratic time on a deep nest."""
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent

    depth = 0
    for event in yaml.parse(text):  # type: ignore[attr-defined]
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor):
            raise YamlError(f"{name}:{line}: anchors and aliases are not accepted", line=line)
        depth += isinstance(event, CollectionStartEvent)
        depth -= isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise YamlError(f"{name}:{line}: nested deeper than {MAX_DEPTH}", line=line)


def _kind(node: object) -> str:
    return str(node.tag).rsplit(":", 1)[-1]  # type: ignore[attr-defined]


def _scalar(yaml: object, node: object, name: str) -> object:
    line = node.start_mark.line + 1  # type: ignore[attr-defined]
    kind = _kind(node)
    if kind in ("str", "int", "float", "bool", "null"):
        constructor = yaml.constructor  # type: ignore[attr-defined]
        value: object = constructor.construct_object(node, deep=True)
        return value
    if kind == "timestamp":
        text: object = node.value  # type: ignore[attr-defined]
        return text
    raise YamlError(f"{name}:{line}: tag !{_kind(node)} is not accepted", line=line)
