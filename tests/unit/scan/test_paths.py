"""Claims about what a path means: by identity, not by spelling."""

from __future__ import annotations

import pytest

from chrono.scan.command import MANY, UNKNOWN, Pattern, Word
from chrono.scan.paths import MAX_GLOB_WORK, MAX_WORDS, Ground, TooManyPlaces, glob_match, is_sweep, place
from chrono.testing.world import FakeWorld, Link
from tests.unit.scan.conftest import PROJECT, world


def classes(word: Word, cwd: Word = PROJECT, ground: Ground | None = None) -> set[str]:
    return {spot.target.place for spot in (ground or Ground(world())).spots(word, cwd)}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/", "root"),
        ("/./", "root"),
        ("/etc/..", "root"),
        ("C:/", "root"),
        ("/home/dev", "home"),
        ("/home/dev/proj/..", "home"),
        ("..", "home"),
        ("/home", "home"),
        ("/home/dev/Documents", "home"),
        ("link_home/", "home"),
        ("link_home/Documents", "home"),
        ("/root/x", "home"),
        ("/etc/hosts", "system"),
        ("/usr", "system"),
        ("/tmp", "system"),
        ("/tmp/", "system"),
        ("/tmp/x", "temp"),
        ("/dev/shm/x", "temp"),
        ("/dev/sda1", "device"),
        ("/dev/null", "null"),
        ("/home/dev/.config/app", "dotfile"),
        ("/home/dev/.bashrc", "startup"),
        ("/home/dev/.ssh/authorized_keys", "startup"),
        ("/home/dev/.ssh/id_ed25519", "credential"),
        ("/home/dev/.ssh/id_ed25519.pub", "dotfile"),
        ("/home/dev/.aws/credentials", "credential"),
        ("/etc/shadow", "credential"),
        ("/home/dev/.cache/pip", "regenerable"),
        ("/home/dev/other/x", "other-repo"),
        ("/mnt/data", "outside"),
        (".", "project-root"),
        ("./", "project-root"),
        ("src/../", "project-root"),
        ("src", "project"),
        ("src/app.py", "project"),
        ("node_modules/x", "regenerable"),
        ("dist", "regenerable"),
        ("packages/a/node_modules", "regenerable"),
        ("debug.log", "regenerable"),
        ("package-lock.json", "regenerable"),
        (".git", "git"),
        (".git/config", "git"),
        (".gitignore", "project"),
        (".chrono/repo.git", "control"),
        ("src/../.chrono", "control"),
        ("chrono-policy.yaml", "control"),
        (".claude/settings.local.json", "control"),
        (".claude/commands/x.md", "project"),
        (".cursor/hooks.json", "control"),
        ("/home/dev/.claude/settings.json", "control"),
        ("link_home/.claude/settings.json", "control"),
        ("/home/dev/.local/state/chrono/keys", "control"),
        ("/usr/lib/python3/site-packages/chrono/guard/boot.py", "control"),
    ],
)
def test_a_path_has_the_class_of_what_it_is(path: str, wanted: str) -> None:
    assert classes(path) == {wanted}


def test_a_link_in_the_last_place_is_meant_itself_where_it_is_deleted() -> None:
    ground = Ground(world())
    assert ground.spots("link_home", PROJECT, last_link=True)[0].target.place == "project"
    assert ground.spots("link_home", PROJECT)[0].target.place == "home"
    assert ground.spots("link_home/", PROJECT, last_link=True)[0].target.place == "home"


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("/*", "system"),
        ("~root", "project"),
        ("/home/dev/*", "home"),
        ("../*", "home"),
        ("src/*.py", "project"),
        ("dist/*", "regenerable"),
        ("*.log", "regenerable"),
        ("*.pyc", "regenerable"),
        (Pattern(("/", None)), "root"),
        (Pattern(("/home/dev/", None)), "home"),
        (Pattern(("/tmp/", None)), "temp"),
        (Pattern(("dist/", None)), "regenerable"),
        (Pattern(("src/", None)), "project"),
        (Pattern(("./", None, ".pyc")), "regenerable"),
        (Pattern((None, "/node_modules")), "regenerable"),
        (Pattern((None, "/*")), "unknown"),
        (UNKNOWN, "unknown"),
        (MANY, "unknown"),
    ],
)
def test_globs_and_half_known_words_are_judged_by_what_is_known(word: Word, wanted: str) -> None:
    assert wanted in classes(word)


def test_a_glob_over_everything_names_each_thing_and_not_what_is_hidden() -> None:
    spots = Ground(world()).spots("*", PROJECT)
    assert all(spot.sweep for spot in spots)
    names = {spot.target.path for spot in spots}
    assert f"{PROJECT}/src" in names
    assert f"{PROJECT}/.git" not in names
    assert f"{PROJECT}/.git" in {spot.target.path for spot in Ground(world()).spots(".*", PROJECT)}


def test_a_path_in_an_unknown_folder_is_unknown_unless_its_name_says_enough() -> None:
    assert classes("src", UNKNOWN) == {"unknown"}
    assert classes("node_modules", UNKNOWN) == {"regenerable"}
    assert classes("../node_modules", UNKNOWN) == {"unknown"}


def test_a_home_below_a_scratch_folder_is_still_a_home() -> None:
    ground = Ground(FakeWorld(cwd="/tmp/h/proj", home="/tmp/h", environ={}))
    assert classes("/tmp/h", ground=ground) == {"home"}
    assert classes("/tmp/h/proj/src", ground=ground) == {"project"}


def test_a_folder_above_the_project_is_above() -> None:
    ground = Ground(FakeWorld({"/work/team/proj/.git": None}, cwd="/work/team/proj"))
    assert classes("..", "/work/team/proj", ground) == {"above"}
    assert ground.holds("/work") == "above"


def test_another_chrono_project_inside_is_not_this_one() -> None:
    files: dict[str, str | bytes | Link | None] = {
        "/work/p/.chrono/repo.git": None,
        "/work/p/sub/.chrono/repo.git": None,
    }
    ground = Ground(FakeWorld(files, cwd="/work/p", project="/work/p"))
    assert classes("sub/a", "/work/p", ground) == {"other-repo"}
    assert classes("a", "/work/p", ground) == {"project"}


def test_a_home_or_a_system_folder_is_no_project() -> None:
    assert Ground(FakeWorld(cwd="/home/dev")).root is None
    assert Ground(FakeWorld(cwd="/etc")).root is None
    assert Ground(FakeWorld(cwd="/home/dev/x")).root == "/home/dev/x"


def test_letter_case_does_not_hide_a_path_where_the_file_system_folds_it() -> None:
    ground = Ground(FakeWorld(cwd="/home/dev/proj", platform="darwin"))
    assert ground.place("/home/dev/proj/.CLAUDE/Settings.json") == "control"
    assert ground.place("/home/dev/.SSH/id_rsa") == "credential"


def test_folders_that_hold_hooks_are_known_by_what_lies_in_them() -> None:
    ground = Ground(world())
    assert ground.holds(f"{PROJECT}/.claude") == "control"
    assert ground.holds(f"{PROJECT}/src") is None


@pytest.mark.parametrize(
    ("pattern", "name", "wanted"),
    [
        ("*", "a", True),
        ("*.py", "a.py", True),
        ("*.py", "a.pyc", False),
        ("a?c", "abc", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[]]", "]", True),
        ("a*b*c", "a1b2c", True),
        ("a*b*c", "a1b2", False),
        ("[", "[", True),
    ],
)
def test_a_glob_matches_as_in_a_shell(pattern: str, name: str, wanted: bool) -> None:
    assert glob_match(pattern, name) is wanted


def test_what_counts_as_a_glob_over_everything() -> None:
    assert all(is_sweep(pattern) for pattern in ("*", "**", ".*", ".[!.]*", "?*"))
    assert not any(is_sweep(pattern) for pattern in ("*.py", "a*", "src", "?"))


def test_place_answers_for_one_path() -> None:
    assert place("/etc/passwd", world()).place == "system"


def test_a_tilde_that_no_file_bears_means_the_home() -> None:
    world = FakeWorld({"/p/src/a.py": "x"}, cwd="/p", home="/home/dev")
    (spot,) = Ground(world).spots("~/x", "/p")
    assert spot.target.path == "/home/dev/x"


def test_two_stars_find_a_name_on_every_level_but_not_in_build_output() -> None:
    ground = Ground(world(**{f"{PROJECT}/src/deep/er/x.py": "x", f"{PROJECT}/node_modules/a/y.py": "y"}))
    found = {spot.target.path for spot in ground.spots("**/*.py", PROJECT)}
    assert {f"{PROJECT}/src/app.py", f"{PROJECT}/src/deep/er/x.py", f"{PROJECT}/safe.py"} <= found
    assert f"{PROJECT}/node_modules/a/y.py" not in found


def test_more_folders_than_are_looked_into_stand_for_the_whole() -> None:
    ground = Ground(world(**{f"{PROJECT}/f{n}/x.py": "x" for n in range(500)}))
    (spot,) = ground.spots("**/*.py", PROJECT)
    assert spot.target.whole


def test_the_globs_of_one_text_name_only_so_many_files() -> None:
    ground = Ground(world(**{f"{PROJECT}/many/f{n}.txt": "x" for n in range(300)}))
    first = ground.spots("many/*.txt", PROJECT)
    assert len(first) == 300
    later = [ground.spots(f"many/f*{'?' * n}*", PROJECT) for n in range(MAX_GLOB_WORK // 300)]
    assert sum(map(len, later)) < MAX_GLOB_WORK // 10
    (whole,) = later[-1]
    assert whole.target.path == f"{PROJECT}/many", "what is not looked at stands for its folder"
    assert whole.target.whole
    assert ground.spots("many/*.txt", PROJECT) == first


def test_more_path_words_than_are_looked_at_are_refused() -> None:
    ground = Ground(world())
    for n in range(MAX_WORDS):
        ground.spots(f"f{n}", PROJECT)
    assert ground.spots("f0", PROJECT), "one that was looked up before costs nothing"
    with pytest.raises(TooManyPlaces):
        ground.spots("another", PROJECT)
