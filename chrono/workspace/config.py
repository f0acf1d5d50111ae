"""Owns what holds here: where CHRONO_HOME is, the effective policy under the trust rule, the compiled rules.

Parsing is left to `policy.load`, layering to `policy.layers`, compiling to `rulepack`. The environment comes in as a
mapping: the resident service answers for the environment of the call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from chrono.digest import sha256
from chrono.errors import AuditUnverifiable, ChronoError, PolicyError
from chrono.files import own_folder
from chrono.layout import POLICY_FILE, HomeLayout, ProjectLayout, default_home
from chrono.policy.model import DEFAULTS, Pin, Policy, PolicyFile
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.policy.pin import PolicyPin
    from chrono.scan.rule import Rule, Ruleset

MAX_POLICY_BYTES = 1_000_000

_NAME_IT = "set CHRONO_HOME= to a folder that you can write and that lies outside every project"


def user_home(environ: Mapping[str, str]) -> str:
    """The home folder of the person. Raises ChronoError, naming `CHRONO_HOME=`, where there is none."""
    home = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME") or ""
    if not home and hasattr(os, "getuid"):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not os.path.isabs(home):
        raise ChronoError("there is no home folder for chrono's keys and witness", _NAME_IT)
    return home


def home_layout(environ: Mapping[str, str]) -> HomeLayout:
    """Where CHRONO_HOME is; nothing is created. Raises ChronoError where it cannot be told."""
    chosen = environ.get("CHRONO_HOME")
    if chosen:
        if not os.path.isabs(chosen):
            raise ChronoError(f"CHRONO_HOME={chosen} is not an absolute path", _NAME_IT)
        return HomeLayout(os.path.normpath(chosen))
    return HomeLayout(
        default_home(
            platform=sys.platform,
            user_home=user_home(environ),
            xdg_state_home=environ.get("XDG_STATE_HOME"),
            local_app_data=environ.get("LOCALAPPDATA"),
        )
    )


def ensure_home(home: HomeLayout) -> None:
    """Creates CHRONO_HOME and its folders, 0700. Raises ChronoError, naming `CHRONO_HOME=`, where that fails."""
    try:
        own_folder(home.root)
        for folder in (home.keys, home.witness, home.trust, home.cache, home.run, home.machine):
            own_folder(folder)
        if not os.access(home.root, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13), home.root)
    except OSError as error:
        raise ChronoError(
            f"chrono cannot keep its keys and witness in {home.root}: {error.strerror}", _NAME_IT
        ) from None


class ProjectPolicy(NamedTuple):
    """A project's policy file as found: `file` None where there is none; `trusted` whether its loosening keys count."""

    file: PolicyFile | None
    trusted: bool


def read_policy(path: str, name: str, layer: str) -> PolicyFile | None:
    """The checked policy file at `path`, None where there is none.

    A link, a folder or a FIFO in its place is refused, never waited for. Raises PolicyError.
    """
    if not os.path.lexists(path):
        return None
    from chrono.policy.load import parse
    from chrono.scan.world import Read
    from chrono.workspace.machine_world import read_file

    answer = read_file(path, MAX_POLICY_BYTES, follow=False)
    if not isinstance(answer, Read):
        raise PolicyError(f"{name} cannot be read: {answer.reason}", "a policy is a regular file of at most 1 MB")
    try:
        text = answer.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = answer.data.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{name}:{line}: the policy is not UTF-8 text", line=line) from None
    return parse(text, name, layer=layer, sha256=sha256(answer.data).hexdigest())


def project_policy(layout: ProjectLayout, home: HomeLayout) -> ProjectPolicy:
    """The project's file and whether a person has trusted exactly this content. Raises PolicyError."""
    from chrono.policy.pin import is_trusted

    file = read_policy(layout.policy, os.path.basename(layout.policy), "project")
    return ProjectPolicy(file, file is not None and is_trusted(home, file.sha256))


def effective_policy(layout: ProjectLayout | None, home: HomeLayout, *, held: bool = True) -> Policy:
    """The policy that holds in the project (or outside every project where `layout` is None).

    A project that is pinned is held to what it was pinned to; `held` False looks past the pin. Raises PolicyError: a
    broken policy, or another than the pinned one, blocks all that is enforced.
    """
    from chrono.policy.layers import effective

    user = read_policy(home.policy, home.policy, "user")
    project = project_policy(layout, home) if layout is not None else ProjectPolicy(None, False)
    policy = effective(DEFAULTS, user, project.file, project_trusted=project.trusted)
    pin = policy_pin(layout, home) if layout is not None and held else None
    return policy if pin is None else _held_to(policy, pin)


def policy_pin(layout: ProjectLayout, home: HomeLayout) -> PolicyPin | None:
    """What the project is pinned to, None where it is not. Raises PolicyError where the pin is damaged."""
    from chrono.audit.pin import pin_of_path
    from chrono.audit.place import log_id, project_place
    from chrono.policy.pin import read_policy_pin

    try:
        log = log_id(project_place(layout))
        if log is None:  # a log that vanished must not take the pin along
            known = pin_of_path(home, layout.dir)
            log = known.log if known is not None else None
    except AuditUnverifiable as error:
        raise PolicyError(f"whether the policy is pinned cannot be told: {error.message}", error.hint) from None
    return read_policy_pin(home, log) if log is not None else None


def _held_to(policy: Policy, pin: PolicyPin) -> Policy:
    if policy.sha256 == pin.sha256:
        packs = tuple(Pin(name, sha256, 0) for name, sha256 in pin.packs)
        return policy._replace(pins=policy.pins + packs, adapters=pin.adapters)
    pinned, now = dict(pin.files), {layer.layer: layer.sha256 for layer in policy.layers}
    told = []
    for layer, name in (("project", POLICY_FILE), ("user", "CHRONO_HOME/policy.yaml")):
        if pinned.get(layer) != now.get(layer):
            what = "is gone" if layer not in now else "was added" if layer not in pinned else "has changed"
            told.append(f"{name} {what}")
    raise PolicyError(
        f"this project's policy is pinned, and {' and '.join(told) or 'the trust in it has changed'}",
        "chrono policy pin --dry-run shows what changed; a person pins again with chrono policy pin",
    )


def hold_adapter(policy: Policy, name: str) -> None:
    """Raises PolicyError where the policy is pinned and the adapter that answers is not the code it was pinned with."""
    if not policy.adapters:
        return
    from chrono.agents.registry import fingerprint

    pinned = dict(policy.adapters).get(name)
    if pinned != fingerprint(name):
        raise PolicyError(
            f"the adapter {name!r} {'has changed' if pinned else 'was added'} since this project's policy was pinned",
            "chrono policy pin --dry-run shows what changed; a person pins again with chrono policy pin",
        )


def ruleset_for(policy: Policy, home: HomeLayout) -> Ruleset:
    """The installed rules and those of the policy, compiled.

    Raises PolicyError where a pin does not hold, where a rule of the policy cannot be compiled or bears the id of an
    installed one, and where the policy decides about a rule that there is not; PluginError where a pack is broken.
    """
    from chrono.rulepack.ruleset import ruleset

    base = ruleset(home)
    _check_pins(policy, base)
    extra = _custom_rules(policy, base) if policy.rules else ()
    if policy.rule_decisions:
        _check_decisions(policy, {rule.id for rule in (*base.rules, *extra)})
    if not extra:
        return base
    from chrono.scan.rule import extended

    return extended(base, extra)


def _check_pins(policy: Policy, base: Ruleset) -> None:
    found = {pack.name: pack.sha256 for pack in base.packs}
    for pin in policy.pins:
        if found.get(pin.pack) != pin.sha256:
            state = "has changed" if pin.pack in found else "is not installed"
            if not pin.line:
                raise PolicyError(
                    f"rule pack {pin.pack!r} is pinned with this project's policy and {state}",
                    "chrono policy pin --dry-run shows what changed; a person pins again with chrono policy pin",
                )
            raise PolicyError(
                f"rule pack {pin.pack!r} is pinned by the policy (line {pin.line}) and {state}",
                f"look at its rules (chrono rules list), then pin it again: sha256 {found.get(pin.pack, 'none')}",
                line=pin.line,
            )


def _custom_rules(policy: Policy, base: Ruleset) -> tuple[Rule, ...]:
    from chrono.rulepack.compile import RulePackError, compile_rules

    taken = {rule.id for rule in base.rules}
    read_as = {name: options for rule in base.rules for name, options in rule.options}
    extra: list[Rule] = []
    for custom in policy.rules:
        try:
            rules = compile_rules(custom.document, custom.name, pack=f"{custom.layer}-policy")
        except RulePackError as error:
            raise PolicyError(error.message, error.hint, line=error.line) from None
        for index, rule in enumerate(rules):
            if rule.id in taken:
                line = custom.document.line_of(index, "id")
                raise PolicyError(
                    f"{custom.name}:{line}: there is a rule {rule.id!r} already",
                    "give yours another id; to decide about that one, write only `id` and `decision`",
                    line=line,
                )
            taken.add(rule.id)
            # Which options of a program take a value, the installed packs know.
            known = tuple((name, read_as[name]) for name in rule.programs if name in read_as)
            extra.append(rule._replace(options=rule.options or known))
    return tuple(extra)


def _check_decisions(policy: Policy, known: set[str]) -> None:
    for entry in policy.rule_decisions:
        if entry.rule not in known and entry.rule not in BUILT_IN_RULES:
            from difflib import get_close_matches

            near = get_close_matches(entry.rule, sorted(known | BUILT_IN_RULES), n=1)
            raise PolicyError(
                f"the {entry.layer} policy (line {entry.line}) decides about rule {entry.rule!r}, which there is not",
                f"did you mean {near[0]!r}?" if near else "install the pack that has it, or remove the entry",
                line=entry.line,
            )


BUILT_IN_RULES = frozenset({"scan.confusable"})
"""Rules that the scanner itself brings, without a pack."""


def environment() -> Mapping[str, str]:
    """The environment of this process, for a caller that was given none."""
    return os.environ
