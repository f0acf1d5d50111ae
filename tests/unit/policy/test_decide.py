"""Claims about decisions: scores, reversibility, the allow list, policy rules, refusals, and what people are told."""

from __future__ import annotations

import pytest

from chrono.policy.decide import decide, settle
from chrono.policy.model import DEFAULTS, AllowEntry, Cover, Excluded, Policy, RuleDecision, Thresholds, Verdict
from chrono.scan.command import UNKNOWN, Command, Redirect, Refusal, Word
from chrono.scan.finding import Finding, Scan, Target

ROOT = "/home/dev/proj"


def cover(*excluded: tuple[str, str]) -> Cover:
    return Cover(ROOT, tuple(Excluded(f"{ROOT}/{path}", kind) for path, kind in excluded), "c" * 40)


def finding(score: int = 80, reversible: str = "files", path: str | None = "src", **changes: object) -> Finding:
    target = Target(f"{ROOT}/{path}" if path else None, path or "$X", "project", True)
    base = Finding(
        rule="fs.delete",
        title="deletes files",
        score=score,
        why="deleted files are gone",
        safer="move them to the trash",
        span=(0, 10),
        argv=("rm", "-rf", path or UNKNOWN),
        via=(),
        targets=(target,),
        reversible=reversible,
    )
    return base._replace(**changes)  # type: ignore[arg-type]


def scan_of(*findings: Finding, text: str = "rm -rf src", **changes: object) -> Scan:
    commands = tuple(Command(item.argv, via=item.via, span=item.span, cwd=ROOT) for item in findings)
    return Scan(text, commands, findings, (), False)._replace(**changes)  # type: ignore[arg-type]


def verdict(scan: Scan, policy: Policy = DEFAULTS, held: Cover | None = None) -> Verdict:
    return settle(decide(scan, policy, project=ROOT), held)


@pytest.mark.parametrize(
    ("score", "decision"), [(0, "allow"), (39, "allow"), (40, "ask"), (69, "ask"), (70, "block"), (100, "block")]
)
def test_the_thresholds_include_their_own_value(score: int, decision: str) -> None:
    assert verdict(scan_of(finding(score, "no")), held=cover()).decision == decision


def test_a_threshold_of_101_never_blocks() -> None:
    policy = Policy(thresholds=Thresholds(101, 101))
    assert verdict(scan_of(finding(100, "no")), policy).decision == "allow"


def test_nothing_found_is_allowed_without_a_word() -> None:
    assert verdict(scan_of()) == Verdict("allow", 0, (), (), ())


def test_what_a_savepoint_undoes_is_allowed() -> None:
    answer = verdict(scan_of(finding()), held=cover(("node_modules", "heavy"), (".git", "git")))
    assert answer.decision == "allow"
    assert answer.findings[0].covered
    assert answer.score == 80


def test_without_a_savepoint_it_stays_blocked_and_says_why() -> None:
    answer = verdict(scan_of(finding()))
    assert answer.decision == "block"
    assert "chrono init" in answer.reasons[0]


@pytest.mark.parametrize(
    ("excluded", "says"),
    [
        (("src", "ignored"), ".chronoignore"),
        (("src/big.bin", "over-cap"), "larger"),
        (("src/vendor/.git", "git"), "git"),
        (("src/x", "unreadable"), "cannot be read"),
        (("src/inner", "nested"), "another chrono project"),
        (("", "ignored"), ".chronoignore"),
    ],
)
def test_a_hole_at_below_or_above_the_target_is_no_cover(excluded: tuple[str, str], says: str) -> None:
    held = Cover(ROOT, (Excluded(f"{ROOT}/{excluded[0]}".rstrip("/"), excluded[1]),), None)
    answer = verdict(scan_of(finding()), held=held)
    assert answer.decision == "block"
    assert says in answer.reasons[0]


def test_a_hole_beside_the_target_does_not_matter() -> None:
    assert verdict(scan_of(finding()), held=cover(("src2", "ignored"), ("sr", "ignored"))).decision == "allow"


def test_what_a_build_brings_back_is_no_hole() -> None:
    assert verdict(scan_of(finding()), held=cover(("src/node_modules", "heavy"))).decision == "allow"


def test_git_leaves_its_own_folder_alone_and_rm_does_not() -> None:
    held = cover((".git", "git"), (".chrono", "chrono"), ("chrono-policy.yaml", "control"))
    reset = finding()._replace(targets=(Target(ROOT, ".", "worktree", True),))
    remove = finding()._replace(targets=(Target(ROOT, ".", "project", True),))
    assert verdict(scan_of(reset), held=held).decision == "allow"
    assert verdict(scan_of(remove), held=held).decision == "block"
    nested = cover(("sub", "nested"), (".git", "git"))
    assert verdict(scan_of(reset), held=nested).decision == "block"
    inside = finding()._replace(targets=(Target(f"{ROOT}/.git/x", ".git/x", "worktree", True),))
    assert verdict(scan_of(inside), held=held).decision == "block"


def test_what_git_does_not_track_is_no_hole_for_a_reset_but_for_a_clean() -> None:
    def held(*, tracked: bool) -> Cover:
        return Cover(ROOT, (Excluded(f"{ROOT}/data", "ignored", tracked),), "0" * 40)

    reset = finding()._replace(targets=(Target(ROOT, ".", "worktree", True),))
    clean = finding()._replace(targets=(Target(ROOT, ".", "untracked", True),))
    assert verdict(scan_of(reset), held=held(tracked=False)).decision == "allow"
    assert verdict(scan_of(reset), held=held(tracked=True)).decision == "block"
    assert verdict(scan_of(clean), held=held(tracked=False)).decision == "block"
    named = finding()._replace(targets=(Target(f"{ROOT}/data/x", "data/x", "worktree", True),))
    assert verdict(scan_of(named), held=held(tracked=False)).decision == "block"


def test_outside_the_project_or_unknown_is_not_covered() -> None:
    outside = finding()._replace(targets=(Target("/home/dev/other", "~/other", "outside", True),))
    neighbour = finding()._replace(targets=(Target(ROOT + "2/x", "../proj2/x", "outside", True),))
    unknown = finding(path=None)
    nothing = finding()._replace(targets=())
    for item in (outside, neighbour, unknown, nothing):
        assert verdict(scan_of(item), held=cover()).decision == "block"


def test_each_finding_is_settled_by_itself() -> None:
    inside = finding(rule="a", span=(0, 5))
    outside = finding(rule="b", span=(6, 12))._replace(targets=(Target("/etc", "/etc", "system", True),))
    answer = verdict(scan_of(inside, outside), held=cover())
    assert [item.decision for item in answer.findings] == ["allow", "block"]
    assert answer.decision == "block"
    assert len(answer.reasons) == 1


def test_where_another_finding_blocks_the_folder_is_not_said_to_be_no_project() -> None:
    found = verdict(scan_of(finding(80), finding(90, "no")))
    assert found.decision == "block"
    assert "blocked for another reason" in found.findings[0].because
    assert "no savepoint can be taken" not in " ".join(found.reasons)


def test_ask_is_never_blocked_under_cover_and_blocked_without() -> None:
    assert verdict(scan_of(finding(90, "ask")), held=cover()).decision == "ask"
    assert verdict(scan_of(finding(90, "ask"))).decision == "block"


def test_no_stays_whatever_the_savepoint_holds() -> None:
    answer = verdict(scan_of(finding(90, "no")), held=cover())
    assert answer.decision == "block"
    assert "no savepoint undoes it" in answer.reasons[0]


@pytest.mark.parametrize(
    ("key", "score", "decision"),
    [
        ("allow", 90, "allow"),
        ("ask", 90, "ask"),
        ("block", 90, "block"),
        ("allow", 50, "allow"),
        ("ask", 50, "ask"),
        ("block", 50, "ask"),
        ("ask", 10, "allow"),
    ],
)
def test_the_policy_says_what_reversible_means(key: str, score: int, decision: str) -> None:
    assert verdict(scan_of(finding(score)), Policy(reversible=key), cover()).decision == decision


def test_a_policy_block_rule_blocks_whatever_the_score_the_cover_and_the_allow_list() -> None:
    rules = (RuleDecision("fs.delete", "block", "project", 4),)
    policy = Policy(rule_decisions=rules, allow=(AllowEntry("rm -rf src", "user", 1),))
    answer = verdict(scan_of(finding(1)), policy, cover())
    assert answer.decision == "block"
    assert "project policy blocks this rule (line 4)" in answer.reasons[0]


def test_a_floor_only_raises() -> None:
    policy = Policy(rule_decisions=(RuleDecision("fs.delete", "ask", "project", 4, True),))
    assert verdict(scan_of(finding(90)), policy).decision == "block"
    assert verdict(scan_of(finding(10)), policy).decision == "ask"
    assert verdict(scan_of(finding(90)), policy, cover()).decision == "ask"
    own = Policy(rule_decisions=(RuleDecision("fs.delete", "ask", "user", 4),))
    assert verdict(scan_of(finding(90)), own).decision == "ask"


def test_the_strongest_of_two_policy_rules_holds() -> None:
    rules = (RuleDecision("fs.delete", "allow", "user", 1), RuleDecision("fs.delete", "block", "project", 2))
    assert verdict(scan_of(finding()), Policy(rule_decisions=rules)).decision == "block"


@pytest.mark.parametrize(
    ("kind", "decision"), [("unparsed", "ask"), ("limit", "block"), ("file", "block"), ("nul", "block")]
)
def test_a_refusal_is_a_decision(kind: str, decision: str) -> None:
    answer = verdict(scan_of(refusals=(Refusal(kind, "nested too deep"),)), held=cover())
    assert answer.decision == decision
    assert "nested too deep" in answer.reasons[0]
    if decision == "block":
        assert answer.reasons[0].startswith("refused rather than half-checked")
        assert answer.score == 100


def allow(*texts: str) -> Policy:
    return Policy(allow=tuple(AllowEntry(text, "user", index) for index, text in enumerate(texts, 1)))


def typed(*argv: Word, text: str | None = None, **changes: object) -> Scan:
    item = finding(90, "no", argv=argv, span=(0, 40))
    scan = scan_of(item, text=text or " ".join(map(str, argv)))
    command = scan.commands[0]._replace(**changes)  # type: ignore[arg-type]
    return scan._replace(commands=(command,))


def test_an_exact_command_is_allowed() -> None:
    answer = verdict(typed("kubectl", "delete", "pod", "web"), allow("kubectl delete pod web"))
    assert answer.decision == "allow"
    assert "allow list of the user policy (line 1)" in answer.findings[0].because


def test_a_star_is_exactly_one_constant_argument() -> None:
    policy = allow("kubectl delete pod *")
    assert verdict(typed("kubectl", "delete", "pod", "a b"), policy).decision == "allow"
    assert verdict(typed("kubectl", "delete", "pod"), policy).decision == "block"
    assert verdict(typed("kubectl", "delete", "pod", "a", "b"), policy).decision == "block"
    assert verdict(typed("kubectl", "delete", "pod", UNKNOWN), policy).decision == "block"


def test_backslashes_are_kept() -> None:
    scan = typed("del", "C:\\out\\x", text="del C:\\out\\x")
    assert verdict(scan, allow("del C:\\out\\x")).decision == "allow"
    assert verdict(scan, allow("del C:outx")).decision == "block"


def test_an_entry_never_covers_what_it_does_not_spell() -> None:
    policy = allow("deploy *")
    redirect = (Redirect(">", None, "/etc/passwd"),)
    assert verdict(typed("deploy", "x", redirects=redirect), policy).decision == "block"
    assert verdict(typed("deploy", "x", assigns=(("LD_PRELOAD", "e.so"),)), policy).decision == "block"
    assert verdict(typed("deploy", "x", upstream=(("curl", "e"),)), policy).decision == "block"
    assert verdict(typed("deploy", "x", stdin="rm"), policy).decision == "block"


def test_a_second_command_beside_an_allowed_one_is_judged() -> None:
    first = finding(90, "no", argv=("deploy", "x"), span=(0, 8))
    second = finding(90, "no", argv=("rm", "-rf", "/"), span=(9, 17))
    answer = verdict(scan_of(first, second, text="deploy x;rm -rf /"), allow("deploy *"))
    assert [item.decision for item in answer.findings] == ["allow", "block"]


def test_an_allowed_wrapper_covers_its_inner_command_but_never_a_file_it_runs() -> None:
    outer = Command(("sudo", "reboot"), span=(0, 11))
    inner = finding(90, "no", argv=("reboot",), via=("sudo",), span=(5, 11))
    scan = Scan("sudo reboot", (outer, Command(("reboot",), ("sudo",), (5, 11))), (inner,), (), False)
    assert verdict(scan, allow("sudo reboot")).decision == "allow"
    assert verdict(scan, allow("sudo *")).decision == "allow"
    followed = scan._replace(followed=(("/home/dev/proj/x.sh", "0" * 64),))
    assert verdict(followed, allow("sudo reboot")).decision == "block"


def test_the_exact_text_of_something_unparsed_can_be_allowed_but_not_over_a_limit() -> None:
    odd = scan_of(text="odd (", refusals=(Refusal("unparsed", "x"),))
    assert verdict(odd, allow("odd (")).decision == "allow"
    big = scan_of(text="odd (", refusals=(Refusal("limit", "x"),))
    assert verdict(big, allow("odd (")).decision == "block"


def test_a_protected_path_is_blocked_savepoint_or_not() -> None:
    policy = Policy(protected=("migrations", "*.pem"), allow=(AllowEntry("touch migrations/1.sql", "user", 1),))

    def run(*argv: Word, redirects: tuple[Redirect, ...] = ()) -> str:
        command = Command(argv, cwd=ROOT, redirects=redirects, span=(0, 5))
        return verdict(Scan("x", (command,), (), (), False), policy, cover()).decision

    assert run("touch", "migrations/1.sql") == "block"
    assert run("touch", f"{ROOT}/migrations/../migrations/1.sql") == "block"
    assert run("touch", "keys/a.pem") == "block"
    assert run("dd", "if=/dev/zero", "of=migrations/x") == "block"
    assert run("echo", "x", redirects=(Redirect(">", None, "migrations/x"),)) == "block"
    assert run("cat", "migrations/1.sql") == "allow"
    assert run("git", "diff", "migrations") == "allow"
    assert run("git", "rm", "migrations/1.sql") == "block"
    assert run("touch", "src/x") == "allow"
    assert verdict(scan_of(finding(path="")), Policy(protected=("migrations",)), cover()).decision == "block"


def test_an_editing_tool_meets_protected_paths_too() -> None:
    policy = Policy(protected=("migrations",))
    edit = Scan("", (), (), (), False)
    for path, decision in (("migrations/1.sql", "block"), (f"{ROOT}/migrations/x", "block"), ("src/x", "allow")):
        assert settle(decide(edit, policy, project=ROOT, writes=(path,)), cover()).decision == decision


def test_a_reason_helps() -> None:
    item = finding(90, "no", via=("npm test", "package.json:scripts.test"))
    reason = verdict(scan_of(item)).reasons[0]
    for part in (
        "deletes files [fs.delete]: src",
        "npm test -> package.json:scripts.test",
        "Deleted files are gone",
        "Score 90",
        "Safer: move them to the trash",
    ):
        assert part in reason


def test_the_strongest_reason_comes_first() -> None:
    weak = finding(50, "no", rule="weak")
    strong = finding(90, "no", rule="strong")
    reasons = verdict(scan_of(weak, strong)).reasons
    assert "[strong]" in reasons[0]
    assert "[weak]" in reasons[1]


def test_a_read_only_path_needs_a_persons_word_and_an_exact_command_may_be_allowed() -> None:
    command = Command(("rm", "-f", "/p/locked/a"), cwd="/p", span=(0, 18))
    found = Scan("rm -f /p/locked/a", (command,), (), (), False)
    policy = DEFAULTS._replace(read_only=("locked",))
    verdict = decide(found, policy, project="/p").if_covered
    assert verdict.decision == "ask" and verdict.findings[0].finding.rule == "policy.read-only"
    allowed = policy._replace(allow=(AllowEntry("rm -f /p/locked/a", "user", 1),))
    assert decide(found, allowed, project="/p").if_covered.decision == "allow"
    both = policy._replace(protected=("locked",))
    assert decide(found, both, project="/p").if_covered.decision == "block"


def test_a_listed_host_takes_the_finding_away_unless_the_policy_decides_about_the_rule() -> None:
    argv = ("curl", "-d", "@f", "https://ok.example")
    sent = Finding("exfiltration.pipe", "sends", 75, "", "", (0, 5), argv, (), (), "no")
    found = Scan("curl …", (Command(argv),), (sent,), (), False)
    policy = DEFAULTS._replace(network=(AllowEntry("ok.example", "user", 3),))
    assert decide(found, DEFAULTS).if_covered.decision == "block"
    verdict = decide(found, policy).if_covered
    assert verdict.decision == "allow" and "ok.example" in verdict.findings[0].because
    fixed = policy._replace(rule_decisions=(RuleDecision("exfiltration.pipe", "block", "user", 1),))
    assert decide(found, fixed).if_covered.decision == "block"
