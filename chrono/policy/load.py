"""Owns the policy file: text -> checked PolicyFile with line numbers. Pure.

Which files count, and how far, is left to `policy.layers`; where they are to `workspace.config`; the form of a custom
rule's matcher to `rulepack`. docs/formats/policy.md describes every key.
"""

from __future__ import annotations

from chrono.errors import PolicyError
from chrono.policy import allow as allow_list
from chrono.policy.model import (
    AllowEntry,
    Approvers,
    CustomRules,
    DatabaseEntry,
    Gate,
    Pin,
    PolicyFile,
    Retention,
    Role,
    RuleDecision,
)
from chrono.tuples import NamedTuple
from chrono.yamlfile import Document, YamlError, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

KEYS = (
    "allow",
    "approvers",
    "databases",
    "gates",
    "network",
    "pins",
    "protected",
    "read_only",
    "retention",
    "reversible",
    "roles",
    "rules",
    "run",
    "thresholds",
)
ROLE_NAMES = ("viewer", "developer", "maintainer")
PERMISSIONS = ("view", "approve", "policy.pin", "prune", "run.force")
GATES = ("mcp.rollback", "mcp.run", "mcp.snapshot", "rollback", "prune", "run.force", "git.push-force", "git.script")

DECISION_WORDS = {"allow": "allow", "ask": "ask", "approve": "ask", "block": "block"}
_RULE_SCORE = {"allow": 0, "ask": 50, "block": 90}

Path = tuple[str | int, ...]


class _Reader(NamedTuple):
    """One document with the name that messages use."""

    document: Document
    name: str
    layer: str

    def fail(self, path: Path, message: str, hint: str | None = None) -> NoReturn:
        line = self.document.line_of(*path)
        raise PolicyError(f"{self.name}:{line}: {message}", hint, line=line)

    def line(self, *path: str | int) -> int:
        return self.document.line_of(*path) or 1

    def mapping(self, value: object, path: Path, known: tuple[str, ...] | None) -> dict[str, object]:
        what = ".".join(map(str, path)) or "the policy"
        if not isinstance(value, dict):
            self.fail(path, f"{what} must be a mapping of keys to values")
        for key in value:
            if known is not None and key not in known:
                self.unknown((*path, key), f"{what} has no key {key!r}", str(key), known)
        return value

    def items(self, value: object, path: Path) -> list[object]:
        if not isinstance(value, list):
            self.fail(path, f"{'.'.join(map(str, path))} must be a list")
        return value

    def text(self, value: object, path: Path) -> str:
        if not isinstance(value, str) or not value.strip():
            self.fail(path, f"{_dotted(path)} must be text", 'put it in quotes: "…"')
        return value

    def number(self, value: object, path: Path, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(path, f"{_dotted(path)} must be a whole number from {low} to {high}, not {value!r}")
        return value

    def decision(self, value: object, path: Path) -> str:
        if not isinstance(value, str) or value not in DECISION_WORDS:
            self.unknown(path, f"{_dotted(path)} is {value!r}", str(value), tuple(DECISION_WORDS))
        return DECISION_WORDS[value]

    def unknown(self, path: Path, message: str, got: str, known: tuple[str, ...]) -> NoReturn:
        from difflib import get_close_matches

        near = get_close_matches(got, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        self.fail(path, message, hint)


def parse(text: str, name: str, *, layer: str, sha256: str = "") -> PolicyFile:
    """The checked content of one policy file.

    `name` is shown in messages, `layer` is "user" or "project", `sha256` that of the file's bytes. An empty file is a
    policy that says nothing. Raises PolicyError with the 1-based line; its hint offers the nearest known word.
    """
    try:
        document = load(text, name=name)
    except YamlError as error:
        raise PolicyError(error.message, error.hint, line=error.line) from None
    reader = _Reader(document, name, layer)
    if document.value is None:
        return PolicyFile(name, layer, sha256)
    top = reader.mapping(document.value, (), KEYS)
    given = {key: value for key, value in top.items() if value is not None}
    file = PolicyFile(name, layer, sha256, lines=tuple((key, reader.line(key)) for key in given))
    for key, value in given.items():
        file = _PARSERS[key](reader, value, file)
    return file


def _thresholds(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("thresholds",), ("block", "approve", "ask"))
    if "approve" in mapping and "ask" in mapping:
        reader.fail(("thresholds", "ask"), "`approve` and `ask` are two words for one threshold: give one of them")
    numbers = {key: reader.number(item, ("thresholds", key), 0, 101) for key, item in mapping.items()}
    block = numbers.get("block")
    ask = numbers.get("approve", numbers.get("ask"))
    if block is not None and ask is not None and ask > block:
        reader.fail(("thresholds",), f"the ask threshold ({ask}) must not lie above the block threshold ({block})")
    return file._replace(block=block, ask=ask)


def _allow(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    entries = []
    for index, item in enumerate(reader.items(value, ("allow",))):
        text = reader.text(item, ("allow", index)).strip()
        try:
            words = allow_list.words(text)
        except ValueError as error:
            reader.fail(("allow", index), f"allow: {error}")
        if words[0] == "*":
            reader.fail(("allow", index), "allow: the program itself cannot be `*`")
        entries.append(AllowEntry(text, reader.layer, reader.line("allow", index)))
    return file._replace(allow=tuple(entries))


def _rules(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    decisions = []
    custom: list[object] = []
    lines: dict[Path, int] = {}
    seen: set[str] = set()
    for index, item in enumerate(reader.items(value, ("rules",))):
        path: Path = ("rules", index)
        rule = reader.mapping(item, path, None)
        if "id" not in rule:
            reader.fail(path, "a rule needs an `id`", "for example: id: no-force-push")
        rule_id = reader.text(rule["id"], (*path, "id"))
        if rule_id in seen:
            reader.fail((*path, "id"), f"rule {rule_id!r} stands twice")
        seen.add(rule_id)
        decision = None
        if "decision" in rule:
            decision = reader.decision(rule["decision"], (*path, "decision"))
            decisions.append(RuleDecision(rule_id, decision, reader.layer, reader.line(*path, "decision")))
        body = {key: part for key, part in rule.items() if key != "decision"}
        if set(body) <= {"id", "why"}:
            if decision is None:
                reader.fail(path, f"rule {rule_id!r} says nothing", "give it a `decision`, or a matcher of its own")
            continue
        if decision is not None:
            body.setdefault("score", _RULE_SCORE[decision])
        for known, line in reader.document.lines.items():
            if known[:2] == path:
                lines[(len(custom), *known[2:])] = line
        custom.append(body)
    raw = CustomRules(reader.layer, reader.name, Document(custom, lines)) if custom else None
    return file._replace(rules=raw, rule_decisions=tuple(decisions))


def _approvers(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    if isinstance(value, str):
        return file._replace(approvers=Approvers(_proof(reader, value, ("approvers",))))
    if isinstance(value, list):
        names = tuple(reader.text(item, ("approvers", index)) for index, item in enumerate(value))
        return file._replace(approvers=Approvers("signed", names))
    mapping = reader.mapping(value, ("approvers",), ("names", "proof"))
    listed = reader.items(mapping.get("names", []), ("approvers", "names"))
    names = tuple(reader.text(item, ("approvers", "names", index)) for index, item in enumerate(listed))
    return file._replace(
        approvers=Approvers(_proof(reader, mapping.get("proof", "signed"), ("approvers", "proof")), names)
    )


def _proof(reader: _Reader, value: object, path: Path) -> str:
    if value not in ("signed", "listed"):
        reader.unknown(path, f"{_dotted(path)} is {value!r}", str(value), ("signed", "listed"))
    return str(value)


def _roles(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("roles",), None)
    own = tuple(key for key, item in mapping.items() if isinstance(item, list))
    roles = []
    for name, item in mapping.items():
        path: Path = ("roles", name)
        if isinstance(item, list):
            for index, word in enumerate(item):
                if word not in PERMISSIONS:
                    reader.unknown((*path, index), f"there is no permission {word!r}", str(word), PERMISSIONS)
            roles.append(Role(name, tuple(map(str, item))))
        else:
            if item not in ROLE_NAMES and item not in own:
                reader.unknown(path, f"there is no role {item!r}", str(item), ROLE_NAMES + own)
            roles.append(Role(name, (str(item),)))
    return file._replace(roles=tuple(roles))


def _gates(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("gates",), GATES)
    gates = tuple(Gate(action, reader.decision(item, ("gates", action))) for action, item in mapping.items())
    return file._replace(gates=gates)


def _retention(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("retention",), ("keep_auto", "older_than_days", "budget_mib"))
    numbers = {key: reader.number(item, ("retention", key), 0, 10_000_000) for key, item in mapping.items()}
    return file._replace(retention=Retention(**numbers))


def _databases(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("databases",), None)
    entries = []
    for name, item in mapping.items():
        fields = reader.mapping(item, ("databases", name), ("adapter", "path", "url", "url_env"))
        if not {"path", "url", "url_env"} & set(fields):
            reader.fail(("databases", name), f"database {name!r} needs one of: path, url, url_env")
        pairs = tuple((key, reader.text(part, ("databases", name, key))) for key, part in fields.items())
        entries.append(DatabaseEntry(name, pairs, reader.line("databases", name)))
    return file._replace(databases=tuple(entries))


def _reversible(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    return file._replace(reversible=reader.decision(value, ("reversible",)))


def _protected(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    return file._replace(protected=_paths(reader, value, "protected"))


def _read_only(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    return file._replace(read_only=_paths(reader, value, "read_only"))


def _paths(reader: _Reader, value: object, key: str) -> tuple[str, ...]:
    paths = []
    for index, item in enumerate(reader.items(value, (key,))):
        text = reader.text(item, (key, index))
        if ".." in text.split("/"):
            reader.fail((key, index), f"{text!r} must not contain `..`", "write it from the project folder down")
        paths.append(text)
    return tuple(paths)


def _network(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    from chrono.policy.network import HOST

    mapping = reader.mapping(value, ("network",), ("allow",))
    entries = []
    for index, item in enumerate(reader.items(mapping.get("allow", []), ("network", "allow"))):
        path: Path = ("network", "allow", index)
        host = reader.text(item, path).strip().lower().rstrip(".")
        if not HOST.fullmatch(host) or host == "*":
            reader.fail(path, f"{item!r} is no host", "for example: artifacts.example.com, or *.example.com")
        entries.append(AllowEntry(host, reader.layer, reader.line(*path)))
    return file._replace(network=tuple(entries))


def _run(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("run",), ("on_failure",))
    choice = mapping.get("on_failure", "rollback")
    if choice not in ("rollback", "keep"):
        reader.unknown(("run", "on_failure"), f"run.on_failure is {choice!r}", str(choice), ("rollback", "keep"))
    return file._replace(run_on_failure=str(choice))


def _pins(reader: _Reader, value: object, file: PolicyFile) -> PolicyFile:
    mapping = reader.mapping(value, ("pins",), None)
    pins = []
    for pack, item in mapping.items():
        digest = item.removeprefix("sha256:") if isinstance(item, str) else ""
        if len(digest) != 64 or digest.strip("0123456789abcdef"):
            reader.fail(("pins", pack), f"the pin of {pack!r} must be the 64 hex digits of a SHA-256, in quotes")
        pins.append(Pin(pack, digest, reader.line("pins", pack)))
    return file._replace(pins=tuple(pins))


_PARSERS = {
    "allow": _allow,
    "approvers": _approvers,
    "databases": _databases,
    "gates": _gates,
    "network": _network,
    "pins": _pins,
    "protected": _protected,
    "read_only": _read_only,
    "retention": _retention,
    "reversible": _reversible,
    "roles": _roles,
    "rules": _rules,
    "run": _run,
    "thresholds": _thresholds,
}


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)
