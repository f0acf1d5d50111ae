"""Owns the values of a policy and of a verdict. Frozen; nothing here reads a file or decides.

Reading text is left to `policy.load`, deciding to `policy.decide`, compiling custom rules to `workspace.config`.
"""

from __future__ import annotations

from chrono.scan.command import Refusal
from chrono.scan.finding import Finding
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.yamlfile import Document

DECISIONS = ("allow", "ask", "block")
"""Weakest first. The word `approve` in a policy file means `ask`."""

DEFAULT_BLOCK = 70
DEFAULT_ASK = 40


class Thresholds(NamedTuple):
    """Scores from 0 to 101: at or above `block` a finding is blocked, at or above `ask` a person is asked."""

    block: int = DEFAULT_BLOCK
    ask: int = DEFAULT_ASK


class RuleDecision(NamedTuple):
    """What one rule decides whatever its score: `decision` "allow", "ask" or "block". `layer` is "user" or "project".

    `floor`: it can only raise what the score would give (a project file that nobody has trusted).
    """

    rule: str
    decision: str
    layer: str
    line: int
    floor: bool = False


class CustomRules(NamedTuple):
    """The `rules` of one file that bring their own matcher, raw: `document.value` is a list of mappings in the form
    of a rule pack, with `decision` taken out; `document.lines` hold the lines of the policy file."""

    layer: str
    name: str
    document: Document


class AllowEntry(NamedTuple):
    """One exact command of the allow list (a word `*` stands for exactly one argument), or one host of `network`."""

    text: str
    layer: str
    line: int


class Retention(NamedTuple):
    """When automatic savepoints may go, and how much the store may take; None where the policy does not say."""

    keep_auto: int | None = None
    older_than_days: int | None = None
    budget_mib: int | None = None


class DatabaseEntry(NamedTuple):
    """One registered database, form checked only: `fields` are (key, text) pairs in the order of the file."""

    name: str
    fields: tuple[tuple[str, str], ...]
    line: int


class Approvers(NamedTuple):
    """Who may approve: `proof` is "signed" (a key is needed) or "listed"; `names` empty means anyone enrolled."""

    proof: str = "signed"
    names: tuple[str, ...] = ()


class Role(NamedTuple):
    """`name` is a role or a person; `permissions` what it may do, or, for a person, the one role they have."""

    name: str
    permissions: tuple[str, ...]


class Gate(NamedTuple):
    """A decision for one action of chrono itself, such as `mcp.rollback`."""

    action: str
    decision: str


class Pin(NamedTuple):
    """The SHA-256 that a rule pack must have; anything else blocks until a person pins again."""

    pack: str
    sha256: str
    line: int


class Ignored(NamedTuple):
    """A loosening key that does not count because the file is not trusted; `value` is what it asked for."""

    key: str
    value: str
    line: int


class PolicyFile(NamedTuple):
    """One file as written and checked; None where a key is not given. `sha256` is of the file's bytes."""

    name: str
    layer: str
    sha256: str
    block: int | None = None
    ask: int | None = None
    reversible: str | None = None
    allow: tuple[AllowEntry, ...] = ()
    rules: CustomRules | None = None
    rule_decisions: tuple[RuleDecision, ...] = ()
    protected: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    network: tuple[AllowEntry, ...] = ()
    approvers: Approvers | None = None
    roles: tuple[Role, ...] = ()
    gates: tuple[Gate, ...] = ()
    retention: Retention | None = None
    databases: tuple[DatabaseEntry, ...] = ()
    run_on_failure: str | None = None
    pins: tuple[Pin, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()


class Layer(NamedTuple):
    """One file that took part: its name, layer, SHA-256, and whether its loosening keys counted."""

    name: str
    layer: str
    sha256: str
    trusted: bool


class Policy(NamedTuple):
    """The effective policy: defaults < user file < project file under the trust rule."""

    thresholds: Thresholds = Thresholds()
    reversible: str = "allow"
    allow: tuple[AllowEntry, ...] = ()
    rules: tuple[CustomRules, ...] = ()
    rule_decisions: tuple[RuleDecision, ...] = ()
    protected: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    network: tuple[AllowEntry, ...] = ()
    approvers: Approvers = Approvers()
    roles: tuple[Role, ...] = ()
    gates: tuple[Gate, ...] = ()
    retention: Retention = Retention()
    databases: tuple[DatabaseEntry, ...] = ()
    run_on_failure: str = "rollback"
    pins: tuple[Pin, ...] = ()
    adapters: tuple[tuple[str, str], ...] = ()
    ignored: tuple[Ignored, ...] = ()
    layers: tuple[Layer, ...] = ()
    sha256: str = ""


DEFAULTS = Policy()


class Excluded(NamedTuple):
    """A path that the savepoint does not hold. `kind`: "git", "control", "chrono", "heavy", "ignored", "over-cap",
    "unreadable" or "nested". `path` is absolute. `tracked`: git's index names it or something in it, or may."""

    path: str
    kind: str
    tracked: bool = True


class Cover(NamedTuple):
    """What one savepoint holds: all below `root` except `excluded`. `commit` is None where it was only computed."""

    root: str
    excluded: tuple[Excluded, ...]
    commit: str | None


class Judged(NamedTuple):
    """One finding under the policy. `covered`: the savepoint undoes it. `because` says how the decision came about,
    and, where it is not covered, why not."""

    finding: Finding
    decision: str
    covered: bool
    because: str


class Verdict(NamedTuple):
    """The answer for one text. `score` is the highest of the findings (100 for a refusal that blocks). `reasons` are
    for people, strongest first; empty for a plain allow."""

    decision: str
    score: int
    findings: tuple[Judged, ...]
    refusals: tuple[Refusal, ...]
    reasons: tuple[str, ...]


class Provisional(NamedTuple):
    """Both answers before the savepoint has said what it holds; `findings` stand in the same order in both."""

    if_covered: Verdict
    if_not: Verdict
