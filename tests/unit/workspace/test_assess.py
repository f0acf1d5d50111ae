"""Claims about a verdict without effects: the guard's answer, with the cover that a savepoint taken now would give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import chrono
from chrono.audit.record import Actor
from chrono.errors import NoWorkspace, PolicyError
from chrono.layout import HomeLayout
from chrono.policy.model import DEFAULTS
from chrono.workspace import history
from chrono.workspace.assess import Assessor, assess
from chrono.workspace.config import ruleset_for
from chrono.workspace.project import Workspace
from chrono.workspace.trust import plan_trust, trust_policy

CUSTOM = """\
rules:
  - id: own.no-deploy
    title: deploys
    decision: block
    match:
      program: deployctl
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the installed rules, made once: compiling them for each test's own home takes seconds."""
    home = HomeLayout(str(tmp_path_factory.mktemp("compiled")))
    ruleset_for(DEFAULTS, home)
    return Path(home.cache)


@pytest.fixture
def here(ws: Workspace, root: Path, environ: dict[str, str], compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(compiled, ws.home.cache, dirs_exist_ok=True)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return root


def decision(root: Path, environ: dict[str, str], text: str, cwd: str | None = None) -> str:
    return Assessor.open(str(root), environ).assess(text, cwd=cwd).verdict.decision


def test_what_a_savepoint_undoes_is_allowed_here_and_not_elsewhere(
    here: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "src").mkdir(parents=True)
    (outside / "src" / "a.txt").write_text("x")
    assert decision(here, environ, "rm -rf src") == "allow"
    assert decision(outside, environ, "rm -rf src") != "allow"
    assert decision(here, environ, "rm -rf ~") == "block"
    assert decision(here, environ, "ls -la") == "allow"


def test_nothing_is_saved_recorded_or_written(here: Path, ws: Workspace, environ: dict[str, str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (here / ".chrono").rglob("*")}
    assessed = Assessor.open(str(here), environ).assess("rm -rf src")
    assert assessed.cover is not None
    assert assessed.cover.commit is None
    assert {path: path.stat().st_mtime_ns for path in (here / ".chrono").rglob("*")} == before
    assert len(list(history.log(ws))) == 1


def test_what_no_savepoint_holds_is_not_covered(here: Path, environ: dict[str, str]) -> None:
    (here / ".chronoignore").write_text("src/\n")
    assessed = Assessor.open(str(here), environ).assess("rm -rf src")
    assert assessed.verdict.decision == "block"
    assert ".chronoignore" in assessed.verdict.reasons[0]


def test_a_strangers_project_gives_no_cover(here: Path, environ: dict[str, str], tmp_path: Path) -> None:
    stranger = {**environ, "CHRONO_HOME": str(tmp_path / "other")}
    assert decision(here, stranger, "rm -rf src") == "block"


def test_each_line_is_judged_in_its_own_folder(here: Path, environ: dict[str, str], tmp_path: Path) -> None:
    assessor = Assessor.open(str(here), environ)
    assert assessor.assess("rm -rf a.txt", cwd="src").verdict.decision == "allow"
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("x")
    assert assessor.assess("rm -rf a.txt", cwd=str(tmp_path / "work")).cover is None
    assert assessor.assess("ls", cwd="a\0b").verdict.decision == "block"


def test_a_broken_policy_is_an_error_here_and_a_block_in_a_batch(
    here: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    assessor = Assessor.open(str(tmp_path), environ)
    (here / "chrono-policy.yaml").write_text("tresholds: {}")
    with pytest.raises(PolicyError):
        Assessor.open(str(here), environ)
    verdict = assessor.assess("ls", cwd=str(here)).verdict
    assert verdict.decision == "block"
    assert "tresholds" in verdict.reasons[0]


def test_a_projects_own_rule_blocks_without_trust(here: Path, environ: dict[str, str]) -> None:
    assert decision(here, environ, "deployctl now") == "allow"
    (here / "chrono-policy.yaml").write_text(CUSTOM)
    assessed = Assessor.open(str(here), environ).assess("sudo deployctl now")
    assert assessed.verdict.decision == "block"
    assert "[own.no-deploy]" in " ".join(assessed.verdict.reasons)


def test_an_allow_list_counts_once_it_is_trusted(here: Path, ws: Workspace, environ: dict[str, str], by: Actor) -> None:
    (here / "chrono-policy.yaml").write_text("allow: ['git push --force origin *']\n")
    assert decision(here, environ, "git push --force origin main") == "block"
    plan = plan_trust(ws)
    assert plan is not None
    trust_policy(ws, plan, by)
    assert decision(here, environ, "git push --force origin main") == "allow"
    assert decision(here, environ, "git push --force origin main; rm -rf ~") == "block"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (CUSTOM.replace("program", "programm"), 6, "programm"),
        ("rules:\n  - id: git.push-forse\n    decision: block\n", 3, "which there is not"),
        (f"pins:\n  git: '{'0' * 64}'\n", 2, "pinned"),
        (f"pins:\n  nosuch: '{'0' * 64}'\n", 2, "not installed"),
    ],
)
def test_what_the_rules_cannot_hold_is_an_error_with_its_line(
    text: str, line: int, says: str, here: Path, environ: dict[str, str]
) -> None:
    (here / "chrono-policy.yaml").write_text(text)
    with pytest.raises(PolicyError) as caught:
        Assessor.open(str(here), environ)
    assert caught.value.line == line
    assert says in caught.value.message


def test_a_policy_cannot_take_the_id_of_an_installed_rule(here: Path, ws: Workspace, environ: dict[str, str]) -> None:
    installed = Assessor.open(str(here), environ).rules.rules[0].id
    (here / "chrono-policy.yaml").write_text(CUSTOM.replace("own.no-deploy", installed))
    with pytest.raises(PolicyError, match="already"):
        ruleset_for(ws.policy(), ws.home)


def test_a_pin_that_holds_changes_nothing(here: Path, environ: dict[str, str]) -> None:
    packs = Assessor.open(str(here), environ).rules.packs
    (here / "chrono-policy.yaml").write_text("pins:\n" + "".join(f"  {pack.name}: '{pack.sha256}'\n" for pack in packs))
    assert decision(here, environ, "ls") == "allow"


def test_the_public_function_reads_no_file_without_a_project(
    here: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "wipe.sh").write_text("rm -rf ~\n")
    (here / "chrono-policy.yaml").write_text("tresholds: {}")
    monkeypatch.chdir(here)
    assert chrono.assess("rm -rf /").decision == "block"
    assert chrono.assess("ls").decision == "allow"
    assert chrono.assess("rm -rf src").decision != "allow"
    assert chrono.assess("sh wipe.sh").decision == "block"
    with pytest.raises(PolicyError):
        assess("ls", str(here))


def test_the_public_function_judges_in_a_project(here: Path, environ: dict[str, str], tmp_path: Path) -> None:
    assert assess("rm -rf src", str(here)).decision == "allow"
    assert assess("Remove-Item -Recurse src", str(here), shell="powershell").decision in ("allow", "ask", "block")
    with pytest.raises(NoWorkspace):
        assess("ls", str(tmp_path))


def test_the_shipped_example_holds_against_the_installed_rules(here: Path, environ: dict[str, str]) -> None:
    example = Path(__file__).parents[3] / "docs" / "examples" / "chrono-policy.yaml"
    (here / "chrono-policy.yaml").write_text(example.read_text())
    assert decision(here, environ, "kubectl --context production get pods") == "block"
    assert decision(here, environ, "kubectl --context staging get pods") == "allow"
    assert decision(here, environ, "touch migrations/1.sql") == "block"


def test_git_may_not_put_back_the_settings_of_before_the_hook(here: Path, environ: dict[str, str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(here), *words], check=True, capture_output=True)

    settings = here / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}\n")
    git("init", "-q")
    git("add", "README", ".claude")
    git("commit", "-q", "-m", "settings without a hook")
    for text in ("git stash", "git reset --hard", "git checkout ."):
        assert decision(here, environ, text) == "allow", text
    settings.write_text('{"hooks": {}}\n')
    for text in (
        "git stash",
        "git stash push -m before",
        "git reset --hard",
        "git checkout .",
        "git restore :/",
        "git switch --discard-changes main",
    ):
        assert decision(here, environ, text) == "block", text
    for text in ("git stash push -- src", "git stash list", "git restore README", "git checkout -b more"):
        assert decision(here, environ, text) == "allow", text
    git("commit", "-qam", "settings with the hook")
    assert decision(here, environ, "git stash") == "allow"


def test_git_clean_may_not_take_an_untracked_hook(here: Path, environ: dict[str, str]) -> None:
    subprocess.run(["git", "-C", str(here), "init", "-q"], check=True)
    assert decision(here, environ, "git clean -fd") == "allow"
    (here / ".claude").mkdir()
    (here / ".claude" / "settings.json").write_text("{}\n")
    assert decision(here, environ, "git clean -fd") == "block"
    assert decision(here, environ, "git stash -u") == "block"
    assert decision(here, environ, "git stash") == "allow"
    assert decision(here, environ, "git clean -fd src") == "allow"
    (here / ".gitignore").write_text(".claude/\n")
    assert decision(here, environ, "git clean -fd") == "allow"


def test_what_chronoignore_leaves_out_stops_a_reset_only_where_git_tracks_it(
    here: Path, environ: dict[str, str]
) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(here), *words], check=True, capture_output=True)

    (here / ".chronoignore").write_text("/data\n")
    (here / "data").mkdir()
    (here / "data" / "table").write_text("x")
    git("init", "-q")
    git("add", "README")
    assert decision(here, environ, "git reset --hard") == "allow"
    assert decision(here, environ, "git clean -fd") != "allow"
    git("add", "data")
    assert decision(here, environ, "git reset --hard") == "block"
