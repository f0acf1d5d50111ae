"""Owns reading package.json and its like: what they say, whatever is asked of them.

Which of its scripts run is left to `packages`, its entry file to `scripts`.
"""

from __future__ import annotations

import os

from chrono.scan.command import Refusal
from chrono.scan.follow.scene import Scene, mapping
from chrono.tuples import NamedTuple


class Package(NamedTuple):
    """One package.json (or its like): where it lies, its scripts and what their environment says of it."""

    folder: str
    name: str
    scripts: dict[str, str]
    env: tuple[tuple[str, str], ...]
    workspaces: tuple[str, ...]
    main: str | None = None


def read_package(scene: Scene, folder: str) -> Package | Refusal | None:
    """The package.json of a folder; None where there is none or it is not one."""
    file = scene.read(os.path.join(folder, "package.json"))
    if file is None or isinstance(file, Refusal):
        return file
    document = json_object(file.text)
    scripts = {k: v for k, v in mapping(document.get("scripts")).items() if isinstance(v, str)}
    name, version = document.get("name"), document.get("version")
    env = tuple(
        (key, value)
        for key, value in (
            ("npm_package_name", name),
            ("npm_package_version", version),
            ("INIT_CWD", scene.cwd),
        )
        if isinstance(value, str)
    )
    listed = document.get("workspaces")
    listed = mapping(listed).get("packages") if isinstance(listed, dict) else listed
    globs = tuple(g for g in listed if isinstance(g, str)) if isinstance(listed, list) else ()
    main = document.get("main")
    return Package(
        folder, name if isinstance(name, str) else "", scripts, env, globs, main if isinstance(main, str) else None
    )


def json_object(text: str) -> dict[str, object]:
    """A JSON object, comments and all (deno.jsonc); an empty one where the text is none."""
    import json

    try:
        return mapping(json.loads(text))
    except (ValueError, RecursionError):
        pass
    try:
        bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
        return mapping(json.loads(bare))
    except (ValueError, RecursionError):
        return {}
