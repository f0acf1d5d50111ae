"""Owns what `run` wrappers start: `uv run x.py` is `python x.py`; scripts that Python's tools have names for.

Package managers of JavaScript are left to `packages`, tasks that are written in Python to `sessions`.
"""

from __future__ import annotations

import os

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.scene import Scene, Started, mapping

Answers = list[Started | Refusal]
Named = dict[str, tuple[object, str]]
"""name -> (what runs, where it stands)."""

_RUNNERS = {
    # program: (verbs that run another program, options that take a value)
    "uv": (
        "run",
        "--with --with-requirements --with-editable --python -p --project --directory --env-file --extra "
        "--group --only-group --no-group --package --index --default-index --index-url -i "
        "--extra-index-url --find-links -f --cache-dir --config-file --color --refresh-package "
        "--upgrade-package -P --reinstall-package --link-mode --no-extra --resolution --prerelease "
        "--exclude-newer -w",
    ),
    "poetry": ("run", "-C --directory -P --project"),
    "pipenv": ("run", "--python --pypi-mirror"),
    "pdm": ("run", "-p --project --venv --env-file"),
    "rye": ("run", "--pyproject"),
    "hatch": ("run", "-e --env -p --project -c --config"),
    "pixi": ("run", "-e --environment --manifest-path"),
    "conda": ("run", "-n --name -p --prefix --cwd"),
    "mamba": ("run", "-n --name -p --prefix --cwd"),
    "micromamba": ("run", "-n --name -p --prefix --cwd"),
    "dotenv": ("run", "-f --file -e -c -v"),
    "mise": ("exec x", "-C --cd"),
    "asdf": ("exec", ""),
    "bundle": ("exec", "--gemfile"),
    "pnpm": ("exec dlx", "--package"),
    "yarn": ("exec dlx", "-p --package"),
    "bun": ("x", "-p --package"),
    "npm": ("exec x", "-w --workspace -c --call -p --package"),
    "composer": ("exec", "-d --working-dir"),
    "coverage": ("run", "--rcfile --source --omit --include --data-file --concurrency --context"),
    "doppler": ("run", "-p --project -c --config"),
    "direnv": ("exec", ""),
    "heroku": ("", ""),
}  # fmt: skip


def unversioned(word: Word) -> Word:
    """The program that a package brings: `prisma@5` is `prisma`; of a scope nothing is known."""
    at = word.find("@", 1) if isinstance(word, str) else -1
    return word[:at] if at > 0 and isinstance(word, str) else word


_NAMING = frozenset(("uv", "poetry", "pipenv", "pdm", "rye", "hatch", "pixi"))


def from_runner(scene: Scene) -> Answers | None:
    if scene.program in ("poe", "poethepoet", "pdm"):
        own = _by_name(scene)
        if own is not None:
            return own
    entry = _RUNNERS.get(scene.program)
    if entry is None or not entry[0]:
        return None
    verbs, options = entry[0].split(), frozenset(entry[1].split())
    args, cwd = skip_options(scene, scene.args, options)
    if not args or args[0] not in verbs:
        return None
    verb = str(args[0])
    inner, cwd = skip_options(scene, args[1:], options, cwd)
    if scene.program == "uv" and any(word in ("-m", "--module") for word in args[1 : len(args) - len(inner)]):
        inner = ("python", "-m", *inner)
    if not inner:
        return None
    first = inner[0]
    if scene.program in ("coverage", "uv") and isinstance(first, str) and (first.endswith(".py") or first == "-m"):
        inner = ("python", *inner)
    if scene.program == "uv" and first == "-":
        inner = ("python", *inner)
    if scene.program == "direnv":
        # Its first word is the folder whose environment is loaded.
        inner = inner[1:]
    if verb in ("dlx", "x"):
        inner = (unversioned(inner[0]), *inner[1:])
    link = f"{scene.program} {verb}"
    if isinstance(first, str) and scene.program in _NAMING:
        name = first.rpartition(":")[2] if scene.program == "hatch" else first
        defined = named_scripts(scene, cwd)
        if name in defined:
            return _start(scene, name, defined[name], inner[1:], cwd)
    return [scene.hand_on(inner, link, cwd)]


def skip_options(
    scene: Scene, args: tuple[Word, ...], with_value: frozenset[str], cwd: str | None = None
) -> tuple[tuple[Word, ...], str]:
    """The words from the first operand on, and the folder that `--directory` and its like have chosen."""
    cwd = scene.cwd if cwd is None else cwd
    at = 0
    while at < len(args):
        word = args[at]
        if not isinstance(word, str) or not word.startswith("-") or word == "-":
            break
        at += 1
        if word == "--":
            break
        if word in ("-m", "--module"):
            break
        name, equals, value = word.partition("=")
        folder: Word | None = value if equals else None
        if not equals and word in with_value and at < len(args):
            folder = args[at]
            at += 1
        if name in ("--directory", "-C", "--cwd", "--cd") and isinstance(folder, str):
            cwd = os.path.normpath(os.path.join(cwd, folder))
    return args[at:], cwd


def _by_name(scene: Scene) -> Answers | None:
    """`poe NAME`, and `pdm NAME` where NAME is none of its own verbs."""
    scene = scene._replace(program="poe") if scene.program == "poethepoet" else scene
    args, cwd = skip_options(scene, scene.args, frozenset(("-C", "--directory", "-p", "--project", "-e", "--executor")))
    name = args[0] if args else None
    if not isinstance(name, str) or (scene.program == "pdm" and name in ("run", "exec", "build", "install", "add")):
        return None
    defined = named_scripts(scene, cwd)
    return _start(scene, name, defined[name], args[1:], cwd) if name in defined else None


def named_scripts(scene: Scene, cwd: str) -> Named:
    """What has a name in pyproject.toml or in a Pipfile, for the tool that runs."""
    if scene.program == "pipenv":
        document = _toml(scene, os.path.join(cwd, "Pipfile"))
        return {name: (value, "Pipfile:scripts") for name, value in mapping(document.get("scripts")).items()}
    document = _toml(scene, os.path.join(cwd, "pyproject.toml"))
    tool = mapping(document.get("tool"))
    found: Named = {}
    # The programs that a project installs: `name = "module:function"`.
    installed = mapping(mapping(document.get("project")).get("scripts"))
    for table, where in (
        (installed, "project.scripts"),
        (mapping(mapping(tool.get("poetry")).get("scripts")), "poetry.scripts"),
    ):
        for name, value in table.items():
            found[name] = ({"call": value}, f"pyproject.toml:{where}")
    if scene.program == "hatch":
        for env_name, env in mapping(mapping(tool.get("hatch")).get("envs")).items():
            for name, value in mapping(mapping(env).get("scripts")).items():
                found[name] = (value, f"pyproject.toml:hatch.{env_name}.scripts")
    own = _toml(scene, os.path.join(cwd, f"{scene.program}.toml")) if scene.program in ("hatch", "pixi") else {}
    for env_name, env in mapping(own.get("envs")).items():
        for name, value in mapping(mapping(env).get("scripts")).items():
            found[name] = (value, f"hatch.toml:{env_name}.scripts")
    for name, value in mapping(own.get("tasks")).items():
        found[name] = (value, "pixi.toml:tasks")
    key = {"pdm": "scripts", "rye": "scripts", "pixi": "tasks", "poe": "tasks"}.get(scene.program)
    for name, value in mapping(mapping(tool.get(scene.program)).get(key)).items() if key else ():
        found[name] = (value, f"pyproject.toml:{scene.program}.{key}")
    return found


def _toml(scene: Scene, path: str) -> dict[str, object]:
    file = scene.read(path)
    if file is None or isinstance(file, Refusal):
        return {}
    import tomllib

    try:
        return tomllib.loads(file.text)
    except (ValueError, RecursionError):
        return {}


def _start(scene: Scene, name: str, entry: tuple[object, str], args: tuple[Word, ...], cwd: str) -> Answers:
    value, origin = entry
    link = f"{origin}.{name}"
    call = mapping(value).get("call") or mapping(value).get("script")
    if isinstance(call, str) and ":" in call:
        module, _, function = call.partition(":")
        function = function.partition("(")[0].strip()
        if not all(part.isidentifier() for part in (*module.strip().split("."), *function.split("."))):
            return []
        first = function.partition(".")[0]
        return [
            scene.start(f"from {module.strip()} import {first}\n{function}()\n", "python", link, args=args, cwd=cwd)
        ]
    text = _text_of(scene, value)
    return [scene.start(f'{text} "$@"', "sh", link, args=args, cwd=cwd)] if text else []


def _text_of(scene: Scene, value: object) -> str:
    """A script as shell text; scripts that are made of others run those."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        lines = [v if isinstance(v, str) else _text_of(scene, v) for v in value]
        return "\n".join(f"poe {line}" if scene.program == "poe" and isinstance(v, str) else line
                         for line, v in zip(lines, value, strict=True))  # fmt: skip
    table = mapping(value)
    for key in ("composite", "chain", "sequence"):
        parts = table.get(key)
        if isinstance(parts, list):
            again = {"pdm": "pdm run", "rye": "rye run", "poe": "poe"}.get(scene.program, "")
            lines = [f"{again} {part}".strip() if isinstance(part, str) else _text_of(scene, part) for part in parts]
            return "\n".join(line for line in lines if line)
    for key in ("shell", "cmd"):
        found = table.get(key)
        if found is not None:
            return " ".join(map(str, found)) if isinstance(found, list) else _text_of(scene, found)
    return ""
