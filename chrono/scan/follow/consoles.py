"""Owns what consoles of frameworks run: code of a language, from an option, a word or standard input.

Interpreters themselves are left to `scripts`; what the code does to `scan.code`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.scene import Scene, Started
from chrono.scan.follow.scripts import from_stdin, inline, run_file

Answers = list[Started | Refusal]


def from_console(scene: Scene) -> Answers:
    """What is typed into the console of a framework; nothing for other programs."""
    reader = _READERS.get(scene.program)
    if reader is not None:
        return reader(scene)
    if scene.program.startswith("python") and _named(scene.args, "manage.py"):
        return _django(scene.within("manage.py", scene.args[1:]))
    if scene.program.startswith("php"):
        if scene.args[:1] == ("-a",):
            return _php(scene, from_stdin(scene, "php", ()))
        return _tinker(scene.within("artisan", scene.args[1:])) if _named(scene.args, "artisan") else []
    return []


def _named(args: tuple[Word, ...], name: str) -> bool:
    """Whether the script that is run has this name."""
    return bool(args) and isinstance(args[0], str) and args[0].rpartition("/")[2] == name


def _value(args: tuple[Word, ...], *names: str) -> Word | None:
    """The value of an option, `--name value` or `--name=value`."""
    for at, word in enumerate(args):
        name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if name in names:
            return value if equals else args[at + 1] if at + 1 < len(args) else None
    return None


def _is_plain(args: tuple[Word, ...]) -> bool:
    """Whether no file is named, so that the standard input is read."""
    return all(isinstance(word, str) and word.startswith("-") for word in args)


def _rails(scene: Scene) -> Answers:
    """`rails console`, `rails runner CODE`, `rails runner FILE`, `rails runner -`."""
    verb, rest = scene.args[:1], scene.args[1:]
    if verb in (("console",), ("c",)):
        return from_stdin(scene, "ruby", ())
    if verb not in (("runner",), ("r",)):
        return []
    while rest and isinstance(rest[0], str) and rest[0].startswith("-") and rest[0] != "-":
        rest = rest[2:] if rest[0] in ("-e", "--environment") else rest[1:]
    if not rest or rest[0] == "-":
        return from_stdin(scene, "ruby", rest[1:])
    path = scene.path(rest[0])
    if path is not None and scene.exists(path):
        return run_file(scene, rest[0], "ruby", rest[1:])
    return inline(scene, rest[0], "ruby", "rails runner -e", rest[1:])


def _ruby(scene: Scene) -> Answers:
    code = _value(scene.args, "-e", "--exec")
    if code is not None:
        return inline(scene, code, "ruby", f"{scene.program} -e", ())
    if _is_plain(scene.args):
        return from_stdin(scene, "ruby", ())
    return run_file(scene, next(word for word in scene.args if not str(word).startswith("-")), "ruby", ())


def _django(scene: Scene) -> Answers:
    """`manage.py shell -c CODE`, `manage.py shell < FILE`, `manage.py runscript NAME` is left to Django."""
    if scene.args[:1] not in (("shell",), ("shell_plus",)):
        return []
    code = _value(scene.args[1:], "-c", "--command")
    if code is not None:
        return inline(scene, code, "python", f"{scene.program} shell -c", ())
    return from_stdin(scene, "python", ())


def _flask(scene: Scene) -> Answers:
    return from_stdin(scene, "python", ()) if "shell" in scene.args[:3] else []


def _tinker(scene: Scene) -> Answers:
    """`artisan tinker --execute=CODE`, or what it reads."""
    if scene.args[:1] != ("tinker",):
        return []
    code = _value(scene.args[1:], "--execute")
    if code is not None:
        return inline(scene, f"<?php {code};" if isinstance(code, str) else code, "php", "tinker --execute", ())
    return _php(scene, from_stdin(scene, "php", ()))


def _php(scene: Scene, answers: Answers) -> Answers:
    """A console is in PHP from the first letter."""
    return [
        a._replace(text=f"<?php {a.text}") if isinstance(a, Started) and "<?" not in a.text[:200] else a
        for a in answers
    ]


_READERS: dict[str, Callable[[Scene], Answers]] = {
    "rails": _rails,
    **dict.fromkeys(("irb", "pry"), _ruby),
    **dict.fromkeys(("manage.py", "django-admin"), _django),
    "flask": _flask,
    "artisan": _tinker,
    "sail": _tinker,
    "psysh": lambda scene: _php(scene, from_stdin(scene, "php", ())) if _is_plain(scene.args) else [],
    **dict.fromkeys(("bpython", "ptpython"), lambda scene: from_stdin(scene, "python", ())),
}
